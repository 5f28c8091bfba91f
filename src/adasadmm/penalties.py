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

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._jit import at, compiled, generic, inlined

__all__ = [
    "L1",
    "Box",
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
    "prox",
    "value",
    "violation",
]


class L1(NamedTuple):
    """``nu sum_k weights_k |v_k|``; no weights means 1."""

    nu: float
    weights: Any = None


class ElasticNet(NamedTuple):
    """``nu (l1_ratio |v|_1 + (1 - l1_ratio)/2 |v|^2)``."""

    nu: float
    l1_ratio: float = 0.5


class L2Squared(NamedTuple):
    """``nu/2 |v|^2``."""

    nu: float


class Zero(NamedTuple):
    """No penalty."""


class NonNegative(NamedTuple):
    """The set ``v >= 0``."""


class Box(NamedTuple):
    """The set ``lower <= v <= upper``; bounds are numbers or one for each coordinate, and may be infinite."""

    lower: Any
    upper: Any


class L2Ball(NamedTuple):
    """The set ``|v| <= radius``."""

    radius: float = 1.0


class Simplex(NamedTuple):
    """The set ``v >= 0, sum v = total``."""

    total: float = 1.0


class _GroupFields(NamedTuple):
    nu: float
    members: np.ndarray
    starts: np.ndarray
    weights: Any = None


class GroupL2(_GroupFields):
    """``nu sum_g weights_g |v_g|`` for disjoint groups of coordinates; coordinates in no group are free.

    Parameters
    ----------
    nu : float
    groups : sequence of index arrays
    weights : array of shape (groups,), optional
    """

    __slots__ = ()

    def __new__(cls, nu: float, groups: Sequence, weights: Any = None) -> GroupL2:
        """Keep the groups as one array of members and the places where each group starts."""
        arrays = [indices(group, "groups of GroupL2") for group in groups]
        members = np.concatenate([*arrays, np.empty(0, np.int64)])
        starts = np.cumsum([0, *(len(group) for group in arrays)])
        return super().__new__(cls, nu, members, starts, weights)

    @property
    def groups(self) -> list[np.ndarray]:
        """The groups as a list of index arrays."""
        return [self.members[i:j] for i, j in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def __getnewargs__(self) -> tuple:
        return self.nu, self.groups, self.weights


class Part(NamedTuple):
    """One penalty of a stack, the rows it takes, what its ``tau`` is multiplied by, and the rest of the stack."""

    penalty: Any
    rows: np.ndarray
    scale: float
    rest: Any


class Stack(NamedTuple):
    """Several penalties, each on its own rows of ``v``; rows that none of them takes are free.

    Parameters
    ----------
    parts : sequence of (penalty, rows)
        ``rows`` is an index array or a slice. No row may be taken twice.
    """

    parts: Sequence


def indices(rows: Any, name: str, m: int = 0) -> np.ndarray:
    """Rows given as a slice (of m), a mask or numbers, as an array of whole numbers."""
    if isinstance(rows, slice):
        return np.arange(m)[rows]
    array = np.asarray(rows).reshape(-1)
    if array.dtype == bool:
        return np.flatnonzero(array)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, got {rows!r}")
    return array.astype(np.int64)


def linked(stack: Stack, m: int, scales: Sequence[float] | None = None) -> Part | Zero:
    """A stack over ``m`` rows as a chain of parts, the form that compiled code walks through."""
    chain: Part | Zero = Zero()
    scales = [1.0] * len(stack.parts) if scales is None else scales
    for (penalty, rows), scale in zip(reversed(tuple(stack.parts)), reversed(scales), strict=True):
        chain = Part(penalty, indices(rows, "rows of Stack", m), float(scale), chain)
    return chain


# --- value -----------------------------------------------------------------------------------------------------------


@generic
def value(penalty, v):
    """The penalty at ``v``; 0 for a set."""


@value.register
def _(penalty: L1, v):
    total = 0.0
    for k in range(len(v)):
        total += at(penalty.weights, k) * abs(v[k])
    return penalty.nu * total


@value.register
def _(penalty: ElasticNet, v):
    total = 0.0
    for k in range(len(v)):
        total += penalty.l1_ratio * abs(v[k]) + 0.5 * (1.0 - penalty.l1_ratio) * v[k] * v[k]
    return penalty.nu * total


@value.register
def _(penalty: L2Squared, v):
    total = 0.0
    for k in range(len(v)):
        total += v[k] * v[k]
    return 0.5 * penalty.nu * total


@value.register
def _(penalty: GroupL2, v):
    total = 0.0
    for group in range(len(penalty.starts) - 1):
        total += at(penalty.weights, group) * _group_norm(penalty, group, v)
    return penalty.nu * total


def _no_value(penalty, v):
    return 0.0


for _set in (Zero, NonNegative, Box, L2Ball, Simplex):
    value.register(_set, _no_value)


@value.register
def _(penalty: Part, v):
    return value(penalty.penalty, _taken(v, penalty.rows)) + value(penalty.rest, v)


# --- prox ------------------------------------------------------------------------------------------------------------


@generic
def prox(penalty, x, tau, out):
    """``argmin_v penalty(v) + |v - x|^2 / (2 tau)``, written to ``out`` (which may be ``x`` itself)."""


@prox.register
def _(penalty: L1, x, tau, out):
    for k in range(len(x)):
        threshold = tau * penalty.nu * at(penalty.weights, k)
        out[k] = x[k] - min(max(x[k], -threshold), threshold)


@prox.register
def _(penalty: ElasticNet, x, tau, out):
    threshold = tau * penalty.nu * penalty.l1_ratio
    shrink = 1.0 / (1.0 + tau * penalty.nu * (1.0 - penalty.l1_ratio))
    for k in range(len(x)):
        out[k] = shrink * (x[k] - min(max(x[k], -threshold), threshold))


@prox.register
def _(penalty: L2Squared, x, tau, out):
    shrink = 1.0 / (1.0 + tau * penalty.nu)
    for k in range(len(x)):
        out[k] = shrink * x[k]


@prox.register
def _(penalty: Zero, x, tau, out):
    for k in range(len(x)):
        out[k] = x[k]


@prox.register
def _(penalty: NonNegative, x, tau, out):
    for k in range(len(x)):
        out[k] = max(x[k], 0.0)


@prox.register
def _(penalty: Box, x, tau, out):
    for k in range(len(x)):
        out[k] = min(max(x[k], at(penalty.lower, k)), at(penalty.upper, k))


@prox.register
def _(penalty: L2Ball, x, tau, out):
    norm = _norm(x)
    scale = penalty.radius / norm if norm > penalty.radius else 1.0
    for k in range(len(x)):
        out[k] = scale * x[k]


@prox.register
def _(penalty: Simplex, x, tau, out):
    # out = max(x - top - level, 0) with the level that makes the sum right: found on the sorted values. Counted from
    # the largest of them, which leaves the answer as it is: a far-away x does not swallow the total.
    falling = np.sort(x)[::-1]
    level, total = -penalty.total, 0.0
    for k in range(len(falling)):
        below = falling[k] - falling[0]
        total += below
        candidate = (total - penalty.total) / (k + 1)
        if below > candidate:
            level = candidate
    for k in range(len(x)):
        out[k] = max(x[k] - falling[0] - level, 0.0)


@prox.register
def _(penalty: GroupL2, x, tau, out):
    for k in range(len(x)):
        out[k] = x[k]
    for group in range(len(penalty.starts) - 1):
        norm = _group_norm(penalty, group, x)
        threshold = tau * penalty.nu * at(penalty.weights, group)
        scale = 1.0 - threshold / norm if norm > threshold else 0.0
        for p in range(penalty.starts[group], penalty.starts[group + 1]):
            out[penalty.members[p]] = scale * x[penalty.members[p]]


@prox.register
def _(penalty: Part, x, tau, out):
    piece = _taken(x, penalty.rows)
    prox(penalty.rest, x, tau, out)
    prox(penalty.penalty, piece, tau * penalty.scale, piece)
    for p in range(len(piece)):
        out[penalty.rows[p]] = piece[p]


@prox.register
def _(penalty: Stack, x, tau, out):
    prox(linked(penalty, len(x)), x, tau, out)


@value.register
def _(penalty: Stack, v):
    return value(linked(penalty, len(v)), v)


@compiled
def total_value(penalty, v):
    """The value, compiled: for a Python caller with a long v. A stack comes linked."""
    return value(penalty, v)


# --- conjugate and its domain (NumPy: they serve the certificate, not the loop) --------------------------------------


@generic
def conjugate(penalty, s):
    """``sup_v <s, v> - penalty(v)`` for ``s`` inside the domain."""


def _conjugate_of_norm_or_cone(penalty, s):
    return 0.0


for _part in (L1, GroupL2, Zero, NonNegative):
    conjugate.register(_part, _conjugate_of_norm_or_cone)


@conjugate.register
def _(penalty: ElasticNet, s):
    curvature = penalty.nu * (1.0 - penalty.l1_ratio)
    excess = np.maximum(np.abs(s) - penalty.nu * penalty.l1_ratio, 0.0)
    return 0.5 * float(excess @ excess) / curvature if curvature > 0.0 else 0.0


@conjugate.register
def _(penalty: L2Squared, s):
    return 0.5 * float(s @ s) / penalty.nu if penalty.nu > 0.0 else 0.0


@conjugate.register
def _(penalty: Box, s):
    # Only the bound that s points to counts; an infinite one is met by s = 0 alone (the domain sees to it).
    bound = np.where(s > 0.0, penalty.upper, penalty.lower)
    return float(np.sum(s * np.where(s == 0.0, 0.0, bound)))


@conjugate.register
def _(penalty: L2Ball, s):
    return penalty.radius * float(np.linalg.norm(s))


@conjugate.register
def _(penalty: Simplex, s):
    return penalty.total * float(np.max(s))


@conjugate.register
def _(penalty: Stack, s):
    return sum(conjugate(part, s[rows]) for part, rows in penalty.parts)


@generic
def domain(penalty, s):
    """The point nearest to ``s`` where the conjugate is finite; ``s`` itself unless a penalty says otherwise."""


@domain.register(object)
def _(penalty, s):
    return s


@domain.register
def _(penalty: L1, s):
    limit = penalty.nu * (1.0 if penalty.weights is None else np.asarray(penalty.weights))
    return np.clip(s, -limit, limit)


@domain.register
def _(penalty: ElasticNet, s):
    smooth = penalty.nu * (1.0 - penalty.l1_ratio) > 0.0
    return s if smooth else np.clip(s, -penalty.nu, penalty.nu)


@domain.register
def _(penalty: L2Squared, s):
    return s if penalty.nu > 0.0 else np.zeros_like(s)


@domain.register
def _(penalty: GroupL2, s):
    inside = np.zeros_like(s)  # coordinates in no group are free: only 0 has a finite conjugate there
    for group, members in enumerate(penalty.groups):
        limit = penalty.nu * at(penalty.weights, group)
        norm = float(np.linalg.norm(s[members]))
        inside[members] = s[members] * (limit / norm if norm > limit else 1.0)
    return inside


@domain.register
def _(penalty: Zero, s):
    return np.zeros_like(s)


@domain.register
def _(penalty: NonNegative, s):
    return np.minimum(s, 0.0)


@domain.register
def _(penalty: Box, s):
    s = np.where(np.isposinf(penalty.upper), np.minimum(s, 0.0), s)
    return np.where(np.isneginf(penalty.lower), np.maximum(s, 0.0), s)


@domain.register
def _(penalty: Stack, s):
    inside = np.zeros_like(s)
    for part, rows in penalty.parts:
        inside[rows] = domain(part, s[rows])
    return inside


# --- sets, parameters ------------------------------------------------------------------------------------------------

SETS = (NonNegative, Box, L2Ball, Simplex)
SEPARABLE_SETS = (NonNegative, Box)


def violation(penalty: Any, v: np.ndarray) -> float:
    """How far outside a set the point lies (largest coordinate of the difference); 0 for a penalty."""
    if isinstance(penalty, Stack):
        return max((violation(part, v[rows]) for part, rows in penalty.parts), default=0.0)
    if not isinstance(penalty, SETS) or not len(v):
        return 0.0
    nearest = np.empty(len(v))
    prox(penalty, v, 1.0, nearest)
    return float(np.max(np.abs(v - nearest)))


@functools.singledispatch
def check(penalty, m: int) -> None:
    """Raise ``ValueError`` where a penalty of ``m`` rows has an impossible parameter or shape."""


@check.register(L2Squared)
@check.register(L1)
def _(penalty, m):
    _check_strength(penalty)
    _check_weights(penalty, m)


@check.register(ElasticNet)
def _(penalty, m):
    _check_strength(penalty)
    if not 0.0 <= penalty.l1_ratio <= 1.0:
        raise ValueError(f"l1_ratio of ElasticNet must lie between 0 and 1, got {penalty.l1_ratio}")


@check.register(GroupL2)
def _(penalty, m):
    _check_strength(penalty)
    _check_weights(penalty, len(penalty.starts) - 1)
    _check_rows("groups of GroupL2", penalty.members, m)


@check.register(Box)
def _(penalty, m):
    for name in ("lower", "upper"):
        bound = np.asarray(getattr(penalty, name))
        if np.isnan(bound).any() or bound.shape not in ((), (m,)):
            raise ValueError(f"{name} of Box must be a number or {m} numbers, got {getattr(penalty, name)!r}")
    if np.any(np.asarray(penalty.lower) > np.asarray(penalty.upper)):
        raise ValueError(f"lower of Box must not exceed upper, got {penalty.lower!r} and {penalty.upper!r}")
    if np.isposinf(penalty.lower).any() or np.isneginf(penalty.upper).any():
        raise ValueError(
            f"lower of Box must be below inf, upper above -inf, got {penalty.lower!r} and {penalty.upper!r}"
        )


@check.register(L2Ball)
def _(penalty, m):
    if not 0.0 <= penalty.radius < math.inf:
        raise ValueError(f"radius of L2Ball must be >= 0, got {penalty.radius}")


@check.register(Simplex)
def _(penalty, m):
    if not 0.0 <= penalty.total < math.inf:
        raise ValueError(f"total of Simplex must be >= 0, got {penalty.total}")


@check.register(Stack)
def _(penalty, m):
    taken = [indices(rows, "rows of Stack", m) for _, rows in penalty.parts]
    _check_rows("rows of Stack", np.concatenate([*taken, np.empty(0, np.int64)]), m)
    for (part, _), rows in zip(penalty.parts, taken, strict=True):
        check(part, len(rows))


def _check_strength(penalty: Any) -> None:
    if not 0.0 <= penalty.nu < math.inf:
        raise ValueError(f"nu of {type(penalty).__name__} must be >= 0 and finite, got {penalty.nu}")


def _check_weights(penalty: Any, length: int) -> None:
    weights = getattr(penalty, "weights", None)
    if weights is None:
        return
    weights = np.asarray(weights)
    if weights.shape != (length,) or not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError(f"weights of {type(penalty).__name__} must be {length} finite numbers >= 0, got {weights!r}")


def _check_rows(name: str, rows: np.ndarray, m: int) -> None:
    rows = np.asarray(rows)
    if rows.size and not (0 <= rows.min() and rows.max() < m):
        raise ValueError(f"{name} must lie between 0 and {m - 1}, got {rows.min()} to {rows.max()}")
    values, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{name} must be disjoint, {values[counts > 1][0]} is taken more than once")


# --- helpers of compiled code ----------------------------------------------------------------------------------------


@inlined
def _norm(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * x[k]
    return math.sqrt(total)


@inlined
def _group_norm(penalty, group, v):
    total = 0.0
    for p in range(penalty.starts[group], penalty.starts[group + 1]):
        total += v[penalty.members[p]] ** 2
    return math.sqrt(total)


@inlined
def _taken(x, rows):
    piece = np.empty(len(rows))
    for p in range(len(rows)):
        piece[p] = x[rows[p]]
    return piece
