"""All that a user may call a graph: names, edges, matrices, networks, frames and files, and what is refused."""

import networkx
import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
from some_graphs import EDGES, same, walk

from adasadmm import graphs
from adasadmm.graphs import Graph, GraphWarning, as_graph

NAMES = ["age", "income", "rooms", "lat", "long"]
PLAIN = Graph([[0, 1], [1, 3], [2, 4]], d=5)
WEIGHTED = Graph([[0, 1], [1, 3], [2, 4]], [1.0, 2.0, 0.5], d=5)


def network(graph, names=None):
    net = networkx.Graph()
    net.add_nodes_from(names or range(5))
    for (i, j), weight in zip(graph.edges.tolist(), graph.weights, strict=True):
        net.add_edge(names[i] if names else i, names[j] if names else j, weight=weight)
    return net


@pytest.mark.parametrize(
    "given, expected",
    [
        (PLAIN, PLAIN),
        (EDGES, PLAIN),
        (EDGES.tolist(), PLAIN),
        (tuple(map(tuple, EDGES)), PLAIN),
        (EDGES.astype(float), PLAIN),
        ([["age", "income"], ["lat", "income"], ["rooms", "long"]], PLAIN),
        (np.array(NAMES)[EDGES], PLAIN),
        (np.array(NAMES, dtype=object)[EDGES], PLAIN),
        (pandas.DataFrame(np.array(NAMES)[EDGES]), PLAIN),
        ((EDGES, [1, 2, 0.5]), WEIGHTED),
        ((np.array(NAMES)[EDGES], [1, 2, 0.5]), WEIGHTED),
        (WEIGHTED.adjacency(), WEIGHTED),
        (sp.triu(WEIGHTED.adjacency()), WEIGHTED),
        (sp.csc_matrix(sp.tril(WEIGHTED.adjacency())), WEIGHTED),
        (PLAIN.adjacency().astype(bool), PLAIN),
        (network(WEIGHTED), WEIGHTED),
        (network(WEIGHTED, NAMES), WEIGHTED),
        (networkx.Graph([("age", "income"), ("lat", "income"), ("rooms", "long")]), PLAIN),
        (networkx.DiGraph([(0, 1), (3, 1), (2, 4)]), PLAIN),
        (lambda X: EDGES, PLAIN),
        (lambda X: WEIGHTED.adjacency(), WEIGHTED),
        ("chain", Graph(graphs.chain(5))),
        (("grid", 5, 1), Graph(graphs.chain(5))),
    ],
)
def test_many_things_are_graphs(given, expected):
    assert same(as_graph(given, 5, X=np.zeros((2, 5)), feature_names=NAMES), expected)


def test_names_come_from_a_frame():
    frame = pandas.DataFrame(np.zeros((2, 5)), columns=NAMES)
    for X in (frame, polars.from_pandas(frame)):
        assert same(as_graph(np.array(NAMES)[EDGES], 5, X=X), PLAIN)
    assert same(as_graph(EDGES, 5, X=pandas.DataFrame(np.zeros((2, 5)))), PLAIN)


def test_learnt_graphs_by_name():
    assert same(as_graph("glasso", 8, X=walk()), graphs.glasso(walk()))
    weights = np.arange(500.0)
    assert same(as_graph("knn", 8, X=walk(), sample_weight=weights), graphs.knn(walk(), sample_weight=weights))
    assert as_graph(("grid", 2, 2, 2), 8).n_edges == 12


@pytest.mark.parametrize(
    "text, expected",
    [
        ("0,1\n3,1\n\n2,4\n", PLAIN),
        ("age,income\nlat,income\nrooms,long", PLAIN),
        ("source,target\nage,income\nlat,income\nrooms,long\n", PLAIN),
        ("\ufeffsource,target,weight\r\nage,income,1\r\nlat,income,2\r\nrooms,long,0.5\r\n", WEIGHTED),
        ("Weight,Target,Source\n1,0,1\n2,1,3\n.5,2,4\n", WEIGHTED),
        ("source,target,comment\n0,1,a\n3,1,b\n2,4,c\n", PLAIN),
        ("from,to,strength\nage, income, 1\nlat, income, 2\nrooms, long, 0.5\n", WEIGHTED),
        ("from,to\n0,1\n1,3\n2,4\n", PLAIN),
        ("gene_x,gene_y\nage,income\nlat,income\nrooms,long\n", PLAIN),
        ("weight,To,From\n1,age,income\n2,lat,income\n.5,rooms,long\n", WEIGHTED),
        ("one,other,much\n0,1,1\n1,3,2\n2,4,.5\n", WEIGHTED),
        ('"age","income",1\n3,1,2\nrooms,long,0.5\n'.replace("3,1", "lat,income"), WEIGHTED),
    ],
)
def test_graphs_in_csv_files(tmp_path, text, expected):
    path = tmp_path / "graph.csv"
    path.write_text(text, encoding="utf-8", newline="")
    for given in (path, str(path)):
        assert same(as_graph(given, 5, feature_names=NAMES), expected)


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "0,1\n3\n",
            r"graph.csv, line 2: must be source,target\[,weight\], with commas and as many cells as line 1: '3'",
        ),
        ("0,1,2\n\n3,1\n", "line 3: .* '3,1'"),
        ("age;income\n", "line 1: .*with commas"),
        ("agge,incme\nlat,income\n", "line 1: 'agge' is not a feature; did you mean 'age'?"),  # no header
        ("agge,incme,1\nlat,income,2\n", "line 1: 'agge' is not a feature"),
        ("age,incme\n", "line 1: 'incme' is not a feature; did you mean 'income'?"),
        ("from,to\nage,lat\nage,bp\n", "graph.csv, line 3: 'bp' is not a feature; use the names of the 5 features"),
        ("0,1\n0,9\n", "line 2: '9' is not a feature"),
        ("age,lat,1\nage,income,x\n", "line 2: weight 'x' is not a number"),
        ("from,to,weight\nage,lat,1\nage,income,x\n", "line 3: weight 'x' is not a number"),
        ("0,1,nan\n", "line 1: weight nan must be finite and > 0"),
        ("0,1,1\n1,2,-1\n", "line 2: weight -1 must be finite and > 0"),
        ("age,lat\nlat,lat\n", "line 2: 'lat' is joined to itself"),
    ],
)
def test_bad_csv_files(tmp_path, text, message):
    path = tmp_path / "graph.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        as_graph(path, 5, feature_names=NAMES)


def test_a_file_of_edges_that_is_not_there_is_said():
    with pytest.raises(FileNotFoundError, match=r"no such file of edges in this folder; check its name: 'edgs\.csv'"):
        as_graph("edgs.csv", 5)


def lopsided():
    A = PLAIN.adjacency().tolil()
    A[0, 1] = 5.0
    return A


def looped(value=1.0):
    A = PLAIN.adjacency().tolil()
    A[3, 3] = value
    return A


@pytest.mark.parametrize(
    "given, message",
    [
        ([[0, 1], [1, 5]], r"edge 1 = \(1, 5\) is out of range: there are 5 coefficients, 0 to 4"),
        ([[0, -1]], r"edge 0 = \(0, -1\) is out of range"),
        ([[0, 1], [2, 2]], r"edge 1 = \(2, 2\) is a self-loop"),
        ([[0, 1.5]], "edges must be pairs of whole numbers, got .*1.5"),
        ([[0, np.nan]], "edges must be pairs of whole numbers, got .*nan"),
        ([[0, np.inf]], "edges must be pairs of whole numbers, got .*inf"),
        ([[True, False]], "edges must be pairs of whole numbers, got .*True"),
        ([0, 1, 2], r"edges must have shape \(E, 2\), got \(3,\)"),
        ([[0, 1, 2]], r"edges must have shape \(E, 2\), got \(1, 3\); give \(edges, weights\)"),
        ([[0, 1], [2]], "rows of different lengths"),
        (3.5, "graph must be .* got 3.5"),
        (([[0, 1], [1, 2]], [1.0, np.nan]), r"weights of edges must be finite and > 0, got nan for edge 1 = \(1, 2\)"),
        (([[0, 1]], [-1.0]), "must be finite and > 0, got -1.0"),
        (([[0, 1]], [0.0]), "must be finite and > 0, got 0.0"),
        (([[0, 1]], [np.inf]), "must be finite and > 0, got inf"),
        (([[0, 1]], [1.0, 2.0]), r"weights must have shape \(1,\), one for each edge, got \(2,\)"),
        (([[0, 1]], ["much"]), "weights of edges must be numbers"),
        ([["age", "sex"], ["iq", "age"]], "edges must be among the names of the 5 features.*not among them: sex, iq$"),
        (Graph([[0, 1]], d=4), "the graph is over 4 coefficients, but there are 5"),
        (("grid", 2, 3), "a grid of 2 x 3 has 6 nodes, but there are 5 coefficients"),
        (("grid",), "grid needs the length of each axis"),
        (("grid", 5, 0), "each axis of a grid must be a whole number >= 1, got 0"),
        ("grid", "graph must be 'glasso'.* got 'grid'"),
        ({(0, 1)}, r"graph must be 'glasso'.* got \{\(0, 1\)\}"),
        (np.ones((5, 5)), r"edges must have shape \(E, 2\), got \(5, 5\); an adjacency matrix must be sparse"),
        ("complete", "got 'complete'"),
        (None, "got None"),
        (sp.csr_array((4, 5)), r"must have a row and a column for each of the 5 coefficients, got shape \(4, 5\)"),
        (lopsided(), "must be symmetric or triangular, and this one is neither"),
        (looped(), r"= \(3, 3\) is a self-loop"),
        (looped(np.nan), "must be finite and > 0, got nan"),
        (-PLAIN.adjacency(), "must be finite and > 0, got -1.0"),
        (networkx.path_graph(["age", "sex", "iq"]), "nodes of the graph must be among .*not among them: sex, iq$"),
        (networkx.path_graph(7), "nodes of the graph must be among .*not among them: 5, 6$"),
        (networkx.grid_2d_graph(1, 2), r"not among them: \(0, 0\), \(0, 1\)"),
        (networkx.Graph([(0, 1, {"weight": np.nan})]), "must be finite and > 0, got nan"),
        (networkx.Graph([(2, 2)]), "self-loop"),
        (lambda X: lambda X: EDGES, "a callable graph must return edges"),
        (lambda X: [[0, 7]], "out of range"),
    ],
)
def test_bad_graphs_get_clear_errors(given, message):
    with pytest.raises(ValueError, match=message):
        as_graph(given, 5, X=np.zeros((2, 5)), feature_names=NAMES)


def test_names_are_needed_where_the_graph_speaks_of_names():
    with pytest.raises(
        ValueError, match=r"among 0 to 4 \(X has no feature names; a DataFrame has\); not among them: age, income"
    ):
        as_graph([["age", "income"]], 5, X=np.zeros((2, 5)))
    with pytest.raises(ValueError, match="feature_names must have 5 entries, got 2"):
        as_graph([["a", "b"]], 5, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="feature_names are not unique"):
        as_graph([["a", "b"]], 3, feature_names=["a", "b", "b"])


def test_a_learnt_graph_needs_rows_that_fit():
    for graph in ("glasso", "knn", lambda X: EDGES):
        with pytest.raises(ValueError, match="is computed from the rows, so X is required"):
            as_graph(graph, 5)
        with pytest.raises(ValueError, match=r"X must have 5 columns, one for each coefficient, got shape \(2, 4\)"):
            as_graph(graph, 5, X=np.zeros((2, 4)))
    with pytest.raises(FileNotFoundError):
        as_graph("nowhere.csv", 5)


@pytest.mark.parametrize(
    "given",
    [
        ([[0, 1], [1, 0], [1, 3], [0, 1], [4, 2]], [0.25, 0.25, 2.0, 0.5, 0.5]),
        networkx.MultiGraph(
            [
                (0, 1, {"weight": 0.4}),
                (0, 1, {"weight": 0.35}),
                (1, 0, {"weight": 0.25}),
                (3, 1, {"weight": 2.0}),
                (2, 4, {"weight": 0.5}),
            ]
        ),
    ],
)
def test_duplicate_edges_are_merged_and_said(given):
    with pytest.warns(GraphWarning, match="2 duplicate edges merged, weights added"):
        graph = as_graph(given, 5)
    assert same(graph, WEIGHTED) and "merged" in graph.notes[0]


@pytest.mark.parametrize("given", [[], np.empty((0, 2)), sp.csr_array((5, 5)), networkx.empty_graph(5), ([], [])])
def test_a_graph_without_edges_is_allowed_and_said(given):
    with pytest.warns(GraphWarning, match="the graph has no edges"):
        graph = as_graph(given, 5)
    assert graph.n_edges == 0 and graph.incidence().shape == (0, 5) and "no edges" in graph.notes[-1]


def test_one_coefficient_needs_no_warning():
    for graph in ("chain", "glasso", "knn", ("grid", 1), []):
        assert as_graph(graph, 1, X=np.arange(4.0)[:, None]).n_edges == 0
