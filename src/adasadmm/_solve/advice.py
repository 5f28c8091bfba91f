"""What to tell the user about a run that missed ``tol`` or diverged: by how much, why, and the step that would help."""

from __future__ import annotations

import math

import numpy as np

from .. import losses
from ..certificates.duality import missing_conjugate, reference_excess
from ..certificates.trace import Result, Status
from ..problem import Problem

__all__ = ["complaint", "gap_of", "grows_without_bound", "missed"]

LARGE = 1e3  # prediction, in units of the largest target, from which on there may be no optimum
UNEQUAL = 1e3  # ratio of the sizes of two columns from which on they slow a solver down
EXACT = 1e-6  # of the excess of a model that explains nothing: a gap of 1e-6 below this is near rounding errors
ROUNDING = 1e-11  # relative gap below which rounding errors decide
SHIFTED = 1e6  # ratio of the largest target to the range of the targets from which on rounding errors matter


def complaint(
    result: Result, gap: float, tol: float | None, most: float | None = None, name: str = "max_iter", other: str = ""
) -> str:
    """What to say of a run that diverged, ended with a gap above ``tol``, or doubts its answer; else empty.

    Parameters
    ----------
    result : Result
    gap : float
        The relative gap that the user is shown.
    tol : float or None
        None for a run that was not to reach one.
    most, name
        The limit of iterations, None if the user did not set it, and the name of that parameter.
    other : str
        What to use if this solver fails.
    """
    text = ""
    if result.status is Status.diverged:
        text = f"the run diverged: {result.reason}; the last finite iterate is kept; {_cure(result, other)}"
    elif tol is not None:
        if gap <= tol:
            return ""
        text = missed(result, tol, most, gap, name, other)
    return "; ".join(filter(None, (text, _doubt(result, other))))


def missed(
    result: Result,
    tol: float,
    most: float | None,
    gap: float | None = None,
    name: str = "max_iter",
    other: str = "",
) -> str:
    """One sentence: by how much a fit missed ``tol``, and what would help."""
    found = result.certificate
    reason = f" ({found.reason})" if found is not None and found.reason else ""
    gap = gap_of(result) if gap is None else gap
    return (
        f"the relative duality gap is {gap:.1e}{reason}, above tol={tol:g}: {_advice(result, tol, most, name, other)}"
    )


def _doubt(result: Result, other: str) -> str:
    doubt = result.run.doubt()
    return f"{doubt}, or {other}" if doubt and other else doubt


def gap_of(result: Result) -> float:
    """The relative duality gap; infinite if nothing is proved."""
    return math.inf if result.certificate is None else result.certificate.relative_gap


def grows_without_bound(problem: Problem, w: np.ndarray) -> bool:
    """Whether there is no ridge, and the predictions are so large that there may be no optimum."""
    if problem.gamma.any():
        return False
    unit = 1.0 + float(np.abs(losses.targets_alone(problem.rows.y)).max())
    return float(np.abs(problem.predictions(w)).max()) > LARGE * unit


def _advice(result: Result, tol: float, most: float | None, name: str, other: str) -> str:
    problem, run = result.run.problem, result.run
    further = f"raise {name} or tol" if most is None else f"raise {name}, which is {most:g}, or tol"
    further += f", or use {other}" if other else ""
    if missing_conjugate(problem):
        return "register that function, without which no run can end at tol, or judge the model by a validation score"
    if not math.isfinite(problem.least_loss):
        return "judge the model by a validation score, since no run with this loss can end at tol"
    if problem.source is not None:
        loose = "; this bound is loose for a source: use a validation score, or solver='admm' for a tight bound"
        return further if run.solver.knows_gap else further + loose
    if grows_without_bound(problem, result.w_average):
        return "set l2 above 0, since the predictions grow without bound: there may be no optimum"
    if most is None and result.certificate is not None and _is_exact(problem, result.certificate.primal):
        return "raise tol, since the fit is exact up to rounding errors, which decide so small an objective"
    low, high = _column_sizes(problem)
    if high > UNEQUAL * low:
        scale = f"scale the columns of X, whose sizes differ by a factor of {high / low:.0e}, with StandardScaler"
        return scale if most is None else f"{further}, and {scale}"
    if most is None and tol < ROUNDING:
        return "raise tol, since rounding errors prevent smaller gaps"
    if _are_shifted(problem):
        return "subtract the mean from y, whose values are so large beside their range that rounding errors decide"
    return further


def _cure(result: Result, other: str) -> str:
    """What may help a run that diverged."""
    problem, solver = result.run.problem, result.run.solver
    if not solver.uses_all_rows and hasattr(solver, "eta"):
        return f"a smaller eta may help (it is {solver.eta!r}), or {other}"
    low, high = (1.0, 1.0) if problem.source is not None else _column_sizes(problem)
    scale = "scale the columns of X with StandardScaler, or "
    return (scale if high > UNEQUAL * low else "") + (f"use {other}" if other else "raise l2")


def _column_sizes(problem: Problem) -> tuple[float, float]:
    """The mean absolute entry of the smallest and of the largest column that is not 0."""
    sizes = problem.column_sizes[0]
    sizes = sizes[sizes > 0.0]
    return (float(sizes.min()), float(sizes.max())) if len(sizes) else (1.0, 1.0)


def _is_exact(problem: Problem, objective: float) -> bool:
    """Whether the objective is as small as rounding errors of an exact fit."""
    return objective - problem.least_loss <= EXACT * reference_excess(problem)


def _are_shifted(problem: Problem) -> bool:
    """Whether the targets of a regression are far from 0 and close to each other."""
    y = losses.targets_alone(problem.rows.y)
    return not losses.has_log_link(problem.loss) and 0.0 < SHIFTED * np.ptp(y) < np.abs(y).max()
