"""A quadratic function with a fixed second derivative ``X' diag(h) X``, and Newton's systems that contain it."""

from __future__ import annotations

import numpy as np
import scipy.linalg.blas

from . import products
from .dense_systems import DenseSystem
from .system import System

__all__ = ["QuadraticModel"]

HOLD = 1e-9  # of the diagonal: keeps Newton's matrix positive definite where a coordinate has no ridge


class QuadraticModel:
    """``X' diag(h) X`` as an operator. Newton's systems with the same h form this matrix only once."""

    def __init__(self, system: System, h: np.ndarray, gamma: np.ndarray) -> None:
        self.system, self.h = system, h
        self.diagonal = products.gram_diagonal(system.X, h)
        size = np.where(self.diagonal > 0.0, self.diagonal, self.diagonal.max(initial=0.0) or 1.0)
        self.ridge = np.where(gamma > 0.0, gamma, HOLD * size)

    def times(self, x: np.ndarray) -> np.ndarray:
        """``X' diag(h) X x``."""
        system = self.system
        if isinstance(system, DenseSystem) and system.last_rows is self.h:
            return scipy.linalg.blas.dsymv(1.0, system.of_X.T, x)
        return products.gram_product(system.X, self.h, x)

    def solve(self, edges: np.ndarray, bends: np.ndarray | None, rhs: np.ndarray, tol: float) -> np.ndarray:
        """The solution of a system with this matrix, the ridge, and ``A' (diag(edges) - b b') A``."""
        self.system.factor(self.h, edges, self.ridge, bends)
        return self.system.solve(rhs, tol)
