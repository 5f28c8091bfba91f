"""Losses with piecewise linear derivatives on any graph: the exact solution by maximum flows.

Reference: A. Chambolle, J. Darbon, On total variation minimization and surface evolution using parametric maximum
flows, International Journal of Computer Vision 84, 2009.
"""

from __future__ import annotations

from ... import losses
from ...linalg.cuts import cut_into_pieces
from ...problem import Problem
from ..base import Point
from .edges import edges_of
from .gradients import set_intercept
from .newton import ExactMethod
from .nodes import has_missing, is_piecewise, nodes_of, pieces_of

__all__ = ["CutMethod", "needs_cuts"]


def needs_cuts(problem: Problem) -> bool:
    """Whether the dual ascent does not suit a problem: a loss is constant, or its derivative has kinks or jumps."""
    if not is_piecewise(problem.loss, problem.rows.y):
        return False
    return not isinstance(problem.loss, losses.Squared) or has_missing(problem)


class CutMethod(ExactMethod):
    """The exact solution, in one iteration."""

    numbers = ("ended",)

    def __init__(self, problem: Problem, start: Point) -> None:
        w = start.w.copy()
        self.shift = set_intercept(problem, w)
        super().__init__(problem, w, start.theta.copy())

    def improve(self) -> None:
        edges, pieces = edges_of(self.problem), pieces_of(nodes_of(self.problem), self.shift)
        assert edges is not None
        forces = edges.forces(self.theta)
        cut_into_pieces(pieces, edges, self.w[: self.problem.n], forces)
        self.theta[:] = edges.multipliers(forces)
        self.ended = True
