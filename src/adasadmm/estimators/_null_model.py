"""The null model: all coefficients 0, with the best intercept. No fit should be worse than it."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from .. import losses, penalties
from ..certificates import duality
from ..certificates.trace import Certificate, Result
from ..problem import Problem

__all__ = ["best_constant", "null_model", "null_unless_better"]


def null_model(problem: Problem, has_intercept: bool) -> np.ndarray:
    """w = 0, except for the intercepts (the last coordinates), which minimise the mean loss."""
    w, (_, y, c), k = np.zeros(problem.d), problem.rows, problem.outputs
    if has_intercept and losses.width(problem.loss) > 1:
        w[-k:] = best_constants(problem.loss, y, c)
    elif has_intercept:
        w[-k:] = [best_constant(problem.loss, y[output::k].copy(), c[output::k].copy()) for output in range(k)]
    return w


def best_constants(loss: tuple, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The predictions of a vector loss, the same for all rows, with the least weighted mean loss."""
    k = losses.width(loss)
    n, slopes = len(y) // k, np.empty(len(y))

    def value_and_slopes(z: np.ndarray) -> tuple[float, np.ndarray]:
        losses.all_slopes(loss, np.tile(z, n), y, slopes)
        return losses.mean_value(loss, np.tile(z, n), y, c), (c * slopes).reshape(n, k).sum(axis=0) / len(y)

    found = minimize(value_and_slopes, np.zeros(k), jac=True)
    return found.x if np.isfinite(found.fun) else np.zeros(k)


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
