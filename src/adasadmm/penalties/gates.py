"""The gate for gamma, penalties and sets: what cannot be used is rejected here, with what to do.

A penalty of a user's own is tried at a few points (`probes`), once for each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import penalties
from .._core.jit import implementations, is_registered
from ..rows.matrices import as_part, as_vector
from . import probes
from ._generic import elementwise

__all__ = ["as_gamma", "as_penalty", "as_set"]

_tried: set[tuple] = set()


def as_gamma(gamma: Any, d: int) -> np.ndarray:
    if gamma is None or isinstance(gamma, str):
        raise ValueError(f"gamma must be a number or {d} numbers, got {gamma!r}")
    one = np.ndim(gamma) == 0
    values = np.full(1, float(gamma)) if one else as_vector(gamma, d, "gamma")
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError(f"gamma must be >= 0 and finite, got {values.min()}")
    return np.full(d, values[0]) if one else values


def as_penalty(penalty: Any, p: int, name: str) -> Any:
    if not isinstance(penalty, penalties.Stack):
        penalty = _with_functions(as_part(penalty, name), name)
        penalties.check(penalty, p)
        _try_out(penalty, p, name)
        return penalty
    parts = []
    for part, rows in penalty.parts:
        if isinstance(part, penalties.Stack):
            raise TypeError(f"{name}: a Stack cannot hold a Stack; list its parts with their rows instead")
        part = _with_functions(as_part(part, name), name)
        parts.append((part, penalties.indices(rows, "rows of Stack", p)))
    stack = penalties.Stack(tuple(parts))
    penalties.check(stack, p)
    for part, rows in parts:
        _try_out(part, len(rows), name)
    return stack


def as_set(w_set: Any, d: int) -> Any:
    w_set = as_penalty(w_set, d, "w_set")
    for part, rows in penalties.parts_of(w_set, d):
        if isinstance(part, penalties.PENALTIES) or (_is_foreign(part) and not probes.is_set(part, len(rows))):
            raise ValueError(f"w_set must be a set, such as NonNegative() or Box(0, 1), got {part!r}")
    return w_set


def _with_functions(part: Any, name: str) -> Any:
    """Fail here, in Python, if a part lacks a function; numba's own message comes late and is long."""
    own_prox = penalties.prox.dispatch(type(part)) is not elementwise
    for function, found in (
        ("value", is_registered(penalties.value, part)),
        ("prox", own_prox or is_registered(penalties.prox_at, part)),
    ):
        if not found:
            kind = type(part).__name__
            raise TypeError(
                f"{name}: {kind} has no penalties.{function}; register one with "
                f"@adasadmm.penalties.{function}.register({kind})"
            )
    return part


def _is_foreign(part: Any) -> bool:
    return not type(part).__module__.startswith("adasadmm.")


def _try_out(part: Any, p: int, name: str) -> None:
    if not _is_foreign(part) or not 0 < p <= probes.MOST_COORDINATES:
        return
    functions = penalties.value, penalties.prox, penalties.prox_at, penalties.conjugate, penalties.domain
    tried = implementations(part, *functions)
    if tried not in _tried:
        probes.try_out(part, p, name)
        _tried.add(tried)
