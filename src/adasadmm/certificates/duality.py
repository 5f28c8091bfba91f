"""Dual points and what they prove.

    D(s, theta) = -1/n sum_i c_i loss*(s_i) - phi*(B'theta) + <theta, b>
                  + min_{w in W} 1/2 sum_j gamma_j w_j^2 + <q, w>,    q = X'(c s)/n - A'theta

No point of the problem has a smaller objective, whatever s and theta are. Where gamma_j = 0 and w_j is unbounded the
minimum is finite only for q_j = 0: s and theta are moved until that holds. It holds for t s and t theta as well, and
the domains of the conjugates are convex and hold 0: so a t below 1 brings back what the move took out of them, and
where the move fails 0 itself is a dual point.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import losses, penalties
from .._core.jit import is_registered
from ..linalg import matrices, products
from ..linalg.matrices import to_scipy
from ..problem import Problem
from .trace import Certificate

__all__ = ["certify", "data_pull", "dual_value", "relative_gap", "slopes", "with_dual"]

ROUNDING = 1e-12
REPAIRS = 30
REACH = 1e-3  # how readily a dual coordinate at the far end of its domain is moved, against one with room
FAR = 1e6  # a domain so many times larger is, for what can be moved, the cone that it spans
HALVINGS = 50


def certify(problem: Problem, w: np.ndarray, v: np.ndarray, s: np.ndarray, theta: np.ndarray) -> Certificate:
    """What the point (w, v) and the dual point (s, theta) prove together."""
    primal, reason = primal_value(problem, w if problem.w_copy is None else v[problem.w_copy], v)
    dual, dual_residual, dual_reason = dual_value(problem, w, s, theta)
    return certificate(problem, (w, v), primal, dual, dual_residual, (reason, dual_reason))


def certificate(
    problem: Problem, point: tuple, primal: float, dual: float, dual_residual: float, reasons: tuple[str, str]
) -> Certificate:
    """The values put together."""
    return Certificate(
        primal=primal,
        dual=dual,
        gap=primal - dual,
        relative_gap=relative_gap(problem, primal, dual),
        primal_residual=float(np.linalg.norm(problem.residual(*point))),
        dual_residual=dual_residual,
        reason="; ".join(filter(None, reasons)),
    )


def relative_gap(problem: Problem, primal: float, dual: float) -> float:
    """``(primal - dual) / max(|primal|, 1e-12 f(0))``."""
    if not math.isfinite(primal) or not math.isfinite(dual):
        return math.inf
    zero = np.zeros(problem.d)
    v = problem.v_of(zero)
    f0 = problem.loss_at_zero + (0.0 if v is None else problem.penalty_value(v))
    return (primal - dual) / max(abs(primal), 1e-12 * f0, np.finfo(float).tiny)


def primal_value(problem: Problem, w: np.ndarray, v: np.ndarray) -> tuple[float, str]:
    """The objective at w and the v that belongs to it; where that is not feasible, at a feasible point nearby.

    Infinite, with the reason, where none is known.
    """
    own = problem.v_of(w)
    if own is not None:
        value, reason = _feasible_value(problem, w, own)
        if not reason:
            return value, reason
    return _feasible_value(problem, *_onto_constraint(problem, w, v))


def _feasible_value(problem: Problem, w: np.ndarray, v: np.ndarray) -> tuple[float, str]:
    """The objective at a point; infinite, with the reason, where it is not feasible."""
    missed = _largest_entry(problem.residual(w, v))
    if missed > ROUNDING * (1.0 + max(map(_largest_entry, (w, v, problem.b)))):
        return math.inf, f"no feasible point is known: the nearest one found misses the constraint by {missed:.1e}"
    for name, where, point in (("w_set", problem.w_set, w), ("the penalty's set", problem.penalty, v)):
        outside = 0.0 if where is None else penalties.violation(where, point)
        if outside > ROUNDING * (1.0 + _largest_entry(point)):
            return math.inf, f"the point lies {outside:.1e} outside {name}"
    return problem.objective(w, v), ""


def dual_value(problem: Problem, w: np.ndarray, s: np.ndarray, theta: np.ndarray) -> tuple[float, float, str]:
    """``D(s, theta)`` after moving both into the conjugates' domains, ``|q + gamma w|``, and why D may be infinite."""
    missing = missing_conjugate(problem)
    if missing:
        return -math.inf, math.nan, missing
    s, low, high = s.copy(), np.empty(problem.n), np.empty(problem.n)
    losses.clip_to_domain(problem.loss, s, problem.rows.y, low, high)
    theta = into_domain(problem, theta)
    lower, upper = bounds(problem)
    unbounded = (problem.gamma == 0.0) & (np.isneginf(lower) | np.isposinf(upper))
    if unbounded.any():
        s, theta = _repair(problem, s, theta, low, high, unbounded)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.min(np.where(s > 0.0, high / s, np.where(s < 0.0, low / s, 1.0)), initial=1.0)
    t = largest(lambda t: inside(problem, t * theta), float(most))
    s, theta = np.clip(t * s, low, high), t * theta
    if not inside(problem, theta):
        return -math.inf, math.nan, "no dual point was found where the conjugates are finite"
    q = data_pull(problem, s) - problem.times_A_transposed(theta)
    dual_residual = float(np.linalg.norm(q + problem.gamma * w))
    if unbounded.any():
        q[unbounded & (np.abs(q) <= ROUNDING * _sizes(problem, s, theta))] = 0.0
        if _lacking(q, lower, upper)[unbounded].any():  # 0 is a dual point without repair, if a weak one
            s, theta, q = np.zeros_like(s), np.zeros_like(theta), np.zeros_like(q)
    value = -losses.mean_conjugate(problem.loss, s, problem.rows.y, problem.rows.c)
    wanted = problem.times_B_transposed(theta)
    value -= penalties.conjugate(problem.penalty, penalties.domain(problem.penalty, wanted))
    value += float(theta @ problem.b) + least(problem.gamma, q, lower, upper)
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


def missing_conjugate(problem: Problem) -> str:
    for function, part in ((losses.conjugate, problem.loss), (losses.domain, problem.loss)):
        if not is_registered(function, part):
            return f"{type(part).__name__} has no losses.{function.__name__}: no dual value"
    for part, _ in penalties.parts_of(problem.penalty, problem.p):
        if not is_registered(penalties.conjugate, part):
            return f"{type(part).__name__} has no penalties.conjugate: no dual value"
    return ""


def _onto_constraint(problem: Problem, w: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The point nearest to (w, v) with ``A w + B v = b``; a v inside a set stays as it is."""
    A = to_scipy(problem.A)
    parts = penalties.parts_of(problem.penalty, problem.p)
    if problem.B is None or any(isinstance(part, penalties.SETS) for part, _ in parts):
        return w - _least_squares(A, problem.residual(w, v)), v
    step = _least_squares(sp.hstack([A, to_scipy(problem.B)], format="csr"), problem.residual(w, v))
    return w - step[: problem.d], v - step[problem.d :]


def into_domain(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """A theta near this one whose ``B'theta`` lies in the domain of phi*, as far as a B with more columns lets it."""
    for _ in range(REPAIRS):
        wanted = problem.times_B_transposed(theta)
        change = penalties.domain(problem.penalty, wanted) - wanted
        if problem.B is None:
            return theta - change
        if _largest_entry(change) <= 0.1 * ROUNDING * _size_of_B_transposed(problem, theta):
            break
        theta = theta + _least_squares(to_scipy(problem.B).T.tocsr(), change)
    return theta


def inside(problem: Problem, theta: np.ndarray) -> bool:
    """Whether the conjugate of the penalty is finite."""
    wanted = problem.times_B_transposed(theta)
    outside = _largest_entry(penalties.domain(problem.penalty, wanted) - wanted)
    return outside <= ROUNDING * _size_of_B_transposed(problem, theta)


def _size_of_B_transposed(problem: Problem, theta: np.ndarray) -> float:
    """How large ``B'theta`` is before its terms cancel: what rounding is measured by."""
    return _largest_entry(theta if problem.B is None else abs(to_scipy(problem.B)).T @ np.abs(theta))


def largest(holds: Callable[[float], bool], most: float) -> float:
    """The largest t between 0 and most for which something holds that holds for 0 and for whatever lies below."""
    least = 0.0
    if holds(most):
        return most
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        least, most = (middle, most) if holds(middle) else (least, middle)
    return least


def bounds(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The box that w must stay in."""
    if isinstance(problem.w_set, penalties.NonNegative):
        bounds: Any = (0.0, math.inf)
    elif isinstance(problem.w_set, penalties.Box):
        bounds = (problem.w_set.lower, problem.w_set.upper)
    else:
        bounds = (-math.inf, math.inf)
    return tuple(np.broadcast_to(np.asarray(bound, dtype=float), (problem.d,)) for bound in bounds)  # type: ignore


def least(gamma: np.ndarray, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """``min over lower <= w <= upper of sum_j gamma_j w_j^2 / 2 + q_j w_j``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(gamma > 0.0, -q / gamma, np.where(q > 0.0, lower, np.where(q < 0.0, upper, 0.0)))
    best = np.clip(best, lower, upper)
    return float(np.sum(np.where(best == 0.0, 0.0, 0.5 * gamma * best * best + q * best)))


def data_pull(problem: Problem, s: np.ndarray) -> np.ndarray:
    """``X'(c s)/n``."""
    out = np.empty(problem.d)
    products.transposed_product(problem.rows.X, problem.rows.c * s / problem.n, out)
    return out


def _sizes(problem: Problem, s: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """How large the two parts of q may be with an s and a theta of this size: what rounding is measured by."""
    of_rows, of_A = problem.column_sizes
    return _largest_entry(s) * of_rows + _largest_entry(theta) * of_A


def _repair(
    problem: Problem, s: np.ndarray, theta: np.ndarray, low: np.ndarray, high: np.ndarray, unbounded: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Move s and theta until ``q = X'(c s)/n - A'theta`` is what the unbounded coordinates allow.

    Each round is a least-squares step in which a dual coordinate counts by the square of its room to the ends of its
    domain. What crosses an end at 0, which no t mends, is put back, and the next round mends the rest.
    """
    X, A = matrices.columns(problem.rows.X, unbounded), to_scipy(problem.A)[:, np.flatnonzero(unbounded)]
    lower, upper = (bound[unbounded] for bound in bounds(problem))
    weight = problem.rows.c / problem.n
    rounding = 0.1 * ROUNDING * _sizes(problem, s, theta)[unbounded]
    near = functools.partial(into_domain, problem)
    for _ in range(REPAIRS):
        pull = np.empty(X.shape[1])
        products.transposed_product(X, weight * s, pull)
        lacking = _lacking(pull - A.T @ theta, lower, upper)
        if np.all(np.abs(lacking) <= rounding):
            break
        room, room_theta = _room(lambda s: np.clip(s, low, high), s), _room(near, theta)
        curvature = products.gram(X, weight * room) + (A.T @ sp.diags_array(room_theta) @ A).toarray()
        scale = np.sqrt(np.maximum(np.diag(curvature), np.finfo(float).tiny))
        step = np.linalg.lstsq(curvature / np.outer(scale, scale), lacking / scale, rcond=1e-13)[0] / scale
        along = np.empty(problem.n)
        products.product(X, step, along)
        s = np.clip(s - room * along, FAR * low, FAR * high)
        theta = FAR * near((theta + room_theta * (A @ step)) / FAR)
    return s, theta


def _lacking(q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The part of q along which a w without ridge between its bounds would run away."""
    return np.where(np.where(q > 0.0, np.isneginf(lower), np.isposinf(upper)), q, 0.0)


def _room(domain: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """The square of the distance to the nearer end of the domain, at most of the largest entry."""
    most = _largest_entry(x)
    room = np.minimum(np.abs(domain(x + most) - x), np.abs(domain(x - most) - x))
    return np.maximum(room, REACH * np.abs(x)) ** 2


def _least_squares(matrix: sp.csr_array, rhs: np.ndarray) -> np.ndarray:
    """The smallest x with ``|matrix x - rhs|`` least."""
    return sp.linalg.lsqr(matrix, rhs, atol=0.0, btol=0.0, conlim=0.0)[0]


def _largest_entry(x: np.ndarray) -> float:
    return float(np.max(np.abs(x), initial=0.0))
