"""Solvers that run in turn until one reaches ``tol``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from ..auto import Choice
from ..certificates.trace import Result, Snapshot, Status
from .advice import gap_of, grows_without_bound

__all__ = ["CONTINUED", "Attempts"]

CONTINUED = 100  # iterations of a solver that follows one that missed tol
WINDOW = 30  # iterations over which the pace of a run is measured
VANISHED = 1e-4  # of the loss of w = 0, above the least possible one


class Attempts:
    """The results of solvers that run in turn until one reaches ``tol``; if none does, the smallest gap counts.

    They also end if the problem seems to have no optimum, which no other solver would find.

    Attributes
    ----------
    last, best : Result
    choice : Choice
        The solver of the best result.
    """

    last: Result | None = None
    best: Result
    choice: Choice

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self._stalled = False

    def watched(
        self, choice: Choice, most: float, callback: Callable[[Snapshot], bool] | None = None
    ) -> Callable[[Snapshot], bool] | None:
        """The callback of a run of at most so many iterations, which also ends it if it stalls and hands over."""
        if not choice.hands_over or not self.tol > 0.0:
            return callback
        gaps: list[float] = []

        def watch(snapshot: Snapshot) -> bool:
            gaps.append(min(snapshot.relative_gap, gaps[-1] if gaps else math.inf))
            self._stalled = _stalls(gaps, self.tol, most)
            return (callback is not None and bool(callback(snapshot))) or self._stalled

        return watch

    def ended_by(self, choice: Choice, result: Result) -> bool:
        """Keep a result; whether it reaches ``tol``, or no solver is going to."""
        if self._stalled:
            result, self._stalled = dataclasses.replace(result, status=Status.stalled), False
        if self.last is None or _quality(result) < _quality(self.best):
            self.best, self.choice = result, choice
        self.last = result
        return gap_of(result) <= self.tol or _vanishes(result)


def _stalls(gaps: list[float], tol: float, most: float) -> bool:
    """Whether a run would miss ``tol`` within so many iterations at the pace of the last ones; one gap for each."""
    if len(gaps) <= WINDOW or gaps[-1] <= tol:
        return False
    now, before = gaps[-1], gaps[-1 - WINDOW]
    if not now < before:
        return True
    needed = WINDOW * math.log(now / tol) / math.log(before / now)
    return len(gaps) + needed > most


def _quality(result: Result) -> tuple[float, float]:
    """The gap; where nothing can be proved, the objective decides."""
    found = result.certificate
    return gap_of(result), math.inf if found is None or math.isnan(found.primal) else found.primal


def _vanishes(result: Result) -> bool:
    """Whether the loss falls to its infimum while the predictions grow: classes that a plane separates, for example."""
    problem, found = result.run.problem, result.certificate
    if found is None or problem.source is not None or problem.gamma.any():
        return False
    least, at_zero = problem.least_loss, problem.value_at_zero
    return found.primal - least <= VANISHED * (at_zero - least) and grows_without_bound(problem, result.w_average)
