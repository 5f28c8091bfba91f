"""A system of many small ones: ``X' diag(rows) X + diag(h)`` where the rows of X fall into blocks of columns.

Each row of X has its entries between its first and its last column. The finest intervals of columns that no row leaves
are the blocks, so the matrix is block-diagonal: with a model for each node of a network, a block is a node. A block
with fewer rows than columns is solved in the space of its rows (Woodbury's formula), another one by its own inverse.
Memory is linear in the rows as long as each block has few rows, or few columns.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from .._core.jit import compiled
from ..rows import products
from ..rows.matrices import CSR, to_scipy

__all__ = ["BlockSystem", "block_starts", "entries_of_inverses"]


def block_starts(X: CSR) -> np.ndarray:
    """Where the blocks of columns start, and behind them the number of columns."""
    filled = np.flatnonzero(np.diff(X.indptr))
    covered = np.zeros(X.columns + 1, dtype=np.int64)
    np.add.at(covered, X.indices[X.indptr[filled]].astype(np.int64) + 1, 1)
    np.subtract.at(covered, X.indices[X.indptr[filled + 1] - 1].astype(np.int64) + 1, 1)
    return np.append(np.flatnonzero(np.cumsum(covered[:-1]) == 0), X.columns)


def entries_of_inverses(X: CSR) -> float:
    """How many numbers the inverses of all blocks hold."""
    starts = block_starts(X)
    width, height = np.diff(starts), np.diff(np.searchsorted(np.sort(_block_of_row(X, starts)), _numbers(starts)))
    return float(np.sum(np.minimum(width, height).astype(float) ** 2))


def _numbers(starts: np.ndarray) -> np.ndarray:
    return np.arange(len(starts))


def _block_of_row(X: CSR, starts: np.ndarray) -> np.ndarray:
    """The block of each row; rows without entries count to the first one."""
    empty = np.diff(X.indptr) == 0
    first = X.indices[np.minimum(X.indptr[:-1], max(len(X.indices) - 1, 0))].astype(np.int64)
    return np.searchsorted(starts, np.where(empty, 0, first), side="right") - 1


class BlockSystem:
    """``(X' diag(rows) X + diag(h)) w = e + X' r`` for the w and the ``X w`` that belong to given e and r.

    Attributes
    ----------
    starts : ndarray
        Where the blocks of columns start.
    order : ndarray
        The rows, block after block.
    """

    def __init__(self, X: CSR) -> None:
        self.X, self.starts = X, block_starts(X)
        block = _block_of_row(X, self.starts)
        self.order = np.argsort(block, kind="stable")
        self.row_starts = np.searchsorted(block[self.order], _numbers(self.starts))
        self.width, self.height = np.diff(self.starts), np.diff(self.row_starts)
        self.by_rows = (self.height < self.width) & (self.width > 1)
        self.by_columns = ~self.by_rows & (self.width > 1)
        self.in_order = bool((np.diff(block) >= 0).all())
        self.full = np.diff(X.indptr) == self.width[block] if X.shape[0] else np.zeros(0, dtype=bool)
        self.of_rows = np.repeat(self.by_rows, self.height)  # by the place of a row in `order`
        sizes = np.where(self.by_rows, self.height, np.where(self.by_columns, self.width, 0))
        self.places = np.concatenate([[0], np.cumsum(sizes**2)])
        self.inverses = np.empty(self.places[-1])
        self.grams = np.empty(int(np.sum(self.height[self.by_rows] ** 2)))
        self.gram_places = np.concatenate([[0], np.cumsum(np.where(self.by_rows, self.height, 0) ** 2)])

    def _dense(self, b: int) -> np.ndarray:
        """The rows of a block, as a dense array."""
        rows = self.order[self.row_starts[b] : self.row_starts[b + 1]]
        first, last = self.starts[b], self.starts[b + 1]
        if self.in_order and self.full[rows].all():
            entries = self.X.data[self.X.indptr[rows[0]] : self.X.indptr[rows[-1] + 1]]
            return entries.reshape(len(rows), last - first)
        return to_scipy(self.X)[rows][:, first:last].toarray()

    def factor(self, rows: np.ndarray, h: np.ndarray) -> None:
        """Set the weights: rows >= 0 and h > 0."""
        self.h, self.roots = h, np.sqrt(rows)
        one_column = np.repeat(self.width == 1, self.width)
        self.divisor = np.where(one_column, h + products.gram_diagonal(self.X, rows), h)
        for b in np.flatnonzero(self.by_rows & (self.height > 0)).tolist():
            at, M = slice(self.starts[b], self.starts[b + 1]), self._dense(b)
            root = self.roots[self.order[self.row_starts[b] : self.row_starts[b + 1]]]
            gram = (M / h[at]) @ M.T
            self.grams[self.gram_places[b] : self.gram_places[b + 1]] = gram.ravel()
            self._invert(b, np.eye(len(M)) + root[:, None] * gram * root)
        for b in np.flatnonzero(self.by_columns).tolist():
            at, M = slice(self.starts[b], self.starts[b + 1]), self._dense(b)
            weighted = self.roots[self.order[self.row_starts[b] : self.row_starts[b + 1]], None] * M
            self._invert(b, weighted.T @ weighted + np.diag(h[at]))

    def _invert(self, b: int, matrix: np.ndarray) -> None:
        factor, failed = dpotrf(matrix, lower=1)
        if failed:
            raise np.linalg.LinAlgError("a block of the system is not positive definite")
        lower = np.tril(dpotri(factor, lower=1)[0])  # LAPACK itself: wrappers take longer than a small block
        self.inverses[self.places[b] : self.places[b + 1]] = (lower + np.tril(lower, -1).T).ravel()

    def solve(self, e: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and ``X w``, in two passes over X."""
        X = self.X
        w, along, pull = e / self.h, np.empty(X.shape[0]), np.empty(X.columns)
        if self.by_rows.any():
            products.product(X, w, along)
            blocks = np.flatnonzero(self.by_rows)
            # Where rows have weight 0, X w is not determined by the space of the rows; it is not needed there.
            row_space(
                blocks, self.order, self.row_starts, self.roots, (self.grams, self.gram_places),
                (self.inverses, self.places), along, r := r.copy()
            )  # fmt: skip
        products.transposed_product(X, r, pull)
        total = e + pull
        w = total / self.divisor
        if self.by_columns.any():
            column_space(np.flatnonzero(self.by_columns), self.starts, self.inverses, self.places, total, w)
        if not self.by_rows.all():
            products.product(X, w, along)
        return w, along


@compiled
def row_space(blocks, order, row_starts, roots, grams, inverses, along, r):
    """From ``X e/h`` and r: the ``X w`` of the blocks in row space, and the r with which ``w = (e + X' r)/h``."""
    for b in blocks:
        first, count = row_starts[b], row_starts[b + 1] - row_starts[b]
        G, K = grams[1], inverses[1]
        t = np.empty(count)
        for i in range(count):
            total = along[order[first + i]]
            for j in range(count):
                total += grams[0][G[b] + i * count + j] * r[order[first + j]]
            t[i] = roots[order[first + i]] * total
        for i in range(count):
            total = 0.0
            for j in range(count):
                total += inverses[0][K[b] + i * count + j] * t[j]
            row = order[first + i]
            along[row] = total / roots[row] if roots[row] > 0.0 else 0.0
            r[row] -= roots[row] * total


@compiled
def column_space(blocks, starts, inverses, places, total, w):
    for b in blocks:
        first, count = starts[b], starts[b + 1] - starts[b]
        for i in range(count):
            found = 0.0
            for j in range(count):
                found += inverses[places[b] + i * count + j] * total[first + j]
            w[first + i] = found
