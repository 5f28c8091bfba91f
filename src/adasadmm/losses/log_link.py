"""Losses of a prediction ``z`` of the logarithm of the mean: for counts, and for amounts that are not negative.

Each is the negative log-likelihood of its distribution, without the terms that do not depend on z. With the mean
``exp(z)`` all of them are convex in z, and their slope at z is a positive multiple of ``exp(z) - y``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .._core.arrays import exp, log, log1p, maximum, minimum, serves_arrays, where
from .._core.jit import inlined
from ._generic import (
    check,
    conjugate,
    curvature,
    domain,
    has_log_link,
    prox,
    residual,
    root,
    second,
    slope,
    value,
    xlogx,
)
from .margin import margin_after_prox, sigmoid

NEGATIVE = "correct or leave out the rows with negative targets"

# --- Poisson ---------------------------------------------------------------------------------------------------------


class Poisson(NamedTuple):
    """``exp(z) - y z`` for counts ``y >= 0``: Poisson regression with a logarithmic link.

    Examples
    --------
    >>> from adasadmm import Poisson, losses
    >>> losses.value(Poisson(), 0.0, 2.0), losses.slope(Poisson(), 0.0, 2.0)
    (1.0, -1.0)
    """


@serves_arrays
@value.register
def poisson_value(loss: Poisson, z, y):
    mean = exp(z)
    return where(mean < math.inf, mean - y * z, mean)  # y z may be infinite, too


@serves_arrays
@slope.register
def poisson_slope(loss: Poisson, z, y):
    return exp(z) - y


@serves_arrays
@prox.register
def poisson_prox(loss: Poisson, z, tau, y):
    return where(tau > 0.0, exponential_root(z + tau * y, tau), z)  # a row of weight 0 has tau = 0


@serves_arrays
@conjugate.register
def poisson_conjugate(loss: Poisson, s, y):
    return xlogx(s + y) - (s + y)


@serves_arrays
@domain.register
def poisson_domain(loss: Poisson, y):
    return -y, math.inf


@serves_arrays
@second.register
def poisson_second(loss: Poisson, z, y):
    return exp(z)


# --- gamma -----------------------------------------------------------------------------------------------------------


class Gamma(NamedTuple):
    """``z + y exp(-z)`` for amounts ``y > 0``: regression with gamma-distributed targets and a logarithmic link.

    Examples
    --------
    >>> from adasadmm import Gamma, losses
    >>> losses.value(Gamma(), 0.0, 2.0), losses.slope(Gamma(), 0.0, 2.0)
    (2.0, -1.0)
    """


@serves_arrays
@value.register
def gamma_value(loss: Gamma, z, y):
    return z + y * exp(-z)


@serves_arrays
@slope.register
def gamma_slope(loss: Gamma, z, y):
    return 1.0 - y * exp(-z)


@serves_arrays
@prox.register
def gamma_prox(loss: Gamma, z, tau, y):
    return where(tau > 0.0, -exponential_root(tau - z, tau * y), z)


@serves_arrays
@conjugate.register
def gamma_conjugate(loss: Gamma, s, y):
    u = 1.0 - s
    return xlogx(u) - u * (1.0 + log(y))


@serves_arrays
@domain.register
def gamma_domain(loss: Gamma, y):
    return -math.inf, 1.0


@serves_arrays
@second.register
def gamma_second(loss: Gamma, z, y):
    return y * exp(-z)


# --- negative binomial -----------------------------------------------------------------------------------------------


class NegativeBinomial(NamedTuple):
    """``(y + 1/alpha) log(1 + alpha exp(z)) - y z`` for counts ``y >= 0`` that vary more than those of `Poisson`.

    The variance of a count of mean mu is ``mu + alpha mu^2``.

    Parameters
    ----------
    alpha : float, default=1.0
        The dispersion, > 0. As it tends to 0, the loss tends to that of `Poisson`.

    Examples
    --------
    >>> from adasadmm import NegativeBinomial, losses
    >>> losses.value(NegativeBinomial(1.0), 0.0, 1.0).__round__(4), losses.slope(NegativeBinomial(1.0), 0.0, 1.0)
    (1.3863, 0.0)
    """

    alpha: float = 1.0


@serves_arrays
@value.register
def negative_binomial_value(loss: NegativeBinomial, z, y):
    log_odds = z + math.log(loss.alpha)
    small = log1p(exp(-abs(log_odds)))  # log(1 + exp(x)) is this, plus x if that is positive
    rise, fall = maximum(log_odds, 0.0) + small, maximum(-log_odds, 0.0) + small
    return rise / loss.alpha + y * (fall + math.log(loss.alpha))


@serves_arrays
@slope.register
def negative_binomial_slope(loss: NegativeBinomial, z, y):
    log_odds = z + math.log(loss.alpha)
    return sigmoid(log_odds) / loss.alpha - y * sigmoid(-log_odds)


@serves_arrays
@second.register
def negative_binomial_second(loss: NegativeBinomial, z, y):
    log_odds = z + math.log(loss.alpha)
    return (y + 1.0 / loss.alpha) * sigmoid(log_odds) * sigmoid(-log_odds)


@serves_arrays
@prox.register
def negative_binomial_prox(loss: NegativeBinomial, z, tau, y):
    # With the margin m = -u - log(alpha) the equation for u is that of the logistic loss.
    shift = math.log(loss.alpha)
    margin = margin_after_prox(-shift - z - tau * y, tau * (y + 1.0 / loss.alpha))
    return where(tau > 0.0, -shift - margin, z)


@serves_arrays
@conjugate.register
def negative_binomial_conjugate(loss: NegativeBinomial, s, y):
    high = 1.0 / loss.alpha
    above, below = s + y, high - s  # the distances to the ends of the domain
    log_share = where(above > below, log(where(below > 0.0, below / (y + high), 1.0)), log1p(-above / (y + high)))
    return above * log(where(above > 0.0, above / (1.0 + loss.alpha * y), 1.0)) + below * log_share


@serves_arrays
@domain.register
def negative_binomial_domain(loss: NegativeBinomial, y):
    return -y, 1.0 / loss.alpha


@serves_arrays
@curvature.register
def negative_binomial_curvature(loss: NegativeBinomial, y):
    return 0.25 * (y + 1.0 / loss.alpha)


# --- all of them -----------------------------------------------------------------------------------------------------


@has_log_link.register(Poisson)
@has_log_link.register(Gamma)
@has_log_link.register(NegativeBinomial)
def all_have_log_link(loss) -> bool:
    return True


@check.register(Poisson)
def poisson_check(loss, y):
    check_least(y, 0.0, "counts", "Poisson")


@check.register(Gamma)
def gamma_check(loss, y):
    check_positive(y, "Gamma")


@check.register(NegativeBinomial)
def negative_binomial_check(loss, y):
    if not 0.0 < loss.alpha < math.inf:
        raise ValueError(f"alpha of NegativeBinomial must be > 0 and finite, got {loss.alpha}")
    check_least(y, 0.0, "counts", "NegativeBinomial")


def check_positive(y, name):
    if (y <= 0.0).any():
        least = y[y <= 0.0].min()
        remedy = NEGATIVE if least < 0.0 else "Tweedie(power) with a power below 2 takes amounts of which some are 0"
        raise ValueError(f"y must hold amounts > 0 for {name}, got {least:g}; {remedy}")


def check_least(y, least, what, name):
    if (y < least).any():
        raise ValueError(f"y must hold {what} >= {least:g} for {name}, got {y[y < least][0]:g}; {NEGATIVE}")


class ExponentialEquation(NamedTuple):
    """``u + tau exp(u) = c``, for tau > 0."""

    c: Any
    tau: Any
    log_tau: Any


@residual.register
def exponential_residual(equation: ExponentialEquation, u):
    is_small = u < 700.0  # beyond, exp(u) alone may overflow
    rising = where(is_small, equation.tau, 1.0) * exp(u + where(is_small, 0.0, equation.log_tau))
    return u + rising - equation.c, 1.0 + rising


@inlined
def exponential_root(c, tau):
    """The root of the equation.

    The start lies right of it, and the left side is convex and increasing: Newton's method comes down to the root
    without ever passing it.
    """
    log_tau = log(tau)
    start = minimum(c, maximum(0.0, log(maximum(c, 1e-300)) - log_tau))
    return root(ExponentialEquation(c, tau, log_tau), -math.inf, start, start)
