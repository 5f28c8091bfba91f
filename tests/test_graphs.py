"""Graphs: edges, their incidence matrices and the structures made of them, and what is refused."""

import doctest
import importlib
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from some_graphs import EDGES, same, walk

from adasadmm import graphs
from adasadmm.graphs import Graph


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


@pytest.mark.parametrize("name", ["edges", "structures", "columns", "inverse", "given"])
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"adasadmm.graphs.{name}")
    assert doctest.testmod(module).failed == 0


def test_importing_needs_no_frames_no_networks_and_no_scikit_learn():
    code = "import sys, adasadmm.graphs; assert not {'pandas', 'polars', 'networkx', 'sklearn'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
