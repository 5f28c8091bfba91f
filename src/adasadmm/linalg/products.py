"""Products with a matrix of rows, and its Gram matrix, computed in pieces on all cores.

How a matrix is cut into pieces depends on the matrix alone, so the results do not depend on the number of cores.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.linalg.blas
import scipy.sparse as sp
import scipy.sparse.linalg

from .._core.jit import compiled
from .._core.threads import side_by_side
from .gram_factor import GramFactor, gram_pattern
from .matrices import (
    CSR,
    Dense,
    Repeated,
    Rows,
    WithIntercept,
    as_csr,
    dense_block,
    each_block,
    innermost,
    is_streamed,
    size,
    to_scipy,
)
from .rows import add_row, entries, row_dot, row_dots
from .selections import taken

__all__ = [
    "add_lower_gram",
    "column_sums",
    "gram",
    "gram_diagonal",
    "gram_product",
    "largest_entry",
    "least_squares",
    "pieces",
    "pieces_of_rows",
    "product",
    "product_pair",
    "transposed_product",
]

GRAM_BLOCK = 2**19  # entries of the dense block of X in one step of `gram`: 4 MiB
WORTH_THREADS = 2**22  # work above which threads gain more than they cost, in dense entries: some 0.6 ms
SPARSE_WORK, ROW_WORK = 8, 16  # of a sparse entry, and of a row's prox or loss, in dense entries
PIECES = 4
SHARED_ENTRIES = 2  # for each column and piece, above which pieces are worth their sums
WEAK, ROUNDS, SOLVED = 1e-12, 10, 1e-9  # of least squares: ridge, steps of refinement, relative residual
MOST_FILL = 2e7  # entries of its factor
SHORT_ROWS = 5  # rows of a sparse matrix are short if less than 1/5 of its entries are stored


def product(M: Rows, x: np.ndarray, out: np.ndarray) -> None:
    """``out = M x``."""
    if not x.any():  # the first product of a run that starts at 0
        out[:] = 0.0
        return
    if isinstance(M, Repeated):
        out[:] = product_of_matrix(M.rows, x.reshape(-1, M.times)).reshape(-1)
        return
    if is_streamed(M):
        for rows, part in each_block(M, partial(_product, x=x)):
            out[rows] = part
        return
    side_by_side(lambda rows: product_of_rows(M, x, rows.start, rows.stop, out), pieces(M))


def product_pair(M: Rows, pair: tuple[np.ndarray, np.ndarray], out: np.ndarray) -> None:
    """``out_0 = M x`` and ``out_1 = M y`` for a pair of vectors, in one pass over M."""
    if isinstance(M, Repeated):
        for x, of_x in zip(pair, out, strict=True):
            product(M, x, of_x)
        return
    if is_streamed(M):
        for rows, part in each_block(M, partial(_products, pair=pair)):
            out[:, rows] = part
        return
    side_by_side(lambda rows: product_pair_of_rows(M, *pair, rows.start, rows.stop, out), pieces(M, 2))


def transposed_product(M: Rows, x: np.ndarray, out: np.ndarray) -> None:
    """``out = M' x``, summed over the pieces of M in order."""
    if isinstance(M, Repeated):
        out[:] = transposed_product_of_matrix(M.rows, x.reshape(-1, M.times)).reshape(-1)
        return
    if is_streamed(M):
        out[:] = sum(part for _, part in each_block(M, _transposed_product, x))
        return

    def of_piece(rows: slice) -> np.ndarray:
        part = np.zeros_like(out)
        add_rows(M, x, rows.start, rows.stop, part)
        return part

    cut = pieces(M)
    if size(M) < SHARED_ENTRIES * len(cut) * len(out):  # adding up the sums would take longer than they do
        cut = [slice(0, M.shape[0])]
    if len(cut) == 1:
        out[:] = 0.0
        add_rows(M, x, 0, M.shape[0], out)
        return
    out[:] = sum(side_by_side(of_piece, cut))


def gram_product(M: Rows, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``M' diag(weights) M x``, in one pass over M."""
    if isinstance(M, Repeated):
        z = product_of_matrix(M.rows, x.reshape(-1, M.times))
        weighted = np.einsum("iab,ib->ia", weights, z) if weights.ndim == 3 else weights.reshape(z.shape) * z
        return transposed_product_of_matrix(M.rows, weighted).reshape(-1)
    if is_streamed(M):
        return sum(part for _, part in each_block(M, partial(gram_product, x=x), weights))  # type: ignore

    def of_piece(rows: slice) -> np.ndarray:
        part = np.zeros_like(x)
        add_gram_of_rows(M, weights, x, rows.start, rows.stop, part)
        return part

    return sum(side_by_side(of_piece, pieces(M, 2)))  # type: ignore[return-value]


def product_of_matrix(M: Rows, W: np.ndarray) -> np.ndarray:
    """``M W`` for a matrix W of few columns."""
    if isinstance(M, WithIntercept):
        out = product_of_matrix(M.rows, W[:-1])
        out += W[-1]
        return out
    if isinstance(M, CSR):
        return to_scipy(M) @ W
    assert isinstance(M, Dense)
    values, out = M.values, np.empty((M.shape[0], W.shape[1]))
    side_by_side(lambda rows: np.matmul(values[rows], W, out=out[rows]), pieces(M, W.shape[1]))
    return out


def transposed_product_of_matrix(M: Rows, Z: np.ndarray) -> np.ndarray:
    """``M' Z`` for a matrix Z of few columns, summed over the pieces of M in order."""
    if isinstance(M, WithIntercept):
        return np.vstack([transposed_product_of_matrix(M.rows, Z), Z.sum(axis=0)])
    if isinstance(M, CSR):
        return to_scipy(M).T @ Z
    assert isinstance(M, Dense)
    values = M.values
    return sum(side_by_side(lambda rows: values[rows].T @ Z[rows], pieces(M, Z.shape[1])))  # type: ignore


@compiled
def product_of_rows(M: Rows, x: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    for i in range(first, last):
        out[i] = row_dot(M, i, x)


@compiled
def product_pair_of_rows(M: Rows, x: np.ndarray, y: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    for i in range(first, last):
        out[0, i], out[1, i] = row_dots(M, i, x, y)


@compiled
def add_rows(M: Rows, x: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    for i in range(first, last):
        if x[i] != 0.0:
            add_row(M, i, x[i], out)


@compiled
def add_gram_of_rows(M: Rows, weights: np.ndarray, x: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    for i in range(first, last):
        if weights[i] != 0.0:
            add_row(M, i, weights[i] * row_dot(M, i, x), out)


def pieces(M: Rows, times: int = 1) -> list[slice]:
    """The slices of rows that threads work on side by side; their number depends on the matrix, not on the machine.

    ``times`` counts how often the work uses each entry. All outputs of a row are in one slice.
    """
    if isinstance(M, Repeated):
        of_rows = pieces(M.rows, times * M.times)
        return [slice(piece.start * M.times, piece.stop * M.times) for piece in of_rows]
    inner = innermost(M)
    entries = SPARSE_WORK * inner.data.size if isinstance(inner, CSR) else size(inner)
    return pieces_of_rows(M.shape[0], times * entries)


def pieces_of_rows(n: int, other_work: int = 0) -> list[slice]:
    """The same for work that has a cheap part for each row, and perhaps another part."""
    if other_work + ROW_WORK * n <= WORTH_THREADS:
        return [slice(0, n)]
    ends = [n * k // PIECES for k in range(PIECES + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(ends)]


def blocks_of(M: Rows, piece: slice) -> Iterator[slice]:
    """The rows of a piece in blocks that fit the cache when they are dense."""
    rows = max(1, GRAM_BLOCK // max(1, M.shape[1]))
    for start in range(piece.start, piece.stop, rows):
        yield slice(start, min(start + rows, piece.stop))


def gram(M: Rows, weights: np.ndarray) -> np.ndarray:
    """``sum_i weights_i M_i M_i'`` for weights >= 0."""
    total = np.zeros((M.shape[1], M.shape[1]))
    add_lower_gram(M, weights, total)
    mirror(total)
    return total


def add_lower_gram(M: Rows, weights: np.ndarray, out: np.ndarray) -> None:
    """Add ``sum_i weights_i M_i M_i'`` for weights >= 0 to the lower triangle of ``out``.

    Short sparse rows are added entry by entry, other rows in dense blocks by BLAS, without those of weight 0. If M is
    `Repeated`, the weight of a row may be a matrix that couples its outputs: weights of shape (n, k, k).
    """
    d = M.shape[1]
    if is_streamed(M):
        out += sum(part for _, part in each_block(M, _lower_gram, weights))
    elif isinstance(M, Repeated) and weights.ndim == 3:
        for one, other in itertools.combinations_with_replacement(range(M.times), 2):
            of_pair = _mixed_gram(M.rows, weights[:, one, other])
            out[one :: M.times, other :: M.times] += of_pair
            if one != other:
                out[other :: M.times, one :: M.times] += of_pair
    elif isinstance(M, Repeated):
        for output in range(M.times):
            add_lower_gram(M.rows, weights[output :: M.times].copy(), of_output := np.zeros((d // M.times,) * 2))
            out[output :: M.times, output :: M.times] += of_output
    elif isinstance(M, WithIntercept):
        add_lower_gram(M.rows, weights, out[:-1, :-1])
        transposed_product(M.rows, weights, pull := np.empty(d - 1))
        out[-1, :-1] += pull
        out[-1, -1] += weights.sum()
    elif isinstance(M, CSR) and SHORT_ROWS * size(M) < M.shape[0] * d:
        _add_gram_of_short_rows(M, weights, out)
    elif d > 0:  # BLAS refuses an empty matrix: a model with nothing but an intercept
        used = np.flatnonzero(weights)
        M, weights = (M, weights) if len(used) == len(weights) else (taken(M, used), weights[used])
        out += sum(side_by_side(lambda piece: _gram_of_piece(M, weights, piece), pieces(M)))


def _mixed_gram(M: Rows, weights: np.ndarray) -> np.ndarray:
    """``sum_i weights_i M_i M_i'`` for weights of any sign."""

    def of_piece(piece: slice) -> np.ndarray:
        total = np.zeros((M.shape[1], M.shape[1]))
        for rows in blocks_of(M, piece):
            block = dense_block(M, rows)
            total += block.T @ (weights[rows, None] * block)
        return total

    return sum(side_by_side(of_piece, pieces(M, M.shape[1])))  # type: ignore[return-value]


def _add_gram_of_short_rows(M: CSR, weights: np.ndarray, out: np.ndarray) -> None:
    def of_piece(piece: slice) -> np.ndarray:
        total = np.zeros_like(out)
        add_gram(M, weights, piece.start, piece.stop, total)
        return total

    pairs = np.count_nonzero(weights) * (size(M) / M.shape[0]) ** 2
    if SPARSE_WORK * pairs <= WORTH_THREADS:
        add_gram(M, weights, 0, M.shape[0], out)
    else:
        out += sum(side_by_side(of_piece, pieces(M)))


def _gram_of_piece(M: Rows, weights: np.ndarray, piece: slice) -> np.ndarray:
    """The lower triangle of the Gram matrix of some rows; the upper one is 0."""
    total = np.zeros((M.shape[1], M.shape[1]))
    for chosen in blocks_of(M, piece):
        block = dense_block(M, chosen) * np.sqrt(weights[chosen, None])
        scipy.linalg.blas.dsyrk(1.0, block.T, beta=1.0, c=total.T, overwrite_c=True)  # in place
    return total


@compiled
def mirror(matrix: np.ndarray) -> None:
    """Copy the lower triangle of a square matrix to the upper one."""
    for i in range(len(matrix)):
        for j in range(i):
            matrix[j, i] = matrix[i, j]


@compiled
def add_gram(M: CSR, weights: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    """Add the lower triangle of the weighted Gram matrix of some rows, entry by entry."""
    for i in range(first, last):
        if weights[i] != 0.0:
            for p in entries(M, i):
                value = weights[i] * M.data[p]
                for q in range(np.uint64(M.indptr[i]), p + np.uint64(1)):
                    out[M.indices[p], M.indices[q]] += value * M.data[q]


@compiled
def add_squares(M: CSR, weights: np.ndarray, out: np.ndarray) -> None:
    """Add the diagonal of the weighted Gram matrix."""
    for i in range(len(weights)):
        for p in entries(M, i):
            out[M.indices[p]] += weights[i] * M.data[p] * M.data[p]


def gram_diagonal(M: Rows, weights: np.ndarray) -> np.ndarray:
    """``sum_i weights_i M_ij^2`` for each column j."""
    return column_sums(M, weights, 2)


def column_sums(M: Rows, weights: np.ndarray, power: int) -> np.ndarray:
    """``sum_i weights_i |M_ij|^power`` for each column j; the power is 1 or 2."""
    if is_streamed(M):
        return sum(part for _, part in each_block(M, partial(column_sums, power=power), weights))  # type: ignore
    if isinstance(M, Repeated):
        of_entries = np.einsum("iaa->ia", weights) if weights.ndim == 3 else weights.reshape(-1, M.times)
        of_outputs = [column_sums(M.rows, np.ascontiguousarray(column), power) for column in of_entries.T]
        return np.stack(of_outputs, axis=1).reshape(-1)
    if isinstance(M, WithIntercept):
        return np.append(column_sums(M.rows, weights, power), weights.sum())
    total = np.zeros(M.shape[1])
    if isinstance(M, CSR):
        if power == 2:
            add_squares(M, weights, total)
        else:
            transposed_product(M._replace(data=np.abs(M.data)), weights, total)
        return total
    assert isinstance(M, Dense)

    def of_piece(piece: slice) -> np.ndarray:
        part = np.zeros_like(total)
        for rows in blocks_of(M, piece):  # a power of all of X at once would need a second pass over memory
            entries = M.values[rows]
            part += weights[rows] @ (entries**2 if power == 2 else np.abs(entries))
        return part

    return sum(side_by_side(of_piece, pieces(M)))  # type: ignore[return-value]


def least_squares(matrix: sp.csr_array, rhs: np.ndarray) -> np.ndarray:
    """The x of least norm that minimises ``|matrix x - rhs|``."""
    found = _least_norm(matrix, rhs)
    return scipy.sparse.linalg.lsqr(matrix, rhs, atol=0.0, btol=0.0, conlim=0.0)[0] if found is None else found


def _least_norm(matrix: sp.csr_array, rhs: np.ndarray) -> np.ndarray | None:
    """The x of least norm with ``matrix x = rhs``, from a sparse factor of ``matrix matrix'``; None if that fails."""
    columns, x = as_csr(sp.csr_array(matrix.T), "matrix"), np.zeros(matrix.shape[1])
    pattern = gram_pattern([columns], MOST_FILL)
    if pattern is None:
        return None
    factor, weights = GramFactor([columns], pattern), np.ones(len(x))
    factor.factor([weights], WEAK * gram_diagonal(columns, weights))
    missing, best = rhs, largest_entry(rhs)
    for _ in range(ROUNDS):
        nearer = x + matrix.T @ factor.solve(missing)
        missing = rhs - matrix @ nearer
        if not largest_entry(missing) < best:
            break
        x, best = nearer, largest_entry(missing)
    return x if best <= SOLVED * largest_entry(rhs) else None


def largest_entry(x: np.ndarray) -> float:
    """``max_j |x_j|``, and 0 for an empty x."""
    return float(max(x.max(), -x.min())) if x.size else 0.0


# --- functions of one block ------------------------------------------------------------------------------------------


def _product(block: Rows, x: np.ndarray) -> np.ndarray:
    product(block, x, out := np.empty(block.shape[0]))
    return out


def _products(block: Rows, pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    product_pair(block, pair, out := np.empty((2, block.shape[0])))
    return out


def _transposed_product(block: Rows, x: np.ndarray) -> np.ndarray:
    transposed_product(block, x, out := np.empty(block.shape[1]))
    return out


def _lower_gram(block: Rows, weights: np.ndarray) -> np.ndarray:
    add_lower_gram(block, weights, out := np.zeros((block.shape[1], block.shape[1])))
    return out
