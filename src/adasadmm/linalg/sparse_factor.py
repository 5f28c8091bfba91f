"""The sparse factor ``L D L'`` of ``sum_k G_k' diag(weights_k) G_k - U'U + diag(ridge)``: one pattern, many weights.

The sparse G_k are fixed, and their weights change. U has a fixed pattern, and its entries change. The order of
elimination is the minimum degree of SuperLU, which an incomplete factor without any fill-in reveals.

If each row of the G_k is a difference of two coordinates or has one entry, and there is no U, the sum is a graph
Laplacian plus a diagonal. It is factored from its off-diagonal entries and its row sums. Then nothing is ever
subtracted, and the factor is accurate in each entry, even if the weights of the edges span 20 decades (Alfa, Xue and
Ye, 2002). General LDL' factorisations, QDLDL among them, lose all digits of small pivots there, so that refinement does
not converge. Other sums are scaled to a unit diagonal first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

from .._core.jit import compiled, inlined
from .._core.threads import side_by_side
from ..rows.kernels import entries
from ..rows.matrices import CSR, to_scipy

__all__ = ["GramFactor", "Pattern", "elimination_order", "gram_pattern", "is_graph", "pairs_of", "pattern_of"]

NONE = -1
PANEL = 32  # right-hand sides that are solved together
LEAST_HUB, HUB = 16, 10.0  # variables with more than max(16, 10 n^{1/2}) neighbours come last
BLAS, WORTH_BLAS = 6.0, 1e5  # the speed of BLAS in units of the loops here, and the overhead of a column, in flops
MOST_ZEROS, BLOCK = 3.0, 64  # entries of a dense matrix, relative to those of L; columns that are left to BLAS together
ROUGHLY = 10.0  # entries of L in a column order, at most, relative to those in the minimum-degree order
DROP_ALL = 1e100  # entries of an incomplete factor below this are dropped
NO_ROWS, NO_SUMS = np.empty(0, np.uint32), np.empty(0)
SMALLEST = 1e-300
LEAST_PIVOT = 1e-14  # of the diagonal entry; a smaller pivot is rounding error


class Pattern(NamedTuple):
    """The pattern of L in the order of elimination: column k has the rows ``indices[indptr[k]:indptr[k + 1]]``.

    Rows are unsigned and in ascending order, and ``position[order[k]]`` is k.
    """

    order: np.ndarray
    position: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray

    @property
    def nnz(self) -> int:
        """The entries of L and D."""
        return len(self.indices) + len(self.order)

    @property
    def flops(self) -> float:
        """The additions and multiplications of one factorisation."""
        return float(np.sum((np.diff(self.indptr) + 1.0) ** 2))

    def dense(self) -> int:
        """The first of the last columns that are worth being factored as a dense matrix; the number of all if none."""
        d, heights = len(self.order), np.diff(self.indptr) + 1.0
        width = np.arange(d, 0, -1.0)
        gain = np.cumsum(heights[::-1] ** 2)[::-1] - width**3 / (3.0 * BLAS) - WORTH_BLAS * width
        gain[width**2 > MOST_ZEROS * self.nnz] = 0.0
        first = int(np.argmax(gain)) if d else 0
        return first if d and gain[first] > 0.0 else d

    def columns(self) -> np.ndarray:
        """The column of each entry."""
        return np.repeat(np.arange(len(self.order)), np.diff(self.indptr))

    def places(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Where L holds the entries (i, j) of a matrix, in either triangle and off the diagonal."""
        d, ends = len(self.order), np.sort(self.position[np.stack([i, j])], axis=0)
        return np.searchsorted(self.columns() * d + self.indices, ends[0] * d + ends[1])


def pattern_of(graph: sp.csr_array, most: float = np.inf) -> Pattern | None:
    """Order and pattern of the factor of a symmetric matrix; None if it would have more than ``most`` entries.

    Minimum degree takes long where there is much fill-in, column orders do not. So if the factor may be far too large,
    a column order is tried first. It has two to eight times as much fill-in.
    """
    d = graph.shape[0]
    if d * d / 2.0 > ROUGHLY * most:
        _, total = _counts(graph, elimination_order(graph, "COLAMD"), ROUGHLY * most)
        if total > ROUGHLY * most:
            return None
    order = elimination_order(graph)
    counts, total = _counts(graph, order, most)
    if total > most:
        return None
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.empty(indptr[-1], np.uint32)
    position = np.argsort(order)
    _follow(graph, order, position, indptr[:-1].copy(), indices, np.inf)
    return Pattern(order, position, indptr, indices)


def _counts(graph: sp.csr_array, order: np.ndarray, most: float) -> tuple[np.ndarray, float]:
    """The entries of each column of L, and of L and D in all; not all are counted if there are more than ``most``."""
    d = len(order)
    counts = np.zeros(d, np.int64)
    total = _follow(graph, order, np.argsort(order), counts, NO_ROWS, most - d)
    return counts, total + d


def _follow(
    graph: sp.csr_array, order: np.ndarray, position: np.ndarray, end: np.ndarray, rows: np.ndarray, most: float
) -> float:
    work = np.full((2, len(order)), NONE)  # made here, since kernels that allocate take twice as long to compile
    return follow_rows(graph.indptr, graph.indices, order, position, end, rows, most, *work)


def gram_pattern(matrices: Sequence[CSR], most: float) -> Pattern | None:
    """The pattern of a `GramFactor` of these matrices; None if it would have more than ``most`` entries."""
    d = matrices[0].shape[1]
    graph = sp.csr_array((d, d))
    for G in matrices:
        ones = to_scipy(G._replace(data=np.ones(len(G.data))))
        graph = graph + ones.T @ ones
    return pattern_of(graph, most)


def elimination_order(graph: sp.csr_array, rule: str = "MMD_AT_PLUS_A") -> np.ndarray:
    """An order of elimination with little fill-in, for a symmetric matrix of which only the pattern counts.

    The rule is one of SuperLU: by default minimum degree. Variables with very many neighbours come last: they would
    slow the search down.

    Examples
    --------
    The hub of a star comes after its leaves, so that there is no fill-in.

    >>> import scipy.sparse as sp
    >>> from adasadmm.linalg.sparse_factor import elimination_order
    >>> star = sp.csr_array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])
    >>> int(elimination_order(star)[0]) != 0
    True
    """
    degrees = np.diff(graph.indptr)
    are_hubs = degrees > max(LEAST_HUB, HUB * np.sqrt(len(degrees)))
    hubs, others = np.flatnonzero(are_hubs), np.flatnonzero(~are_hubs)
    if not len(others):
        return hubs
    ones = sp.csc_array(graph[others][:, others] if len(hubs) else graph, copy=True)
    ones.data[:] = 1.0
    dominant = sp.csc_array(ones + sp.diags_array(np.diff(ones.indptr) + 1.0))
    without_fill = scipy.sparse.linalg.spilu(
        dominant, drop_tol=DROP_ALL, fill_factor=1.0, permc_spec=rule, diag_pivot_thresh=0.0,
        options={"SymmetricMode": rule == "MMD_AT_PLUS_A"},
    )  # fmt: skip
    return np.append(others[np.argsort(without_fill.perm_c)], hubs)


class GramFactor:
    """A factor on the pattern that `gram_pattern` found for the same matrices, U included."""

    def __init__(self, matrices: Sequence[CSR], pattern: Pattern, U: CSR | None = None) -> None:
        self.pattern, self.L, self.D = pattern, np.empty(len(pattern.indices)), np.empty(len(pattern.order))
        self.terms = [Term(G, pattern) for G in matrices]
        self.subtracted = [] if U is None or not U.shape[0] else [(U, Term(U, pattern))]
        self.exact = all(map(is_graph, matrices)) and not self.subtracted
        self.scale, self.dense = np.ones(len(self.D)), pattern.dense()

    def factor(self, weights: Sequence[np.ndarray], ridge: np.ndarray) -> None:
        """``weights`` holds one array for each matrix; all entries must be >= 0, and the sum positive definite."""
        order, sums, diagonal = self.pattern.order, ridge.astype(float), ridge.astype(float)
        self.L[:] = 0.0
        for term, of_rows in zip(self.terms, weights, strict=True):
            self.L[term.places] += term.products @ of_rows
            diagonal += term.squares.T @ of_rows
            sums += term.alone.T @ of_rows
        for U, term in self.subtracted:
            self.L[term.places] -= term.summed(U.data)
            diagonal -= np.bincount(U.indices, U.data**2, len(diagonal))
        sums = sums[order] if self.exact else NO_SUMS
        if not self.exact:
            self.scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
            scale, self.D[:] = self.scale[order], 1.0
            self.L *= scale[self.pattern.indices]
            self.L *= np.repeat(scale, np.diff(self.pattern.indptr))
        n, lists = len(order), np.full((2, len(order)), NONE)
        factorise(self.pattern, self.L, self.D, sums, self.dense, *lists, np.empty(n, np.uint64), np.empty(n))
        if self.dense < len(order):
            self._factor_dense(sums[self.dense :])

    def _factor_dense(self, sums: np.ndarray) -> None:
        """Factor the last columns, in an array that has zeros where L has no entries."""
        first, D = self.pattern.indptr[self.dense], self.D[self.dense :]
        place = self.pattern.columns()[first:] - self.dense
        place *= len(D)
        place += self.pattern.indices[first:]
        place -= self.dense
        M = np.zeros((len(D), len(D)))
        np.put(M, place, self.L[first:])
        factor_dense(M, D, sums)
        self.L[first:] = np.take(M, place)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        x = (self.scale * rhs)[self.pattern.order]
        substitute(self.pattern, self.L, self.D, x)
        return self.scale * x[self.pattern.position]

    def half_solve(self, rows: np.ndarray) -> np.ndarray:
        """``D^{-1/2} L^{-1} P rows'`` for dense rows; the inner products of its columns are ``rows M^{-1} rows'``."""
        order, out = self.pattern.order, np.empty(rows.shape[::-1])

        def of_panel(first: int) -> None:
            panel = (self.scale[:, None] * rows[first : first + PANEL].T)[order]
            substitute_forward(self.pattern, self.L, panel)
            out[:, first : first + PANEL] = panel / np.sqrt(self.D)[:, None]

        side_by_side(of_panel, range(0, len(rows), PANEL))
        return out


class Term:
    """What ``G' diag(weights) G`` adds to the matrix: below its diagonal ``products @ weights`` at ``places`` of L.

    On the diagonal it adds ``squares.T @ weights``, of which ``alone`` are the squares of rows with a single entry.
    """

    def __init__(self, G: CSR, pattern: Pattern) -> None:
        entries = np.diff(G.indptr).astype(np.int64)
        before = np.arange(len(G.data)) - np.repeat(G.indptr[:-1], entries)  # the number of earlier entries of its row
        self.second = np.repeat(np.arange(len(G.data)), before)
        self.first = self.second - before[self.second] + np.arange(len(self.second))
        self.first -= np.repeat(np.cumsum(before) - before, before)
        of_pairs = pattern.places(G.indices[self.first], G.indices[self.second])
        self.places, self.place_of_pair = np.unique(of_pairs, return_inverse=True)
        row_of_pair = np.repeat(np.arange(len(entries)), entries)[self.second]
        products = G.data[self.first] * G.data[self.second], (self.place_of_pair, row_of_pair)
        self.products = sp.csr_array(products, (len(self.places), len(entries)))
        is_alone, squares = np.repeat(entries == 1, entries), G.data**2
        self.squares = to_scipy(G._replace(data=squares))
        self.alone = to_scipy(G._replace(data=np.where(is_alone, squares, 0.0)))

    def summed(self, data: np.ndarray) -> np.ndarray:
        """What ``G'G`` adds at ``places``, for other entries ``data`` of G."""
        return np.bincount(self.place_of_pair, data[self.first] * data[self.second], len(self.places))


def pairs_of(G: CSR) -> float:
    """The number of products that one ``G' diag(weights) G`` takes: half the square of each row's entries."""
    entries = np.diff(G.indptr).astype(float)
    return float(np.sum(entries * (entries + 1.0))) / 2.0


def is_graph(G: CSR) -> bool:
    """Whether each row has at most one entry, or is a multiple of the difference of two coordinates."""
    entries = np.diff(G.indptr)
    if (entries > 2).any():
        return False
    ends = np.flatnonzero(entries == 2)
    first = G.indptr[ends]
    return bool(np.all(G.data[first] == -G.data[first + 1]))


def factor_dense(M: np.ndarray, D: np.ndarray, sums: np.ndarray) -> None:
    """As `factorise`, for a dense matrix: block by block, so that BLAS does most of the work.

    The columns of L are the rows of M; only its entries right of the diagonal count.
    """
    n = len(D)
    for low in range(0, n, BLOCK):
        high = min(low + BLOCK, n)
        M[low:high, low:] -= (M[:low, low:high] * D[:low, None]).T @ M[:low, low:]
        for k in range(low, high):
            row = M[k, k + 1 :].copy()
            D[k] = max(sums[k] - row.sum(), SMALLEST) if len(sums) else max(D[k], LEAST_PIVOT)
            M[k, k + 1 :] /= D[k]
            if len(sums):
                sums[k + 1 :] -= M[k, k + 1 :] * sums[k]
            else:
                D[k + 1 :] -= M[k, k + 1 :] * row
            M[k + 1 : high, k + 1 :] -= M[k, k + 1 : high, None] * row


# --- compiled loops --------------------------------------------------------------------------------------------------


@compiled
def follow_rows(indptr, indices, order, position, end, rows, most, parent, seen):
    """Write each row i at the end of the columns of L where it has an entry, and return how many there are.

    These columns are on the paths of the elimination tree from the neighbours of i to i. They are only counted if there
    is no room in ``rows``, and only up to about ``most``.
    """
    n, total = len(order), 0.0
    for i in range(n):
        seen[i] = i
        for p in range(indptr[order[i]], indptr[order[i] + 1]):
            j = position[indices[p]]
            while j < i and seen[j] != i:
                if parent[j] == NONE:
                    parent[j] = i
                if len(rows):
                    rows[end[j]] = i
                end[j] += 1
                total += 1.0
                seen[j] = i
                j = parent[j]
        if total > most:
            break
    return total


@compiled
def factorise(pattern, L, D, sums, dense, head, after, upto, column):
    """Replace the matrix in L and D by its factor, column by column, up to column ``dense``.

    From those after it, what columns before it contribute is subtracted.

    The columns before k with an entry in row k form a list from ``head[k]`` on; ``upto`` says where this entry is.
    With ``sums``, the row sums of the matrix, pivots are ``D_k = sums_k + sum_i |M_ik|``, without cancellation.
    """
    n, rows, one = len(D), pattern.indices, np.uint64(1)
    for k in range(n):
        for p in entries(pattern, k):
            column[rows[p]] = L[p]
        j = head[k]
        while j != NONE:
            first, end, following = upto[j], np.uint64(pattern.indptr[j + 1]), after[j]
            scaled = L[first] * D[j]
            D[k] -= L[first] * scaled
            if rows[end - one] - rows[first] == end - one - first:  # without gaps, as where L is dense: much faster
                row = np.uint64(rows[first])
                for p in range(first + one, end):
                    column[np.uint64(p) - first + row] -= L[p] * scaled
            else:
                for p in range(first + one, end):
                    column[rows[p]] -= L[p] * scaled
            hand_on(rows, j, first + one, end, head, after, upto)
            j = following
        if k >= dense:
            for p in entries(pattern, k):
                L[p] = column[rows[p]]
            continue
        if len(sums):
            D[k] = sums[k]
            for p in entries(pattern, k):
                D[k] -= column[rows[p]]
        D[k] = max(D[k], SMALLEST if len(sums) else LEAST_PIVOT)
        for p in entries(pattern, k):
            L[p] = column[rows[p]] / D[k]
            if len(sums):
                sums[rows[p]] -= L[p] * sums[k]
        hand_on(rows, k, np.uint64(pattern.indptr[k]), np.uint64(pattern.indptr[k + 1]), head, after, upto)


@inlined
def hand_on(rows, j, first, end, head, after, upto):
    """Put column j into the list of the row of its entry ``first``, if there is one before ``end``."""
    if first < end:
        i = rows[first]
        head[i], after[j], upto[j] = j, head[i], first


@compiled
def substitute(pattern, L, D, x):
    """``x = (L D L')^{-1} x`` in the order of elimination."""
    n, rows = len(D), pattern.indices
    for k in range(n):
        for p in entries(pattern, k):
            x[rows[p]] -= L[p] * x[k]
        x[k] /= D[k]
    for k in range(n - 1, -1, -1):
        for p in entries(pattern, k):
            x[k] -= L[p] * x[rows[p]]


@compiled
def substitute_forward(pattern, L, x):
    """``x = L^{-1} x`` for all columns of x."""
    n, lanes = x.shape
    for k in range(n):
        for p in entries(pattern, k):
            i, scale = pattern.indices[p], L[p]
            for r in range(lanes):
                x[i, r] -= scale * x[k, r]
