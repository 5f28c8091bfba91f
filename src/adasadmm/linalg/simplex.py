"""The nearest point with non-negative entries of a given sum: the projection onto a simplex."""

from __future__ import annotations

import numpy as np

from .._core.jit import inlined


@inlined
def project(x, total):
    """Replace a vector by ``max(x - level, 0)``, in place, with the level that makes the sum right.

    The level is the mean excess of the entries above it: entries that fall below it are left out until none does. Of a
    vector far from 0 subtract the largest entry first: the projection is the same, and no digits are lost.
    """
    level, number = -np.inf, 0
    for _ in range(len(x) + 1):
        summed, above = 0.0, 0
        for value in x:
            if value > level:
                summed += value
                above += 1
        if above == number or above == 0:
            break
        level, number = (summed - total) / above, above
    for k in range(len(x)):
        x[k] = max(x[k] - level, 0.0)


def projections(x: np.ndarray, total: float) -> np.ndarray:
    """The projection of each row."""
    is_above = np.ones(x.shape, bool)
    for _ in range(x.shape[1]):
        number = np.maximum(is_above.sum(axis=1, keepdims=True), 1)
        level = (np.where(is_above, x, 0.0).sum(axis=1, keepdims=True) - total) / number
        before, is_above = is_above, x > level
        if np.array_equal(is_above, before):
            break
    return np.maximum(x - level, 0.0)
