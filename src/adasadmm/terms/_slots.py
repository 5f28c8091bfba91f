"""The entries of a design, slot by slot.

In a row of X, a factor has at most one entry; a number has one. So each of them is a slot: for each row a column and a
value. All slots together make a sparse matrix, at the cost of the codes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

__all__ = ["Slot", "matrix_of"]


class Slot(NamedTuple):
    """For each row the column of an entry in the block, -1 for none, and its value; None if all values are 1."""

    columns: np.ndarray
    values: np.ndarray | None = None


def matrix_of(slots: list[Slot], n: int, width: int) -> sp.csr_array:
    """The sparse matrix of slots whose columns are numbered through, in increasing order from slot to slot."""
    columns = np.empty((n, len(slots)), dtype=np.int32)
    for k, slot in enumerate(slots):
        columns[:, k] = slot.columns
    present = columns >= 0
    values = np.ones((n, len(slots)))
    for k, slot in enumerate(slots):
        if slot.values is not None:
            values[:, k] = slot.values
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    return sp.csr_array((values[present], columns[present], starts), shape=(n, width))
