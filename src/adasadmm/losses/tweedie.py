"""The Tweedie loss of a prediction ``z`` of the logarithm of the mean, for amounts of which some may be 0.

It lies between the losses of `log_link`: `Poisson` for the power 1, `Gamma` for the power 2.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._core.arrays import exp, on_arrays, serves_arrays, where
from .._core.jit import inlined
from ._generic import (
    check,
    conjugate,
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
from .log_link import Gamma, Poisson, check_least, check_positive, exponential_root


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


@serves_arrays
@value.register
def tweedie_value(loss: Tweedie, z, y):
    rise, fall = _exponents(loss)  # where one is 0, exp(k x) / k is x up to a constant
    rising = exp(rise * z) / rise if rise > 0.0 else z
    falling = exp(-fall * z) / fall if fall > 0.0 else -z
    return rising + where(y > 0.0, y * falling, 0.0)


@serves_arrays
@slope.register
def tweedie_slope(loss: Tweedie, z, y):
    rise, fall = _exponents(loss)
    return exp(rise * z) - where(y > 0.0, y * exp(-fall * z), 0.0)


@serves_arrays
@second.register
def tweedie_second(loss: Tweedie, z, y):
    rise, fall = _exponents(loss)
    rising = rise * exp(rise * z) if rise > 0.0 else 0.0
    return rising + where(fall * y > 0.0, fall * y * exp(-fall * z), 0.0)


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
        return exponential_root(rise * z, rise * tau) / rise
    # The root lies between z and log y, where the slope is 0. There |u - z| <= |log y - z|, which bounds the larger
    # one of both exponentials.
    best = math.log(y)
    if z == best:
        return z
    most = max(math.log(abs(z - best)) - math.log(tau), rise * best) + math.log(2.0)
    low, high = (best, min(z, most / rise)) if z > best else (max(z, (best - most) / fall), best)
    return root(SlopeEquation(loss, y, 1.0, tau, z), low, high, high if z > best else low)


@on_arrays(tweedie_prox)
def tweedie_proxes(loss, z, tau, y):
    rise, fall = _exponents(loss)
    if fall == 0.0:
        return prox(Poisson(), z, tau, y)
    if rise == 0.0:
        return prox(Gamma(), z, tau, y)
    best = np.log(y)
    most = np.maximum(np.log(np.abs(z - best)) - np.log(tau), rise * best) + math.log(2.0)
    is_above = z > best
    low = np.where(is_above, best, np.maximum(z, (best - most) / fall))
    high = np.where(is_above, np.minimum(z, most / rise), best)
    start = np.where(is_above, high, low)
    u = np.where(y > 0.0, z, exponential_root(rise * z, rise * tau) / rise)
    open_rows = (y > 0.0) & (z != best)
    y, tau_of, c, *brackets = (array[open_rows] for array in np.broadcast_arrays(y, tau, z, low, high, start))
    u[open_rows] = root(SlopeEquation(loss, y, 1.0, tau_of, c), *brackets)
    return np.where(tau > 0.0, u, z)


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
    best, relative = math.log(y), s / exp(rise * math.log(y))
    far = best + (math.log1p(relative) / rise if s > 0.0 else -math.log1p(-relative) / fall)
    if not math.isfinite(far):
        return math.inf
    z = root(SlopeEquation(loss, y, 0.0, 1.0, s), min(best, far), max(best, far), far)
    # Any z gives less than the supremum. The second derivative changes by at most a factor e per unit of z, so the
    # supremum is at most -log(1 - |error| / second) away, and the function rises by at most |error| per unit.
    error, curved = abs(s - slope(loss, z, y)), second(loss, z, y)
    if not error < curved:
        return math.inf
    return s * z - value(loss, z, y) - error * math.log1p(-error / curved)


@on_arrays(tweedie_conjugate)
def tweedie_conjugates(loss, s, y):
    rise, fall = _exponents(loss)
    if fall == 0.0:
        return conjugate(Poisson(), s, y)
    if rise == 0.0:
        return conjugate(Gamma(), s, y)
    total = np.where(y > 0.0, np.inf, (xlogx(s) - s) / rise)
    best = np.log(y)
    relative = s / np.exp(rise * best)
    far = best + np.where(s > 0.0, np.log1p(relative) / rise, -np.log1p(-relative) / fall)
    open_rows = (y > 0.0) & np.isfinite(far)
    s, y, best, far = s[open_rows], y[open_rows], best[open_rows], far[open_rows]
    z = root(SlopeEquation(loss, y, 0.0, 1.0, s), np.minimum(best, far), np.maximum(best, far), far)
    error, curved = np.abs(s - tweedie_slope(loss, z, y)), tweedie_second(loss, z, y)
    bound = s * z - tweedie_value(loss, z, y) - error * np.log1p(-error / curved)
    total[open_rows] = np.where(error < curved, bound, np.inf)
    return total


@serves_arrays
@domain.register
def tweedie_domain(loss: Tweedie, y):
    low = -y if loss.power == 1.0 else where(y <= 0.0, 0.0, -math.inf)
    return low, 1.0 if loss.power == 2.0 else math.inf


@inlined
def _exponents(loss):
    """``2 - p`` and ``p - 1``."""
    return 2.0 - loss.power, loss.power - 1.0


class SlopeEquation(NamedTuple):
    """``share u + tau slope(u) = c``."""

    loss: Any
    y: Any
    share: Any
    tau: Any
    c: Any


@residual.register
def slope_residual(equation: SlopeEquation, u):
    loss, y, share, tau, c = equation
    return share * u + tau * slope(loss, u, y) - c, share + tau * second(loss, u, y)


@has_log_link.register
def tweedie_has_log_link(loss: Tweedie) -> bool:
    return True


@check.register(Tweedie)
def tweedie_check(loss, y):
    if not 1.0 <= loss.power <= 2.0:
        raise ValueError(f"power of Tweedie must lie between 1 and 2, got {loss.power}")
    if loss.power == 2.0:
        check_positive(y, "Tweedie(power=2)")
    check_least(y, 0.0, "amounts", "Tweedie")
