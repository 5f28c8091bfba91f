"""The run of a result that was not found by steps of its solver."""

from __future__ import annotations

import functools

import numpy as np

from ...certificates.trace import Certificate
from ...problem import Problem
from .. import Monitor, NamedState, Point, Run, Slopes, Solver, Work

__all__ = ["Found"]


class Found(Run):
    """A run that is at the solution already; its solver begins only if it has to continue from there."""

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        point: Point,
        slopes: np.ndarray,
        certificate: Certificate,
        iterations: int,
    ) -> None:
        self.problem, self.solver, self.done = problem, solver, iterations
        self._point, self._slopes, self._certificate = point, slopes, certificate

    @functools.cached_property
    def begun(self) -> Run:
        """The solver's own run, from this point."""
        return self.solver.begin(self.problem, Point(*(array.copy() for array in self._point)))

    def advance(self, work: Work) -> None:
        raise RuntimeError("this run is at the solution: continue with a fork of it, or with solve(start=...)")

    def is_finite(self) -> bool:
        return True

    @property
    def point(self) -> Point:
        return self._point

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        return self._point.w, self._point.v

    @property
    def answer(self) -> np.ndarray:
        return self._point.w

    def monitor(self) -> Monitor:
        return Monitor(self.done)

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        return self._slopes, self._point.theta

    def certify(self) -> Certificate:
        return self._certificate

    def state(self) -> NamedState:
        return self.begun.state()

    def restore(self, state: NamedState) -> None:
        self.begun.restore(state)

    def fork(self, problem: Problem | None) -> Run:
        return self.begun.fork(problem)
