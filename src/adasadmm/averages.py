"""Means of the iterates beside the theorems' uniform one, which the loop always keeps.

``weight(average, t, eta)`` gives rho_t of ``mean += rho_t (w_{t+1} - mean)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._core.jit import generic

__all__ = ["Last", "Polynomial", "StepWeighted", "Uniform", "weight"]


class Uniform(NamedTuple):
    """The uniform mean of w_1..w_T, the theorems' ``w_mean``."""


class Last(NamedTuple):
    """The last iterate."""


class Polynomial(NamedTuple):
    """A mean that forgets its beginning: ``rho_t = (c + 1) / (t + c)``."""

    c: float = 8.0


class StepWeighted(NamedTuple):
    """Iterates count by the square of their step size, so that the tiny first steps of ``eta="auto"`` count little."""

    total: np.ndarray


@generic
def weight(average, t, eta):
    """``rho_t``; 0 where no mean is kept."""


@weight.register(object)
def default_weight(average, t, eta):
    return 0.0


@weight.register
def polynomial_weight(average: Polynomial, t, eta):
    return (average.c + 1.0) / (t + average.c)


@weight.register
def step_weighted_weight(average: StepWeighted, t, eta):
    average.total[0] += eta * eta
    return eta * eta / average.total[0]
