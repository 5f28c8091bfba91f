"""The steps of the interior-point method: what one iteration does with all box terms, and with cones (`cone_terms`).

For a term of row value u (`box_terms`) the conditions of optimality are

    u - kink - flex t = p - q,    p (high - t) = 0,  q (t - low) = 0,    p, q >= 0.

An iteration replaces both zeros by sigma > 0: the mean complementarity times the share of the term. With
``a = high - t`` and ``b = t - low``, Newton's step solves for dt,

    J dt = du + G,    J = flex + p/a + q/b,    G = u - kink - flex t - sigma/a + sigma/b,

so that the term adds 1/J to the weight of its row in Newton's matrix, and G/J to the row's pull. The distances a and b
are the rows of the array ``room``, their multipliers p and q those of ``force``. An infinite end is far away, and its
force stays 0. The small number ``soft`` of its row is added to J: Newton's matrix stays regular, and the limit does not
change, as in the method of multipliers. If both ends are infinite, the term is an equation, and J is that number.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ... import losses
from ...linalg.line_search import halved
from ...problem import Problem
from ...rows import products
from ..units import at_zero
from . import cone_terms
from .box_terms import Terms
from .cone_terms import ConeStep, ConeVariables

# --- units -----------------------------------------------------------------------------------------------------------


FIRST_GAP = 10.0  # times the loss at 0 is the first complementarity, if the loss has kinks
HOLD, HOLD_EMPTY = 1e-12, 1e-8  # of a coordinate's curvature: its proximal term if it has no ridge; if it has no data


@dataclasses.dataclass(frozen=True)
class Units:
    """Sizes that no unit of features or targets changes.

    Attributes
    ----------
    depth : float
        The loss at w = 0, above the least possible loss. 0 means that w = 0 cannot be improved.
    unit : float
        Squared slopes of the loss, relative to the depth.
    curvature : ndarray of shape (d,)
        The second derivative of the loss for each coordinate, roughly.
    reach_of_w : ndarray of shape (d,)
        How far a coordinate has to move for the predictions to cross the range of the loss.
    """

    problem: Problem
    depth: float
    unit: float
    curvature: np.ndarray
    reach_of_w: np.ndarray

    @functools.cached_property
    def reach(self) -> np.ndarray:
        """As ``reach_of_w``, for each row of X, and after these for each row of A."""
        problem, weight = self.problem, self.problem.rows.c / self.problem.n
        of_A = np.empty(problem.m)
        products.product(problem.A._replace(data=np.abs(problem.A.data)), self.reach_of_w, of_A)
        with np.errstate(divide="ignore"):
            of_X = np.where(weight > 0.0, np.sqrt((self.depth or 1.0) / (self.unit * weight)), 1.0)
        return np.concatenate([of_X, np.where(of_A > 0.0, of_A, 1.0)])

    @functools.cached_property
    def softness(self) -> np.ndarray:
        """How far a row of X or A moves per unit of its multiplier."""
        return self.reach**2 / (self.depth or 1.0)

    @functools.cached_property
    def hold(self) -> np.ndarray:
        """A small proximal term for each coordinate without a ridge."""
        problem, data = self.problem, self.curvature > 0.0
        diagonal = self.curvature + products.gram_diagonal(problem.A, 1.0 / self.softness[problem.n :])
        hold = np.where(data, HOLD, HOLD_EMPTY) * np.where(diagonal > 0.0, diagonal, 1.0 / HOLD_EMPTY)
        return np.where(problem.gamma > 0.0, 0.0, hold)


def units_of(problem: Problem) -> Units:
    """The units of a problem with rows in memory."""
    depth, unit = at_zero(problem)
    depth = depth if 0.0 < depth < math.inf else 0.0
    curvature = unit * products.gram_diagonal(problem.rows.X, problem.rows.c / problem.n)
    most = float(np.max(curvature, initial=0.0)) or 1.0
    return Units(problem, depth, unit, curvature, np.sqrt((depth or 1.0) / np.where(curvature > 0.0, curvature, most)))


FAR = 1e150  # the distance of an infinite end
SIDES = np.array([[-1.0], [1.0]])  # how the distances to the high end and to the low end change with t
TO_BOUNDARY = 0.99  # of the way to the boundary
BEHIND, LEAST = (
    0.1,
    1e-3,
)  # of what the other conditions may cost, after and before the predictor: least complementarity
MOST_GROWTH = 10.0  # of complementarity in one iteration
CURVED = 3.0  # times the expected change of the slope along a step is the most that is accepted
SHORT = 0.3  # of the length to the boundary: for a shorter step, the next one is damped
FIRST_DAMPING, MORE_DAMPING, LESS_DAMPING = 1e-6, 10.0, 0.1
NO_DAMPING = 1e-14  # falls below this only after many good steps: without any, flat losses would let the next one fail


class Variables(NamedTuple):
    """The dual variable t of each term, its distances to the high end and to the low end, and their multipliers.

    ``inside`` tells where t tends to a point inside its box.
    """

    t: np.ndarray
    room: np.ndarray
    force: np.ndarray
    inside: np.ndarray
    cones: ConeVariables

    @classmethod
    def zeros(cls, terms: Terms) -> Variables:
        number = len(terms.row)
        of_ends = np.zeros((2, number)), np.zeros((2, number))
        return cls(np.zeros(number), *of_ends, np.zeros(number, bool), ConeVariables.zeros(terms.cones))

    def named(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        of_cones = {f"cone_{name}": array for name, array in self.cones._asdict().items()}
        return {name: array for name, array in self._asdict().items() if name != "cones"} | of_cones


@dataclasses.dataclass
class Step:
    """J and G of each term, and the direction.

    ``aim`` is what the step wants in place of the force of each end, and ``product`` the product of the
    predictor's changes of force and distance, which the corrector makes up for.
    """

    J: np.ndarray
    G: np.ndarray
    dt: np.ndarray
    aim: np.ndarray
    dforce: np.ndarray
    product: np.ndarray
    cones: ConeStep

    @classmethod
    def zeros(cls, terms: Terms) -> Step:
        J, G, dt = np.zeros((3, len(terms.row)))
        aim, dforce, product = np.zeros((3, 2, len(terms.row)))
        return cls(J, G, dt, aim, dforce, product, ConeStep.zeros(terms.cones))

    def forget_products(self) -> None:
        for product in (self.product, self.cones.product, self.cones.product_head):
            product[:] = 0.0


@np.errstate(all="ignore")
def start(terms: Terms, x: Variables, u: np.ndarray, reach: np.ndarray, mean: float) -> None:
    """The first t and forces: t in the middle of its box, the forces on the central path.

    If one end is infinite, the force of the other is at least the reach of its row, the size to be expected of u.
    """
    x.room[:], x.force[:] = FAR, 0.0
    (upper, lower), sigma, off = terms.ends, mean * terms.share, terms.of(u) - terms.kink
    both = upper & lower
    x.t[both] = 0.5 * (terms.high + terms.low)[both]
    x.room[:, both] = 0.5 * (terms.high - terms.low)[both]
    x.force[:, both] = sigma[both] / x.room[0, both]
    for end, alone, limit, side in ((0, upper & ~lower, terms.high, off), (1, lower & ~upper, terms.low, -off)):
        force = _first_force(side[alone], terms.of(reach)[alone], (terms.flex * sigma)[alone])
        x.force[end, alone], x.room[end, alone] = force, sigma[alone] / force
        x.t[alone] = limit[alone] + SIDES[end] * x.room[end, alone]
    if terms.cones:
        cone_terms.start(terms.cones, x.cones, mean)


def _first_force(side: np.ndarray, reach: np.ndarray, flex: np.ndarray) -> np.ndarray:
    """Where only one end is finite: with a flex the solution of ``force = side + flex / force``."""
    root = np.sqrt(side * side + 4.0 * flex)
    with_flex = np.where(side > 0.0, 0.5 * (side + root), 2.0 * flex / (root - side))
    return np.where(flex > 0.0, with_flex, np.maximum(side, reach))


# --- Newton's direction ----------------------------------------------------------------------------------------------


def scale(terms: Terms, x: Variables, step: Step, soft: np.ndarray, weight: np.ndarray, bends: np.ndarray) -> None:
    """J of each term; add 1/J to the weight of its row. ``bends`` is for `coupling`."""
    stiffness = x.force / x.room
    step.J = terms.flex + terms.of(soft) + stiffness[0] + stiffness[1]
    terms.add(1.0 / step.J, weight)
    if terms.cones:
        cone_terms.scale(terms.cones, x.cones, step.cones, soft, weight, bends)


def aim(terms: Terms, x: Variables, u: np.ndarray, step: Step, mean: float, pull: np.ndarray) -> None:
    """G of each term, for a step that aims at this mean complementarity; add G/J to the pull of its row."""
    step.aim = (mean * terms.shares - step.product) / x.room
    step.G = terms.of(u) - terms.kink - terms.flex * x.t - step.aim[0] + step.aim[1]
    terms.add(step.G / step.J, pull)
    if terms.cones:
        cone_terms.aim(terms.cones, x.cones, u, step.cones, mean, pull)


def turn(terms: Terms, du: np.ndarray, step: Step) -> None:
    """The dt that belongs to a du."""
    step.dt = (terms.of(du) + step.G) / step.J
    if terms.cones:
        cone_terms.turn(terms.cones, du, step.cones)


def amend(terms: Terms, change: np.ndarray, step: Step) -> None:
    """Add to dt what belongs to a change of du: more precise than dt anew if J is small."""
    step.dt = step.dt + terms.of(change) / step.J
    if terms.cones:
        cone_terms.amend(terms.cones, change, step.cones)


def to_boundary(terms: Terms, x: Variables, step: Step) -> float:
    """The change of the forces that belongs to dt; returns the length of the step to the boundary."""
    droom = SIDES * step.dt
    step.dforce = step.aim - x.force * droom / x.room - x.force  # the stiffness of a tiny box may be infinite
    most = min(_length(x.room, droom), _length(x.force, step.dforce))
    return min(most, cone_terms.direct(terms.cones, x.cones, step.cones)) if terms.cones else most


def _length(x: np.ndarray, dx: np.ndarray) -> float:
    """The largest length for which ``x + length dx`` is not negative, for positive x; entries of 0 do not count."""
    fastest = float(np.fmax.reduce(-dx / x, axis=None, initial=0.0))  # 0 / 0 is nan, which does not count
    return 1.0 / fastest if fastest > 0.0 else math.inf


def complementarity(terms: Terms, x: Variables, step: Step, length: float) -> float:
    """The sum of force times room after a step of this length; also the products of directions, for the corrector."""
    droom = SIDES * step.dt
    step.product = step.dforce * droom
    total = float(((x.force + length * step.dforce) * (x.room + length * droom)).sum())
    if terms.cones:
        cone_terms.multiply(terms.cones, x.cones, step.cones)
        total += cone_terms.complementarity(terms.cones, x.cones, step.cones, length)
    return total


def sum_aimed_at(gap: float, after: float, length: float, others: float) -> float:
    """The complementarity that the corrector aims at, from what the predictor's step would leave of it.

    Newton's matrix would become singular if complementarity ran ahead of the other conditions.
    """
    wanted = gap * min(1.0, max(after / gap, 0.0)) ** 3
    least = (BEHIND * (1.0 - length) + LEAST) * others
    return max(wanted, min(least, MOST_GROWTH * gap))


# --- the step --------------------------------------------------------------------------------------------------------


def move(terms: Terms, x: Variables, step: Step, length: float) -> float:
    """Take the step; returns the complementarity.

    Towards the solution one of force and room tends to 0 and its ratio to the value before the step with it, while the
    other ratio tends to 1 (Tapia's indicators); no units are involved.
    """
    room, force = x.room + length * SIDES * step.dt, x.force + length * step.dforce
    slack = (force * x.room < room * x.force) | ~terms.ends
    np.logical_and(slack[0], slack[1], out=x.inside)
    x.room[:], x.force[:] = room, force
    # Measured from the nearer end, t keeps its distance from it to the last digit.
    nearer = np.where(room[0] < room[1], terms.high - room[0], terms.low + room[1])
    x.t[:] = np.where(terms.ends[0] | terms.ends[1], nearer, x.t + length * step.dt)
    total = float((force * room).sum())
    return total + cone_terms.move(terms.cones, x.cones, step.cones, length) if terms.cones else total


def add_duals(terms: Terms, t: np.ndarray, t_of_cones: np.ndarray, out: np.ndarray) -> None:
    """Add the t of each term to the entry of its row."""
    terms.add(t, out)
    if terms.cones:
        out[terms.cones.row] += t_of_cones


def settle(terms: Terms, x: Variables, u: np.ndarray) -> None:
    """Put u onto the kink where t lies inside its box, and inside the bound where a term is a bound."""
    if terms.cones:
        u[terms.cones.row[terms.cones.spread(x.cones.inside)]] = 0.0
    for clip, finite in ((np.minimum, terms.ends[0]), (np.maximum, terms.ends[1])):
        if not finite.all():
            clip.at(u, terms.row[~finite], terms.kink[~finite])
    u[terms.row[x.inside]] = terms.kink[x.inside]


def damped(damping: float, length: float, most: float) -> float:
    """The damping of the next step, which rises after a step that was much shorter than the way to the boundary."""
    if length < SHORT * most:
        return MORE_DAMPING * damping if damping > 0.0 else FIRST_DAMPING
    return LESS_DAMPING * damping if damping > NO_DAMPING else 0.0


def safe_length(
    rows: tuple[Any, np.ndarray, np.ndarray],
    z: np.ndarray,
    dz: np.ndarray,
    slopes: np.ndarray,
    curved: np.ndarray,
    gap: float,
    length: float,
) -> float:
    """A length at which the slope of the loss along the step has changed about as its second derivatives say.

    ``rows`` holds the loss, the targets and the weights; ``slopes`` and ``curved`` are the weighted derivatives at z.
    """
    loss, y, weight = rows
    expected, there, unused = np.sum(curved * dz * dz), np.empty_like(z), np.empty_like(z)

    def is_safe(length: float) -> bool:
        losses.derivatives(loss, z + length * dz, y, weight, there, unused)
        change = np.sum((there - slopes) * dz)
        return bool(length * change <= CURVED * length * length * expected + gap)

    return halved(is_safe, length)


# --- what the other conditions may cost ------------------------------------------------------------------------------


def cost_of_gaps(terms: Terms, x: Variables, u: np.ndarray) -> float:
    """Bound the cost of the errors of u - kink - flex t = p - q in the primal value."""
    error = terms.of(u) - terms.kink - terms.flex * x.t - x.force[0] + x.force[1]
    slope = np.where(terms.ends[0] & terms.ends[1], np.maximum(x.room[0], x.room[1]), np.abs(x.t))
    total = float((np.abs(error) * slope).sum())
    return total + cone_terms.cost_of_gaps(terms.cones, x.cones, u) if terms.cones else total


def cost_of_residual(residual: np.ndarray, w: np.ndarray, least: np.ndarray, gamma: np.ndarray) -> float:
    """Bound the cost of the gradient of the Lagrangian in the dual value, for coordinates of at least some size."""
    size = np.abs(residual)
    if not gamma.any():
        return float(size @ (np.abs(w) + least))
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.fmin(size * (np.abs(w) + least), 0.5 * size * size / gamma).sum())  # 0 / 0 is nan: no bound
