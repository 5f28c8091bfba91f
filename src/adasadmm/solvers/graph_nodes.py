"""What `AlternatingChains` and `DualGradient` share: second-order models of the losses, and exactly fused candidates.

Both methods raise the dual value of a quadratic problem,

    min over w of  1/2 sum_i h_i (w_i - t_i)^2 + sum_k edges_k |w_{i(k)} - w_{j(k)}|,

which for the squared loss is the problem itself, and for other smooth losses their second-order model at w. The w that
belongs to a dual point is never exactly fused, and its objective lags far behind the dual value. So clusters of nodes
whose values differ by little are given their mean, with some thresholds, and the best candidate is kept.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from .. import losses
from .._core.jit import compiled
from ..linalg.matrices import WithIntercept, differences
from ..problem import Problem
from .base import Point
from .direct import limits_of, nodes_of, quadratic, second_order

__all__ = ["Edges", "GraphMethod", "Quadratic", "edges_of", "intercept_of", "why_not_graph"]

ITERATIONS, MORE_ITERATIONS, MOST_ITERATIONS = (
    4,
    2,
    24,
)  # of the inner method between two candidates: first, growth, most
THRESHOLDS, LEAST_FACTOR, MOST_FACTOR = 3.0, 1.0, 1e3  # of clusters: the factor between two trials, and its range
MOST_INNER = 12  # rounds of the inner method on one model
INNER = 0.1  # a model is solved when its gap is this part of what the step gains
DESCENT, HALVINGS = 1e-4, 40
ROUNDING = 1e-15


class Edges(NamedTuple):
    """Edge k ties the nodes ``first[k]`` and ``second[k]``: ``limit[k] |w_first - w_second|``, a row of A being
    ``weight[k] (w_first - w_second)``.
    """

    first: np.ndarray
    second: np.ndarray
    weight: np.ndarray
    limit: np.ndarray


class Quadratic(Protocol):
    """An inner method: it raises the dual value of the quadratic problem, and keeps its dual point when that changes.

    ``w`` belongs to the dual point, ``dual`` is its value, ``spread`` the size of the differences of w that are noise.
    """

    w: np.ndarray
    theta: np.ndarray
    dual: float
    spread: float

    def set(self, h: np.ndarray, t: np.ndarray) -> None: ...

    def improve(self, iterations: int) -> None: ...

    def state(self) -> dict[str, np.ndarray]: ...


def edges_of(problem: Problem) -> Edges | None:
    """The edges that the rows of A describe; None if a row is no difference."""
    found = differences(problem.A)
    if found is None:
        return None
    first, second, weight = found
    return Edges(first.astype(np.int64), second.astype(np.int64), weight, np.abs(weight) * limits_of(problem))


def why_not_graph(problem: Problem) -> str:
    """Why the dual methods for graphs cannot solve a problem that has a diagonal X; empty if they can."""
    nodes = nodes_of(problem)
    if isinstance(problem.loss, losses.SquaredHinge):  # where it is flat, the multipliers must cancel exactly
        return "SquaredHinge is flat for large margins"
    if ((nodes.rate * nodes.x == 0.0) & (nodes.gamma == 0.0)).any():
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


class GraphMethod:
    """Newton steps around an inner method; for the squared loss, the inner method alone."""

    def __init__(self, problem: Problem, start: Point, edges: Edges, inner: Quadratic) -> None:
        self.problem, self.nodes, self.edges, self.inner = problem, nodes_of(problem), edges, inner
        self.w, self.theta = start.w.copy(), start.theta.copy()
        self.has_intercept = isinstance(problem.rows.X, WithIntercept)
        self.shift = (intercept_of(problem) or 0.0) if self.has_intercept else 0.0
        if self.has_intercept:
            self.w[-1] = self.shift
        self.factor = np.array([10.0])  # the threshold of clusters, in units of the spread
        self.rounds = np.zeros(1, np.int64)
        self.g, self.h, self.t = np.empty((3, problem.n))
        self.is_squared = isinstance(problem.loss, losses.Squared)
        if self.is_squared:
            quadratic(self.nodes, self.shift, self.h, self.t)
            inner.set(self.h, self.t)

    def state(self) -> dict[str, np.ndarray]:
        return {"factor": self.factor, "rounds": self.rounds, **self.inner.state()}

    @property
    def _coefficients(self) -> np.ndarray:
        return self.w[: self.problem.n]

    def advance(self) -> None:
        if self.is_squared:
            best, value = self._round()
            if value < model_value(self.h, self.t, self.edges, self._coefficients):
                self._coefficients[:] = best
        else:
            self._newton_step()
        self.theta[:] = self.inner.theta

    def _round(self) -> tuple[np.ndarray, float]:
        """Some inner iterations; then the best of their w and of w with clusters fused, and its value in the model.

        The threshold of clusters is the last one, and in turns a larger or a smaller one.
        """
        number = int(self.rounds[0])
        self.rounds[0] += 1
        self.inner.improve(min(ITERATIONS + MORE_ITERATIONS * number, MOST_ITERATIONS))
        best = self.inner.w
        value, factor = model_value(self.h, self.t, self.edges, best), float(self.factor[0])
        for trial in (factor, factor * THRESHOLDS if number % 2 else factor / THRESHOLDS):
            fused = fuse_clusters(self.edges, self.h, self.inner.w, trial * self.inner.spread)
            found = model_value(self.h, self.t, self.edges, fused)
            if found <= value:
                best, value, self.factor[0] = fused, found, trial
        self.factor[0] = min(max(self.factor[0], LEAST_FACTOR), MOST_FACTOR)
        return best, value

    def _newton_step(self) -> None:
        """Minimise the second-order model, then search along the line to its minimiser."""
        w = self._coefficients
        second_order(self.nodes, self.shift, w, self.g, self.h, self.t)
        self.inner.set(self.h, self.t)
        self.rounds[0] = 0
        before = model_value(self.h, self.t, self.edges, w)
        for _ in range(MOST_INNER):
            best, value = self._round()
            if value - self.inner.dual <= max(INNER * (before - value), ROUNDING * abs(before)):
                break
        descent, length = before - value, 1.0
        if descent <= 0.0:
            return
        start = graph_value(self.nodes, self.shift, self.edges, w)
        for _ in range(HALVINGS):
            trial = best if length == 1.0 else w + length * (best - w)
            if graph_value(self.nodes, self.shift, self.edges, trial) <= start - DESCENT * length * descent:
                w[:] = trial
                return
            length *= 0.5


@compiled
def graph_value(nodes, shift, edges, w):
    """The objective."""
    total = 0.0
    for i in range(len(w)):
        total += 0.5 * nodes.gamma[i] * w[i] * w[i]
        if nodes.rate[i] > 0.0:
            total += nodes.rate[i] * losses.value(nodes.loss, nodes.x[i] * w[i] + shift, nodes.y[i])
    for k in range(len(edges.limit)):
        total += edges.limit[k] * abs(w[edges.first[k]] - w[edges.second[k]])
    return total


@compiled
def model_value(h, t, edges, w):
    """The objective of the quadratic problem."""
    total = 0.0
    for i in range(len(w)):
        total += 0.5 * h[i] * (w[i] - t[i]) * (w[i] - t[i])
    for k in range(len(edges.limit)):
        total += edges.limit[k] * abs(w[edges.first[k]] - w[edges.second[k]])
    return total


@compiled
def fuse_clusters(edges, h, w, threshold):
    """w with the mean of each cluster: nodes that are connected by edges along which w differs by little."""
    n = len(w)
    root = np.arange(n)
    for k in range(len(edges.limit)):
        i, j = edges.first[k], edges.second[k]
        if edges.limit[k] > 0.0 and abs(w[i] - w[j]) <= threshold:
            while root[i] != i:
                root[i] = root[root[i]]
                i = root[i]
            while root[j] != j:
                root[j] = root[root[j]]
                j = root[j]
            root[max(i, j)] = min(i, j)
    weight, total = np.zeros(n), np.zeros(n)
    for i in range(n):
        root[i] = root[root[i]]  # a root comes before its nodes, so that its own root is final
        weight[root[i]] += h[i]
        total[root[i]] += h[i] * w[i]
    out = np.empty(n)
    for i in range(n):
        out[i] = total[root[i]] / weight[root[i]]
    return out
