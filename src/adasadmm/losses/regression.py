"""Losses of the residual ``z - y``."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._core.arrays import maximum, minimum, serves_arrays, where
from ._generic import Piece, check, conjugate, curvature, domain, pieces, prox, second, slope, value

# --- squared ---------------------------------------------------------------------------------------------------------


class Squared(NamedTuple):
    """``(z - y)^2 / 2``.

    Examples
    --------
    >>> from adasadmm import Squared, losses
    >>> losses.value(Squared(), 3.0, 1.0), losses.slope(Squared(), 3.0, 1.0)
    (2.0, 2.0)
    """


@serves_arrays
@value.register
def squared_value(loss: Squared, z, y):
    return 0.5 * (z - y) * (z - y)


@serves_arrays
@slope.register
def squared_slope(loss: Squared, z, y):
    return z - y


@serves_arrays
@prox.register
def squared_prox(loss: Squared, z, tau, y):
    return (z + tau * y) / (1.0 + tau)


@serves_arrays
@conjugate.register
def squared_conjugate(loss: Squared, s, y):
    return 0.5 * s * s + s * y


@serves_arrays
@domain.register
def squared_domain(loss: Squared, y):
    return -math.inf, math.inf


@curvature.register
def squared_curvature(loss: Squared):
    return 1.0


@serves_arrays
@second.register
def squared_second(loss: Squared, z, y):
    return 1.0


@pieces.register
def squared_pieces(loss: Squared, y):
    return (Piece(-math.inf, math.inf, y, 1.0),)


# --- Huber -----------------------------------------------------------------------------------------------------------


class Huber(NamedTuple):
    """``r^2 / 2`` for ``|r| <= delta``, else ``delta (|r| - delta / 2)``, with ``r = z - y``.

    Parameters
    ----------
    delta : float, default=1.0
        The residual at which the loss becomes linear.

    Examples
    --------
    >>> from adasadmm import Huber, losses
    >>> losses.value(Huber(1.0), 0.5, 0.0), losses.value(Huber(1.0), 3.0, 0.0)
    (0.125, 2.5)
    """

    delta: float = 1.0


@serves_arrays
@value.register
def huber_value(loss: Huber, z, y):
    r = abs(z - y)
    inner = minimum(r, loss.delta)
    return inner * (r - 0.5 * inner)


@serves_arrays
@slope.register
def huber_slope(loss: Huber, z, y):
    return minimum(maximum(z - y, -loss.delta), loss.delta)


@serves_arrays
@prox.register
def huber_prox(loss: Huber, z, tau, y):
    return z - tau * minimum(maximum((z - y) / (1.0 + tau), -loss.delta), loss.delta)


@serves_arrays
@conjugate.register
def huber_conjugate(loss: Huber, s, y):
    return 0.5 * s * s + s * y


@serves_arrays
@domain.register
def huber_domain(loss: Huber, y):
    return -loss.delta, loss.delta


@curvature.register
def huber_curvature(loss: Huber):
    return 1.0


@serves_arrays
@second.register
def huber_second(loss: Huber, z, y):
    return where(abs(z - y) <= loss.delta, 1.0, 0.0)


@pieces.register
def huber_pieces(loss: Huber, y):
    return (Piece(-loss.delta, loss.delta, y, 1.0),)


@check.register(Huber)
def huber_check(loss, y):
    if not loss.delta > 0.0:
        raise ValueError(f"delta of Huber must be > 0, got {loss.delta}")


# --- epsilon-insensitive ---------------------------------------------------------------------------------------------


class EpsilonInsensitive(NamedTuple):
    """``max(0, |z - y| - epsilon)``: the loss of support vector regression.

    Parameters
    ----------
    epsilon : float, default=0.1
        Residuals up to this size cost nothing.

    Examples
    --------
    >>> from adasadmm import EpsilonInsensitive, losses
    >>> losses.value(EpsilonInsensitive(0.5), 2.0, 1.0), losses.value(EpsilonInsensitive(0.5), 1.25, 1.0)
    (0.5, 0.0)
    """

    epsilon: float = 0.1


@serves_arrays
@value.register
def epsilon_insensitive_value(loss: EpsilonInsensitive, z, y):
    return maximum(0.0, abs(z - y) - loss.epsilon)


@serves_arrays
@slope.register
def epsilon_insensitive_slope(loss: EpsilonInsensitive, z, y):
    r = z - y
    return 1.0 * (r > loss.epsilon) - 1.0 * (r < -loss.epsilon)


@serves_arrays
@prox.register
def epsilon_insensitive_prox(loss: EpsilonInsensitive, z, tau, y):
    r = z - y
    excess = r - minimum(maximum(r, -loss.epsilon), loss.epsilon)
    return z - minimum(maximum(excess, -tau), tau)


@serves_arrays
@conjugate.register
def epsilon_insensitive_conjugate(loss: EpsilonInsensitive, s, y):
    return s * y + loss.epsilon * abs(s)


@serves_arrays
@domain.register
def epsilon_insensitive_domain(loss: EpsilonInsensitive, y):
    return -1.0, 1.0


@pieces.register
def epsilon_insensitive_pieces(loss: EpsilonInsensitive, y):
    if loss.epsilon == 0.0:
        return (Piece(-1.0, 1.0, y),)
    return Piece(-1.0, 0.0, y - loss.epsilon), Piece(0.0, 1.0, y + loss.epsilon)


@check.register(EpsilonInsensitive)
def epsilon_insensitive_check(loss, y):
    if not 0.0 <= loss.epsilon < math.inf:
        raise ValueError(f"epsilon of EpsilonInsensitive must be >= 0 and finite, got {loss.epsilon}")


# --- quantile --------------------------------------------------------------------------------------------------------


class Quantile(NamedTuple):
    """``max(q r, (q - 1) r)`` with ``r = y - z``: its minimiser is the q-quantile.

    Parameters
    ----------
    q : float, default=0.5
        Between 0 and 1; 0.5 is the median.

    Examples
    --------
    >>> from adasadmm import Quantile, losses
    >>> losses.value(Quantile(0.75), 0.0, 1.0), losses.value(Quantile(0.75), 1.0, 0.0)
    (0.75, 0.25)
    """

    q: float = 0.5


@serves_arrays
@value.register
def quantile_value(loss: Quantile, z, y):
    r = y - z
    return maximum(loss.q * r, (loss.q - 1.0) * r)


@serves_arrays
@slope.register
def quantile_slope(loss: Quantile, z, y):
    return where(z < y, -loss.q, where(z > y, 1.0 - loss.q, 0.0))


@serves_arrays
@prox.register
def quantile_prox(loss: Quantile, z, tau, y):
    return minimum(maximum(y, z - tau * (1.0 - loss.q)), z + tau * loss.q)


@serves_arrays
@conjugate.register
def quantile_conjugate(loss: Quantile, s, y):
    return s * y


@serves_arrays
@domain.register
def quantile_domain(loss: Quantile, y):
    return -loss.q, 1.0 - loss.q


@pieces.register
def quantile_pieces(loss: Quantile, y):
    return (Piece(-loss.q, 1.0 - loss.q, y),)


@check.register(Quantile)
def quantile_check(loss, y):
    if not 0.0 < loss.q < 1.0:
        raise ValueError(f"q of Quantile must lie between 0 and 1, got {loss.q}")
