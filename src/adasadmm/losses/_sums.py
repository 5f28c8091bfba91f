"""Sums over the rows of any loss, of one prediction or of several.

For a loss of k predictions, row i has the entries ``i k`` to ``(i + 1) k`` of each flat array. The weight of a row
stands at each of its entries, k times as large (`sources.blocks.Block`), so that means are over all entries.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.jit import is_registered
from ._arrays import each
from ._generic import conjugate, domain, second, slope, value, width

MAX_BLOCK_ROWS = 2**14  # whose terms are summed at once, and stay in the cache
DOMAIN_TOLERANCE = 1e-9  # distance of 0 from the domain of a vector loss: probabilities need not sum to exactly 1


def mean_value(loss: Any, z: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """``1/n sum_i c_i loss(z_i, y_i)``."""
    k = width(loss)
    return weighted_sum(value, loss, c[::k], by_row(z, k), by_row(y, k)) / len(z)


def all_slopes(loss: Any, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """The slope at each prediction."""
    k = width(loss)
    by_row(out, k)[:] = each(slope, loss, by_row(z, k), by_row(y, k))


def derivatives(
    loss: Any, z: np.ndarray, y: np.ndarray, weight: np.ndarray, slopes: np.ndarray, seconds: np.ndarray
) -> None:
    """The slope and the second derivative at each prediction, times the weight of its row."""
    absent = weight <= 0.0
    some_are = np.logical_or.reduce(absent)
    with np.errstate(invalid="ignore"):
        for function, out in ((slope, slopes), (second, seconds)):
            np.multiply(weight, each(function, loss, z, y), out=out)
            if some_are:
                out[absent] = 0.0  # a row of weight 0 is absent, even where its loss is infinite


def second_derivatives(loss: Any, z: np.ndarray, y: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    """The matrix of second derivatives of each row of a vector loss, times its weight."""
    k = out.shape[1]
    np.multiply(c[::k, None, None], each(second, loss, by_row(z, k), by_row(y, k)), out=out)


def mean_conjugate(loss: Any, s: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """``1/n sum_i c_i loss*(s_i, y_i)``."""
    k = width(loss)
    return weighted_sum(conjugate, loss, c[::k], by_row(s, k), by_row(y, k)) / len(s)


def levels(loss: Any, y: np.ndarray, c: np.ndarray) -> tuple[float, float]:
    """The mean loss where all predictions are 0, and the least possible one: ``inf_z loss(z) = -loss*(0)``.

    The least loss is minus infinity if 0 is outside the domain of a conjugate, where the loss falls without bound. That
    of a loss without a conjugate counts as 0.
    """
    zero = np.zeros(len(y))
    at_zero = mean_value(loss, zero, y, c)
    if not (is_registered(conjugate, loss) and is_registered(domain, loss)):
        return at_zero, 0.0
    if width(loss) == 1:
        low, high = each(domain, loss, y)
        is_inside = (low <= 0.0) & (high >= 0.0) | (c <= 0.0)
        return at_zero, -mean_conjugate(loss, zero, y, c) if is_inside.all() else -np.inf
    clip_to_domain(loss, nearest := zero.copy(), y, np.empty(len(y)), np.empty(len(y)))
    is_inside = np.abs(nearest[c > 0.0]).max(initial=0.0) <= DOMAIN_TOLERANCE
    return at_zero, -mean_conjugate(loss, zero, y, c) if is_inside else -np.inf


def clip_to_domain(loss: Any, s: np.ndarray, y: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Move s into the domain of the conjugate, in place; write the ends of the domain to ``low`` and ``high``.

    The domain of a vector loss has no ends. It is convex and contains 0, so that a multiple of s that is not longer
    stays inside.
    """
    k = width(loss)
    if k == 1:
        low[:], high[:] = each(domain, loss, y)
        np.minimum(np.maximum(s, low, out=s), high, out=s)
    else:
        by_row(s, k)[:] = each(domain, loss, by_row(s, k), by_row(y, k))
        low[:], high[:] = -np.inf, np.inf


def entries(loss: Any, rows: np.ndarray) -> np.ndarray:
    """The entries of flat arrays that belong to these rows."""
    k = width(loss)
    return rows if k == 1 else (rows[:, None] * k + np.arange(k)).reshape(-1)


def by_row(array: np.ndarray, k: int) -> np.ndarray:
    """A flat array as one row for each term of a loss of k predictions; itself for k = 1."""
    return array if k == 1 else array.reshape(-1, k)


def weighted_sum(function: Any, loss: Any, weight: np.ndarray | float, *arguments: np.ndarray) -> float:
    """The weighted sum of a function of the loss over all rows but those of weight 0; a number weighs all rows equally.

    A row of weight 0 is absent, even where its loss is infinite. Blocks of rows stay in the cache.
    """
    total, n = 0.0, len(arguments[0])
    for first in range(0, n, MAX_BLOCK_ROWS):
        block = slice(first, min(first + MAX_BLOCK_ROWS, n))
        values = each(function, loss, *(argument[block] for argument in arguments))
        total += _weighted(weight[block] if isinstance(weight, np.ndarray) else weight, values, block.stop - first)
    return total


def _weighted(weight: np.ndarray | float, values: np.ndarray | float, n: int) -> float:
    if not isinstance(weight, np.ndarray):
        return float(weight * (np.add.reduce(values) if np.ndim(values) else n * values))
    with np.errstate(invalid="ignore"):
        total = float(np.add.reduce(weight * values))
    if math.isfinite(total):
        return total
    present = weight > 0.0
    return float(np.add.reduce(weight[present] * np.broadcast_to(values, n)[present]))
