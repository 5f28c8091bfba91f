"""Clusters of coefficients that rows of a matrix join, and matrices with their columns summed over them.

Each row of the matrix is a difference of two coefficients, or a multiple of one, which is then tied to 0. Where A has
other rows, the points with ``A w = 0`` are a null space.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse._sparsetools import coo_tocsr, csr_matvecs

from .._core.jit import compiled
from ..rows.matrices import CSR

__all__ = [
    "Clusters",
    "clusters_of",
    "components",
    "connect",
    "ends_of",
    "joined",
    "null_space",
    "summed",
    "summed_square",
]


def ends_of(A: CSR) -> tuple[np.ndarray, np.ndarray]:
    """The two coefficients of each row of A; the second is ``d``, the ground, for a row with one entry."""
    first = A.indices[A.indptr[:-1]].astype(np.int64)
    second = A.indices[A.indptr[1:] - 1].astype(np.int64)
    second[np.diff(A.indptr) == 1] = A.shape[1]
    return first, second


def joined(
    ends: tuple[np.ndarray, np.ndarray], rows: np.ndarray, d: int, often: bool = False
) -> tuple[np.ndarray, int]:
    """The cluster of each coefficient if these rows are 0, and the number of clusters; -1 for those tied to 0."""
    number, label = components(ends[0][rows], ends[1][rows], d + 1, often)
    free = label[:d] != label[d]
    label = np.where(free, label[:d] - (label[:d] > label[d]), -1)
    return label, number - 1


def components(first: np.ndarray, second: np.ndarray, nodes: int, often: bool = False) -> tuple[int, np.ndarray]:
    """The number of components of a graph with these edges, and that of each node, in the order of first nodes.

    For a caller that asks often, a loop is compiled that takes a tenth of the time on small graphs.
    """
    starts = np.ones(nodes, np.bool_)
    if np.array_equal(second, first + 1):  # parts of a chain
        starts[second] = False
        return int(np.count_nonzero(starts)), np.cumsum(starts) - 1
    if often:
        connect(first, second, root := np.arange(nodes))
        np.equal(root, np.arange(nodes), out=starts)
        return int(np.count_nonzero(starts)), (np.cumsum(starts) - 1)[root]
    # As `sp.csr_array((ones, (first, second)))` would, which takes several times as long for a small graph.
    m, ends = len(first), np.array([first, second], dtype=np.int32)
    ones, other_ones, begin, others = np.ones(m), np.empty(m), np.empty(nodes + 1, np.int32), np.empty(m, np.int32)
    coo_tocsr(nodes, nodes, m, ends[0], ends[1], ones, begin, others, other_ones)
    graph = sp.csr_array((other_ones, others, begin), shape=(nodes, nodes))
    number, label = csgraph.connected_components(graph, directed=False)
    return number, label.astype(np.int64)


@compiled
def connect(first, second, root):
    """Write to ``root``, which holds all nodes in order, the smallest node that each one is connected to.

    For methods that are compiled anyway, and for `components` where it is asked often.
    """
    for k in range(len(first)):
        i, j = first[k], second[k]
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        root[max(i, j)] = min(i, j)
    for node in range(len(root)):
        root[node] = root[root[node]]


def summed(columns: np.ndarray | sp.csr_array, label: np.ndarray, number: int) -> np.ndarray:
    """The sums of the columns with the same label, as a dense array; columns with the label -1 are left out.

    A dense matrix is given as its transpose, so that columns are contiguous. Its product with a sparse matrix is called
    directly, since making that matrix would take as long as a small product.
    """
    if sp.issparse(columns):
        used = np.flatnonzero(label >= 0)
        weights: Any = sp.csr_array((np.ones(len(used)), (used, label[used])), shape=(len(label), number))
        return (columns @ weights).toarray()
    d, n = columns.shape
    order = np.argsort(label, kind="stable").astype(np.int32)
    begin = np.searchsorted(label[order], np.arange(number + 1)).astype(np.int32)
    out = np.zeros((number, n))
    csr_matvecs(number, d, n, begin, order, np.ones(d), columns.ravel(), out.ravel())
    return out.T


def summed_square(M: np.ndarray, label: np.ndarray, number: int) -> np.ndarray:
    """The sums of the entries of a square matrix over pairs of labels; those with the label -1 are left out."""
    return summed(np.ascontiguousarray(summed(M, label, number)), label, number)


# --- points with A w = 0 ---------------------------------------------------------------------------------------------


class Clusters(NamedTuple):
    """The cluster of each coefficient, the number of clusters, and the one that each row with one entry belongs to."""

    label: np.ndarray
    number: int
    single: np.ndarray


def clusters_of(A: CSR | sp.csr_array, rows: np.ndarray | None = None) -> Clusters | None:
    """The clusters that ``A w = 0`` makes equal, in these rows or in all.

    None unless each of the rows is a difference of two entries, or has one.
    """
    rows = np.arange(A.shape[0]) if rows is None else rows
    starts = A.indptr[rows]
    entries = A.indptr[rows + 1] - starts
    pairs = starts[entries == 2]
    if (entries > 2).any() or (A.data[pairs] + A.data[pairs + 1] != 0.0).any():
        return None
    number, label = components(A.indices[pairs], A.indices[pairs + 1], A.shape[1])
    return Clusters(label, number, label[A.indices[starts[entries == 1]]])


def null_space(A: sp.csr_array) -> sp.csr_array:
    """A matrix whose columns are a basis of the points with ``A w = 0``; for clusters, their indicators."""
    A = sp.csr_array(A)
    A.eliminate_zeros()
    d, found = A.shape[1], clusters_of(A)
    if found is None:
        return sp.csr_array(scipy.linalg.null_space(A.toarray()))
    indicators = sp.csc_array((np.ones(d), (np.arange(d), found.label)), shape=(d, found.number))
    return sp.csr_array(indicators[:, np.setdiff1d(np.arange(found.number), found.single)])
