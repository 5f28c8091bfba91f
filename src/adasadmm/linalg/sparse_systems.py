"""Newton's system by sparse factors, by conjugate gradients, and with a border."""

from __future__ import annotations

import numpy as np

from . import products
from .gram_factor import GramFactor
from .matrices import CSR, Dense, WithIntercept, to_scipy
from .symbolic import Symbolic
from .system import System

__all__ = ["Bordered", "ConjugateGradients", "EdgeSpace", "SparseSystem"]

MOST_STEPS = 500  # of conjugate gradients
TINY = 1e-280  # an edge without weight
WEAK = 1e-12  # in place of a diagonal entry that is 0, relative to the size of its column


class SparseSystem(System):
    """The sparse factor of M."""

    name = "sparse"

    def __init__(self, X: CSR, A: CSR, pattern: Symbolic) -> None:
        super().__init__(X, A)
        self.whole = GramFactor([X, A], pattern)

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

    def __init__(self, X: CSR, A: CSR, A_transposed: CSR, pattern: Symbolic) -> None:
        super().__init__(X, A)
        self.inner = GramFactor([A_transposed], pattern)

    def prepare(self) -> None:
        self.H = positive(self.of_rows + self.ridge, self.diagonal)
        self.inner.factor([1.0 / self.H], 1.0 / np.maximum(self.edges, TINY))

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        x = rhs / self.H
        A = to_scipy(self.A)
        return (rhs - A.T @ self.inner.solve(A @ x)) / self.H


class ConjugateGradients(System):
    """Conjugate gradients; the preconditioner is a sparse factor of M with only the diagonal of the rows' part."""

    name = "conjugate gradients"
    most_steps = MOST_STEPS

    def __init__(self, X: Dense | CSR, A: CSR, pattern: Symbolic | None) -> None:
        super().__init__(X, A)
        self.near = None if pattern is None else GramFactor([A], pattern)

    def prepare(self) -> None:
        if self.near is not None:
            self.near.factor([self.edges], positive(self.of_rows + self.ridge, self.diagonal))

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        return self.near.solve(rhs) if self.near is not None else rhs / positive(self.diagonal, self.diagonal)


class Bordered(System):
    """An intercept: one more row and column around the system of the other coordinates."""

    def __init__(self, X: WithIntercept, A: CSR, inner: System) -> None:
        super().__init__(X, A)
        self.inner, self.name, self.most_steps = inner, inner.name, inner.most_steps

    def prepare(self) -> None:
        self.inner.factor(self.rows, self.edges, self.ridge[:-1])
        e = np.zeros(len(self.ridge))
        e[-1] = 1.0
        self.border = self.times(e)[:-1]
        z = np.append(-self.inner.approximate(self.border), 1.0)
        # The Schur complement as a sum of squares: a difference would cancel.
        along, A_z = np.empty(len(self.rows)), np.empty(len(self.edges))
        products.product(self.X, z, along)
        products.product(self.A, z, A_z)
        squares = self.rows @ along**2 + self.edges @ A_z**2 + self.ridge @ z**2
        self.z, self.schur = z, squares or 1.0

    def approximate(self, rhs: np.ndarray) -> np.ndarray:
        inner = self.inner.approximate(rhs[:-1])
        last = (rhs[-1] - self.border @ inner) / self.schur
        return np.append(inner, 0.0) + last * self.z


def positive(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The values, with small positive numbers where they are 0."""
    return np.where(values > 0.0, values, WEAK * np.where(sizes > 0.0, sizes, 1.0))
