"""Products with a matrix of rows, and its Gram matrix, computed in pieces on all cores.

How a matrix is cut into pieces depends on the matrix alone, so the results do not depend on the number of cores.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.linalg.blas
from scipy.sparse._sparsetools import csc_matvec, csr_matvec  # what `@` calls, without its 30 us for small matrices

from .._core.jit import compiled
from .._core.threads import side_by_side
from .kernels import entries
from .matrices import (
    CSR,
    Dense,
    Repeated,
    Rows,
    WithIntercept,
    dense_block,
    each_block,
    innermost,
    is_streamed,
    size,
    to_scipy,
)
from .selections import taken

__all__ = [
    "add_lower_gram",
    "column_sums",
    "gram",
    "gram_diagonal",
    "gram_product",
    "largest_entry",
    "pieces",
    "pieces_of_rows",
    "product",
    "product_pair",
    "transposed_product",
]

GRAM_BLOCK = 2**19  # entries of the dense block of X in one step of `gram`: 4 MiB
WORTH_THREADS = 2**22  # work above which threads gain more than they cost, in dense entries: some 0.6 ms
SPARSE_WORK, ROW_WORK = 8, 16  # of a sparse entry, and of a row's prox or loss, in dense entries
IN_CACHE = 2**20  # entries of a dense matrix, above which NumPy's own loop reads memory faster than BLAS
SMALL = 2**16  # entries of a sparse matrix up to which its Gram matrix is that of a dense one
PIECES = 4
SHARED_ENTRIES = 2  # for each column and piece, above which pieces are worth their sums
FEW = 2  # rows of a small matrix, fewer than 1/2 of them, that are worth choosing
FEW_USED = 4  # rows of a large sparse matrix, fewer than 1/4 of them, that are worth choosing
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

    cut = pieces(M)
    if len(cut) == 1:
        out[:] = product_of_piece(M, cut[0], x)
        return

    def of_piece(rows: slice) -> None:
        out[rows] = product_of_piece(M, rows, x)

    side_by_side(of_piece, cut)


def product_pair(M: Rows, pair: tuple[np.ndarray, np.ndarray], out: np.ndarray) -> None:
    """``out_0 = M x`` and ``out_1 = M y`` for a pair of vectors, in one pass over rows that are not in memory."""
    if is_streamed(M):
        for rows, part in each_block(M, partial(_products, pair=pair)):
            out[:, rows] = part
        return
    for x, of_x in zip(pair, out, strict=True):
        product(M, x, of_x)


def transposed_product(M: Rows, x: np.ndarray, out: np.ndarray) -> None:
    """``out = M' x``, summed over the pieces of M in order."""
    if isinstance(M, Repeated):
        out[:] = transposed_product_of_matrix(M.rows, x.reshape(-1, M.times)).reshape(-1)
        return
    if is_streamed(M):
        out[:] = sum(part for _, part in each_block(M, _transposed_product, x))
        return

    if isinstance(innermost(M), CSR) and size(M) > SMALL and FEW_USED * np.count_nonzero(x) < len(x):
        used = np.flatnonzero(x)
        M, x = taken(M, used), x[used]
    cut = pieces(M)
    # For few entries, adding up the sums of pieces would take longer than they do.
    if len(cut) == 1 or size(M) < SHARED_ENTRIES * len(cut) * len(out):
        out[:] = transposed_product_of_piece(M, slice(0, len(x)), x)
    else:
        out[:] = sum(side_by_side(lambda rows: transposed_product_of_piece(M, rows, x[rows]), cut))


def gram_product(M: Rows, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``M' diag(weights) M x``, in one pass over M."""
    if isinstance(M, Repeated):
        z = product_of_matrix(M.rows, x.reshape(-1, M.times))
        weighted = np.einsum("iab,ib->ia", weights, z) if weights.ndim == 3 else weights.reshape(z.shape) * z
        return transposed_product_of_matrix(M.rows, weighted).reshape(-1)
    if is_streamed(M):
        return sum(part for _, part in each_block(M, partial(gram_product, x=x), weights))  # type: ignore

    def of_piece(piece: slice) -> np.ndarray:
        part = np.zeros_like(x)
        for rows in [piece] if isinstance(innermost(M), CSR) else blocks_of(M, piece):  # sparse rows stay sparse
            part += transposed_product_of_piece(M, rows, weights[rows] * product_of_piece(M, rows, x))
        return part

    return sum(side_by_side(of_piece, pieces(M, 2)))  # type: ignore[return-value]


def product_of_piece(M: Rows, rows: slice, x: np.ndarray) -> np.ndarray:
    """``M x`` for some rows."""
    if isinstance(M, WithIntercept):
        out = product_of_piece(M.rows, rows, x[:-1])
        out += x[-1]
        return out
    if isinstance(M, Dense):
        values = M.values[rows]
        return np.einsum("ij,j->i", values, x) if values.size > IN_CACHE else values @ x
    assert isinstance(M, CSR)
    out = np.zeros(rows.stop - rows.start)
    csr_matvec(len(out), M.columns, *_compressed(M, rows), x, out)
    return out


def transposed_product_of_piece(M: Rows, rows: slice, x: np.ndarray) -> np.ndarray:
    """``M' x`` for some rows and their entries of x."""
    if isinstance(M, WithIntercept):
        out = np.empty(M.shape[1])
        out[:-1], out[-1] = transposed_product_of_piece(M.rows, rows, x), np.add.reduce(x)
        return out
    if isinstance(M, Dense):
        values = M.values[rows]
        return np.einsum("i,ij->j", x, values) if values.size > IN_CACHE else x @ values
    assert isinstance(M, CSR)
    out = np.zeros(M.columns)
    csc_matvec(M.columns, len(x), *_compressed(M, rows), x, out)
    return out


def _compressed(M: CSR, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some rows as SciPy's routines take them: where each begins, the columns, and the values."""
    return M.indptr[rows.start : rows.stop + 1], M.indices.view(M.indptr.dtype), M.data


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


def pieces(M: Rows, times: int = 1) -> list[slice]:
    """The slices of rows that threads work on side by side; their number depends on the matrix, not on the machine.

    ``times`` counts how often the work uses each entry. All outputs of a row are in one slice.
    """
    if isinstance(M, Repeated):
        of_rows = pieces(M.rows, times * M.times)
        return [slice(piece.start * M.times, piece.stop * M.times) for piece in of_rows]
    inner = innermost(M)
    n, d = inner.shape
    return pieces_of_rows(n, times * (SPARSE_WORK * inner.data.size if isinstance(inner, CSR) else n * d))


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
    return np.tril(total) + np.tril(total, -1).T


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
    elif isinstance(M, CSR) and M.shape[0] * d > SMALL and SHORT_ROWS * size(M) < M.shape[0] * d:
        _add_gram_of_short_rows(M, weights, out)
    elif d > 0:  # BLAS refuses an empty matrix: a model with nothing but an intercept
        used = np.flatnonzero(weights)
        if len(used) < len(weights) and (M.shape[0] * d > SMALL or FEW * len(used) < len(weights)):
            M, weights = taken(M, used), weights[used]
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
        rows = piece.start + np.flatnonzero(weights[piece])
        add_gram(M, rows, weights[rows], total := np.zeros_like(out))
        return total

    rows = np.flatnonzero(weights)
    if not len(M.data):
        return
    pairs = len(rows) * (size(M) / M.shape[0]) ** 2
    if SPARSE_WORK * pairs <= WORTH_THREADS:
        add_gram(M, rows, weights[rows], out)
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
def add_gram(M: CSR, rows: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Add the lower triangle of the Gram matrix of some rows, with a weight for each of them, entry by entry."""
    for k in range(len(rows)):
        for p in entries(M, rows[k]):
            value = weights[k] * M.data[p]
            for q in range(np.uint64(M.indptr[rows[k]]), p + np.uint64(1)):
                out[M.indices[p], M.indices[q]] += value * M.data[q]


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
        data = M.data * M.data if power == 2 else np.abs(M.data)
        transposed_product(M._replace(data=data), weights, total)
        return total
    assert isinstance(M, Dense)

    def of_piece(piece: slice) -> np.ndarray:
        part = np.zeros_like(total)
        for rows in blocks_of(M, piece):  # a power of all of X at once would need a second pass over memory
            entries = M.values[rows]
            part += weights[rows] @ (entries**2 if power == 2 else np.abs(entries))
        return part

    return sum(side_by_side(of_piece, pieces(M)))  # type: ignore[return-value]


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
