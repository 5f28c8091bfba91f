"""Losses of a prediction ``z`` of the logarithm of the mean: for counts, and for amounts that are not negative.

Each is the negative log-likelihood of its distribution, without the terms that do not depend on z. With the mean
``exp(z)`` all of them are convex in z, and their slope at z is a positive multiple of ``exp(z) - y``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .._core.jit import inlined
from ._generic import NEWTON_STEPS, check, conjugate, curvature, domain, has_log_link, prox, second, slope, value, xlogx
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


@value.register
def poisson_value(loss: Poisson, z, y):
    grown = _exp(z)
    return grown - y * z if grown < math.inf else grown  # y z may be infinite, too


@slope.register
def poisson_slope(loss: Poisson, z, y):
    return _exp(z) - y


@prox.register
def poisson_prox(loss: Poisson, z, tau, y):
    return _exponential_root(z + tau * y, tau) if tau > 0.0 else z  # a row of weight 0 has tau = 0


@conjugate.register
def poisson_conjugate(loss: Poisson, s, y):
    return xlogx(s + y) - (s + y)


@domain.register
def poisson_domain(loss: Poisson, y):
    return -y, math.inf


@second.register
def second_of_poisson(loss: Poisson, z, y):
    return _exp(z)


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
    return z + y * _exp(-z)


@slope.register
def gamma_slope(loss: Gamma, z, y):
    return 1.0 - y * _exp(-z)


@prox.register
def gamma_prox(loss: Gamma, z, tau, y):
    return -_exponential_root(tau - z, tau * y) if tau > 0.0 else z


@conjugate.register
def gamma_conjugate(loss: Gamma, s, y):
    u = 1.0 - s
    return xlogx(u) - u * (1.0 + math.log(y))


@domain.register
def gamma_domain(loss: Gamma, y):
    return -math.inf, 1.0


@second.register
def second_of_gamma(loss: Gamma, z, y):
    return y * _exp(-z)


# --- Tweedie ---------------------------------------------------------------------------------------------------------


class Tweedie(NamedTuple):
    """``exp((2 - p) z) / (2 - p) + y exp((1 - p) z) / (p - 1)`` for amounts ``y >= 0`` of which some may be 0.

    The variance of the target is proportional to the p-th power of its mean. For p between 1 and 2 the target is the
    sum of a random number of gamma-distributed amounts, such as the claims of an insurance contract in one year. The
    loss is that of `Poisson` for p = 1, and that of `Gamma` for p = 2.

    Parameters
    ----------
    power : float, default=1.5
        p, from 1 to 2. For other powers the loss with a logarithmic link is not convex.

    Examples
    --------
    >>> from adasadmm import Tweedie, losses
    >>> losses.value(Tweedie(1.5), 0.0, 2.0), losses.slope(Tweedie(1.5), 0.0, 2.0)
    (6.0, -1.0)
    """

    power: float = 1.5


@value.register
def tweedie_value(loss: Tweedie, z, y):
    rise, fall = _exponents(loss)
    return _exponential_over(rise, z) + (y * _exponential_over(fall, -z) if y > 0.0 else 0.0)


@slope.register
def tweedie_slope(loss: Tweedie, z, y):
    rise, fall = _exponents(loss)
    return _exp(rise * z) - (y * _exp(-fall * z) if y > 0.0 else 0.0)


@second.register
def second_of_tweedie(loss: Tweedie, z, y):
    rise, fall = _exponents(loss)
    return (rise * _exp(rise * z) if rise > 0.0 else 0.0) + (fall * y * _exp(-fall * z) if fall * y > 0.0 else 0.0)


@prox.register
def tweedie_prox(loss: Tweedie, z, tau, y):
    rise, fall = _exponents(loss)
    if tau <= 0.0:
        return z
    if fall == 0.0:
        return prox(Poisson(), z, tau, y)
    if rise == 0.0:
        return prox(Gamma(), z, tau, y)
    if y <= 0.0:
        return _exponential_root(rise * z, rise * tau) / rise
    # The root lies between z and log y, where the slope is 0. There |u - z| <= |log y - z|, which bounds the larger
    # one of both exponentials.
    best = math.log(y)
    if z == best:
        return z
    most = max(math.log(abs(z - best)) - math.log(tau), rise * best) + math.log(2.0)
    low, high = (best, min(z, most / rise)) if z > best else (max(z, (best - most) / fall), best)
    return _tweedie_root(loss, y, 1.0, tau, z, low, high, high if z > best else low)


@conjugate.register
def tweedie_conjugate(loss: Tweedie, s, y):
    rise, fall = _exponents(loss)
    if fall == 0.0:
        return conjugate(Poisson(), s, y)
    if rise == 0.0:
        return conjugate(Gamma(), s, y)
    if y <= 0.0:
        return (xlogx(s) - s) / rise
    # The supremum is where the slope is s. With z = log y + t and r = s / y^rise the equation for t is
    # exp(rise t) - exp(-fall t) = r, where one exponential is at most 1.
    best, relative = math.log(y), s / _exp(rise * math.log(y))
    far = best + (math.log1p(relative) / rise if s > 0.0 else -math.log1p(-relative) / fall)
    if not math.isfinite(far):
        return math.inf
    z = _tweedie_root(loss, y, 0.0, 1.0, s, min(best, far), max(best, far), far)
    # Any z gives less than the supremum. The second derivative changes by at most a factor e per unit of z, so the
    # supremum is at most -log(1 - |error| / second) away, and the function rises by at most |error| per unit.
    error, curved = abs(s - slope(loss, z, y)), second(loss, z, y)
    if not error < curved:
        return math.inf
    return s * z - value(loss, z, y) - error * math.log1p(-error / curved)


@domain.register
def tweedie_domain(loss: Tweedie, y):
    low = -y if loss.power == 1.0 else 0.0 if y <= 0.0 else -math.inf
    return low, 1.0 if loss.power == 2.0 else math.inf


@inlined
def _exponents(loss):
    """``2 - p`` and ``p - 1``."""
    return 2.0 - loss.power, loss.power - 1.0


@inlined
def _exponential_over(k, x):
    """``exp(k x) / k``; for k = 0, its limit x up to a constant."""
    return _exp(k * x) / k if k > 0.0 else x


@inlined
def _tweedie_root(loss, y, own, tau, c, low, high, start):
    """The u between low and high with ``own u + tau slope(u) = c``, by Newton's method with bisection."""
    u = start
    for _ in range(NEWTON_STEPS):
        error = own * u + tau * slope(loss, u, y) - c
        if error > 0.0:
            high = u
        else:
            low = u
        finite = abs(error) < math.inf  # where it is not, nor is the second derivative
        following = u - error / (own + tau * second(loss, u, y)) if finite else math.inf
        if not low <= following <= high:
            following = 0.5 * (low + high)
        moved = abs(following - u)
        u = following
        if moved <= 1e-15 * (1.0 + abs(u)):
            break
    return u


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


@slope.register
def negative_binomial_slope(loss: NegativeBinomial, z, y):
    log_odds = z + math.log(loss.alpha)
    return sigmoid(log_odds) / loss.alpha - y * sigmoid(-log_odds)


@second.register
def second_of_negative_binomial(loss: NegativeBinomial, z, y):
    log_odds = z + math.log(loss.alpha)
    return (y + 1.0 / loss.alpha) * sigmoid(log_odds) * sigmoid(-log_odds)


@prox.register
def negative_binomial_prox(loss: NegativeBinomial, z, tau, y):
    # With the margin m = -u - log(alpha) the equation for u is that of the logistic loss.
    if tau <= 0.0:
        return z
    shift = math.log(loss.alpha)
    return -shift - margin_after_prox(-shift - z - tau * y, tau * (y + 1.0 / loss.alpha))


@conjugate.register
def negative_binomial_conjugate(loss: NegativeBinomial, s, y):
    most = 1.0 / loss.alpha
    risen, left = s + y, most - s  # above the lower end of the domain, and below its upper end
    total = risen * math.log(risen / (1.0 + loss.alpha * y)) if risen > 0.0 else 0.0
    if left > 0.0:
        total += left * (math.log(left / (y + most)) if risen > left else math.log1p(-risen / (y + most)))
    return total


@domain.register
def negative_binomial_domain(loss: NegativeBinomial, y):
    return -y, 1.0 / loss.alpha


@curvature.register
def negative_binomial_curvature(loss: NegativeBinomial, y):
    return 0.25 * (y + 1.0 / loss.alpha)


# --- all of them -----------------------------------------------------------------------------------------------------


@has_log_link.register(Poisson)
@has_log_link.register(Gamma)
@has_log_link.register(Tweedie)
@has_log_link.register(NegativeBinomial)
def all_have_log_link(loss) -> bool:
    return True


@check.register(Poisson)
def poisson_check(loss, y):
    _check_least(y, 0.0, "counts", "Poisson")


@check.register(Gamma)
def gamma_check(loss, y):
    _check_positive(y, "Gamma")


@check.register(Tweedie)
def tweedie_check(loss, y):
    if not 1.0 <= loss.power <= 2.0:
        raise ValueError(f"power of Tweedie must lie between 1 and 2, got {loss.power}")
    if loss.power == 2.0:
        _check_positive(y, "Tweedie(power=2)")
    _check_least(y, 0.0, "amounts", "Tweedie")


@check.register(NegativeBinomial)
def negative_binomial_check(loss, y):
    if not 0.0 < loss.alpha < math.inf:
        raise ValueError(f"alpha of NegativeBinomial must be > 0 and finite, got {loss.alpha}")
    _check_least(y, 0.0, "counts", "NegativeBinomial")


def _check_positive(y, name):
    if (y <= 0.0).any():
        least = y[y <= 0.0].min()
        remedy = NEGATIVE if least < 0.0 else "Tweedie(power) with a power below 2 takes amounts of which some are 0"
        raise ValueError(f"y must hold amounts > 0 for {name}, got {least:g}; {remedy}")


def _check_least(y, least, what, name):
    if (y < least).any():
        raise ValueError(f"y must hold {what} >= {least:g} for {name}, got {y[y < least][0]:g}; {NEGATIVE}")


@inlined
def _exp(z):
    """``exp(z)``, infinite where it overflows (Python's own raises there)."""
    return math.exp(z) if z < 709.782712893384 else math.inf


@inlined
def _exponential_root(c, tau):
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
