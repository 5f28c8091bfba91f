"""Any graph where X is diagonal: an accelerated projected gradient method for theta.

For a quadratic problem with weights h and targets t the w that belongs to theta is ``t + A'theta / h``, and the dual
function falls with slope ``A w``. Each theta_k lies between the limits of its edge, so a step is clipped to them. The
step of edge k is 1 over the sum of absolute values of row k of ``A diag(1/h) A'``, which suits nodes of any degree.
Momentum makes the method fast, restarts keep it from going uphill.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from .. import losses
from .._core.jit import compiled, is_registered
from ..problem import Problem
from .base import Point, Run, Solver
from .direct import DirectRun, refuse, why_not
from .graph_nodes import Edges, GraphMethod, edges_of, why_not_graph

__all__ = ["DualGradient"]

STEPS = 10  # gradient steps that count as one iteration


@dataclasses.dataclass(frozen=True)
class DualGradient(Solver):
    """Accelerated dual gradients along the edges of any graph, where X is diagonal.

    The rows of A must be weighted differences and the penalty `L1`. The loss is squared or has a second derivative. For
    chains `ChainDP` is exact, and for grids `AlternatingChains` is faster, above all if the penalty is strong.

    References
    ----------
    A. Beck, M. Teboulle, Fast gradient-based algorithms for constrained total variation image denoising and deblurring
    problems, IEEE Transactions on Image Processing 18, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import DualGradient, L1, Problem, Squared, graphs, solve
    >>> A = graphs.incidence([[0, 1], [1, 2], [0, 2], [2, 3]], d=4)
    >>> problem = Problem(np.eye(4), [0.0, 1.0, 2.0, 9.0], loss=Squared(), penalty=L1(0.5), A=A)
    >>> solve(problem, DualGradient(), tol=1e-9).w.round(6)
    array([1.666667, 1.666667, 1.666667, 7.      ])
    """

    uses_all_rows: ClassVar[bool] = True
    takes_streams: ClassVar[bool] = False
    takes_any_B: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = True
    exact_v: ClassVar[bool] = True
    default_epochs: ClassVar[float] = 1000.0
    fit_epochs: ClassVar[int] = 1000
    separable_w_step: ClassVar[bool] = False  # type: ignore[assignment]

    @staticmethod
    def fits(problem: Problem) -> str:
        """Why the method cannot solve a problem; empty if it can."""
        reason = why_not(problem)
        if not reason and edges_of(problem) is None:
            reason = "the rows of A are no differences"
        if not reason and not is_registered(losses.second, problem.loss):
            reason = f"{type(problem.loss).__name__} has no losses.second"
        return reason or why_not_graph(problem)

    def check(self, problem: Problem) -> None:
        refuse(self, self.fits(problem))

    def begin(self, problem: Problem, start: Point) -> Run:
        edges = edges_of(problem)
        assert edges is not None
        return DirectRun(problem, self, GraphMethod(problem, start, edges, Ascent(problem.n, edges)))


class Ascent:
    """The accelerated dual gradient method for the quadratic problem; theta is kept while h and t change."""

    def __init__(self, n: int, edges: Edges) -> None:
        self.edges = edges
        self.theta, self.ahead, self.previous = np.zeros((3, len(edges.limit)))
        self.w, self.before = np.zeros(n), np.zeros(n)
        self.momentum = np.ones(1)
        self.dual, self.spread = -math.inf, 0.0

    def state(self) -> dict[str, np.ndarray]:
        return {"multipliers": self.theta, "ahead": self.ahead, "momentum": self.momentum}

    def set(self, h: np.ndarray, t: np.ndarray) -> None:
        self.h, self.t, self.constant = h, t, 0.5 * float(h @ (t * t))
        self.step = np.empty_like(self.theta)
        measure_steps(self.edges, h, self.step)
        self.momentum[0] = 1.0
        self.ahead[:] = self.theta

    def improve(self, iterations: int) -> None:
        for _ in range(iterations * STEPS):
            primal_of(self.edges, self.h, self.t, self.ahead, self.w)
            self.previous, self.theta = self.theta, self.previous
            climb(self.edges, self.step, self.w, (self.ahead, self.previous), self.theta, self.momentum)
        self.before, self.w = self.w, self.before
        primal_of(self.edges, self.h, self.t, self.theta, self.w)
        self.dual = self.constant - 0.5 * float(self.h @ (self.w * self.w))
        self.spread = math.sqrt(float(np.mean((self.w - self.before) ** 2)))


@compiled
def measure_steps(edges, h, step):
    """The step of each edge."""
    size = np.zeros(len(h))
    for k in range(len(step)):
        size[edges.first[k]] += abs(edges.weight[k]) / h[edges.first[k]]
        size[edges.second[k]] += abs(edges.weight[k]) / h[edges.second[k]]
    for k in range(len(step)):
        total = abs(edges.weight[k]) * (size[edges.first[k]] + size[edges.second[k]])
        step[k] = 1.0 / total if total > 0.0 else 0.0


@compiled
def primal_of(edges, h, t, theta, w):
    """The w that belongs to theta."""
    w[:] = 0.0
    for k in range(len(theta)):
        force = edges.weight[k] * theta[k]
        w[edges.first[k]] += force
        w[edges.second[k]] -= force
    for i in range(len(w)):
        w[i] = t[i] + w[i] / h[i]


@compiled
def climb(edges, step, w, points, theta, momentum):
    """One step from the point ahead, clipped to the limits, and the next point ahead."""
    ahead, previous = points
    uphill = 0.0
    for k in range(len(theta)):
        limit = edges.limit[k] / abs(edges.weight[k]) if edges.weight[k] != 0.0 else 0.0
        slope = edges.weight[k] * (w[edges.first[k]] - w[edges.second[k]])
        theta[k] = min(max(ahead[k] - step[k] * slope, -limit), limit)
        if step[k] > 0.0:
            uphill += (ahead[k] - theta[k]) * (theta[k] - previous[k]) / step[k]
    before = 1.0 if uphill > 0.0 else momentum[0]
    momentum[0] = 0.5 + math.sqrt(0.25 + before * before)
    factor = (before - 1.0) / momentum[0]
    for k in range(len(theta)):
        ahead[k] = theta[k] + factor * (theta[k] - previous[k])
