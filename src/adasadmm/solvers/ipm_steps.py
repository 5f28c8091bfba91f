"""The kernels of the interior-point method: what one iteration does with each box term.

For a term of row value u (`box_terms`) the conditions of optimality are

    u - kink - flex t = p - q,    p (high - t) = 0,  q (t - low) = 0,    p, q >= 0.

An iteration replaces both zeros by sigma > 0: the mean complementarity times the share of the term. With
``a = high - t`` and ``b = t - low``, Newton's step solves for dt,

    J dt = du + G,    J = flex + p/a + q/b,    G = u - kink - flex t - sigma/a + sigma/b,

so that the term adds 1/J to the weight of its row in Newton's matrix, and G/J to the row's pull. An infinite end
has no p or no q. The small number ``soft`` of its row is added to J: Newton's matrix stays regular, and the limit does
not change, as in the method of multipliers. If both ends are infinite, the term is an equation, and J is that number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._core.jit import compiled
from .box_terms import Terms

__all__ = [
    "Step",
    "Variables",
    "add_duals",
    "amend",
    "assemble",
    "complementarity",
    "cost_of_gaps",
    "cost_of_residual",
    "direct",
    "move",
    "settle",
    "start",
    "turn",
]


class Variables(NamedTuple):
    """The dual variable t of each term, its distances a and b to the ends, and their multipliers p and q."""

    t: np.ndarray
    a: np.ndarray
    b: np.ndarray
    p: np.ndarray
    q: np.ndarray

    @classmethod
    def zeros(cls, number: int) -> Variables:
        return cls(*(np.zeros(number) for _ in cls._fields))


class Step(NamedTuple):
    """J and G of each term, the direction (dt, dp, dq), and the products of directions that the corrector needs."""

    J: np.ndarray
    G: np.ndarray
    dt: np.ndarray
    dp: np.ndarray
    dq: np.ndarray
    over_a: np.ndarray
    over_b: np.ndarray

    @classmethod
    def zeros(cls, number: int) -> Step:
        return cls(*(np.zeros(number) for _ in cls._fields))


@compiled
def start(terms: Terms, x: Variables, u, reach, mean):
    """The first t, p and q: t in the middle of its box, p and q on the central path.

    If one end is infinite, p or q is at least the reach of its row, the size to be expected of u.
    """
    for k in range(len(x.t)):
        low, high, flex, sigma = terms.low[k], terms.high[k], terms.flex[k], mean * terms.share[k]
        off = u[terms.row[k]] - terms.kink[k]
        if math.isinf(low) and math.isinf(high):
            continue
        if math.isinf(low) or math.isinf(high):
            side = off if math.isinf(low) else -off
            room = max(side, reach[terms.row[k]])
            if flex > 0.0:  # room = side + flex sigma / room
                root = math.sqrt(side * side + 4.0 * flex * sigma)
                room = 0.5 * (side + root) if side > 0.0 else 2.0 * flex * sigma / (root - side)
            if math.isinf(low):
                x.p[k], x.a[k] = room, sigma / room
                x.t[k] = high - x.a[k]
            else:
                x.q[k], x.b[k] = room, sigma / room
                x.t[k] = low + x.b[k]
            continue
        x.a[k] = x.b[k] = 0.5 * (high - low)
        x.t[k] = 0.5 * (high + low)
        x.p[k] = x.q[k] = sigma / x.a[k]


@compiled
def assemble(terms: Terms, x: Variables, u, step: Step, mean, soft, weight, pull):
    """J and G of each term; add 1/J to the weight and G/J to the pull of its row."""
    for k in range(len(x.t)):
        row, flex, sigma = terms.row[k], terms.flex[k], mean * terms.share[k]
        J = flex + soft[row]
        G = u[row] - terms.kink[k] - flex * x.t[k]
        if math.isfinite(terms.high[k]):
            J += x.p[k] / x.a[k]
            G -= (sigma + step.over_a[k]) / x.a[k]
        if math.isfinite(terms.low[k]):
            J += x.q[k] / x.b[k]
            G += (sigma - step.over_b[k]) / x.b[k]
        step.J[k], step.G[k] = J, G
        weight[row] += 1.0 / J
        pull[row] += G / J


@compiled
def turn(terms: Terms, du, step: Step):
    """The dt that belongs to a du."""
    for k in range(len(step.dt)):
        step.dt[k] = (du[terms.row[k]] + step.G[k]) / step.J[k]


@compiled
def amend(terms: Terms, change, step: Step):
    """Add to dt what belongs to a change of du: more precise than dt anew if J is small."""
    for k in range(len(step.dt)):
        step.dt[k] += change[terms.row[k]] / step.J[k]


@compiled
def direct(terms: Terms, x: Variables, step: Step, mean):
    """The dp and dq that belong to dt; returns the length of the step to the boundary."""
    most = math.inf
    for k in range(len(x.t)):
        dt, sigma = step.dt[k], mean * terms.share[k]
        if math.isfinite(terms.high[k]):
            dp = (sigma + step.over_a[k] + x.p[k] * dt) / x.a[k] - x.p[k]
            step.dp[k] = dp
            if dp < 0.0:
                most = min(most, -x.p[k] / dp)
            if dt > 0.0:
                most = min(most, x.a[k] / dt)
        if math.isfinite(terms.low[k]):
            dq = (sigma - step.over_b[k] - x.q[k] * dt) / x.b[k] - x.q[k]
            step.dq[k] = dq
            if dq < 0.0:
                most = min(most, -x.q[k] / dq)
            if dt < 0.0:
                most = min(most, -x.b[k] / dt)
    return most


@compiled
def add_duals(terms: Terms, t, out):
    """Add the t of each term to the entry of its row."""
    for k in range(len(t)):
        out[terms.row[k]] += t[k]


@compiled
def settle(terms: Terms, inside, n, v):
    """Put v onto the kink where t lies inside its box, and inside the bound where a term is a bound."""
    for k in range(len(inside)):
        row = terms.row[k] - n
        if row >= 0:
            if inside[k]:
                v[row] = terms.kink[k]
            elif math.isinf(terms.low[k]):
                v[row] = max(v[row], terms.kink[k])
            elif math.isinf(terms.high[k]):
                v[row] = min(v[row], terms.kink[k])


@compiled
def cost_of_gaps(terms: Terms, x: Variables, u):
    """What the errors of u - kink - flex t = p - q may cost the primal value."""
    total = 0.0
    for k in range(len(x.t)):
        error = u[terms.row[k]] - terms.kink[k] - terms.flex[k] * x.t[k] - x.p[k] + x.q[k]
        slope = abs(x.t[k])
        if math.isfinite(terms.high[k]) and math.isfinite(terms.low[k]):
            slope = max(x.a[k], x.b[k])
        total += abs(error) * slope
    return total


@compiled
def cost_of_residual(residual, w, least, gamma):
    """What the gradient of the Lagrangian may cost the dual value, for coordinates of at least some size."""
    total = 0.0
    for j in range(len(w)):
        size = abs(residual[j])
        cost = size * (abs(w[j]) + least[j])
        if gamma[j] > 0.0:
            cost = min(cost, 0.5 * size * size / gamma[j])
        total += cost
    return total


@compiled
def complementarity(terms: Terms, x: Variables, step: Step, length):
    """The sum of p a + q b after a step of this length; also the products of directions, for the corrector."""
    total = 0.0
    for k in range(len(x.t)):
        if math.isfinite(terms.high[k]):
            total += (x.p[k] + length * step.dp[k]) * (x.a[k] - length * step.dt[k])
            step.over_a[k] = step.dp[k] * step.dt[k]
        if math.isfinite(terms.low[k]):
            total += (x.q[k] + length * step.dq[k]) * (x.b[k] + length * step.dt[k])
            step.over_b[k] = step.dq[k] * step.dt[k]
    return total


@compiled
def move(terms: Terms, x: Variables, step: Step, length, inside):
    """Take the step. ``inside`` tells where t tends to a point inside its box.

    Towards the solution one of p and a tends to 0 and its ratio to the value before the step with it, while the other
    ratio tends to 1 (Tapia's indicators); no units are involved.
    """
    total = 0.0
    for k in range(len(x.t)):
        inner = True
        if math.isfinite(terms.high[k]):
            p, a = x.p[k] + length * step.dp[k], x.a[k] - length * step.dt[k]
            inner = inner and p * x.a[k] < a * x.p[k]
            x.p[k], x.a[k] = p, a
            total += p * a
        if math.isfinite(terms.low[k]):
            q, b = x.q[k] + length * step.dq[k], x.b[k] + length * step.dt[k]
            inner = inner and q * x.b[k] < b * x.q[k]
            x.q[k], x.b[k] = q, b
            total += q * b
        x.t[k] += length * step.dt[k]
        if math.isfinite(terms.high[k]) and math.isfinite(terms.low[k]):
            x.t[k] = terms.high[k] - x.a[k] if x.a[k] < x.b[k] else terms.low[k] + x.b[k]
        inside[k] = inner
    return total
