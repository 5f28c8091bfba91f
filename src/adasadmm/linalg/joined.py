"""Clusters of coefficients that some rows of a graph's matrix join, and matrices with their columns summed over them.

Each row of the matrix is a difference of two coefficients, or a multiple of one, which is then tied to 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._core.jit import compiled, inlined
from .matrices import CSR, Dense, Rows, WithIntercept, plain

__all__ = ["components", "ends_of", "joined", "summed", "unite"]


def ends_of(A: CSR) -> tuple[np.ndarray, np.ndarray]:
    """The two coefficients of each row of A; the second is ``d``, the ground, for a row with one entry."""
    first = A.indices[A.indptr[:-1]].astype(np.int64)
    second = A.indices[A.indptr[1:] - 1].astype(np.int64)
    second[np.diff(A.indptr) == 1] = A.shape[1]
    return first, second


def joined(ends: tuple[np.ndarray, np.ndarray], rows: np.ndarray, d: int) -> tuple[np.ndarray, int]:
    """The cluster of each coefficient if these rows are 0, and the number of clusters; -1 for those tied to 0."""
    root = components(*ends, rows, np.arange(d + 1))
    label = np.full(d + 1, -1)
    free = np.unique(root[root != root[d]])
    label[free] = np.arange(len(free))
    return label[root[:d]], len(free)


@compiled
def components(first, second, rows, root):
    """The smallest node that each node is connected to by these rows; ``root`` holds the nodes, and is overwritten."""
    for row in rows:
        unite(root, first[row], second[row])
    for node in range(len(root)):
        root[node] = root[root[node]]
    return root


@inlined
def unite(root, i, j):
    """Give the clusters of two nodes one root, the smaller one."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    while root[j] != j:
        root[j] = root[root[j]]
        j = root[j]
    root[max(i, j)] = min(i, j)


def summed(X: Rows, label: np.ndarray, number: int) -> np.ndarray:
    """The sums of the columns with the same label, as a dense array; columns with the label -1 are left out."""
    if isinstance(X, WithIntercept):
        out = summed(X.rows, label[:-1], number)
        if label[-1] >= 0:
            out[:, label[-1]] += 1.0
        return out
    used = np.flatnonzero(label >= 0)
    if isinstance(X, Dense):
        out = np.zeros((X.shape[0], number))
        add_columns(X.values, used, label[used], out)
        return out
    weights: Any = sp.csr_array((np.ones(len(used)), (used, label[used])), shape=(len(label), number))
    return (plain(X) @ weights).toarray()


@compiled
def add_columns(values, used, label, out):
    """Add these columns to those of their labels."""
    for i in range(values.shape[0]):
        for k in range(len(used)):
            out[i, label[k]] += values[i, used[k]]
