"""One iteration of the interior-point method where X has one entry in each row and A is banded, in compiled code.

The terms are those of `ipm_steps`. Newton's direction is found for w and for the t of A's rows together
(`linalg.banded`), so that the latter lose no digits where J is small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import losses
from .._core.jit import compiled, inlined
from ..linalg import banded
from ..linalg.banded import Bands, Saddle
from ..problem import Problem
from . import ipm_steps as steps
from .box_terms import Terms, terms_of
from .ipm_steps import Step, Variables
from .ipm_units import Units

__all__ = ["Iterate", "Model", "Room", "direction", "find_zeros", "fuse", "model_of", "move", "room_for"]

REFINEMENTS = 3  # with one factor
ROUGH, REFINED = 0.1, 1e-3  # of complementarity: what rounding errors of predictor and corrector may cost
NO_WEIGHT, ALMOST_RIGID = 1e100, 1e-6
SMALL = 1e-3  # of its reach: a coordinate below this counts as of this size


class Model(NamedTuple):
    """What does not change. Row i of X is ``entry[i]`` in column ``column[i]``; ``ends`` counts finite ends."""

    y: np.ndarray
    weight: np.ndarray
    column: np.ndarray
    entry: np.ndarray
    gamma: np.ndarray
    terms: Terms
    limit: np.ndarray
    least: np.ndarray
    curvature: np.ndarray
    ends: float


class Iterate(NamedTuple):
    """A point: w, ``u = (X w, A w)``, the variables of the terms, and weighted derivatives of a smooth loss at X w."""

    w: np.ndarray
    u: np.ndarray
    x: Variables
    slopes: np.ndarray
    curved: np.ndarray


class Room(NamedTuple):
    """Arrays for one iteration: right-hand sides f and g, the direction, and what it leaves of both equations."""

    step: Step
    f: np.ndarray
    residual: np.ndarray
    dw: np.ndarray
    more_w: np.ndarray
    left_w: np.ndarray
    g: np.ndarray
    dt: np.ndarray
    more_t: np.ndarray
    left_t: np.ndarray
    du: np.ndarray
    duals: np.ndarray
    weight: np.ndarray
    pull: np.ndarray
    zeros: np.ndarray


def model_of(problem: Problem, entries: tuple[np.ndarray, np.ndarray], limit: np.ndarray, units: Units) -> Model:
    terms = terms_of(problem)
    finite = np.isfinite(terms.low).astype(float) + np.isfinite(terms.high)
    ends, least = float(terms.share @ finite), SMALL * units.reach_of_w
    rows = problem.rows.y, problem.rows.c / problem.n, *entries
    return Model(*rows, problem.gamma, terms, limit, least, units.curvature, ends)


def room_for(problem: Problem, terms: Terms) -> Room:
    n, d, m = problem.n, problem.d, problem.m
    sizes = [d] * 5 + [m] * 4 + [n + m] * 5
    return Room(Step.zeros(terms), *(np.zeros(size) for size in sizes))


@compiled
def direction(model: Model, saddle: Saddle, now: Iterate, gap, damping, room: Room):
    """Mehrotra's predictor and corrector, with one factorisation, for the residual that ``room`` holds.

    Returns the length of the step: 1, or most of the way to the boundary.
    """
    step = room.step
    step.over_a[:] = 0.0
    step.over_b[:] = 0.0
    assemble(model, now, 0.0, room)
    set_diagonals(model, saddle, damping, room)
    banded.factor(saddle)
    solve(model, saddle, now.w, ROUGH * gap, room)
    sigma = centre(model, now, gap, room)
    assemble(model, now, sigma, room)
    solve(model, saddle, now.w, REFINED * gap, room)
    return min(1.0, steps.TO_BOUNDARY * steps.direct(model.terms, now.x, step, sigma))


@inlined
def assemble(model, now, sigma, room):
    """The weights of all rows, and the right-hand sides for this sigma."""
    n, f, g, weight, pull = len(model.column), room.f, room.g, room.weight, room.pull
    weight[:n] = now.curved
    weight[n:] = 0.0
    pull[:] = 0.0
    steps.assemble(model.terms, now.x, now.u, room.step, sigma, room.zeros, weight, room.zeros, pull)
    for j in range(len(f)):
        f[j] = -room.residual[j]
    for i in range(n):
        f[model.column[i]] -= model.entry[i] * pull[i]
    for k in range(len(g)):
        g[k] = -pull[n + k] / weight[n + k]


@inlined
def set_diagonals(model, saddle, damping, room):
    n = len(model.column)
    for j in range(len(saddle.H)):
        saddle.H[j] = model.gamma[j] + damping * model.curvature[j]
    for i in range(n):
        saddle.H[model.column[i]] += room.weight[i] * model.entry[i] * model.entry[i]
    for k in range(len(saddle.J)):
        saddle.J[k] = 1.0 / room.weight[n + k]


@inlined
def solve(model, saddle, w, enough, room):
    """The direction, with rounding errors that cost at most ``enough``; if need be, by the other factor."""
    for _ in range(2):
        banded.solve(saddle, room.f, room.g, room.dw, room.dt)
        if refined(model, saddle, w, enough, room) or saddle.whole[0]:
            break
        saddle.whole[0] = True
        banded.factor(saddle)
    turn(model, saddle, room)


@inlined
def turn(model, saddle, room):
    """The changes of u, and of the t of all terms: those of A's rows are known already."""
    n, step = len(model.column), room.step
    for i in range(n):
        room.du[i] = model.entry[i] * room.dw[model.column[i]]
    for k in range(len(room.dt)):
        room.du[n + k] = saddle.J[k] * room.dt[k] + room.g[k]
    for k in range(len(step.dt)):
        row = model.terms.row[k]
        step.dt[k] = room.dt[row - n] if row >= n else (room.du[row] + step.G[k]) / step.J[k]


@inlined
def centre(model, now, gap, room):
    """The sigma of the corrector, from the predictor's step."""
    length = min(1.0, steps.direct(model.terms, now.x, room.step, 0.0))
    after = steps.complementarity(model.terms, now.x, room.step, length)
    return steps.sum_aimed_at(gap, after, length, off_by(model, now, room)) / model.ends


@inlined
def off_by(model, now, room):
    """What the gradient of the Lagrangian and the distance of u from ``p - q`` may cost."""
    of_w = steps.cost_of_residual(room.residual, now.w, model.least, model.gamma)
    return of_w + steps.cost_of_gaps(model.terms, now.x, now.u)


@inlined
def refined(model, saddle, w, enough, room):
    """Add corrections to the solution until rounding errors cost little; whether that is reached."""
    for attempt in range(REFINEMENTS + 1):
        banded.left_over(saddle, room.f, room.g, room.dw, room.dt, room.left_w, room.left_t)
        off = steps.cost_of_residual(room.left_w, w, model.least, model.gamma)
        for k in range(len(room.left_t)):
            off += abs(room.left_t[k]) * model.limit[k]
        if off <= enough:
            return True
        if attempt == REFINEMENTS or not off < np.inf:
            return False
        banded.solve(saddle, room.left_w, room.left_t, room.more_w, room.more_t)
        for j in range(len(room.dw)):
            room.dw[j] += room.more_w[j]
        for k in range(len(room.dt)):
            room.dt[k] += room.more_t[k]
    return False


@inlined
def set_u(model, A, now):
    """u follows from w, so that no errors add up."""
    n = len(model.column)
    for i in range(n):
        now.u[i] = model.entry[i] * now.w[model.column[i]]
    banded.times(A, now.w, now.u[n:])


@compiled
def find_zeros(model: Model, A, now: Iterate, zero):
    """Where ``A w`` tends to 0: there t is further from the ends of its box than p and q from 0, each in its unit.

    On the central path, both products are equal. The unit of p and q is the size of the terms of ``A w``.
    """
    x, own = now.x, len(now.x.t) - len(zero)
    for k in range(len(zero)):
        size = 0.0
        for c in range(A.values.shape[1]):
            size += abs(A.values[k, c] * now.w[A.first[k] + c])
        p, q, a, b = x.p[own + k], x.q[own + k], x.a[own + k], x.b[own + k]
        zero[k] = (p + q) * model.limit[k] < min(a, b) * size


@compiled
def fuse(model: Model, saddle: Saddle, zero, now: Iterate, room: Room):
    """Move to the nearest w, in the metric H, at which the rows of ``A w`` that are to be 0 are 0.

    The multipliers do not change. Repetition leaves nothing but rounding errors.
    """
    n = len(model.y)
    room.f[:] = 0.0
    for k in range(len(zero)):
        saddle.J[k] = saddle.J[k] * ALMOST_RIGID if zero[k] else NO_WEIGHT
    banded.factor(saddle)
    for _ in range(REFINEMENTS):
        for k in range(len(zero)):
            room.g[k] = -now.u[n + k] if zero[k] else 0.0
        banded.solve(saddle, room.f, room.g, room.dw, room.dt)
        for j in range(len(now.w)):
            now.w[j] += room.dw[j]
        set_u(model, saddle.A, now)


# --- with the loss ---------------------------------------------------------------------------------------------------


@compiled
def move(loss, smooth, model: Model, A: Bands, now: Iterate, most, gap, damping, room: Room):
    """A step of at most this length; ``smooth`` is the loss if it enters by derivatives, None if it consists of terms.

    Returns complementarity and damping after it, what the other conditions may cost, and the objective. This function
    is the only one that is compiled for each loss.
    """
    n, length = len(model.y), most
    if smooth is not None:
        rows = smooth, model.y, model.weight
        length = steps.safe_length(rows, now.u[:n], room.du[:n], now.slopes, now.curved, gap, most)
    for j in range(len(now.w)):
        now.w[j] += length * room.dw[j]
    set_u(model, A, now)
    gap = steps.move(model.terms, now.x, room.step, length)
    derive(smooth, model, A, now, room)
    return gap, steps.damped(damping, length, most), off_by(model, now, room), objective(loss, model, now)


@inlined
def derive(smooth, model, A, now, room):
    """The derivatives of the loss, the multipliers of all rows, and the gradient of the Lagrangian."""
    n, duals, residual = len(model.y), room.duals, room.residual
    if smooth is not None:
        losses.derivatives(smooth, now.u[:n], model.y, model.weight, now.slopes, now.curved)
    duals[:n] = now.slopes
    duals[n:] = 0.0
    steps.add_duals(model.terms, now.x.t, now.x.cones.t, duals)
    for j in range(len(residual)):
        residual[j] = model.gamma[j] * now.w[j]
    for i in range(n):
        residual[model.column[i]] += model.entry[i] * duals[i]
    banded.add_transposed(A, duals[n:], residual)


@inlined
def objective(loss, model, now):
    n, total = len(model.y), 0.0
    for i in range(n):
        if model.weight[i] > 0.0:
            total += model.weight[i] * losses.value(loss, now.u[i], model.y[i])
    for j in range(len(now.w)):
        total += 0.5 * model.gamma[j] * now.w[j] * now.w[j]
    for k in range(len(model.limit)):
        total += model.limit[k] * abs(now.u[n + k])
    return total
