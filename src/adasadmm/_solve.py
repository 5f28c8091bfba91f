"""solve(): epochs, the order of rows, the clock, stopping, callbacks, progress."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._core.threads import go_on_or_halt, one_blas_thread
from ._progress import Progress
from ._schedule import Leg, after, of_epochs, of_source, orders, pieces
from .certificates.polish import fuse
from .certificates.trace import Certificate, Result, Snapshot, Status, Trace
from .checkpoints import Checkpoint, CheckpointError, Keeper, fingerprint
from .problem import Problem
from .solvers._records import ACCURATE, ADMM, ALL_ROWS, ALM, OADMM, SADMM, AdaSADMM
from .solvers.accurate import AccurateRun
from .solvers.batch import BatchRun
from .solvers.multipliers import MultiplierRun
from .solvers.parts import check_fits, keeps_w_set
from .solvers.rounds import RoundsRun, rounds
from .solvers.stochastic import StochasticRun

__all__ = ["advance", "solve"]

EPOCHS = 2.0
ADMM_ITERATIONS = 1000
ADMM_TOL = 1e-3
ADMM_CHECK_EVERY = 10
ACCURATE_EPOCHS = 200.0
POLISHED = 1e-8  # the gap that polish goes on to, where tol is not smaller
POLISH_ITERATIONS = 20
ORDERS = ("permute", "replace", "given")
NOTHING_PROVED = Certificate(math.inf, -math.inf, math.inf, math.inf, math.nan, math.nan, "the run diverged")


def solve(
    problem: Problem,
    solver: Any,
    *,
    epochs: float | None = None,
    seed: int = 0,
    samples: Any = None,
    order: str = "permute",
    start: Result | None = None,
    tol: float | None = None,
    trace_every: float = 0.25,
    callback: Callable[[Snapshot], Any] | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
    polish: bool = False,
) -> Result:
    """Minimise a problem.

    Parameters
    ----------
    problem : Problem
    solver : AdaSADMM, SADMM, OADMM, ADMM, ALM, SPDHG, SVRGADMM or ASVRGADMM
    epochs : float, optional
        Passes over the rows, 2 by default. For `ADMM` and `ALM` an epoch is an iteration, 1000 the most; for `SPDHG`,
        `SVRGADMM` and `ASVRGADMM` 200 epochs are the most.
    seed : int
    samples : array of row indices, optional
        An explicit order, which then is the whole run; batches are consecutive pieces of it.
    order : {"permute", "replace", "given"}
        Each epoch a new permutation; rows drawn with replacement, as the theorems ask; or as they stand.
    start : Result, optional
        Go on from there: the same run where solver and shapes are the same, else only from its w, v and theta.
    tol : float, optional
        Stop when the relative duality gap, looked at for each point of the trace, falls below it. 1e-3 by default for
        the solvers that know their gap: `ADMM`, `ALM`, `SPDHG`, `SVRGADMM`, `ASVRGADMM`.
    trace_every : float
        Epochs between two points of the trace, from 1 on whole ones; from a source at least 1, since each point is a
        pass over it. For `ADMM` and `ALM`, iterations; below 1 means 10, and 1.
    callback : callable, optional
        Called with a `Snapshot` at each point of the trace; a true value stops the run.
    progress : bool
        Show a bar with the objective.
    checkpoint : Checkpoint, optional
        Where the run is kept on disk as it goes, and when it is interrupted.
    resume : bool
        Go on from the checkpoint, where there is one, to the same result as if nothing had happened.
    polish : bool
        Go on with `ALM` to a gap of 1e-8, and make exact what is fused: where v is 0, ``A w = b``. Not where
        the run missed ``tol``.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ADMM, L1, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(10.0), A=[[1.0, -1.0]])
    >>> solve(problem, ADMM(), tol=1e-9).w.round(6)  # a penalty so strong that both fuse to the mean
    array([2., 2.])
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem, got {type(problem).__name__}")
    if not isinstance(solver, (AdaSADMM, SADMM, OADMM, *ALL_ROWS, *ACCURATE)):
        raise TypeError(f"solver must be a solver of adasadmm, such as AdaSADMM() or ALM(), got {solver!r}")
    if start is not None and not isinstance(start, Result):
        raise TypeError(f"start must be a Result of solve, got {type(start).__name__}")
    _check_run(epochs, order, tol, trace_every)
    _check_seed(seed)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a Snapshot, got {callback!r}")
    _check_checkpoint(checkpoint, resume)
    check_fits(solver, problem)
    if polish:
        check_fits(ALM(), problem)
    if samples is not None and isinstance(solver, ALL_ROWS):
        raise ValueError(f"samples must be None for {type(solver).__name__}, which uses all rows in every iteration")
    if problem.source is not None and (samples is not None or order == "replace"):
        raise ValueError(
            'rows of a source cannot be drawn one by one: order must be "permute" or "given", samples None'
        )
    with one_blas_thread():
        run = _begin(problem, solver, start)
        if isinstance(solver, (*ALL_ROWS, *ACCURATE)):
            tol = ADMM_TOL if tol is None else tol
        if isinstance(solver, ALL_ROWS):
            legs, total = _iterations(solver, epochs, trace_every)
        else:
            legs, total = _visits(run, epochs, seed, samples, order, trace_every)
        settings = {"solver": solver, "epochs": epochs, "seed": seed, "order": order, "samples": samples}
        settings |= {"tol": tol, "trace_every": trace_every, "start": None if start is None else run.save()[0]}
        keeper = Keeper(checkpoint, {} if checkpoint is None else _fingerprint(problem, settings))
        begin, first = run.epoch, run.position
        status = _take_up(run, keeper.open(resume))
        if status is None:
            with Progress(run, begin, total, progress) as bar:
                status = _drive(run, after(legs, run.position - first), tol, callback, bar, keeper)
        run.take(run.problem.first_rows)  # lets go of the last block
        result = _result(problem, run, keeper.points, status, run.epoch - begin)
        missed = status is Status.diverged or (tol is not None and status is Status.done)
        return _polished(problem, result, tol) if polish and not missed else result


def _iterations(solver: Any, epochs: float | None, trace_every: float) -> tuple[Iterator[Leg], float]:
    """The way of a solver over all rows, and its length."""
    most = ADMM_ITERATIONS if epochs is None else math.ceil(epochs)
    usual = 1 if isinstance(solver, ALM) else ADMM_CHECK_EVERY
    every = round(trace_every) if trace_every >= 1.0 else usual
    return ([(None, min(every, most - first))] for first in range(0, most, every)), float(most)


def _visits(
    run: Any, epochs: float | None, seed: int, samples: Any, order: str, trace_every: float
) -> tuple[Iterator[Leg], float]:
    """The way of a stochastic solver over its rows, and its length in epochs."""
    problem, most = run.problem, ACCURATE_EPOCHS if isinstance(run.solver, ACCURATE) else EPOCHS
    wanted = most if epochs is None else float(epochs)
    if problem.spread:
        return rounds(run, wanted, order, seed, math.ceil(trace_every)), wanted
    if problem.source is not None:
        return of_source(run, wanted, order, seed, math.ceil(trace_every)), wanted
    drawn = orders(problem.n, wanted, order, seed, samples)
    if samples is None and trace_every > 1.0:
        return of_epochs(problem.rows, drawn, math.ceil(trace_every)), wanted
    legs = ([(problem.rows, piece)] for piece in pieces(drawn, trace_every * problem.n, run.batch_size))
    return legs, wanted if samples is None else len(samples) / problem.n


@np.errstate(over="ignore", invalid="ignore")
def _begin(problem: Problem, solver: Any, start: Result | None) -> Any:
    """A new run, or one that goes on."""
    split = problem.w_set is not None and (isinstance(solver, ALL_ROWS) or not keeps_w_set(solver, problem))
    inner = problem.w_set_split if split else problem
    if start is not None:
        if len(start.w) != problem.d or len(start.v) != problem.p or len(start.theta) != problem.m:
            raise ValueError(
                f"start has {len(start.w)} features and {len(start.theta)} constraints, "
                f"the problem {problem.d} and {problem.m}"
            )
        # The settings are compared by what they print: metrics without fields are equal as tuples.
        same_solver = start.run is not None and repr(start.run.solver) == repr(solver)
        if same_solver and _same_quadratics(start.run.problem, inner):
            return start.run.fork(inner)
    w = np.zeros(problem.d) if start is None else start.w.copy()
    v = np.zeros(problem.p) if start is None else start.v
    theta = np.zeros(problem.m) if start is None else start.theta
    if split:
        v, theta = np.concatenate([v, w]), np.concatenate([theta, np.zeros(problem.d)])
    kinds: Any = {ADMM: BatchRun, ALM: MultiplierRun} | dict.fromkeys(ACCURATE, AccurateRun)
    stochastic = RoundsRun if inner.spread else StochasticRun
    kind = next((run for of, run in kinds.items() if isinstance(solver, of)), stochastic)
    return kind(inner, solver, w, v, theta)


def _fingerprint(problem: Problem, settings: dict[str, Any]) -> dict[str, str]:
    """All that the bits of a run depend on."""
    if problem.source is None:
        rows: dict[str, Any] = dict(zip(("X", "y", "sample_weight"), problem.rows, strict=True))
    else:
        source = problem.source
        rows = {"source": (repr(source), len(source), source.summary, problem.first_rows)}
        if source.lanes is not None:
            rows["lanes"] = source.lanes
    parts = ("loss", "penalty", "A", "B", "b", "gamma", "w_set")
    return fingerprint(**rows, **{name: getattr(problem, name) for name in parts}, **settings)


def _take_up(run: Any, moment: Any) -> Status | None:
    """Bring a run to where a checkpoint was written; how it ended, if it had."""
    if moment is None:
        return None
    arrays, numbers = run.save()
    shapes = [(array.shape[-1:], array.dtype) for array in arrays]  # a history may be longer
    if shapes != [(array.shape[-1:], array.dtype) for array in moment.arrays]:
        raise CheckpointError("the checkpoint holds arrays of another shape than the run")
    try:
        if any(isinstance(own, int) > isinstance(kept, int) for own, kept in zip(numbers, moment.numbers, strict=True)):
            raise ValueError("a count in it is no whole number")
        run.load((moment.arrays, moment.numbers))
    except ValueError as error:
        raise CheckpointError(f"the checkpoint does not fit the run: {error}") from error
    return moment.status


def _same_quadratics(one: Problem, other: Problem) -> bool:
    """Whether a run on one problem can go on with the other: its w-step and its slack belong to these arrays."""
    pairs: Any = ((one.A, other.A), (one.B, other.B), ((one.b, one.gamma), (other.b, other.gamma)))
    return all(
        (first is None) == (second is None) and (first is None or all(map(np.array_equal, first, second)))
        for first, second in pairs
    )


def _drive(run: Any, legs: Iterator[Leg], tol: float | None, callback: Any, bar: Progress, keeper: Keeper) -> Status:
    """Advance over the legs, and look at the run after each; whatever ends it, it is kept."""
    try:
        status = _status_after(run, legs, tol, callback, bar, keeper)
    except CheckpointError:
        raise
    except BaseException:
        keeper.write()
        raise
    keeper.note(run.save())
    keeper.write(None if status is Status.stopped else status)  # who stopped a run may go on with it
    return status


def _status_after(run: Any, legs: Iterator[Leg], tol: Any, callback: Any, bar: Progress, keeper: Keeper) -> Status:
    for leg in legs:
        finite = True
        for block, piece in leg:
            bar.before(block)
            run.take(block)
            finite = advance(run, piece, keeper.note)
            bar.after()
            if not finite:
                break
        snapshot = _snapshot(run)
        if not finite or not math.isfinite(snapshot.objective):
            return Status.diverged
        keeper.points.append(snapshot[: len(Trace.columns)])  # without the iterates: a run may have many points
        bar.tell(snapshot.objective)
        if callback is not None and callback(snapshot):
            return Status.stopped
        if tol is not None and run.certify().relative_gap <= tol:
            return Status.converged
    return Status.done


def advance(run: Any, piece: Any, note: Callable[[Any], None] | None = None) -> bool:
    """Advance a run; False where that ended in infinity or NaN, and the run stands at its last finite iterate.

    ``note`` is told of each state on the way from which the run could go on.
    """
    return all(_advance_while_finite(run, part, note) for part in run.slices(piece))


@np.errstate(over="ignore", invalid="ignore")
def _advance_while_finite(run: Any, piece: Any, note: Callable[[Any], None] | None = None) -> bool:
    saved = run.save()
    if note is not None:
        note(saved)
    go_on_or_halt()
    try:
        run.advance(piece)
        if run.is_finite():
            return True
    except np.linalg.LinAlgError:  # the full metric has no root, or no factor, where gradients overflow
        pass
    run.load(saved)
    for half in run.halves(piece):
        if not _advance_while_finite(run, half):
            break
    return False


@np.errstate(over="ignore", invalid="ignore")
def _snapshot(run: Any) -> Snapshot:
    problem, state = run.problem, run.state
    v_turn = problem.times_B(state.v - run.v_before)
    w_mean, w_average = run.w_mean, run.w_average
    if problem.source is not None:
        problem.loss_at(state.w, w_mean, w_average)  # all three in one pass over the files, and remembered
    return Snapshot(
        iteration=run.iteration,
        epoch=run.epoch,
        seconds=run.seconds,
        objective=_objective(problem, state.w, state.v),
        objective_mean=_objective(problem, w_mean, run.v_mean),
        primal_residual=float(np.linalg.norm(problem.residual(state.w, state.v))),
        dual_residual=run.beta * float(np.linalg.norm(problem.times_A_transposed(v_turn))),
        eta=run.eta,
        w=state.w.copy(),
        w_mean=w_mean,
        w_average=w_average,
    )


def _objective(problem: Problem, w: np.ndarray, v: np.ndarray) -> float:
    own = problem.v_of(w)
    return problem.objective(w, v if own is None else own)


def _result(problem: Problem, run: Any, snapshots: list[Any], status: Status, epochs: float) -> Result:
    """The answer in the user's own rows: those of a split w_set are taken off again."""
    state, m, p = run.state, problem.m, problem.p
    w_feasible = state.v[p:].copy() if run.problem.m > m else state.w.copy()
    later = isinstance(run, StochasticRun) and problem.source is None and status is not Status.converged
    return Result(
        w=state.w.copy(),
        v=state.v[:p].copy(),
        theta=state.theta[:m].copy(),
        w_mean=run.w_mean,
        v_mean=run.v_mean[:p].copy(),
        w_average=run.w_average,
        w_feasible=w_feasible,
        trace=Trace(snapshots),
        status=status,
        epochs=epochs,
        certified=NOTHING_PROVED if status is Status.diverged else None if later else run.certify(),
        run=run,
    )


def _polished(problem: Problem, result: Result, tol: float | None) -> Result:
    """Go on with all rows to a small gap, then make exact what is fused."""
    goal = POLISHED if tol is None else min(tol, POLISHED)
    if isinstance(result.run, MultiplierRun) and result.run.certify().relative_gap <= goal:
        return fuse(problem, result, goal)
    further = solve(problem, ALM(), tol=goal, epochs=POLISH_ITERATIONS, start=result)
    return dataclasses.replace(fuse(problem, further, goal), trace=result.trace, epochs=result.epochs)


def _check_checkpoint(checkpoint: Any, resume: bool) -> None:
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        raise TypeError(f"checkpoint must be a Checkpoint, got {checkpoint!r}; write Checkpoint(folder)")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs a checkpoint to go on from: give checkpoint=Checkpoint(folder)")


def _check_run(epochs: Any, order: str, tol: Any, trace_every: float) -> None:
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


def _check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed must be a whole number, so that a run can be repeated, got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be >= 0, got {seed}")
