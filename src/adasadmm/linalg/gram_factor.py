"""The sparse factor of ``sum_k G_k' diag(weights_k) G_k - U'U + diag(ridge)``.

The sparse G_k are fixed, and their weights change. U has a fixed pattern, and its entries change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.jit import compiled
from .matrices import CSR, to_scipy
from .sparse_factor import SparseFactor
from .symbolic import Symbolic, analyse

__all__ = ["GramFactor", "gram_pattern", "is_graph", "pairs_of"]


class Pairs(NamedTuple):
    """The terms of ``G' diag(weights) G``: row i adds ``weights[i] product[p]`` at ``place[p]`` of the values.

    The p of row i are ``begin[i]:begin[i + 1]``. ``sums`` holds the squares of rows with a single entry.
    """

    begin: np.ndarray
    place: np.ndarray
    product: np.ndarray
    sums: CSR


def pairs_of(G: CSR) -> float:
    """The number of products that one ``G' diag(weights) G`` takes: half the square of each row's entries."""
    entries = np.diff(G.indptr).astype(float)
    return float(np.sum(entries * (entries + 1.0))) / 2.0


def gram_pattern(matrices: Sequence[CSR], most: float) -> Symbolic | None:
    """Order and pattern of the factor; None if it would have more than ``most`` entries."""
    d = matrices[0].shape[1]
    total = sp.csr_array((d, d))
    for G in matrices:
        ones = to_scipy(G._replace(data=np.ones(len(G.data))))
        total = total + ones.T @ ones
    graph = sp.csr_array(total - sp.diags_array(total.diagonal()))
    graph.eliminate_zeros()
    return analyse(graph.indptr.astype(np.int64), graph.indices.astype(np.int64), most)


class GramFactor:
    """A factor on the pattern that `gram_pattern` found for the same matrices, U included.

    If each row is a difference of two coordinates or has one entry, the sum is a graph Laplacian plus a diagonal, which
    is factored without cancellation (``exact``). Else it is scaled to a unit diagonal first.
    """

    def __init__(self, matrices: Sequence[CSR], symbolic: Symbolic, U: CSR | None = None) -> None:
        self.sparse = SparseFactor(symbolic)
        self.U = U if U is not None and U.shape[0] else None
        self.exact = all(map(is_graph, matrices)) and self.U is None
        self.pairs = [_pairs(G, self.sparse) for G in matrices]
        self.places_of_U = None if self.U is None else _pairs(self.U, self.sparse).place
        every = np.arange(len(symbolic.order))
        self.diagonal_places = self.sparse.places(every, every)
        self.scale = np.ones(len(every))

    def factor(self, weights: Sequence[np.ndarray], ridge: np.ndarray) -> None:
        """``weights`` holds one array for each matrix; all entries must be >= 0, and the sum positive definite."""
        values = self.sparse.values
        values[:] = 0.0
        for pairs, of_rows in zip(self.pairs, weights, strict=True):
            add_pairs(pairs.begin, pairs.place, pairs.product, of_rows, values)
        if self.U is not None:
            subtract_squares(self.U, self.places_of_U, values)
        if self.exact:
            sums = ridge.astype(float)
            for pairs, of_rows in zip(self.pairs, weights, strict=True):
                sums = sums + to_scipy(pairs.sums).T @ of_rows
            self.sparse.factor(sums)
            return
        diagonal = values[self.diagonal_places] + ridge
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        values[self.diagonal_places] = np.where(diagonal > 0.0, diagonal, 1.0)
        scale_values(self.sparse.symbolic, self.scale[self.sparse.symbolic.order], values)
        self.sparse.factor()

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        return self.scale * self.sparse.solve(self.scale * rhs)

    def half_solve(self, rows: np.ndarray) -> np.ndarray:
        """``F^{-1} rows'`` up to a permutation, where ``F F'`` is the matrix."""
        return self.sparse.half_solve(rows if self.exact else rows * self.scale)


def is_graph(G: CSR) -> bool:
    """Whether each row has at most one entry, or is a multiple of the difference of two coordinates."""
    entries = np.diff(G.indptr)
    if (entries > 2).any():
        return False
    ends = np.flatnonzero(entries == 2)
    first = G.indptr[ends]
    return bool(np.all(G.data[first] == -G.data[first + 1]))


def _pairs(G: CSR, factor: SparseFactor) -> Pairs:
    entries = np.diff(G.indptr).astype(np.int64)
    begin = np.concatenate([[0], np.cumsum(entries * (entries + 1) // 2)])
    row, column, product = np.empty(begin[-1], np.int64), np.empty(begin[-1], np.int64), np.empty(begin[-1])
    list_pairs(G, row, column, product)
    single = np.repeat(entries == 1, entries)
    return Pairs(begin, factor.places(row, column), product, G._replace(data=np.where(single, G.data**2, 0.0)))


@compiled
def list_pairs(G, row, column, product):
    at = 0
    for i in range(len(G.indptr) - 1):
        for p in range(G.indptr[i], G.indptr[i + 1]):
            for q in range(G.indptr[i], p + 1):
                row[at], column[at], product[at] = G.indices[p], G.indices[q], G.data[p] * G.data[q]
                at += 1


@compiled
def add_pairs(begin, place, product, weights, values):
    for i in range(len(weights)):
        if weights[i] != 0.0:
            for p in range(begin[i], begin[i + 1]):
                values[place[p]] += weights[i] * product[p]


@compiled
def subtract_squares(U, place, values):
    """Subtract ``U'U``."""
    at = 0
    for i in range(len(U.indptr) - 1):
        for p in range(U.indptr[i], U.indptr[i + 1]):
            for q in range(U.indptr[i], p + 1):
                values[place[at]] -= U.data[p] * U.data[q]
                at += 1


@compiled
def scale_values(symbolic, scale, values):
    """Multiply each entry by the scales of its row and its column, both in the order of elimination."""
    at = 0
    for s in range(len(symbolic.first) - 1):
        for p in range(symbolic.begin[s], symbolic.begin[s + 1]):
            of_row = scale[symbolic.rows[p]]
            for column in range(symbolic.first[s], symbolic.first[s + 1]):
                values[at] *= of_row * scale[column]
                at += 1
