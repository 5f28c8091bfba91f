"""From scikit-learn's words to a problem and a solver, and back: what all estimators share. No algorithm."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .. import losses
from .._core.jit import is_registered
from .._solve import solve
from ..certificates.trace import Result, Status, Trace
from ..checkpoints import Checkpoint
from ..linalg.matrices import WithIntercept
from ..problem import Problem
from ..registry import LOSSES, SOLVERS, Tuning
from ..solvers import ALM, ASVRGADMM, SPDHG, Solver
from ..sources import Source

__all__ = ["Fit", "Structure", "as_loss", "as_solver", "fit_one", "fused_groups"]

MOST_FEATURES = 2000  # up to which Newton's matrix is formed: beyond, other solvers come first
POLISH_BELOW = 1e-4  # a tolerance that asks for an exact answer
FUSED = 1e-3  # coefficients closer than this, relative to the largest, count as equal


class Structure(NamedTuple):
    """What is known about the coefficients: the matrix A (without a column for the intercept) and the penalty."""

    A: Any
    penalty: Any


class Fit(NamedTuple):
    """One fitted linear function."""

    coef: np.ndarray
    intercept: float
    result: Result
    converged: bool
    fused: bool = False  # exactly


def as_loss(loss: Any) -> Any:
    """A loss by its name, or the object itself."""
    return LOSSES[loss] if isinstance(loss, str) else loss


def as_solver(estimator: Any, problem: Problem, streaming: bool = False) -> Solver:
    """The solver that the estimator's parameters ask for."""
    if isinstance(estimator.solver, Solver):
        return estimator.solver
    tuning = Tuning(**{name: getattr(estimator, name) for name in Tuning._fields})
    if estimator.solver != "auto":
        return SOLVERS[estimator.solver](tuning)
    if streaming:
        return SOLVERS["ada-diag"](tuning)
    return _best_on_workers(problem, tuning) if problem.on_workers else _best_in_memory(problem, tuning)


def _best_on_workers(problem: Problem, tuning: Tuning) -> Solver:
    small = problem.d <= MOST_FEATURES and is_registered(losses.prox, problem.loss)
    return SOLVERS["admm" if small else "ada-diag"](tuning)


def _best_in_memory(problem: Problem, tuning: Tuning) -> Solver:
    """ALM, or ADMM with a given beta; with many features a solver that reaches a small gap without a d x d matrix."""
    if problem.d <= MOST_FEATURES:
        return SOLVERS["alm" if tuning.beta == "auto" else "admm"](tuning)
    if is_registered(losses.curvature, problem.loss):
        return ASVRGADMM(beta=tuning.beta, batch_size=tuning.batch_size)
    if is_registered(losses.prox, problem.loss):
        return SPDHG(beta=tuning.beta, batch_size=tuning.batch_size)
    return SOLVERS["ada-diag"](tuning)


def problem_of(
    estimator: Any, rows: Any, y: Any, sample_weight: np.ndarray | None, structure: Structure, l2: float
) -> Problem:
    """The problem of one linear function; an intercept is a free coordinate behind the others."""
    d = rows.shape[1]
    A, gamma = structure.A, np.full(d, float(l2))
    if estimator.fit_intercept:
        rows = rows.view(intercept=True) if isinstance(rows, Source) else WithIntercept(rows)
        A = sp.hstack([A, sp.csr_array((A.shape[0], 1))], format="csr")
        gamma = np.append(gamma, 0.0)
    return Problem(
        rows,
        y,
        loss=as_loss(estimator.loss),
        penalty=structure.penalty,
        A=A,
        gamma=gamma,
        sample_weight=sample_weight,
    )


def fit_one(
    estimator: Any,
    problem: Problem,
    seed: int,
    start: Result | None,
    callback: Any = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
) -> Fit:
    """Fit one linear function."""
    solver = as_solver(estimator, problem, streaming=problem.source is not None and not problem.on_workers)
    auto = isinstance(estimator.solver, str) and estimator.solver == "auto"
    settings = {
        "seed": seed,
        "order": "permute" if estimator.shuffle else "given",
        "callback": callback,
        "progress": estimator.verbose > 0,
    }

    def solved(solver: Solver, start: Result | None, checkpoint: Checkpoint | None, resume: bool) -> Result:
        return solve(
            problem,
            solver,
            epochs=solver.fit_epochs if estimator.max_iter is None else estimator.max_iter,
            start=start,
            tol=estimator.tol if auto or solver.knows_gap else None,
            trace_every=float(solver.trace_iterations),
            polish=_polishes(estimator, solver),
            checkpoint=checkpoint,
            resume=resume,
            **settings,
        )

    result = solved(solver, start, checkpoint, resume)
    needs_more = solver.knows_gap and not solver.uses_all_rows and not _reached(result, estimator.tol)
    if auto and needs_more and estimator.max_iter is None:
        solver = ALM()  # slower at first, but it converges
        result = solved(solver, result, None, False)
    reached = _reached(result, estimator.tol)
    answer = split_intercept(estimator, result.w_average)
    return Fit(*answer, result, not auto or reached, reached and _polishes(estimator, solver))


def _polishes(estimator: Any, solver: Solver) -> bool:
    return solver.exact_v and estimator.tol < POLISH_BELOW


def _reached(result: Result, tol: float) -> bool:
    return result.certificate is not None and result.certificate.relative_gap <= tol


def split_intercept(estimator: Any, w: np.ndarray) -> tuple[np.ndarray, float]:
    return (w[:-1].copy(), float(w[-1])) if estimator.fit_intercept else (w.copy(), 0.0)


def warn_unless_converged(fits: list[Fit], tol: float) -> None:
    """Warn if ``solver="auto"`` did not reach its tolerance, or if any solver diverged."""
    if any(fit.result.status is Status.diverged for fit in fits):
        warnings.warn(f"{Status.diverged.value}; a smaller eta may help", ConvergenceWarning, stacklevel=4)
        return
    missed = [fit for fit in fits if not fit.converged]
    if not missed:
        return
    result = missed[0].result
    certificate = result.certificate
    gap = math.inf if certificate is None else certificate.relative_gap
    reason = f" ({certificate.reason})" if certificate is not None and certificate.reason else ""
    advice = "raise max_iter, or tol"
    if result.run.problem.source is not None and not result.run.solver.knows_gap:
        advice += "; from a source this bound is loose: judge by a validation score, or prove with solver='admm'"
    warnings.warn(
        f"the relative duality gap is {gap:.1e}{reason}, above tol={tol:g}: {advice}",
        ConvergenceWarning,
        stacklevel=4,
    )


def fused_groups(coef: np.ndarray, edges: np.ndarray, exactly: bool) -> np.ndarray:
    """A number for each feature: features joined by edges along which the coefficients are equal share it.

    Unless fusion is exact, equal means closer than 1e-3 of the largest coefficient.
    """
    apart = 0.0 if exactly else FUSED * np.max(np.abs(coef), initial=0.0)
    close = np.abs(coef[edges[:, 0]] - coef[edges[:, 1]]) <= apart
    kept = edges[close]
    graph = sp.coo_array((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), shape=(len(coef), len(coef)))
    return sp.csgraph.connected_components(graph, directed=False)[1]


def merged_trace(fits: list[Fit]) -> Any:
    """The trace of one fit, or a list of them if there are several classes."""
    traces: list[Trace] = [fit.result.trace for fit in fits]
    return traces[0] if len(traces) == 1 else traces
