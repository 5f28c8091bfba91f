"""The pattern of ``L D L'`` for a sparse symmetric matrix, from an order of elimination with little fill-in.

Consecutive columns of L with nearly the same rows form a *supernode*, which is stored as a dense block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import compiled
from .ordering import minimum_degree

__all__ = ["NONE", "WIDEST", "Symbolic", "analyse", "places"]

NONE = -1
WIDEST = 64  # columns of a supernode
FEW_ZEROS, ZEROS = 16, 0.25  # that a supernode may store, or this fraction of its entries


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
    width = np.diff(first)
    height = width + counts[first[1:] - 1]
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
    """Whether each column begins a supernode.

    It joins the supernode before it if it is the parent of that one's last column and its rows are nearly the same: a
    few zeros that are stored cost less than many small blocks.
    """
    starts = np.ones(len(parent), np.bool_)
    width, entries = 1, 0
    for k in range(len(parent)):
        joined = (width + 1) * (width + 2) // 2 + (width + 1) * counts[k]
        zeros = joined - entries - counts[k] - 1
        if k > 0 and parent[k - 1] == k and width < WIDEST and (zeros <= FEW_ZEROS or zeros <= ZEROS * joined):
            starts[k] = False
            width += 1
            entries += counts[k] + 1
        else:
            width, entries = 1, counts[k] + 1
    return starts


@compiled
def list_rows(indptr, indices, order, position, parent, first, owner, end, rows):
    """The rows of each supernode, from top to bottom: its columns, and the rows of its last column."""
    n = len(order)
    seen = np.full(n, NONE)
    for i in range(n):
        seen[i] = i
        rows[end[owner[i]]] = i
        end[owner[i]] += 1
        for p in range(indptr[order[i]], indptr[order[i] + 1]):
            j = position[indices[p]]
            while j < i and seen[j] != i:
                s = owner[j]
                if first[s + 1] - 1 == j and owner[i] != s:
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
