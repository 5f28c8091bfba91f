"""Newton's system by sparse factors, by conjugate gradients, with a border, and with wide groups."""

from __future__ import annotations

import numpy as np

from ..rows import products
from ..rows.matrices import CSR, Dense, WithIntercept, to_scipy
from .coupling import NO_GROUPS, Coupling, Groups
from .dense_systems import cholesky, cholesky_solve
from .sparse_factor import GramFactor, Pattern
from .system import System

__all__ = ["Bordered", "ConjugateGradients", "Downdated", "EdgeSpace", "SparseSystem"]

MOST_STEPS = 500  # of conjugate gradients
TINY = 1e-280  # an edge, or a coordinate, without weight
WEAK = 1e-12  # in place of a diagonal entry that is 0, relative to the size of its column


class SparseSystem(System):
    """The sparse factor of M."""

    name = "sparse"

    def __init__(self, X: CSR, A: CSR, pattern: Pattern, groups: Groups = NO_GROUPS) -> None:
        super().__init__(X, A, groups)
        self.whole = GramFactor([X, A], pattern, self.coupling.U)

    def prepare(self) -> None:
        self.whole.factor([self.rows, self.edges], self.ridge)

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        return self.whole.solve(rhs)


class EdgeSpace(System):
    """X has one entry in a row, so that ``H = X' diag(rows) X + diag(ridge)`` is diagonal; Woodbury's formula over H.

    ``M^{-1} = H^{-1} - H^{-1} A' (A H^{-1} A' + diag(1 / edges))^{-1} A H^{-1}``. Large weights of edges ruin the
    condition of M, but are small terms here.
    """

    name = "t-space"

    def __init__(self, X: CSR, A: CSR, A_transposed: CSR, pattern: Pattern) -> None:
        super().__init__(X, A)
        self.inner = GramFactor([A_transposed], pattern)

    def prepare(self) -> None:
        self.H = np.maximum(positive(self.of_rows + self.ridge, self.diagonal), TINY)
        self.inner.factor([1.0 / self.H], 1.0 / np.maximum(self.edges, TINY))

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        x = rhs / self.H
        A = to_scipy(self.A)
        return (rhs - A.T @ self.inner.solve(A @ x)) / self.H


class ConjugateGradients(System):
    """Conjugate gradients; the preconditioner is a sparse factor of M with only the diagonal of the rows' part."""

    name = "conjugate gradients"
    is_iterative, most_steps = True, MOST_STEPS

    def __init__(self, X: Dense | CSR, A: CSR, pattern: Pattern | None, groups: Groups = NO_GROUPS) -> None:
        super().__init__(X, A, groups)
        self.near = None if pattern is None else GramFactor([A], pattern, self.coupling.U)

    def prepare(self) -> None:
        if self.near is not None:
            self.near.factor([self.edges], positive(self.of_rows + self.ridge, self.diagonal))

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        return self.near.solve(rhs) if self.near is not None else rhs / positive(self.diagonal, self.diagonal)


class Bordered(System):
    """An intercept: one more row and column around the system of the other coordinates."""

    def __init__(self, X: WithIntercept, A: CSR, inner: System, groups: Groups = NO_GROUPS) -> None:
        super().__init__(X, A, groups)
        self.inner, self.name = inner, inner.name
        self.is_iterative, self.most_steps = inner.is_iterative, inner.most_steps

    def prepare(self) -> None:
        self.inner.factor(self.rows, self.edges, self.ridge[:-1], self.bends)
        e = np.zeros(len(self.ridge))
        e[-1] = 1.0
        # The inverse inside is rough with conjugate gradients: a border made with it would be worse than none.
        self.border = np.zeros(len(e) - 1) if self.inner.is_iterative else self.times(e)[:-1]
        z = np.append(-self.inner.approximate(self.border), 1.0)
        # The Schur complement as a sum of squares: a difference would cancel.
        along, A_z = np.empty(len(self.rows)), np.empty(len(self.edges))
        products.product(self.X, z, along)
        products.product(self.A, z, A_z)
        squares = self.rows @ along**2 + self.edges @ A_z**2 + self.ridge @ z**2
        if self.coupling:
            U_z = np.empty(len(self.coupling))
            products.product(self.coupling.U, z, U_z)
            squares -= U_z @ U_z
        self.z, self.schur = z, squares or 1.0

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        inner = self.inner.approximate(rhs[:-1])
        last = (rhs[-1] - self.border @ inner) / self.schur
        return np.append(inner, 0.0) + last * self.z


class Downdated(System):
    """Groups with entries in many columns, whose ``U'U`` is not sparse: Woodbury's formula over the other terms.

    ``M^{-1} = S^{-1} + S^{-1} U' (I - U S^{-1} U')^{-1} U S^{-1}`` for the system S without these groups.
    """

    def __init__(self, X: Dense | CSR, A: CSR, inner: System, groups: Groups, wide: Groups) -> None:
        super().__init__(X, A, groups)
        self.inner, self.name, self.most_steps = inner, inner.name, inner.most_steps
        self.wide = Coupling(A, wide)

    def prepare(self) -> None:
        self.inner.factor(self.rows, self.edges, self.ridge, self.bends)
        self.wide.bend(self.bends)
        U = to_scipy(self.wide.U)
        self.solved = np.array([self.inner.approximate(row) for row in U.toarray()])
        self.lower, _ = cholesky(np.eye(len(self.wide)) - U @ self.solved.T, np.ones(len(self.wide)))

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        x = self.inner.approximate(rhs)
        along = to_scipy(self.wide.U) @ x
        return x + self.solved.T @ cholesky_solve(self.lower, along)


def positive(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The values, with small positive numbers where they are 0."""
    return np.where(values > 0.0, values, WEAK * np.where(sizes > 0.0, sizes, 1.0))
