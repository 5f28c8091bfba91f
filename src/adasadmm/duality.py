"""Dual points and what they prove.

    D(s, theta) = -1/n sum_i c_i loss*(s_i) - phi*(B'theta) + <theta, b>
                  + min_{w in W} 1/2 sum_j gamma_j w_j^2 + <q, w>,    q = X'(c s)/n - A'theta

No point of the problem has a smaller objective, whatever s and theta are. Where gamma_j = 0 and w_j is unbounded the
minimum is finite only for q_j = 0: the slopes are moved until that holds.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from . import losses, matrices, penalties
from ._jit import is_registered
from .matrices import to_scipy
from .problem import Problem
from .trace import Certificate

__all__ = ["certify", "dual_value", "relative_gap", "slopes", "with_dual"]

ROUNDING = 1e-12
REPAIRS = 30


def certify(problem: Problem, w: np.ndarray, v: np.ndarray, s: np.ndarray, theta: np.ndarray) -> Certificate:
    """What the point (w, v) and the dual point (s, theta) prove together."""
    primal, reason = primal_value(problem, w)
    dual, dual_residual, dual_reason = dual_value(problem, w, s, theta)
    return Certificate(
        primal=primal,
        dual=dual,
        gap=primal - dual,
        relative_gap=relative_gap(problem, primal, dual),
        primal_residual=float(np.linalg.norm(problem.residual(w, v))),
        dual_residual=dual_residual,
        reason="; ".join(filter(None, (reason, dual_reason))),
    )


def relative_gap(problem: Problem, primal: float, dual: float) -> float:
    """``(primal - dual) / max(|primal|, 1e-12 f(0))``."""
    if not math.isfinite(primal) or not math.isfinite(dual):
        return math.inf
    zero = np.zeros(problem.d)
    v = problem.v_of(zero)
    f0 = problem.loss_value(zero[:1].repeat(problem.n)) + (0.0 if v is None else problem.penalty_value(v))
    return (primal - dual) / max(abs(primal), 1e-12 * f0, np.finfo(float).tiny)


def primal_value(problem: Problem, w: np.ndarray) -> tuple[float, str]:
    """The objective at w and the v that belongs to it; infinite, with the reason, where that point is not feasible."""
    v = problem.v_of(w)
    if v is None:
        return math.inf, "no feasible v is known: B does not make v a function of w"
    for name, where, point in (("w_set", problem.w_set, w), ("the penalty's set", problem.penalty, v)):
        outside = 0.0 if where is None else penalties.violation(where, point)
        if outside > ROUNDING * (1.0 + float(np.max(np.abs(point), initial=0.0))):
            return math.inf, f"the point lies {outside:.1e} outside {name}"
    return problem.objective(w, v), ""


def dual_value(problem: Problem, w: np.ndarray, s: np.ndarray, theta: np.ndarray) -> tuple[float, float, str]:
    """``D(s, theta)`` after moving both into the conjugates' domains, ``|q + gamma w|``, and why D may be infinite."""
    missing = _missing_conjugate(problem)
    if missing:
        return -math.inf, math.nan, missing
    s, theta = s.copy(), _into_domain(problem, theta)
    low, high = np.empty(problem.n), np.empty(problem.n)
    losses.clip_to_domain(problem.loss, s, problem.rows.y, low, high)
    lower, upper = _bounds(problem)
    pull = to_scipy(problem.A).T @ theta
    free = (problem.gamma == 0.0) & np.isneginf(lower) & np.isposinf(upper)
    if free.any():
        _repair(problem, s, pull, free, low, high)
    q = _data_pull(problem, s) - pull
    dual_residual = float(np.linalg.norm(q + problem.gamma * w))
    rounding = ROUNDING * (_data_pull(problem, np.abs(s), absolute=True) + abs(to_scipy(problem.A)).T @ np.abs(theta))
    q[free & (np.abs(q) <= rounding)] = 0.0
    if q[free].any():
        reason = f"{np.count_nonzero(q[free])} coordinates have no ridge and no exact dual equality yet"
        return -math.inf, dual_residual, reason
    value = -losses.mean_conjugate(problem.loss, s, problem.rows.y, problem.rows.c)
    value -= penalties.conjugate(problem.penalty, problem.times_B_transposed(theta))
    value += float(theta @ problem.b) + _least(problem.gamma, q, lower, upper)
    return float(value), dual_residual, "" if math.isfinite(value) else "the dual value is infinite"


def slopes(problem: Problem, z: np.ndarray) -> np.ndarray:
    """A dual point from predictions alone: the slope of each row's loss."""
    s = np.empty(problem.n)
    losses.all_slopes(problem.loss, z, problem.rows.y, s)
    return s


def with_dual(problem: Problem, certificate: Certificate, dual: float) -> Certificate:
    """The same certificate with a better dual value."""
    gap = relative_gap(problem, certificate.primal, dual)
    return dataclasses.replace(certificate, dual=dual, gap=certificate.primal - dual, relative_gap=gap)


def _missing_conjugate(problem: Problem) -> str:
    for function, part in ((losses.conjugate, problem.loss), (losses.domain, problem.loss)):
        if not is_registered(function, part):
            return f"{type(part).__name__} has no losses.{function.__name__}: no dual value"
    stacked = isinstance(problem.penalty, penalties.Stack)
    parts = [part for part, _ in problem.penalty.parts] if stacked else [problem.penalty]
    for part in parts:
        if not is_registered(penalties.conjugate, part):
            return f"{type(part).__name__} has no penalties.conjugate: no dual value"
    return ""


def _into_domain(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """The theta nearest to this one whose ``B'theta`` lies in the domain of phi*."""
    wanted = problem.times_B_transposed(theta)
    change = penalties.domain(problem.penalty, wanted) - wanted
    if problem.B is None:
        return theta - change
    if not change.any():
        return theta
    return theta + np.linalg.lstsq(to_scipy(problem.B).T.toarray(), change, rcond=None)[0]


def _bounds(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The box that w must stay in."""
    if isinstance(problem.w_set, penalties.NonNegative):
        bounds: Any = (0.0, math.inf)
    elif isinstance(problem.w_set, penalties.Box):
        bounds = (problem.w_set.lower, problem.w_set.upper)
    else:
        bounds = (-math.inf, math.inf)
    return tuple(np.broadcast_to(np.asarray(bound, dtype=float), (problem.d,)) for bound in bounds)  # type: ignore


def _least(gamma: np.ndarray, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """``min over lower <= w <= upper of sum_j gamma_j w_j^2 / 2 + q_j w_j``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(gamma > 0.0, -q / gamma, np.where(q > 0.0, lower, np.where(q < 0.0, upper, 0.0)))
    best = np.clip(best, lower, upper)
    return float(np.sum(np.where(best == 0.0, 0.0, 0.5 * gamma * best * best + q * best)))


def _data_pull(problem: Problem, s: np.ndarray, absolute: bool = False) -> np.ndarray:
    """``X'(c s)/n``, or the same with absolute values."""
    X = problem.rows.X
    if absolute:
        X = X._replace(**{field: np.abs(getattr(X, field)) for field in ("values", "data") if hasattr(X, field)})
    out = np.empty(problem.d)
    matrices.transposed_product(X, problem.rows.c * s / problem.n, out)
    return out


def _repair(
    problem: Problem, s: np.ndarray, pull: np.ndarray, free: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    """Move the slopes, in place, until ``X'(c s)/n = A'theta`` on the free coordinates.

    Each round is a least-squares step in which a slope counts by the square of its room to the ends of its domain, so
    that those at an end stay there; what still leaves the domain is clipped, and the next round mends the rest.
    """
    X = problem.rows.X
    dense = X.values[:, free] if isinstance(X, matrices.Dense) else to_scipy(X)[:, np.flatnonzero(free)].toarray()
    weight = problem.rows.c / problem.n
    for _ in range(REPAIRS):
        lacking = pull[free] - dense.T @ (weight * s)
        scale = np.abs(dense).T @ (weight * np.abs(s)) + np.abs(pull[free])
        if np.all(np.abs(lacking) <= 0.1 * ROUNDING * scale):
            return
        room = np.minimum(np.minimum(s - low, high - s), 1.0) ** 2
        curvature = dense.T @ (dense * (weight * room)[:, None])
        size = np.sqrt(np.maximum(np.diag(curvature), np.finfo(float).tiny))
        step = np.linalg.lstsq(curvature / np.outer(size, size), lacking / size, rcond=1e-13)[0] / size
        np.clip(s + room * (dense @ step), low, high, out=s)
