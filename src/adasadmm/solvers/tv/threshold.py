"""Sparse and fused signals: soft-thresholding of the fused solution, which is exact for the squared loss.

Let X be diagonal, the loss squared, and ``h_i`` the second derivative of the loss and ridge of node i. If w minimises
the problem without the terms ``limit_i |w_i|``, then ``sign(w_i) max(|w_i| - limit_i / h_i, 0)`` minimises it with
them, provided that ``limit_i / h_i`` is the same for all nodes: the threshold keeps the order of the coefficients, so
the multipliers of the differences stay valid.

Reference: J. Friedman, T. Hastie, H. Hoefling, R. Tibshirani, Pathwise coordinate optimization, Annals of Applied
Statistics 1, 2007.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ... import losses, penalties
from ...problem import Problem
from ...rows.matrices import WithIntercept, to_scipy
from ..base import NamedState, Point
from .exact import ExactMethod
from .nodes import limits_of, nodes_of, quadratic

__all__ = ["FusedPart", "ThresholdMethod", "fused_part"]

EQUAL = 1e-12  # relative difference up to which thresholds count as equal


class FusedPart(NamedTuple):
    """The problem without rows of one entry, the rows that it keeps, and the second derivative of each node."""

    problem: Problem
    kept: np.ndarray
    h: np.ndarray
    threshold: float


def fused_part(problem: Problem) -> FusedPart | str:
    """The problem whose solution is to be thresholded; or why that would not be exact."""
    A = to_scipy(problem.A)
    kept = np.diff(A.indptr) != 1
    if kept.all():
        return "the rows of A are no differences"
    if not isinstance(problem.loss, losses.Squared) or isinstance(problem.rows.X, WithIntercept):
        return "the loss is not squared, or there is an intercept"
    if not isinstance(problem.penalty, penalties.L1):
        return "the penalty is not L1"
    limits = limits_of(problem)
    h, _ = quadratic(nodes_of(problem), 0.0)
    single = abs(A[~kept]).T @ limits[~kept]
    if not h.all() or np.ptp(thresholds := single / h) > EQUAL * thresholds.max():
        return "the L1 penalty of the coefficients is not the same, relative to their weights"
    weights = problem.penalty.weights
    penalty = penalties.L1(problem.penalty.nu, None if weights is None else weights[kept])
    inner = problem.replaced(A=A[kept], b=problem.b[kept], penalty=penalty)
    return FusedPart(inner, kept, h, float(thresholds.max()))


class ThresholdMethod(ExactMethod):
    """A method for the fused part, and what thresholding makes of its point."""

    def __init__(self, problem: Problem, part: FusedPart, inner: ExactMethod, start: Point) -> None:
        super().__init__(problem, start.w.copy(), start.theta.copy())
        self.part, self.inner = part, inner
        A = to_scipy(problem.A)[~part.kept]
        self.node, self.entry = A.indices.astype(np.int64), A.data
        limits = limits_of(problem)[~part.kept]
        total = np.bincount(self.node, np.abs(self.entry) * limits, problem.n)[self.node]
        self.share = np.divide(np.sign(self.entry) * limits, total, out=np.zeros_like(limits), where=total > 0.0)

    def state(self) -> NamedState:
        return {**super().state(), **{f"inner.{name}": value for name, value in self.inner.state().items()}}

    def restore(self, state: NamedState) -> None:
        super().restore(state)
        inner = {name.removeprefix("inner."): value for name, value in state.items() if name.startswith("inner.")}
        self.inner.restore(inner)
        self.ended = self.inner.ended

    def improve(self) -> None:
        self.inner.improve()
        self.ended = self.inner.ended
        fused = self.inner.w
        self.w[:] = fused - np.clip(fused, -self.part.threshold, self.part.threshold)
        self.theta[self.part.kept] = self.inner.theta
        # What thresholding takes from the balance of a node is what the multipliers of its single rows must give.
        self.theta[~self.part.kept] = (self.part.h * (self.w - fused))[self.node] * self.share
