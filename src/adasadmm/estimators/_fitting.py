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
from ..linalg.matrices import WithIntercept
from ..metrics import Full
from ..problem import Problem
from ..solvers._records import ACCURATE, ADMM, ALL_ROWS, ALM, ASVRGADMM, OADMM, SADMM, SPDHG, AdaSADMM
from ..solvers.batch import BatchRun
from ..sources import Source

__all__ = ["Fit", "Structure", "as_loss", "as_solver", "fit_one", "fused_groups"]

LOSSES = {
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "logistic": losses.Logistic(),
    "squared": losses.Squared(),
    "huber": losses.Huber(),
    "epsilon_insensitive": losses.EpsilonInsensitive(),
    "quantile": losses.Quantile(),
    "poisson": losses.Poisson(),
}
MARGIN_LOSSES = ("hinge", "squared_hinge", "logistic")
REGRESSION_LOSSES: tuple[str, ...] = ("squared", "huber", "epsilon_insensitive", "quantile", "poisson")
SOLVERS = ("auto", "ada-diag", "ada-full", "sadmm", "admm", "alm")
CERTIFIED = (*ALL_ROWS, *ACCURATE)  # these know their gap; they need all rows at once
SOLVER_RECORDS = (AdaSADMM, SADMM, OADMM, *CERTIFIED)

MOST_FEATURES = 2000  # up to which Newton's matrix is made: beyond it other solvers come first
ADMM_ITERATIONS = 1000
ACCURATE_EPOCHS = 200
STOCHASTIC_EPOCHS = 20
POLISH_BELOW = 1e-4  # a tolerance that asks for an exact answer
FUSED = 1e-3  # coefficients closer than this, relative to the largest, count as equal


class Structure(NamedTuple):
    """What is known of the coefficients: the matrix A (without a column for the intercept) and the penalty."""

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


def as_solver(estimator: Any, problem: Problem, streaming: bool = False) -> Any:
    """The solver record that the estimator's parameters stand for."""
    name = estimator.solver
    if not isinstance(name, str):
        return name
    if name == "auto":
        small = problem.d <= MOST_FEATURES
        small = small and (not problem.spread or is_registered(losses.prox, problem.loss))
        accurate = None if small or streaming or problem.spread else _accurate(problem)
        if accurate is not None:
            return accurate(beta=estimator.beta, batch_size=estimator.batch_size)
        in_memory = "alm" if estimator.beta == "auto" and not problem.spread else "admm"
        name = in_memory if small and not streaming else "ada-diag"
    if name == "alm":
        return ALM()
    if name == "admm":
        return ADMM(beta=estimator.beta)
    if name == "sadmm":
        eta = "1/(gamma t)" if estimator.eta == "auto" else estimator.eta
        return SADMM(eta=eta, beta=estimator.beta, batch_size=estimator.batch_size)
    return AdaSADMM(
        metric=Full(refresh=0.05) if name == "ada-full" else "diagonal",
        eta=estimator.eta,
        a=estimator.a,
        beta=estimator.beta,
        batch_size=estimator.batch_size,
        average=estimator.average,
    )


def _accurate(problem: Problem) -> type | None:
    """What comes to a small gap without a d x d matrix: ASVRG-ADMM for a smooth loss, else SPDHG where it can."""
    if is_registered(losses.curvature, problem.loss):
        return ASVRGADMM
    return SPDHG if is_registered(losses.prox, problem.loss) else None


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
    estimator: Any, problem: Problem, seed: int, start: Result | None, callback: Any = None, **keeping: Any
) -> Fit:
    """Fit one linear function; ``keeping`` is the checkpoint and whether to resume from it."""
    solver = as_solver(estimator, problem, streaming=problem.source is not None and not problem.spread)
    auto = isinstance(estimator.solver, str) and estimator.solver == "auto"
    result = _solved(estimator, problem, solver, seed, start, callback, **keeping)
    if auto and isinstance(solver, ACCURATE) and estimator.max_iter is None and not _reached(result, estimator.tol):
        solver = ALM()  # slower at first, but it gets there
        result = _solved(estimator, problem, solver, seed, result, callback)
    w = result.w if isinstance(solver, ALL_ROWS) else result.w_average
    reached = _reached(result, estimator.tol)
    return Fit(*split_intercept(estimator, w), result, not auto or reached, reached and _polishes(estimator, solver))


def _polishes(estimator: Any, solver: Any) -> bool:
    return isinstance(solver, ALM) and estimator.tol < POLISH_BELOW


def _reached(result: Result, tol: float) -> bool:
    return result.certificate is not None and result.certificate.relative_gap <= tol


def _solved(
    estimator: Any, problem: Problem, solver: Any, seed: int, start: Result | None, callback: Any, **keeping: Any
) -> Result:
    auto = isinstance(estimator.solver, str) and estimator.solver == "auto"
    batch, accurate = isinstance(solver, ALL_ROWS), isinstance(solver, ACCURATE)
    epochs = estimator.max_iter
    if epochs is None:
        epochs = ADMM_ITERATIONS if batch else ACCURATE_EPOCHS if accurate else STOCHASTIC_EPOCHS
    return solve(
        problem,
        solver,
        epochs=epochs,
        seed=seed,
        order="permute" if estimator.shuffle else "given",
        start=start,
        tol=estimator.tol if auto or batch or accurate else None,
        trace_every=10 if isinstance(solver, ADMM) else 1.0,
        callback=callback,
        progress=estimator.verbose > 0,
        polish=_polishes(estimator, solver),
        **keeping,
    )


def split_intercept(estimator: Any, w: np.ndarray) -> tuple[np.ndarray, float]:
    return (w[:-1].copy(), float(w[-1])) if estimator.fit_intercept else (w.copy(), 0.0)


def warn_unless_converged(fits: list[Fit], tol: float) -> None:
    """Tell where ``solver="auto"`` did not reach its tolerance, and where any solver diverged."""
    if any(fit.result.status is Status.diverged for fit in fits):
        warnings.warn(f"{Status.diverged.value}; a smaller eta may help", ConvergenceWarning, stacklevel=4)
        return
    missed = [fit for fit in fits if not fit.converged]
    if not missed:
        return
    certificate = missed[0].result.certificate
    gap = math.inf if certificate is None else certificate.relative_gap
    reason = f" ({certificate.reason})" if certificate is not None and certificate.reason else ""
    streamed = missed[0].result.run.problem.source is not None and not isinstance(missed[0].result.run, BatchRun)
    advice = "raise max_iter, or tol"
    if streamed:
        advice += "; from a source this bound is loose: judge by a validation score, or prove with solver='admm'"
    warnings.warn(
        f"the relative duality gap is {gap:.1e}{reason}, above tol={tol:g}: {advice}",
        ConvergenceWarning,
        stacklevel=4,
    )


def fused_groups(coef: np.ndarray, edges: np.ndarray, exactly: bool) -> np.ndarray:
    """A number for each feature: features joined by edges along which the coefficients are equal share it.

    Where fusion is not exact, equal means closer than 1e-3 of the largest coefficient.
    """
    apart = 0.0 if exactly else FUSED * np.max(np.abs(coef), initial=0.0)
    close = np.abs(coef[edges[:, 0]] - coef[edges[:, 1]]) <= apart
    kept = edges[close]
    graph = sp.coo_array((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), shape=(len(coef), len(coef)))
    return sp.csgraph.connected_components(graph, directed=False)[1]


def merged_trace(fits: list[Fit]) -> Any:
    """The trace of one fit, or a list of them where there are several classes."""
    traces: list[Trace] = [fit.result.trace for fit in fits]
    return traces[0] if len(traces) == 1 else traces
