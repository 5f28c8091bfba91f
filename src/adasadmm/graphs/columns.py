"""What a learnt graph knows of the columns of X: weighted moments, covariances, nearest neighbours.

A weight of a row is a number of repetitions. Sparse X stays sparse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.threads import one_blas_thread
from ..linalg.matrices import CSR, as_rows, as_vector, to_scipy
from ..sources import Source
from .edges import Graph
from .moments import moments

__all__ = ["Columns", "alone", "column_names", "covariance", "describe", "knn", "name_columns", "nearest"]

ZERO = 1e-12  # a correlation below this is a rounding error
_BLOCK = 2**24  # numbers in one dense piece of work: 128 MiB
_SPARSE = 0.1  # with more non-zeros than this, blocks of rows are made dense, so that BLAS does the work


class Columns(NamedTuple):
    """The columns of X, as seen by rows of positive weight.

    ``weights`` sum to 1; ``usable`` marks the columns that are not constant, and whose variance can be computed with.
    Of a source there are no rows but their covariances.
    """

    rows: Any
    weights: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    constant: np.ndarray
    usable: np.ndarray
    covariances: np.ndarray | None = None


def describe(X: Any, sample_weight: Any = None) -> Columns:
    """The moments of the columns.

    Raises
    ------
    ValueError
        If X or the weights are not finite numbers, no row has a weight, or a weight is negative.
    """
    if isinstance(X, Source):
        return Columns(*moments(X))
    checked = as_rows(X)
    rows: Any = to_scipy(checked) if isinstance(checked, CSR) else checked.values  # type: ignore[union-attr]
    n, d = rows.shape
    weights = np.ones(n) if sample_weight is None else as_vector(sample_weight, n, "sample_weight")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must be >= 0, got {weights.min()}")
    if not (weights > 0).any():
        raise ValueError(f"a graph cannot be learnt from {n} rows" + (" that all have weight 0" if n else ""))
    if not weights.all():
        rows, weights = rows[weights > 0], weights[weights > 0]
    weights = weights / weights.sum()
    with np.errstate(all="ignore"):
        if sp.issparse(rows):
            mean = rows.T @ weights
            second = (rows * rows).T @ weights
            variance = second - mean * mean
            spread = (rows.max(axis=0).toarray() - rows.min(axis=0).toarray()).reshape(-1)
            least = 1e-13 * second  # the difference of two moments is exact to 1e-16 of them
        else:
            mean = weights @ rows
            variance = np.concatenate([weights @ (rows[:, b] - mean[b]) ** 2 for b in _blocks(d, n)])
            spread = np.ptp(rows, axis=0)
            least = np.finfo(float).tiny
        usable = (spread > 0) & (variance > least) & np.isfinite(variance)
    return Columns(rows, weights, mean, variance, spread == 0, usable)


def covariance(columns: Columns) -> np.ndarray:
    """The weighted covariance of all columns."""
    if columns.covariances is not None:
        return columns.covariances
    rows, weights, mean = columns.rows, columns.weights, columns.mean
    n, d = rows.shape
    with np.errstate(all="ignore"):
        if sp.issparse(rows) and rows.nnz <= _SPARSE * n * d:
            S = (rows.multiply(weights[:, None]).tocsr().T @ rows).toarray() - np.outer(mean, mean)
        else:
            S = np.zeros((d, d))
            for some in _blocks(n, d):
                block = (rows[some].toarray() if sp.issparse(rows) else rows[some]) - mean
                S += (block * weights[some, None]).T @ block
        return (S + S.T) / 2.0


def knn(X: Any, k: int = 3, *, sample_weight: Any = None) -> Graph:
    """Each column and the k others that are most correlated with it, in absolute value.

    An edge is there if either end chose the other: between ``k d / 2`` and ``k d`` edges, with k = 3 about ``2 d``.
    Columns that do not vary stay alone.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    k : int
        The number of neighbours.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    graph : Graph
        All weights are 1. ``graph.notes`` tells which columns stay alone.

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
    return nearest(columns, int(k), column_names(X))


def nearest(columns: Columns, k: int, names: Sequence[Any] | None = None) -> Graph:
    """`knn` of columns that were described already."""
    d, usable = len(columns.usable), columns.usable
    k = min(k, int(usable.sum()) - 1)
    if k < 1:
        return Graph((), None, d, (*alone(columns, names), "fewer than two columns vary: nothing to join"))
    scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, columns.variance, 1.0)), 0.0)
    pairs = []
    with np.errstate(all="ignore"), one_blas_thread():
        for mine, S in _against_all(columns):
            closeness = np.abs(S, out=S)
            closeness *= scale
            closeness[:, ~usable] = 0.0
            here = np.arange(len(mine))
            closeness[here, mine] = 0.0
            for _ in range(k):  # of equal ones the first
                best = np.argmax(closeness, axis=1)
                related = usable[mine] & (closeness[here, best] * scale[mine] > ZERO)
                pairs.append(np.column_stack([mine, best])[related])
                closeness[here, best] = 0.0
    edges = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
    return Graph(edges, None, d, (*alone(columns, names), f"each column joined to its {k} nearest by correlation"))


def alone(columns: Columns, names: Sequence[Any] | None) -> tuple[str, ...]:
    """Notes on the columns that cannot be used, if there are any."""
    whys = (
        ("do not vary", columns.constant),
        ("vary too little or too much to compute with", ~(columns.usable | columns.constant)),
    )
    return tuple(
        f"columns that {why} stay alone ({mask.sum()} of {len(mask)}): {name_columns(np.flatnonzero(mask), names)}"
        for why, mask in whys
        if mask.any()
    )


def column_names(X: Any) -> list[Any] | None:
    """The names of the columns of a frame (pandas, polars); None for an array, or where not all names are texts."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def name_columns(chosen: Any, names: Sequence[Any] | None, most: int = 10) -> str:
    """Some columns in words: their names or numbers, at most ten of them."""
    words = [str(names[j] if names is not None else int(j)) for j in list(chosen)[:most]]
    return ", ".join(words) + (f" and {len(chosen) - most} more" if len(chosen) > most else "")


def _against_all(columns: Columns) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Block by block: some columns, and their covariances with all columns."""
    if columns.covariances is not None:
        yield np.arange(len(columns.mean)), columns.covariances.copy()
        return
    rows, weights, mean = columns.rows, columns.weights, columns.mean
    n, d = rows.shape
    weighted = rows.multiply(weights[:, None]).T.tocsr() if sp.issparse(rows) else None
    for some in _blocks(d, max(d, n if weighted is None else 0)):
        if weighted is not None:
            S = (weighted[some] @ rows).toarray() - np.outer(mean[some], mean)
        else:  # one side is centred, up to a rounding error that the other side's mean would magnify
            centred = (rows[:, some] - mean[some]) * weights[:, None]
            S = centred.T @ rows - np.outer(centred.sum(axis=0), mean)
        yield np.arange(d)[some], S


def _blocks(length: int, width: int) -> Iterator[slice]:
    """Slices of a length, so that each holds a piece of work of that width."""
    step = max(1, _BLOCK // width)
    return (slice(start, start + step) for start in range(0, length, step))
