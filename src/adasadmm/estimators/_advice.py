"""Advice for a fit that missed ``tol``: the step that would help in this case."""

from __future__ import annotations

import numpy as np

from .. import losses
from ..certificates.duality import missing_conjugate
from ..certificates.trace import Result
from ..paths.choice import gap_of, grows_without_bound
from ..problem import Problem

__all__ = ["missed"]

UNEQUAL = 1e3  # ratio of the sizes of two columns from which on they slow a solver down
ROUNDING = 1e-11  # relative gap below which rounding errors decide
SHIFTED = 1e6  # ratio of the largest target to the range of the targets from which on rounding errors matter


def missed(result: Result, tol: float, max_iter: int | None) -> str:
    """One sentence: by how much a fit missed ``tol``, and what would help."""
    found = result.certificate
    reason = f" ({found.reason})" if found is not None and found.reason else ""
    advice = _advice(result, tol, max_iter)
    return f"the relative duality gap is {gap_of(result):.1e}{reason}, above tol={tol:g}: {advice}"


def _advice(result: Result, tol: float, max_iter: int | None) -> str:
    problem, run = result.run.problem, result.run
    further = "raise max_iter or tol" if max_iter is None else f"raise max_iter, which is {max_iter}, or tol"
    if missing_conjugate(problem):
        return "register that function, without which no run can end at tol, or judge the model by a validation score"
    if problem.source is not None:
        loose = "; this bound is loose for a source: use a validation score, or solver='admm' for a tight bound"
        return further if run.solver.knows_gap else further + loose
    low, high = _column_sizes(problem)
    if high > UNEQUAL * low:
        scale = f"scale the columns of X, whose sizes differ by a factor of {high / low:.0e}, with StandardScaler"
        return scale if max_iter is None else f"{further}, and {scale}"
    if max_iter is None and tol < ROUNDING:
        return "raise tol, since rounding errors prevent smaller gaps"
    if _are_shifted(problem):
        return "subtract the mean from y, whose values are so large beside their range that rounding errors decide"
    if grows_without_bound(problem, result.w_average):
        return "set l2 above 0, since the predictions grow without bound: there may be no optimum"
    return further


def _column_sizes(problem: Problem) -> tuple[float, float]:
    """The mean absolute entry of the smallest and of the largest column that is not 0."""
    sizes = problem.column_sizes[0]
    sizes = sizes[sizes > 0.0]
    return (float(sizes.min()), float(sizes.max())) if len(sizes) else (1.0, 1.0)


def _are_shifted(problem: Problem) -> bool:
    """Whether the targets of a regression are far from 0 and close to each other."""
    y = losses.targets_alone(problem.rows.y)
    return not losses.has_log_link(problem.loss) and 0.0 < SHIFTED * np.ptp(y) < np.abs(y).max()
