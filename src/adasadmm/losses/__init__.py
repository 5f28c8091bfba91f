"""Losses of one prediction ``z = <x, w>`` and its target ``y``: value, slope, scalar prox, conjugate.

A loss is a ``NamedTuple``, and each of these functions is registered for its class. A loss of your own needs ``value``
and ``slope`` for the stochastic solvers; ``prox`` for OADMM, ADMM, ALM, SPDHG, SDCA and ConsensusADMM; ``curvature``
for SVRGADMM and ASVRGADMM; ``second`` for ProximalNewton, IPM, TotalVariation and degrees of freedom, or ``pieces`` for
IPM and TotalVariation if the loss is piecewise linear or quadratic; ``conjugate`` and ``domain`` for a duality gap. The
first `Problem` with an instance of the class tries the functions out at a few points, and rejects a loss whose
functions contradict each other.

Examples
--------
>>> from typing import NamedTuple
>>> from adasadmm import losses
>>> class Absolute(NamedTuple):
...     scale: float = 1.0
>>> @losses.value.register
... def absolute_value(loss: Absolute, z, y):
...     return loss.scale * abs(z - y)
>>> @losses.slope.register
... def absolute_slope(loss: Absolute, z, y):
...     return loss.scale * (1.0 if z > y else -1.0 if z < y else 0.0)
>>> losses.value(Absolute(2.0), 1.0, 4.0)
6.0
"""

from __future__ import annotations

from ._arrays import each  # noqa: F401

# The sums, which are not in __all__, serve other files of this package.
from ._generic import (  # noqa: F401
    Piece,
    balanced,
    check,
    conjugate,
    curvature,
    curvatures,
    domain,
    has_log_link,
    is_smooth,
    largest_curvature,
    pieces,
    prox,
    second,
    sized,
    slope,
    takes_labels,
    targets,
    value,
    width,
)
from ._sums import (  # noqa: F401
    all_slopes,
    by_row,
    clip_to_domain,
    derivatives,
    entries,
    levels,
    mean_conjugate,
    mean_value,
    second_derivatives,
    weighted_sum,
)

# The built-in losses: estimators and the command line take each of them by its name.
from .log_link import Gamma as Gamma, NegativeBinomial as NegativeBinomial, Poisson as Poisson
from .margin import Hinge as Hinge, Logistic as Logistic, SquaredHinge as SquaredHinge
from .multinomial import Multinomial as Multinomial
from .offsets import targets_alone, targets_with_offset, with_offset  # noqa: F401
from .regression import (
    EpsilonInsensitive as EpsilonInsensitive,
    Huber as Huber,
    Quantile as Quantile,
    Squared as Squared,
)
from .tweedie import Tweedie as Tweedie

BUILT_IN: tuple[type, ...] = tuple(
    cls for cls in list(globals().values()) if isinstance(cls, type) and cls is not Piece
)

__all__ = ["Piece", "check", "conjugate", "curvature", "domain", "has_log_link", "pieces", "prox", "second", "slope"]
__all__ += ["takes_labels", "value", "width"]
__all__ += [cls.__name__ for cls in BUILT_IN]
