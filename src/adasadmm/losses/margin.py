"""Losses of the margin ``y z``, for labels -1 and +1."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._core.arrays import on_arrays, serves_arrays
from .._core.jit import inlined
from ._generic import (
    NEWTON_STEPS,
    Piece,
    check,
    conjugate,
    curvature,
    domain,
    pieces,
    prox,
    roots,
    second,
    slope,
    takes_labels,
    value,
    xlogx,
    xlogx_of,
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


@value.register
def hinge_value(loss: Hinge, z, y):
    return max(0.0, 1.0 - y * z)


@on_arrays(hinge_value)
def hinge_values(loss, z, y):
    return np.maximum(0.0, 1.0 - y * z)


@slope.register
def hinge_slope(loss: Hinge, z, y):
    return -y if y * z < 1.0 else 0.0


@on_arrays(hinge_slope)
def hinge_slopes(loss, z, y):
    return np.where(y * z < 1.0, -y, 0.0)


@prox.register
def hinge_prox(loss: Hinge, z, tau, y):
    margin = y * z
    return y * max(margin, min(margin + tau, 1.0))


@on_arrays(hinge_prox)
def hinge_proxes(loss, z, tau, y):
    margin = y * z
    nearer = margin + tau
    np.maximum(margin, np.minimum(nearer, 1.0, out=nearer), out=nearer)
    return np.multiply(nearer, y, out=nearer)


@serves_arrays
@conjugate.register
def hinge_conjugate(loss: Hinge, s, y):
    return s * y


@domain.register
def hinge_domain(loss: Hinge, y):
    return min(-y, 0.0), max(-y, 0.0)


@on_arrays(hinge_domain)
def hinge_domains(loss, y):
    return np.minimum(-y, 0.0), np.maximum(-y, 0.0)


@pieces.register
def pieces_of_hinge(loss: Hinge, y):
    return (Piece(np.minimum(-y, 0.0), np.maximum(-y, 0.0), y),)


# --- squared hinge ---------------------------------------------------------------------------------------------------


class SquaredHinge(NamedTuple):
    """``max(0, 1 - y z)^2`` for labels -1 and +1.


    Examples
    --------
    >>> from adasadmm import SquaredHinge, losses
    >>> losses.value(SquaredHinge(), 0.5, 1.0), losses.slope(SquaredHinge(), 0.5, 1.0)
    (0.25, -1.0)
    """


@value.register
def squared_hinge_value(loss: SquaredHinge, z, y):
    short = max(0.0, 1.0 - y * z)
    return short * short  # not ** 2: Python's own raises where it overflows


@on_arrays(squared_hinge_value)
def squared_hinge_values(loss, z, y):
    return np.maximum(0.0, 1.0 - y * z) ** 2


@slope.register
def squared_hinge_slope(loss: SquaredHinge, z, y):
    return -2.0 * y * max(0.0, 1.0 - y * z)


@on_arrays(squared_hinge_slope)
def squared_hinge_slopes(loss, z, y):
    return -2.0 * y * np.maximum(0.0, 1.0 - y * z)


@prox.register
def squared_hinge_prox(loss: SquaredHinge, z, tau, y):
    margin = y * z
    return z if margin >= 1.0 else y * (margin + 2.0 * tau) / (1.0 + 2.0 * tau)


@on_arrays(squared_hinge_prox)
def squared_hinge_proxes(loss, z, tau, y):
    margin = y * z
    return np.where(margin >= 1.0, z, y * (margin + 2.0 * tau) / (1.0 + 2.0 * tau))


@serves_arrays
@conjugate.register
def squared_hinge_conjugate(loss: SquaredHinge, s, y):
    return s * y + 0.25 * s * s


@domain.register
def squared_hinge_domain(loss: SquaredHinge, y):
    return (-math.inf, 0.0) if y > 0.0 else (0.0, math.inf)


@on_arrays(squared_hinge_domain)
def squared_hinge_domains(loss, y):
    return np.where(y > 0.0, -np.inf, 0.0), np.where(y > 0.0, 0.0, np.inf)


@curvature.register
def squared_hinge_curvature(loss: SquaredHinge):
    return 2.0


@second.register
def second_of_squared_hinge(loss: SquaredHinge, z, y):
    return 2.0 if y * z < 1.0 else 0.0


@on_arrays(second_of_squared_hinge)
def seconds_of_squared_hinge(loss, z, y):
    return np.where(y * z < 1.0, 2.0, 0.0)


@pieces.register
def pieces_of_squared_hinge(loss: SquaredHinge, y):
    return (Piece(np.where(y > 0.0, -math.inf, 0.0), np.where(y > 0.0, 0.0, math.inf), y, 0.5),)


# --- logistic --------------------------------------------------------------------------------------------------------


class Logistic(NamedTuple):
    """``log(1 + exp(-y z))`` for labels -1 and +1: the loss of logistic regression.


    Examples
    --------
    >>> from adasadmm import Logistic, losses
    >>> round(losses.value(Logistic(), 0.0, 1.0), 4), losses.slope(Logistic(), 0.0, 1.0)
    (0.6931, -0.5)
    """


@value.register
def logistic_value(loss: Logistic, z, y):
    margin = y * z
    return max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))


@on_arrays(logistic_value)
def logistic_values(loss, z, y):
    margin = y * z
    return np.maximum(0.0, -margin) + np.log1p(np.exp(-np.abs(margin)))


@slope.register
def logistic_slope(loss: Logistic, z, y):
    return -y * sigmoid(-y * z)


@on_arrays(logistic_slope)
def logistic_slopes(loss, z, y):
    return -y * sigmoids(-y * z)


@prox.register
def logistic_prox(loss: Logistic, z, tau, y):
    return y * margin_after_prox(y * z, tau)


@on_arrays(logistic_prox)
def logistic_proxes(loss, z, tau, y):
    return y * margins_after_prox(y * z, tau)


@inlined
def margin_after_prox(start, tau):
    """The margin m that solves ``m - start = tau sigmoid(-m)``; it lies between start and start + tau."""
    low, high = start, start + tau
    margin = min(max(start, 0.0), high)
    for _ in range(NEWTON_STEPS):
        p = sigmoid(-margin)
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
    return margin


def margins_after_prox(start, tau):
    def error(margin, start, tau):
        p = sigmoids(-margin)
        return margin - start - tau * p, 1.0 + tau * p * (1.0 - p)

    first = np.minimum(np.maximum(start, 0.0), start + tau)
    return roots(error, start, start + tau, first, start, tau)


@conjugate.register
def logistic_conjugate(loss: Logistic, s, y):
    p = -s * y
    return xlogx(p) + xlogx(1.0 - p)


@on_arrays(logistic_conjugate)
def logistic_conjugates(loss, s, y):
    p = -s * y
    return xlogx_of(p) + xlogx_of(1.0 - p)


@curvature.register
def logistic_curvature(loss: Logistic):
    return 0.25


@second.register
def second_of_logistic(loss: Logistic, z, y):
    grown = math.exp(-abs(z))  # both signs of z have the same second derivative
    return grown / ((1.0 + grown) * (1.0 + grown))


@on_arrays(second_of_logistic)
def seconds_of_logistic(loss, z, y):
    grown = np.exp(-np.abs(z))
    return grown / ((1.0 + grown) * (1.0 + grown))


@domain.register
def logistic_domain(loss: Logistic, y):
    return min(-y, 0.0), max(-y, 0.0)


on_arrays(logistic_domain)(hinge_domains)


@inlined
def sigmoid(z):
    """``1 / (1 + exp(-z))`` without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    grown = math.exp(z)
    return grown / (1.0 + grown)


def sigmoids(z):
    grown = np.exp(-np.abs(z))
    return np.where(z >= 0.0, 1.0, grown) / (1.0 + grown)


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
