"""A run of one solver: what is checked before it, how it begins, and what its result contains."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._core.threads import go_on_or_halt, one_blas_thread
from ..certificates.objectives import Objectives
from ..certificates.polish import fuse
from ..certificates.trace import Certificate, Result, Status, Trace
from ..checkpoints import Checkpoint, CheckpointError, Keeper, Moment, check_same_form, fingerprint
from ..penalties import SEPARABLE_SETS
from ..problem import Problem
from ..rows.last_products import kept
from ..rows.matrices import equal
from ..solvers import ALM, Iterations, Point, Run, Solver, check_fits
from .drive import Callback, drive, epochs_of
from .progress import Progress
from .schedule import Plan, after, schedule

__all__ = ["DEFAULT_TOL", "begin", "check_arguments", "solve_at_once", "solve_quietly"]

DEFAULT_TOL = 1e-6  # of the solvers that know their gap
POLISHED = 1e-8  # the gap that polish continues to, if tol is not smaller
POLISH_ITERATIONS = 20
ORDERS = ("permute", "replace", "given")


def goal_of(solver: Solver, tol: float | None) -> float | None:
    """The relative gap at which a run ends, if it can."""
    return DEFAULT_TOL if tol is None and solver.knows_gap else tol


def solve_quietly(
    problem: Problem,
    solver: Solver,
    *,
    epochs: float | None = None,
    seed: int = 0,
    samples: npt.ArrayLike | None = None,
    order: str = "permute",
    start: Result | None = None,
    tol: float | None = None,
    trace_every: float = 0.25,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
    polish: bool = False,
) -> Result:
    """One run of this solver, without warnings: `solve` for callers that judge the result themselves."""
    check_arguments(problem, start, callback)
    check_fits(solver, problem)
    check_numbers(epochs, order, tol, trace_every, seed)
    _check_checkpoint(checkpoint, resume)
    if polish:
        check_fits(_polisher(solver), problem)
    if samples is not None and solver.uses_all_rows:
        raise ValueError(f"samples must be None for {type(solver).__name__}, which uses all rows in every iteration")
    if problem.source is not None and (samples is not None or order == "replace"):
        raise ValueError(
            'rows of a source cannot be drawn one by one: order must be "permute" or "given", samples None'
        )
    with one_blas_thread():
        run = begin(problem, solver, start)
        tol = goal_of(solver, tol)
        run.tol = tol or 0.0  # 0: it ends at no gap
        length = solver.default_epochs if epochs is None else float(epochs)
        segments, total = schedule(run, Plan(length, order, seed, samples, trace_every))
        settings: dict[str, object] = {}
        if checkpoint is not None:
            settings = {"solver": solver, "epochs": epochs, "seed": seed, "order": order, "samples": samples}
            settings |= {"tol": tol, "trace_every": trace_every, "start": None if start is None else run.state()}
        keeper = Keeper(checkpoint, _fingerprint(problem, settings) if settings else {})
        first = run.done
        status, reason = _resumed(run, keeper.open(resume)), ""
        # Nothing else needs the objectives during the run: the bar of a source shows the progressive loss.
        needed = callback or tol is not None or checkpoint or (progress and problem.source is None)
        objectives = Objectives(run.problem, later=not needed)
        bar = Progress(run, first, total, progress and status is None)
        if status is None:
            with bar:
                status, reason = drive(run, after(segments, run.done - first), tol, callback, bar, keeper, objectives)
        trace = Trace(keeper.points, objectives.all if objectives.later else None)
        ended = End(status, reason, epochs_of(run, run.done - first), bar.progressive.value)
        result = _result(problem, run, trace, ended)
        if problem.source is not None:
            trace.evaluate()  # from the pass for the certificate, before the files change
        missed = status is Status.diverged or (tol is not None and status is Status.done)
        return _polished(problem, result, tol) if polish and not missed else result


@np.errstate(over="ignore", invalid="ignore")
def solve_at_once(problem: Problem, solver: Solver, start: Result | None, tol: float, epochs: float) -> Result:
    """The result of `solve` for a solver whose run is short, with a trace of one point.

    Along a path of penalties, checks, schedule, clock and trace would take longer than the iterations. A run that
    breaks down is made again with them.
    """
    run = begin(problem, solver, start)
    run.tol, first, clock = tol, run.done, time.perf_counter()
    while True:
        go_on_or_halt()
        try:
            run.advance(Iterations(1))
            is_finite = run.is_finite()
        except np.linalg.LinAlgError:
            is_finite = False
        if not is_finite:
            return solve_quietly(problem, solver, start=start, tol=tol, epochs=epochs)
        run.done += 1
        proved = run.certify()
        reached = proved.relative_gap <= tol
        if reached or run.ended or run.done - first >= epochs:
            break
    run.seconds += time.perf_counter() - clock
    at, gap, length = run.monitor(), proved.relative_gap, float(run.done - first)
    values = proved.primal, proved.primal, proved.primal_residual, at.dual_residual, at.eta, proved.dual, gap
    trace = Trace([(at.iteration, float(run.done), run.seconds, *values)])
    return _result(problem, run, trace, End(Status.converged if reached else Status.done, "", length, None))


@np.errstate(over="ignore", invalid="ignore")
def begin(problem: Problem, solver: Solver, start: Result | None = None) -> Run:
    """A new run, or one that continues from a result: its own run if nothing but rows and penalty have changed."""
    keeps_w_set = solver.separable_w_step and isinstance(problem.w_set, SEPARABLE_SETS)
    split = problem.w_set is not None and not keeps_w_set
    inner = problem.w_set_split if split else problem
    if start is not None:
        if len(start.w) != problem.d or len(start.v) != problem.p or len(start.theta) != problem.m:
            raise ValueError(
                f"start has {len(start.w)} features and {len(start.theta)} constraints, "
                f"the problem {problem.d} and {problem.m}"
            )
        run = start.run
        if run is not None and _same_solver(run.solver, solver) and _same_quadratics(run.problem, inner):
            return run.fork(inner)
    lengths = problem.d, problem.p, problem.m
    w, v, theta = map(np.zeros, lengths) if start is None else (x.copy() for x in (start.w, start.v, start.theta))
    if split:
        v, theta = np.concatenate([v, w]), np.concatenate([theta, np.zeros(problem.d)])
    return solver.begin(inner, Point(w, v, theta))


def _fingerprint(problem: Problem, settings: dict[str, object]) -> dict[str, str]:
    """Everything that the bits of a run depend on."""
    if problem.source is None:
        rows: dict[str, object] = dict(zip(("X", "y", "sample_weight"), problem.rows, strict=True))
    else:
        source = problem.source
        rows = {"source": (repr(source), len(source), source.summary, problem.first_rows)}
        if source.on_workers:
            rows["lanes"] = source.lanes
    parts = ("loss", "penalty", "A", "B", "b", "gamma", "w_set")
    return fingerprint(**rows, **{name: getattr(problem, name) for name in parts}, **settings)


def _resumed(run: Run, moment: Moment | None) -> Status | None:
    """Bring a run to the moment of a checkpoint; its status, if it had ended."""
    if moment is None:
        return None
    check_same_form(run.state(), moment.state)
    try:
        moment.return_to(run)
    except ValueError as error:
        raise CheckpointError(f"the checkpoint does not fit the run: {error}") from error
    return moment.status


def _same_solver(one: Solver, other: Solver) -> bool:
    """Whether the settings are the same; compared by their repr, as metrics without fields are equal as tuples."""
    return one is other or repr(one) == repr(other)


def _same_quadratics(one: Problem, other: Problem) -> bool:
    """Whether a run on one problem can continue on the other: its w-step and its slack belong to these arrays."""
    pairs = (one.A, other.A), (one.B, other.B), (one.b, other.b), (one.gamma, other.gamma)
    return all(ours is theirs or equal(ours, theirs) for ours, theirs in pairs)


class End(NamedTuple):
    """How a run ended, as in `Result`."""

    status: Status
    reason: str
    epochs: float
    progressive_loss: float | None


def _result(problem: Problem, run: Run, trace: Trace, end: End) -> Result:
    """The result in the user's own rows, without those of a split w_set."""
    arrays, m, p = (*run.point, *run.means, run.answer), problem.m, problem.p
    later = not run.solver.knows_gap and problem.source is None and end.status is not Status.converged
    # One copy of each array: those of a method that does not average are the same. None if it is read-only.
    copies = {key: kept(array) for key, array in {id(array): array for array in arrays}.items()}
    w, v, theta, w_mean, v_mean, answer = (copies[id(array)] for array in arrays)
    return Result(
        w=w,
        v=v[:p],
        theta=theta[:m],
        w_mean=w_mean,
        v_mean=v_mean[:p],
        w_average=answer,
        w_feasible=v[p:].copy() if run.problem.m > m else w,
        trace=trace,
        certified=_nothing_proved(end.reason) if end.status is Status.diverged else None if later else run.certify(),
        run=run,
        **end._asdict(),
    )


def _nothing_proved(reason: str) -> Certificate:
    return Certificate(math.inf, -math.inf, math.inf, math.inf, math.nan, math.nan, f"the run diverged: {reason}")


def _polisher(solver: Solver) -> Solver:
    """Return the solver that continues a run to a small gap: the same one if it shows exact structure, else ALM."""
    return solver if solver.uses_all_rows and solver.exact_v else ALM()


def _polished(problem: Problem, result: Result, tol: float | None) -> Result:
    """Continue with all rows to a small gap, then make the structure exact."""
    goal = POLISHED if tol is None else min(tol, POLISHED)
    if result.run.solver.exact_v and result.run.certify().relative_gap <= goal:
        return fuse(problem, result, goal)
    further = solve_quietly(problem, _polisher(result.run.solver), tol=goal, epochs=POLISH_ITERATIONS, start=result)
    return dataclasses.replace(fuse(problem, further, goal), trace=result.trace, epochs=result.epochs)


# --- checks of the arguments -----------------------------------------------------------------------------------------


def check_arguments(problem: object, start: object, callback: object) -> None:
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem, got {type(problem).__name__}")
    if start is not None and not isinstance(start, Result):
        raise TypeError(f"start must be a Result of solve, got {type(start).__name__}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a Snapshot, got {callback!r}")


def _check_checkpoint(checkpoint: object, resume: bool) -> None:
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        raise TypeError(f"checkpoint must be a Checkpoint, got {checkpoint!r}; write Checkpoint(folder)")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs a checkpoint to resume from: pass checkpoint=Checkpoint(folder)")


def check_numbers(epochs: float | None, order: str, tol: float | None, trace_every: float, seed: object) -> None:
    for name, number in (("epochs", epochs), ("tol", tol), ("trace_every", trace_every)):
        optional = name != "trace_every"
        if not isinstance(number, (int, float, np.number)) and not (number is None and optional):
            raise TypeError(f"{name} must be a number{' or None' if optional else ''}, got {number!r}")
    if epochs is not None and not 0.0 <= epochs < math.inf:
        raise ValueError(f"epochs must be >= 0 and finite, got {epochs}")
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(map(repr, ORDERS))}, got {order!r}")
    if tol is not None and not tol >= 0.0:
        raise ValueError(f"tol must be >= 0, got {tol}")
    if not trace_every > 0.0:
        raise ValueError(f"trace_every must be > 0, got {trace_every}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed must be a whole number, so that a run can be repeated, got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be >= 0, got {seed}")
