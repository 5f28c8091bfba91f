"""Repair of a dual point where nothing but the intercept is free: the slopes must sum to 0.

This is `repair` for one column of ones, the common case of the estimators, without its matrices.
"""

from __future__ import annotations

import numpy as np

from ..linalg.matrices import WithIntercept
from ..linalg.products import largest_entry
from ..problem import Problem
from .domains import ROUNDING, Bounds

__all__ = ["balanced", "only_intercept_is_free"]

ROUNDS = 30
NEARLY = 1e3  # times rounding
REACH = 1e-3  # least distance to the boundary that a weight assumes, relative to the slope itself
FAR = 1e6  # a domain scaled by this factor is, at the scale of the steps, the cone that the domain spans


def only_intercept_is_free(problem: Problem, bounds: Bounds) -> bool:
    """Whether the intercept is the only coordinate without ridge and bounds, and no constraint involves it."""
    free = np.flatnonzero(bounds.unbounded)
    last = problem.d - 1
    return (
        len(free) == 1
        and free[0] == last
        and isinstance(problem.rows.X, WithIntercept)
        and problem.column_sizes[1][last] == 0.0
        and np.isneginf(bounds.lower[last])
        and np.isposinf(bounds.upper[last])
    )


def balanced(problem: Problem, s: np.ndarray, domain: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Slopes near these for which ``sum_i c_i s_i`` is 0.

    Each moves in proportion to the square of its distance to the nearer end of its domain. A step may leave the domain,
    but not the cone that it spans: scaling all slopes down brings them back.
    """
    low, high = domain
    weight = problem.rows.c / problem.n
    rounding = 0.1 * ROUNDING * largest_entry(s) * problem.column_sizes[0][-1]
    before = np.inf
    for _ in range(ROUNDS):
        missing = float(weight @ s)
        # A sum of many slopes has rounding errors of its own: a step that does not halve a tiny one was the last.
        if abs(missing) <= rounding or (abs(missing) <= NEARLY * rounding and abs(missing) > 0.5 * before):
            break
        before = abs(missing)
        room = np.minimum(np.minimum(np.abs(high - s), np.abs(s - low)), largest_entry(s))
        room = np.maximum(room, REACH * np.abs(s)) ** 2
        s = np.clip(s - room * (missing / float(weight @ room)), FAR * low, FAR * high)
    return s
