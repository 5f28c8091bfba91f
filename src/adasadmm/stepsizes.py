"""Step sizes eta_t. ``size(step, t, w)`` gives the one of iteration t, before w_t is left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._core.jit import generic

__all__ = ["Auto", "Constant", "InverseSqrt", "InverseTime", "size"]


class Constant(NamedTuple):
    """``eta_t = eta``: Ada-SADMM."""

    eta: float


class InverseTime(NamedTuple):
    """``eta_t = 1 / (gamma t)``: SADMM for strongly convex losses."""

    gamma: float


class InverseSqrt(NamedTuple):
    """``eta_t = c / sqrt(t)``: SADMM for convex losses."""

    c: float


class Auto(NamedTuple):
    """The step that Theorems 2 and 3 ask for, with the distance taken from the run itself.

    Theorem 2 wants ``eta = D / sqrt(2)``, where D bounds the distances between iterates. The run knows how far it has
    come: ``eta_t = share max_{s <= t} |w_s - w_1|``, at first a hundredth of loss / gradient. For the diagonal metric
    distances are measured in the max-norm of Theorem 2, for the others in the 2-norm of Theorem 3. The share is 1/2;
    1, as in DoG, for a metric with one scale for all coordinates, which is larger than each of them needs.

    ``travelled`` holds the largest distance so far.
    """

    first: np.ndarray
    travelled: np.ndarray
    max_norm: bool
    share: float


@generic
def size(step, t, w):
    """``eta_t``."""


@size.register
def constant_size(step: Constant, t, w):
    return step.eta


@size.register
def inverse_time_size(step: InverseTime, t, w):
    return 1.0 / (step.gamma * t)


@size.register
def inverse_sqrt_size(step: InverseSqrt, t, w):
    return step.c / np.sqrt(t)


@size.register
def auto_size(step: Auto, t, w):
    squares, largest = 0.0, 0.0
    for j in range(len(w)):
        distance = abs(w[j] - step.first[j])
        squares += distance * distance
        largest = max(largest, distance)
    distance = largest if step.max_norm else np.sqrt(squares)
    step.travelled[0] = max(step.travelled[0], distance)
    return step.share * step.travelled[0]
