"""Statistics of the columns of X from which graphs are learnt: weighted moments and covariances.

A sample weight of k is equivalent to repeating the row k times. Sparse X stays sparse.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..rows.matrices import CSR, as_rows, as_vector, to_scipy
from ..sources import Source
from .moments import moments

__all__ = [
    "Columns",
    "Data",
    "Names",
    "blocks",
    "column_names",
    "covariance",
    "describe",
    "isolated",
    "name_columns",
]

ZERO = 1e-12  # correlations below this are rounding errors
_BLOCK = 2**24  # numbers in a dense temporary array: 128 MiB
_SPARSE = 0.1  # above this density, blocks of rows are converted to dense arrays and multiplied by BLAS

Data: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix | Source  # X: an array, a frame, a sparse matrix or a source
Names: TypeAlias = Sequence[Hashable] | None  # the features' names; None if they have none


class Columns(NamedTuple):
    """The moments of the columns of X over the rows of positive weight.

    ``weights`` sum to 1. ``usable`` marks the columns that vary and whose variance neither underflows nor overflows.
    For a source, ``rows`` and ``weights`` are None and ``covariances`` is set.
    """

    rows: Any  # np.ndarray or csr_array; SciPy has no types
    weights: np.ndarray | None
    mean: np.ndarray
    variance: np.ndarray
    constant: np.ndarray
    usable: np.ndarray
    covariances: np.ndarray | None = None


def describe(X: Data, sample_weight: ArrayLike | None = None) -> Columns:
    """Compute the moments of the columns.

    Raises
    ------
    ValueError
        If X or the weights are not finite, if a weight is negative, or if all weights are zero.
    """
    if isinstance(X, Source):
        return Columns(*moments(X))
    checked = as_rows(X)
    rows = to_scipy(checked) if isinstance(checked, CSR) else checked.values  # type: ignore[union-attr]
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
            variance = np.concatenate([weights @ (rows[:, b] - mean[b]) ** 2 for b in blocks(d, n)])
            spread = np.ptp(rows, axis=0)
            least = np.finfo(float).tiny
        usable = (spread > 0) & (variance > least) & np.isfinite(variance)
    return Columns(rows, weights, mean, variance, spread == 0, usable)


def covariance(columns: Columns) -> np.ndarray:
    """The weighted covariance matrix of all columns."""
    if columns.covariances is not None:
        return columns.covariances
    rows, weights, mean = columns.rows, columns.weights, columns.mean
    assert weights is not None  # a source has covariances
    n, d = rows.shape
    with np.errstate(all="ignore"):
        if sp.issparse(rows) and rows.nnz <= _SPARSE * n * d:
            S = (rows.multiply(weights[:, None]).tocsr().T @ rows).toarray() - np.outer(mean, mean)
        else:
            S = np.zeros((d, d))
            for some in blocks(n, d):
                block = (rows[some].toarray() if sp.issparse(rows) else rows[some]) - mean
                S += (block * weights[some, None]).T @ block
        return (S + S.T) / 2.0


def isolated(columns: Columns, names: Names) -> tuple[str, ...]:
    """Notes on the columns that get no edges because they cannot be used, if there are any."""
    kinds = (
        ("constant columns", columns.constant),
        ("columns whose variance underflows or overflows", ~(columns.usable | columns.constant)),
    )
    return tuple(
        f"{kind} have no edges ({mask.sum()} of {len(mask)}): {name_columns(np.flatnonzero(mask), names)}"
        for kind, mask in kinds
        if mask.any()
    )


def column_names(X: object) -> list[Hashable] | None:
    """The column names of a frame (pandas, polars); None for an array, or if any name is not a string."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def name_columns(chosen: Sequence[int] | np.ndarray, names: Names, most: int = 10) -> str:
    """The names (or numbers) of the chosen columns, separated by commas; at most ten."""
    words = [str(names[j] if names is not None else int(j)) for j in list(chosen)[:most]]
    return ", ".join(words) + (f" and {len(chosen) - most} more" if len(chosen) > most else "")


def blocks(length: int, width: int) -> Iterator[slice]:
    """Slices that cover ``length``, each so short that slice x ``width`` numbers fit in a temporary array."""
    step = max(1, _BLOCK // width)
    return (slice(start, start + step) for start in range(0, length, step))
