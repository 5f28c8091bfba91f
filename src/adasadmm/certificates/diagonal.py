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
from .._core.jit import compiled, entry_or, inlined, is_registered
from ..linalg.matrices import WithIntercept
from ..linalg.products import largest_entry
from ..problem import Problem
from .domains import ROUNDING

__all__ = ["Values", "dual_value", "values"]


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
    shift = (float(w[-1]) if has_intercept else 0.0) if with_loss else None
    theta = penalties.domain(problem.penalty, theta)
    of_A = problem.last_A_transposed.of(theta)
    y, c = problem.rows.y, problem.rows.c
    e = Equations(problem.loss, 1.0, y, float(c[0]) / problem.n, 0.0, w, of_A, s, 0.0)
    if not problem.is_plain:
        assert problem.diagonal is not None
        e = e._replace(x=problem.diagonal, rate=problem.rates, gamma=problem.gamma)
    scale, loss, conjugates, ridge, pull, size, residual = sums(e, 1.0, shift)
    if scale != 1.0:  # perhaps because of rounding errors, whose size takes a while to find
        e = e._replace(rounding=_rounding(problem, theta))
        scale, *_ = sums(e, 1.0, None)
        if not scale >= 0.0:
            return None
        _, _, conjugates, ridge, pull, size, residual = sums(e, scale, None)
    if has_intercept:
        free = pull - scale * of_A[-1]
        if problem.gamma[-1] > 0.0:
            ridge += 0.5 * free * free / problem.gamma[-1]
        elif abs(free) > max(_rounding(problem, theta), ROUNDING * size):
            return None
        residual += (free + problem.gamma[-1] * w[-1]) ** 2
    value = -conjugates - ridge + (scale * float(theta @ problem.b) if problem.has_b else 0.0)
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


@inlined
def slope_of(e, i):
    """The s_i that theta determines, and by how much s and theta must be scaled down for its sake.

    The factor is -1 if there is none: an equation without s does not hold, or s lies on the wrong side of a domain that
    ends at 0.
    """
    low, high = losses.domain(e.loss, e.y[i])
    pull, gamma = entry_or(e.rate, i, 1.0) * entry_or(e.x, i, 1.0), entry_or(e.gamma, i, 0.0)
    if gamma > 0.0:
        balanced = (e.of_A[i] - gamma * e.w[i]) / pull if pull != 0.0 else 0.0
        return min(max(entry_or(e.s, i, balanced), low), high), 1.0
    if pull == 0.0:
        return min(max(0.0, low), high), 1.0 if abs(e.of_A[i]) <= e.rounding else -1.0
    s = e.of_A[i] * (1.0 / pull)  # one division for all, if the pull is the same for all
    if low <= s <= high:
        return s, 1.0
    end = low if s < low else high
    if abs(pull * (s - end)) <= e.rounding:
        return end, 1.0
    return s, end / s if end != 0.0 else -1.0


@compiled
def sums(e, scale, shift):
    """The least factor of `slope_of`, and the mean loss of the predictions ``x w + shift``, NaN if shift is None; with
    this scale, the mean conjugate and the value of the ridge's conjugate, the sum of the slopes and that of their
    sizes, and ``|q + gamma w|^2``.
    """
    least, conjugates, ridge, total, size, residual = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    loss = np.nan if shift is None else 0.0
    for i in range(len(e.y)):
        s, factor = slope_of(e, i)
        least, rate, gamma = min(least, factor), entry_or(e.rate, i, 1.0), entry_or(e.gamma, i, 0.0)
        if scale != 1.0:
            low, high = losses.domain(e.loss, e.y[i])
            s = min(max(scale * s, low), high)
        q = rate * entry_or(e.x, i, 1.0) * s - scale * e.of_A[i]
        if rate > 0.0:
            if shift is not None:
                loss += rate * losses.value(e.loss, entry_or(e.x, i, 1.0) * e.w[i] + shift, e.y[i])
            conjugates += rate * losses.conjugate(e.loss, s, e.y[i])
            total += rate * s
            size += rate * abs(s)
        if gamma > 0.0:
            ridge += 0.5 * q * q / gamma
            q += gamma * e.w[i]
        residual += q * q
    return least, loss, conjugates, ridge, total, size, residual
