"""The products of a matrix with the last few vectors, for callers that ask for the same ones again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import products
from .matrices import Rows
from .selections import taken

__all__ = ["LastProducts", "LastTransposedProduct", "UpdatedProduct", "add_chosen_rows", "changes", "frozen", "kept"]

Product = Callable[[np.ndarray], np.ndarray]


class LastProducts:
    """``M w`` for the one or two vectors that were used last: trace and certificate need the same points.

    Parameters
    ----------
    M : Rows
    product : callable, optional
        ``product(w)`` returns ``M w``, for a matrix whose structure makes that cheaper than its entries do.
    """

    def __init__(self, M: Rows, product: Product | None = None) -> None:
        self.M, self._product = M, product
        self._known: tuple[tuple[np.ndarray, np.ndarray], ...] = ()  # replaced as a whole: threads may share it

    def of(self, w: np.ndarray) -> np.ndarray:
        """``M w``; the caller must not change it."""
        for known, product in self._known:
            if same(known, w):
                return product
        if self._product is None:
            products.product(self.M, w, z := np.empty(self.M.shape[0]))
        else:
            z = self._product(w)
        self._known = ((kept(w), z),)
        return z

    def of_both(self, w: np.ndarray, other: np.ndarray) -> None:
        """Compute the products with two vectors in one pass over M, unless one of them is known."""
        if same(w, other) or any(same(known, x) for known, _ in self._known for x in (w, other)):
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
    product : callable, optional
        ``product(x)`` returns ``M' x``.
    """

    def __init__(self, M: Rows, product: Product | None = None) -> None:
        self.M, self._product = M, product
        self._known: tuple[np.ndarray, np.ndarray] | None = None

    def of(self, x: np.ndarray) -> np.ndarray:
        """``M' x``; the caller must not change it."""
        known = self._known
        if known is None or not same(known[0], x):
            if self._product is None:
                products.transposed_product(self.M, x, out := np.empty(self.M.shape[1]))
            else:
                out = self._product(x)
            self._known = known = (kept(x), out)
        return known[1]

    def remember(self, x: np.ndarray, product: np.ndarray) -> None:
        """Keep the product of a caller that has computed it anyway."""
        self._known = (x.copy(), product)


class UpdatedProduct:
    """``M' x`` for an x of which often only few entries change: only their rows are read then.

    Attributes
    ----------
    is_direct : bool
        Whether all rows were read for the last product, so that it has no rounding errors of earlier ones.
    """

    def __init__(self, M: Rows) -> None:
        self.M, self.is_direct = M, False
        self._x, self._product = np.zeros(M.shape[0]), np.zeros(M.shape[1])

    def of(self, x: np.ndarray) -> np.ndarray:
        """``M' x``; the caller must change neither x nor the product."""
        rows, change = changes(x, self._x)
        self.is_direct = 2 * len(rows) >= len(x)
        if self.is_direct:
            products.transposed_product(self.M, x, out := np.empty(self.M.shape[1]))
        else:
            add_chosen_rows(self.M, rows, change, out := self._product.copy())
        self._x, self._product = x, out
        return out


def changes(x: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The indices of the entries that have changed, and by how much."""
    rows = np.flatnonzero(x != last)
    return rows, x[rows] - last[rows]


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two vectors are equal; most of those that are not differ in their first entry."""
    if one is other or one.shape != other.shape or not one.size:
        return one.shape == other.shape
    return bool(one[0] == other[0]) and np.array_equal(one, other)


def add_chosen_rows(M: Rows, rows: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """Add ``x_k M_rows[k]`` for each k."""
    products.transposed_product(taken(M, rows), x, total := np.empty(len(out)))
    out += total


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, which nothing will change any more, made read-only, so that no reader needs a copy."""
    array.setflags(write=False)
    return array


def kept(array: np.ndarray) -> np.ndarray:
    """A vector that will not change: a copy, unless the array is read-only and no view of another one."""
    frozen = not array.flags.writeable and not isinstance(array.base, np.ndarray)
    return array if frozen else array.copy()
