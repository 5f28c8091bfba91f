"""Recognise a matrix of weighted differences whose edges form paths, or a few families of paths, as those of a grid.

The rows and columns may be in any order for paths; the edges of a family have the same length ``j - i``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from ..rows.matrices import CSR, differences

__all__ = ["Families", "Paths", "families_of", "paths_of"]

NONE = -1
MOST_FAMILIES = 8


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
        return w[:-1] - w[1:] if self.even else self.weights * w[:-1] - self.weights * w[1:]

    def divergences(self, theta: np.ndarray) -> np.ndarray:
        """``A'theta`` where the order is natural."""
        pull, out = theta if self.even else self.weights * theta, np.zeros(len(theta) + 1)
        out[:-1] = pull
        out[1:] -= pull
        return out


def paths_of(A: CSR) -> Paths | None:
    """The paths that the rows of A are the edges of; None if a row is no difference, or the edges no paths."""
    m, d = A.shape
    if m >= d or len(A.data) != 2 * m:  # paths have fewer edges than nodes; most other matrices end here
        return None
    ends = differences(A)
    if ends is None:
        return None
    first, second, weight = ends
    if m == d - 1 and (second == (after := np.arange(1, d))).all() and (first == after - 1).all():
        return Paths.along(None if (weight == 1.0).all() else weight)
    return _walked(d, first.astype(np.int64), second.astype(np.int64), weight)


def _walked(d: int, first: np.ndarray, second: np.ndarray, weight: np.ndarray) -> Paths | None:
    """The paths from the end with the smaller number to the other one; None if a node has three edges or on a cycle.

    A search in depth that starts at the ends, one after the other, goes along each path; it never reaches a cycle.
    """
    edges = np.flatnonzero(weight)
    first, second = first[edges], second[edges]
    degree = np.bincount(first, minlength=d) + np.bincount(second, minlength=d)
    if degree.max(initial=0) > 2:
        return None
    ends = np.flatnonzero(degree < 2)
    i, j = np.concatenate([first, second, np.full(len(ends), d)]), np.concatenate([second, first, ends])
    graph = sp.csr_array((np.ones(len(i)), (i, j)), shape=(d + 1, d + 1))
    order = csgraph.depth_first_order(graph, d, return_predecessors=False)[1:].astype(np.int64)
    if len(order) < d:
        return None
    place = np.empty(d, np.int64)
    place[order] = np.arange(d)
    at = np.minimum(place[first], place[second])
    rows, weights = np.full(d - 1, NONE), np.zeros(d - 1)
    rows[at], weights[at] = edges, np.where(order[at] == first, weight[edges], -weight[edges])
    return Paths(order, rows, weights)


class Families(NamedTuple):
    """Edges by their length: a family for each, whose edges form disjoint paths.

    Row k of A is ``scale[k] (w_i - w_j)`` with i < j. It belongs to the family ``family[k]``, and i is ``low[k]``. No
    two rows join the same nodes.
    """

    distance: np.ndarray
    family: np.ndarray
    low: np.ndarray
    scale: np.ndarray


def families_of(A: CSR) -> Families | None:
    """The families of the edges that the rows of A are; None if a row is no difference, or the lengths are too many."""
    ends = differences(A)
    if ends is None:
        return None
    first, second, weight = ends[0].astype(np.int64), ends[1].astype(np.int64), ends[2]
    distance, family = np.unique(np.abs(second - first), return_inverse=True)
    if not 0 < len(distance) <= MOST_FAMILIES:
        return None
    low = np.minimum(first, second)
    seen = np.zeros((len(distance), A.columns), np.bool_)
    seen[family, low] = True
    if np.count_nonzero(seen) < len(low):
        return None
    return Families(distance, family, low, np.where(first < second, weight, -weight))
