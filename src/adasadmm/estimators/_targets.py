"""The targets of linear functions, and the weights of rows, made from class labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["CodeOf", "SignOf", "SignsOf", "WeightOfClass"]


class SignOf(NamedTuple):
    """Targets of one linear function: +1 for one label, -1 for all others."""

    label: Any

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return np.where(y == self.label, 1.0, -1.0)


class CodeOf(NamedTuple):
    """Targets of one softmax: the number of each label; ``classes`` is sorted."""

    classes: np.ndarray

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.classes, y).astype(float)


class SignsOf(NamedTuple):
    """Targets of a linear function for each class in one problem: a column of signs for each of them."""

    classes: np.ndarray

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return np.where(y[:, None] == self.classes, 1.0, -1.0)


class WeightOfClass(NamedTuple):
    """Row weights from class weights; ``classes`` is sorted."""

    classes: np.ndarray
    weights: np.ndarray

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return self.weights[np.searchsorted(self.classes, y)]
