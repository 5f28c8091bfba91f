"""Grids where X is diagonal: accelerated dual gradients, and total variation along rows and columns in turn.

The edges of a grid, and of many other graphs, form a few families of disjoint paths. For one family alone, given the
forces of the others, the maximum of the dual value is known exactly (`linalg.chain`), so the families can be solved in
turn. Under a strong penalty a few such sweeps are all that is needed. Otherwise the gradient steps of `dual_ascent`,
which cost a fraction of a sweep on a `Lattice`, are faster.

Reference: A. Barbero, S. Sra, Modular proximal optimization for multidimensional total-variation regularization, JMLR
19, 2018.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from ..problem import Problem
from .base import Point, Run, Solver
from .direct import DirectRun, refuse, why_not
from .dual_ascent import Ascent
from .graph_cuts import CutMethod, needs_cuts
from .graph_nodes import GraphMethod, why_not_graph
from .lattice import is_lattice, lattice_of

__all__ = ["AlternatingChains"]


@dataclasses.dataclass(frozen=True)
class AlternatingChains(Solver):
    """Accelerated dual gradients on a grid, after exact chains in turn if the penalty is strong, where X is diagonal.

    The rows of A must be weighted differences whose edges (i, j) have few distinct values of j - i, as those of a grid
    in two or three dimensions, and the penalty `L1`.

    Losses whose derivative is piecewise linear (`Hinge`, `SquaredHinge`, `Quantile`, `EpsilonInsensitive`, `Huber`) are
    solved exactly, in one iteration, by maximum flows; so is the squared loss if rows have weight 0. Other losses need
    a second derivative, and rows of positive weight. Pieces are equal to the last bit.

    References
    ----------
    A. Barbero, S. Sra, Modular proximal optimization for multidimensional total-variation regularization, Journal of
    Machine Learning Research 19, 2018.

    A. Chambolle, J. Darbon, On total variation minimization and surface evolution using parametric maximum flows,
    International Journal of Computer Vision 84, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import AlternatingChains, L1, Problem, Squared, graphs, solve
    >>> y = [0.0, 1.0, 5.0, 6.0]  # the image [[0, 1], [5, 6]]
    >>> A = graphs.incidence(graphs.grid(2, 2), d=4)
    >>> problem = Problem(np.eye(4), y, loss=Squared(), penalty=L1(0.125), A=A)
    >>> solve(problem, AlternatingChains(), tol=1e-9).w.round(6)
    array([1., 1., 5., 5.])
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
        if not reason and (not problem.m or not is_lattice(problem)):
            reason = "the rows of A are no differences along a few families of disjoint paths"
        return reason or why_not_graph(problem)

    def check(self, problem: Problem) -> None:
        refuse(self, self.fits(problem))

    def begin(self, problem: Problem, start: Point) -> Run:
        if needs_cuts(problem):
            return DirectRun(problem, self, CutMethod(problem, start))
        lattice = lattice_of(problem)
        assert lattice is not None
        ascent = Ascent(lattice, problem.n, lattice.forces(start.theta), lattice.sweep)
        return DirectRun(problem, self, GraphMethod(problem, start, ascent))
