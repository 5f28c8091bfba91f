"""AIC and BIC of a fit, from its likelihood and its degrees of freedom."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from .. import losses
from .._core.jit import unwrapped
from ..problem import Problem
from .degrees import MOST, degrees_of_freedom

__all__ = ["Criteria", "criteria"]


class Criteria(NamedTuple):
    """Degrees of freedom, AIC and BIC; None, with the reason, where they are not defined."""

    df: float | None
    aic: float | None
    bic: float | None
    reason: str = ""


def criteria(problem: Problem, w: np.ndarray, apart: float = 0.0, refitted: bool = False, most: int = MOST) -> Criteria:
    """The criteria of the fit w. ``apart`` says which entries of ``A w`` count as 0, as in `zero_rows`.

    With ``refitted``, w was estimated again without the penalty. ``most`` limits the size of dense matrices, as in
    `degrees_of_freedom`.
    """
    df, reason = degrees_of_freedom(problem.condensed, w, apart, refitted, most)
    if df is None:
        return Criteria(None, None, None, reason)
    minus_twice, parameters = _minus_twice_log_likelihood(problem, w)
    if minus_twice is None:
        name = type(unwrapped(problem.loss)).__name__
        return Criteria(df, None, None, f"the likelihood of {name} has no closed form")
    total = df + parameters
    return Criteria(df, minus_twice + 2.0 * total, minus_twice + math.log(_counted(problem)) * total)


def _counted(problem: Problem) -> int:
    """The number of rows with a weight: one of weight 0, whose target may be missing, is absent."""
    return int(np.count_nonzero(problem.rows.c))


def _minus_twice_log_likelihood(problem: Problem, w: np.ndarray) -> tuple[float | None, int]:
    """-2 log likelihood at its best scale, and the number of scale parameters, 0 or 1."""
    loss, (_, y, c), n = unwrapped(problem.loss), problem.rows, _counted(problem)
    y, c = y["y"] if y.dtype.names else y, c * (n / problem.n)
    twice_loss = 2.0 * n * problem.loss_at(w)[0]
    if isinstance(loss, losses.Squared):
        with np.errstate(divide="ignore"):
            return n * (float(np.log(2.0 * np.pi * twice_loss / n)) + 1.0), 1
    if isinstance(loss, losses.Logistic):
        return twice_loss, 0
    if isinstance(loss, losses.Poisson):
        return twice_loss + 2.0 * float(c @ gammaln(y + 1.0)), 0
    if isinstance(loss, losses.NegativeBinomial):
        shape = 1.0 / loss.alpha
        constant = gammaln(y + 1.0) + gammaln(shape) - gammaln(y + shape) - y * math.log(loss.alpha)
        return twice_loss + 2.0 * float(c @ constant), 0
    if isinstance(loss, losses.Gamma):
        deviance = twice_loss - 2.0 * n * problem.least_loss
        shape = n / deviance if deviance > 0.0 else math.inf
        # shape log(shape y / mu) - shape y / mu - log y - log Gamma(shape), where loss = y / mu + log mu
        of_y = shape * (math.log(shape) + np.log(y)) - np.log(y) - gammaln(shape)
        return shape * twice_loss - 2.0 * float(c @ of_y), 1
    return None, 0
