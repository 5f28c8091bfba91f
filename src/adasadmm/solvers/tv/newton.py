"""Methods whose v is ``A w``, and the proximal Newton method where X is diagonal."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...certificates import diagonal, duality
from ...certificates.duality import Dual
from ...certificates.trace import Certificate
from ...linalg.line_search import halved
from ...problem import Problem
from ...rows.last_products import frozen
from ..all_rows import Method
from ..base import NamedState, Slopes
from .nodes import Nodes, in_balance, nodes_of, second_order, value_of_nodes

# --- v is A w --------------------------------------------------------------------------------------------------------


class ExactMethod(Method):
    """A method that improves w and theta; v follows from w.

    Attributes
    ----------
    s : ndarray or None
        The slopes of the losses; None if those count with which each coefficient is in balance, where X is diagonal.
    """

    s: np.ndarray | None = None

    def __init__(self, problem: Problem, w: np.ndarray, theta: np.ndarray) -> None:
        super().__init__(problem)
        self.w, self.theta = w, theta
        starts_at_zero = not w[0] and not w.any()  # the first entry alone tells most starts
        self.v = frozen(np.zeros(problem.m)) if starts_at_zero else problem.last_A_products.of(w)

    @abstractmethod
    def improve(self) -> None:
        """One iteration: another w and theta, written to the arrays or in new ones that are read-only."""

    def advance(self) -> None:
        self.improve()
        self.v = self.problem.last_A_products.of(self.w)
        if not self.w.flags.writeable:  # then v will not change either
            frozen(self.v)

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        """At a kink of a loss, the slope at w alone would not tell."""
        if self.s is not None:
            return self.s, self.theta
        of_A = self.problem.last_A_transposed.of(self.theta)
        return in_balance(nodes_of(self.problem), self.w, of_A[: self.problem.n]), self.theta

    def certificate(self) -> Certificate:
        problem, w = self.problem, self.w
        found = diagonal.values(problem, w, self.s, self.theta)
        if found is None:
            loss, dual = problem.loss_at(w)[0], duality.dual_value(problem, w, *self.dual_point())
        else:
            loss, dual = found.loss, Dual(found.dual, found.residual)
        dual = duality.unless_unbounded(problem, dual)
        primal = loss + problem.ridge_value(w) + problem.penalty_value(problem.last_A_products.of(w))
        gap = duality.relative_gap(problem, primal, dual.value)
        return Certificate(primal, dual.value, primal - dual.value, gap, 0.0, dual.residual, dual.reason)

    def restore(self, state: NamedState) -> None:
        self.w, self.v, self.theta = (array.copy() for array in self.point)  # read-only, or known to the problem
        super().restore(state)


# --- the proximal Newton method --------------------------------------------------------------------------------------


MOST_STEPS = 100
DESCENT = 1e-4  # the part of the model's descent that a step must achieve
CONVERGED = 1e-15  # relative descent at which the method ends
ROUNDING = 1e-14


class ModelMinimum(NamedTuple):
    """The point at which a model is least with the penalty, the forces there, and how far the model falls to it."""

    w: np.ndarray
    forces: np.ndarray
    descent: float


def newton(
    nodes: Nodes,
    shift: float,
    start: np.ndarray,
    variation: Callable[[np.ndarray], float],
    minimise: Callable[..., ModelMinimum],
    most_steps: int = MOST_STEPS,
) -> tuple[np.ndarray, np.ndarray]:
    """The best w for this intercept, and the forces along the edges.

    ``variation(w)`` is the penalty. ``minimise(w, g, h, t)`` minimises the model ``sum_i h_i (w_i - t_i)^2 / 2`` of the
    losses, whose gradient at w is g, with the penalty. A line search makes sure that the objective falls.
    """

    def value_at(w: np.ndarray) -> float:
        return value_of_nodes(nodes, shift, w) + variation(w)

    w = start.copy()
    value = value_at(w)
    if not math.isfinite(value):
        w[:] = 0.0
        value = value_at(w)
    for _ in range(most_steps):
        found = minimise(w, *second_order(nodes, shift, w))
        end, forces, descent = found
        if descent <= CONVERGED * abs(value):
            return (end if value_at(end) <= value else w), forces
        length, trial, lower = _search(value_at, w, value, found)
        if length == 0.0:
            return w, forces
        if length < 1.0 and lower >= value - ROUNDING * abs(value):  # rounding hides what a full step gains
            return end if value_at(end) <= value + ROUNDING * abs(value) else trial, forces
        w, value = trial, lower
    return w, forces


def _search(
    value_at: Callable[[np.ndarray], float], w: np.ndarray, value: float, found: ModelMinimum
) -> tuple[float, np.ndarray, float]:
    """The length of a step to the minimum of the model that lowers the objective enough, the point, and its value."""
    tried: list[tuple[np.ndarray, float]] = []

    def falls(length: float) -> bool:
        trial = found.w if length == 1.0 else w + length * (found.w - w)
        tried.append((trial, value_at(trial)))
        return tried[-1][1] <= value - DESCENT * length * found.descent

    return halved(falls), *tried[-1]
