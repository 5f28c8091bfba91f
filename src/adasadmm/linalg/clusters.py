"""The points with ``A w = 0``: clusters of equal coefficients where the rows of A are differences, or a null space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from .joined import components
from .matrices import CSR

__all__ = ["Clusters", "clusters_of", "null_space"]


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
