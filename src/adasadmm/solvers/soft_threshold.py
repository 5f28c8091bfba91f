"""Sparse and fused signals: soft-thresholding of the fused solution, which is exact for the squared loss.

Let X be diagonal, the loss squared, and ``h_i`` the second derivative of the loss and ridge of node i. If w minimises
the problem without the terms ``limit_i |w_i|``, then ``sign(w_i) max(|w_i| - limit_i / h_i, 0)`` minimises it with
them, provided that ``limit_i / h_i`` is the same for all nodes: the threshold keeps the order of the coefficients, so
the multipliers of the differences stay valid.

Reference: J. Friedman, T. Hastie, H. Hoefling, R. Tibshirani, Pathwise coordinate optimization, Annals of Applied
Statistics 1, 2007.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np

from .. import losses, penalties
from ..linalg.matrices import WithIntercept, to_scipy
from ..problem import Problem
from .base import Point, Run, Solver, check_fits
from .chain_dp import ChainDP
from .direct import DirectRun, limits_of, nodes_of, quadratic, refuse, why_not
from .work import Iterations

__all__ = ["SoftThreshold", "fused_part"]

EQUAL = 1e-12  # relative difference up to which thresholds count as equal


@dataclasses.dataclass(frozen=True)
class SoftThreshold(Solver):
    """A direct method for the differences, then soft-thresholding: the sparse fused lasso where X is diagonal.

    It is exact for the squared loss and nodes of equal weight, with `L1` on differences (rows of A with two entries)
    and on each coefficient (rows with one entry).

    Parameters
    ----------
    method : Solver, default=ChainDP()
        The method for the problem without the rows of one entry: `ChainDP`, `AlternatingChains` or `DualGradient`.

    References
    ----------
    J. Friedman, T. Hastie, H. Hoefling, R. Tibshirani, Pathwise coordinate optimization, Annals of Applied Statistics
    1, 2007.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from adasadmm import L1, Problem, SoftThreshold, Squared, graphs, solve
    >>> A = sp.vstack([graphs.difference(4), sp.eye_array(4)])
    >>> problem = Problem(np.eye(4), [0.0, 1.0, 5.0, 6.0], loss=Squared(), penalty=L1(0.25), A=A)
    >>> solve(problem, SoftThreshold()).w
    array([0., 0., 4., 4.])
    """

    method: Solver = dataclasses.field(default_factory=ChainDP)

    uses_all_rows: ClassVar[bool] = True
    takes_streams: ClassVar[bool] = False
    takes_any_B: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = True
    exact_v: ClassVar[bool] = True
    default_epochs: ClassVar[float] = 1000.0
    fit_epochs: ClassVar[int] = 1000
    separable_w_step: ClassVar[bool] = False  # type: ignore[assignment]

    def check(self, problem: Problem) -> None:
        part = fused_part(problem)
        refuse(self, part if isinstance(part, str) else "")
        assert not isinstance(part, str)
        check_fits(self.method, part.problem)

    def begin(self, problem: Problem, start: Point) -> Run:
        return ThresholdRun(problem, self, ThresholdMethod(problem, self.method, start))


class FusedPart(NamedTuple):
    """The problem without rows of one entry, the rows that it keeps, and the second derivative of each node."""

    problem: Problem
    kept: np.ndarray
    h: np.ndarray
    threshold: float


def fused_part(problem: Problem) -> FusedPart | str:
    """The problem whose solution is to be thresholded; or why that would not be exact."""
    if reason := why_not(problem):
        return reason
    if not isinstance(problem.loss, losses.Squared) or isinstance(problem.rows.X, WithIntercept):
        return "the loss is not squared, or there is an intercept"
    if not isinstance(problem.penalty, penalties.L1):
        return "the penalty is not L1"
    A, limits = to_scipy(problem.A), limits_of(problem)
    kept = np.diff(A.indptr) != 1
    h, _ = quadratic(nodes_of(problem), 0.0)
    single = abs(A[~kept]).T @ limits[~kept]
    if kept.all() or not h.all() or np.ptp(thresholds := single / h) > EQUAL * thresholds.max():
        return "the L1 penalty of the coefficients is not the same, relative to their weights"
    weights = problem.penalty.weights
    penalty = penalties.L1(problem.penalty.nu, None if weights is None else weights[kept])
    inner = problem.replaced(A=A[kept], b=problem.b[kept], penalty=penalty)
    return FusedPart(inner, kept, h, float(thresholds.max()))


class ThresholdMethod:
    """A direct method on the fused part, and what thresholding makes of its point."""

    def __init__(self, problem: Problem, method: Solver, start: Point) -> None:
        part = fused_part(problem)
        assert not isinstance(part, str)
        self.part, self.w, self.theta = part, start.w.copy(), start.theta.copy()
        A = to_scipy(problem.A)[~part.kept]
        self.node, self.entry = A.indices.astype(np.int64), A.data
        limits = limits_of(problem)[~part.kept]
        total = np.bincount(self.node, np.abs(self.entry) * limits, problem.n)[self.node]
        self.share = np.divide(np.sign(self.entry) * limits, total, out=np.zeros_like(limits), where=total > 0.0)
        inner = method.begin(part.problem, Point(start.w.copy(), start.v[part.kept], start.theta[part.kept]))
        assert isinstance(inner, DirectRun)
        self.inner = inner

    def state(self) -> dict[str, np.ndarray]:
        return {f"inner.{name}": array for name, array in self.inner._arrays().items()}

    def advance(self) -> None:
        self.inner.advance(Iterations(1))
        fused, _, theta = self.inner.point
        self.w[:] = fused - np.clip(fused, -self.part.threshold, self.part.threshold)
        self.theta[self.part.kept] = theta
        # What thresholding takes from the balance of a node is what the multipliers of its single rows must give.
        self.theta[~self.part.kept] = (self.part.h * (self.w - fused))[self.node] * self.share


class ThresholdRun(DirectRun):
    """A direct method on the fused part and the thresholding, whose state includes the run on the fused part."""

    method: ThresholdMethod

    def thaw(self) -> None:
        super().thaw()
        self.method.inner.thaw()
