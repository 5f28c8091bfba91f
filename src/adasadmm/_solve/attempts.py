"""Solvers that run in turn until one reaches ``tol``: the same loop for fits, signals, paths and `solve`."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..auto import Choice, is_auto
from ..certificates.trace import Result, Snapshot, Status
from ..problem import Problem
from ..registry import AUTOMATIC, Tuning
from ..solvers import Solver
from .advice import gap_of, grows_without_bound
from .solving import DEFAULT_TOL, solve_at_once, solve_quietly

__all__ = ["Request", "attempt"]

CONTINUED = 100  # iterations of a solver that follows one that missed tol
WINDOW = 30  # iterations over which the pace of a run is measured
VANISHED = 1e-4  # of the loss of w = 0, above the least possible one

Start = Callable[[Problem, Solver], Result | None]


class Request(NamedTuple):
    """What is asked of the solvers of a problem."""

    solver: str | Solver = "auto"
    tol: float = DEFAULT_TOL  # where to stop; not for a solver that was given, and does not know its gap
    epochs: float | None = None  # of the first solver, after which no other follows; None: as it suggests
    tuning: Tuning = AUTOMATIC
    has_intercept: bool = False  # the last coordinates are intercepts, which the null model has as well
    keywords: Mapping[str, Any] = {}  # of `solve`, for every solver
    saved: Mapping[str, Any] = {}  # for the first one: checkpoint and resume; a run that is saved does not end early
    callback: Callable[[Snapshot], bool] | None = None

    @property
    def is_open(self) -> bool:
        """Whether any number of solvers may run until ``tol`` is reached."""
        return is_auto(self.solver) and self.epochs is None

    def may_condense(self, problem: Problem) -> bool:
        """Whether a solution on other rows is the same to the user, by whatever solver is fastest."""
        return self.is_open and problem.w_set is None and not self.saved

    def expected(self, result: Result) -> float | None:
        """The relative gap that the user may expect of a result; None of a stochastic solver that does not stop."""
        streaming = result.run.problem.source is not None and not result.run.problem.on_workers
        return self.tol if result.solver.uses_all_rows or (is_auto(self.solver) and not streaming) else None

    def settings(self, problem: Problem, solver: Solver) -> dict[str, Any]:
        """The keywords of `solve` for one of the solvers."""
        streaming = problem.source is not None and not problem.on_workers
        auto = is_auto(self.solver)
        most = solver.default_epochs if auto and streaming else solver.fit_epochs  # each one reads all rows again
        return {
            "epochs": most if self.epochs is None else self.epochs,
            "tol": self.tol if solver.knows_gap or (auto and not streaming) else None,
            "trace_every": float(solver.trace_iterations),
            "callback": self.callback,
            **self.keywords,
        }


def attempt(
    problem: Problem, in_turn: Iterator[Choice], request: Request, start: Start | None = None, brief: bool = False
) -> Result:
    """The result of the first solver that reaches ``tol``; if none does, that with the smallest gap.

    The first begins at ``start(problem, solver)``, the others continue from its result, unless w = 0 is better. None
    follows if the callback stopped the run, or the problem seems to have no optimum. With ``brief``, a run of few
    iterations has a trace of one point. No solver continues from where one ended that may give up.
    """
    best = last = None
    may_continue = request.is_open and request.tol > 0.0 and not request.saved
    in_turn = (choice for choice in in_turn if may_continue or not choice.may_give_up)
    for choice in in_turn if request.epochs is None else itertools.islice(in_turn, 1):
        solver, watch, first = choice.solver, None, last is None
        if last is None:
            origin = None if start is None else start(problem, solver)
        else:
            origin = last if _improves(problem, last) else None
        if brief and choice.at_once:
            most = solver.fit_epochs if request.epochs is None else request.epochs
            found = solve_at_once(problem, solver, origin, request.tol, most)
        else:
            settings = request.settings(problem, solver) | dict(request.saved if first else {})
            if not first:
                settings["epochs"] = min(settings["epochs"], CONTINUED)
            if choice.hands_over and request.tol > 0.0 and request.epochs is None and not request.saved:
                settings["callback"] = watch = Watch(request, settings["epochs"])
            found = solve_quietly(problem, solver, start=origin, **settings)
        status = Status.stalled if watch is not None and watch.stalled else found.status
        found = dataclasses.replace(found, status=status, solver_reason=choice.reason)
        if best is None or _quality(found) < _quality(best):
            best = found
        if gap_of(found) <= request.tol or status is Status.stopped or _vanishes(found):
            break
        if not choice.may_give_up:  # else the next one does not profit from where it ended
            last = found
    assert best is not None
    return best


class Watch:
    """A callback that ends a run if it stalls, or if the callback of the request does."""

    def __init__(self, request: Request, most: float) -> None:
        self.request, self.most = request, most
        self.gaps: list[float] = []
        self.stalled = False

    def __call__(self, snapshot: Snapshot) -> bool:
        self.gaps.append(min(snapshot.relative_gap, self.gaps[-1] if self.gaps else math.inf))
        self.stalled = _stalls(self.gaps, self.request.tol, self.most)
        callback = self.request.callback
        return (callback is not None and bool(callback(snapshot))) or self.stalled


def _stalls(gaps: list[float], tol: float, most: float) -> bool:
    """Whether a run would miss ``tol`` within so many iterations at the pace of the last ones; one gap for each."""
    if len(gaps) <= WINDOW or gaps[-1] <= tol:
        return False
    now, before = gaps[-1], gaps[-1 - WINDOW]
    if not now < before:
        return True
    needed = WINDOW * math.log(now / tol) / math.log(before / now)
    return len(gaps) + needed > most


@np.errstate(over="ignore", invalid="ignore")
def _improves(problem: Problem, result: Result) -> bool:
    """Whether a result is better than w = 0, and so worth continuing from."""
    return problem.objective(result.w) < problem.objective(np.zeros(problem.d))


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
