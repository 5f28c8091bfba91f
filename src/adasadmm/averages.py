"""Averages of the iterates, beside the uniform mean of the theorems, which the loop always keeps.

``weight(average, t, eta)`` returns rho_t of ``mean += rho_t (w_{t+1} - mean)``.

Examples
--------
>>> from adasadmm import averages
>>> averages.weight(averages.Polynomial(c=1.0), 3, 0.1)
0.5
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._core.jit import generic

__all__ = ["Last", "Polynomial", "StepWeighted", "Uniform", "weight"]


class Uniform(NamedTuple):
    """The uniform mean of w_1, ..., w_T, which the theorems speak of; ``average="uniform"``.

    Examples
    --------
    >>> from adasadmm import averages
    >>> averages.weight(averages.Uniform(), 1, 0.1)  # the loop keeps this mean anyway
    0.0
    """


class Last(NamedTuple):
    """The last iterate; ``average="last"``.

    Examples
    --------
    >>> from adasadmm import averages
    >>> averages.weight(averages.Last(), 1, 0.1)  # no mean is kept
    0.0
    """


class Polynomial(NamedTuple):
    """A mean that forgets its beginning, ``rho_t = (c + 1) / (t + c)``; ``average="polynomial"``.

    Examples
    --------
    >>> from adasadmm import averages
    >>> averages.weight(averages.Polynomial(), 1, 0.1), averages.weight(averages.Polynomial(), 10, 0.1)
    (1.0, 0.5)
    """

    c: float = 8.0


class StepWeighted(NamedTuple):
    """Iterates weighted by the square of their step size; ``average="step-weighted"``.

    The tiny first steps of ``eta="auto"`` then count little. ``total`` is the sum of these squares.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import averages
    >>> average = averages.StepWeighted(np.zeros(1))
    >>> [round(float(averages.weight(average, t, eta)), 2) for t, eta in ((1, 0.1), (2, 0.3))]
    [1.0, 0.9]
    """

    total: np.ndarray


@generic
def weight(average, t, eta):
    """``rho_t`` of ``mean += rho_t (w_{t+1} - mean)``; 0 if no mean is kept.

    Examples
    --------
    >>> from adasadmm import averages
    >>> averages.weight(averages.Polynomial(c=1.0), 3, 0.1)
    0.5
    """


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
