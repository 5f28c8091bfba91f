"""Newton's system by dense factors: of the d x d matrix, or of an n x n one."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.linalg.blas

from .._core.threads import side_by_side
from . import products
from .gram_factor import GramFactor
from .matrices import CSR, Dense, dense_block, taken
from .symbolic import Symbolic
from .system import TOLERANCE, System

__all__ = ["DenseSystem", "RowSpace", "cholesky"]

WEAK, LEAST = 1e-8, 1e-13  # the ridge in n-space where there is none, and where there is one: of the curvature of rows
COARSE = 1e-4  # a tolerance that a Cholesky factor meets without refinement
MORE_DIAGONAL = 0.0, 1e-13, 1e-10, 1e-7


class DenseSystem(System):
    """The Cholesky factor of the d x d matrix, scaled to a unit diagonal: features may differ by many decades."""

    name = "dense"

    def factor(self, rows: np.ndarray, edges: np.ndarray, ridge: np.ndarray) -> None:
        used = np.flatnonzero(rows > 0.0)
        X, weights = (self.X, rows) if len(used) == len(rows) else (taken(self.X, used), rows[used])
        matrix = products.gram(X, weights) + products.gram(self.A, edges)
        matrix[np.diag_indices_from(matrix)] += ridge
        self.matrix, self.diagonal = matrix, np.diag(matrix).copy()
        self.prepare()

    def solve(self, rhs: np.ndarray, tol: float = TOLERANCE) -> np.ndarray:
        return self.approximate(rhs) if tol >= COARSE and self.is_exact else super().solve(rhs, tol)

    def times(self, x: np.ndarray) -> np.ndarray:
        return self.matrix @ x

    def prepare(self) -> None:
        self.scale = 1.0 / np.sqrt(np.where(self.diagonal > 0.0, self.diagonal, 1.0))
        self.lower, self.is_exact = cholesky(self.matrix * np.outer(self.scale, self.scale))

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        return scipy.linalg.cho_solve((self.lower, True), rhs * self.scale, check_finite=False) * self.scale


class RowSpace(System):
    """Woodbury's formula over a sparse factor of ``S = A' diag(edges) A + diag(ridge)``; the dense matrix is n x n.

    With ``R = diag(rows)^{1/2}``: ``M^{-1} = S^{-1} - S^{-1} X'R (I + R X S^{-1} X'R)^{-1} R X S^{-1}``. S may be
    singular if there is no ridge; a weak one then takes its place, and refinement corrects the error. With a still
    weaker one, cancellation would cost more than is gained.
    """

    name = "n-space"

    def __init__(self, X: Dense | CSR, A: CSR, pattern: Symbolic) -> None:
        super().__init__(X, A)
        self.base = GramFactor([A], pattern)

    def prepare(self) -> None:
        sizes = np.where(self.of_rows > 0.0, self.of_rows, self.of_rows.max(initial=0.0) or 1.0)
        self.base.factor([self.edges], np.maximum(self.ridge, np.where(self.ridge > 0.0, LEAST, WEAK) * sizes))
        self.used = np.flatnonzero(self.rows > 0.0)
        self.roots = np.sqrt(self.rows[self.used])
        X = self.X if len(self.used) == len(self.rows) else taken(self.X, self.used)
        half = self.base.half_solve(dense_block(X, slice(0, len(self.used))))
        matrix = _squares(half) * np.outer(self.roots, self.roots)
        matrix[np.diag_indices_from(matrix)] += 1.0
        self.scale = 1.0 / np.sqrt(np.diag(matrix))
        self.lower, _ = cholesky(matrix * np.outer(self.scale, self.scale))

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        x = self.base.solve(rhs)
        along = np.empty(len(self.rows))
        products.product(self.X, x, along)
        inner = self.scale * self.roots * along[self.used]
        inner = scipy.linalg.cho_solve((self.lower, True), inner, check_finite=False)
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


def cholesky(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """The Cholesky factor of a matrix with a unit diagonal, and whether it is that of the matrix as given.

    If rounding made the matrix indefinite, its diagonal is enlarged.
    """
    for more in MORE_DIAGONAL:
        matrix[np.diag_indices_from(matrix)] += more
        try:
            return scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)[0], more == 0.0
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("Newton's matrix is not positive definite")
