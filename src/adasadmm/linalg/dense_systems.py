"""Newton's system by dense factors: of the d x d matrix, or of an n x n one."""

from __future__ import annotations

import functools

import numpy as np
import scipy.linalg
import scipy.linalg.blas
import scipy.linalg.lapack

from .._core.threads import side_by_side
from ..rows import products
from ..rows.matrices import CSR, Dense, dense_block
from ..rows.selections import taken
from .coupling import NO_GROUPS, Groups
from .sparse_factor import GramFactor, Pattern
from .system import TOLERANCE, System

__all__ = ["DenseSystem", "RowSpace", "cholesky", "cholesky_solve"]

WEAK, LEAST = 1e-8, 1e-13  # the ridge in n-space where there is none, and where there is one: of the curvature of rows
MOST_PRODUCTS = 4  # of pairs of entries of a row of A, for each entry, that are worth keeping
COARSE = 1e-4  # a tolerance that a Cholesky factor meets without refinement
MORE_DIAGONAL = 0.0, 1e-13, 1e-10, 1e-7


class DenseSystem(System):
    """The Cholesky factor of the d x d matrix, scaled to a unit diagonal: features may differ by many decades."""

    name = "dense"
    last_rows: np.ndarray | None = None  # the weights of the last Gram matrix of X

    @functools.cached_property
    def gram_of_A(self) -> CSR | None:
        """The matrix that makes the lower triangle of ``A' diag(h) A``, row by row, out of h; None if it is large.

        Its transpose, that is: row k has the products of the entries of row k of A.
        """
        A, (m, d) = self.A, self.A.shape
        lengths = np.diff(A.indptr).astype(np.int64)
        if (lengths**2).sum() > MOST_PRODUCTS * len(A.data):
            return None
        one = np.repeat(np.arange(len(A.data)), np.repeat(lengths, lengths))
        within = np.arange(len(one)) - np.repeat(np.cumsum(lengths**2) - lengths**2, lengths**2)
        other = np.repeat(A.indptr[:-1], lengths**2) + within % np.repeat(lengths, lengths**2)
        row, column = A.indices[one].astype(np.int64), A.indices[other].astype(np.int64)
        lower = column <= row
        starts = np.append(0, np.cumsum(np.bincount(np.repeat(np.arange(m), lengths**2)[lower], minlength=m)))
        places = (row * d + column)[lower].astype(np.uint64)
        return CSR(A.data[one[lower]] * A.data[other[lower]], places, starts, d * d)

    def know(self, rows: np.ndarray, of_X: np.ndarray) -> None:
        self.last_rows, self.of_X = rows, of_X

    def form(self) -> None:
        """The lower triangle of M."""
        if self.last_rows is None or not (self.last_rows is self.rows or np.array_equal(self.last_rows, self.rows)):
            self.of_X = np.zeros((len(self.ridge), len(self.ridge)))
            self.last_rows = self.rows.copy() if self.rows.flags.writeable else self.rows
            products.add_lower_gram(self.X, self.rows, self.of_X)
        if self.gram_of_A is None:
            self.matrix = self.of_X.copy()
            products.add_lower_gram(self.A, self.edges, self.matrix)
        else:
            of_A = products.transposed_product_of_piece(self.gram_of_A, slice(0, len(self.edges)), self.edges)
            self.matrix = np.add(self.of_X, of_A.reshape(self.of_X.shape))
        if self.coupling:
            products.add_lower_gram(self.coupling.U, np.ones(len(self.coupling)), of_U := np.zeros_like(self.matrix))
            self.matrix -= of_U
        diagonal = self.matrix.reshape(-1)[:: len(self.ridge) + 1]
        diagonal += self.ridge
        self.diagonal = diagonal.copy()

    def solve(self, rhs: np.ndarray, tol: float = TOLERANCE) -> np.ndarray:
        return self.approximate(rhs) if tol >= COARSE and self.is_exact else super().solve(rhs, tol)

    def times(self, x: np.ndarray) -> np.ndarray:
        return scipy.linalg.blas.dsymv(1.0, self.matrix.T, x)

    def prepare(self) -> None:
        self.scale = 1.0 / np.sqrt(np.where(self.diagonal > 0.0, self.diagonal, 1.0))
        self.lower, self.is_exact = cholesky(self.matrix, self.scale)

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        return cholesky_solve(self.lower, rhs * self.scale) * self.scale


class RowSpace(System):
    """Woodbury's formula over a sparse factor of ``S = A' diag(edges) A + diag(ridge)``; the dense matrix is n x n.

    With ``R = diag(rows)^{1/2}``: ``M^{-1} = S^{-1} - S^{-1} X'R (I + R X S^{-1} X'R)^{-1} R X S^{-1}``. S may be
    singular if there is no ridge; a weak one then takes its place, and refinement corrects the error. With a still
    weaker one, cancellation would cost more than is gained.
    """

    name = "n-space"

    def __init__(self, X: Dense | CSR, A: CSR, pattern: Pattern, groups: Groups = NO_GROUPS) -> None:
        super().__init__(X, A, groups)
        self.base = GramFactor([A], pattern, self.coupling.U)

    def prepare(self) -> None:
        sizes = np.where(self.of_rows > 0.0, self.of_rows, self.of_rows.max(initial=0.0) or 1.0)
        self.base.factor([self.edges], np.maximum(self.ridge, np.where(self.ridge > 0.0, LEAST, WEAK) * sizes))
        self.used = np.flatnonzero(self.rows > 0.0)
        if not len(self.used):
            return
        self.roots = np.sqrt(self.rows[self.used])
        X = self.X if len(self.used) == len(self.rows) else taken(self.X, self.used)
        half = self.base.half_solve(dense_block(X, slice(0, len(self.used))))
        matrix = _squares(half) * np.outer(self.roots, self.roots)
        matrix[np.diag_indices_from(matrix)] += 1.0
        self.scale = 1.0 / np.sqrt(np.diag(matrix))
        self.lower, _ = cholesky(matrix, self.scale)

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        x = self.base.solve(rhs)
        if not len(self.used):
            return x
        along = np.empty(len(self.rows))
        products.product(self.X, x, along)
        inner = self.scale * self.roots * along[self.used]
        inner = cholesky_solve(self.lower, inner)
        back = np.zeros(len(self.rows))
        back[self.used] = self.scale * self.roots * inner
        pull = np.empty_like(x)
        products.transposed_product(self.X, back, pull)
        return x - self.base.solve(pull)


def _squares(V: np.ndarray) -> np.ndarray:
    """``V'V``, in pieces on all cores."""

    def of_piece(rows: slice) -> np.ndarray:
        return scipy.linalg.blas.dsyrk(1.0, V[rows].T)

    upper: np.ndarray = sum(side_by_side(of_piece, products.pieces(Dense(V))))  # type: ignore[assignment]
    return np.triu(upper) + np.triu(upper, 1).T


def cholesky(matrix: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, bool]:
    """The Cholesky factor of ``diag(scale) matrix diag(scale)``, and whether it is that of the matrix as given.

    Only the lower triangle of the matrix is read, and only that of the factor counts. The scaled matrix has a unit
    diagonal. If rounding made it indefinite, its diagonal is enlarged.
    """
    factor, total = np.empty_like(matrix), 0.0
    for more in MORE_DIAGONAL:
        total += more
        np.multiply(matrix, scale, out=factor)
        factor *= scale[:, None]
        factor.flat[:: len(scale) + 1] += total
        # For LAPACK, which counts by columns, the lower triangle of an array is the upper one of its transpose.
        _, failed = scipy.linalg.lapack.dpotrf(factor.T, lower=0, clean=0, overwrite_a=1)
        if not failed:
            return factor, more == 0.0
    raise np.linalg.LinAlgError("Newton's matrix is not positive definite")


def cholesky_solve(factor: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """The solution of a system with a factor of `cholesky`."""
    return scipy.linalg.lapack.dpotrs(factor.T, rhs, lower=0)[0]
