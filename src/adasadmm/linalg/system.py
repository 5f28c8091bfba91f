"""Shared by all solvers of Newton's system: the matrix as an operator, and iterative refinement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from ..rows import products
from ..rows.matrices import CSR, Rows
from .coupling import NO_GROUPS, Coupling, Groups

__all__ = ["TOLERANCE", "System"]

TOLERANCE = 1e-9  # the relative residual of a solution, where rounding allows
ROUGHLY = 1e-2  # the same, if the caller corrects it; conjugate gradients then take a few steps
REFINEMENTS = 10
ROUNDING = 1e-15


class System(ABC):
    """``M x = rhs`` for one X and A, and changing weights; groups of rows of A may be coupled (`coupling`).

    M must be positive definite. A coordinate without rows, edges and ridge makes it singular: give it a small ridge.

    Attributes
    ----------
    name : str
        How the system is solved.
    flops : float
        The cost of one factorisation and one solution, in multiplications at the speed of BLAS.
    is_iterative : bool
        Whether `approximate` is only a preconditioner, and not the inverse up to rounding errors.
    diagonal : ndarray of shape (d,)
        The diagonal of M, after `factor`.
    """

    name: str
    flops: float
    diagonal: np.ndarray
    is_iterative, most_steps = False, REFINEMENTS

    def __init__(self, X: Rows, A: CSR, groups: Groups = NO_GROUPS) -> None:
        self.X, self.A, self.coupling = X, A, Coupling(A, groups)

    def factor(self, rows: np.ndarray, edges: np.ndarray, ridge: np.ndarray, bends: np.ndarray | None = None) -> None:
        """Factor M for weights >= 0 of the rows of X, the rows of A, and the coordinates.

        ``bends`` has an entry for each row of A; None means that nothing is coupled.
        """
        self.rows, self.edges, self.ridge = rows, edges, ridge
        self.bends = np.zeros_like(edges) if bends is None else bends
        self.coupling.bend(self.bends)
        self.form()
        self.prepare()

    def know(self, rows: np.ndarray, of_X: np.ndarray) -> None:  # noqa: B027
        """Take the lower triangle of ``X' diag(rows) X`` from a caller that had to read X anyway; not all use it."""

    def form(self) -> None:
        """The parts of M that `prepare` needs: here the diagonals."""
        self.of_rows = products.gram_diagonal(self.X, self.rows)
        self.diagonal = self.ridge + self.of_rows + products.gram_diagonal(self.A, self.edges)
        if self.coupling:
            self.diagonal -= products.gram_diagonal(self.coupling.U, np.ones(len(self.coupling)))

    def solve(self, rhs: np.ndarray, tol: float = TOLERANCE) -> np.ndarray:
        """``M^{-1} rhs`` with a relative residual of at most ``tol``, where rounding errors allow."""
        scale = 1.0 / np.sqrt(np.where(self.diagonal > 0.0, self.diagonal, 1.0))
        return _refined(self.times, self.approximate, rhs, scale, tol, self.most_steps)

    def roughly(self, rhs: np.ndarray) -> np.ndarray:
        """A solution for a caller that corrects the remainder of ``rhs``, at the least cost."""
        return self.solve(rhs, ROUGHLY) if self.is_iterative else self.approximate(rhs)

    def times(self, x: np.ndarray) -> np.ndarray:
        """``M x``."""
        total = self.ridge * x
        coupled = self.coupling.U, -np.ones(len(self.coupling))
        for rows, weights in ((self.X, self.rows), (self.A, self.edges), coupled):
            total += products.gram_product(rows, weights, x)
        return total

    @abstractmethod
    def prepare(self) -> None:
        """Factor M, or a matrix near it."""

    @abstractmethod
    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        """The solution with that factor."""


# --- refinement ------------------------------------------------------------------------------------------------------

Operator = Callable[[np.ndarray], np.ndarray]


def _refined(times: Operator, solve: Operator, rhs: np.ndarray, scale: np.ndarray, tol: float, most: int) -> np.ndarray:
    """Conjugate gradients from ``solve(rhs)``, until the residual is small or falls no more.

    The residual is measured as it is, and in units in which M has a unit diagonal, so that no column is overlooked.
    """
    sizes = float(np.linalg.norm(rhs)), float(np.linalg.norm(scale * rhs))
    if not all(size > 0.0 for size in sizes):
        return np.zeros_like(rhs)

    def off(r: np.ndarray) -> float:
        return max(float(np.linalg.norm(r)) / sizes[0], float(np.linalg.norm(scale * r)) / sizes[1])

    x = solve(rhs)
    r = rhs - times(x)
    best, least = x, off(r)
    tol = max(tol, ROUNDING * off(x / scale / scale))  # no x in floating point has a smaller residual
    p, before, worse, patience = np.zeros_like(x), 1.0, 0, max(1, most // 10)
    for _ in range(most):
        if not least > tol or worse > patience:
            break
        z = solve(r)
        now = float(r @ z)
        p = z + now / before * p
        Mp = times(p)
        curvature = float(p @ Mp)
        if not curvature > 0.0 or not now > 0.0:  # rounding errors are all that is left
            break
        before = now
        x = x + now / curvature * p
        r = r - now / curvature * Mp
        worse = 0 if off(r) < 0.5 * least else worse + 1
        if off(r) < least:
            best, least = x, off(r)
    return best
