"""Several responses: y with a column for each of them, entries that are missing, and their scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_consistent_length

from ..rows.matrices import as_vector
from ._gate import named_faults
from ._types import PerRow

__all__ = ["as_responses", "mean_score", "observed", "of_column"]


def as_responses(y: npt.ArrayLike | None, missing: str) -> np.ndarray:
    """The gate for targets of shape (n,) or (n, k); NaN, which stands for a missing one, only if that is ignored."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    found = _as_floats(y)
    lost = np.isnan(found)
    if lost.any() and missing != "ignore":
        row = int(np.flatnonzero(lost.reshape(len(found), -1).any(axis=1))[0])
        raise ValueError(
            f"Input y contains NaN, first in row {row}: leave these rows out, or set missing='ignore', which gives a "
            "missing target the weight 0"
        )
    if lost.reshape(len(found), -1).all(axis=0).any():
        column = int(np.flatnonzero(lost.reshape(len(found), -1).all(axis=0))[0])
        raise ValueError(f"column {column} of y has no value at all: leave this response out")
    return found


def _as_floats(y: npt.ArrayLike | None) -> np.ndarray:
    with named_faults(y=y):
        return check_array(y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y")


def of_column(per_row: PerRow, y: np.ndarray | None, column: int, responses: int | None) -> PerRow:
    """Return the row data of one of several responses: its column of the offsets."""
    if responses is None or y is None or y.ndim == 2 or per_row.offset is None or per_row.offset.ndim == 1:
        return per_row
    return per_row._replace(offset=np.ascontiguousarray(per_row.offset[:, column]))


def observed(y: np.ndarray, per_row: PerRow) -> tuple[np.ndarray, PerRow]:
    """Targets without NaN: a missing one becomes a value that its column has, with the weight 0."""
    lost = np.isnan(y)
    if not lost.any():
        return y, per_row
    columns = y.reshape(len(y), -1)
    first = columns[(~np.isnan(columns)).argmax(axis=0), np.arange(columns.shape[1])]
    weight = np.ones(len(y)) if per_row.weight is None else per_row.weight
    kept = np.where(lost, 0.0, weight[:, None] if y.ndim == 2 else weight)
    return np.where(lost, first if y.ndim == 2 else first[0], y), per_row._replace(weight=kept)


def as_offsets(offset: npt.ArrayLike | None, n: int, responses: int) -> np.ndarray | None:
    """The gate for the offsets of several responses, of shape (n, k)."""
    if offset is None:
        return None
    found = np.asarray(offset, dtype=np.float64)
    if found.shape != (n, responses):
        raise ValueError(f"offset must have the shape of y, {(n, responses)}, got {found.shape}")
    return as_vector(found.reshape(-1), n * responses, "offset").reshape(n, responses)


def mean_score(
    score: Callable[[np.ndarray, np.ndarray, np.ndarray | None], float],
    y: npt.ArrayLike | None,
    predicted: np.ndarray,
    sample_weight: npt.ArrayLike | None,
) -> float:
    """The mean over the responses of ``score(y, predicted, weight)``; missing targets are left out."""
    target = _as_floats(y)
    check_consistent_length(target, predicted, sample_weight)
    if target.shape != predicted.shape:
        raise ValueError(f"y must have the shape {predicted.shape} of the predictions, got {target.shape}")
    target, predicted = target.reshape(len(target), -1), predicted.reshape(len(target), -1)
    found = []
    for column in range(target.shape[1]):
        kept = ~np.isnan(target[:, column])
        weight = None if sample_weight is None else np.asarray(sample_weight)[kept]
        found.append(score(target[kept, column], predicted[kept, column], weight))
    return float(np.mean(found))
