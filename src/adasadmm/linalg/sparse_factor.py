"""``L D L'`` of a sparse symmetric positive definite matrix: one pattern, many values.

Consecutive columns of L with the same rows form a *supernode*, stored as a dense block, so that the inner loops run
over contiguous memory. `analyse` finds order and pattern; a `SparseFactor` then factors any values on that pattern.

A symmetric matrix whose off-diagonal entries are <= 0 and whose row sums are >= 0 (a graph Laplacian plus a diagonal)
is factored from its off-diagonal entries and its row sums. Then nothing is ever subtracted, and the factor is accurate
in each entry, even if the weights of the edges span 20 decades (Alfa, Xue and Ye, 2002).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import compiled
from .._core.threads import side_by_side
from .ordering import minimum_degree

__all__ = ["SparseFactor", "Symbolic", "analyse"]

NONE = -1
WIDEST = 64  # columns of a supernode
PANEL = 16  # right-hand sides that are solved together
LEAST_PIVOT = 1e-14  # of the diagonal entry; a smaller pivot is rounding error


class Symbolic(NamedTuple):
    """The pattern of L in the order of elimination.

    Supernode s has the columns ``first[s]:first[s + 1]`` and the rows ``rows[begin[s]:begin[s + 1]``, its own columns
    first; its block is ``block[s]:block[s + 1]`` of the values, row by row.
    """

    order: np.ndarray
    position: np.ndarray
    first: np.ndarray
    owner: np.ndarray
    begin: np.ndarray
    rows: np.ndarray
    block: np.ndarray
    flops: float

    @property
    def nnz(self) -> int:
        return int(self.block[-1])


# --- the pattern -----------------------------------------------------------------------------------------------------


def analyse(indptr: np.ndarray, indices: np.ndarray, most: float = np.inf) -> Symbolic | None:
    """Order and pattern for the graph of a symmetric matrix in CSR form without diagonal.

    None if L would have more than ``most`` entries.
    """
    order = minimum_degree(indptr, indices)
    parent, counts = np.empty((2, len(order)), np.int64)
    for again in (True, False):
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        if count_columns(indptr, indices, order, position, parent, counts, most) > most:
            return None
        if again:  # neighbours in the elimination tree become neighbours in memory
            order = order[postorder(parent)]
    starts = np.flatnonzero(supernode_starts(parent, counts))
    first = np.append(starts, len(order))
    width, height = np.diff(first), counts[starts] + 1
    owner = np.repeat(np.arange(len(starts)), width)
    begin, block = (np.concatenate([[0], np.cumsum(lengths)]) for lengths in (height, height * width))
    rows = np.empty(begin[-1], np.int64)
    list_rows(indptr, indices, order, position, parent, first, owner, begin[:-1].copy(), rows)
    flops = float(np.sum((counts + 1.0) ** 2))
    return Symbolic(order, position, first, owner, begin, rows, block, flops)


@compiled
def count_columns(indptr, indices, order, position, parent, counts, most):
    """The elimination tree, and the entries of each column of L below its diagonal; ends early beyond ``most``."""
    n = len(order)
    seen = np.full(n, NONE)
    total = 0.0
    counts[:] = 0
    for i in range(n):
        parent[i] = NONE
        seen[i] = i
        for p in range(indptr[order[i]], indptr[order[i] + 1]):
            j = position[indices[p]]
            while j < i and seen[j] != i:
                if parent[j] == NONE:
                    parent[j] = i
                counts[j] += 1
                total += 1.0
                seen[j] = i
                j = parent[j]
        if total > most:
            break
    return total


@compiled
def postorder(parent):
    """An order in which each subtree is contiguous."""
    n = len(parent)
    child, sibling = np.full(n, NONE), np.full(n, NONE)
    order, stack = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        if parent[i] != NONE:
            sibling[i] = child[parent[i]]
            child[parent[i]] = i
    number = 0
    for root in range(n):
        if parent[root] != NONE:
            continue
        top = 0
        stack[0] = root
        while top >= 0:
            i = stack[top]
            if child[i] != NONE:
                top += 1
                stack[top] = child[i]
                child[i] = sibling[child[i]]
            else:
                top -= 1
                order[number] = i
                number += 1
    return order


@compiled
def supernode_starts(parent, counts):
    """Whether each column begins a supernode: it does unless its rows are those of the column before."""
    starts = np.ones(len(parent), np.bool_)
    width = 1
    for k in range(1, len(parent)):
        if parent[k - 1] == k and counts[k - 1] == counts[k] + 1 and width < WIDEST:
            starts[k] = False
            width += 1
        else:
            width = 1
    return starts


@compiled
def list_rows(indptr, indices, order, position, parent, first, owner, end, rows):
    """The rows of each supernode, from top to bottom: those of its first column."""
    n = len(order)
    seen = np.full(n, NONE)
    for i in range(n):
        seen[i] = i
        if first[owner[i]] == i:
            rows[end[owner[i]]] = i
            end[owner[i]] += 1
        for p in range(indptr[order[i]], indptr[order[i] + 1]):
            j = position[indices[p]]
            while j < i and seen[j] != i:
                s = owner[j]
                if first[s] == j:
                    rows[end[s]] = i
                    end[s] += 1
                seen[j] = i
                j = parent[j]


@compiled
def places(symbolic, row, column, out):
    """Where the entries (row, column) of the matrix are in the values of L; the order of the two does not matter."""
    for k in range(len(row)):
        i, j = symbolic.position[row[k]], symbolic.position[column[k]]
        i, j = max(i, j), min(i, j)
        s = symbolic.owner[j]
        low, high = symbolic.begin[s], symbolic.begin[s + 1]
        base = low
        while high - low > 1:
            middle = (low + high) // 2
            if symbolic.rows[middle] <= i:
                low = middle
            else:
                high = middle
        width = symbolic.first[s + 1] - symbolic.first[s]
        out[k] = symbolic.block[s] + (low - base) * width + j - symbolic.first[s]


# --- the factor ------------------------------------------------------------------------------------------------------


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
        """``rows P' L^{-T} D^{-1/2}`` for the rows of a dense array: their inner products are ``rows M^{-1} rows'``."""
        out = np.empty_like(rows)

        def of_panel(begin: int) -> None:
            panel(self.symbolic, self.values, self.D, rows, begin, out)

        side_by_side(of_panel, range(0, len(rows), PANEL))
        return out


@compiled
def factorise(symbolic, values, D, sums):
    """Left-looking: each supernode takes the updates of those before it that have rows among its columns."""
    first, begin, rows, block = symbolic.first, symbolic.begin, symbolic.rows, symbolic.block
    count = len(first) - 1
    head, after, reached = np.full(count, NONE), np.full(count, NONE), np.empty(count, np.int64)
    local, scaled = np.empty(len(D), np.int64), np.empty(WIDEST)
    for s in range(count):
        width, height = first[s + 1] - first[s], begin[s + 1] - begin[s]
        for p in range(height):
            local[rows[begin[s] + p]] = p
        own = values[block[s] : block[s + 1]].reshape(height, width)
        t = head[s]
        while t != NONE:
            following = after[t]
            inner = first[t + 1] - first[t]
            L = values[block[t] : block[t + 1]].reshape(begin[t + 1] - begin[t], inner)
            rows_t = rows[begin[t] : begin[t + 1]]
            reached[t] = update(
                own, first[s], first[s + 1], local, L, D[first[t] : first[t + 1]], rows_t, reached[t], scaled
            )
            link(t, rows_t, reached[t], symbolic.owner, head, after)
            t = following
        if len(sums):
            factor_by_sums(own, D[first[s] : first[s + 1]], sums, rows[begin[s] : begin[s + 1]])
        else:
            factor_block(own, D[first[s] : first[s + 1]])
        reached[s] = width
        link(s, rows[begin[s] : begin[s + 1]], width, symbolic.owner, head, after)


@compiled
def link(t, rows, reached, owner, head, after):
    """Put supernode t into the list of the supernode that holds its next row."""
    if reached < len(rows):
        s = owner[rows[reached]]
        after[t] = head[s]
        head[s] = t


@compiled
def update(own, low, high, local, L, D, rows, start, scaled):
    """Subtract ``L D L'`` of an earlier supernode from the columns low to high; returns its first row beyond them."""
    height, width = L.shape
    q = start
    while q < height and rows[q] < high:
        column = rows[q] - low
        for c in range(width):
            scaled[c] = L[q, c] * D[c]
        for p in range(q, height):
            total = 0.0
            for c in range(width):
                total += L[p, c] * scaled[c]
            own[local[rows[p]], column] -= total
        q += 1
    return q


@compiled
def factor_block(own, D):
    """``L D L'`` of the columns of one supernode, in place; the matrix has a unit diagonal."""
    height, width = own.shape
    for k in range(width):
        D[k] = max(own[k, k], LEAST_PIVOT)
        own[k, k] = 1.0
        for p in range(k + 1, height):
            own[p, k] /= D[k]
        for q in range(k + 1, width):
            scale = own[q, k] * D[k]
            for p in range(q, height):
                own[p, q] -= own[p, k] * scale


@compiled
def factor_by_sums(own, D, sums, rows):
    """As `factor_block`, with the diagonal from the row sums: ``D_k = sum_k + sum_i |M_ik|``, without cancellation."""
    height, width = own.shape
    for k in range(width):
        total = sums[rows[k]]
        for p in range(k + 1, height):
            total -= own[p, k]
        D[k] = total
        own[k, k] = 1.0
        for p in range(k + 1, height):
            own[p, k] /= total
            sums[rows[p]] -= own[p, k] * sums[rows[k]]
        for q in range(k + 1, width):
            scale = own[q, k] * total
            for p in range(q + 1, height):
                own[p, q] -= own[p, k] * scale


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
def panel(symbolic, values, D, rows, start, out):
    """``D^{-1/2} L^{-1}`` for some rows of ``rows`` at once, one in each lane of the innermost loop."""
    first, begin, block = symbolic.first, symbolic.begin, symbolic.block
    n, lanes = len(D), min(PANEL, len(rows) - start)
    x = np.zeros((n, PANEL))
    for r in range(lanes):
        for k in range(n):
            x[k, r] = rows[start + r, symbolic.order[k]]
    for s in range(len(first) - 1):
        width, at = first[s + 1] - first[s], block[s]
        for p in range(begin[s], begin[s + 1]):
            target = x[symbolic.rows[p]]
            for c in range(min(p - begin[s], width)):
                source, scale = x[first[s] + c], values[at + c]
                for r in range(PANEL):
                    target[r] -= scale * source[r]
            at += width
    for k in range(n):
        scale = 1.0 / np.sqrt(D[k])
        for r in range(lanes):
            out[start + r, k] = scale * x[k, r]
