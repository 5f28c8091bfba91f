"""The objectives at the points of a trace: evaluated at once, or on first access.

Each takes a pass over the rows, which is a large part of a short run. If nothing during the run depends on them, only
the points are kept, and `Trace` evaluates them on first access.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..problem import Problem
from ..rows import matrices

__all__ = ["Objectives"]

MOST_KEPT = 2**20  # numbers in the points that wait, or as many as X has: then they are evaluated


class Iterates(NamedTuple):
    """A point of the trace: the iterates and their means."""

    w: np.ndarray
    v: np.ndarray
    w_mean: np.ndarray
    v_mean: np.ndarray


class Objectives:
    """The objectives at w and at w_mean, for each point of a trace.

    Parameters
    ----------
    problem : Problem
    later : bool
        Keep the points instead of evaluating them. Of a source, the pass for the certificate then evaluates them all.
    """

    def __init__(self, problem: Problem, later: bool) -> None:
        self.problem, self.later = problem, later
        self._found: list[tuple[float, float]] = []
        self._waiting: list[Iterates] = []

    def at(self, w: np.ndarray, v: np.ndarray, w_mean: np.ndarray, v_mean: np.ndarray) -> tuple[float, float]:
        """The objectives at w and at w_mean; NaN if they are evaluated later."""
        if not self.later:
            return self._evaluated(Iterates(w, v, w_mean, v_mean))
        kept = w.copy(), v.copy()
        means = kept if w_mean is w else (w_mean.copy(), v_mean.copy())
        self._waiting.append(Iterates(*kept, *means))
        of_rows = 0 if self.problem.source is not None else matrices.size(self.problem.rows.X)
        if self.problem.source is not None:
            self.problem.streamed_losses.want(kept[0], means[0])
        if sum(map(len, self._waiting[0])) * len(self._waiting) > max(MOST_KEPT, of_rows):
            self.all()
        return math.nan, math.nan

    def all(self) -> list[tuple[float, float]]:
        """The objectives at all points that were to be evaluated later."""
        self._found += [self._evaluated(point) for point in self._waiting]
        self._waiting = []
        return self._found

    @np.errstate(over="ignore", invalid="ignore")
    def end_is_finite(self) -> bool:
        """Whether the objective at the last point is finite."""
        if self._waiting:
            last = self._waiting[-1]
            return math.isfinite(_objective(self.problem, last.w, last.v))
        return not self._found or math.isfinite(self._found[-1][0])

    @np.errstate(over="ignore", invalid="ignore")
    def _evaluated(self, point: Iterates) -> tuple[float, float]:
        problem, (w, v, w_mean, v_mean) = self.problem, point
        if w_mean is w:  # the method does not average
            return (value := _objective(problem, w, v)), value
        if problem.source is None:
            problem.last_products.of_both(w, w_mean)
        return _objective(problem, w, v), _objective(problem, w_mean, v_mean)


def _objective(problem: Problem, w: np.ndarray, v: np.ndarray) -> float:
    return problem.objective(w, None if problem.determines_v else v)
