"""Line searches: by the slope of a convex function, and by halving a step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["halved", "step_length"]

STEEP = 0.5  # of the first slope: where the function rises more steeply after a full step, a search follows
LONGER, LONGEST = 4.0, 1e6  # where it still falls as steeply, the step is made longer
FLAT, TRIALS = 0.3, 30  # the search ends at a slope of at most this part of the first one, or after so many trials
HALVINGS = 40


def step_length(
    slope: Callable[[float], float],
    first_slope: float,
    *,
    longest: float = LONGEST,
    steep: float = STEEP,
    flat: float = FLAT,
) -> float:
    """How far to go along a direction in which a convex function falls with ``first_slope``.

    A full step if the slope after it is neither as steep upwards nor as steep downwards as before. A step that was too
    short is made longer: that happens where nothing but the part that holds a step bounded has curvature. No step if
    the function does not fall: rounding turns the direction of a gradient near 0.
    """
    if not first_slope < 0.0:
        return 0.0
    length, slope_high = 1.0, slope(1.0)
    low, slope_low = 0.0, first_slope
    while slope_high < steep * first_slope and length < longest:
        low, slope_low = length, slope_high
        length *= LONGER
        slope_high = slope(length)
    if not slope_high > -steep * first_slope:
        return length if np.isfinite(slope_high) or low == 0.0 else low
    return _between(slope, -flat * first_slope, (low, slope_low), (length, slope_high))


def _between(
    slope: Callable[[float], float], allowed: float, below: tuple[float, float], above: tuple[float, float]
) -> float:
    """A length between two at which the slope is at most ``allowed``, by secant steps and bisections."""
    (low, slope_low), (high, slope_high) = below, above
    for trial in range(TRIALS):
        secant = slope_low / (slope_low - slope_high)
        length = low + (high - low) * (0.5 if trial % 3 == 2 else min(max(secant, 0.1), 0.9))
        found = slope(length)
        if abs(found) <= allowed:
            return length
        if found > 0.0:
            high, slope_high = length, found
        else:
            low, slope_low = length, found
    return low or length


def halved(accepts: Callable[[float], bool], longest: float = 1.0, halvings: int = HALVINGS) -> float:
    """The first of the lengths ``longest``, its half, its quarter, ... that is accepted; 0 if none is."""
    length = longest
    for _ in range(halvings):
        if accepts(length):
            return length
        length *= 0.5
    return 0.0
