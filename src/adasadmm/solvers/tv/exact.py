"""Methods whose v is ``A w``: their certificate needs no feasible point, and often has a closed form."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ...certificates import diagonal, duality
from ...certificates.duality import Dual
from ...certificates.trace import Certificate
from ...problem import Problem
from ...rows.last_products import frozen
from ..all_rows import Method
from ..base import NamedState, Slopes
from .nodes import in_balance, nodes_of

__all__ = ["ExactMethod"]


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
