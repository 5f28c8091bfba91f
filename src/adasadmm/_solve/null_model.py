"""The null model: all coefficients 0, with the best intercept. No fit should be worse than it."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from .. import losses, penalties
from ..certificates import duality
from ..certificates.trace import Certificate, Result
from ..losses import Squared
from ..problem import Problem
from ..sources.blocks import Block

__all__ = ["best_constant", "is_near_null", "null_model", "null_unless_better", "want_null_model"]

MOST_TARGETS = 10**6  # of a source, from which its best intercept is found
NEAR = 0.01  # excess over the null model, relative to that of the null model, of a run whose optimum is the null model


def null_model(problem: Problem, has_intercept: bool) -> np.ndarray:
    """w = 0, except for the intercepts (the last coordinates), which minimise the mean loss."""
    return _null_model_and_loss(problem, has_intercept)[0]


def _null_model_and_loss(problem: Problem, has_intercept: bool) -> tuple[np.ndarray, float]:
    """The null model, and its mean loss; of a source with very many distinct targets, that of some of them."""
    w, k = np.zeros(problem.d), problem.outputs
    if not has_intercept:
        return w, problem.loss_at_zero
    if _takes_parabola(problem):
        w[-1], loss = _vertex(problem)
        return w, loss
    y, c = _targets(problem)
    if losses.width(problem.loss) > 1:
        w[-k:] = best_constants(problem.loss, y, c)
    else:
        w[-k:] = [best_constant(problem.loss, y[output::k].copy(), c[output::k].copy()) for output in range(k)]
    return w, losses.mean_value(problem.loss, np.tile(w[-k:], len(y) // k), y, c)


def want_null_model(problem: Problem, has_intercept: bool) -> None:
    """Let the passes over a source find what the null model needs, so that it takes no pass of its own."""
    if has_intercept and _takes_parabola(problem):
        problem.streamed_losses.want(_with_intercept(problem, _unit(problem)))


def _takes_parabola(problem: Problem) -> bool:
    """Whether the mean loss of a source is a parabola of the intercept, and its targets are too many to be listed."""
    return problem.source is not None and isinstance(problem.loss, Squared) and not problem.source.summary.labels


def _vertex(problem: Problem) -> tuple[float, float]:
    """The best intercept for the squared loss and the mean loss there, from the mean losses at two intercepts."""
    unit = _unit(problem)
    at_zero, (at_unit,) = problem.loss_at_zero, problem.loss_at(_with_intercept(problem, unit))
    mean = (at_zero - at_unit) / unit + 0.5 * unit
    return mean, at_zero - 0.5 * mean**2


def _unit(problem: Problem) -> float:
    """An intercept of the size of the first targets."""
    return float(np.abs(problem.first_rows.y).max()) or 1.0


def _with_intercept(problem: Problem, intercept: float) -> np.ndarray:
    w = np.zeros(problem.d)
    w[-1] = intercept
    return w


def _targets(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The targets and their weights: of a source its labels, or at most a million targets, evenly from all blocks."""
    if problem.source is None:
        return problem.rows.y, problem.rows.c
    labels = problem.source.summary.labels
    if labels and not problem.source.has_offset:
        y, weight = np.array(list(labels), dtype=np.float64), np.array([total for _, total in labels.values()])
        k = losses.width(problem.loss)
        return (y if k == 1 else losses.targets(problem.loss, y).reshape(-1)), np.repeat(k * weight / weight.mean(), k)
    found = problem.each(_some_targets, -(-problem.n // MOST_TARGETS), losses.width(problem.loss))
    ys, cs = zip(*found, strict=True)
    return np.concatenate(ys), np.concatenate(cs)


def _some_targets(block: Block, remembered: dict, step: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The targets and weights of every so manieth row of a block."""
    y, c = (of.reshape(-1, width)[::step].reshape(-1) for of in (block.y, block.c))
    return y, c


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
    w, loss = _null_model_and_loss(problem, has_intercept)
    v = problem.v_of(w)
    if v is None or penalties.violation(problem.penalty, v) > 0.0 or problem.w_set is not None:
        return result
    with np.errstate(over="ignore", invalid="ignore"):  # the result may be far off
        reached = problem.objective(result.w_average)
    if loss + problem.penalty_value(v) >= reached:  # a source is read again only if the null model seems better
        return result
    value, found = problem.objective(w, v), result.certificate
    if value >= reached:
        return result
    nothing = Certificate(value, -np.inf, np.inf, np.inf, 0.0, np.nan, "no dual point is known")
    if found is None or not np.isfinite(found.dual):
        return result.at(w, v, nothing)
    certificate = duality.with_dual(problem, nothing, found.dual)
    return result.at(w, v, dataclasses.replace(certificate, reason=found.reason))


@np.errstate(over="ignore", invalid="ignore")
def is_near_null(problem: Problem, result: Result, null: Result) -> bool:
    """Whether a result is so little above the null model that it has come close to the optimum."""
    value, least = problem.objective(null.w_average), problem.least_loss
    size = value - least if np.isfinite(least) else abs(value)
    return problem.objective(result.w_average) - value <= NEAR * size
