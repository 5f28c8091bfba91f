"""The products of a matrix with the last few vectors, for callers that ask for the same ones again."""

from __future__ import annotations

import numpy as np

from . import products
from .matrices import Rows

__all__ = ["LastProducts", "LastTransposedProduct"]


class LastProducts:
    """``M w`` for the one or two vectors that were used last: trace and certificate need the same points.

    Parameters
    ----------
    M : Rows
    """

    def __init__(self, M: Rows) -> None:
        self.M = M
        self._known: tuple[tuple[np.ndarray, np.ndarray], ...] = ()  # replaced as a whole: threads may share it

    def of(self, w: np.ndarray) -> np.ndarray:
        """``M w``; the caller must not change it."""
        for known, product in self._known:
            if np.array_equal(known, w):
                return product
        products.product(self.M, w, z := np.empty(self.M.shape[0]))
        self._known = ((w.copy(), z),)
        return z

    def of_both(self, w: np.ndarray, other: np.ndarray) -> None:
        """Compute the products with two vectors in one pass over M, unless one of them is known."""
        if np.array_equal(w, other) or any(np.array_equal(known, x) for known, _ in self._known for x in (w, other)):
            return
        z = np.empty((2, self.M.shape[0]))
        products.product_pair(self.M, (w, other), z)
        self._known = ((w.copy(), z[0]), (other.copy(), z[1]))

    def remember(self, w: np.ndarray, product: np.ndarray) -> None:
        """Keep the product of a caller that has computed it anyway."""
        self._known = ((w.copy(), product.copy()),)


class LastTransposedProduct:
    """``M' x`` for the vector that was used last.

    Parameters
    ----------
    M : Rows
    """

    def __init__(self, M: Rows) -> None:
        self.M = M
        self._known: tuple[np.ndarray, np.ndarray] | None = None

    def of(self, x: np.ndarray) -> np.ndarray:
        """``M' x``; the caller must not change it."""
        known = self._known
        if known is None or not np.array_equal(known[0], x):
            products.transposed_product(self.M, x, out := np.empty(self.M.shape[1]))
            self._known = known = (x.copy(), out)
        return known[1]
