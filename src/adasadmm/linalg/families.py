"""Recognise a matrix of weighted differences whose edges have few distinct lengths ``j - i``, as those of a grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import compiled
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
    distance = np.zeros(MOST, np.int64)
    number = find_distances(A, distance)
    ends = differences(A) if number > 0 else None
    if ends is None:
        return None
    distance = np.sort(distance[:number])
    first, second, weight = ends
    family, low = np.searchsorted(distance, np.abs(second - first)), np.minimum(first, second).astype(np.int64)
    seen = np.zeros((number, A.columns), np.bool_)
    seen[family, low] = True
    if np.count_nonzero(seen) < len(low):
        return None
    return Families(distance, family, low, np.where(first < second, weight, -weight))


@compiled
def find_distances(A, found):
    """Write the distinct lengths of edges and return their number; 0 if they are too many, or a row is no edge."""
    number = 0
    for k in range(len(A.indptr) - 1):
        p = A.indptr[k]
        if A.indptr[k + 1] != p + 2:
            return 0
        length = abs(np.int64(A.indices[p + 1]) - np.int64(A.indices[p]))
        known = 0
        while known < number and found[known] != length:
            known += 1
        if known == number:
            if number == len(found):
                return 0
            found[number] = length
            number += 1
    return number
