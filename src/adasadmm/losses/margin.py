"""Losses of the margin ``y z``, for labels -1 and +1."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .._core.arrays import exp, log1p, maximum, minimum, serves_arrays, where
from .._core.jit import inlined
from ._generic import (
    Piece,
    check,
    conjugate,
    curvature,
    domain,
    pieces,
    prox,
    residual,
    root,
    second,
    slope,
    takes_labels,
    value,
    xlogx,
)

# --- hinge -----------------------------------------------------------------------------------------------------------


class Hinge(NamedTuple):
    """``max(0, 1 - y z)`` for labels -1 and +1: the loss of the support vector machine.

    Examples
    --------
    >>> from adasadmm import Hinge, losses
    >>> losses.value(Hinge(), 0.25, 1.0), losses.slope(Hinge(), 0.25, 1.0)
    (0.75, -1.0)
    """


@serves_arrays
@value.register
def hinge_value(loss: Hinge, z, y):
    return maximum(0.0, 1.0 - y * z)


@serves_arrays
@slope.register
def hinge_slope(loss: Hinge, z, y):
    return where(y * z < 1.0, -y, 0.0)


@serves_arrays
@prox.register
def hinge_prox(loss: Hinge, z, tau, y):
    margin = y * z
    return y * maximum(margin, minimum(margin + tau, 1.0))


@serves_arrays
@conjugate.register
def hinge_conjugate(loss: Hinge, s, y):
    return s * y


@serves_arrays
@domain.register
def hinge_domain(loss: Hinge, y):
    return minimum(-y, 0.0), maximum(-y, 0.0)


@pieces.register
def hinge_pieces(loss: Hinge, y):
    low, high = hinge_domain(loss, y)
    return (Piece(low, high, kink=y),)


# --- squared hinge ---------------------------------------------------------------------------------------------------


class SquaredHinge(NamedTuple):
    """``max(0, 1 - y z)^2`` for labels -1 and +1.

    Examples
    --------
    >>> from adasadmm import SquaredHinge, losses
    >>> losses.value(SquaredHinge(), 0.5, 1.0), losses.slope(SquaredHinge(), 0.5, 1.0)
    (0.25, -1.0)
    """


@serves_arrays
@value.register
def squared_hinge_value(loss: SquaredHinge, z, y):
    shortfall = maximum(0.0, 1.0 - y * z)
    return shortfall * shortfall  # not ** 2: Python's own raises where it overflows


@serves_arrays
@slope.register
def squared_hinge_slope(loss: SquaredHinge, z, y):
    return -2.0 * y * maximum(0.0, 1.0 - y * z)


@serves_arrays
@prox.register
def squared_hinge_prox(loss: SquaredHinge, z, tau, y):
    margin = y * z
    return where(margin >= 1.0, z, y * (margin + 2.0 * tau) / (1.0 + 2.0 * tau))


@serves_arrays
@conjugate.register
def squared_hinge_conjugate(loss: SquaredHinge, s, y):
    return s * y + 0.25 * s * s


@serves_arrays
@domain.register
def squared_hinge_domain(loss: SquaredHinge, y):
    return where(y > 0.0, -math.inf, 0.0), where(y > 0.0, 0.0, math.inf)


@curvature.register
def squared_hinge_curvature(loss: SquaredHinge):
    return 2.0


@serves_arrays
@second.register
def squared_hinge_second(loss: SquaredHinge, z, y):
    return where(y * z < 1.0, 2.0, 0.0)


@pieces.register
def squared_hinge_pieces(loss: SquaredHinge, y):
    low, high = squared_hinge_domain(loss, y)
    return (Piece(low, high, kink=y, flex=0.5),)


# --- logistic --------------------------------------------------------------------------------------------------------


class Logistic(NamedTuple):
    """``log(1 + exp(-y z))`` for labels -1 and +1: the loss of logistic regression.

    Examples
    --------
    >>> from adasadmm import Logistic, losses
    >>> round(losses.value(Logistic(), 0.0, 1.0), 4), losses.slope(Logistic(), 0.0, 1.0)
    (0.6931, -0.5)
    """


@serves_arrays
@value.register
def logistic_value(loss: Logistic, z, y):
    margin = y * z
    return maximum(0.0, -margin) + log1p(exp(-abs(margin)))


@serves_arrays
@slope.register
def logistic_slope(loss: Logistic, z, y):
    return -y * sigmoid(-y * z)


@serves_arrays
@prox.register
def logistic_prox(loss: Logistic, z, tau, y):
    return y * margin_after_prox(y * z, tau)


@serves_arrays
@conjugate.register
def logistic_conjugate(loss: Logistic, s, y):
    p = -s * y
    return xlogx(p) + xlogx(1.0 - p)


@serves_arrays
@domain.register
def logistic_domain(loss: Logistic, y):
    return minimum(-y, 0.0), maximum(-y, 0.0)


@curvature.register
def logistic_curvature(loss: Logistic):
    return 0.25


@serves_arrays
@second.register
def logistic_second(loss: Logistic, z, y):
    small = exp(-abs(z))  # both signs of z have the same second derivative
    return small / ((1.0 + small) * (1.0 + small))


@inlined
def sigmoid(z):
    """``1 / (1 + exp(-z))`` without overflow."""
    small = exp(-abs(z))
    return where(z >= 0.0, 1.0, small) / (1.0 + small)


class MarginEquation(NamedTuple):
    """``m - start = tau sigmoid(-m)`` for a margin m, which lies between start and start + tau."""

    start: Any
    tau: Any


@residual.register
def margin_residual(equation: MarginEquation, margin):
    p = sigmoid(-margin)
    return margin - equation.start - equation.tau * p, 1.0 + equation.tau * p * (1.0 - p)


@inlined
def margin_after_prox(start, tau):
    """The margin that solves the equation."""
    return root(MarginEquation(start, tau), start, start + tau, minimum(maximum(start, 0.0), start + tau))


# --- all of them -----------------------------------------------------------------------------------------------------


@check.register(Hinge)
@check.register(SquaredHinge)
@check.register(Logistic)
def check_labels(loss, y):
    wrong = y[(y != 1.0) & (y != -1.0)]
    if wrong.size:
        raise ValueError(
            f"y must hold labels -1 and +1 for {type(loss).__name__}, got {wrong[0]:g}; estimators take any labels"
        )


@takes_labels.register(Hinge)
@takes_labels.register(SquaredHinge)
@takes_labels.register(Logistic)
def margin_takes_labels(loss) -> bool:
    return True
