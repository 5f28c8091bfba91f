"""Newton's system for trends by LAPACK's banded routines: X has one entry in a row, the rows of A are narrow bands.

For ``H = X' diag(rows) X + diag(ridge)``, which is diagonal, and ``J = diag(1 / edges)``, the system is

    H x + A' t = f,    A x - J t = -J pull.

There are two ways. Eliminating x leaves the banded matrix ``A H^{-1} A' + J`` for t, whose Cholesky factor is the
fastest way. But differences of high order, of many coordinates, ruin its condition, which is the square of that of the
whole system. Then the whole system is factored, with x and t in an order in which it is banded too, by elimination with
row exchanges. That also works where an entry of H is 0.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from scipy.linalg.lapack import dgbtrf, dgbtrs, dpbtrf, dpbtrs
from scipy.sparse._sparsetools import csc_matvec, csr_matvec

from ..rows import products
from ..rows.matrices import CSR
from .system import System

__all__ = ["BandedSystem", "Bands", "Saddle", "bands_of"]

WIDEST = 16  # columns that a row of A may span
SMALLEST = 1e-13  # of the mean: with a smaller entry of H, x cannot be eliminated first
LEAST_H = 1e-6  # of the mean: a smaller entry of H has the scale of this one in the whole system
NO_WEIGHT = 1e-100  # in place of the weight of a row of A without one


@dataclasses.dataclass(frozen=True, eq=False)
class Bands:
    """A matrix whose row k has its entries ``values[k]`` in the columns from ``first[k]`` on; ``first`` never falls."""

    values: np.ndarray
    first: np.ndarray
    d: int

    @property
    def columns(self) -> np.ndarray:
        return self.first[:, None] + np.arange(self.values.shape[1])

    @functools.cached_property
    def span(self) -> int:
        """The largest distance of two rows that have a column in common."""
        earliest = np.searchsorted(self.first, self.first - self.values.shape[1], side="right")
        return int(np.max(np.arange(len(self.first)) - earliest))

    @functools.cached_property
    def squares(self) -> CSR:
        """The matrix that makes LAPACK's lower bands of ``A diag(h) A'`` out of h, one row of A after the other.

        Entry i of row k is the product of rows k and k + i of A at each column of row k.
        """
        (m, width), high = self.values.shape, self.span + 1
        found = np.zeros((m, high, width))
        for i in range(high):
            shift = self.first[i:] - self.first[: m - i]
            for s in range(width):
                k = np.flatnonzero(shift == s)
                found[k, i, s:] = self.values[k, s:] * self.values[k + i, : width - s]
        columns = np.broadcast_to(self.columns.astype(np.uint32)[:, None, :], found.shape)
        starts = np.arange(0, found.size + 1, width, dtype=np.int32)
        return CSR(found.ravel(), columns.ravel(), starts, self.d)


def bands_of(A: CSR) -> Bands | None:
    """A in this form; None if a row spans many columns, or the rows are not in the order of their first columns."""
    (m, d), entries = A.shape, np.diff(A.indptr)
    if m == 0 or not entries.all():
        return None
    columns = A.indices.astype(np.int64)
    low, high = (extreme.reduceat(columns, A.indptr[:-1]) for extreme in (np.minimum, np.maximum))
    width = int(np.max(high - low)) + 1
    if width > WIDEST or np.any(low[1:] < low[:-1]):
        return None
    first = np.minimum(low, d - width)
    places = np.repeat(np.arange(m) * width - first, entries) + columns
    return Bands(np.bincount(places, A.data, m * width).reshape(m, width), first, d)


class Saddle:
    """The system in x and t for one A, and changing H and J.

    Large edges would enlarge the rounding errors of ``A x``; those of t are as small as they can be.

    Attributes
    ----------
    is_whole : bool
        Whether the whole system is factored. Callers set it where rounding errors of the other way are too large.
    """

    def __init__(self, A: CSR, bands: Bands) -> None:
        self.bands, self.shape, self.inner = bands, A.shape, Inner(bands)
        self.compressed = A.indptr, A.indices.view(A.indptr.dtype), A.data
        self.is_whole = False

    def along(self, x: np.ndarray) -> np.ndarray:
        """``A x``."""
        (m, d), out = self.shape, np.zeros(self.shape[0])
        csr_matvec(m, d, *self.compressed, x, out)
        return out

    def back(self, t: np.ndarray) -> np.ndarray:
        """``A' t``."""
        (m, d), out = self.shape, np.zeros(self.shape[1])
        csc_matvec(d, m, *self.compressed, t, out)
        return out

    @functools.cached_property
    def whole(self) -> Whole:
        return Whole(self.bands)

    def factor(self, H: np.ndarray, J: np.ndarray) -> None:
        """Set H >= 0 and J > 0; what is needed is factored when it is."""
        self.H, self.J = H, J
        self.factored: Inner | Whole | None = None

    def solve(self, f: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x and t of ``H x + A' t = f`` and ``A x - J t = g``."""
        H, inner = self.H, self.inner
        if not self.is_whole and self.factored is None:
            self.is_whole = not (H.min() * len(H) > SMALLEST * H.sum() and inner.factor(H, self.J))
            self.factored = inner
        if not self.is_whole:
            t = inner.solve(self.along(f / H) - g)
            return (f - self.back(t)) / H, t
        if self.factored is not self.whole:
            self.whole.factor(H, self.J)
            self.factored = self.whole
        return self.whole.solve(f, g)

    def left(self, f: np.ndarray, g: np.ndarray, x: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The residuals of both equations; if x was eliminated, the first one is solved up to its own rounding."""
        of_x = f - self.H * x - self.back(t) if self.is_whole else np.zeros_like(f)
        return of_x, g + self.J * t - self.along(x)


class BandedSystem(System):
    """M by way of the system in x and t: M = H + A' J^{-1} A."""

    name = "banded"

    def __init__(self, X: CSR, A: CSR, bands: Bands) -> None:
        super().__init__(X, A)
        self.saddle, self.squares = Saddle(A, bands), X.data**2
        self.row, self.column = np.flatnonzero(np.diff(X.indptr)), X.indices.astype(np.int64)

    def form(self) -> None:
        self.H = np.bincount(self.column, self.rows[self.row] * self.squares, len(self.ridge)) + self.ridge
        self.diagonal = self.H + products.gram_diagonal(self.A, self.edges)

    def prepare(self) -> None:
        self.saddle.is_whole = False
        self.saddle.factor(self.H, 1.0 / np.maximum(self.edges, NO_WEIGHT))

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        return self.saddle.solve(rhs, np.zeros_like(self.edges))[0]


class Inner:
    """The Cholesky factor of ``A diag(1/H) A' + diag(J)``."""

    def __init__(self, bands: Bands) -> None:
        self.squares, self.shape, self.H = bands.squares, (len(bands.first), bands.span + 1), np.zeros(0)
        self.all = slice(0, self.squares.shape[0])

    def factor(self, H: np.ndarray, J: np.ndarray) -> bool:
        """Whether rounding errors left the matrix positive definite."""
        if not np.array_equal(H, self.H):  # the same for all steps with the squared loss
            self.H, self.gram = H, products.product_of_piece(self.squares, self.all, 1.0 / H).reshape(self.shape)
        matrix = self.gram.copy()
        matrix[:, 0] += J
        self.lower, failed = dpbtrf(matrix.T, lower=1, overwrite_ab=1)
        return not failed

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        return dpbtrs(self.lower, rhs, lower=1, overwrite_b=1)[0]


class Whole:
    """L U of the system in x and t, with row k of A in the middle of its columns.

    It is scaled so that H, and the matrix that would be left for t, have the diagonal 1.
    """

    def __init__(self, bands: Bands) -> None:
        self.bands, d, (m, width) = bands, bands.d, bands.values.shape
        order = np.argsort(np.append(2 * np.arange(d), 2 * bands.first + width - 1.5), kind="stable")
        place = np.empty(d + m, np.int64)
        place[order] = np.arange(d + m)
        self.of_x, self.of_t = place[:d], place[d:]
        self.columns = bands.columns
        row, column = self.of_t[:, None], self.of_x[self.columns]
        self.reach = reach = int(np.max(np.abs(row - column)))
        # Entry (i, j) is in row 2 reach + i - j of column j.
        self.height = 3 * reach + 1
        self.diagonal = place * self.height + 2 * reach
        self.above = row * self.height + 2 * reach + column - row
        self.below = column * self.height + 2 * reach + row - column

    def factor(self, H: np.ndarray, J: np.ndarray) -> None:
        d, total = len(H), len(H) + len(J)
        of_x = 1.0 / np.sqrt(np.maximum(H, LEAST_H * H.mean()))
        values = self.bands.values * of_x[self.columns]
        of_t = 1.0 / np.sqrt(J + np.sum(values**2, axis=1))
        values *= of_t[:, None]
        matrix = np.zeros(total * self.height)
        matrix[self.diagonal[:d]], matrix[self.diagonal[d:]] = H * of_x**2, -J * of_t**2
        matrix[self.above] = matrix[self.below] = values
        self.scale = np.empty(total)
        self.scale[self.of_x], self.scale[self.of_t] = of_x, of_t
        bands = matrix.reshape(total, self.height).T
        self.factors, self.exchanges, failed = dgbtrf(bands, self.reach, self.reach, overwrite_ab=1)
        if failed:
            raise np.linalg.LinAlgError("Newton's system is singular")

    def solve(self, f: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rhs = np.empty_like(self.scale)
        rhs[self.of_x], rhs[self.of_t] = f, g
        found, _ = dgbtrs(self.factors, self.reach, self.reach, self.scale * rhs, self.exchanges)
        found *= self.scale
        return found[self.of_x], found[self.of_t]
