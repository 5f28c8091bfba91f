"""Losses of one prediction ``z = <x, w>`` and its target ``y``: value, slope, scalar prox, conjugate.

A loss is a ``NamedTuple``, and each of these functions is registered for its class. A loss of your own needs ``value``
and ``slope`` for the stochastic solvers, ``prox`` for OADMM, ADMM and SPDHG, ``curvature`` for SVRGADMM and ASVRGADMM,
``conjugate`` and ``domain`` for a duality gap.

Examples
--------
>>> from typing import NamedTuple
>>> from adasadmm import losses
>>> class Absolute(NamedTuple):
...     scale: float = 1.0
>>> @losses.value.register(Absolute)
... def _(loss, z, y):
...     return loss.scale * abs(z - y)
>>> @losses.slope.register(Absolute)
... def _(loss, z, y):
...     return loss.scale * (1.0 if z > y else -1.0 if z < y else 0.0)
>>> losses.value(Absolute(2.0), 1.0, 4.0)
6.0
"""

from __future__ import annotations

# The sums, which are not in __all__, serve other files of this package.
from ._generic import (  # noqa: F401
    all_slopes,
    check,
    clip_to_domain,
    conjugate,
    curvature,
    domain,
    mean_conjugate,
    mean_value,
    prox,
    slope,
    value,
)
from .margin import Hinge, Logistic, SquaredHinge
from .regression import EpsilonInsensitive, Huber, Poisson, Quantile, Squared

__all__ = [
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Poisson",
    "Quantile",
    "Squared",
    "SquaredHinge",
    "check",
    "conjugate",
    "curvature",
    "domain",
    "prox",
    "slope",
    "value",
]
