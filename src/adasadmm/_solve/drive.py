"""The loop around any solver's run: the clock, stopping, callbacks, the trace, checkpoints and progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.threads import go_on_or_halt
from ..certificates.objectives import Objectives
from ..certificates.trace import Snapshot, Status, Trace
from ..checkpoints import CheckpointError, Keeper
from ..solvers import Run
from ..solvers.work import halves
from .progress import Progress
from .schedule import Segment

__all__ = ["Callback", "advance", "drive", "epochs_of"]

SLICE_SECONDS = 0.25  # between two returns to Python, where Ctrl-C is noticed and the iterates are checked
NOT_FINITE = "{} stopped being finite"
Callback = Callable[[Snapshot], Any]  # a true value stops the run


def drive(
    run: Run,
    segments: Iterator[Segment],
    tol: float | None,
    callback: Callback | None,
    bar: Progress,
    keeper: Keeper,
    objectives: Objectives,
) -> tuple[Status, str]:
    """Advance segment by segment, and record a point of the trace after each; however it ends, the run is kept.

    The second value says why a run diverged.
    """
    status, reason, pace = Status.done, "", Pace()
    try:
        for segment in segments:
            reason = advance(run, segment, keeper, bar, pace)
            if reason:
                status = Status.diverged
                break
            snapshot = _snapshot(run, objectives, copies=callback is not None, proves=tol is not None)
            if not (objectives.later or math.isfinite(snapshot.objective)):
                status, reason = Status.diverged, NOT_FINITE.format("the objective")
                break
            if tol is not None:
                proved = run.certify()
                snapshot = snapshot._replace(lower_bound=proved.dual, relative_gap=proved.relative_gap)
            keeper.points.append(snapshot[: len(Trace.columns)])  # without the iterates: a run may have many points
            bar.show(snapshot.objective)
            if callback is not None and callback(snapshot):
                status = Status.stopped
                break
            if tol is not None and snapshot.relative_gap <= tol:
                status = Status.converged
                break
            if run.ended:
                break
    except CheckpointError:
        raise
    except BaseException:
        keeper.write()
        raise
    if objectives.later and run.problem.source is not None and status is not Status.diverged:
        run.certify()  # before the objectives: both in one pass
    if not reason and not objectives.end_is_finite():
        status, reason = Status.diverged, NOT_FINITE.format("the objective")
    if keeper.checkpoint is not None:
        keeper.note(run)
        keeper.write(None if status is Status.stopped else status)  # a run that was stopped may be resumed
    return status, reason


class Pace:
    """Return the number of iterations that take about a quarter of a second."""

    def __init__(self) -> None:
        self.iterations = 1

    def adapt(self, seconds: float) -> None:
        if seconds < 0.5 * SLICE_SECONDS:
            factor = 16 if seconds < SLICE_SECONDS / 32.0 else 2
            self.iterations = min(factor * self.iterations, 2**20)
        elif seconds > 2.0 * SLICE_SECONDS:
            self.iterations = max(1, self.iterations // 2)


@np.errstate(over="ignore", invalid="ignore")
def advance(
    run: Run,
    segment: Segment,
    keeper: Keeper | None = None,
    bar: Progress | None = None,
    pace: Pace | None = None,
) -> str:
    """Advance a run. If it cannot go on, return the reason; the run is then back at its last finite iterates.

    The work is cut into slices of about a quarter of a second: before each the run is kept, and may be halted.
    """
    keeper = Keeper(None, {}) if keeper is None else keeper
    pace = Pace() if pace is None else pace
    for work in segment:
        if bar is not None:
            bar.before(work)
        while work.length:
            piece, work = work.split(pace.iterations)
            go_on_or_halt()
            before, start = keeper.note(run), time.perf_counter()
            try:
                run.advance(piece)
                reason = "" if run.is_finite() else NOT_FINITE.format("an iterate")
            except np.linalg.LinAlgError as error:  # Newton's matrix, or the full metric if gradients overflow
                reason = str(error)
            if reason:
                before.return_to(run)
                any(advance(run, [half]) for half in halves(piece))  # redo the part that stays finite
                return reason
            spent = time.perf_counter() - start
            run.done += piece.length
            run.seconds += spent
            pace.adapt(spent)
        if bar is not None:
            bar.after()
    return ""


@np.errstate(over="ignore", invalid="ignore")
def _snapshot(run: Run, objectives: Objectives, copies: bool, proves: bool) -> Snapshot:
    """The run at a point of the trace; if it ``proves`` its gap there, the same pass over a source does both."""
    problem, (w, v, _), (w_mean, v_mean), w_average = run.problem, run.point, run.means, run.answer
    if problem.source is not None and not objectives.later:
        problem.streamed_losses.want(w, w_mean, w_average)
        if proves:
            run.certify()
    monitor = run.monitor()
    if monitor.objective is None:
        objective, objective_mean = objectives.at(w, v, w_mean, v_mean)
    else:
        objective = objective_mean = monitor.objective
    residual = monitor.primal_residual
    if residual is None:
        residual = float(np.linalg.norm(problem.residual(w, v)))
    if copies:  # for a callback, which may keep them
        w, w_mean, w_average = w.copy(), w_mean.copy(), w_average.copy()
    return Snapshot(
        iteration=monitor.iteration,
        epoch=epochs_of(run, run.done),
        seconds=run.seconds,
        objective=objective,
        objective_mean=objective_mean,
        primal_residual=residual,
        dual_residual=monitor.dual_residual,
        eta=monitor.eta,
        lower_bound=math.nan,
        relative_gap=math.nan,
        w=w,
        w_mean=w_mean,
        w_average=w_average,
    )


def epochs_of(run: Run, done: int) -> float:
    return float(done) if run.solver.uses_all_rows else done / run.problem.terms
