"""Graphs: edges and their matrices, graphs learnt from data, all that a user may call a graph, what is refused."""

import doctest
import importlib
import math
import os
import pickle
import subprocess
import sys
import warnings

import networkx
import numpy as np
import pandas
import polars
import pytest
import scipy.io
import scipy.sparse as sp
import sklearn.covariance
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_breast_cancer, load_svmlight_file

from adasadmm import graphs
from adasadmm.graphs import Graph, GraphWarning, as_graph, graphical, inverse
from adasadmm.graphs.columns import covariance, describe

EDGES = np.array([[0, 1], [3, 1], [2, 4]])


def walk(n=500, d=8, seed=0):
    """Rows whose inverse covariance is that of a chain: a random walk along the columns."""
    return np.cumsum(np.random.default_rng(seed).normal(size=(n, d)), axis=1)


def sparse(n, d, density):
    rng = np.random.default_rng(0)
    return sp.csr_array(rng.random((n, d)) * (rng.random((n, d)) < density))


def same(graph, other):
    return np.array_equal(graph.edges, other.edges) and np.array_equal(graph.weights, other.weights)


# ------------------------------------------------------------------------------------------------ edges and matrices


def test_incidence_and_back():
    F = graphs.incidence(EDGES, [1.0, 2.5, 3.0], d=6)
    assert isinstance(F, sp.csr_array) and F.shape == (3, 6)
    assert F[1, 3] == 2.5 and F[1, 1] == -2.5
    edges, weights = graphs.edges_of(F)
    np.testing.assert_array_equal(edges, EDGES)
    np.testing.assert_array_equal(weights, [1.0, 2.5, 3.0])


def test_incidence_measures_differences_along_edges():
    w = np.random.default_rng(0).normal(size=5)
    np.testing.assert_allclose(graphs.incidence(EDGES) @ w, w[EDGES[:, 0]] - w[EDGES[:, 1]])


@pytest.mark.parametrize(
    "F, message",
    [
        ([[1.0, -1.0, 0.0], [1.0, -1.0, 1.0]], "row 1 of F is not an edge: it has 3 non-zero values"),
        ([[1.0, -2.0]], "row 0 of F is not an edge: its values 1.0 and -2.0 are not opposite"),
    ],
)
def test_what_is_no_incidence_matrix_is_refused(F, message):
    with pytest.raises(ValueError, match=message):
        graphs.edges_of(F)


def test_degrees_of_chains_and_grids():
    def degrees(edges):
        return np.bincount(np.bincount(edges.reshape(-1))).tolist()

    assert degrees(graphs.chain(5)) == [0, 2, 3]
    assert degrees(graphs.grid(3, 4)) == [0, 0, 4, 6, 2]
    assert degrees(graphs.grid(3, 3, 3)) == [0, 0, 0, 8, 12, 6, 1]
    assert graphs.grid(8, 8).shape == (2 * 8 * 7, 2)
    assert graphs.chain(1).shape == (0, 2)
    np.testing.assert_array_equal(graphs.grid(5), graphs.chain(5))


def test_a_graph_has_one_form():
    graph = Graph(EDGES[::-1, ::-1], [3.0, 2.0, 1.0], d=6)
    np.testing.assert_array_equal(graph.edges, [[0, 1], [1, 3], [2, 4]])
    np.testing.assert_array_equal(graph.weights, [1.0, 2.0, 3.0])
    assert graph.edges.dtype == np.int64 and graph.weights.dtype == np.float64 and graph.n_edges == 3
    assert same(pickle.loads(pickle.dumps(graph)), graph)
    np.testing.assert_array_equal(graph.adjacency().toarray(), graph.adjacency().toarray().T)
    F = graph.incidence()
    laplacian = np.diag(graph.adjacency().power(2).sum(axis=1)) - graph.adjacency().power(2).toarray()
    np.testing.assert_allclose((F.T @ F).toarray(), laplacian)


def test_differences_of_polynomials_vanish():
    t = np.arange(12.0)
    for order in (1, 2, 3, 4):
        D = graphs.difference(12, order=order)
        assert D.shape == (12 - order, 12)
        np.testing.assert_allclose(D @ t ** (order - 1), 0.0, atol=1e-9)
        assert np.all(D @ t**order != 0)
    assert graphs.difference(3, order=3).shape == (0, 3)
    np.testing.assert_array_equal(graphs.trend(7).toarray(), graphs.difference(7, order=2).toarray())
    np.testing.assert_array_equal(graphs.difference(5).toarray(), graphs.incidence(graphs.chain(5)).toarray())


def test_differences_at_uneven_positions_annihilate_polynomials_of_the_position():
    x = np.cumsum(np.random.default_rng(0).uniform(0.2, 3.0, 12))
    for order in (1, 2, 3, 4):
        D = graphs.difference(12, order, positions=x)
        assert D.shape == (12 - order, 12) and D.has_canonical_format
        np.testing.assert_allclose(D @ x ** (order - 1), 0.0, atol=1e-9)
        steps = math.factorial(order - 1) * (x[order:] - x[:-order])  # the divided difference of x^order is 1
        np.testing.assert_allclose(D @ x**order, (-1) ** order * steps, rtol=1e-9)
        np.testing.assert_array_equal(
            graphs.difference(12, order, positions=np.arange(12) - 4).toarray(), graphs.difference(12, order).toarray()
        )
        np.testing.assert_allclose(
            graphs.difference(12, order, positions=0.5 * np.arange(12)).toarray(),
            0.5 ** (1 - order) * graphs.difference(12, order).toarray(),
        )


def test_overlapping_groups_copy_their_coefficients():
    groups = [[0, 1, 2], range(2, 5), np.array([4, 0])]
    A, rows = graphs.overlapping_groups(groups, d=6)
    w = np.arange(6.0)
    for group, mine in zip(groups, rows, strict=True):
        np.testing.assert_array_equal((A @ w)[mine], w[list(group)])
    assert sorted(np.concatenate(rows)) == list(range(A.shape[0]))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: graphs.difference(3, order=0), "order must be a whole number >= 1, got 0"),
        (lambda: graphs.difference(2.5), "n must be a whole number >= 1, got 2.5"),
        (lambda: graphs.difference(3, positions=[0, 1]), r"positions must have shape \(3,\), got \(2,\)"),
        (lambda: graphs.difference(2, positions=[0, np.nan]), "positions must be finite, got nan"),
        (
            lambda: graphs.difference(3, 2, positions=[0, 2, 2]),
            "positions must be strictly increasing, got 2.0 and then 2.0 at index 2; sort them and merge equal ones",
        ),
        (lambda: graphs.overlapping_groups([[0], []], 3), "group 1 must be a non-empty list"),
        (lambda: graphs.overlapping_groups([[0, 3]], 3), "group 0 contains 3: there are 3 coefficients, 0 to 2"),
        (lambda: graphs.overlapping_groups([[0, -1]], 3), "group 0 contains -1"),
        (lambda: graphs.overlapping_groups([[1, 0, 1]], 3), "group 0 contains 1 more than once"),
        (lambda: graphs.overlapping_groups([], 3), "at least one group"),
        (lambda: graphs.chain(0), "d must be a whole number >= 1, got 0"),
        (lambda: graphs.grid(3, 2.5), "each axis of a grid must be a whole number >= 1, got 2.5"),
        (lambda: graphs.grid(), "grid needs the length of each axis"),
        (lambda: graphs.incidence([]), "d, the number of coefficients, is required"),
        (lambda: graphs.knn(walk(), k=0), "k must be a whole number >= 1, got 0"),
        (lambda: graphs.knn(np.full((3, 2), np.nan)), "X must be finite, got nan"),
        (lambda: graphs.glasso(walk(), penalty=-1.0), "penalty must be a number > 0, 'cv' or None, got -1.0"),
        (lambda: graphs.glasso(walk(), penalty="bic"), "got 'bic'"),
        (lambda: graphs.glasso(walk(), edges=0), "edges must be a whole number >= 1, got 0"),
        (lambda: graphs.glasso(walk(), edges=3, penalty=1.0), "pass penalty or edges, not both"),
        (lambda: graphs.glasso(np.zeros((0, 3))), "cannot be learnt from 0 rows"),
        (lambda: graphs.glasso(walk(4), sample_weight=np.zeros(4)), "4 rows that all have weight 0"),
        (lambda: graphs.glasso(walk(2), sample_weight=[1.0, -2.0]), "sample_weight must be >= 0, got -2.0"),
        (lambda: graphs.glasso(walk(2), sample_weight=[1.0]), r"sample_weight must have shape \(2,\), got \(1,\)"),
    ],
)
def test_what_is_refused_says_so(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --------------------------------------------------------------------------------------------------- learnt graphs


def test_glasso_finds_a_planted_chain():
    d = 20
    X = np.random.default_rng(0).normal(size=(2000, d))
    for j in range(1, d):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    graph = graphs.glasso(X, edges=d - 1)
    np.testing.assert_array_equal(graph.edges, graphs.chain(d))
    assert np.all(graph.weights == 1.0) and "penalty" in graph.notes[-1]


def objective(K, S, penalty):
    return np.sum(S * K) - np.linalg.slogdet(K)[1] + penalty * np.sum(np.abs(K - np.diag(np.diag(K))))


COVARIANCES = {
    "walks": np.cov(np.hstack([walk(400, 6, seed) for seed in range(4)]).T / np.tile(np.arange(1.0, 7), 4)[:, None]),
    "singular": np.cov(np.random.default_rng(0).normal(size=(5, 20)).T),
    "mixed scales": np.cov(load_breast_cancer().data[:, ::3].T),
    "duplicates": np.cov(np.tile(walk(30, 4), 3).T),
}


@pytest.mark.parametrize("name", COVARIANCES)
@pytest.mark.parametrize("rank", [0.05, 0.2, 0.5])
def test_the_graphical_lasso_is_optimal(name, rank):
    S = COVARIANCES[name]
    off = ~np.eye(len(S), dtype=bool)
    penalty = np.quantile(np.abs(S[off]), 1.0 - rank)
    B, W = graphical.graphical_lasso(S, penalty)
    np.testing.assert_array_equal(np.diag(W), np.diag(S))
    assert np.max(np.abs(W - S)[off]) <= 1.001 * penalty  # the constraints of the dual
    used = B != 0.0
    np.testing.assert_array_equal(used, used.T)
    K = np.linalg.inv(W)
    np.testing.assert_allclose((W - S)[used], penalty * np.sign(-B[used]), rtol=1e-3)
    np.testing.assert_allclose(K, np.diag(K)[:, None] * (np.eye(len(S)) - B), rtol=0, atol=1e-3 * np.max(np.diag(K)))
    K[~used & off] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _, other = sklearn.covariance.graphical_lasso(S, penalty)
        except FloatingPointError:
            return  # it cannot do this one
    best = objective(K, S, penalty)
    assert best <= objective(other, S, penalty) + 1e-6 * abs(best)


@pytest.mark.parametrize("blocks, penalty", [(1, 0.02), (3, 0.05), (4, 0.1), (9, 0.2), (16, 0.3)])
def test_solving_blocks_apart_changes_nothing(blocks, penalty):
    S = COVARIANCES["walks"]
    assert connected_components(np.abs(S) > penalty)[0] == blocks
    B, _ = graphical.graphical_lasso(S, penalty)
    pairs = inverse.sparse_inverse(S, penalty)
    assert set(map(tuple, pairs)) == set(map(tuple, np.argwhere(np.triu(B, 1))))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix, lambda X: sp.csr_array(X * (X > 1.5))])
def test_a_weight_is_a_repetition(form):
    rng = np.random.default_rng(1)
    X, weights = form(rng.normal(size=(60, 7)) + 3.0), rng.integers(0, 4, size=60)
    X = X.tocsr() if sp.issparse(X) else X
    repeated = X[np.repeat(np.arange(60), weights)]
    dense = repeated.toarray() if sp.issparse(repeated) else repeated
    np.testing.assert_allclose(covariance(describe(X, weights)), np.cov(dense.T, bias=True), rtol=0, atol=1e-12)
    np.testing.assert_allclose(covariance(describe(X, weights)), covariance(describe(repeated)), rtol=0, atol=1e-12)
    for learn in (graphs.glasso, graphs.knn):
        assert same(learn(X, sample_weight=weights), learn(repeated))


def test_very_sparse_columns_have_the_same_covariance_as_dense_ones():
    X = sparse(300, 40, 0.05)
    np.testing.assert_allclose(covariance(describe(X)), np.cov(X.toarray().T, bias=True), rtol=0, atol=1e-15)
    assert same(graphs.knn(X), graphs.knn(X.toarray())) and same(graphs.glasso(X), graphs.glasso(X.toarray()))


def test_nearest_neighbours_are_those_of_the_correlation():
    X = np.random.default_rng(0).normal(size=(50, 12)) @ np.random.default_rng(1).normal(size=(12, 12))
    closeness = np.abs(np.corrcoef(X.T)) - np.eye(12)
    chosen = np.zeros((12, 12), dtype=bool)
    for j in range(12):
        chosen[j, np.argsort(-closeness[j])[:2]] = True
    graph = graphs.knn(X, k=2)
    np.testing.assert_array_equal(graph.edges, np.argwhere(np.triu(chosen | chosen.T)))
    order = np.random.default_rng(2).permutation(12)
    assert same(Graph(order[graphs.knn(X[:, order], k=2).edges]), graph)  # the order of columns does not matter
    np.testing.assert_array_equal(graphs.knn(X, k=50).edges, np.argwhere(np.triu(np.ones((12, 12)), 1)))


def test_columns_are_cut_into_blocks_without_effect(monkeypatch):
    X = sparse(80, 30, 0.3)
    whole, S = graphs.knn(X), covariance(describe(X))
    monkeypatch.setattr("adasadmm.graphs.columns._BLOCK", 200)
    for form in (X, X.toarray()):
        assert same(graphs.knn(form), whole)
        np.testing.assert_allclose(covariance(describe(form)), S, rtol=0, atol=1e-14)


def test_a_large_mean_does_no_harm():
    assert same(graphs.glasso(walk() + 1e9), graphs.glasso(walk()))
    assert same(graphs.knn(walk() + 1e9), graphs.knn(walk()))


@pytest.mark.parametrize(
    "name, X, edges",
    [
        ("one row", walk(1), 0),
        ("all zeros", np.zeros((10, 4)), 0),
        ("all zeros, sparse", sp.csr_array((10, 4)), 0),
        ("one column", walk(20, 1), 0),
        ("orthogonal columns", np.kron(np.ones((3, 1)), np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])), 0),
        ("two columns", walk(20, 2), 1),
        ("all columns equal", np.tile(walk(20, 1), 4), 6),
        ("fewer rows than columns", np.random.default_rng(0).normal(size=(5, 40)), 80),
        ("duplicate columns", np.tile(np.random.default_rng(0).normal(size=(50, 10)), 2), 40),
        ("too large for a variance", walk() * 1e200, 0),
        ("too small for a variance", walk() * 1e-200, 0),
        ("two rows", np.random.default_rng(0).normal(size=(2, 6)), 12),
    ],
)
def test_learning_never_fails(name, X, edges):
    for form in (X, sp.csr_array(X)):
        graph = graphs.glasso(form)
        assert abs(graph.n_edges - edges) <= 0.2 * edges, name
        assert graph.d == X.shape[1] and graph.notes
    if edges == 0 and X.shape[1] > 1:
        with pytest.warns(GraphWarning, match="the graph has no edges"):
            assert "no edges" in as_graph("glasso", X.shape[1], X=X).notes[-1]


def test_columns_that_cannot_be_used_stay_alone_and_are_named():
    X = walk(100, 6)
    X[:, 2] = 7.0
    X[:, 4] *= 1e-200
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    for graph in (graphs.glasso(X), graphs.knn(X)):
        assert not np.isin([2, 4], graph.edges).any() and graph.n_edges > 3
        assert graph.notes[0] == "constant columns have no edges (1 of 6): 2"
        assert graph.notes[1].startswith("columns whose variance underflows or overflows have no edges (1 of 6)")
    for graph in (graphs.glasso(frame), as_graph("knn", 6, X=polars.from_pandas(frame)), graphs.knn(frame)):
        assert graph.notes[0] == "constant columns have no edges (1 of 6): c"
    assert as_graph("glasso", 6, X=X, feature_names=list("uvwxyz")).notes[0].endswith(": w")


def test_the_ladder_goes_down_rung_by_rung_and_says_so(monkeypatch):
    X, refused = walk(), 0
    rungs = ["shrunk by 0.1", "shrunk correlation", "neighbourhood selection", "nearest neighbours"]
    real = inverse.sparse_inverse
    allowed = []

    def choosy(S, penalty):  # a rung is known by its matrix
        kind = "correlation" if np.allclose(np.diag(S), 1.0) else "covariance"
        seen.setdefault(S.tobytes(), kind)
        return real(S, penalty) if len(seen) > refused else None

    monkeypatch.setattr(inverse, "sparse_inverse", choosy)
    for rung in rungs:
        refused, seen = refused + 1, {}
        if rung == "nearest neighbours":
            monkeypatch.setattr(inverse, "neighbourhoods", lambda R, penalty: None)
        with pytest.warns(
            GraphWarning, match=f"could not compute the sparse inverse covariance.*using .*{rung}.* instead"
        ):
            graph = graphs.glasso(X, edges=7)
        assert graph.notes[0].startswith("could not compute") and 6 <= graph.n_edges <= 20
        allowed.append(list(seen.values()))
    assert allowed[2] == ["covariance", "covariance", "correlation"]


def test_neighbourhood_selection_finds_a_chain_too():
    S = np.cov(walk(5000, 10).T)
    R = S / np.sqrt(np.diag(S)) / np.sqrt(np.diag(S))[:, None]
    _, pairs = inverse.search(R, 9, inverse.neighbourhoods)
    np.testing.assert_array_equal(pairs, graphs.chain(10))


def test_mixed_scales_are_no_obstacle():
    X = load_breast_cancer().data  # variances from 7e-6 to 3e5
    assert 50 <= graphs.glasso(X).n_edges <= 70
    assert 50 <= graphs.glasso((X - X.mean(axis=0)) / X.std(axis=0)).n_edges <= 70


def test_what_cannot_be_inverted_falls_down_the_ladder():
    X = walk(20, 6) * 10.0 ** np.arange(-150, 150, 50)
    with pytest.warns(
        GraphWarning, match="could not compute the sparse inverse covariance; .* using nearest neighbours instead"
    ):
        graph = graphs.glasso(X)
    assert same(graph, graphs.knn(X))


def test_cross_validation_chooses_a_penalty(monkeypatch):
    X = walk(300, 6)
    graph = graphs.glasso(X, penalty="cv")
    assert set(map(tuple, graphs.chain(6))) <= set(map(tuple, graph.edges))
    assert same(graphs.glasso(sp.csr_array(X), penalty="cv"), graph)
    assert same(graphs.glasso(X, penalty="cv", sample_weight=np.full(300, 2.0)), graph)
    monkeypatch.setattr(inverse, "_cross_validated", lambda *_: None)  # which data fail depends on scikit-learn
    with pytest.warns(GraphWarning, match="cross-validation found no penalty"):
        assert "cross-validation found no penalty" in graphs.glasso(np.eye(2, 4), penalty="cv").notes[1]


def test_many_columns_get_nearest_neighbours(monkeypatch):
    monkeypatch.setattr(inverse, "LARGEST", 7)
    with pytest.warns(GraphWarning, match="8 columns are too many .* using nearest neighbours instead"):
        graph = as_graph("glasso", 8, X=walk())
    assert same(graph, graphs.knn(walk())) and "too many" in graph.notes[0]


def test_a_learnt_graph_is_the_same_every_time():
    X = walk(50, 30) + np.random.default_rng(1).normal(size=(50, 30))
    assert same(graphs.glasso(X), graphs.glasso(X.copy())) and same(graphs.knn(X), graphs.knn(np.asfortranarray(X)))


# ------------------------------------------------------------------------------------------ what a user calls a graph

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


# ---------------------------------------------------------------------------------------------------------- the rest


@pytest.mark.parametrize("name", ["edges", "structures", "columns", "inverse", "given"])
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"adasadmm.graphs.{name}")
    assert doctest.testmod(module).failed == 0


def test_importing_needs_no_frames_no_networks_and_no_scikit_learn():
    code = "import sys, adasadmm.graphs; assert not {'pandas', 'polars', 'networkx', 'sklearn'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


PAPER = {  # features, the penalty that comes closest to the paper's table, its edges
    "a9a": (123, 0.01, 251),
    "mushrooms": (112, 0.07, 99),
    "news20": (100, 0.01, 43),
    "splice": (60, 0.1, 125),
    "svmguide3": (22, 0.02, 8),
    "w8a": (300, 0.01, 1233),
}


def paper_rows(name):
    folder = os.environ["ADASADMM_DATA"]
    if name == "news20":
        return scipy.io.loadmat(os.path.join(folder, "20news_w100.mat"))["documents"].T
    parts = [f"{name}.bz2"] if name == "mushrooms" else [f"{name}.bz2", f"{name}.t.bz2"]
    return sp.vstack([load_svmlight_file(os.path.join(folder, part), n_features=PAPER[name][0])[0] for part in parts])


@pytest.mark.data
@pytest.mark.skipif("ADASADMM_DATA" not in os.environ, reason="ADASADMM_DATA does not say where the data sets are")
@pytest.mark.parametrize("name", PAPER)
def test_the_papers_data_sets_give_graphs(name):
    X = paper_rows(name)
    d, penalty, edges = PAPER[name]
    graph = as_graph("glasso", d, X=X)
    assert abs(graph.n_edges - 2 * d) <= 0.15 * 2 * d
    assert abs(graphs.glasso(X, penalty=penalty).n_edges - edges) <= 0.02 * edges
    if name in ("mushrooms", "svmguide3"):
        assert graph.notes[0].startswith("constant columns have no edges (1 of")


# --- many columns ----------------------------------------------------------------------------------------------------


def sparse_rows(n=40, d=60, density=0.1, seed=0):
    """Sparse columns, some of them empty, constant, equal or opposite."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 4, size=(n, d)) * (rng.random((n, d)) < density) * 1.0
    X[:, 3], X[:, 5], X[:, 8], X[:, 9] = 0.0, 1.0, X[:, 7], -X[:, 7]
    X[:, 11] = rng.random(n) < 0.9  # so full that its mean tells of columns without a common row
    return X


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 3, 70])
def test_common_rows_give_the_neighbours_that_all_covariances_give(seed, k, monkeypatch):
    X, weights = sparse_rows(seed=seed), np.random.default_rng(seed).integers(0, 3, size=40)
    found = []
    for sparse in (True, False):
        monkeypatch.setattr("adasadmm.graphs.neighbours._sparse_is_cheaper", lambda columns, sparse=sparse: sparse)
        found.append(graphs.knn(sp.csr_array(X), k=k, sample_weight=weights))
    columns = describe(X, weights)
    S = np.abs(covariance(columns)) / np.sqrt(np.maximum(np.outer(columns.variance, columns.variance), 1e-30))
    assert found[0].notes == found[1].notes
    edges = [set(map(tuple, graph.edges.tolist())) for graph in found]
    np.fill_diagonal(S, 0.0)
    least = -np.sort(-np.where(columns.usable, S, 0.0), axis=1)[:, min(k, 59) - 1]  # of the k nearest of each column
    for i, j in edges[0] ^ edges[1]:  # only ties may be broken differently, since the two round differently
        assert np.isclose(S[i, j], [least[i], least[j]], rtol=1e-9).any()


def test_pieces_of_sparse_columns_change_nothing(monkeypatch):
    X = sp.csr_array(sparse_rows())
    whole = graphs.knn(X)
    monkeypatch.setattr("adasadmm.graphs.neighbours.BLOCK_WORK", 500)
    assert same(graphs.knn(X), whole)


@pytest.mark.compiled
def test_a_hundred_thousand_sparse_columns_are_compared_by_their_common_rows(monkeypatch):
    def refuse(*args):
        raise AssertionError("d x d covariances")

    monkeypatch.setattr("adasadmm.graphs.neighbours._by_blocks", refuse)
    X = sp.random_array((200, 100_000), density=1e-3, format="csr", rng=np.random.default_rng(0))
    with pytest.warns(GraphWarning, match="100,000 columns are too many for a sparse inverse covariance"):
        graph = graphs.glasso(X)
    assert graph.d == 100_000 and graph.n_edges > 18_000  # as many columns have entries


@pytest.mark.parametrize("sparse", [False, True])
def test_hours_of_work_are_refused_with_a_remedy(sparse, monkeypatch):
    X = sparse_rows()
    monkeypatch.setattr("adasadmm.graphs.neighbours.MOST_WORK", 1e3)
    for learn in (graphs.knn, lambda X: as_graph("knn", 60, X=X)):
        with pytest.raises(ValueError, match=r"60 columns over 40 rows .* takes hours .* sample of the rows"):
            learn(sp.csr_array(X) if sparse else X)


def test_progress_of_a_learnt_graph_is_shown(capsys):
    for X in (sparse_rows(), sp.csr_array(sparse_rows())):
        graphs.knn(X)
        assert capsys.readouterr().err == ""
        graphs.knn(X, progress=True)
        assert "nearest columns: 100%" in capsys.readouterr().err
