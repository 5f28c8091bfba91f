"""The dual value in closed form where X is diagonal: no linear system, and memory of the size of the data.

If gamma_j = 0, the dual value is finite only for ``x_j c_j s_j / n = (A'theta)_j``. Where X is diagonal, each s_j
stands in one of these equations alone, so theta determines s. A row of weight 0, or with x_j = 0, has no s that could
help: there ``(A'theta)_j`` itself must vanish, as it does for methods that leave such nodes out. If some s_j leaves its
domain, s and theta are scaled down.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import losses, penalties
from .._core.jit import is_registered
from ..problem import Problem
from ..rows.matrices import WithIntercept
from ..rows.products import largest_entry
from .domains import ROUNDING

__all__ = ["Values", "dual_value", "values"]

BLOCK = 2**14  # rows whose sums are found together
ULPS = 4 * np.finfo(float).eps


class Equations(NamedTuple):
    """For each row the x, y, ``c / n`` and gamma, w and ``A'theta``; equations hold up to ``rounding``.

    Numbers stand for equal entries. ``s`` counts only where gamma > 0; None stands for the slopes that balance
    ``A'theta`` and the ridge at w.
    """

    loss: Any
    x: np.ndarray | float
    y: np.ndarray
    rate: np.ndarray | float
    gamma: np.ndarray | float
    w: np.ndarray
    of_A: np.ndarray
    s: np.ndarray | None
    intercept: float
    rounding: float


class Values(NamedTuple):
    """The mean loss at w, NaN unless it was asked for; the dual value, and the norm of ``q + gamma w``."""

    loss: float
    dual: float
    residual: float


def dual_value(problem: Problem, w: np.ndarray, s: np.ndarray | None, theta: np.ndarray) -> tuple[float, float] | None:
    """The dual value at a point near (s, theta), and the norm of ``q + gamma w``; None where there is no closed form.

    The s given here counts only where gamma_j > 0. None stands for slopes that balance theta and the ridge at w.
    """
    found = values(problem, w, s, theta, with_loss=False)
    return None if found is None else (found.dual, found.residual)


def values(
    problem: Problem, w: np.ndarray, s: np.ndarray | None, theta: np.ndarray, with_loss: bool = True
) -> Values | None:
    """The same, with the loss at w, which the pass for the dual value finds in no more time."""
    if not _has_closed_form(problem):
        return None
    has_intercept = isinstance(problem.rows.X, WithIntercept)
    intercept = float(w[-1]) if has_intercept else 0.0
    theta = penalties.domain(problem.penalty, theta)
    of_A = problem.last_A_transposed.of(theta)
    y, c = problem.rows.y, problem.rows.c
    n = len(y)  # without the intercept
    s = None if s is None else s[:n]
    e = Equations(problem.loss, 1.0, y, float(c[0]) / problem.n, 0.0, w[:n], of_A[:n], s, intercept, 0.0)
    if not problem.is_plain:
        assert problem.diagonal is not None
        e = e._replace(x=problem.diagonal[:n], rate=problem.rates[:n], gamma=problem.gamma[:n])
    with np.errstate(all="ignore"):  # as in compiled code
        slopes = slopes_of(e)
        if slopes.factor != 1.0:  # perhaps because of rounding errors, whose size takes a while to find
            slopes = slopes_of(e._replace(rounding=_rounding(problem, theta)))
            if not slopes.factor >= 0.0:
                return None
        scale = slopes.factor
        s = scaled(slopes, scale)
        loss, conjugates, ridge, terms, residual = sums(e, s, scale, with_loss)
    if has_intercept:
        pull, size = (_total(e.rate, values) for values in (s, np.abs(s)))
        free = pull - scale * float(of_A[-1])
        if problem.gamma[-1] > 0.0:
            ridge += 0.5 * free * free / problem.gamma[-1]
        elif abs(free) > max(_rounding(problem, theta), ROUNDING * size):
            return None
        residual += (free + problem.gamma[-1] * w[-1]) ** 2
        terms += size * abs(w[-1])
    value = -conjugates - ridge + (scale * float(theta @ problem.b) if problem.has_b else 0.0) - ULPS * terms
    return Values(loss, value, math.sqrt(residual)) if math.isfinite(value) else None


def _has_closed_form(problem: Problem) -> bool:
    kinds = penalties.L1, penalties.ChainTV, penalties.GroupL2  # norms: phi* is 0 in its domain
    return (
        problem.diagonal is not None
        and problem.w_set is None
        and problem.B is None
        and isinstance(problem.penalty, kinds)
        and losses.width(problem.loss) == 1
        and is_registered(losses.conjugate, problem.loss)
        and is_registered(losses.domain, problem.loss)
    )


def _rounding(problem: Problem, theta: np.ndarray) -> float:
    return ROUNDING * largest_entry(theta) * largest_entry(problem.A.data)


class Sums(NamedTuple):
    """The mean loss, NaN unless it was asked for; the mean conjugate and the value of the ridge's conjugate; the mean
    of the sizes of ``s_i x_i w_i``, to which rounding errors are relative; and ``|q + gamma w|^2``.
    """

    loss: float
    conjugates: float
    ridge: float
    terms: float
    residual: float


class Slopes(NamedTuple):
    """The s that theta determines, the domain of each, and the factor by which s and theta must be scaled down for it.

    The factor is -1 if there is none: an equation without s does not hold, or s lies on the wrong side of a domain that
    ends at 0.
    """

    s: np.ndarray
    low: np.ndarray | float
    high: np.ndarray | float
    factor: float


def slopes_of(e: Equations) -> Slopes:
    """The slopes of all rows."""
    low, high = losses.each(losses.domain, e.loss, e.y)
    pull = e.rate * e.x
    if not np.ndim(pull) and not np.ndim(e.gamma) and pull != 0.0 and np.ndim(low) == 0 and -low == high == math.inf:
        return Slopes(e.of_A * (1.0 / pull), low, high, 1.0)  # every slope is in the domain
    absent = pull == 0.0  # no coefficient changes these predictions: any slope balances, and the loss' own is best
    s = e.of_A * (1.0 / np.where(absent, 1.0, pull))
    end = np.clip(s, low, high)
    chosen, balances = s == end, True
    if not chosen.all():
        chosen |= np.abs(pull * (s - end)) <= e.rounding
    if np.ndim(e.gamma):
        ridged = e.gamma > 0.0
        given = (e.of_A - e.gamma * e.w) / np.where(absent, 1.0, pull) if e.s is None else e.s
        end = np.where(ridged, np.clip(given, low, high), end)
        chosen |= ridged
    if np.any(absent):
        own = np.clip(losses.each(losses.slope, e.loss, np.full(len(e.y), e.intercept), e.y), low, high)
        end = np.where(absent, own, end)
        balances = bool(np.all(~absent | (e.gamma > 0.0) | (np.abs(e.of_A) <= e.rounding)))
        chosen |= absent
    if chosen.all():
        return Slopes(end, low, high, 1.0 if balances else -1.0)
    outside = ~chosen & (s != end)
    factor = np.min(np.where(end == 0.0, -1.0, end / s), where=outside, initial=1.0)
    return Slopes(np.where(chosen, end, s), low, high, float(factor) if balances else -1.0)


def scaled(slopes: Slopes, scale: float) -> np.ndarray:
    """The slopes times a scale, inside their domains."""
    return slopes.s if scale == 1.0 else np.clip(scale * slopes.s, slopes.low, slopes.high)


def sums(e: Equations, s: np.ndarray, scale: float, with_loss: bool) -> Sums:
    """The sums for these slopes and ``scale`` times theta, over blocks of rows that stay in the cache."""
    found = np.zeros(len(Sums._fields))
    for first in range(0, len(s), BLOCK):
        rows = slice(first, first + BLOCK)
        block = Equations._make(field[rows] if isinstance(field, np.ndarray) else field for field in e)
        found += _sums_of_block(block, s[rows], scale, with_loss)
    return Sums(*found.tolist())


def _sums_of_block(e: Equations, s: np.ndarray, scale: float, with_loss: bool) -> Sums:
    q = e.rate * e.x * s - scale * e.of_A
    ridge, xw = 0.0, e.w if not np.ndim(e.x) and e.x == 1.0 else e.x * e.w
    if np.ndim(e.gamma):
        ridged = e.gamma > 0.0
        ridge = 0.5 * float(np.sum(np.divide(q * q, e.gamma, where=ridged, out=np.zeros(len(q)))))
        q += e.gamma * e.w
    loss, z = math.nan, xw + e.intercept if e.intercept else xw
    if with_loss:
        loss = losses.weighted_sum(losses.value, e.loss, e.rate, z, e.y)
    conjugates = losses.weighted_sum(losses.conjugate, e.loss, e.rate, s, e.y)
    return Sums(loss, conjugates, ridge, _total(e.rate, np.abs(s * xw)), float(q @ q))


def _total(rate: np.ndarray | float, values: np.ndarray) -> float:
    """The sum of ``rate values`` over the rows with a rate: what the others have may be infinite."""
    if np.ndim(rate):
        return float(np.sum(np.where(rate > 0.0, rate * values, 0.0)))
    return float(rate * np.sum(values))
