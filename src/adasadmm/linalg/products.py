"""Products with a matrix of rows, and its Gram matrix: in pieces, on all cores.

How a matrix is cut depends on the matrix alone, so that the number of cores does not show in the results.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import scipy.linalg.blas

from .._core.jit import compiled
from .._core.threads import side_by_side
from .matrices import CSR, Dense, Rows, WithIntercept, add_row, dense_block, row_dot, size, to_scipy

__all__ = ["gram", "gram_diagonal", "pieces", "product", "transposed_product"]

GRAM_BLOCK = 2**19  # numbers in the dense block of X that one step of `gram` works on: 4 MiB
WORTH_THREADS = 2**18  # numbers in a matrix from which on threads gain more than they cost
PIECES = 4
SHORT_ROWS = 5  # a sparse matrix with fewer than one number in so many has short rows


def product(M: Rows, x: np.ndarray, out: np.ndarray) -> None:
    """``out = M x``."""
    if not x.any():  # where many a run begins
        out[:] = 0.0
        return
    side_by_side(lambda rows: product_of_rows(M, x, rows.start, rows.stop, out), pieces(M))


def transposed_product(M: Rows, x: np.ndarray, out: np.ndarray) -> None:
    """``out = M' x``: the sum over pieces of M, in their order."""

    def of_piece(rows: slice) -> np.ndarray:
        part = np.zeros_like(out)
        add_rows(M, x, rows.start, rows.stop, part)
        return part

    out[:] = sum(side_by_side(of_piece, pieces(M)))


@compiled
def product_of_rows(M, x, first, last, out):
    for i in range(first, last):
        out[i] = row_dot(M, i, x)


@compiled
def add_rows(M, x, first, last, out):
    for i in range(first, last):
        if x[i] != 0.0:
            add_row(M, i, x[i], out)


def pieces(M: Rows) -> list[slice]:
    """The rows in pieces to be worked on side by side: as many as the matrix, not the machine, asks for."""
    n = M.shape[0]
    count = PIECES if size(M) > WORTH_THREADS else 1
    ends = [n * k // count for k in range(count + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(ends)]


def blocks_of(M: Rows, piece: slice) -> Iterator[slice]:
    """The rows of a piece in blocks that stay in the cache when they are dense."""
    rows = max(1, GRAM_BLOCK // max(1, M.shape[1]))
    for start in range(piece.start, piece.stop, rows):
        yield slice(start, min(start + rows, piece.stop))


def gram(M: Rows, weights: np.ndarray) -> np.ndarray:
    """``sum_i weights_i M_i M_i'`` for weights >= 0; pieces side by side.

    Row by row where rows are short, else in dense blocks. One triangle is made, the other is its copy.
    """
    if isinstance(M, WithIntercept):
        d = M.rows.shape[1]
        total = np.empty((d + 1, d + 1))
        total[:d, :d] = gram(M.rows, weights)
        transposed_product(M.rows, weights, total[d, :d])
        total[:d, d] = total[d, :d]
        total[d, d] = weights.sum()
        return total
    if M.shape[1] == 0:  # an intercept alone has such rows; BLAS refuses them
        return np.zeros((0, 0))
    short = isinstance(M, CSR) and SHORT_ROWS * size(M) < M.shape[0] * M.shape[1]

    def of_piece(piece: slice) -> np.ndarray:
        total = np.zeros((M.shape[1], M.shape[1]))
        if short:
            add_gram(M, weights, piece.start, piece.stop, total)
            return total
        for chosen in blocks_of(M, piece):
            block = dense_block(M, chosen) * np.sqrt(weights[chosen, None])
            scipy.linalg.blas.dsyrk(1.0, block.T, beta=1.0, c=total.T, overwrite_c=True)  # in place
        return total

    total: np.ndarray = sum(side_by_side(of_piece, pieces(M)))  # type: ignore[assignment]
    return np.tril(total) + np.tril(total, -1).T


@compiled
def add_gram(M, weights, first, last, out):
    """The lower triangle of a sparse matrix's weighted Gram matrix, added entry by entry."""
    for i in range(first, last):
        if weights[i] != 0.0:
            for p in range(M.indptr[i], M.indptr[i + 1]):
                value = weights[i] * M.data[p]
                for q in range(M.indptr[i], p + 1):
                    out[M.indices[p], M.indices[q]] += value * M.data[q]


def gram_diagonal(M: Rows, weights: np.ndarray) -> np.ndarray:
    """``sum_i weights_i M_ij^2`` for each column j."""
    if isinstance(M, WithIntercept):
        return np.append(gram_diagonal(M.rows, weights), weights.sum())
    if not isinstance(M, Dense):
        return to_scipy(M._replace(data=M.data**2)).T @ weights

    def of_piece(piece: slice) -> np.ndarray:
        total = np.zeros(M.shape[1])
        for rows in blocks_of(M, piece):  # a square of all of X would be read from memory once more
            total += weights[rows] @ M.values[rows] ** 2
        return total

    return sum(side_by_side(of_piece, pieces(M)))  # type: ignore[return-value]
