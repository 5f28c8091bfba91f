"""The gate for the parts of a problem: what cannot be used is refused here, with what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import penalties
from .._core.jit import is_registered
from ..linalg.matrices import as_part, as_vector

__all__ = ["as_gamma", "as_penalty", "as_set", "checked"]


def as_gamma(gamma: Any, d: int) -> np.ndarray:
    if gamma is None or isinstance(gamma, str):
        raise ValueError(f"gamma must be a number or {d} numbers, got {gamma!r}")
    gamma = np.full(d, float(gamma)) if np.ndim(gamma) == 0 else as_vector(gamma, d, "gamma")
    if not np.isfinite(gamma).all() or (gamma < 0.0).any():
        raise ValueError(f"gamma must be >= 0 and finite, got {gamma.min()}")
    return gamma


def as_penalty(penalty: Any, p: int, name: str) -> Any:
    if not isinstance(penalty, penalties.Stack):
        penalty = checked(penalties, as_part(penalty, name), name, ("value", "prox"))
        penalties.check(penalty, p)
        return penalty
    parts = []
    for part, rows in penalty.parts:
        if isinstance(part, penalties.Stack):
            raise TypeError(f"{name}: a Stack cannot hold a Stack; list its parts with their rows instead")
        part = checked(penalties, as_part(part, name), name, ("value", "prox"))
        parts.append((part, penalties.indices(rows, "rows of Stack", p)))
    stack = penalties.Stack(tuple(parts))
    penalties.check(stack, p)
    return stack


def as_set(w_set: Any, d: int) -> Any:
    w_set = as_penalty(w_set, d, "w_set")
    for part, _ in penalties.parts_of(w_set, d):
        if isinstance(part, penalties.PENALTIES):
            raise ValueError(f"w_set must be a set, such as NonNegative() or Box(0, 1), got {part!r}")
    return w_set


def checked(module: Any, part: Any, name: str, functions: tuple[str, ...]) -> Any:
    """Fail here, in Python, where a part lacks a function; numba's own message comes late and is long."""
    for function in functions:
        if not is_registered(getattr(module, function), part):
            where = module.__name__.split(".")[-1]
            raise TypeError(
                f"{name}: {type(part).__name__} has no {where}.{function}; "
                f"register one with @adasadmm.{where}.{function}.register({type(part).__name__})"
            )
    return part
