"""Sums over the rows of any loss, of one prediction or of several (`vectors`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.jit import compiled, is_registered
from . import vectors
from ._generic import conjugate, domain, slope, value, width

__all__ = ["all_slopes", "clip_to_domain", "entries", "levels", "mean_conjugate", "mean_value"]


def mean_value(loss: Any, z: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """``1/n sum_i c_i loss(z_i, y_i)``."""
    k = width(loss)
    return mean_of_values(loss, z, y, c) if k == 1 else vectors.mean_value(loss, z, y, c, k)


def all_slopes(loss: Any, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """The slope at each prediction."""
    k = width(loss)
    if k == 1:
        slopes_of_numbers(loss, z, y, out)
    else:
        vectors.all_slopes(loss, z, y, out, k)


def mean_conjugate(loss: Any, s: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """``1/n sum_i c_i loss*(s_i, y_i)``."""
    k = width(loss)
    return mean_of_conjugates(loss, s, y, c) if k == 1 else vectors.mean_conjugate(loss, s, y, c, k)


def levels(loss: Any, y: np.ndarray, c: np.ndarray) -> tuple[float, float]:
    """The mean loss where all predictions are 0, and the least possible one: ``inf_z loss(z) = -loss*(0)``.

    The least loss of a loss without a conjugate counts as 0.
    """
    has_least = is_registered(conjugate, loss)
    if width(loss) == 1 and has_least:
        return levels_of_numbers(loss, y, c)
    zero = np.zeros(len(y))
    return mean_value(loss, zero, y, c), -mean_conjugate(loss, zero, y, c) if has_least else 0.0


def clip_to_domain(loss: Any, s: np.ndarray, y: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Move s into the domain of the conjugate, in place; write the ends of the domain to ``low`` and ``high``.

    The domain of a vector loss has no ends. It is convex and contains 0, so that a multiple of s that is not longer
    stays inside.
    """
    k = width(loss)
    if k == 1:
        clip_numbers(loss, s, y, low, high)
    else:
        vectors.into_domain(loss, s, y, k)
        low[:], high[:] = -np.inf, np.inf


def entries(loss: Any, rows: np.ndarray) -> np.ndarray:
    """The entries of flat arrays that belong to these rows."""
    k = width(loss)
    return rows if k == 1 else (rows[:, None] * k + np.arange(k)).reshape(-1)


@compiled
def mean_of_values(loss, z, y, c):
    total = 0.0
    for i in range(len(z)):
        if c[i] > 0.0:  # a row of weight 0 is absent, even where its loss is infinite
            total += c[i] * value(loss, z[i], y[i])
    return total / len(z)


@compiled
def slopes_of_numbers(loss, z, y, out):
    for i in range(len(z)):
        out[i] = slope(loss, z[i], y[i])


@compiled
def mean_of_conjugates(loss, s, y, c):
    total = 0.0
    for i in range(len(s)):
        total += c[i] * conjugate(loss, s[i], y[i])
    return total / len(s)


@compiled
def levels_of_numbers(loss, y, c):
    at_zero, least = 0.0, 0.0
    for i in range(len(y)):
        if c[i] > 0.0:
            at_zero += c[i] * value(loss, 0.0, y[i])
            least -= c[i] * conjugate(loss, 0.0, y[i])
    return at_zero / len(y), least / len(y)


@compiled
def clip_numbers(loss, s, y, low, high):
    for i in range(len(s)):
        low[i], high[i] = domain(loss, y[i])
        s[i] = min(max(s[i], low[i]), high[i])
