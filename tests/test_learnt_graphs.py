"""Graphs learnt from data: sparse inverse covariance and nearest neighbours."""

import os
import warnings

import numpy as np
import pandas
import polars
import pytest
import scipy.io
import scipy.sparse as sp
import sklearn.covariance
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_breast_cancer, load_svmlight_file
from some_graphs import random_sparse, same, walk

from adasadmm import graphs
from adasadmm.graphs import Graph, GraphWarning, as_graph, graphical, inverse
from adasadmm.graphs.columns import covariance, describe

pytestmark = pytest.mark.kernels


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
    X = random_sparse(300, 40, 0.05)
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


def test_columns_are_cut_into_blocks_without_effect(limits):
    X = random_sparse(80, 30, 0.3)
    whole, S = graphs.knn(X), covariance(describe(X))
    limits(entries_of_a_block_of_covariances=200)
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


def test_many_columns_get_nearest_neighbours(limits):
    limits(features_of_a_graphical_lasso=7)
    with pytest.warns(GraphWarning, match="8 columns are too many .* using nearest neighbours instead"):
        graph = as_graph("glasso", 8, X=walk())
    assert same(graph, graphs.knn(walk())) and "too many" in graph.notes[0]


def test_a_learnt_graph_is_the_same_every_time():
    X = walk(50, 30) + np.random.default_rng(1).normal(size=(50, 30))
    assert same(graphs.glasso(X), graphs.glasso(X.copy())) and same(graphs.knn(X), graphs.knn(np.asfortranarray(X)))


# --- the paper's data sets -------------------------------------------------------------------------------------------

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


def test_pieces_of_sparse_columns_change_nothing(limits):
    X = sp.csr_array(sparse_rows())
    whole = graphs.knn(X)
    limits(work_of_a_block_of_neighbours=500)
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
def test_hours_of_work_are_refused_with_a_remedy(sparse, limits):
    X = sparse_rows()
    limits(work_of_exact_neighbours=1e3)
    for learn in (graphs.knn, lambda X: as_graph("knn", 60, X=X)):
        with pytest.raises(ValueError, match=r"60 columns over 40 rows .* takes hours .* sample of the rows"):
            learn(sp.csr_array(X) if sparse else X)


def test_progress_of_a_learnt_graph_is_shown(capsys):
    for X in (sparse_rows(), sp.csr_array(sparse_rows())):
        graphs.knn(X)
        assert capsys.readouterr().err == ""
        graphs.knn(X, progress=True)
        assert "nearest columns: 100%" in capsys.readouterr().err
