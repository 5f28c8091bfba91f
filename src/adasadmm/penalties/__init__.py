"""Penalties and sets of the vector ``v``: value, prox, conjugate.

A set is a penalty whose prox is the projection; its value counts 0, and ``violation`` tells how far outside a point
lies. A penalty of your own needs ``value`` and ``prox``; ``conjugate`` and ``domain`` as well for a duality gap.

Examples
--------
>>> import numpy as np
>>> from adasadmm import L1, penalties
>>> v = np.empty(3)
>>> penalties.prox(L1(1.0), np.array([3.0, 0.5, -2.0]), 1.0, v)
>>> v
array([ 2.,  0., -1.])
"""

from __future__ import annotations

# Names that are not in __all__ serve other files of this package.
from ._generic import check, conjugate, domain, dual_prox_at, indices, prox, prox_at, total_value, value  # noqa: F401
from .chain import ChainTV
from .norms import L1, ElasticNet, GroupL2, L2Squared, Zero
from .sets import SEPARABLE_SETS, SETS, Box, L2Ball, NonNegative, Simplex  # noqa: F401
from .stack import PENALTIES, Part, Stack, linked, parts_of, violation  # noqa: F401

__all__ = [
    "L1",
    "Box",
    "ChainTV",
    "ElasticNet",
    "GroupL2",
    "L2Ball",
    "L2Squared",
    "NonNegative",
    "Simplex",
    "Stack",
    "Zero",
    "check",
    "conjugate",
    "domain",
    "dual_prox_at",
    "prox",
    "prox_at",
    "value",
    "violation",
]
