"""Penalties: norms and squares, of coordinates or groups of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.arrays import maximum, minimum, on_arrays, serves_arrays
from .._core.jit import entry_or, inlined
from ._generic import (
    check,
    check_rows,
    conjugate,
    domain,
    dual_prox_at,
    indices,
    joined,
    prox,
    prox_at,
    value,
)

# --- none ------------------------------------------------------------------------------------------------------------


class Zero(NamedTuple):
    """No penalty: ``phi = 0``.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Zero, penalties
    >>> penalties.value(Zero(), np.array([3.0, -4.0]))
    0.0
    """


@serves_arrays
@value.register
def zero_value(penalty: Zero, v):
    return 0.0


@serves_arrays
@prox_at.register
def zero_prox_at(penalty: Zero, k, x, tau):
    return x


@conjugate.register
def zero_conjugate(penalty: Zero, s):
    return 0.0


@domain.register
def zero_domain(penalty: Zero, s):
    return np.zeros_like(s)


# --- l1 --------------------------------------------------------------------------------------------------------------


class L1(NamedTuple):
    """``nu sum_k weights_k |v_k|``: with the incidence matrix of a graph as A, the graph-guided fused lasso.

    Parameters
    ----------
    nu : float
        The strength, not negative.
    weights : array of shape (p,), optional
        A weight for each coordinate of v; 1 by default.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, penalties
    >>> float(penalties.value(L1(2.0), np.array([3.0, -4.0])))
    14.0
    >>> float(penalties.value(L1(2.0, weights=np.array([1.0, 0.5])), np.array([3.0, -4.0])))
    10.0
    """

    nu: float
    weights: Any = None


@serves_arrays
@value.register
def l1_value(penalty: L1, v):
    return penalty.nu * np.sum(entry_or(penalty.weights, slice(None), 1.0) * np.abs(v))


@serves_arrays
@prox_at.register
def l1_prox_at(penalty: L1, k, x, tau):
    threshold = tau * penalty.nu * entry_or(penalty.weights, k, 1.0)
    return x - minimum(maximum(x, -threshold), threshold)


@dual_prox_at.register
def l1_dual_prox_at(penalty: L1, k, x, beta):
    limit = penalty.nu * entry_or(penalty.weights, k, 1.0)
    return min(max(x, -limit), limit)


@conjugate.register
def l1_conjugate(penalty: L1, s):
    return 0.0


@domain.register
def l1_domain(penalty: L1, s):
    limit = penalty.nu * (1.0 if penalty.weights is None else np.asarray(penalty.weights))
    one_limit = penalty.weights is None and s.size > 0
    is_inside = one_limit and -limit <= np.minimum.reduce(s) and np.maximum.reduce(s) <= limit
    return s if is_inside else np.clip(s, -limit, limit)


@check.register(L1)
def l1_check(penalty, m):
    check_strength(penalty)
    check_weights(penalty, m)


# --- l2 squared ------------------------------------------------------------------------------------------------------


class L2Squared(NamedTuple):
    """``nu/2 |v|^2``.

    Parameters
    ----------
    nu : float
        The strength, not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L2Squared, penalties
    >>> float(penalties.value(L2Squared(2.0), np.array([3.0, -4.0])))
    25.0
    """

    nu: float


@serves_arrays
@value.register
def l2_squared_value(penalty: L2Squared, v):
    return 0.5 * penalty.nu * np.sum(v * v)


@serves_arrays
@prox_at.register
def l2_squared_prox_at(penalty: L2Squared, k, x, tau):
    return x / (1.0 + tau * penalty.nu)


@conjugate.register
def l2_squared_conjugate(penalty: L2Squared, s):
    return 0.5 * float(s @ s) / penalty.nu if penalty.nu > 0.0 else 0.0


@domain.register
def l2_squared_domain(penalty: L2Squared, s):
    return s if penalty.nu > 0.0 else np.zeros_like(s)


@check.register(L2Squared)
def l2_squared_check(penalty, m):
    check_strength(penalty)


# --- elastic net -----------------------------------------------------------------------------------------------------


class ElasticNet(NamedTuple):
    """``nu (l1_ratio |v|_1 + (1 - l1_ratio)/2 |v|^2)``.

    Parameters
    ----------
    nu : float
        The strength, not negative.
    l1_ratio : float, default=0.5
        1 is the L1 norm, 0 the squared L2 norm.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ElasticNet, penalties
    >>> float(penalties.value(ElasticNet(2.0, l1_ratio=0.5), np.array([3.0, -4.0])))
    19.5
    """

    nu: float
    l1_ratio: float = 0.5


@serves_arrays
@value.register
def elastic_net_value(penalty: ElasticNet, v):
    return penalty.nu * np.sum(penalty.l1_ratio * np.abs(v) + 0.5 * (1.0 - penalty.l1_ratio) * v * v)


@serves_arrays
@prox_at.register
def elastic_net_prox_at(penalty: ElasticNet, k, x, tau):
    threshold = tau * penalty.nu * penalty.l1_ratio
    return (x - minimum(maximum(x, -threshold), threshold)) / (1.0 + tau * penalty.nu * (1.0 - penalty.l1_ratio))


@conjugate.register
def elastic_net_conjugate(penalty: ElasticNet, s):
    curvature = penalty.nu * (1.0 - penalty.l1_ratio)
    excess = np.maximum(np.abs(s) - penalty.nu * penalty.l1_ratio, 0.0)
    return 0.5 * float(excess @ excess) / curvature if curvature > 0.0 else 0.0


@domain.register
def elastic_net_domain(penalty: ElasticNet, s):
    smooth = penalty.nu * (1.0 - penalty.l1_ratio) > 0.0
    return s if smooth else np.clip(s, -penalty.nu, penalty.nu)


@check.register(ElasticNet)
def elastic_net_check(penalty, m):
    check_strength(penalty)
    if not 0.0 <= penalty.l1_ratio <= 1.0:
        raise ValueError(f"l1_ratio of ElasticNet must lie between 0 and 1, got {penalty.l1_ratio}")


# --- l2 norms of groups ----------------------------------------------------------------------------------------------


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
        The strength, not negative.
    groups : sequence of index arrays
        The coordinates of each group.
    weights : array of shape (groups,), optional
        A weight for each group; 1 by default.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import GroupL2, penalties
    >>> float(penalties.value(GroupL2(2.0, groups=[[0, 1]]), np.array([3.0, -4.0, 7.0])))
    10.0
    """

    __slots__ = ()

    def __new__(cls, nu: float, groups: Sequence, weights: Any = None) -> GroupL2:
        """Keep the groups as one array of members and the places where each group starts."""
        arrays = [indices(group, "groups of GroupL2") for group in groups]
        starts = np.cumsum([0, *(len(group) for group in arrays)])
        return super().__new__(cls, nu, joined(arrays), starts, weights)

    @property
    def groups(self) -> list[np.ndarray]:
        """The groups as a list of index arrays."""
        return [self.members[i:j] for i, j in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def __getnewargs__(self) -> tuple:
        return self.nu, self.groups, self.weights


def group_l2_from_fields(*fields: Any) -> GroupL2:
    """The penalty with these fields: how a saved model restores it."""
    return GroupL2._make(fields)


@serves_arrays
@value.register
def group_l2_value(penalty: GroupL2, v):
    return penalty.nu * np.sum(entry_or(penalty.weights, slice(None), 1.0) * _group_norms(penalty, v[penalty.members]))


@prox.register
def group_l2_prox(penalty: GroupL2, x, tau, out):
    for k in range(len(x)):
        out[k] = x[k]
    for group in range(len(penalty.starts) - 1):
        norm = _group_norm(penalty, group, x)
        threshold = tau * penalty.nu * entry_or(penalty.weights, group, 1.0)
        scale = 1.0 - threshold / norm if norm > threshold else 0.0
        for p in range(penalty.starts[group], penalty.starts[group + 1]):
            out[penalty.members[p]] = scale * x[penalty.members[p]]


@on_arrays(group_l2_prox)
def group_l2_proxes(penalty, x, tau, out):
    of_members, thresholds = x[penalty.members], tau * _limits(penalty)
    norms = _group_norms(penalty, of_members)
    scales = np.where(norms > thresholds, 1.0 - thresholds / np.where(norms > 0.0, norms, 1.0), 0.0)
    out[:] = x
    out[penalty.members] = np.repeat(scales, _sizes(penalty)) * of_members


@inlined
def _group_norm(penalty, group, v):
    total = 0.0
    for p in range(penalty.starts[group], penalty.starts[group + 1]):
        total += v[penalty.members[p]] ** 2
    return math.sqrt(total)


@inlined
def _sizes(penalty):
    """The members of each group; `np.diff` takes five times as long for few groups."""
    return penalty.starts[1:] - penalty.starts[:-1]


@inlined
def _group_norms(penalty, of_members):
    sizes = _sizes(penalty)
    return np.sqrt(np.bincount(np.repeat(np.arange(len(sizes)), sizes), of_members * of_members, len(sizes)))


def _limits(penalty):
    """The strength of each group."""
    return penalty.nu * (np.ones(len(penalty.starts) - 1) if penalty.weights is None else np.asarray(penalty.weights))


@conjugate.register
def group_l2_conjugate(penalty: GroupL2, s):
    return 0.0


@domain.register
def group_l2_domain(penalty: GroupL2, s):
    inside = np.zeros_like(s)  # coordinates in no group are free: only 0 has a finite conjugate there
    of_members, limits = s[penalty.members], _limits(penalty)
    norms = _group_norms(penalty, of_members)
    scales, outside = np.ones(len(norms)), norms > limits
    scales[outside] = limits[outside] / norms[outside]
    inside[penalty.members] = of_members * np.repeat(scales, _sizes(penalty))
    return inside


@check.register(GroupL2)
def group_l2_check(penalty, m):
    check_strength(penalty)
    check_weights(penalty, len(penalty.starts) - 1)
    check_rows("groups of GroupL2", penalty.members, m)


NORMS = (Zero, L1, L2Squared, ElasticNet, GroupL2)

# --- parameters ------------------------------------------------------------------------------------------------------


def check_strength(penalty: Any) -> None:
    if not 0.0 <= penalty.nu < math.inf:
        raise ValueError(f"nu of {type(penalty).__name__} must be >= 0 and finite, got {penalty.nu}")


def check_weights(penalty: Any, length: int) -> None:
    if penalty.weights is None:
        return
    weights = np.asarray(penalty.weights)
    if weights.shape != (length,) or not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError(f"weights of {type(penalty).__name__} must be {length} finite numbers >= 0, got {weights!r}")
