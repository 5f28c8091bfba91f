"""The nearest-neighbour graph of the columns of X.

Dense columns are compared in blocks with all others by BLAS. Sparse ones are compared one by one: a column has entries
in common with few others, and among the rest, whose covariance with it is minus the product of the means, only those
with the largest means can be near. Both count their work first and refuse what would take hours.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from tqdm.auto import tqdm

from .._core.jit import compiled, inlined
from .._core.threads import one_blas_thread, side_by_side
from ..rows.matrices import CSR, as_csr
from .columns import ZERO, Columns, Data, Names, blocks, column_names, describe, isolated
from .edges import Graph

__all__ = ["knn", "nearest"]

MOST_WORK = 2.0e13  # multiplications by BLAS, about half an hour on one core
SPARSE_WORK = 300  # of a product of two sparse entries, in these units: each goes to another place in memory
PAIR_WORK = 80  # of finding the nearest among the covariances, for each pair of columns
BLOCK_WORK = 2.0e9  # of the sparse columns that are compared between two moves of the progress bar


def knn(X: Data, k: int = 3, *, sample_weight: ArrayLike | None = None, progress: bool = False) -> Graph:
    """Learn a nearest-neighbour graph: join each column to the k columns most correlated with it.

    Columns i and j are joined if j is among the k columns with the largest absolute correlation with i, or i among
    those of j. The graph has between ``k d / 2`` and ``k d`` edges, about ``2 d`` for k = 3. Constant columns have no
    edges.

    Parameters
    ----------
    X : array-like, sparse matrix or source of shape (n, d)
        The rows. A sparse matrix stays sparse: the work grows with the sum of the squared numbers of entries of its
        rows. For a dense one it is ``n d^2``.
    k : int, default=3
        The number of neighbours.
    sample_weight : array-like of shape (n,), optional
        Sample weights. All equal by default.
    progress : bool, default=False
        Show a progress bar.

    Returns
    -------
    graph : Graph
        The graph, with unit weights. ``graph.notes`` lists the columns without edges.

    Raises
    ------
    ValueError
        If there are too many columns to compare them within hours. The message says what to do instead.

    See Also
    --------
    glasso : Learn the graph from a sparse inverse covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import graphs
    >>> t = np.linspace(0, 6, 50)
    >>> X = np.column_stack([t, np.sin(3 * t), t**2, np.sin(3 * t) ** 3])
    >>> graphs.knn(X, k=1).edges
    array([[0, 2],
           [1, 3]])
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k must be a whole number >= 1, got {k!r}")
    columns = describe(X, sample_weight)
    return nearest(columns, int(k), column_names(X), progress)


def nearest(columns: Columns, k: int, names: Names = None, progress: bool = False) -> Graph:
    """`knn`, given the moments of the columns."""
    d, usable = len(columns.usable), columns.usable
    k = min(k, int(usable.sum()) - 1)
    if k < 1:
        return Graph((), None, d, (*isolated(columns, names), "fewer than two columns vary, so there are no edges"))
    sparse = _sparse_is_cheaper(columns)
    scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, columns.variance, 1.0)), 0.0)
    find = _by_common_rows if sparse else _by_blocks
    with np.errstate(all="ignore"), one_blas_thread(), _bar(d, progress) as advance:
        found = find(columns, scale, k, advance)
    edges = np.unique(np.sort(found, axis=1), axis=0)
    return Graph(
        edges, None, d, (*isolated(columns, names), f"each column is joined to its {k} nearest by correlation")
    )


@contextlib.contextmanager
def _bar(d: int, show: bool) -> Iterator[Callable[[int], object]]:
    """Return the callback for progress, called with the number of further columns."""
    if not show:  # tqdm takes a lock shared by all processes even for a hidden bar
        yield lambda columns: None
        return
    with tqdm(total=d, desc="nearest columns", unit=" columns") as bar:
        yield bar.update


# --- the work --------------------------------------------------------------------------------------------------------


def _sparse_is_cheaper(columns: Columns) -> bool:
    """Whether to compare columns by their common rows; an error if both ways would take hours."""
    if columns.covariances is not None:  # of a source, which has a limit of its own
        return False
    n, d = columns.rows.shape
    dense, sparse = float(d) ** 2 * (n + PAIR_WORK), np.inf
    if sp.issparse(columns.rows):
        sparse = SPARSE_WORK * float(np.sum(np.diff(columns.rows.indptr).astype(float) ** 2))
    if min(dense, sparse) > MOST_WORK:
        raise ValueError(
            f"the nearest neighbours of {d:,} columns over {n:,} rows need about {min(dense, sparse):.0e} operations, "
            f"which takes hours (limit {MOST_WORK:.0e}). Pass a graph that is known (edges, 'chain', a file), learn "
            "one from a sample of the rows, or keep fewer columns, for example by "
            "sklearn.feature_selection.VarianceThreshold"
        )
    return sparse < dense


# --- dense columns ---------------------------------------------------------------------------------------------------


def _by_blocks(columns: Columns, scale: np.ndarray, k: int, advance: Callable[[int], object]) -> np.ndarray:
    """Pairs of each usable column and its nearest ones, from blocks of covariances."""
    usable, pairs = columns.usable, []
    for mine, S in _against_all(columns):
        closeness = np.abs(S, out=S)
        closeness *= scale
        closeness[:, ~usable] = 0.0
        here = np.arange(len(mine))
        closeness[here, mine] = 0.0
        for _ in range(k):  # ties go to the first column
            best = np.argmax(closeness, axis=1)
            related = usable[mine] & (closeness[here, best] * scale[mine] > ZERO)
            pairs.append(np.column_stack([mine, best])[related])
            closeness[here, best] = 0.0
        advance(len(mine))
    return np.concatenate(pairs)


def _against_all(columns: Columns) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each block of columns: their numbers, and their covariances with all columns."""
    if columns.covariances is not None:
        yield np.arange(len(columns.mean)), columns.covariances.copy()
        return
    rows, weights, mean = columns.rows, columns.weights, columns.mean
    assert weights is not None  # a source has covariances
    n, d = rows.shape
    weighted = rows.multiply(weights[:, None]).T.tocsr() if sp.issparse(rows) else None
    for some in blocks(d, max(d, n if weighted is None else 0)):
        if weighted is not None:
            S = (weighted[some] @ rows).toarray() - np.outer(mean[some], mean)
        else:  # only one side is centred; its rounding error, magnified by the other side's mean, is subtracted
            centred = (rows[:, some] - mean[some]) * weights[:, None]
            S = centred.T @ rows - np.outer(centred.sum(axis=0), mean)
        yield np.arange(d)[some], S


# --- sparse columns --------------------------------------------------------------------------------------------------


class Compared(NamedTuple):
    """Moments by which sparse columns are compared; ``scale`` is 0 if a column is not usable."""

    rows: CSR  # of X
    columns: CSR  # of X with its weights: X'C
    mean: np.ndarray
    scale: np.ndarray
    by_mean: np.ndarray  # the usable columns, the largest mean in units of the deviation first


def _by_common_rows(columns: Columns, scale: np.ndarray, k: int, advance: Callable[[int], object]) -> np.ndarray:
    """Pairs of each usable column and its nearest ones, from the rows in which both have entries."""
    assert columns.weights is not None  # a source has covariances
    weighted = as_csr(columns.rows.multiply(columns.weights[:, None]).T.tocsr(), "X")
    order = np.argsort(-np.abs(columns.mean) * scale, kind="stable")
    data = Compared(as_csr(columns.rows, "X"), weighted, columns.mean, scale, order[scale[order] > 0.0])
    best = np.full((len(scale), k), -1, dtype=np.int64)

    def compare(piece: slice) -> int:
        nearest_by_common_rows(data, piece.start, piece.stop, best)
        return piece.stop - piece.start

    pieces = _pieces(data)
    for first in range(0, len(pieces), 4):
        advance(sum(side_by_side(compare, pieces[first : first + 4])))
    which, place = np.nonzero(best >= 0)
    return np.column_stack([which, best[which, place]])


def _pieces(data: Compared) -> list[slice]:
    """Slices of the columns with about the same work each."""
    entries = np.diff(data.rows.indptr)
    work = np.add.reduceat(np.append(entries[data.columns.indices], 0), data.columns.indptr[:-1].astype(np.int64))
    work = SPARSE_WORK * np.cumsum(np.where(np.diff(data.columns.indptr) > 0, work, 0) + 1.0)
    count = max(1, min(len(work), int(work[-1] / BLOCK_WORK)))
    ends = np.searchsorted(work, work[-1] * np.arange(1, count) / count)
    cuts = np.unique(np.concatenate([[0], ends, [len(work)]])).tolist()
    return [slice(first, last) for first, last in itertools.pairwise(cuts)]


@compiled
def nearest_by_common_rows(data: Compared, first: int, last: int, best: np.ndarray) -> None:
    """The nearest columns of some columns into the rows of ``best``; the rest of a row stays -1."""
    rows, columns, mean, scale, by_mean = data
    k = best.shape[1]
    moment, common = np.zeros(len(mean)), np.zeros(len(mean), dtype=np.bool_)
    seen, closeness = np.empty(len(mean), dtype=np.int64), np.empty(k)
    for i in range(first, last):
        if scale[i] == 0.0:
            continue
        count, mine = 0, best[i]
        for p in range(columns.indptr[i], columns.indptr[i + 1]):
            row = columns.indices[p]
            for q in range(rows.indptr[row], rows.indptr[row + 1]):
                j = rows.indices[q]
                if not common[j]:
                    common[j] = True
                    seen[count] = j
                    count += 1
                moment[j] += columns.data[p] * rows.data[q]
        closeness[:] = ZERO / scale[i]
        for place in range(count):
            j = seen[place]
            if j != i:
                offer(abs(moment[j] - mean[i] * mean[j]) * scale[j], j, closeness, mine)
        offered = 0  # of the columns without a common row only the k with the largest means can be near
        for j in by_mean:
            if offered == k:
                break
            if not common[j] and j != i:
                offer(abs(mean[i] * mean[j]) * scale[j], j, closeness, mine)
                offered += 1
        for place in range(count):
            moment[seen[place]], common[seen[place]] = 0.0, False


@inlined
def offer(value: float, j: int, closeness: np.ndarray, best: np.ndarray) -> None:
    """Insert column j into the list of the nearest if it belongs there; ties go to the first column."""
    place = len(best)
    while place > 0 and (value > closeness[place - 1] or (value == closeness[place - 1] and 0 <= j < best[place - 1])):
        place -= 1
    if place < len(best):
        for later in range(len(best) - 1, place, -1):
            closeness[later], best[later] = closeness[later - 1], best[later - 1]
        closeness[place], best[place] = value, j
