"""The derivatives of psi, the function that the augmented Lagrangian method minimises, and its line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .. import losses, penalties
from .._core.jit import compiled
from ..linalg.rows import add_row
from ..sources.blocks import Block

__all__ = [
    "PROBE",
    "TINY",
    "Envelopes",
    "curvature_of_rows",
    "prox",
    "pull_of_rows",
    "slope_of_rows",
    "step_length",
]

PROBE = 1e-6  # the relative step of the difference quotient that gives the derivative of a prox
TINY = float(np.finfo(float).tiny)
STEEP = 0.5  # of the first slope: where psi rises more steeply after a full step, a line search follows
LONGER, LONGEST = 4.0, 1e6  # where it still falls as steeply, the step is made longer
FLAT, TRIALS = 0.3, 30  # a line search ends where the slope is this part of the first one, or after so many trials


class Envelopes(NamedTuple):
    """The Moreau envelope of each row's loss, at ``X w + u``."""

    loss: tuple
    block: Block
    Xw: np.ndarray
    u: np.ndarray
    beta_z: float


@compiled
def pull_of_rows(e, z, d, rows):
    """Write each row's prox to ``z``; returns ``X'C s`` with the slopes s of the envelopes. ``rows`` is a slice."""
    out = np.zeros(d)
    for i in range(rows.start, rows.stop):
        target = e.Xw[i] + e.u[i]
        z[i] = losses.prox(e.loss, target, 1.0 / e.beta_z, e.block.y[i])
        slope = e.block.c[i] * e.beta_z * (target - z[i])
        if slope != 0.0:
            add_row(e.block.X, i, slope, out)
    return out


@compiled
def curvature_of_rows(e, z, out, rows):
    """The second derivative of each row's envelope over beta_z, with its weight: 1 - the derivative of the prox."""
    for i in range(rows.start, rows.stop):
        target = e.Xw[i] + e.u[i]
        step = PROBE * (abs(target) + abs(target - z[i])) + TINY
        curvature = 1.0 - (losses.prox(e.loss, target + step, 1.0 / e.beta_z, e.block.y[i]) - z[i]) / step
        out[i] = e.block.c[i] * min(curvature, 1.0) if curvature > PROBE else 0.0


@compiled
def slope_of_rows(e, Xp, length, rows):
    """The derivative of the rows' part of psi along p after a step of this length, times n."""
    total = 0.0
    for i in range(rows.start, rows.stop):
        target = e.Xw[i] + length * Xp[i] + e.u[i]
        z = losses.prox(e.loss, target, 1.0 / e.beta_z, e.block.y[i])
        total += e.block.c[i] * e.beta_z * (target - z) * Xp[i]
    return total


@compiled
def prox(penalty, x, tau, out):
    """The penalty's prox, compiled for a caller in Python."""
    penalties.prox(penalty, x, tau, out)


def step_length(slope: Callable[[float], float], first_slope: float) -> float:
    """How far to go along a direction in which a convex function falls with ``first_slope``.

    A full step if the slope after it is neither as steep upwards nor as steep downwards as before. A step that was too
    short is made longer: that happens where nothing but the part that holds a step bounded has curvature. No step if
    the function does not fall: rounding turns the direction of a gradient near 0.
    """
    if not first_slope < 0.0:
        return 0.0
    length, slope_high = 1.0, slope(1.0)
    low, slope_low = 0.0, first_slope
    while slope_high < STEEP * first_slope and length < LONGEST:
        low, slope_low = length, slope_high
        length *= LONGER
        slope_high = slope(length)
    if not slope_high > -STEEP * first_slope:
        return length if np.isfinite(slope_high) or low == 0.0 else low
    return _line_search(slope, first_slope, (low, slope_low), (length, slope_high))


def _line_search(
    slope: Callable[[float], float], first_slope: float, below: tuple[float, float], above: tuple[float, float]
) -> float:
    """A length between two at which the slope is small, by secant steps with a bisection every third time."""
    (low, slope_low), (high, slope_high) = below, above
    for trial in range(TRIALS):
        secant = slope_low / (slope_low - slope_high)
        length = low + (high - low) * (0.5 if trial % 3 == 2 else min(max(secant, 0.1), 0.9))
        found = slope(length)
        if abs(found) <= -FLAT * first_slope:
            return length
        if found > 0.0:
            high, slope_high = length, found
        else:
            low, slope_low = length, found
    return low or length
