"""From times and observations to the rows of a problem with one coefficient for each distinct time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_consistent_length

from .. import losses
from ..linalg.matrices import CSR, UNSIGNED, index_type
from ..losses import Gamma, NegativeBinomial, Poisson, Squared, Tweedie

__all__ = ["Series", "as_targets", "as_times", "as_weights", "check_attained", "selection", "series_of"]

# The loss of several targets at one time is that of their mean, and a constant.
MEAN_SUFFICES = (Squared, Poisson, Gamma, Tweedie, NegativeBinomial)


class Series(NamedTuple):
    """Observations at distinct times.

    ``node`` is the time of each target; None if the targets are one for each time. ``constant`` is the mean loss that
    was left out when targets at the same time were replaced by their mean.
    """

    times: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    node: np.ndarray | None
    constant: float

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
    array = check_array(t, ensure_2d=False, dtype=np.float64, input_name=name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,) or (n, 1): one time for each observation, got {array.shape}")
    return np.ascontiguousarray(array)


def as_targets(y: npt.ArrayLike, loss: Any, name: str = "y") -> np.ndarray:
    """The gate for targets of any shape; NaN is a missing one, labels 0 and 1 become -1 and +1."""
    array: np.ndarray = np.asarray(
        check_array(y, ensure_2d=False, allow_nd=True, dtype=np.float64, ensure_all_finite="allow-nan", input_name=name)
    )
    if losses.takes_labels(loss) and not (array == -1.0).any():
        array = np.where(array == 0.0, -1.0, array)
    return array


def as_weights(sample_weight: npt.ArrayLike | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """The gate for weights: finite, not negative, not all 0."""
    if sample_weight is None:
        return None
    array: np.ndarray = np.asarray(
        check_array(sample_weight, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name="sample_weight")
    )
    if array.shape != shape:
        raise ValueError(f"sample_weight must have shape {shape}, one weight for each target, got {array.shape}")
    if (array < 0.0).any():
        raise ValueError(f"sample_weight must be >= 0, got {array.min()}")
    return array


def series_of(t: np.ndarray, y: np.ndarray, weight: np.ndarray | None, loss: Any) -> Series:
    """The observations in the order of their times, without missing ones and those of weight 0."""
    check_consistent_length(t, y)
    keep = ~np.isnan(y) if np.isnan(y.sum()) else None
    if weight is not None and not weight.all():
        keep = (weight > 0.0) if keep is None else keep & (weight > 0.0)
    if keep is not None:
        t, y = t[keep], y[keep]
        weight = None if weight is None else weight[keep]
    if len(y) == 0:
        raise ValueError("y has no observed target: every one is NaN or has a weight of 0")
    if (t[1:] > t[:-1]).all():
        return Series(t, y, weight, None, 0.0)
    if not (t[1:] >= t[:-1]).all():
        order = np.argsort(t, kind="stable")
        t, y = t[order], y[order]
        weight = None if weight is None else weight[order]
    first = np.append(True, t[1:] != t[:-1])
    if first.all():
        return Series(t, y, weight, None, 0.0)
    node, times = np.cumsum(first) - 1, t[first]
    if not isinstance(loss, MEAN_SUFFICES):
        return Series(times, y, weight, node, 0.0)
    return _merged(times, y, np.ones(len(y)) if weight is None else weight, node, loss)


def _merged(times: np.ndarray, y: np.ndarray, weight: np.ndarray, node: np.ndarray, loss: Any) -> Series:
    """One target for each time: the weighted mean, with the sum of the weights."""
    losses.check(loss, y)
    total = np.bincount(node, weight)
    mean = np.bincount(node, weight * y) / total
    spread = 0.5 * float(weight @ (y - mean[node]) ** 2) / float(weight.sum()) if isinstance(loss, Squared) else 0.0
    return Series(times, mean, total, None, spread)


def selection(node: np.ndarray | None, n: int) -> CSR:
    """The matrix X: row i selects coefficient ``node[i]``; the identity for None."""
    rows = n if node is None else len(node)
    width = index_type(rows, max(rows, n))
    columns: np.ndarray = np.arange(n, dtype=width) if node is None else node.astype(width)
    return CSR(np.ones(rows), columns.view(UNSIGNED[width]), np.arange(rows + 1, dtype=width), n)


def check_attained(y: np.ndarray, loss: Any, l2: float) -> None:
    """Raise if the targets have no best fit: a constant that grows without bound lowers the loss forever."""
    if l2 > 0.0:
        return
    if losses.takes_labels(loss) and y.min() == y.max() and isinstance(loss, losses.Logistic):
        raise ValueError(f"y has only the label {y[0]:g}, so that no fit is the best; use l2 > 0")
    if losses.has_log_link(loss) and not y.any():
        raise ValueError(
            "y has only targets of 0, so that no fit is the best: its logarithm is not bounded; use l2 > 0"
        )
