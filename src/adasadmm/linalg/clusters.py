"""The points with ``A w = 0``: clusters of equal coefficients where the rows of A are differences, or a null space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

__all__ = ["Clusters", "clusters_of", "null_space"]


class Clusters(NamedTuple):
    """The cluster of each coefficient, the number of clusters, and the one that each row with one entry belongs to."""

    label: np.ndarray
    number: int
    single: np.ndarray


def clusters_of(A: sp.csr_array) -> Clusters | None:
    """The clusters that ``A w = 0`` makes equal; None unless each row is a difference of two entries, or has one."""
    entries = np.diff(A.indptr)
    if (entries > 2).any() or np.any(A.sum(axis=1)[entries == 2]):
        return None
    ends = A.indices[np.repeat(entries == 2, entries)].reshape(-1, 2)
    graph = sp.coo_array((np.ones(len(ends)), ends.T), shape=(A.shape[1], A.shape[1]))
    number, label = sp.csgraph.connected_components(graph, directed=False)
    return Clusters(label, int(number), label[A.indices[np.repeat(entries == 1, entries)]])


def null_space(A: sp.csr_array) -> sp.csr_array:
    """A matrix whose columns are a basis of the points with ``A w = 0``; for clusters, their indicators."""
    A = sp.csr_array(A)
    A.eliminate_zeros()
    d, found = A.shape[1], clusters_of(A)
    if found is None:
        return sp.csr_array(scipy.linalg.null_space(A.toarray()))
    indicators = sp.csc_array((np.ones(d), (np.arange(d), found.label)), shape=(d, found.number))
    return sp.csr_array(indicators[:, np.setdiff1d(np.arange(found.number), found.single)])
