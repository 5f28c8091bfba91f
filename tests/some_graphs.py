"""Rows and edges for tests of graphs."""

import numpy as np
import scipy.sparse as sp

EDGES = np.array([[0, 1], [3, 1], [2, 4]])


def walk(n=500, d=8, seed=0):
    """Rows whose inverse covariance is that of a chain: a random walk along the columns."""
    return np.cumsum(np.random.default_rng(seed).normal(size=(n, d)), axis=1)


def random_sparse(n, d, density):
    rng = np.random.default_rng(0)
    return sp.csr_array(rng.random((n, d)) * (rng.random((n, d)) < density))


def same(graph, other):
    return np.array_equal(graph.edges, other.edges) and np.array_equal(graph.weights, other.weights)
