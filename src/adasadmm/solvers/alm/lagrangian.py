"""The augmented Lagrangian as a function of w alone, and its minimum by Newton's method.

For given multipliers theta of ``A w - b = v``, the best v is a prox. What remains is a function of w,

    psi(w) = f(w) + E(A w - b - theta/beta),

with the Moreau envelope E of the penalty, and a smooth part f: rows and ridge. Both ALM and the proximal Newton method
minimise it, and differ in f (`Smooth`). Then theta makes a step, and beta grows if the minimum was easy to find.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Protocol

import numpy as np

from ... import penalties
from ..._core.jit import is_registered
from ...linalg.line_search import step_length
from ...linalg.system import System
from ...problem import Problem

__all__ = ["MOST_STEPS", "PROBE", "TINY", "AugmentedLagrangian", "PenaltyEnvelope", "Smooth", "balanced_beta", "growth"]

MOST_STEPS = 25  # of Newton's method: a minimum that takes longer is easier to find with a smaller beta
GROWTH = ((3, 4.0), (6, 2.0), (12, 1.2), (MOST_STEPS, 0.5))  # Newton steps of a minimum: the factor for beta
RESIDUAL = 1e-3  # relative, of the solution of Newton's system: further steps correct its error
PROBE = 1e-6  # the relative step of the difference quotient that gives the derivative of a prox
TINY = float(np.finfo(float).tiny)
BALANCED = 0.5  # times penalty / |A w - b|^2: a beta with which the two count about equally


class Smooth(Protocol):
    """The smooth part f at a point w: the rows with the ridge. It may leave out rows that contribute no curvature."""

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """The gradient of f."""

    def cost(self, gradient: np.ndarray, w: np.ndarray) -> float:
        """What a gradient of psi costs: about the distance of psi from its minimum."""

    def factored(self, edges: np.ndarray, bends: np.ndarray | None, step: int) -> System:
        """Newton's system at w, with the curvature of the penalty's envelope, for this step of a minimum."""

    def product(self, p: np.ndarray) -> np.ndarray:
        """The product of a direction with the matrix of the rows."""

    def slope(self, w: np.ndarray, p: np.ndarray, product: np.ndarray, length: float) -> float:
        """The derivative of f along p after a step of this length."""

    def move(self, length: float, product: np.ndarray) -> None:
        """Make a step of this length."""

    def complete(self, w: np.ndarray) -> bool:
        """Take rows that were left out in again; returns whether there were any."""


class PenaltyEnvelope:
    """The Moreau envelope of the penalty, at points ``x = A w - b - theta / beta``.

    Attributes
    ----------
    separable : ndarray of bool
        Which coordinates the prox treats one by one.
    members, group : ndarray of int
        The coordinates in groups of two or more that a norm couples, and the group of each.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.penalty = problem, problem.v_step[1]
        self.separable = np.ones(problem.p, dtype=bool)
        for part, rows in penalties.parts_of(problem.penalty, problem.p):
            self.separable[rows] = is_registered(penalties.prox_at, part)
        groups = penalties.groups_of(problem.penalty, problem.p)
        self.members = np.concatenate(groups) if groups else np.empty(0, np.int64)
        self.group = np.repeat(np.arange(len(groups)), [len(group) for group in groups])

    def prox(self, x: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """The best v, and the theta after it."""
        penalties.whole_prox(self.penalty, x, 1.0 / beta, v := np.empty_like(x))
        return v, -beta * (x - v)

    def curvature(self, x: np.ndarray, v: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray | None]:
        """The second derivative, 1 - the derivative of the prox, times beta: weights of the rows of A, and bends.

        Where the prox couples coordinates in another way than by the norm of a group, this is a bound.
        """
        off = x - v
        step = PROBE * (np.abs(x) + np.abs(off)) + TINY
        penalties.whole_prox(self.penalty, x + step, 1.0 / beta, probed := np.empty_like(x))
        weights = np.where(self.separable, 1.0 - (probed - v) / step, off / np.where(x == 0.0, 1.0, x))
        weights[(x == 0.0) & ~self.separable] = 1.0
        weights = np.where(weights > PROBE, np.minimum(weights, 1.0), 0.0)
        return beta * weights, self._bends(x, weights, beta) if len(self.members) else None

    def _bends(self, x: np.ndarray, weights: np.ndarray, beta: float) -> np.ndarray:
        """The rank-one terms of groups that the prox shortens: there the envelope has no curvature along x."""
        of_group = x[self.members]
        length = np.sqrt(np.bincount(self.group, of_group * of_group))[self.group]
        shortened = (weights[self.members] < 1.0) & (length > 0.0)
        bends = np.zeros_like(x)
        bends[self.members] = np.where(
            shortened, np.sqrt(beta * weights[self.members]) * of_group / np.where(length > 0.0, length, 1.0), 0.0
        )
        return bends


@dataclasses.dataclass
class AugmentedLagrangian:
    """psi at a point; the arrays are updated in place.

    Attributes
    ----------
    envelope : PenaltyEnvelope
    smooth : Smooth
        f, at the same point.
    w, Aw, v : ndarray
        The point, ``A w``, and the v that belongs to it.
    theta, next_theta : ndarray
        The multipliers, and what a step at w would make of them.
    beta : float
    cost : float
        What the gradient at w costs.
    """

    envelope: PenaltyEnvelope
    smooth: Smooth
    w: np.ndarray
    Aw: np.ndarray
    v: np.ndarray
    theta: np.ndarray
    beta: float
    cost: float = math.inf

    def __post_init__(self) -> None:
        self.problem, self.next_theta = self.envelope.problem, self.theta

    def minimise(self, allowed: float, part: float = math.inf) -> int:
        """Newton steps until the gradient costs no more than ``allowed``; returns their number.

        It may also cost this part of what the first step gains. After a step of all rows, only those take part whose
        slopes may still change, until that is done for them. The minimum is found when a gradient of all rows says so.
        """
        steps = 0
        while True:
            gradient, gained = self._gradient(), 0.0
            if steps < MOST_STEPS and (steps == 0 or self.cost > allowed):
                gained = self._step(gradient, steps)
            if gained > 0.0:
                steps += 1
                allowed = min(allowed, part * gained) if steps == 1 else allowed
            elif not self.smooth.complete(self.w):
                return steps

    def _gradient(self) -> np.ndarray:
        """The gradient of psi; also sets v, and the theta and the cost that belong to it."""
        self.v[:], self.next_theta = self.envelope.prox(self._shifted(self.Aw), self.beta)
        gradient = self.smooth.gradient(self.w) - self.problem.times_A_transposed(self.next_theta)
        self.cost = self.smooth.cost(gradient, self.w)
        return gradient

    def _shifted(self, Aw: np.ndarray) -> np.ndarray:
        """Where the envelope of the penalty is taken for a given A w."""
        return Aw - self.problem.b - self.theta / self.beta

    def _step(self, gradient: np.ndarray, step: int) -> float:
        """A Newton step; returns about how far psi falls, 0 if there is no step."""
        smooth, w = self.smooth, self.w
        edges, bends = self.envelope.curvature(self._shifted(self.Aw), self.v, self.beta)
        p = -smooth.factored(edges, bends, step).solve(gradient, RESIDUAL)
        product, Ap, first = smooth.product(p), self.problem.times_A(p), float(gradient @ p)

        def slope(length: float) -> float:
            _, theta = self.envelope.prox(self._shifted(self.Aw + length * Ap), self.beta)
            return smooth.slope(w, p, product, length) - float(theta @ Ap)

        length = step_length(slope, first)
        if length > 0.0:
            smooth.move(length, product)
            w += length * p
            self.Aw += length * Ap
        return -0.5 * length * first

    def multiply(self) -> None:
        """Make the step of the multipliers."""
        self.theta[:] = self.next_theta


def growth(steps: int) -> float:
    """The factor for beta after a minimum that took so many Newton steps."""
    return next(factor for most, factor in GROWTH if steps <= most)


def balanced_beta(problem: Problem, Aw: np.ndarray) -> float:
    """A beta with which penalty and constraint have equal weight; 0 where one of them is 0 or infinite."""
    v = Aw - problem.b
    size, value = float(v @ v), problem.penalty_value(v)
    return BALANCED * value / size if size > 0.0 and 0.0 < value < math.inf else 0.0
