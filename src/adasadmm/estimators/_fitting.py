"""From the parameters of an estimator to a problem, a solver and a fit. There is no algorithm here."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .. import losses
from .._core.threads import one_blas_thread
from .._solve import answer
from .._solve.advice import complaint, gap_of
from .._solve.attempts import Request
from .._solve.finish import Answer, at_all_rows
from ..auto import is_auto
from ..certificates.trace import Result, Snapshot, Trace
from ..checkpoints import Checkpoint
from ..losses import Multinomial
from ..losses.offsets import without_level
from ..penalties import for_outputs
from ..problem import Problem
from ..registry import LOSSES, Tuning
from ..regularization.along import MoreRows, answers_along
from ..rows.matrices import Rows, WithIntercept
from ..rows.selections import combined_columns
from ..sources import Source
from ..sources.blocks import outputs_of
from ._judged import Judgement
from ._refit import refitted
from ._responses import observed
from ._structure import Structure
from ._types import LossLike, Parameters, PerRow

__all__ = ["Fit", "as_loss", "as_scalar_loss", "fit_one", "fused_groups", "tuning_of"]

FUSED = 1e-3  # coefficients closer than this, relative to the largest, count as equal
WORSE_THAN_NULL = "the objective ended above that of the null model, which is returned instead"


class Fit(NamedTuple):
    """One fitted linear function, or those of all outputs of a problem: then ``coef`` has a row for each."""

    coef: np.ndarray
    intercept: Any  # a float, or an array with a number for each output
    result: Result
    problem: Problem
    fused: bool = False  # equal coefficients are equal to the last bit
    penalized: tuple[np.ndarray, Any] | None = None  # coefficients and intercept before they were estimated again
    lost: bool = False  # the null model, because the solver ended far above it


def as_loss(loss: LossLike) -> tuple:
    """The loss of this name, or the given loss."""
    return LOSSES[loss] if isinstance(loss, str) else loss


def as_scalar_loss(loss: LossLike) -> tuple:
    """The same for a model of one prediction for each row."""
    found = as_loss(loss)
    if losses.width(found) != 1:
        raise ValueError(
            f"loss must have one prediction for each row, got {loss!r}; GraphGuidedClassifier, "
            "StructuredClassifier and Problem take losses of several predictions"
        )
    return found


def tuning_of(estimator: Parameters) -> Tuning:
    return Tuning(**{name: getattr(estimator, name) for name in Tuning._fields})


def problem_of(
    estimator: Parameters,
    rows: Rows | Source,
    y: np.ndarray | None,
    per_row: PerRow,
    structure: Structure,
    l2: float,
    levelled: bool = True,
) -> Problem:
    """The problem of one linear function, or of those of all outputs; the last coordinates are the intercepts.

    These have no ridge and no penalty. Targets and offsets far from 0 lose their level, `Problem.level`, unless
    ``levelled`` is False: blocks of a stream do not have the same one.
    """
    if structure.copies is not None:
        if isinstance(rows, Source):
            raise ValueError("latent groups need rows in memory: give arrays instead of a source")
        rows = combined_columns(rows, structure.copies)
    X: Rows | Source = rows
    penalty, loss, joint = structure.penalty, estimator._fitted_loss(), getattr(estimator, "joint", False)
    if y is not None:
        y, per_row = observed(y, per_row)
    outputs = outputs_of(loss, () if y is None else y)
    if outputs > 1:
        if structure.copies is not None and joint:
            raise ValueError("joint=True is not available with latent groups: set joint=False")
        penalty = for_outputs(penalty, structure.A.shape[0], outputs, joint)
    A, gamma = structure.A, np.full(rows.shape[1], float(l2))
    if estimator.fit_intercept:
        X = rows.view(intercept=True) if isinstance(rows, Source) else WithIntercept(rows)
        A = sp.hstack([A, sp.csr_array((A.shape[0], 1))], format="csr")
        gamma = np.append(gamma, 0.0)
    offset = per_row.offset
    level: np.ndarray | float = 0.0
    if levelled and estimator.fit_intercept and y is not None:
        y, offset, level = without_level(loss, y, offset, per_row.weight)
    problem = Problem(X, y, loss=loss, penalty=penalty, A=A, gamma=gamma, sample_weight=per_row.weight, offset=offset)
    problem.level = level
    return problem


def request_of(estimator: Parameters, seed: int, show: bool = True, **others: Any) -> Request:
    """What the estimator's parameters ask of the solvers."""
    order = "permute" if estimator.shuffle else "given"
    keywords = {"order": order, "seed": seed, "progress": show and estimator.verbose > 0}
    tuning, has_intercept = tuning_of(estimator), estimator.fit_intercept
    return Request(estimator.solver, estimator.tol, estimator.max_iter, tuning, has_intercept, keywords, **others)


def fit_one(
    estimator: Parameters,
    problem: Problem,
    seed: int,
    start: Result | None,
    callback: Callable[[Snapshot], bool] | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
) -> Fit:
    """Fit one linear function; by "auto", to condensed rows if there are such."""
    saved = {} if checkpoint is None else {"checkpoint": checkpoint, "resume": resume}
    found = answer(problem, request_of(estimator, seed, callback=callback, saved=saved), start)
    return _fit(estimator, problem, found)


def fit_path(
    estimator: Parameters,
    problem: Problem,
    alphas: np.ndarray,
    seed: int,
    exact: bool = True,
    more_rows: MoreRows | None = None,
) -> Iterator[Fit]:
    """Fit one linear function for each strength, warm-started from the one before.

    Without ``exact``, coefficients that the penalty fuses are equal only as far as ``tol`` demands, and the certificate
    is that of the condensed rows, which differs from that of all rows by rounding only: enough for a score.
    """
    request, is_exact = request_of(estimator, seed, show=False), exact or estimator.refit != "none"
    few = problem.condensed if request.may_condense(problem) else problem
    for found in answers_along(few, alphas, request, more_rows, is_exact):
        whole = found.problem
        if few is not problem and exact:
            whole = problem.with_penalty(found.problem.penalty)
            found = at_all_rows(whole, found)
        yield _fit(estimator, whole, found)


@one_blas_thread()
def _fit(estimator: Parameters, problem: Problem, found: Answer) -> Fit:
    """The coefficients of an answer, and the second estimate of them."""
    few, result = found.problem, found.result
    penalized = split_intercept(estimator, result.w_average, problem)
    if estimator.refit == "none":
        return Fit(*penalized, result, problem, found.fused, lost=found.lost)
    if problem.source is not None:
        raise ValueError(f'refit={estimator.refit!r} needs rows in memory, which a source has not: set refit="none"')
    if problem.outputs > 1:
        raise ValueError(f'refit={estimator.refit!r} is not available for outputs that are fitted together: set "none"')
    again = refitted(few, result.w_average, 0.0 if found.fused else FUSED, estimator.fit_intercept)
    return Fit(*split_intercept(estimator, again, problem), result, problem, True, penalized, found.lost)


def split_intercept(estimator: Parameters, w: np.ndarray, problem: Problem) -> tuple[np.ndarray, Any]:
    """The coefficients and the intercept; with several outputs, a row and a number for each of them.

    If a loss does not change when all its predictions do, so that their intercepts have a mean without effect, it is 0.
    """
    outputs, level = problem.outputs, problem.level
    if outputs == 1:
        return (w[:-1].copy(), float(w[-1] + level)) if estimator.fit_intercept else (w.copy(), 0.0)
    W = w.reshape(-1, outputs)
    if not estimator.fit_intercept:
        return W.T.copy(), np.zeros(outputs)
    is_softmax = isinstance(estimator._fitted_loss(), Multinomial)
    return W[:-1].T.copy(), W[-1] - (W[-1].mean() if is_softmax else 0.0) + level


def lifted(result: Result, problem: Problem, by: np.ndarray | float) -> Result:
    """The result with another level of the intercepts."""
    if not np.any(by):
        return result
    points = {}
    for name in ("w", "w_mean", "w_average", "w_feasible"):
        w = getattr(result, name).copy()
        w[-problem.outputs :] += by
        points[name] = w
    return dataclasses.replace(result, **points)


def judgement(fit: Fit, has_intercept: bool) -> Judgement:
    """Return the data from which the degrees of freedom of a fit are computed."""
    w = np.atleast_2d(fit.coef).T
    if has_intercept:
        w = np.vstack([w, fit.intercept - fit.problem.level])
    return Judgement(fit.problem, w.reshape(-1), 0.0 if fit.fused else FUSED, fit.penalized is not None)


def warn_unless_converged(fits: list[Fit], estimator: Parameters) -> None:
    """Warn if a solver diverged, missed a ``tol`` that it was to reach, ended above the null model, or has doubts."""
    other = "" if is_auto(estimator.solver) else "solver='auto'"
    for fit in fits:
        goal = Request(estimator.solver, estimator.tol).expected(fit.result)
        text = complaint(fit.result, gap_of(fit.result), goal, estimator.max_iter, other=other)
        if fit.lost and (text or goal is None):  # else the null model is the optimum
            text = f"{text}; {WORSE_THAN_NULL}" if text else f"{WORSE_THAN_NULL}: {_remedies(estimator)}"
        if text:
            warnings.warn(text, ConvergenceWarning, stacklevel=4)
            return


def _remedies(estimator: Parameters) -> str:
    """What may help a stochastic solver that ended above the null model."""
    other = "" if is_auto(estimator.solver) else ", or solver='auto'"
    smaller = f"a smaller eta may help (it is {estimator.eta!r})"
    return f"{smaller}, more iterations (max_iter), columns of equal size (StandardScaler){other}"


def fused_groups(coef: np.ndarray, edges: np.ndarray, exactly: bool) -> np.ndarray:
    """The cluster of each feature: features connected by edges with equal coefficients share a number.

    If ``coef`` has columns, the rows at both ends must be equal. Unless fusion is exact, coefficients count as equal if
    they differ by at most 1e-3 of the largest one.
    """
    apart = 0.0 if exactly else FUSED * np.max(np.abs(coef), initial=0.0)
    close = np.abs(coef[edges[:, 0]] - coef[edges[:, 1]]) <= apart
    kept = edges[close if close.ndim == 1 else close.all(axis=1)]
    graph = sp.coo_array((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), shape=(len(coef), len(coef)))
    return sp.csgraph.connected_components(graph, directed=False)[1]


def merged_trace(fits: list[Fit]) -> Trace | list[Trace]:
    """The trace of a single fit, or the list of all traces."""
    traces: list[Trace] = [fit.result.trace for fit in fits]
    return traces[0] if len(traces) == 1 else traces
