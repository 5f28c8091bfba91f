"""The point nearest to a given one that satisfies linear equations."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from .products import least_squares

__all__ = ["nearest"]

MOST_ENTRIES = 8  # of a row that counts as narrow


def nearest(A: sp.csr_array, b: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The point nearest to w with ``A w = b``.

    Differences of consecutive entries, as in a trend, take a time linear in the length of w, and the equations hold up
    to rounding. Other equations are solved by LSQR.
    """
    columns = _narrow(A)
    if columns is None:
        return w - least_squares(A, A @ w - b)
    values = A.data.reshape(columns.shape)
    # The rounding errors of the first pass are relative to its multipliers, which are large; those of the second are 0.
    return _nearest_narrow(columns, values, b, _nearest_narrow(columns, values, b, w))


def _narrow(A: sp.csr_array) -> np.ndarray | None:
    """The columns of each row, if all rows have as many, consecutive ones, and each begins after the row before it."""
    rows = A.shape[0]
    entries = A.nnz // max(rows, 1)
    if not 0 < entries <= MOST_ENTRIES or (np.diff(A.indptr) != entries).any() or not A.data.all():
        return None
    columns = A.indices.reshape(rows, entries).astype(np.int64)
    consecutive = (np.diff(columns, axis=1) == 1).all() and (np.diff(columns[:, 0]) > 0).all()
    return columns if consecutive else None


def _nearest_narrow(columns: np.ndarray, values: np.ndarray, b: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Solve ``w' + A'u = w, A w' = b`` for w' and u in one banded system.

    The normal equations in u alone would square the condition number, which grows quickly with the length of a piece.
    Entry j of w' is unknown 2 j; the multiplier of a row lies beside the middle of the row; the places that remain hold
    equations ``x = 0``.
    """
    d, entries = len(w), columns.shape[1]
    size = np.abs(values).max(axis=1)
    values, b = values / size[:, None], b / size
    place = 2 * (columns[:, 0] + (entries - 1) // 2) + 1
    reach = 2 * (entries // 2) + 1
    bands: np.ndarray = np.zeros((2 * reach + 1, 2 * d))  # entry (i, j) is in row reach + i - j of column j
    bands[reach] = 1.0
    bands[reach, place] = 0.0
    for k in range(entries):
        bands[reach + place - 2 * columns[:, k], 2 * columns[:, k]] = values[:, k]
        bands[reach + 2 * columns[:, k] - place, place] = values[:, k]
    target: np.ndarray = np.zeros(2 * d)
    target[::2], target[place] = w, b
    return scipy.linalg.solve_banded((reach, reach), bands, target, overwrite_ab=True, overwrite_b=True)[::2].copy()
