"""Groups of rows of A that a penalty couples: the rank-one terms of Newton's matrix.

The curvature of the Euclidean norm of a group is diagonal minus a rank-one term, so Newton's matrix is

    X' diag(rows) X + A' (diag(edges) - sum_g b_g b_g') A + diag(ridge),

with b_g the entries of the vector ``bends`` in the rows of group g. The terms ``b_g' A`` are the rows of a sparse
matrix U, whose pattern stays while its entries change, and ``U'U`` is subtracted from the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..rows.matrices import CSR, as_csr, to_scipy

__all__ = ["NO_GROUPS", "Coupling", "Groups", "split"]


class Groups(NamedTuple):
    """Disjoint groups of rows of A: their indices, one group after the other, and where each group starts."""

    rows: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, groups: Sequence[np.ndarray]) -> Groups:
        """Groups that are given one by one."""
        return cls(np.concatenate([*groups, np.empty(0, np.int64)]), np.cumsum([0, *map(len, groups)]))

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.starts)

    def taken(self, chosen: np.ndarray) -> Groups:
        """The groups where a mask is true."""
        starts = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        return Groups(self.rows[np.repeat(chosen, self.sizes)], starts)


NO_GROUPS = Groups.of([])


class Coupling:
    """The matrix U of some groups of rows of A."""

    def __init__(self, A: CSR, groups: Groups) -> None:
        if not len(groups.sizes):  # as for most problems
            self.rows, self.entries, self.places = groups.rows, np.empty(0), np.empty(0, np.int64)
            self.U = as_csr(sp.csr_array((0, A.columns)), "U")
            return
        members = sp.csr_array(to_scipy(A)[groups.rows])
        group = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
        self.rows, self.entries = np.repeat(groups.rows, np.diff(members.indptr)), members.data
        keys = np.repeat(group, np.diff(members.indptr)) * A.columns + members.indices
        found, self.places = np.unique(keys, return_inverse=True)
        ends = np.searchsorted(found, np.arange(len(groups.sizes) + 1) * A.columns)
        pattern = sp.csr_array((np.ones(len(found)), found % A.columns, ends), (len(groups.sizes), A.columns))
        self.U = as_csr(pattern, "U")

    def __len__(self) -> int:
        return self.U.shape[0]

    def bend(self, bends: np.ndarray) -> None:
        """Set the entries of U for these b."""
        weights = bends[self.rows] * self.entries
        self.U.data[:] = np.bincount(self.places, weights, len(self.U.data))


def split(A: CSR, groups: Groups, widest: int) -> tuple[Groups, Groups]:
    """The groups whose rows have entries in at most ``widest`` columns, and all others."""
    if not len(groups.sizes):
        return groups, groups
    widths = np.diff(Coupling(A, groups).U.indptr)
    return groups.taken(widths <= widest), groups.taken(widths > widest)
