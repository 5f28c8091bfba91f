"""The products of a matrix with the last few vectors, for callers that ask for the same ones again."""

from __future__ import annotations

import numpy as np

from . import products
from .matrices import Rows

__all__ = ["LastProducts"]


class LastProducts:
    """``X w`` for the one or two vectors that were used last: trace and certificate need the same points.

    Parameters
    ----------
    X : Rows
    """

    def __init__(self, X: Rows) -> None:
        self.X = X
        self._known: dict[bytes, np.ndarray] = {}

    def of(self, w: np.ndarray) -> np.ndarray:
        """``X w``, a copy."""
        key = w.tobytes()
        if key not in self._known:
            products.product(self.X, w, z := np.empty(self.X.shape[0]))
            self._known = {key: z}
        return self._known[key].copy()

    def of_both(self, w: np.ndarray, other: np.ndarray) -> None:
        """Compute the products with two vectors in one pass over X, unless one of them is known."""
        pair = {w.tobytes(): w, other.tobytes(): other}
        if len(pair) == 2 and not pair.keys() & self._known.keys():
            z = np.empty((2, self.X.shape[0]))
            products.product_pair(self.X, (w, other), z)
            self._known = dict(zip(pair, z, strict=True))

    def remember(self, w: np.ndarray, product: np.ndarray) -> None:
        """Keep the product of a caller that has computed it anyway."""
        self._known = {w.tobytes(): product.copy()}
