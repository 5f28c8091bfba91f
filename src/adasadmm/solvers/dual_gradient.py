"""Any graph where X is diagonal: the accelerated dual gradient method of `dual_ascent`, edge by edge."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from ..problem import Problem
from .base import Point, Run, Solver
from .direct import DirectRun, refuse, why_not
from .dual_ascent import Ascent
from .edges import edges_of
from .graph_cuts import CutMethod, needs_cuts
from .graph_nodes import GraphMethod, why_not_graph

__all__ = ["DualGradient"]


@dataclasses.dataclass(frozen=True)
class DualGradient(Solver):
    """Accelerated dual gradients along the edges of any graph, where X is diagonal.

    The rows of A must be weighted differences and the penalty `L1`. For chains `ChainDP` is exact, and for grids
    `AlternatingChains` is faster.

    Losses whose derivative is piecewise linear (`Hinge`, `SquaredHinge`, `Quantile`, `EpsilonInsensitive`, `Huber`) are
    solved exactly, in one iteration, by maximum flows; so is the squared loss if rows have weight 0. Other losses need
    a second derivative, and rows of positive weight. Pieces are equal to the last bit.

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
        return reason or why_not_graph(problem)

    def check(self, problem: Problem) -> None:
        refuse(self, self.fits(problem))

    def begin(self, problem: Problem, start: Point) -> Run:
        if needs_cuts(problem):
            return DirectRun(problem, self, CutMethod(problem, start))
        edges = edges_of(problem)
        assert edges is not None
        ascent = Ascent(edges, problem.n, edges.forces(start.theta))
        return DirectRun(problem, self, GraphMethod(problem, start, ascent))
