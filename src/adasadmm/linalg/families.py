"""Recognise a matrix of weighted differences whose edges have few distinct lengths ``j - i``, as those of a grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .matrices import CSR, differences

__all__ = ["Families", "families_of"]

MOST = 8


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
    if not 0 < len(distance) <= MOST:
        return None
    low = np.minimum(first, second)
    seen = np.zeros((len(distance), A.columns), np.bool_)
    seen[family, low] = True
    if np.count_nonzero(seen) < len(low):
        return None
    return Families(distance, family, low, np.where(first < second, weight, -weight))
