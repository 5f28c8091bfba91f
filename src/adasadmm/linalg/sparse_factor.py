"""``L D L'`` of a sparse symmetric positive definite matrix: one pattern, many values.

The pattern and its supernodes come from `symbolic.analyse`. Each supernode is a dense block, so that inner loops run
over contiguous memory, and large blocks are left to BLAS.

A symmetric matrix whose off-diagonal entries are <= 0 and whose row sums are >= 0 (a graph Laplacian plus a diagonal)
is factored from its off-diagonal entries and its row sums. Then nothing is ever subtracted, and the factor is accurate
in each entry, even if the weights of the edges span 20 decades (Alfa, Xue and Ye, 2002).
"""

from __future__ import annotations

import numpy as np

from .._core.jit import compiled, inlined
from .._core.threads import side_by_side
from .dense import AS_IT_IS, ONE, TRANSPOSED, ZERO, dgemm, dot
from .symbolic import NONE, WIDEST, Symbolic, places

__all__ = ["SparseFactor"]

PANEL = 16  # right-hand sides that are solved together
WORTH_BLAS = 4000  # multiplications from which a call of BLAS is faster than a loop
SMALLEST = 1e-300
LEAST_PIVOT = 1e-14  # of the diagonal entry; a smaller pivot is rounding error


class SparseFactor:
    """L and D. ``values`` holds the lower triangle of the matrix at `places`, until `factor` replaces it by L."""

    def __init__(self, symbolic: Symbolic) -> None:
        self.symbolic = symbolic
        self.values = np.zeros(symbolic.nnz)
        self.D = np.ones(len(symbolic.order))

    def places(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        out = np.empty(len(row), np.int64)
        places(self.symbolic, row.astype(np.int64), column.astype(np.int64), out)
        return out

    def factor(self, row_sums: np.ndarray | None = None) -> None:
        """Factor ``values``; with ``row_sums`` >= 0, from the off-diagonal entries and these, without subtractions."""
        sums = np.empty(0) if row_sums is None else row_sums[self.symbolic.order]
        factorise(self.symbolic, self.values, self.D, sums)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        x = rhs[self.symbolic.order]
        substitute(self.symbolic, self.values, self.D, x)
        out = np.empty_like(x)
        out[self.symbolic.order] = x
        return out

    def half_solve(self, rows: np.ndarray) -> np.ndarray:
        """``D^{-1/2} L^{-1} P rows'`` for dense rows; the inner products of its columns are ``rows M^{-1} rows'``."""
        out = np.empty(rows.shape[::-1])

        def of_panel(begin: int) -> None:
            solve_panel(self.symbolic, self.values, self.D, rows, begin, out)

        side_by_side(of_panel, range(0, len(rows), PANEL))
        return out


@compiled
def factorise(symbolic, values, D, sums):
    """Left-looking: each supernode takes the updates of those before it that have rows among its columns."""
    first, begin, rows = symbolic.first, symbolic.begin, symbolic.rows
    count = len(first) - 1
    head, after, reached = np.full(count, NONE), np.full(count, NONE), np.empty(count, np.int64)
    local, scaled, product = np.empty(len(D), np.int64), np.empty(WIDEST * WIDEST), np.empty(0)
    for s in range(count):
        width, height = first[s + 1] - first[s], begin[s + 1] - begin[s]
        for p in range(height):
            local[rows[begin[s] + p]] = p * width - first[s]
        t = head[s]
        while t != NONE:
            following = after[t]
            q, low, high = reached[t], begin[t], begin[t + 1]
            while low + q < high and rows[low + q] < first[s + 1]:
                q += 1
            work = (q - reached[t]) * (high - low - reached[t])
            if work * (first[t + 1] - first[t]) >= WORTH_BLAS:
                if len(product) < work:
                    product = np.empty(2 * work)
                update_by_blas(symbolic, values, D, s, t, reached[t], q, local, scaled, product)
            else:
                update(symbolic, values, D, s, t, reached[t], q, local, scaled)
            reached[t] = q
            link(symbolic, t, q, head, after)
            t = following
        if len(sums):
            factor_by_sums(symbolic, values, D, s, scaled, sums)
        else:
            factor_block(symbolic, values, D, s, scaled)
        reached[s] = width
        link(symbolic, s, width, head, after)


@inlined
def link(symbolic, t, reached, head, after):
    """Put supernode t into the list of the supernode that holds its next row."""
    at = symbolic.begin[t] + reached
    if at < symbolic.begin[t + 1]:
        s = symbolic.owner[symbolic.rows[at]]
        after[t] = head[s]
        head[s] = t


@inlined
def scale_rows(symbolic, values, D, t, start, stop, scaled):
    """``L D`` for rows start to stop of supernode t, in ``scaled``."""
    column, width = symbolic.first[t], symbolic.first[t + 1] - symbolic.first[t]
    at = symbolic.block[t] + start * width
    for k in range(stop - start):
        for c in range(width):
            scaled[k * width + c] = values[at + k * width + c] * D[column + c]


@inlined
def update(symbolic, values, D, s, t, start, stop, local, scaled):
    """Subtract ``L D L'`` of supernode t from the columns of s that are rows start to stop of t."""
    width, rows, block = symbolic.first[t + 1] - symbolic.first[t], symbolic.rows, symbolic.block
    low, high = symbolic.begin[t], symbolic.begin[t + 1]
    scale_rows(symbolic, values, D, t, start, stop, scaled)
    for p in range(start, high - low):
        to, at = block[s] + local[rows[low + p]], block[t] + p * width
        for q in range(start, min(p + 1, stop)):
            total = 0.0
            for c in range(width):
                total += values[at + c] * scaled[(q - start) * width + c]
            values[to + rows[low + q]] -= total


@compiled
def update_by_blas(symbolic, values, D, s, t, start, stop, local, scaled, product):
    """As `update`, for large blocks."""
    width, rows, block = symbolic.first[t + 1] - symbolic.first[t], symbolic.rows, symbolic.block
    low, high = symbolic.begin[t], symbolic.begin[t + 1]
    scale_rows(symbolic, values, D, t, start, stop, scaled)
    columns, height = stop - start, high - low - start
    n = np.array([columns, height, width], np.int32)
    at, first, one, zero = (
        n.ctypes.data,
        values[block[t] + start * width :].ctypes.data,
        ONE.ctypes.data,
        ZERO.ctypes.data,
    )
    T, N, out = TRANSPOSED.ctypes.data, AS_IT_IS.ctypes.data, product.ctypes.data
    dgemm(T, N, at, at + 4, at + 8, one, scaled.ctypes.data, at + 8, first, at + 8, zero, out, at)
    for p in range(n[1]):
        to = block[s] + local[rows[low + start + p]]
        for q in range(min(p + 1, columns)):
            values[to + rows[low + start + q]] -= product[p * columns + q]


@inlined
def factor_block(symbolic, values, D, s, scaled):
    """``L D L'`` of the columns of one supernode, in place; the matrix has a unit diagonal."""
    column, at = symbolic.first[s], symbolic.block[s]
    width, height = symbolic.first[s + 1] - column, symbolic.begin[s + 1] - symbolic.begin[s]
    for k in range(width):
        D[column + k] = max(values[at + k * width + k], LEAST_PIVOT)
        eliminate(values, at, k, width, height, D[column + k], scaled)


@inlined
def factor_by_sums(symbolic, values, D, s, scaled, sums):
    """As `factor_block`, with the diagonal from the row sums: ``D_k = sum_k + sum_i |M_ik|``, without cancellation."""
    column, at, low = symbolic.first[s], symbolic.block[s], symbolic.begin[s]
    width, height = symbolic.first[s + 1] - column, symbolic.begin[s + 1] - low
    for k in range(width):
        pivot = sums[column + k]
        for p in range(k + 1, height):
            pivot -= values[at + p * width + k]
        D[column + k] = max(pivot, SMALLEST)
        eliminate(values, at, k, width, height, D[column + k], scaled)
        for p in range(k + 1, height):
            sums[symbolic.rows[low + p]] -= values[at + p * width + k] * sums[column + k]


@inlined
def eliminate(values, at, k, width, height, pivot, scaled):
    """Divide column k of a block by its pivot, and subtract it from the columns after it."""
    values[at + k * width + k] = 1.0
    for q in range(k + 1, width):
        scaled[q] = values[at + q * width + k]
    for p in range(k + 1, height):
        base = at + p * width
        factor = values[base + k] / pivot
        values[base + k] = factor
        for q in range(k + 1, min(p + 1, width)):
            values[base + q] -= factor * scaled[q]


# --- substitution ----------------------------------------------------------------------------------------------------


@compiled
def substitute(symbolic, values, D, x):
    """``x = (L D L')^{-1} x`` in the order of elimination."""
    first, begin, block = symbolic.first, symbolic.begin, symbolic.block
    count = len(first) - 1
    for s in range(count):
        width, at = first[s + 1] - first[s], block[s]
        for p in range(begin[s], begin[s + 1]):
            total = 0.0
            for c in range(min(p - begin[s], width)):
                total += values[at + c] * x[first[s] + c]
            x[symbolic.rows[p]] -= total
            at += width
    for s in range(count - 1, -1, -1):
        width, at = first[s + 1] - first[s], block[s + 1]
        for c in range(width):
            x[first[s] + c] /= D[first[s] + c]
        for p in range(begin[s + 1] - 1, begin[s] - 1, -1):
            at -= width
            above = x[symbolic.rows[p]]
            for c in range(min(p - begin[s], width)):
                x[first[s] + c] -= values[at + c] * above


@compiled
def solve_panel(symbolic, values, D, rows, start, out):
    """``D^{-1/2} L^{-1}`` for some rows of ``rows`` at once, one in each column of x."""
    first, begin, block = symbolic.first, symbolic.begin, symbolic.block
    n, lanes = len(D), min(PANEL, len(rows) - start)
    x, product = np.zeros((n, PANEL)), np.empty((0, PANEL))
    for r in range(lanes):
        for k in range(n):
            x[k, r] = rows[start + r, symbolic.order[k]]
    for s in range(len(first) - 1):
        width, height = first[s + 1] - first[s], begin[s + 1] - begin[s]
        at, column = block[s], first[s]
        for k in range(1, width):
            for c in range(k):
                for r in range(PANEL):
                    x[column + k, r] -= values[at + k * width + c] * x[column + c, r]
        if width == 1:
            for p in range(1, height):
                scale, i = values[at + p], symbolic.rows[begin[s] + p]
                for r in range(PANEL):
                    x[i, r] -= scale * x[column, r]
        elif height > width:
            if len(product) < height - width:
                product = np.empty((2 * (height - width), PANEL))
            below = values[at + width * width : block[s + 1]].reshape(height - width, width)
            dot(below, height - width, x[column : column + width], product)
            for p in range(height - width):
                i = symbolic.rows[begin[s] + width + p]
                for r in range(PANEL):
                    x[i, r] -= product[p, r]
    for k in range(n):
        scale = 1.0 / np.sqrt(D[k])
        for r in range(lanes):
            out[k, start + r] = scale * x[k, r]
