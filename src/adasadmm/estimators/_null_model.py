"""The null model: all coefficients 0, with the best intercept. No fit should be worse than it."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import minimize_scalar

from .. import losses, penalties
from ..certificates import duality
from ..certificates.trace import Certificate, Result
from ..problem import Problem

__all__ = ["best_constant", "null_model", "null_unless_better"]


def null_model(problem: Problem, has_intercept: bool) -> np.ndarray:
    """w = 0, except for the intercept (the last coordinate), which minimises the mean loss."""
    w, (_, y, c) = np.zeros(problem.d), problem.rows
    if has_intercept:
        w[-1] = best_constant(problem.loss, y, c)
    return w


def best_constant(loss: tuple, y: np.ndarray, c: np.ndarray) -> float:
    """The prediction z, the same for all rows, with the least weighted mean loss; 0 if none is better."""

    def value(z: float) -> float:
        return losses.mean_value(loss, np.full(len(y), float(z)), y, c)

    found = minimize_scalar(value)
    return float(found.x) if np.isfinite(found.fun) and found.fun < value(0.0) else 0.0


def null_unless_better(problem: Problem, result: Result, has_intercept: bool) -> Result:
    """The result; or the null model with its certificate, if that is feasible and has a lower objective."""
    w = null_model(problem, has_intercept)
    v = problem.v_of(w)
    if v is None or penalties.violation(problem.penalty, v) > 0.0 or problem.w_set is not None:
        return result
    value, found = problem.objective(w, v), result.certificate
    with np.errstate(over="ignore", invalid="ignore"):  # the result may be far off
        if value >= problem.objective(result.w_average):
            return result
    nothing = Certificate(value, -np.inf, np.inf, np.inf, 0.0, np.nan, "no dual point is known")
    certificate = nothing if found is None else duality.with_dual(problem, nothing, found.dual)
    if np.isfinite(certificate.dual):
        certificate = dataclasses.replace(certificate, reason="")
    return result.at(w, v, certificate)
