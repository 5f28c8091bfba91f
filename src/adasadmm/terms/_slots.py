"""The entries of a design, slot by slot.

In a row of X, a factor has at most one entry; a number has one. So each of them is a slot: for each row a column and a
value. All slots together make a sparse matrix, at the cost of the codes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

__all__ = ["Slot", "matrix_of"]

ROWS = 65_536  # that are encoded at a time


class Slot(NamedTuple):
    """For each row the column of an entry in the block, -1 for none, and its value; None if all values are 1."""

    columns: np.ndarray
    values: np.ndarray | None = None


def matrix_of(slots: list[Slot], n: int, width: int) -> sp.csr_array:
    """The sparse matrix of slots whose columns are numbered through, in increasing order from slot to slot.

    It is filled by some rows at a time, so that nothing but the matrix is as large as the slots.
    """
    starts = np.zeros(n + 1, dtype=np.int64)
    for slot in slots:
        starts[1:] += slot.columns >= 0
    np.cumsum(starts, out=starts)
    if starts[-1] < 2**31:
        starts = starts.astype(np.int32)
    indices, data = np.empty(starts[-1], dtype=starts.dtype), np.ones(starts[-1])
    for first in range(0, n, ROWS):
        rows = slice(first, min(first + ROWS, n))
        entries = slice(starts[rows.start], starts[rows.stop])
        columns = np.column_stack([slot.columns[rows] for slot in slots])
        present = columns >= 0
        indices[entries] = columns[present]
        if any(slot.values is not None for slot in slots):
            ones = np.ones(rows.stop - rows.start)
            values = np.column_stack([ones if slot.values is None else slot.values[rows] for slot in slots])
            data[entries] = values[present]
    return sp.csr_array((data, indices, starts), shape=(n, width))
