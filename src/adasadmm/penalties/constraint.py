"""The constraint that couples w and v, and what follows from it for v."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..linalg.banded_system import Bands, bands_of
from ..linalg.paths import Families, Paths, families_of, paths_of
from ..rows import matrices, products
from ..rows.last_products import LastProducts, LastTransposedProduct
from ..rows.matrices import CSR, to_scipy
from ._generic import total_value
from .coupling import v_step


class Constraint:
    """The part of a problem that knows v: ``A w + B v = b`` and the penalty phi(v)."""

    d: int
    penalty: Any
    A: CSR
    B: CSR | None  # None: -I
    b: np.ndarray
    has_b: bool  # whether some entry of b is not 0

    @property
    def m(self) -> int:
        """The number of constraints."""
        return self.A.shape[0]

    @property
    def p(self) -> int:
        """The length of v."""
        return self.m if self.B is None else self.B.columns

    def times_A(self, w: np.ndarray) -> np.ndarray:
        products.product(self.A, w, out := np.empty(self.m))
        return out

    def times_A_transposed(self, theta: np.ndarray) -> np.ndarray:
        products.transposed_product(self.A, theta, out := np.empty(self.d))
        return out

    def times_B(self, v: np.ndarray) -> np.ndarray:
        return -v if self.B is None else to_scipy(self.B) @ v

    def times_B_transposed(self, theta: np.ndarray) -> np.ndarray:
        return -theta if self.B is None else to_scipy(self.B).T @ theta

    @functools.cached_property
    def last_A_products(self) -> LastProducts:
        """``A w`` for the last w."""
        paths = self.paths
        return LastProducts(self.A, paths.differences if paths is not None and paths.natural else None)

    @functools.cached_property
    def last_A_transposed(self) -> LastTransposedProduct:
        """``A'theta`` for the last theta."""
        paths = self.paths
        return LastTransposedProduct(self.A, paths.divergences if paths is not None and paths.natural else None)

    def penalty_value(self, v: np.ndarray) -> float:
        return float(total_value(self.v_step[1], v))

    def residual(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """``A w + B v - b``."""
        out = self.last_A_products.of(w) + self.times_B(v)
        out -= self.b
        return out

    @property
    def determines_v(self) -> bool:
        """Whether the constraint makes v a function of w."""
        return self.B is None or self._inverse_B is not None

    def v_of(self, w: np.ndarray) -> np.ndarray | None:
        """The v that solves ``A w + B v = b``, or None if B is not invertible."""
        v = self._v_of(w)
        return None if v is None else v.copy()

    def _v_of(self, w: np.ndarray) -> np.ndarray | None:
        """The same; the caller must not change it."""
        if not self.determines_v:
            return None
        rhs = self.last_A_products.of(w)
        if self.has_b:
            rhs = rhs - self.b
        return rhs if self.B is None else -(self._inverse_B @ rhs)

    @functools.cached_property
    def _inverse_B(self) -> np.ndarray | None:
        """The inverse of B; None if B is not square or nearly singular."""
        return None if self.B is None else matrices.inverse_of(self.B)

    @functools.cached_property
    def v_step(self) -> tuple[Any, Any, float]:
        """B and the penalty in the form that Algorithm 1 uses, and the factor of tau in the penalty's prox."""
        return v_step(self.penalty, self.B, self.p)

    # --- the form of A ----------------------------------------------------------------------------------------------

    @functools.cached_property
    def paths(self) -> Paths | None:
        """The paths that the rows of A are the edges of, if they are differences along disjoint paths; else None."""
        return paths_of(self.A)

    @functools.cached_property
    def families(self) -> Families | None:
        """The edges that the rows of A are by their length, if they have few different ones; else None."""
        return families_of(self.A)

    @functools.cached_property
    def bands(self) -> Bands | None:
        """A as rows of a few neighbouring columns, if it has this form; else None."""
        return bands_of(self.A)
