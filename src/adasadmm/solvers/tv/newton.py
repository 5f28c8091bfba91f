"""The proximal Newton method where X is diagonal: models of the losses, each minimised together with the penalty."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...linalg.line_search import halved
from .nodes import Nodes, second_order, value_of_nodes

__all__ = ["ModelMinimum", "newton"]

MOST_STEPS = 100
DESCENT = 1e-4  # the part of the model's descent that a step must achieve
CONVERGED = 1e-15  # relative descent at which the method ends
ROUNDING = 1e-14


class ModelMinimum(NamedTuple):
    """The point at which a model is least with the penalty, the forces there, and how far the model falls to it."""

    w: np.ndarray
    forces: np.ndarray
    descent: float


def newton(
    nodes: Nodes,
    shift: float,
    start: np.ndarray,
    variation: Callable[[np.ndarray], float],
    minimise: Callable[..., ModelMinimum],
    most_steps: int = MOST_STEPS,
) -> tuple[np.ndarray, np.ndarray]:
    """The best w for this intercept, and the forces along the edges.

    ``variation(w)`` is the penalty. ``minimise(w, g, h, t)`` minimises the model ``sum_i h_i (w_i - t_i)^2 / 2`` of the
    losses, whose gradient at w is g, with the penalty. A line search makes sure that the objective falls.
    """

    def value_at(w: np.ndarray) -> float:
        return value_of_nodes(nodes, shift, w) + variation(w)

    w = start.copy()
    value = value_at(w)
    if not math.isfinite(value):
        w[:] = 0.0
        value = value_at(w)
    for _ in range(most_steps):
        found = minimise(w, *second_order(nodes, shift, w))
        end, forces, descent = found
        if descent <= CONVERGED * abs(value):
            return (end if value_at(end) <= value else w), forces
        length, trial, lower = _search(value_at, w, value, found)
        if length == 0.0:
            return w, forces
        if length < 1.0 and lower >= value - ROUNDING * abs(value):  # rounding hides what a full step gains
            return end if value_at(end) <= value + ROUNDING * abs(value) else trial, forces
        w, value = trial, lower
    return w, forces


def _search(
    value_at: Callable[[np.ndarray], float], w: np.ndarray, value: float, found: ModelMinimum
) -> tuple[float, np.ndarray, float]:
    """The length of a step to the minimum of the model that lowers the objective enough, the point, and its value."""
    tried: list[tuple[np.ndarray, float]] = []

    def falls(length: float) -> bool:
        trial = found.w if length == 1.0 else w + length * (found.w - w)
        tried.append((trial, value_at(trial)))
        return tried[-1][1] <= value - DESCENT * length * found.descent

    return halved(falls), *tried[-1]
