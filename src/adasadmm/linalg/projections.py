"""The point nearest to a given one that satisfies linear equations or inequalities, and sparse least squares."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.linalg.lapack import dgbtrf, dgbtrs

from ..rows.matrices import as_csr
from ..rows.products import gram_diagonal, largest_entry
from .sparse_factor import GramFactor, gram_pattern

__all__ = ["least_squares", "nearest", "nearest_inside"]

MOST_ENTRIES = 8  # of a row that counts as narrow
MOST_NUMBERS = 10**7  # of the dense matrix of inequalities
WEAK, ROUNDS, SOLVED = 1e-12, 10, 1e-9  # of least squares: ridge, steps of refinement, relative residual
MOST_FILL = 2e7  # entries of its factor


def nearest(A: sp.csr_array, b: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The point nearest to w with ``A w = b``.

    Differences of consecutive entries, as in a trend, take a time linear in the length of w, and the equations hold up
    to rounding. Other equations are solved by LSQR.
    """
    columns = _narrow(A)
    if columns is None:
        return w - least_squares(A, A @ w - b)
    values = A.data.reshape(columns.shape)
    return _nearest_narrow(columns, values, b, w)


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
    middle = 2 * reach
    bands: np.ndarray = np.zeros((2 * d, middle + reach + 1)).T  # entry (i, j) is in row middle + i - j of column j
    bands[middle] = 1.0
    bands[middle, place] = 0.0
    for k in range(entries):
        bands[middle + place - 2 * columns[:, k], 2 * columns[:, k]] = values[:, k]
        bands[middle + 2 * columns[:, k] - place, place] = values[:, k]
    factors, exchanges, _ = dgbtrf(bands, reach, reach, overwrite_ab=1)
    # The rounding errors of the first pass are relative to its multipliers, which are large; those of the second are 0.
    for _ in range(2):
        target: np.ndarray = np.zeros(2 * d)
        target[::2], target[place] = w, b
        w = dgbtrs(factors, reach, reach, target, exchanges)[0][::2].copy()
    return w


def nearest_inside(C: sp.csr_array, lower: np.ndarray, upper: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The point nearest to w with ``lower <= C w <= upper``; w itself if there is none, or if C is too large.

    The method is that of Lawson and Hanson (Solving Least Squares Problems, chapter 23): non-negative least squares
    tell which rows bind at the nearest point.
    """
    from scipy.optimize import nnls  # slow to import, and `solve` rarely needs it

    low, high = (np.flatnonzero(np.isfinite(end)) for end in (lower, upper))
    rows, ends = np.concatenate([low, high]), np.concatenate([lower[low], upper[high]])
    if not len(rows) or len(rows) * (len(w) + 1) > MOST_NUMBERS:  # without columns, SciPy 1.17 frees memory twice
        return w
    sign = np.repeat([1.0, -1.0], [len(low), len(high)])
    equations = np.vstack([C[rows].T.toarray(), ends - C[rows] @ w]) * sign
    size = np.linalg.norm(equations, axis=0)
    try:
        found = nnls(equations / np.where(size > 0.0, size, 1.0), np.append(np.zeros(len(w)), 1.0))
    except RuntimeError:  # too many iterations
        return w
    binding = found[0] > 0.0
    for _ in range(2):  # the second pass removes the rounding errors of the first
        w = nearest(sp.csr_array(C[rows[binding]]), ends[binding], w)
    return w


def least_squares(matrix: sp.csr_array, rhs: np.ndarray) -> np.ndarray:
    """The x of least norm that minimises ``|matrix x - rhs|``."""
    found = _least_norm(matrix, rhs)
    return scipy.sparse.linalg.lsqr(matrix, rhs, atol=0.0, btol=0.0, conlim=0.0)[0] if found is None else found


def _least_norm(matrix: sp.csr_array, rhs: np.ndarray) -> np.ndarray | None:
    """The x of least norm with ``matrix x = rhs``, from a sparse factor of ``matrix matrix'``; None if that fails."""
    columns, x = as_csr(sp.csr_array(matrix.T), "matrix"), np.zeros(matrix.shape[1])
    pattern = gram_pattern([columns], MOST_FILL)
    if pattern is None:
        return None
    factor, weights = GramFactor([columns], pattern), np.ones(len(x))
    factor.factor([weights], WEAK * gram_diagonal(columns, weights))
    missing, best = rhs, largest_entry(rhs)
    for _ in range(ROUNDS):
        nearer = x + matrix.T @ factor.solve(missing)
        missing = rhs - matrix @ nearer
        if not largest_entry(missing) < best:
            break
        x, best = nearer, largest_entry(missing)
    return x if best <= SOLVED * largest_entry(rhs) else None
