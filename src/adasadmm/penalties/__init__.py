"""Penalties and sets of the vector ``v``: value, prox, conjugate.

A set is a penalty whose prox is the projection; its value counts 0, and `violation` measures how far outside a point
lies. A penalty of your own is a ``NamedTuple`` with functions registered for its class: ``value`` and ``prox``, or
``prox_at`` in place of ``prox`` if the penalty is a sum over coordinates. A duality gap also needs ``conjugate`` and
``domain``. The first `Problem` with an instance of the class tries the functions out at a few points, and rejects a
penalty whose functions contradict each other.

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
from ._generic import check, conjugate, domain, dual_prox_at, indices, prox, prox_at, total_value, value, whole_prox  # noqa: F401

# The built-in penalties and sets.
from .chain import ChainTV as ChainTV
from .norms import (
    L1 as L1,
    ElasticNet as ElasticNet,
    GroupL2 as GroupL2,
    L2Squared as L2Squared,
    Zero as Zero,
)
from .outputs import for_outputs
from .sets import (  # noqa: F401
    SEPARABLE_SETS,
    SETS,
    Box as Box,
    L2Ball as L2Ball,
    NonNegative as NonNegative,
    Simplex as Simplex,
)
from .stack import (  # noqa: F401
    PENALTIES,
    Part,
    Stack as Stack,
    groups_of,
    linked,
    nearest,
    parts_of,
    violation,
    with_strength,
)

BUILT_IN: tuple[type, ...] = tuple(cls for cls in list(globals().values()) if isinstance(cls, type) and cls is not Part)

__all__ = ["check", "conjugate", "domain", "dual_prox_at", "for_outputs", "prox", "prox_at", "value", "violation"]
__all__ += [cls.__name__ for cls in BUILT_IN]
