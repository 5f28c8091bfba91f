"""The kernels of the interior-point method: what one iteration does with each box term, and with cones (`cone_terms`).

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

from .. import losses
from .._core.jit import compiled
from . import cone_terms
from .box_terms import Terms
from .cone_terms import ConeStep, ConeVariables

__all__ = [
    "Step",
    "Variables",
    "add_duals",
    "amend",
    "assemble",
    "complementarity",
    "cost_of_gaps",
    "cost_of_residual",
    "damped",
    "direct",
    "move",
    "safe_length",
    "settle",
    "start",
    "sum_aimed_at",
    "turn",
]

TO_BOUNDARY = 0.99  # of the way to the boundary
BEHIND, LEAST = (
    0.1,
    1e-3,
)  # of what the other conditions may cost, after and before the predictor: least complementarity
MOST_GROWTH = 10.0  # of complementarity in one iteration
CURVED = 3.0  # times the expected change of the slope along a step is the most that is accepted
HALVINGS = 40
SHORT = 0.3  # of the length to the boundary: for a shorter step, the next one is damped
FIRST_DAMPING, MORE_DAMPING, LESS_DAMPING = 1e-6, 10.0, 0.1
NO_DAMPING = 1e-14  # falls below this only after many good steps: without any, flat losses would let the next one fail


class Variables(NamedTuple):
    """The dual variable t of each term, its distances a and b to the ends, and their multipliers p and q.

    ``inside`` tells where t tends to a point inside its box.
    """

    t: np.ndarray
    a: np.ndarray
    b: np.ndarray
    p: np.ndarray
    q: np.ndarray
    inside: np.ndarray
    cones: ConeVariables

    @classmethod
    def zeros(cls, terms: Terms) -> Variables:
        number = len(terms.row)
        return cls._make([*np.zeros((5, number)), np.zeros(number, bool), ConeVariables.zeros(terms.cones)])

    def named(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        of_cones = {f"cone_{name}": array for name, array in self.cones._asdict().items()}
        return {name: array for name, array in self._asdict().items() if name != "cones"} | of_cones


class Step(NamedTuple):
    """J and G of each term, the direction (dt, dp, dq), and the products of directions that the corrector needs."""

    J: np.ndarray
    G: np.ndarray
    dt: np.ndarray
    dp: np.ndarray
    dq: np.ndarray
    over_a: np.ndarray
    over_b: np.ndarray
    cones: ConeStep

    @classmethod
    def zeros(cls, terms: Terms) -> Step:
        return cls._make([*np.zeros((7, len(terms.row))), ConeStep.zeros(terms.cones)])

    def forget_products(self) -> None:
        for products in (self.over_a, self.over_b, self.cones.product, self.cones.product_head):
            products[:] = 0.0


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
    cone_terms.start_cones(terms.cones, x.cones, mean)


@compiled
def assemble(terms: Terms, x: Variables, u, step: Step, mean, soft, weight, bends, pull):
    """J and G of each term; add 1/J to the weight and G/J to the pull of its row. ``bends`` is for `coupling`."""
    for k in range(len(x.t)):
        row, flex, sigma = terms.row[k], terms.flex[k], mean * terms.share[k]
        J = flex + soft[row]
        G = u[row] - terms.kink[k] - flex * x.t[k]
        if math.isfinite(terms.high[k]):
            per_a = 1.0 / x.a[k]
            J += x.p[k] * per_a
            G -= (sigma + step.over_a[k]) * per_a
        if math.isfinite(terms.low[k]):
            per_b = 1.0 / x.b[k]
            J += x.q[k] * per_b
            G += (sigma - step.over_b[k]) * per_b
        step.J[k], step.G[k] = J, G
        per_J = 1.0 / J
        weight[row] += per_J
        pull[row] += G * per_J
    cone_terms.assemble_cones(terms.cones, x.cones, u, step.cones, mean, soft, weight, bends, pull)


@compiled
def turn(terms: Terms, du, step: Step):
    """The dt that belongs to a du."""
    for k in range(len(step.dt)):
        step.dt[k] = (du[terms.row[k]] + step.G[k]) / step.J[k]
    cone_terms.turn_cones(terms.cones, du, step.cones, True)


@compiled
def amend(terms: Terms, change, step: Step):
    """Add to dt what belongs to a change of du: more precise than dt anew if J is small."""
    for k in range(len(step.dt)):
        step.dt[k] += change[terms.row[k]] / step.J[k]
    cone_terms.turn_cones(terms.cones, change, step.cones, False)


@compiled
def direct(terms: Terms, x: Variables, step: Step, mean):
    """The dp and dq that belong to dt; returns the length of the step to the boundary."""
    most = math.inf
    for k in range(len(x.t)):
        dt, sigma = step.dt[k], mean * terms.share[k]
        if math.isfinite(terms.high[k]):
            dp = (sigma + step.over_a[k] + x.p[k] * dt) / x.a[k] - x.p[k]
            step.dp[k] = dp
            if dp < 0.0 and x.p[k] < -most * dp:  # divisions would take most of the time
                most = -x.p[k] / dp
            if dt > 0.0 and x.a[k] < most * dt:
                most = x.a[k] / dt
        if math.isfinite(terms.low[k]):
            dq = (sigma - step.over_b[k] - x.q[k] * dt) / x.b[k] - x.q[k]
            step.dq[k] = dq
            if dq < 0.0 and x.q[k] < -most * dq:
                most = -x.q[k] / dq
            if dt < 0.0 and x.b[k] < -most * dt:
                most = -x.b[k] / dt
    return min(most, cone_terms.direct_cones(terms.cones, x.cones, step.cones))


@compiled
def add_duals(terms: Terms, t, t_of_cones, out):
    """Add the t of each term to the entry of its row."""
    for k in range(len(t)):
        out[terms.row[k]] += t[k]
    for k in range(len(t_of_cones)):
        out[terms.cones.row[k]] += t_of_cones[k]


@compiled
def settle(terms: Terms, x: Variables, n, v):
    """Put v onto the kink where t lies inside its box, and inside the bound where a term is a bound."""
    cones = terms.cones
    for g in range(len(cones.radius)):
        if x.cones.inside[g]:
            for k in range(cones.starts[g], cones.starts[g + 1]):
                v[cones.row[k] - n] = 0.0
    for k in range(len(x.t)):
        row = terms.row[k] - n
        if row >= 0:
            if x.inside[k]:
                v[row] = terms.kink[k]
            elif math.isinf(terms.low[k]):
                v[row] = max(v[row], terms.kink[k])
            elif math.isinf(terms.high[k]):
                v[row] = min(v[row], terms.kink[k])


@compiled
def cost_of_gaps(terms: Terms, x: Variables, u):
    """Bound the cost of the errors of u - kink - flex t = p - q in the primal value."""
    total = 0.0
    for k in range(len(x.t)):
        error = u[terms.row[k]] - terms.kink[k] - terms.flex[k] * x.t[k] - x.p[k] + x.q[k]
        slope = abs(x.t[k])
        if math.isfinite(terms.high[k]) and math.isfinite(terms.low[k]):
            slope = max(x.a[k], x.b[k])
        total += abs(error) * slope
    return total + cone_terms.cost_of_gaps_of_cones(terms.cones, x.cones, u)


@compiled
def cost_of_residual(residual, w, least, gamma):
    """Bound the cost of the gradient of the Lagrangian in the dual value, for coordinates of at least some size."""
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
    return total + cone_terms.complementarity_of_cones(terms.cones, x.cones, step.cones, length)


@compiled
def sum_aimed_at(gap, after, length, others):
    """The complementarity that the corrector aims at, from what the predictor's step would leave of it.

    Newton's matrix would become singular if complementarity ran ahead of the other conditions.
    """
    wanted = gap * min(1.0, max(after / gap, 0.0)) ** 3
    least = (BEHIND * (1.0 - length) + LEAST) * others
    return max(wanted, min(least, MOST_GROWTH * gap))


@compiled
def safe_length(rows, z, dz, slopes, curved, gap, length):
    """A length at which the slope of the loss along the step has changed about as its second derivatives say.

    ``rows`` holds the loss, the targets and the weights; ``slopes`` and ``curved`` are the weighted derivatives at z.
    """
    loss, y, weight = rows
    first, curvature = 0.0, 0.0
    for i in range(len(dz)):
        first += slopes[i] * dz[i]
        curvature += curved[i] * dz[i] * dz[i]
    for _ in range(HALVINGS):
        change = -first
        for i in range(len(dz)):
            if weight[i] > 0.0:
                change += weight[i] * losses.slope(loss, z[i] + length * dz[i], y[i]) * dz[i]
        if length * change <= CURVED * length * length * curvature + gap:
            return length
        length *= 0.5
    return length


@compiled
def damped(damping, length, most):
    """The damping of the next step, which rises after a step that was much shorter than the way to the boundary."""
    if length < SHORT * most:
        return MORE_DAMPING * damping if damping > 0.0 else FIRST_DAMPING
    return LESS_DAMPING * damping if damping > NO_DAMPING else 0.0


@compiled
def move(terms: Terms, x: Variables, step: Step, length):
    """Take the step; returns the complementarity.

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
        x.inside[k] = inner
    return total + cone_terms.move_cones(terms.cones, x.cones, step.cones, length)
