"""The dual value in closed form where X is diagonal: no linear system, and memory of the size of the data.

If gamma_j = 0, the dual value is finite only for ``x_j c_j s_j / n = (A'theta)_j``. Where X is diagonal, each s_j
stands in one of these equations alone, so theta determines s. A row of weight 0, or with x_j = 0, has no s that could
help: there ``(A'theta)_j`` itself must vanish, as it does for methods that leave such nodes out. If some s_j leaves its
domain, s and theta are scaled down.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import losses, penalties
from .._core.jit import compiled
from ..linalg.matrices import WithIntercept
from ..linalg.products import largest_entry
from ..problem import Problem
from .domains import ROUNDING, into_domain

__all__ = ["dual_value"]


class Equations(NamedTuple):
    """For each row the x, y, ``c / n`` and gamma, and ``A'theta``; equations hold up to ``rounding``."""

    loss: Any
    x: np.ndarray
    y: np.ndarray
    rate: np.ndarray
    gamma: np.ndarray
    of_A: np.ndarray
    rounding: float


def dual_value(problem: Problem, w: np.ndarray, s: np.ndarray, theta: np.ndarray) -> tuple[float, float] | None:
    """The dual value at a point near (s, theta), and the norm of ``q + gamma w``; None where there is no closed form.

    The s given here counts only where gamma_j > 0.
    """
    x, (X, y, c) = problem.diagonal, problem.rows
    kinds = penalties.L1, penalties.ChainTV, penalties.GroupL2  # norms: phi* is 0 in its domain
    if (
        x is None
        or losses.width(problem.loss) > 1
        or problem.w_set is not None
        or problem.B is not None
        or not isinstance(problem.penalty, kinds)
    ):
        return None
    theta = into_domain(problem, theta)
    of_A = problem.last_A_transposed.of(theta)
    rounding = ROUNDING * largest_entry(theta) * largest_entry(problem.A.data)
    e = Equations(problem.loss, x, y, c / problem.n, problem.gamma, of_A, rounding)
    s = s.copy()
    scale = solve_equations(e, s)
    if not scale >= 0.0:
        return None
    conjugates, ridge, pull, residual = sums(e, s, scale, w)
    if isinstance(X, WithIntercept):
        free = pull - scale * of_A[-1]
        if problem.gamma[-1] > 0.0:
            ridge += 0.5 * free * free / problem.gamma[-1]
        elif abs(free) > max(rounding, ROUNDING * float(e.rate @ np.abs(s))):
            return None
        residual += (free + problem.gamma[-1] * w[-1]) ** 2
    value = -conjugates - ridge + scale * float(theta @ problem.b)
    return (value, float(np.sqrt(residual))) if np.isfinite(value) else None


@compiled
def solve_equations(e, s):
    """Write the s that theta determines, and return by how much s and theta must be scaled down.

    The result is -1 if there is no such factor: an equation without s does not hold, or an s lies on the wrong side of
    a domain that ends at 0.
    """
    scale = 1.0
    for i in range(len(s)):
        low, high = losses.domain(e.loss, e.y[i])
        pull = e.rate[i] * e.x[i]
        if e.gamma[i] > 0.0:
            s[i] = min(max(s[i], low), high)
            continue
        if pull == 0.0:
            s[i] = min(max(0.0, low), high)
            if abs(e.of_A[i]) > e.rounding:
                return -1.0
            continue
        s[i] = e.of_A[i] / pull
        end = low if s[i] < low else high
        if low <= s[i] <= high:
            continue
        if abs(pull * (s[i] - end)) <= e.rounding:
            s[i] = end
        elif end == 0.0:
            return -1.0
        else:
            scale = min(scale, end / s[i])
    return scale


@compiled
def sums(e, s, scale, w):
    """The mean conjugate and the value of the ridge's conjugate, the sum of the slopes, and ``|q + gamma w|^2``."""
    conjugates, ridge, total, residual = 0.0, 0.0, 0.0, 0.0
    for i in range(len(s)):
        q = -scale * e.of_A[i]
        if e.rate[i] > 0.0:
            low, high = losses.domain(e.loss, e.y[i])
            slope = min(max(scale * s[i], low), high)
            conjugates += e.rate[i] * losses.conjugate(e.loss, slope, e.y[i])
            total += e.rate[i] * slope
            q += e.rate[i] * e.x[i] * slope
        if e.gamma[i] > 0.0:
            ridge += 0.5 * q * q / e.gamma[i]
        residual += (q + e.gamma[i] * w[i]) ** 2
    return conjugates, ridge, total, residual
