"""Losses of one prediction ``z = <x, w>`` and its target ``y``: value, slope, scalar prox, conjugate.

A loss is a ``NamedTuple``; each function below is registered for its class. A loss of your own needs ``value`` and
``slope`` for the stochastic solvers, ``prox`` for OADMM and ADMM, ``conjugate`` and ``domain`` for a duality gap.

Examples
--------
>>> from typing import NamedTuple
>>> from adasadmm import losses
>>> class Absolute(NamedTuple):
...     scale: float = 1.0
>>> @losses.value.register(Absolute)
... def _(loss, z, y):
...     return loss.scale * abs(z - y)
>>> @losses.slope.register(Absolute)
... def _(loss, z, y):
...     return loss.scale * (1.0 if z > y else -1.0 if z < y else 0.0)
>>> losses.value(Absolute(2.0), 1.0, 4.0)
6.0
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from ._jit import compiled, generic, inlined

__all__ = [
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Poisson",
    "Quantile",
    "Squared",
    "SquaredHinge",
    "check",
    "conjugate",
    "domain",
    "prox",
    "slope",
    "value",
]

_NEWTON_STEPS = 100  # a cap: Newton's method below needs about 5, and one more for each factor e of a bad start


class Hinge(NamedTuple):
    """``max(0, 1 - y z)`` for labels -1 and +1."""


class SquaredHinge(NamedTuple):
    """``max(0, 1 - y z)^2`` for labels -1 and +1."""


class Logistic(NamedTuple):
    """``log(1 + exp(-y z))`` for labels -1 and +1."""


class Squared(NamedTuple):
    """``(z - y)^2 / 2``."""


class Huber(NamedTuple):
    """``r^2 / 2`` for ``|r| <= delta``, else ``delta (|r| - delta / 2)``, with ``r = z - y``."""

    delta: float = 1.0


class EpsilonInsensitive(NamedTuple):
    """``max(0, |z - y| - epsilon)``."""

    epsilon: float = 0.1


class Quantile(NamedTuple):
    """``max(q r, (q - 1) r)`` with ``r = y - z``: its minimiser is the q-quantile."""

    q: float = 0.5


class Poisson(NamedTuple):
    """``exp(z) - y z`` for counts ``y >= 0``."""


# --- value -----------------------------------------------------------------------------------------------------------


@generic
def value(loss, z, y):
    """The loss of one prediction."""


@value.register
def _(loss: Hinge, z, y):
    return max(0.0, 1.0 - y * z)


@value.register
def _(loss: SquaredHinge, z, y):
    short = max(0.0, 1.0 - y * z)
    return short * short  # not ** 2: Python's own raises where it overflows


@value.register
def _(loss: Logistic, z, y):
    margin = y * z
    return max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))


@value.register
def _(loss: Squared, z, y):
    return 0.5 * (z - y) * (z - y)


@value.register
def _(loss: Huber, z, y):
    r = abs(z - y)
    return 0.5 * r * r if r <= loss.delta else loss.delta * (r - 0.5 * loss.delta)


@value.register
def _(loss: EpsilonInsensitive, z, y):
    return max(0.0, abs(z - y) - loss.epsilon)


@value.register
def _(loss: Quantile, z, y):
    r = y - z
    return max(loss.q * r, (loss.q - 1.0) * r)


@value.register
def _(loss: Poisson, z, y):
    return _exp(z) - y * z


# --- slope -----------------------------------------------------------------------------------------------------------


@generic
def slope(loss, z, y):
    """One subgradient in ``z``; at a kink the one of least magnitude."""


@slope.register
def _(loss: Hinge, z, y):
    return -y if y * z < 1.0 else 0.0


@slope.register
def _(loss: SquaredHinge, z, y):
    return -2.0 * y * max(0.0, 1.0 - y * z)


@slope.register
def _(loss: Logistic, z, y):
    return -y * _sigmoid(-y * z)


@slope.register
def _(loss: Squared, z, y):
    return z - y


@slope.register
def _(loss: Huber, z, y):
    return min(max(z - y, -loss.delta), loss.delta)


@slope.register
def _(loss: EpsilonInsensitive, z, y):
    r = z - y
    return 1.0 if r > loss.epsilon else -1.0 if r < -loss.epsilon else 0.0


@slope.register
def _(loss: Quantile, z, y):
    return -loss.q if z < y else 1.0 - loss.q if z > y else 0.0


@slope.register
def _(loss: Poisson, z, y):
    return _exp(z) - y


# --- prox ------------------------------------------------------------------------------------------------------------


@generic
def prox(loss, z, tau, y):
    """``argmin_u loss(u, y) + (u - z)^2 / (2 tau)``."""


@prox.register
def _(loss: Hinge, z, tau, y):
    margin = y * z
    return y * max(margin, min(margin + tau, 1.0))


@prox.register
def _(loss: SquaredHinge, z, tau, y):
    margin = y * z
    return z if margin >= 1.0 else y * (margin + 2.0 * tau) / (1.0 + 2.0 * tau)


@prox.register
def _(loss: Logistic, z, tau, y):
    # The margin m solves m - m0 = tau sigmoid(-m): an increasing function with its root between m0 and m0 + tau.
    start = y * z
    low, high = start, start + tau
    margin = min(max(start, 0.0), high)
    for _ in range(_NEWTON_STEPS):
        p = _sigmoid(-margin)
        error = margin - start - tau * p
        if error > 0.0:
            high = margin
        else:
            low = margin
        step = error / (1.0 + tau * p * (1.0 - p))
        following = margin - step
        if not low <= following <= high:
            following = 0.5 * (low + high)
        moved = abs(following - margin)
        margin = following
        if moved <= 1e-15 * (1.0 + abs(margin)):
            break
    return y * margin


@prox.register
def _(loss: Squared, z, tau, y):
    return (z + tau * y) / (1.0 + tau)


@prox.register
def _(loss: Huber, z, tau, y):
    r = z - y
    return z - tau * min(max(r / (1.0 + tau), -loss.delta), loss.delta)


@prox.register
def _(loss: EpsilonInsensitive, z, tau, y):
    r = z - y
    excess = abs(r) - loss.epsilon
    if excess <= 0.0:
        return z
    return z - math.copysign(min(tau, excess), r)


@prox.register
def _(loss: Quantile, z, tau, y):
    return min(max(y, z - tau * (1.0 - loss.q)), z + tau * loss.q)


@prox.register
def _(loss: Poisson, z, tau, y):
    # u + tau exp(u) = c. The start lies right of the root, and the left side is convex and increasing: Newton's
    # method comes down to the root without ever passing it.
    if tau <= 0.0:  # a row of weight 0
        return z
    c = z + tau * y
    u = min(c, max(0.0, math.log(max(c, 1e-300)) - math.log(tau)))
    for _ in range(_NEWTON_STEPS):
        grown = tau * math.exp(u) if u < 700.0 else math.exp(u + math.log(tau))  # exp(u) alone may overflow
        step = (u + grown - c) / (1.0 + grown)
        u -= step
        if abs(step) <= 1e-15 * (1.0 + abs(u)):
            break
    return u


# --- conjugate and its domain ----------------------------------------------------------------------------------------


@generic
def conjugate(loss, s, y):
    """``sup_z s z - loss(z, y)`` for ``s`` inside ``domain(loss, y)``."""


@generic
def domain(loss, y):
    """The interval ``(low, high)`` where the conjugate is finite."""


@conjugate.register
def _(loss: Hinge, s, y):
    return s * y


@domain.register
def _(loss: Hinge, y):
    return min(-y, 0.0), max(-y, 0.0)


@conjugate.register
def _(loss: SquaredHinge, s, y):
    return s * y + 0.25 * s * s


@domain.register
def _(loss: SquaredHinge, y):
    return (-math.inf, 0.0) if y > 0.0 else (0.0, math.inf)


@conjugate.register
def _(loss: Logistic, s, y):
    p = -s * y
    return _xlogx(p) + _xlogx(1.0 - p)


@domain.register
def _(loss: Logistic, y):
    return min(-y, 0.0), max(-y, 0.0)


@conjugate.register
def _(loss: Squared, s, y):
    return 0.5 * s * s + s * y


@domain.register
def _(loss: Squared, y):
    return -math.inf, math.inf


@conjugate.register
def _(loss: Huber, s, y):
    return 0.5 * s * s + s * y


@domain.register
def _(loss: Huber, y):
    return -loss.delta, loss.delta


@conjugate.register
def _(loss: EpsilonInsensitive, s, y):
    return s * y + loss.epsilon * abs(s)


@domain.register
def _(loss: EpsilonInsensitive, y):
    return -1.0, 1.0


@conjugate.register
def _(loss: Quantile, s, y):
    return s * y


@domain.register
def _(loss: Quantile, y):
    return -loss.q, 1.0 - loss.q


@conjugate.register
def _(loss: Poisson, s, y):
    return _xlogx(s + y) - (s + y)


@domain.register
def _(loss: Poisson, y):
    return -y, math.inf


# --- sums over many predictions --------------------------------------------------------------------------------------


@compiled
def mean_value(loss, z, y, c):
    """``1/n sum_i c_i loss(z_i, y_i)``."""
    total = 0.0
    for i in range(len(z)):
        if c[i] > 0.0:  # a row of weight 0 is absent, even where its loss is infinite
            total += c[i] * value(loss, z[i], y[i])
    return total / len(z)


@compiled
def all_slopes(loss, z, y, out):
    """The slope at each prediction."""
    for i in range(len(z)):
        out[i] = slope(loss, z[i], y[i])


@compiled
def mean_conjugate(loss, s, y, c):
    """``1/n sum_i c_i loss*(s_i, y_i)``."""
    total = 0.0
    for i in range(len(s)):
        total += c[i] * conjugate(loss, s[i], y[i])
    return total / len(s)


@compiled
def clip_to_domain(loss, s, y, low, high):
    """Clip each ``s_i`` to its domain in place; write the domain's ends to ``low`` and ``high``."""
    for i in range(len(s)):
        low[i], high[i] = domain(loss, y[i])
        s[i] = min(max(s[i], low[i]), high[i])


# --- what a loss asks of its parameters and targets ------------------------------------------------------------------


@functools.singledispatch
def check(loss, y: np.ndarray) -> None:
    """Raise ``ValueError`` where the loss cannot take these targets, or has an impossible parameter."""


@check.register(Hinge)
@check.register(SquaredHinge)
@check.register(Logistic)
def _(loss, y):
    wrong = y[(y != 1.0) & (y != -1.0)]
    if wrong.size:
        raise ValueError(f"y must hold labels -1 and +1 for {type(loss).__name__}, got {wrong[0]:g}")


@check.register(Huber)
def _(loss, y):
    if not loss.delta > 0.0:
        raise ValueError(f"delta of Huber must be > 0, got {loss.delta}")


@check.register(EpsilonInsensitive)
def _(loss, y):
    if not 0.0 <= loss.epsilon < math.inf:
        raise ValueError(f"epsilon of EpsilonInsensitive must be >= 0 and finite, got {loss.epsilon}")


@check.register(Quantile)
def _(loss, y):
    if not 0.0 < loss.q < 1.0:
        raise ValueError(f"q of Quantile must lie between 0 and 1, got {loss.q}")


@check.register(Poisson)
def _(loss, y):
    if (y < 0.0).any():
        raise ValueError(f"y must hold counts >= 0 for Poisson, got {y[y < 0.0][0]:g}")


# --- scalar helpers --------------------------------------------------------------------------------------------------


@inlined
def _sigmoid(z):
    """``1 / (1 + exp(-z))`` without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    grown = math.exp(z)
    return grown / (1.0 + grown)


@inlined
def _exp(z):
    """``exp(z)``, infinite where it overflows (Python's own raises there)."""
    return math.exp(z) if z < 709.782712893384 else math.inf


@inlined
def _xlogx(p):
    return p * math.log(p) if p > 0.0 else 0.0
