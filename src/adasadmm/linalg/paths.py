"""Recognise a matrix of weighted differences whose edges form paths, in whatever order its rows and columns are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import compiled, entry_or
from .matrices import CSR

__all__ = ["Paths", "paths_of"]

NONE = -1


class Paths(NamedTuple):
    """All nodes in the order of a walk along disjoint paths, one path after the other.

    Row ``rows[k]`` of A is ``weights[k] (w_i - w_j)``, where i and j are the nodes ``order[k]`` and ``order[k + 1]``.
    Where a path ends, ``rows[k]`` is -1 and ``weights[k]`` is 0; a node without edges is a path of its own.

    Attributes
    ----------
    order : ndarray of shape (nodes,), or empty where natural
    rows, weights : ndarray of shape (nodes - 1,); rows is empty where natural, and weights is the number 1.0 where even
    natural : bool
        The order of the nodes and of the rows is 0, 1, 2, ...
    even : bool
        All weights are 1, and the order is natural.
    """

    order: np.ndarray
    rows: np.ndarray
    weights: np.ndarray | float
    natural: bool = False
    even: bool = False

    @classmethod
    def along(cls, weights: np.ndarray | None = None) -> Paths:
        """A single path with these weights, by default 1, in the natural order."""
        none = np.empty(0, np.int64)
        return cls(none, none, 1.0 if weights is None else weights, True, weights is None)

    def differences(self, w: np.ndarray) -> np.ndarray:
        """``A w`` where the order is natural."""
        differences(self.weights, w, out := np.empty(len(w) - 1))
        return out

    def divergences(self, theta: np.ndarray) -> np.ndarray:
        """``A'theta`` where the order is natural."""
        divergences(self.weights, theta, out := np.empty(len(theta) + 1))
        return out


def paths_of(A: CSR) -> Paths | None:
    """The paths that the rows of A are the edges of; None if a row is no difference, or the edges no paths."""
    m, d = A.shape
    if m >= d or len(A.data) != 2 * m:  # paths have fewer edges than nodes; most other matrices end here
        return None
    weights = np.empty(d - 1)
    natural, even = is_natural(A, weights)
    if natural:
        return Paths.along(None if even else weights)
    order, rows = np.empty(d, np.int64), np.full(d - 1, NONE)
    weights[:] = 0.0
    found = walk(A, order, rows, weights)
    return Paths(order, rows, weights) if found else None


@compiled
def is_natural(A, weights):
    """Whether row k is a difference of the columns k and k + 1, for all columns, and whether all weights are 1."""
    even = True
    if len(A.indptr) != A.columns:
        return False, False
    for k in range(A.columns - 1):
        p = 2 * k
        if A.indptr[k + 1] != p + 2 or A.indices[p] != k or A.indices[p + 1] != k + 1 or A.data[p] != -A.data[p + 1]:
            return False, False
        weights[k] = A.data[p]
        even &= A.data[p] == 1.0
    return True, even


@compiled
def differences(weights, w, out):
    for k in range(len(out)):
        weight = entry_or(weights, k, 1.0)
        out[k] = weight * w[k] - weight * w[k + 1]


@compiled
def divergences(weights, theta, out):
    before = 0.0
    for k in range(len(theta)):
        flow = entry_or(weights, k, 1.0) * theta[k]
        out[k] = flow - before
        before = flow
    out[len(theta)] = -before


@compiled
def walk(A, order, rows, weights):
    """Walk along all paths from their ends; False if there are none."""
    d = A.columns
    beside, along, degree = np.empty((d, 2), np.int64), np.empty((d, 2), np.int64), np.zeros(d, np.int64)
    for row in range(len(A.indptr) - 1):
        p = A.indptr[row]
        if A.indptr[row + 1] != p + 2 or A.data[p] != -A.data[p + 1]:
            return False
        if A.data[p] == 0.0:
            continue
        i, j = np.int64(A.indices[p]), np.int64(A.indices[p + 1])
        if degree[i] == 2 or degree[j] == 2:
            return False
        beside[i, degree[i]], along[i, degree[i]] = j, row
        beside[j, degree[j]], along[j, degree[j]] = i, row
        degree[i] += 1
        degree[j] += 1
    k = 0
    seen = np.zeros(d, np.bool_)
    for end in range(d):
        if degree[end] == 2 or seen[end]:
            continue
        node, row = end, NONE
        while True:
            order[k], seen[node] = node, True
            k += 1
            slot = 1 if degree[node] == 2 and along[node, 0] == row else 0
            if degree[node] == 0 or (degree[node] == 1 and along[node, 0] == row):
                break
            row = along[node, slot]
            p = A.indptr[row]
            rows[k - 1] = row
            weights[k - 1] = A.data[p] if A.indices[p] == node else -A.data[p]
            node = beside[node, slot]
    return k == d  # nodes of a cycle are never reached
