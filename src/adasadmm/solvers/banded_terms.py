"""The terms of the interior-point method for trends: of the rows of A, and of the rows of X, which have one entry each.

The formulas are those of `ipm_steps`. A smooth loss enters by its derivatives, one with kinks by its box terms.
"""

from __future__ import annotations

import math

import numpy as np

from .. import losses
from ..problem import Problem
from . import ipm_steps as steps
from .box_terms import terms_of_loss
from .ipm import FIRST_GAP
from .ipm_steps import Step, Variables
from .ipm_units import Units

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
        """The direction of the predictor; the length of the step to the boundary."""
        self.target = np.zeros_like(self.room)
        most = self.correct(dt)
        self.products = self.d_push * self.d_room
        return most

    def after(self, length: float) -> float:
        """The complementarity after a step of this length."""
        return float(np.vdot(self.push + length * self.d_push, self.room + length * self.d_room))

    def aim(self, mean: float) -> np.ndarray:
        """``-kink - flex t - G - u`` of the corrector, which aims at this complementarity of each end."""
        self.target = (mean - self.products) / self.room
        return self.target[0] - self.target[1]

    def correct(self, dt: np.ndarray) -> float:
        """The direction that belongs to dt; the length of the step to the boundary."""
        self.dt, self.d_room = dt, TOWARDS * dt
        self.d_push = self.target - self.ratio * self.d_room - self.push
        fastest = -float(min((self.d_push / self.push).min(), (self.d_room / self.room).min()))
        return 1.0 / fastest if fastest > 0.0 else math.inf

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

    def value(self) -> float:
        return losses.mean_value(self.problem.loss, self.z, self.problem.rows.y, self.problem.rows.c)


class SmoothRows(Rows):
    """A loss with a second derivative. It has no ends of boxes, and so no complementarity."""

    first_gap, ends = 1.0, 0.0  # the first complementarity, of the loss at w = 0; the number of finite ends

    def start(self, mean: float, units: Units) -> None:
        self.curved = np.zeros_like(self.slopes)

    def assemble(self, mean: float) -> tuple[np.ndarray, np.ndarray]:
        """The weight of each row in Newton's matrix, and its pull."""
        return self.curved, np.zeros_like(self.curved)

    def turn(self, dw: np.ndarray, mean: float) -> float:
        """The direction that belongs to dw; the length of the step to the boundary."""
        self.dz = self.along(dw)
        return math.inf

    def after(self, length: float) -> float:
        """The complementarity after a step of this length."""
        return 0.0

    def safe_length(self, gap: float, length: float) -> float:
        """A length at which the second derivatives still describe the loss."""
        if isinstance(self.problem.loss, losses.Squared):
            return length
        rows = self.problem.loss, self.problem.rows.y, self.weight
        return steps.safe_length(rows, self.z, self.dz, self.slopes, self.curved, gap, length)

    def damped(self, damping: float, length: float, most: float) -> float:
        return steps.damped(damping, length, most)

    def move(self, length: float) -> float:
        """Take the step; the complementarity."""
        return 0.0

    def follow(self, w: np.ndarray) -> float:
        """The slopes at w; the cost of errors."""
        self.z, y = self.along(w), self.problem.rows.y
        self.slopes, self.curved = np.empty((2, len(y)))
        losses.derivatives(self.problem.loss, self.z, y, self.weight, self.slopes, self.curved)
        return 0.0


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

    def assemble(self, mean: float) -> tuple[np.ndarray, np.ndarray]:
        curved, pull, bends = np.zeros((3, self.problem.n))
        if mean == 0.0:
            self.step.forget_products()
        with np.errstate(all="ignore"):
            steps.scale(self.terms, self.x, self.step, self.soft, curved, bends)
            steps.aim(self.terms, self.x, self.z, self.step, mean, pull)
        return curved, pull

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

    def follow(self, w: np.ndarray) -> float:
        self.z = self.along(w)
        self.slopes = np.zeros(self.problem.n)
        steps.add_duals(self.terms, self.x.t, self.x.cones.t, self.slopes)
        return steps.cost_of_gaps(self.terms, self.x, self.z)
