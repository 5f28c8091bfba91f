"""Losses of the margin ``y z``, for labels -1 and +1."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._core.jit import inlined
from ._generic import (
    NEWTON_STEPS,
    check,
    conjugate,
    curvature,
    domain,
    pieces,
    prox,
    second,
    slope,
    takes_labels,
    value,
    xlogx,
)

# --- hinge -----------------------------------------------------------------------------------------------------------


class Hinge(NamedTuple):
    """``max(0, 1 - y z)`` for labels -1 and +1."""


@value.register
def _(loss: Hinge, z, y):
    return max(0.0, 1.0 - y * z)


@slope.register
def _(loss: Hinge, z, y):
    return -y if y * z < 1.0 else 0.0


@prox.register
def _(loss: Hinge, z, tau, y):
    margin = y * z
    return y * max(margin, min(margin + tau, 1.0))


@conjugate.register
def _(loss: Hinge, s, y):
    return s * y


@domain.register
def _(loss: Hinge, y):
    return min(-y, 0.0), max(-y, 0.0)


@pieces.register
def pieces_of_hinge(loss: Hinge, y):
    return (0.0, min(-y, 0.0)), (y, 0.0, 1.0), (math.inf, 0.0, 0.0)


# --- squared hinge ---------------------------------------------------------------------------------------------------


class SquaredHinge(NamedTuple):
    """``max(0, 1 - y z)^2`` for labels -1 and +1."""


@value.register
def _(loss: SquaredHinge, z, y):
    short = max(0.0, 1.0 - y * z)
    return short * short  # not ** 2: Python's own raises where it overflows


@slope.register
def _(loss: SquaredHinge, z, y):
    return -2.0 * y * max(0.0, 1.0 - y * z)


@prox.register
def _(loss: SquaredHinge, z, tau, y):
    margin = y * z
    return z if margin >= 1.0 else y * (margin + 2.0 * tau) / (1.0 + 2.0 * tau)


@conjugate.register
def _(loss: SquaredHinge, s, y):
    return s * y + 0.25 * s * s


@domain.register
def _(loss: SquaredHinge, y):
    return (-math.inf, 0.0) if y > 0.0 else (0.0, math.inf)


@curvature.register
def _(loss: SquaredHinge):
    return 2.0


@second.register
def second_of_squared_hinge(loss: SquaredHinge, z, y):
    return 2.0 if y * z < 1.0 else 0.0


@pieces.register
def pieces_of_squared_hinge(loss: SquaredHinge, y):
    first = (2.0, -2.0) if y > 0.0 else (0.0, 0.0)
    return first, (y, -2.0 * y, 2.0), (math.inf, 0.0, 0.0)


# --- logistic --------------------------------------------------------------------------------------------------------


class Logistic(NamedTuple):
    """``log(1 + exp(-y z))`` for labels -1 and +1."""


@value.register
def _(loss: Logistic, z, y):
    margin = y * z
    return max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))


@slope.register
def _(loss: Logistic, z, y):
    return -y * _sigmoid(-y * z)


@prox.register
def _(loss: Logistic, z, tau, y):
    # The margin m solves m - m0 = tau sigmoid(-m): an increasing function with its root between m0 and m0 + tau.
    start = y * z
    low, high = start, start + tau
    margin = min(max(start, 0.0), high)
    for _ in range(NEWTON_STEPS):
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


@conjugate.register
def _(loss: Logistic, s, y):
    p = -s * y
    return xlogx(p) + xlogx(1.0 - p)


@curvature.register
def _(loss: Logistic):
    return 0.25


@second.register
def second_of_logistic(loss: Logistic, z, y):
    grown = math.exp(-abs(z))  # both signs of z have the same second derivative
    return grown / ((1.0 + grown) * (1.0 + grown))


@domain.register
def _(loss: Logistic, y):
    return min(-y, 0.0), max(-y, 0.0)


@inlined
def _sigmoid(z):
    """``1 / (1 + exp(-z))`` without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    grown = math.exp(z)
    return grown / (1.0 + grown)


# --- all of them -----------------------------------------------------------------------------------------------------


@check.register(Hinge)
@check.register(SquaredHinge)
@check.register(Logistic)
def _(loss, y):
    wrong = y[(y != 1.0) & (y != -1.0)]
    if wrong.size:
        raise ValueError(f"y must hold labels -1 and +1 for {type(loss).__name__}, got {wrong[0]:g}")


@takes_labels.register(Hinge)
@takes_labels.register(SquaredHinge)
@takes_labels.register(Logistic)
def _(loss) -> bool:
    return True
