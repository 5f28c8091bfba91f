"""The dual function, and what a primal and a dual point prove together.

    D(s, theta) = -1/n sum_i c_i loss*(s_i) - phi*(B'theta) + <theta, b>
                  + min_{w in W} 1/2 sum_j gamma_j w_j^2 + <q, w>,    q = X'(c s)/n - A'theta

By weak duality ``D(s, theta)`` is a lower bound of the optimum for every s and theta. If gamma_j = 0 and w_j is
unbounded, the minimum over w is finite only for q_j = 0, and s and theta are moved until that holds (`repair`). The
condition also holds for t s and t theta, and the domains of the conjugates are convex and contain 0. So a factor t <= 1
brings s and theta back into the domains, and if the repair fails, s = 0 and theta = 0 are still a dual point.

This file evaluates D for rows in memory, `streamed` for rows that are read block by block.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from .. import losses, penalties
from .._core.jit import is_registered, unwrapped
from ..problem import Problem
from ..rows.matrices import is_streamed
from . import diagonal
from .domains import ROUNDING, Bounds, bounds_of, inside, into_domain, largest_scale, least
from .intercept import balanced, constant_is_free, free_intercepts, only_intercept_is_free
from .reach import COLLINEAR, cost_of_imbalance, rounding_of
from .repair import lacking, repair, sizes
from .trace import Certificate
from .vectors import slopes_in_balance

__all__ = ["Dual", "certificate", "data_pull", "dual_value", "relative_gap", "slopes", "with_dual"]

NO_DUAL_POINT = "no dual point was found where the conjugates are finite"
CONTRADICTION = "the dual value exceeds the primal value: a function of the loss or the penalty is wrong"
ULPS, TINY = 4 * np.finfo(float).eps, np.finfo(float).tiny
FLOOR = 1e-12  # of the excess at w = 0, or of a constant where one is free: what a gap is compared with at least
EXCESS = 1e-5  # of the dual over the primal value, relative: far above rounding


class Dual(NamedTuple):
    """``D(s, theta)``, the norm of ``q + gamma w``, and why D may be infinite."""

    value: float
    residual: float
    reason: str = ""


# --- the dual value --------------------------------------------------------------------------------------------------


def dual_value(problem: Problem, w: np.ndarray, s: np.ndarray, theta: np.ndarray) -> Dual:
    """D at a point near (s, theta) where the conjugates are finite; w is needed for the residual only."""
    missing = missing_conjugate(problem)
    if missing:
        return Dual(-math.inf, math.nan, missing)
    closed_form = diagonal.dual_value(problem, w, s, theta)
    if closed_form is not None:
        return Dual(*closed_form)
    s, low, high = s.copy(), np.empty(problem.n), np.empty(problem.n)
    losses.clip_to_domain(problem.loss, s, problem.rows.y, low, high)
    theta, bounds = into_domain(problem, theta), bounds_of(problem)
    unbounded, most = bounds.unbounded, 1.0
    if unbounded.any():
        if only_intercept_is_free(problem, bounds):
            s = balanced(problem, w, s, (low, high))
        elif losses.width(problem.loss) > 1:
            s, theta = _balanced_vectors(problem, w, s, theta, bounds)
        else:
            s, theta = repair(problem, s, theta, (low, high), bounds)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            most = np.min(np.where(s > 0.0, high / s, np.where(s < 0.0, low / s, 1.0)), initial=1.0)
    t = largest_scale(problem, theta, float(most))
    if t != 1.0:
        s, theta = np.clip(t * s, low, high), t * theta
    if not inside(problem, theta):
        return Dual(-math.inf, math.nan, NO_DUAL_POINT)
    q = data_pull(problem, s) - problem.times_A_transposed(theta)
    residual = float(np.linalg.norm(q + problem.gamma * w))
    # A weak ridge, relative to the squares of its column, would turn a rounding error of q into a large gap. The sizes
    # cost a pass over rows that are read again for each product.
    if not is_streamed(problem.rows.X):
        q[~unbounded & (np.abs(q) <= ULPS * sizes(problem, s, theta))] = 0.0
    return _proved(problem, w, s, theta, q, residual, bounds)


def _proved(
    problem: Problem, w: np.ndarray, s: np.ndarray, theta: np.ndarray, q: np.ndarray, residual: float, bounds: Bounds
) -> Dual:
    """The dual value, less what rounding errors may hide; at the point 0 if q is not near enough to 0."""
    cost, reason = 0.0, ""
    if bounds.unbounded.any():
        off = np.where(bounds.unbounded, lacking(q, bounds.lower, bounds.upper), 0.0)
        cost = cost_of_imbalance(problem, w, s, theta, off, bounds)
        reason = COLLINEAR if math.isinf(cost) else ""
        if np.any(np.abs(off) > ROUNDING * sizes(problem, s, theta)):  # the repair failed
            cost = math.inf
        q = q - off
    if math.isinf(cost):  # 0 is a weak dual point
        s, theta, q, cost = np.zeros_like(s), np.zeros_like(theta), np.zeros_like(q), 0.0
    conjugates = losses.mean_conjugate(problem.loss, s, problem.rows.y, problem.rows.c)
    found = total(problem, conjugates, theta, q, residual, bounds)
    if not is_streamed(problem.rows.X):
        cost += rounding_of(problem, w, s)
    return found._replace(value=float(found.value - cost), reason=found.reason or reason)


def _balanced_vectors(
    problem: Problem, w: np.ndarray, s: np.ndarray, theta: np.ndarray, bounds: Bounds
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes that balance theta; where there are none, as with bounds split off into A, a theta that balances s."""
    near = slopes_in_balance(problem, w, theta, bounds.unbounded)
    q = data_pull(problem, near) - problem.times_A_transposed(theta)
    if near.any() and np.all(np.abs(q) <= ROUNDING * sizes(problem, near, theta), where=bounds.unbounded):
        return near, theta
    if free_intercepts(problem, bounds).size:
        s = balanced(problem, w, s, (s, s))
    return repair(problem, s, theta, None, bounds)


def total(
    problem: Problem, conjugates: float, theta: np.ndarray, q: np.ndarray, residual: float, bounds: Bounds
) -> Dual:
    """D from the weighted mean of the losses' conjugates, theta and q."""
    wanted = problem.times_B_transposed(theta)
    value = -conjugates
    value -= penalties.conjugate(problem.penalty, penalties.domain(problem.penalty, wanted))
    value += float(theta @ problem.b) + least(problem.gamma, q, bounds)
    return Dual(float(value), residual, "" if math.isfinite(value) else "the dual value is infinite")


def slopes(problem: Problem, z: np.ndarray) -> np.ndarray:
    """The slope of each row's loss at its prediction: a dual point that needs no dual variables."""
    s = np.empty(problem.n)
    losses.all_slopes(problem.loss, z, problem.rows.y, s)
    return s


def data_pull(problem: Problem, s: np.ndarray) -> np.ndarray:
    """``X'(c s)/n``."""
    return problem.last_X_transposed.of(problem.rows.c * s / problem.n).copy()


# --- certificates ----------------------------------------------------------------------------------------------------


def certificate(problem: Problem, point: tuple, primal: tuple[float, str], dual: Dual) -> Certificate:
    """The certificate of a point (w, v) from its primal value, and from the value of a dual point."""
    (value, reason), dual = primal, unless_unbounded(problem, dual)
    if _contradicts(problem, value, dual.value):
        dual = dual._replace(value=-math.inf, reason=CONTRADICTION)
    return Certificate(
        primal=value,
        dual=dual.value,
        gap=value - dual.value,
        relative_gap=relative_gap(problem, value, dual.value),
        primal_residual=float(np.linalg.norm(problem.residual(*point))),
        dual_residual=dual.residual,
        reason="; ".join(filter(None, (reason, dual.reason))),
    )


def relative_gap(problem: Problem, primal: float, dual: float) -> float:
    """``(primal - dual) / max(excess(w), floor)``, with the excess over the least possible mean loss.

    Unlike the objective, the excess does not change if a constant is added to the loss. The floor, 1e-12 of
    `reference_excess`, matters for exact fits only, whose excess is 0. A dual value that rounding puts above the primal
    value leaves no gap.
    """
    if not math.isfinite(primal) or not math.isfinite(dual):
        return math.inf
    least = problem.least_loss
    if not math.isfinite(least):
        return math.inf
    excess = primal - least
    if excess <= ULPS * abs(least):  # nothing is below the least loss, so this is the optimum
        return 0.0
    if excess < FLOOR * (problem.value_at_zero - least):
        excess = max(excess, FLOOR * reference_excess(problem))
    return float(max(primal - dual, 0.0) / max(excess, TINY))


def reference_excess(problem: Problem) -> float:
    """The excess of a model that explains nothing, beside which that of an exact fit is 0.

    It is excess(0). But this also counts how far targets and offsets are from 0, which says nothing about a model with
    an intercept, or about a signal: if a constant is free, it is at most the excess of the mean target. It is 0 for
    offsets of rows that are not in memory, whose mean is not known.
    """
    if problem.source is not None and problem.source.has_offset:
        return 0.0
    at_zero = problem.value_at_zero - problem.least_loss
    return min(at_zero, problem.loss_at_mean_target - problem.least_loss) if constant_is_free(problem) else at_zero


def _contradicts(problem: Problem, primal: float, dual: float) -> bool:
    """Whether the lower bound exceeds the upper one by more than rounding: then a function of a plug-in is wrong."""
    if not math.isfinite(primal) or not math.isfinite(dual) or dual <= primal:
        return False
    return dual - primal > EXCESS * max(abs(primal), abs(dual)) + EXCESS**2 * abs(problem.value_at_zero)


def with_dual(problem: Problem, certificate: Certificate, dual: float) -> Certificate:
    """The same certificate with a better dual value."""
    if _contradicts(problem, certificate.primal, dual):
        return dataclasses.replace(
            certificate, dual=-math.inf, gap=math.inf, relative_gap=math.inf, reason=CONTRADICTION
        )
    if dual == certificate.dual:
        return certificate
    gap = relative_gap(problem, certificate.primal, dual)
    return dataclasses.replace(certificate, dual=dual, gap=certificate.primal - dual, relative_gap=gap)


def unless_unbounded(problem: Problem, dual: Dual) -> Dual:
    """A dual value, or none if the loss falls without bound: 0 is no dual point then, and no gap is relative to it."""
    if math.isfinite(problem.least_loss):
        return dual
    loss = type(unwrapped(problem.loss)).__name__
    return Dual(-math.inf, dual.residual, f"{loss} is unbounded below: 0 is outside losses.domain for some target")


def missing_conjugate(problem: Problem) -> str:
    for function, part in ((losses.conjugate, problem.loss), (losses.domain, problem.loss)):
        if not is_registered(function, part):
            return f"{type(unwrapped(part)).__name__} has no losses.{function.__name__}: no dual value"
    penalty = problem.penalty
    for part, _ in penalty.parts if isinstance(penalty, penalties.Stack) else ((penalty, None),):
        for function in (penalties.conjugate, penalties.domain):
            if not is_registered(function, part):
                return f"{type(part).__name__} has no penalties.{function.__name__}: no dual value"
    return ""
