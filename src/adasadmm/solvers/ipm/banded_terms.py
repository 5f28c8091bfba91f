"""The terms of the interior-point method for trends: of the rows of A, and of the rows of X, which have one entry each.

The formulas are those of `steps`. A smooth loss enters by its derivatives, one with kinks by its box terms.
"""

from __future__ import annotations

import math

import numpy as np

from ... import losses
from ...problem import Problem
from . import steps as steps
from .box_terms import terms_of_loss
from .steps import FIRST_GAP, Step, Units, Variables

__all__ = ["Edges", "KinkedRows", "SmoothRows"]

TOWARDS = np.array([[-1.0], [1.0]])  # how the distances to the upper and the lower end change with t


class Edges:
    """``limit |u|`` for each row of A, with ``u = A w``: a box term with the ends limit and -limit.

    The first row of each of the following arrays belongs to the upper ends, the second one to the lower ends.

    Attributes
    ----------
    room, push : ndarray of shape (2, m)
        The distances of t to its ends, and their multipliers.
    """

    def __init__(self, limit: np.ndarray, mean: float) -> None:
        self.limit, self.t = limit, np.zeros_like(limit)
        self.room = np.stack([limit, limit])
        self.push = mean / self.room

    def stiffness(self) -> np.ndarray:
        """J, with ``J dt = du + G``."""
        self.ratio = self.push / self.room
        return self.ratio[0] + self.ratio[1]

    def predict(self, dt: np.ndarray) -> float:
        """The predictor's step; its length to the boundary.

        A full step changes complementarity by ``-gap``, and by the products of the changes of push and room.
        """
        d_room = TOWARDS * dt
        part = d_room / self.room
        self.products = -self.push * d_room * (1.0 + part)
        return _length(-max(-float(part.min()), 1.0 + float(part.max())))

    def after(self, gap: float, length: float) -> float:
        """The complementarity after a predictor of this length."""
        return (1.0 - length) * gap + length * length * float(np.add.reduce(self.products, axis=None))

    def aim(self, mean: float) -> np.ndarray:
        """``-kink - flex t - G - u`` of the corrector, which aims at this complementarity of each end."""
        self.target = (mean - self.products) / self.room
        return self.target[0] - self.target[1]

    def correct(self, dt: np.ndarray) -> float:
        """The direction that belongs to dt; the length of the step to the boundary."""
        self.dt, self.d_room = dt, TOWARDS * dt
        self.d_push = self.target - self.ratio * self.d_room - self.push
        return _length(float(min((self.d_push / self.push).min(), (self.d_room / self.room).min())))

    def move(self, length: float) -> float:
        """Take the step; the complementarity."""
        self.push = self.push + length * self.d_push
        self.room = self.room + length * self.d_room
        above, below = self.room
        self.t = np.where(above < below, self.limit - above, below - self.limit)
        return float(np.vdot(self.push, self.room))

    def cost(self, u: np.ndarray) -> float:
        """Bound the cost of the distances of u from the difference of its multipliers in the primal value."""
        return float(np.abs(u - self.push[0] + self.push[1]) @ np.maximum(*self.room))

    def tends_to_zero(self, size: np.ndarray) -> np.ndarray:
        """Where t is further from its ends than the multipliers from 0, in units of ``size``, that of the terms of u.

        On the central path, both products are equal.
        """
        return (self.push[0] + self.push[1]) * self.limit < np.minimum(*self.room) * size


def _length(fastest: float) -> float:
    """The length of the step to the boundary, from the relative change of what falls fastest."""
    return -1.0 / fastest if fastest < 0.0 else math.inf


class Rows:
    """The rows of X: row i has this entry, in this column."""

    def __init__(self, problem: Problem, column: np.ndarray, entry: np.ndarray) -> None:
        self.problem, self.entry, self.weight = problem, entry, problem.rows.c / problem.n
        in_order = len(column) == problem.d and bool((column == np.arange(problem.d)).all())
        self.column = None if in_order else column
        self.slopes, self.z = np.zeros((2, problem.n))

    def along(self, w: np.ndarray) -> np.ndarray:
        """``X w``."""
        return self.entry * (w if self.column is None else w[self.column])

    def back(self, pull: np.ndarray) -> np.ndarray:
        """``X' pull``."""
        entries = self.entry * pull
        return entries if self.column is None else np.bincount(self.column, entries, self.problem.d)


class SmoothRows(Rows):
    """A loss with a second derivative. It has no ends of boxes, and so no complementarity."""

    first_gap, ends = 1.0, 0.0  # the first complementarity, of the loss at w = 0; the number of finite ends

    def start(self, mean: float, units: Units) -> None:
        self.is_squared = isinstance(self.problem.loss, losses.Squared)

    def assemble(self) -> np.ndarray:
        """What the rows add to H."""
        return self.back(self.entry * self.curved)

    def pull(self, mean: float) -> np.ndarray | float:
        """``X'`` times the pull of the rows, for a step that aims at this complementarity."""
        return 0.0

    def turn(self, dw: np.ndarray, mean: float) -> float:
        """The direction that belongs to dw; the length of the step to the boundary."""
        self.dz = self.along(dw)
        return math.inf

    def after(self, length: float) -> float:
        """The complementarity after a step of this length."""
        return 0.0

    def safe_length(self, gap: float, length: float) -> float:
        """A length at which the second derivatives still describe the loss."""
        if self.is_squared:
            return length
        rows = self.problem.loss, self.problem.rows.y, self.weight
        return steps.safe_length(rows, self.z, self.dz, self.slopes, self.curved, gap, length)

    def damped(self, damping: float, length: float, most: float) -> float:
        return steps.damped(damping, length, most)

    def move(self, length: float) -> float:
        """Take the step; the complementarity."""
        return 0.0

    def follow(self, w: np.ndarray) -> tuple[float, float]:
        """The slopes at w; the loss, and the cost of errors."""
        self.z, y = self.along(w), self.problem.rows.y
        if self.is_squared:
            off = self.z - y
            self.slopes, self.curved = self.weight * off, self.weight
            return 0.5 * float(self.slopes @ off), 0.0
        self.slopes, self.curved = np.empty((2, len(y)))
        losses.derivatives(self.problem.loss, self.z, y, self.weight, self.slopes, self.curved)
        return losses.mean_value(self.problem.loss, self.z, y, self.problem.rows.c), 0.0


class KinkedRows(Rows):
    """A loss that is a sum of box terms."""

    first_gap = FIRST_GAP

    def __init__(self, problem: Problem, column: np.ndarray, entry: np.ndarray) -> None:
        super().__init__(problem, column, entry)
        self.terms = terms_of_loss(problem)
        self.x, self.step = Variables.zeros(self.terms), Step.zeros(self.terms)
        self.ends, self.soft = float(self.terms.shares.sum()), np.zeros(problem.n)

    def start(self, mean: float, units: Units) -> None:
        steps.start(self.terms, self.x, self.z, units.reach, mean)

    def assemble(self) -> np.ndarray:
        curved, bends = np.zeros((2, self.problem.n))
        self.step.forget_products()
        with np.errstate(all="ignore"):
            steps.scale(self.terms, self.x, self.step, self.soft, curved, bends)
        return self.back(self.entry * curved)

    def pull(self, mean: float) -> np.ndarray | float:
        pull = np.zeros(self.problem.n)
        with np.errstate(all="ignore"):
            steps.aim(self.terms, self.x, self.z, self.step, mean, pull)
        return self.back(pull)

    def turn(self, dw: np.ndarray, mean: float) -> float:
        steps.turn(self.terms, self.along(dw), self.step)
        with np.errstate(all="ignore"):
            return steps.to_boundary(self.terms, self.x, self.step)

    def after(self, length: float) -> float:
        return steps.complementarity(self.terms, self.x, self.step, length)

    def safe_length(self, gap: float, length: float) -> float:
        return length

    def damped(self, damping: float, length: float, most: float) -> float:
        return 0.0

    def move(self, length: float) -> float:
        return steps.move(self.terms, self.x, self.step, length)

    def follow(self, w: np.ndarray) -> tuple[float, float]:
        self.z = self.along(w)
        self.slopes = np.zeros(self.problem.n)
        steps.add_duals(self.terms, self.x.t, self.x.cones.t, self.slopes)
        value = losses.mean_value(self.problem.loss, self.z, self.problem.rows.y, self.problem.rows.c)
        return value, steps.cost_of_gaps(self.terms, self.x, self.z)
