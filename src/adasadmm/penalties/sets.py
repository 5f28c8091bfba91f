"""Sets: their prox is the projection, their value counts 0, and their conjugate is the support function."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._core.arrays import maximum, minimum, on_arrays, serves_arrays
from .._core.jit import entry_or, inlined
from ..linalg import simplex
from ._generic import check, conjugate, domain, everywhere, prox, prox_at, value

# --- non-negative ----------------------------------------------------------------------------------------------------


class NonNegative(NamedTuple):
    """The set ``v >= 0``.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import NonNegative, penalties
    >>> v = np.empty(2)
    >>> penalties.prox(NonNegative(), np.array([3.0, -4.0]), 1.0, v)
    >>> v
    array([3., 0.])
    """


@serves_arrays
@prox_at.register
def non_negative_prox_at(penalty: NonNegative, k, x, tau):
    return maximum(x, 0.0)


@conjugate.register
def non_negative_conjugate(penalty: NonNegative, s):
    return 0.0


@domain.register
def non_negative_domain(penalty: NonNegative, s):
    return np.minimum(s, 0.0)


# --- box -------------------------------------------------------------------------------------------------------------


class Box(NamedTuple):
    """The set ``lower <= v <= upper``.

    Parameters
    ----------
    lower, upper : float or array of shape (p,)
        The bounds, for all coordinates or for each; they may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Box, penalties
    >>> v = np.empty(2)
    >>> penalties.prox(Box(-1.0, np.inf), np.array([3.0, -4.0]), 1.0, v)
    >>> v
    array([ 3., -1.])
    """

    lower: Any
    upper: Any


@serves_arrays
@prox_at.register
def box_prox_at(penalty: Box, k, x, tau):
    return minimum(maximum(x, entry_or(penalty.lower, k, -np.inf)), entry_or(penalty.upper, k, np.inf))


@conjugate.register
def box_conjugate(penalty: Box, s):
    # Only the bound that s points to counts; an infinite one is met by s = 0 alone (the domain sees to it).
    bound = np.where(s > 0.0, penalty.upper, penalty.lower)
    return float(np.sum(s * np.where(s == 0.0, 0.0, bound)))


@domain.register
def box_domain(penalty: Box, s):
    s = np.where(np.isposinf(penalty.upper), np.minimum(s, 0.0), s)
    return np.where(np.isneginf(penalty.lower), np.maximum(s, 0.0), s)


@check.register(Box)
def box_check(penalty, m):
    for name in ("lower", "upper"):
        bound = np.asarray(getattr(penalty, name))
        if bound.dtype.kind not in "fiu" or np.isnan(bound).any() or bound.shape not in ((), (m,)):
            raise ValueError(f"{name} of Box must be a number or {m} numbers, got {getattr(penalty, name)!r}")
    if np.any(np.asarray(penalty.lower) > np.asarray(penalty.upper)):
        raise ValueError(f"lower of Box must not exceed upper, got {penalty.lower!r} and {penalty.upper!r}")
    if np.isposinf(penalty.lower).any() or np.isneginf(penalty.upper).any():
        raise ValueError(
            f"lower of Box must be below inf, upper above -inf, got {penalty.lower!r} and {penalty.upper!r}"
        )


# --- ball ------------------------------------------------------------------------------------------------------------


class L2Ball(NamedTuple):
    """The set ``|v| <= radius``.

    Parameters
    ----------
    radius : float, default=1.0
        Not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L2Ball, penalties
    >>> v = np.empty(2)
    >>> penalties.prox(L2Ball(1.0), np.array([3.0, -4.0]), 1.0, v)
    >>> v.round(6)
    array([ 0.6, -0.8])
    """

    radius: float = 1.0


@prox.register
def l2_ball_prox(penalty: L2Ball, x, tau, out):
    norm = _norm(x)
    scale = penalty.radius / norm if norm > penalty.radius else 1.0
    for k in range(len(x)):
        out[k] = scale * x[k]


@on_arrays(l2_ball_prox)
def l2_ball_proxes(penalty, x, tau, out):
    norm = float(np.linalg.norm(x))
    np.multiply(penalty.radius / norm if norm > penalty.radius else 1.0, x, out=out)


@inlined
def _norm(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * x[k]
    return math.sqrt(total)


@conjugate.register
def l2_ball_conjugate(penalty: L2Ball, s):
    return penalty.radius * float(np.linalg.norm(s))


@check.register(L2Ball)
def l2_ball_check(penalty, m):
    if not 0.0 <= penalty.radius < math.inf:
        raise ValueError(f"radius of L2Ball must be >= 0, got {penalty.radius}")


# --- simplex ---------------------------------------------------------------------------------------------------------


class Simplex(NamedTuple):
    """The set ``v >= 0, sum v = total``.

    Parameters
    ----------
    total : float, default=1.0
        Not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Simplex, penalties
    >>> v = np.empty(3)
    >>> penalties.prox(Simplex(), np.array([1.0, 0.5, -4.0]), 1.0, v)
    >>> v
    array([0.75, 0.25, 0.  ])
    """

    total: float = 1.0


@prox.register
def simplex_prox(penalty: Simplex, x, tau, out):
    top = np.max(x)
    for k in range(len(x)):
        out[k] = x[k] - top
    simplex.project(out, penalty.total)


@on_arrays(simplex_prox)
def simplex_prox_of_array(penalty, x, tau, out):
    out[:] = simplex.projections((x - np.max(x))[None], penalty.total)


@conjugate.register
def simplex_conjugate(penalty: Simplex, s):
    return penalty.total * float(np.max(s))


@check.register(Simplex)
def simplex_check(penalty, m):
    if not 0.0 <= penalty.total < math.inf:
        raise ValueError(f"total of Simplex must be >= 0, got {penalty.total}")


# --- all of them -----------------------------------------------------------------------------------------------------

SETS = (NonNegative, Box, L2Ball, Simplex)
SEPARABLE_SETS = (NonNegative, Box)

for bounded in (L2Ball, Simplex):
    domain.register(bounded, everywhere)


@serves_arrays
def _no_value(penalty, v):
    return 0.0


for _set in SETS:
    value.register(_set, _no_value)
