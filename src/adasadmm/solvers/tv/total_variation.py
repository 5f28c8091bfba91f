"""The total variation of signals, images and other graphs, where X is diagonal: one solver, whose strategy fits A.

The rows of A describe the edges of a graph:

- along chains, dynamic programming finds the solution in linear time (`chain`);
- for losses with kinks and on missing points, maximum flows find it on any graph (`cuts`);
- otherwise accelerated gradients raise the dual value, on grids after exact chains along the axes in turn
  (`gradients`, `ascent`; `lattice` and `edges` store the forces);
- an L1 norm of the coefficients is added by soft-thresholding, which is exact for the squared loss (`threshold`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ... import losses, penalties
from ...problem import Problem
from ...rows.matrices import WithIntercept, to_scipy
from ..all_rows import AllRowsSolver
from ..base import NamedState, Point, refuse
from .chain import ChainMethod, why_no_chain
from .cuts import CutMethod, needs_cuts
from .edges import edges_of
from .gradients import along_edges, along_lattice, why_no_graph
from .lattice import is_lattice
from .newton import ExactMethod
from .nodes import limits_of, nodes_of, quadratic, why_not

# --- soft-thresholding -----------------------------------------------------------------------------------------------

# Let X be diagonal, the loss squared, and ``h_i`` the second derivative of the loss and ridge of node i. If w
# minimises the problem without the terms ``limit_i |w_i|``, then ``sign(w_i) max(|w_i| - limit_i / h_i, 0)``
# minimises it with them, provided that ``limit_i / h_i`` is the same for all nodes: the threshold keeps the order of
# the coefficients, so the multipliers of the differences stay valid.
#
# Reference: J. Friedman, T. Hastie, H. Hoefling, R. Tibshirani, Pathwise coordinate optimization, Annals of Applied
# Statistics 1, 2007.

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


class Strategy(NamedTuple):
    """A way to solve a problem.

    Attributes
    ----------
    reason : str
        Along what the penalty acts, and how the problem is solved.
    begin : callable
        The method on a problem, from a point.
    at_once : bool
        The first iteration ends at the solution.
    """

    reason: str
    begin: Callable[[Problem, Point], ExactMethod]
    at_once: bool = False


CHAIN = Strategy("chains: dynamic programming is exact", ChainMethod, at_once=True)
CUTS = Strategy("a graph: maximum flows are exact for this loss", CutMethod, at_once=True)
GRID = Strategy("the axes of a grid: dual gradients, and exact chains in turn", along_lattice)
GRAPH = Strategy("a graph: dual gradients", along_edges)


def strategy_of(problem: Problem) -> Strategy | str:
    """The strategy for a problem; or why there is none."""
    if reason := why_not(problem):
        return reason
    if not (reason := why_no_chain(problem)):
        return CHAIN
    if isinstance(problem.penalty, penalties.ChainTV):
        return reason
    on_grid = is_lattice(problem)
    if not on_grid and edges_of(problem) is None:
        return _thresholded(problem)
    if reason := why_no_graph(problem):
        return reason
    if needs_cuts(problem):
        return CUTS
    return GRID if on_grid else GRAPH


def _thresholded(problem: Problem) -> Strategy | str:
    """The strategy for the differences, then soft-thresholding."""
    part = fused_part(problem)
    if isinstance(part, str):
        return part
    inner = strategy_of(part.problem)
    if isinstance(inner, str):
        return inner

    def begin(problem: Problem, start: Point) -> ExactMethod:
        point = Point(start.w.copy(), start.v[part.kept], start.theta[part.kept])
        return ThresholdMethod(problem, part, inner.begin(part.problem, point), start)

    return Strategy(f"{inner.reason}, then soft-thresholding for the L1 norm", begin)


@dataclasses.dataclass(frozen=True)
class TotalVariation(AllRowsSolver):
    """Signals, images and other graphs where X is diagonal: exact chains, maximum flows or dual gradients.

    The rows of A must be weighted differences and the penalty `L1`; or A = I and the penalty `ChainTV`. The structure
    decides how the problem is solved, and ``solver_reason_`` of an estimator says it:

    - Along disjoint paths, dynamic programming finds the exact solution in one iteration. With the squared loss, time
      is linear in the number of points.
    - On other graphs, losses whose derivative is piecewise linear (`Hinge`, `SquaredHinge`, `Quantile`,
      `EpsilonInsensitive`, `Huber`) are solved exactly, in one iteration, by maximum flows; so is the squared loss if
      rows have weight 0. Other losses need a second derivative, and rows of positive weight: accelerated gradients
      raise their dual value. On a grid, whose edges (i, j) have few distinct values of j - i, strong penalties begin
      with exact chains along each axis in turn.
    - With the squared loss and nodes of equal weight, A may have rows of one entry as well, an L1 norm of the
      coefficients: soft-thresholding of the fused solution is exact.

    Rows of weight 0 are missing points. The coefficients of a piece are equal to the last bit.

    References
    ----------
    N. Johnson, A dynamic programming algorithm for the fused lasso and L0-segmentation, Journal of Computational and
    Graphical Statistics 22, 2013.

    A. Chambolle, J. Darbon, On total variation minimization and surface evolution using parametric maximum flows,
    International Journal of Computer Vision 84, 2009.

    A. Beck, M. Teboulle, Fast gradient-based algorithms for constrained total variation image denoising and deblurring
    problems, IEEE Transactions on Image Processing 18, 2009.

    A. Barbero, S. Sra, Modular proximal optimization for multidimensional total-variation regularization, Journal of
    Machine Learning Research 19, 2018.

    J. Friedman, T. Hastie, H. Hoefling, R. Tibshirani, Pathwise coordinate optimization, Annals of Applied Statistics
    1, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Problem, Squared, TotalVariation, graphs, solve
    >>> y = [0.0, 1.0, 5.0, 6.0]
    >>> signal = Problem(np.eye(4), y, loss=Squared(), penalty=L1(0.25), A=graphs.difference(4))
    >>> solve(signal, TotalVariation()).w
    array([1., 1., 5., 5.])

    The same numbers as an image of two rows:

    >>> grid = graphs.incidence(graphs.grid(2, 2), d=4)
    >>> image = Problem(np.eye(4), y, loss=Squared(), penalty=L1(0.125), A=grid)
    >>> solve(image, TotalVariation(), tol=1e-9).w.round(6)
    array([1., 1., 5., 5.])
    """

    default_epochs = 1000.0

    def check(self, problem: Problem) -> None:
        strategy = strategy_of(problem)
        refuse(self, strategy if isinstance(strategy, str) else "")

    def foresee(self, problem: Problem, strengths: Sequence[float]) -> None:
        if len(strengths) > 1 and strategy_of(problem) is CHAIN:
            ChainMethod(problem, Point(*map(np.zeros, (problem.d, problem.p, problem.m)))).foresee(strengths)

    def method(self, problem: Problem, start: Point) -> ExactMethod:
        strategy = strategy_of(problem)
        assert isinstance(strategy, Strategy)
        return strategy.begin(problem, start)
