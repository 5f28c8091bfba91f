"""Exact solution where X is diagonal and the penalty is the total variation along chains: dynamic programming.

The squared loss needs one dynamic programme (`linalg.chain`), whose work grows linearly with the chain. Losses with a
second derivative need one for each step of a proximal Newton method: the step minimises the second-order model of the
losses plus the penalty itself. A line search makes sure that the objective falls.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import losses, penalties
from ...linalg.chain import fused_chain
from ...linalg.chain_path import expanded, pieces_along
from ...linalg.chain_pieces import fused_pieces, pieces_multipliers
from ...linalg.paths import Paths
from ...problem import Problem
from ...rows.last_products import frozen
from ...rows.matrices import WithIntercept
from ..base import Point
from .newton import ExactMethod, ModelMinimum, newton
from .nodes import (
    Nodes,
    is_piecewise,
    limits_of,
    nodes_of,
    pieces_of,
    quadratic,
    why_no_derivatives,
)

__all__ = ["Chain", "ChainMethod", "chain_of", "why_no_chain"]

PIECES = "pieces of the chain"  # for each strength of a path, in `Problem.of_coordinates`
SEARCHES = 80  # of the intercept
ROUNDING = 1e-14


def why_no_chain(problem: Problem) -> str:
    """Why the method cannot solve a problem that `why_not` admits; empty if it can."""
    if chain_of(problem) is None:
        return "the rows of A are no differences along disjoint paths"
    if isinstance(problem.rows.X, WithIntercept) and not problem.diagonal.all():  # type: ignore
        return "X has zeros on its diagonal, beside an intercept"
    return why_no_derivatives(problem)


def chain_of(problem: Problem) -> Paths | None:
    """The paths along which the penalty acts."""
    if isinstance(problem.penalty, penalties.L1):
        return problem.paths
    d = problem.d
    if problem.A.shape[0] != d or not _is_identity(problem.A):
        return None
    return Paths.along()


def _is_identity(A: Any) -> bool:
    return len(A.data) == A.columns and bool(
        (A.data == 1.0).all() and (A.indices == np.arange(A.columns, dtype=A.indices.dtype)).all()
    )


class Chain:
    """The penalty along the paths of a problem."""

    def __init__(self, problem: Problem) -> None:
        paths = chain_of(problem)
        assert paths is not None
        self.problem, self.paths = problem, paths

    @functools.cached_property
    def edges(self) -> np.ndarray:
        """The weights of the edges, in the order of the walk."""
        limits, at = limits_of(self.problem), slice(None) if self.paths.natural else self.paths.rows
        if not len(limits):  # a single node, or nodes that nothing joins
            return np.zeros(np.shape(self.paths.weights) or 0)
        return np.abs(self.paths.weights) * limits[at]

    @property
    def is_even(self) -> bool:
        """Whether all nodes are one path, in their order, with equal edges."""
        return self.paths.even and self.problem.penalty.weights is None

    def solve(self, h: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The w that minimises ``sum_i h_i (w_i - t_i)^2 / 2`` plus the penalty, and theta, in the problem's order."""
        if not self.paths.natural:
            h, t = h[self.paths.order], t[self.paths.order]
        return self.in_problem(*fused_chain(h, t, self.edges))

    def variation(self, w: np.ndarray) -> float:
        """The penalty at a w in the order of the walk."""
        return float(self.edges @ np.abs(np.diff(w)))

    def minimised(self, w: np.ndarray, g: np.ndarray, h: np.ndarray, t: np.ndarray) -> ModelMinimum:
        """As `newton` asks, in the order of the walk."""
        end, multipliers = fused_chain(h, t, self.edges)
        step, falls = end - w, np.abs(np.diff(w)) - np.abs(np.diff(end))
        return ModelMinimum(end, multipliers, float(self.edges @ falls - step @ (g + 0.5 * h * step)))

    def in_problem(self, w: np.ndarray, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and theta in the order of the problem, from w and the multipliers of the edges in that of the walk."""
        paths = self.paths
        if isinstance(self.problem.penalty, penalties.ChainTV):
            return w, np.diff(multipliers, prepend=0.0, append=0.0)
        if paths.natural:
            return w, multipliers if paths.even else multipliers / paths.weights
        ordered, theta, tied = np.empty_like(w), np.zeros(self.problem.m), paths.rows >= 0
        ordered[paths.order] = w
        theta[paths.rows[tied]] = multipliers[tied] / np.asarray(paths.weights)[tied]
        return ordered, theta


class ChainMethod(ExactMethod):
    """The exact solution by dynamic programming; arrays are in the order of the walk along the paths."""

    numbers = ("ended",)

    def __init__(self, problem: Problem, start: Point) -> None:
        super().__init__(problem, frozen(start.w), frozen(start.theta))
        self.chain = Chain(problem)
        self.paths = self.chain.paths
        self.searches = isinstance(problem.rows.X, WithIntercept) and not _is_redundant(self.nodes)

    @functools.cached_property
    def nodes(self) -> Nodes:
        return _in_order(nodes_of(self.problem), self.paths, isinstance(self.problem.rows.X, WithIntercept))

    def foresee(self, strengths: Sequence[float]) -> None:
        """Find the pieces for all strengths together, which takes less time than one after the other."""
        if isinstance(self.problem.loss, losses.Squared) and self.chain.is_even and not self.searches:
            h, t, _ = self._quadratic(0.0)
            self.problem.of_coordinates[PIECES] = pieces_along(h, t, strengths)

    def improve(self) -> None:
        start = self.w if self.paths.natural else self.w[self.paths.order]
        shift = 0.0
        if self.searches:
            shift = _intercept(self.nodes, lambda shift: self._solved(shift, start))
        w, multipliers = self._solved(shift, start)
        self.w, self.theta = self.chain.in_problem(w, multipliers)
        if isinstance(self.problem.rows.X, WithIntercept):
            self.w[-1] = shift
        frozen(self.w)
        frozen(self.theta)
        self.ended = True

    def _solved(self, shift: float, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best w for this intercept, and the multipliers of the edges."""
        if isinstance(self.problem.loss, losses.Squared):
            h, t, edges = self._quadratic(shift)
            nu, known = self.problem.penalty.nu, self.problem.of_coordinates.get(PIECES, {})
            along_path = nu in known and self.chain.is_even
            return expanded(h, t, nu, known[nu]) if along_path else fused_chain(h, t, edges)
        edges = self.chain.edges
        if is_piecewise(self.nodes.loss, self.nodes.y):
            pieces = pieces_of(self.nodes, shift)
            w = fused_pieces(pieces, edges)
            return w, pieces_multipliers(pieces, edges, w)
        return newton(self.nodes, shift, start, self.chain.variation, self.chain.minimised)

    def _quadratic(self, shift: float) -> tuple[Any, np.ndarray, Any]:
        """The squared losses as ``h_i (w_i - t_i)^2 / 2``, and the weights of the edges.

        Where X = I and all weights are equal, they are numbers, and t is y itself: arrays of them would cost as much
        time as a good part of the dynamic programme.
        """
        problem = self.problem
        if self.chain.is_even and problem.is_plain:
            return float(problem.rows.c[0]) / problem.n, problem.rows.y, problem.penalty.nu
        return *quadratic(self.nodes, shift), self.chain.edges


def _in_order(nodes: Nodes, paths: Paths, has_intercept: bool) -> Nodes:
    """The nodes in the order of the walk; an intercept is a node without data, at its place in the walk."""
    loss, x, y, rate, gamma, flat = nodes
    if has_intercept:
        x, rate, gamma = (np.append(field, 0.0) for field in (x, rate, gamma))
        y = np.append(y, y[0])  # a target that the loss accepts
    if not paths.natural:
        x, y, rate, gamma = (field[paths.order] for field in (x, y, rate, gamma))
    return Nodes(loss, x, y, rate, gamma, flat)


def _is_redundant(nodes: Nodes) -> bool:
    """Whether an intercept changes nothing: a constant can as well be added to w."""
    used = nodes.x[nodes.rate > 0.0]
    return not nodes.gamma.any() and bool((used == used[0]).all()) and used[0] != 0.0


# --- the intercept ---------------------------------------------------------------------------------------------------


def _intercept(nodes: Nodes, solve: Callable[[float], tuple[np.ndarray, np.ndarray]]) -> float:
    """The best intercept: there the slopes of all rows sum to 0, a sum that grows with the intercept.

    The root is bracketed by steps that double, then found by the secant rule of Illinois: w moves piecewise linearly
    with the intercept if the loss is squared, so that few dynamic programmes are needed.
    """

    def force(shift: float) -> tuple[float, float]:
        return shift_force(nodes, *solve(shift))

    low = high = 0.0
    force_low, size = force_high, _ = force(0.0)
    step = math.copysign(abs(force_low) + ROUNDING, -force_low) * 2.0
    for _ in range(SEARCHES):
        if force_low <= 0.0 <= force_high or abs(step) > 1e12:
            break
        if force_high < 0.0:
            low, force_low, high = high, force_high, high + step
            force_high, size = force(high)
        else:
            high, force_high, low = low, force_low, low + step
            force_low, size = force(low)
        step *= 4.0
    for _ in range(SEARCHES):
        if force_high == force_low or high - low <= ROUNDING * (abs(low) + abs(high)):
            break
        middle = low - force_low * (high - low) / (force_high - force_low)
        middle = min(max(middle, low), high)
        found, size = force(middle)
        if abs(found) <= ROUNDING * size:
            return middle
        if found < 0.0:
            low, force_low, force_high = middle, found, 0.5 * force_high
        else:
            high, force_high, force_low = middle, found, 0.5 * force_low
    return low if abs(force_low) <= abs(force_high) else high


def shift_force(nodes: Nodes, w: np.ndarray, multipliers: np.ndarray) -> tuple[float, float]:
    """The derivative of the losses in the intercept, and the sum of the sizes of its terms.

    The slope of each loss is the one that balances multipliers and ridge: at a kink, w alone does not tell.
    """
    used = nodes.rate * nodes.x != 0.0
    force = np.diff(multipliers, prepend=0.0, append=0.0) - nodes.gamma * w
    terms = force[used] / nodes.x[used]
    return float(np.sum(terms)), float(np.sum(np.abs(terms)))
