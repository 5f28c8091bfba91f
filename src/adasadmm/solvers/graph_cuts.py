"""Losses with piecewise linear derivatives on any graph, where X is diagonal: the exact solution by maximum flows."""

from __future__ import annotations

import numpy as np

from .. import losses
from .._core.jit import is_registered
from ..linalg.cuts import cut_into_pieces
from ..problem import Problem
from .base import Point
from .direct import nodes_of, pieces_of
from .edges import edges_of
from .graph_nodes import has_missing, set_intercept

__all__ = ["CutMethod", "needs_cuts"]


def needs_cuts(problem: Problem) -> bool:
    """Whether the dual ascent does not suit a problem: a loss is constant, or its derivative has kinks or jumps."""
    if not is_registered(losses.pieces, problem.loss):
        return False
    return not isinstance(problem.loss, losses.Squared) or has_missing(problem)


class CutMethod:
    """The exact solution, in one iteration."""

    def __init__(self, problem: Problem, start: Point) -> None:
        self.problem = problem
        self.w, self.theta, self.done = start.w.copy(), start.theta.copy(), np.zeros(1)
        self.shift = set_intercept(problem, self.w)

    def state(self) -> dict[str, np.ndarray]:
        return {"solved": self.done}

    def advance(self) -> None:
        if self.done[0]:
            return
        edges, pieces = edges_of(self.problem), pieces_of(nodes_of(self.problem), self.shift)
        assert edges is not None
        forces = edges.forces(self.theta)
        cut_into_pieces(pieces, edges, self.w[: self.problem.n], forces)
        self.theta[:] = edges.multipliers(forces)
        self.done[0] = 1.0
