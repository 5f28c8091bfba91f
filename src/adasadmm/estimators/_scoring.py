"""Accuracy and R^2 of scikit-learn, whose checks take longer than a short fit: plain arrays need none."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rows.matrices import all_finite

__all__ = ["accuracy", "r2"]


def accuracy(y: Any, predicted: np.ndarray, weight: Any) -> float:
    """The (weighted) share of labels that were predicted."""
    if _are_plain(y, predicted, weight) and _are_labels(y):
        return float(np.average(y == predicted, weights=weight))
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(y, predicted, sample_weight=weight))


def r2(y: Any, predicted: np.ndarray, weight: Any) -> float:
    """The (weighted) share of the variance that is explained."""
    if _are_plain(y, predicted, weight) and predicted.dtype == np.float64 and len(predicted) > 1:
        mean = np.add.reduce(y) / len(y) if weight is None else np.average(y, weights=weight)
        left, total = (float(np.add.reduce(_squares(y - of, weight))) for of in (predicted, mean))
        if 0.0 < total < np.inf and left < np.inf:
            return 1.0 - left / total
    from sklearn.metrics import r2_score

    return float(r2_score(y, predicted, sample_weight=weight))


def _squares(d: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    return d * d if weight is None else weight * d * d


def _are_plain(y: Any, predicted: np.ndarray, weight: Any) -> bool:
    """Whether all are vectors of one length, and targets and predictions of one type."""
    for one in (y, predicted) if weight is None else (y, predicted, weight):
        if type(one) is not np.ndarray or one.shape != (len(predicted),):
            return False
    has_weight = weight is None or (weight.dtype == np.float64 and 0.0 < weight.sum() < np.inf)
    return bool(has_weight and y.dtype == predicted.dtype and len(predicted) > 0)


def _are_labels(y: np.ndarray) -> bool:
    """Whether these are labels, which may be whole numbers of any type, but no other numbers."""
    if y.dtype.kind == "f":
        return all_finite(y) and bool((y == np.rint(y)).all())
    return y.dtype.kind in "biuU"
