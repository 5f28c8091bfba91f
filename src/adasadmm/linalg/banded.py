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
from .banded_lu import Whole, factor_whole, solve_whole, whole_of
from .matrices import CSR

__all__ = ["Bands", "Saddle", "bands_of", "factor", "row_times", "saddle_of", "solve", "times"]

WIDEST = 16  # columns that a row of A may span
WIDTHS = (3, 5, 9, 16)  # narrower rows get zeros: kernels are compiled for each width
SMALLEST = 1e-13  # of the mean: with a smaller entry of H, dw cannot be eliminated first


class Bands(NamedTuple):
    """A matrix whose row k has its entries ``values[k]`` in the columns from ``first[k]`` on; ``first`` never falls.

    ``width`` is a tuple of as many zeros as a row has entries. Its length is part of its type, so that kernels are
    compiled for it, and loops over the entries of a row are unrolled.
    """

    values: np.ndarray
    first: np.ndarray
    columns: int
    width: tuple[float, ...]


def bands_of(A: CSR) -> Bands | None:
    """A in this form; None if a row spans many columns, or the rows are not in the order of their first columns."""
    m, d = A.shape
    if m == 0:
        return None
    low = np.empty(m, np.int64)
    widest = int(widest_row(A, low))
    if not 0 < widest <= min(WIDEST, d):
        return None
    width = _padded(widest, d)
    first = np.minimum(low, d - width)
    values = np.zeros((m, width))
    spread(A, first, values)
    return Bands(values, first, d, (0.0,) * width)


@compiled
def widest_row(A, low):
    """The first column of each row, and the most columns that one spans; 0 if a row is empty or not in order."""
    widest = 0
    for k in range(len(low)):
        start, end = A.indptr[k], A.indptr[k + 1]
        if start == end:
            return 0
        least = most = np.int64(A.indices[start])
        for p in range(start + 1, end):
            least, most = min(least, np.int64(A.indices[p])), max(most, np.int64(A.indices[p]))
        if k > 0 and least < low[k - 1]:
            return 0
        low[k] = least
        widest = max(widest, int(most - least + 1))
    return widest


@compiled
def spread(A, first, values):
    for k in range(len(first)):
        for p in range(A.indptr[k], A.indptr[k + 1]):
            values[k, np.int64(A.indices[p]) - first[k]] += A.data[p]


def transposed(A: Bands, span: int) -> Bands:
    """``A'`` in the same form, where no column of A has entries more than ``span`` rows apart."""
    m, width = len(A.first), span + 1
    first = np.empty(A.columns, np.int64)
    values = np.zeros((A.columns, min(width, m)))
    transpose(A, first, values)
    return Bands(values, first, m, (0.0,) * values.shape[1])


@compiled
def transpose(A, first, values):
    k = 0
    for j in range(A.columns):
        while k < len(A.first) and A.first[k] + len(A.width) <= j:
            k += 1
        first[j] = min(k, len(A.first) - values.shape[1])
    for row in range(len(A.first)):
        for c in range(len(A.width)):
            j = A.first[row] + c
            values[j, row - first[j]] = A.values[row, c]


class Saddle(NamedTuple):
    """The system, and room for its factors.

    Attributes
    ----------
    A, transposed : Bands
    H, J : ndarray of shape (d,) and (m,)
        The diagonals: set them, then call `factor`.
    light : ndarray of shape (d,)
        1 / H.
    gram : ndarray of shape (m, span + 1)
        ``A H^{-1} A'``.
    below, pivots : ndarray of shape (m + span, span + 1) and (m,)
        The factor L D L' of ``A H^{-1} A' + diag(J)``: entry (k, k - i) of L is ``below[k, i]``, and ``pivots`` holds
        the inverse of D. Rows of zeros follow.
    span : tuple
        As many zeros as L has diagonals below that of ones.
    whole : Whole
        The whole system.
    is_whole : ndarray of shape (1,)
        Whether it is the one that is factored.
    """

    A: Bands
    transposed: Bands
    H: np.ndarray
    J: np.ndarray
    light: np.ndarray
    gram: np.ndarray
    below: np.ndarray
    pivots: np.ndarray
    span: tuple[float, ...]
    whole: Whole
    is_whole: np.ndarray


def saddle_of(A: Bands) -> Saddle:
    """The system for one A."""
    m, d = len(A.first), A.columns
    span, H, J = _padded(most_shared(A) + 1, m) - 1, np.ones(d), np.ones(m)
    return Saddle(
        *(A, transposed(A, span), H, J, np.zeros(d), np.empty((m, span + 1))),
        *(np.zeros((m + span, span + 1)), np.ones(m), (0.0,) * span),
        *(whole_of(A.values, A.first, H, J), np.zeros(1, np.bool_)),
    )


def _padded(width: int, most: int) -> int:
    """The width for which kernels are compiled: one of a few."""
    return next((each for each in WIDTHS if width <= each <= most), max(width, 2))


@compiled
def most_shared(A):
    """The largest distance of two rows of A that have a column in common."""
    most, k = 0, 0
    for later in range(len(A.first)):
        while A.first[k] + len(A.width) <= A.first[later]:
            k += 1
        most = max(most, later - k)
    return most


@inlined
def row_times(A, k, x):
    """Row k of A times x."""
    total, first = 0.0, A.first[k]
    for c in range(len(A.width)):
        total += A.values[k, c] * x[first + c]
    return total


@inlined
def times(A, w, out):
    """``out = A w``."""
    for k in range(len(out)):
        out[k] = row_times(A, k, w)


@compiled
def factor(s):
    """Factor the system for its present H and J."""
    if not s.is_whole[0]:
        s.is_whole[0] = s.H.min() <= SMALLEST * s.H.mean()
    if s.is_whole[0]:
        factor_whole(s.whole)
    else:
        factor_edges(s)


@compiled
def solve(s, f, g, dw, dt):
    """Solve the system with its factor."""
    if s.is_whole[0]:
        solve_whole(s.whole, f, g, dw, dt)
    else:
        solve_edges(s, f, g, dw, dt)


# --- without dw ------------------------------------------------------------------------------------------------------


@inlined
def factor_edges(s):
    """The factor of ``A H^{-1} A' + diag(J)``, row by row; the last entries of D stay in registers."""
    if enter_weights(s):
        enter_gram(s)
    G, L, span, recent = s.gram, s.below, len(s.span), s.span
    for k in range(len(s.J)):
        pivot = G[k, 0] + s.J[k]
        for i in range(span, 0, -1):
            entry = G[k, i]
            if k >= i:
                for later in range(i + 1, span + 1):
                    entry -= L[k, later] * L[k - i, later - i]
            L[k, i] = entry
        for i in range(1, span + 1):
            entry = L[k, i]
            L[k, i] = entry * recent[i - 1]
            pivot -= entry * L[k, i]
        pivot = 1.0 / max(pivot, s.J[k])  # J is a lower bound, which rounding errors may hide
        s.pivots[k] = pivot
        recent = pushed(recent, pivot)


@inlined
def enter_weights(s):
    """1 / H; whether it has changed, which it does not for the squared loss."""
    changed = False
    for j in range(len(s.H)):
        light = 1.0 / s.H[j]
        changed |= light != s.light[j]
        s.light[j] = light
    return changed


@inlined
def pushed(recent, value):
    """A tuple with this value in front, without its last one; numba does not compile ``(value, *recent)``."""
    return (value,) + recent[:-1]  # noqa: RUF005


@inlined
def enter_gram(s):
    """``A H^{-1} A'``: column i holds the entries (k, k - i)."""
    A, first, width = s.A.values, s.A.first, len(s.A.width)
    for k in range(len(s.J)):
        total = 0.0
        for c in range(width):
            total += A[k, c] * A[k, c] * s.light[first[k] + c]
        s.gram[k, 0] = total
        for i in range(1, len(s.span) + 1):
            entry = 0.0
            if k >= i:
                shift = first[k] - first[k - i]
                for c in range(width):
                    if c + shift < width:
                        entry += A[k, c] * s.light[first[k] + c] * A[k - i, c + shift]
            s.gram[k, i] = entry


@inlined
def solve_edges(s, f, g, dw, dt):
    L, span, recent, m = s.below, len(s.span), s.span, len(g)
    for j in range(len(f)):
        dw[j] = f[j] * s.light[j]
    for k in range(m):
        dt[k] = row_times(s.A, k, dw) - g[k]
    for k in range(m):
        total = dt[k]
        for i in range(span, 0, -1):
            total -= L[k, i] * recent[i - 1]
        recent = pushed(recent, total)
        dt[k] = total * s.pivots[k]
    recent = s.span
    for k in range(m - 1, -1, -1):
        total = dt[k]
        for i in range(span, 0, -1):
            total -= L[k + i, i] * recent[i - 1]
        recent = pushed(recent, total)
        dt[k] = total
    for j in range(len(f)):
        dw[j] = (f[j] - row_times(s.transposed, j, dt)) * s.light[j]
