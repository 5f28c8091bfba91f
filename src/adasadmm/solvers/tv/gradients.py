"""Any graph: dual gradients for second-order models of the losses, with exactly fused candidates.

They raise the dual value of a quadratic problem (`ascent`), which for the squared loss is the problem itself, and
for other smooth losses their second-order model at w. The w that belongs to the forces is never exactly fused, and its
objective lags far behind the dual value. But forces soon show which edges reach their limits at the optimum. All other
edges tie clusters of equal values together, so w with the mean of each cluster is the candidate.
"""

from __future__ import annotations

import math

import numpy as np

from ... import losses
from ...problem import Problem
from ...rows.matrices import WithIntercept
from ..base import Point
from .ascent import Ascent, fused_clusters, model_value
from .edges import edges_of
from .lattice import lattice_of
from .newton import ExactMethod, ModelMinimum, newton
from .nodes import (
    has_missing,
    is_piecewise,
    nodes_of,
    quadratic,
    value_of_nodes,
    why_no_derivatives,
)

__all__ = ["GradientMethod", "along_edges", "along_lattice", "set_intercept", "why_no_graph"]

FEW_STEPS, MOST_STEPS = 16, 512  # between two candidates
GROWTH = 3  # their number grows with that of all steps so far, of which it is at most the third part
FIRST_GOAL = 1e-3  # the relative gap at which the first iteration ends; further ones end at powers of ten below it
MOST_ROUNDS = 24  # of steps on one model, or in one iteration
INNER = 0.1  # a model is solved when its gap is this part of what the step gains
ROUNDING = 1e-15


def why_no_graph(problem: Problem) -> str:
    """Why neither gradients nor cuts can solve a problem that `why_not` admits; empty if one of them can."""
    if reason := why_no_derivatives(problem):
        return reason
    if not is_piecewise(problem.loss, problem.rows.y) and has_missing(problem):
        return "a row has weight 0, or x = 0"
    if isinstance(problem.rows.X, WithIntercept) and intercept_of(problem) is None:
        return "the intercept has no closed form"
    return ""


def intercept_of(problem: Problem) -> float | None:
    """The best intercept if it needs no search: any if a constant can as well be added to w, else the mean of y."""
    nodes = nodes_of(problem)
    if (nodes.x != nodes.x[0]).any():
        return None
    if not nodes.gamma.any():
        return 0.0
    even = (nodes.gamma == nodes.gamma[0]).all() and (nodes.rate == nodes.rate[0]).all()
    return float(np.mean(nodes.y)) if even and isinstance(nodes.loss, losses.Squared) else None


def set_intercept(problem: Problem, w: np.ndarray) -> float:
    """The intercept, 0 if there is none; it is also the last entry of w if there is one."""
    if not isinstance(problem.rows.X, WithIntercept):
        return 0.0
    w[-1] = intercept_of(problem) or 0.0
    return float(w[-1])


class GradientMethod(ExactMethod):
    """Newton steps around the dual ascent; for the squared loss, the dual ascent alone."""

    def __init__(self, problem: Problem, start: Point, inner: Ascent) -> None:
        w = start.w.copy()
        self.shift = set_intercept(problem, w)
        super().__init__(problem, w, start.theta.copy())
        self.nodes, self.inner, self.graph = nodes_of(problem), inner, inner.graph
        self.dual = np.array([-math.inf])  # the best value of the model's dual function
        self.is_squared = isinstance(problem.loss, losses.Squared)
        if self.is_squared:
            self.h, self.t = quadratic(self.nodes, self.shift)
            inner.set(self.h, self.t)

    def saved(self) -> dict[str, np.ndarray]:
        return {**super().saved(), "dual": self.dual, **self.inner.state()}

    @property
    def _coefficients(self) -> np.ndarray:
        return self.w[: self.problem.n]

    def improve(self) -> None:
        if self.is_squared:
            self._reach_next_goal()
        else:
            w, variation = self._coefficients, self.graph.variation
            w[:], _ = newton(self.nodes, self.shift, w, variation, self._model_minimum, most_steps=1)
        self.theta[:] = self.graph.multipliers(self.inner.forces)

    def _round(self) -> tuple[np.ndarray, float]:
        """Some steps; then the fused candidate, and its value in the model."""
        inner = self.inner
        inner.improve(min(max(FEW_STEPS, int(inner.steps[0]) // GROWTH), MOST_STEPS))
        self.dual[0] = max(self.dual[0], inner.dual)
        candidate = fused_clusters(self.graph, self.h, inner.w, inner.forces)
        return candidate, model_value(self.graph, self.h, self.t, candidate)

    def _reach_next_goal(self) -> None:
        """Rounds until the relative gap falls below the next power of ten, since tolerances are such powers."""
        w = self._coefficients
        value = model_value(self.graph, self.h, self.t, w)
        constant = self._value_at(w) - value
        gap = (value - self.dual[0]) / (value + constant)
        goal = FIRST_GOAL if gap > FIRST_GOAL else 10.0 ** (math.ceil(math.log10(max(gap, ROUNDING))) - 1)
        for _ in range(MOST_ROUNDS):
            candidate, found = self._round()
            if found < value:
                w[:], value = candidate, found
            if value - self.dual[0] <= goal * (value + constant):
                return

    def _model_minimum(self, w: np.ndarray, g: np.ndarray, h: np.ndarray, t: np.ndarray) -> ModelMinimum:
        """As `newton` asks, until the gap of the model is a part of what the step gains."""
        self.h, self.t = h, t
        self.inner.set(h, t)
        self.dual[0] = -math.inf
        best, before = w, model_value(self.graph, h, t, w)
        value = before
        for _ in range(MOST_ROUNDS):
            candidate, found = self._round()
            if found < value:
                best, value = candidate, found
            if value - self.dual[0] <= max(INNER * (before - value), ROUNDING * abs(before)):
                break
        return ModelMinimum(best, self.inner.forces, before - value)

    def _value_at(self, w: np.ndarray) -> float:
        """The objective."""
        return self.graph.variation(w) + value_of_nodes(self.nodes, self.shift, w)


def along_lattice(problem: Problem, start: Point) -> GradientMethod:
    """The method for a lattice, along whose axes chains are solved exactly in turn if the penalty is strong."""
    lattice = lattice_of(problem)
    assert lattice is not None
    ascent = Ascent(lattice, problem.n, lattice.forces(start.theta), lattice.sweep)
    return GradientMethod(problem, start, ascent)


def along_edges(problem: Problem, start: Point) -> GradientMethod:
    """The method for any graph."""
    edges = edges_of(problem)
    assert edges is not None
    return GradientMethod(problem, start, Ascent(edges, problem.n, edges.forces(start.theta)))
