"""From times and observations to the rows of a problem with one coefficient for each distinct time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from .. import losses
from ..losses import Gamma, NegativeBinomial, Poisson, Squared, Tweedie
from ..losses.offsets import OF_RESIDUAL, level_of
from ..rows.matrices import CSR, UNSIGNED, all_finite, index_type

__all__ = [
    "Series",
    "as_targets",
    "as_times",
    "as_weights",
    "check_attained",
    "check_pixels",
    "is_observed",
    "selection",
    "series_of",
    "shifts_of",
]

# The loss of several targets at one time is that of their mean, and a constant, if their offsets are equal.
MEAN_SUFFICES = (Squared, Poisson, Gamma, Tweedie, NegativeBinomial)


class Series(NamedTuple):
    """Observations at distinct times.

    ``node`` is the time of each target; None if the targets are one for each time. ``constant`` is the mean loss that
    was left out when targets at the same time were replaced by their mean, and ``level`` what was subtracted from all
    targets.
    """

    times: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    offset: np.ndarray | None = None
    node: np.ndarray | None = None
    constant: float = 0.0
    level: float = 0.0

    def at(self, rows: np.ndarray) -> Series:
        """The observations of some rows, before any were merged."""
        weight, offset = (None if values is None else values[rows] for values in (self.weight, self.offset))
        return self._replace(times=self.times[rows], y=self.y[rows], weight=weight, offset=offset)

    def levelled(self, loss: Any) -> Series:
        """The series without its level, if that is so large that its rounding would hide where the slope changes."""
        level = float(level_of(loss, self.y, self.weight))
        return self._replace(y=self.y - level, level=level) if level else self

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(len(self.y)) if self.weight is None else float(self.weight.sum())


def as_times(t: npt.ArrayLike, name: str = "t") -> np.ndarray:
    """The gate for times: a vector, or a matrix of one column, of finite numbers."""
    if getattr(t, "dtype", np.dtype(float)).kind in "mM" or np.asarray(t).dtype.kind in "mM":
        raise ValueError(
            f"{name} must hold numbers, got dates; convert them, for instance (t - t[0]) / np.timedelta64(1, 'D')"
        )
    array = _as_floats(t, name, ensure_2d=False)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,) or (n, 1): one time for each observation, got {array.shape}")
    return np.ascontiguousarray(array)


def _as_floats(values: npt.ArrayLike, name: str, **rules: Any) -> np.ndarray:
    """scikit-learn's gate, which takes longer than a short fit; arrays of finite numbers pass without it."""
    plain = type(values) is np.ndarray and values.dtype == np.float64 and values.size > 0
    if plain and (values.ndim == 1 or "allow_nd" in rules):  # type: ignore[union-attr]
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.sum(values)):  # type: ignore[arg-type]
                return values  # type: ignore[return-value]
    return np.asarray(check_array(values, dtype=np.float64, input_name=name, **rules))


def as_targets(y: npt.ArrayLike, loss: Any, name: str = "y") -> np.ndarray:
    """The gate for targets of any shape; NaN is a missing one, labels 0 and 1 become -1 and +1."""
    array = _as_floats(y, name, ensure_2d=False, allow_nd=True, ensure_all_finite="allow-nan")
    if losses.takes_labels(loss) and not (array == -1.0).any():
        array = np.where(array == 0.0, -1.0, array)
    return array


def as_weights(sample_weight: npt.ArrayLike | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """The gate for weights: finite, not negative, not all 0."""
    if sample_weight is None:
        return None
    array = _as_floats(sample_weight, "sample_weight", ensure_2d=False, allow_nd=True)
    if array.shape != shape:
        raise ValueError(f"sample_weight must have shape {shape}, one weight for each target, got {array.shape}")
    if (array < 0.0).any():
        raise ValueError(f"sample_weight must be >= 0, got {array.min()}")
    return array


def shifts_of(offset: npt.ArrayLike | None, observed: np.ndarray) -> np.ndarray | None:
    """The gate for offsets: one finite number for each observed target; those of missing targets may be anything."""
    if offset is None:
        return None
    try:
        array = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"offset must hold numbers, one for each target: {error}") from None
    if array.ndim == observed.ndim + 1 and array.shape[-1] == 1:
        array = array[..., 0]
    if array.shape != observed.shape:
        raise ValueError(f"offset must have shape {observed.shape}, one number for each target, got {array.shape}")
    wrong = observed & ~np.isfinite(array)
    if wrong.any():
        raise ValueError(
            f"offset must be finite where there is a target, got {array[wrong][0]}; "
            "for a target without exposure, set the target to NaN"
        )
    return array


def is_observed(given: Series) -> np.ndarray:
    """Whether a target is neither missing nor of weight 0."""
    there = ~np.isnan(given.y)
    return there if given.weight is None else there & (given.weight > 0.0)


def series_of(observed: Series, loss: Any) -> Series:
    """The observations in the order of their times, without missing ones and those of weight 0."""
    series = observed
    if observed.weight is not None or not all_finite(observed.y):
        keep = is_observed(observed)
        series = observed if keep.all() else observed.at(keep)
    if len(series.y) == 0:
        raise ValueError("y has no observed target: every one is NaN or has a weight of 0")
    if series.offset is not None and isinstance(loss, OF_RESIDUAL):
        series = series._replace(y=series.y - series.offset, offset=None)
    if (series.times[1:] > series.times[:-1]).all():
        return series
    if not (series.times[1:] >= series.times[:-1]).all():
        series = series.at(np.argsort(series.times, kind="stable"))
    first = np.append(True, series.times[1:] != series.times[:-1])
    if first.all():
        return series
    node = np.cumsum(first) - 1
    if _can_merge(series, node, first, loss):
        return _merged(series, node, first, loss)
    return series._replace(times=series.times[first], node=node)


def _can_merge(series: Series, node: np.ndarray, first: np.ndarray, loss: Any) -> bool:
    """Whether the mean of the targets at one time has their loss, up to a constant: only if their offsets are equal."""
    if not isinstance(loss, MEAN_SUFFICES):
        return False
    return series.offset is None or bool((series.offset == series.offset[first][node]).all())


def _merged(series: Series, node: np.ndarray, first: np.ndarray, loss: Any) -> Series:
    """One target for each time: the weighted mean, with the sum of the weights."""
    y, weight = series.y, np.ones(len(node)) if series.weight is None else series.weight
    losses.check(loss, y)
    total = np.bincount(node, weight)
    mean = np.bincount(node, weight * y) / total
    spread = 0.5 * float(weight @ (y - mean[node]) ** 2) / float(weight.sum()) if isinstance(loss, Squared) else 0.0
    offset = None if series.offset is None else series.offset[first]
    return Series(series.times[first], mean, total, offset, None, spread)


def selection(node: np.ndarray | None, n: int) -> CSR:
    """The matrix X: row i selects coefficient ``node[i]``; the identity for None."""
    rows = n if node is None else len(node)
    width = index_type(rows, max(rows, n))
    columns: np.ndarray = np.arange(n, dtype=width) if node is None else node.astype(width)
    return CSR(np.ones(rows), columns.view(UNSIGNED[width]), np.arange(rows + 1, dtype=width), n)


def check_pixels(y: np.ndarray, loss: Any) -> None:
    """Raise if the loss does not take these pixels, with the name that the argument has there."""
    try:
        losses.check(loss, y)
    except ValueError as error:
        raise ValueError(str(error).replace("y must", "image must", 1)) from None


def check_attained(y: np.ndarray, loss: Any, l2: float) -> None:
    """Raise if the targets have no best fit: a constant that grows without bound lowers the loss forever."""
    if l2 > 0.0:
        return
    if losses.takes_labels(loss) and y.min() == y.max() and isinstance(loss, losses.Logistic):
        raise ValueError(f"y has only the label {y[0]:g}, so there is no optimum; use l2 > 0")
    if losses.has_log_link(loss) and not y.any():
        raise ValueError(
            "all targets are 0, so there is no optimum: the logarithm of the mean is unbounded; use l2 > 0"
        )
