"""Losses of a prediction ``z`` of the logarithm of the mean: for counts, and for amounts that are not negative.

Each is the negative log-likelihood of its distribution, without the terms that do not depend on z. With the mean
``exp(z)`` all of them are convex in z, and their slope at z is a positive multiple of ``exp(z) - y``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._core.arrays import on_arrays, serves_arrays
from .._core.jit import inlined
from ._generic import (
    NEWTON_STEPS,
    check,
    conjugate,
    curvature,
    domain,
    has_log_link,
    prox,
    roots,
    second,
    slope,
    value,
    xlogx,
    xlogx_of,
)
from .margin import margin_after_prox, margins_after_prox, sigmoid, sigmoids

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


@value.register
def poisson_value(loss: Poisson, z, y):
    grown = exponential(z)
    return grown - y * z if grown < math.inf else grown  # y z may be infinite, too


@on_arrays(poisson_value)
def poisson_values(loss, z, y):
    grown = np.exp(z)
    return np.where(grown < np.inf, grown - y * z, grown)


@slope.register
def poisson_slope(loss: Poisson, z, y):
    return exponential(z) - y


@on_arrays(poisson_slope)
def poisson_slopes(loss, z, y):
    return np.exp(z) - y


@prox.register
def poisson_prox(loss: Poisson, z, tau, y):
    return exponential_root(z + tau * y, tau) if tau > 0.0 else z  # a row of weight 0 has tau = 0


@on_arrays(poisson_prox)
def poisson_proxes(loss, z, tau, y):
    return np.where(tau > 0.0, exponential_roots(z + tau * y, tau), z)


@conjugate.register
def poisson_conjugate(loss: Poisson, s, y):
    return xlogx(s + y) - (s + y)


@on_arrays(poisson_conjugate)
def poisson_conjugates(loss, s, y):
    return xlogx_of(s + y) - (s + y)


@serves_arrays
@domain.register
def poisson_domain(loss: Poisson, y):
    return -y, math.inf


@second.register
def second_of_poisson(loss: Poisson, z, y):
    return exponential(z)


@on_arrays(second_of_poisson)
def seconds_of_poisson(loss, z, y):
    return np.exp(z)


# --- gamma -----------------------------------------------------------------------------------------------------------


class Gamma(NamedTuple):
    """``z + y exp(-z)`` for amounts ``y > 0``: regression with gamma-distributed targets and a logarithmic link.


    Examples
    --------
    >>> from adasadmm import Gamma, losses
    >>> losses.value(Gamma(), 0.0, 2.0), losses.slope(Gamma(), 0.0, 2.0)
    (2.0, -1.0)
    """


@value.register
def gamma_value(loss: Gamma, z, y):
    return z + y * exponential(-z)


@on_arrays(gamma_value)
def gamma_values(loss, z, y):
    return z + y * np.exp(-z)


@slope.register
def gamma_slope(loss: Gamma, z, y):
    return 1.0 - y * exponential(-z)


@on_arrays(gamma_slope)
def gamma_slopes(loss, z, y):
    return 1.0 - y * np.exp(-z)


@prox.register
def gamma_prox(loss: Gamma, z, tau, y):
    return -exponential_root(tau - z, tau * y) if tau > 0.0 else z


@on_arrays(gamma_prox)
def gamma_proxes(loss, z, tau, y):
    return np.where(tau > 0.0, -exponential_roots(tau - z, tau * y), z)


@conjugate.register
def gamma_conjugate(loss: Gamma, s, y):
    u = 1.0 - s
    return xlogx(u) - u * (1.0 + math.log(y))


@on_arrays(gamma_conjugate)
def gamma_conjugates(loss, s, y):
    u = 1.0 - s
    return xlogx_of(u) - u * (1.0 + np.log(y))


@serves_arrays
@domain.register
def gamma_domain(loss: Gamma, y):
    return -math.inf, 1.0


@second.register
def second_of_gamma(loss: Gamma, z, y):
    return y * exponential(-z)


@on_arrays(second_of_gamma)
def seconds_of_gamma(loss, z, y):
    return y * np.exp(-z)


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


@value.register
def negative_binomial_value(loss: NegativeBinomial, z, y):
    log_odds = z + math.log(loss.alpha)
    small = math.log1p(math.exp(-abs(log_odds)))  # log(1 + exp(x)) is this, plus x if that is positive
    rise, fall = max(log_odds, 0.0) + small, max(-log_odds, 0.0) + small
    return rise / loss.alpha + y * (fall + math.log(loss.alpha))


@on_arrays(negative_binomial_value)
def negative_binomial_values(loss, z, y):
    log_odds = z + math.log(loss.alpha)
    small = np.log1p(np.exp(-np.abs(log_odds)))
    rise, fall = np.maximum(log_odds, 0.0) + small, np.maximum(-log_odds, 0.0) + small
    return rise / loss.alpha + y * (fall + math.log(loss.alpha))


@slope.register
def negative_binomial_slope(loss: NegativeBinomial, z, y):
    log_odds = z + math.log(loss.alpha)
    return sigmoid(log_odds) / loss.alpha - y * sigmoid(-log_odds)


@on_arrays(negative_binomial_slope)
def negative_binomial_slopes(loss, z, y):
    log_odds = z + math.log(loss.alpha)
    return sigmoids(log_odds) / loss.alpha - y * sigmoids(-log_odds)


@second.register
def second_of_negative_binomial(loss: NegativeBinomial, z, y):
    log_odds = z + math.log(loss.alpha)
    return (y + 1.0 / loss.alpha) * sigmoid(log_odds) * sigmoid(-log_odds)


@on_arrays(second_of_negative_binomial)
def seconds_of_negative_binomial(loss, z, y):
    log_odds = z + math.log(loss.alpha)
    return (y + 1.0 / loss.alpha) * sigmoids(log_odds) * sigmoids(-log_odds)


@prox.register
def negative_binomial_prox(loss: NegativeBinomial, z, tau, y):
    # With the margin m = -u - log(alpha) the equation for u is that of the logistic loss.
    if tau <= 0.0:
        return z
    shift = math.log(loss.alpha)
    return -shift - margin_after_prox(-shift - z - tau * y, tau * (y + 1.0 / loss.alpha))


@on_arrays(negative_binomial_prox)
def negative_binomial_proxes(loss, z, tau, y):
    shift = math.log(loss.alpha)
    found = -shift - margins_after_prox(-shift - z - tau * y, tau * (y + 1.0 / loss.alpha))
    return np.where(tau > 0.0, found, z)


@conjugate.register
def negative_binomial_conjugate(loss: NegativeBinomial, s, y):
    most = 1.0 / loss.alpha
    risen, left = s + y, most - s  # above the lower end of the domain, and below its upper end
    total = risen * math.log(risen / (1.0 + loss.alpha * y)) if risen > 0.0 else 0.0
    if left > 0.0:
        total += left * (math.log(left / (y + most)) if risen > left else math.log1p(-risen / (y + most)))
    return total


@on_arrays(negative_binomial_conjugate)
def negative_binomial_conjugates(loss, s, y):
    most = 1.0 / loss.alpha
    risen, left = s + y, most - s
    of_risen = np.where(risen > 0.0, risen * np.log(risen / (1.0 + loss.alpha * y)), 0.0)
    share = np.where(risen > left, np.log(left / (y + most)), np.log1p(-risen / (y + most)))
    return of_risen + np.where(left > 0.0, left * share, 0.0)


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


@inlined
def exponential(z):
    """``exp(z)``, infinite where it overflows (Python's own raises there)."""
    return math.exp(z) if z < 709.782712893384 else math.inf


@inlined
def exponential_root(c, tau):
    """The root u of ``u + tau exp(u) = c``, for tau > 0.

    The start lies right of the root, and the left side is convex and increasing: Newton's method comes down to the root
    without ever passing it.
    """
    u = min(c, max(0.0, math.log(max(c, 1e-300)) - math.log(tau)))
    for _ in range(NEWTON_STEPS):
        grown = tau * math.exp(u) if u < 700.0 else math.exp(u + math.log(tau))  # exp(u) alone may overflow
        step = (u + grown - c) / (1.0 + grown)
        u -= step
        if abs(step) <= 1e-15 * (1.0 + abs(u)):
            break
    return u


def exponential_roots(c, tau):
    log_tau = np.log(tau)

    def error(u, c, tau, log_tau):
        grown = np.where(u < 700.0, tau * np.exp(u), np.exp(u + log_tau))
        return u + grown - c, 1.0 + grown

    start = np.minimum(c, np.maximum(0.0, np.log(np.maximum(c, 1e-300)) - log_tau))
    return roots(error, np.full_like(start, -np.inf), start, start, c, tau, log_tau)
