"""Newton's system in w and t together, where the rows of A are narrow bands.

    H dw + A' dt = f,    A dw - diag(J) dt = g,    H >= 0 and J > 0 diagonal

There are two ways. Eliminating dw leaves the banded matrix ``A H^{-1} A' + diag(J)`` for dt, whose Cholesky factor is
the fastest way. But differences of high order, of many coordinates, ruin its condition, which is the square of that of
the whole system. Then the whole system is factored, with w and t in an order in which it is banded too, by elimination
with row exchanges. That also works where an entry of H is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import compiled, inlined
from .banded_lu import factor_whole, solve_whole
from .matrices import CSR

__all__ = ["Bands", "Saddle", "add_transposed", "bands_of", "factor", "left_over", "saddle_of", "solve", "times"]

WIDEST = 16  # columns that a row of A may span
SMALLEST = 1e-13  # of the mean: with a smaller entry of H, dw cannot be eliminated first


class Bands(NamedTuple):
    """A matrix whose row k has its entries ``values[k]`` in the columns from ``first[k]`` on; ``first`` never falls."""

    values: np.ndarray
    first: np.ndarray
    columns: int


def bands_of(A: CSR) -> Bands | None:
    """A in this form; None if a row spans many columns, or the rows are not in the order of their first columns."""
    m, d = A.shape
    entries = np.diff(A.indptr)
    if m == 0 or not entries.all():
        return None
    low = np.minimum.reduceat(A.indices, A.indptr[:-1]).astype(np.int64)
    span = np.maximum.reduceat(A.indices, A.indptr[:-1]).astype(np.int64) - low
    width = int(span.max()) + 1
    if width > min(WIDEST, d) or (np.diff(low) < 0).any():
        return None
    first = np.minimum(low, d - width)
    values = np.zeros((m, width))
    spread(A, first, values)
    return Bands(values, first, d)


@compiled
def spread(A, first, values):
    for k in range(len(first)):
        for p in range(A.indptr[k], A.indptr[k + 1]):
            values[k, np.int64(A.indices[p]) - first[k]] += A.data[p]


class Saddle(NamedTuple):
    """The system, and room for its factors.

    Attributes
    ----------
    A : Bands
    H, J : ndarray of shape (d,) and (m,)
        The diagonals: set them, then call `factor`.
    light : ndarray of shape (d,)
        1 / H.
    below, pivots : ndarray of shape (m, span + 1) and (m,)
        The factor L D L' of ``A H^{-1} A' + diag(J)``: entry (k, k - i) of L is ``below[k, i]``, and ``pivots`` holds
        the inverse of D.
    order, place : ndarray of shape (d + m,)
        The order of w and t in the whole system: t_k is number ``d + k``. ``place`` is the inverse.
    upper, lower, exchange : ndarray
        The factors of the whole system, row k exchanged with row ``k + exchange[k]``.
    scale : ndarray of shape (d + m,)
        Of rows and columns of the whole system.
    whole : ndarray of shape (1,)
        Whether the whole system is factored.
    """

    A: Bands
    H: np.ndarray
    J: np.ndarray
    light: np.ndarray
    below: np.ndarray
    pivots: np.ndarray
    order: np.ndarray
    place: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    exchange: np.ndarray
    scale: np.ndarray
    whole: np.ndarray


def saddle_of(A: Bands) -> Saddle:
    """The system for one A. Row k of A comes in the middle of its columns."""
    (m, width), d = A.values.shape, A.columns
    span = most_shared(A)
    keys = np.concatenate([np.arange(d, dtype=float), A.first + 0.5 * (width - 1) - 0.25])
    order = np.argsort(keys, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(d + m)
    ends = place[A.first], place[A.first + width - 1]
    reach = int(max(np.abs(place[d:] - end).max() for end in ends))
    return Saddle(
        *(A, np.ones(d), np.ones(m), np.ones(d), np.zeros((m, span + 1)), np.ones(m), order, place),
        *(np.zeros((d + m, 2 * reach + 1)), np.zeros((d + m, reach)), np.zeros(d + m, np.int64)),
        *(np.ones(d + m), np.zeros(1, np.bool_)),
    )


@compiled
def most_shared(A):
    """The largest distance of two rows of A that have a column in common."""
    most, k = 0, 0
    for later in range(len(A.first)):
        while A.first[k] + A.values.shape[1] <= A.first[later]:
            k += 1
        most = max(most, later - k)
    return most


@inlined
def times(A, w, out):
    """``out = A w``."""
    for k in range(len(out)):
        total = 0.0
        for c in range(A.values.shape[1]):
            total += A.values[k, c] * w[A.first[k] + c]
        out[k] = total


@inlined
def add_transposed(A, t, out):
    """Add ``A' t`` to ``out``."""
    for k in range(len(t)):
        for c in range(A.values.shape[1]):
            out[A.first[k] + c] += A.values[k, c] * t[k]


@inlined
def left_over(s, f, g, dw, dt, of_w, of_t):
    """What a solution leaves of both equations."""
    for j in range(len(f)):
        of_w[j] = f[j] - s.H[j] * dw[j]
    for k in range(len(g)):
        total = g[k] + s.J[k] * dt[k]
        for c in range(s.A.values.shape[1]):
            entry, j = s.A.values[k, c], s.A.first[k] + c
            of_w[j] -= entry * dt[k]
            total -= entry * dw[j]
        of_t[k] = total


@compiled
def factor(s):
    """Factor the system for its present H and J."""
    if not s.whole[0]:
        s.whole[0] = s.H.min() <= SMALLEST * s.H.mean()
    if s.whole[0]:
        factor_whole(s)
    else:
        factor_edges(s)


@compiled
def solve(s, f, g, dw, dt):
    """Solve the system with its factor."""
    if s.whole[0]:
        solve_whole(s, f, g, dw, dt)
    else:
        solve_edges(s, f, g, dw, dt)


# --- without dw ------------------------------------------------------------------------------------------------------


@inlined
def factor_edges(s):
    """The factor of ``A H^{-1} A' + diag(J)``, row by row."""
    A, L, D, width = s.A.values, s.below, s.pivots, s.A.values.shape[1]
    span, row = L.shape[1] - 1, np.empty(width)
    for j in range(len(s.H)):
        s.light[j] = 1.0 / s.H[j]
    for k in range(len(D)):
        first, earlier, pivot = s.A.first[k], min(span, k), s.J[k]
        for c in range(width):
            row[c] = A[k, c] * s.light[first + c]
            pivot += row[c] * A[k, c]
        for i in range(earlier, 0, -1):
            shift, entry = first - s.A.first[k - i], 0.0
            for c in range(width - shift):
                entry += row[c] * A[k - i, c + shift]
            for later in range(i + 1, earlier + 1):
                entry -= L[k, later] * L[k - i, later - i]
            L[k, i] = entry
        for i in range(1, earlier + 1):
            entry = L[k, i]
            L[k, i] = entry * D[k - i]
            pivot -= entry * L[k, i]
        D[k] = 1.0 / max(pivot, s.J[k])  # J is a lower bound, which rounding errors may hide


@inlined
def solve_edges(s, f, g, dw, dt):
    A, L, span, width, m = s.A.values, s.below, s.below.shape[1] - 1, s.A.values.shape[1], len(g)
    for j in range(len(f)):
        dw[j] = f[j] * s.light[j]
    for k in range(m):
        total = -g[k]
        for c in range(width):
            total += A[k, c] * dw[s.A.first[k] + c]
        for i in range(1, min(span, k) + 1):
            total -= L[k, i] * dt[k - i]
        dt[k] = total
    dw[:] = f
    for k in range(m - 1, -1, -1):
        total = dt[k] * s.pivots[k]
        for i in range(1, min(span, m - 1 - k) + 1):
            total -= L[k + i, i] * dt[k + i]
        dt[k] = total
        for c in range(width):
            dw[s.A.first[k] + c] -= A[k, c] * total
    for j in range(len(f)):
        dw[j] *= s.light[j]
