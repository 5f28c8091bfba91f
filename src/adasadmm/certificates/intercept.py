"""Repair of a dual point where nothing but the intercepts is free: the slopes of each output must sum to 0.

This is `repair` for one column of ones, the common case of the estimators, without its matrices.
"""

from __future__ import annotations

import numpy as np

from .. import losses
from ..problem import Problem
from ..rows import products
from ..rows.matrices import Repeated, WithIntercept
from ..rows.products import largest_entry
from .domains import ROUNDING, Bounds
from .vectors import slopes_in_balance

__all__ = ["balanced", "constant_is_free", "free_intercepts", "only_intercept_is_free"]

ROUNDS = 30
NEARLY = 1e3  # times rounding
REACH = 1e-3  # least distance to the boundary that a weight assumes, relative to the slope itself
FAR = 1e6  # a domain scaled by this factor is, at the scale of the steps, the cone that the domain spans


def constant_is_free(problem: Problem) -> bool:
    """Whether a constant can be added to the predictions of rows in memory without a change of ridge and penalty.

    An intercept can do so, and equal changes of all coefficients of a signal (X = I) whose differences are penalised.
    """
    if problem.source is not None or problem.w_set is not None:
        return False
    if _has_constant_column(problem):
        return True
    if problem.diagonal is None or problem.gamma.any() or not (problem.diagonal == 1.0).all():
        return False
    rounding = ROUNDING * problem.column_sizes[1].max(initial=0.0)
    return bool((np.abs(problem.times_A(np.ones(problem.d))) <= rounding).all())


def _has_constant_column(problem: Problem) -> bool:
    """Whether an intercept, or a column of X that does not vary, has neither a ridge nor a row of A."""
    of_rows, of_A = problem.column_sizes
    free = (problem.gamma == 0.0) & (of_A == 0.0) & (of_rows > 0.0)
    if isinstance(problem.rows.X, WithIntercept) or not free.any():
        return bool(free[-1])
    products.transposed_product(problem.rows.X, problem.rates, means := np.empty(problem.d))
    squares = products.gram_diagonal(problem.rows.X, problem.rates)
    return bool((np.abs(squares - means * means) <= ROUNDING * squares)[free].any())


def free_intercepts(problem: Problem, bounds: Bounds) -> np.ndarray:
    """The intercepts, one for each output, if they have neither ridge nor bounds and no constraint involves them."""
    X, k = problem.rows.X, problem.outputs
    last, none = np.arange(problem.d - k, problem.d), np.empty(0, dtype=int)
    if not isinstance(X.rows if isinstance(X, Repeated) else X, WithIntercept) or not bounds.unbounded[last].all():
        return none
    boundless = np.isneginf(bounds.lower[last]).all() and np.isposinf(bounds.upper[last]).all()
    return last if boundless and not problem.column_sizes[1][last].any() else none


def only_intercept_is_free(problem: Problem, bounds: Bounds) -> bool:
    """Whether there are free intercepts, and no other coordinate is unbounded."""
    free = free_intercepts(problem, bounds)
    return free.size > 0 and np.count_nonzero(bounds.unbounded) == free.size


def balanced(problem: Problem, w: np.ndarray, s: np.ndarray, domain: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Slopes near these, or near those at w, for which ``sum_i c_i s_i`` is 0 for each output."""
    k, weight = problem.outputs, problem.rows.c / problem.n
    if losses.width(problem.loss) > 1:
        near = losses.balanced(problem.loss, s, problem.rows.y, weight)
        free = np.arange(problem.d) >= problem.d - k
        return slopes_in_balance(problem, w, np.zeros(problem.m), free) if near is None else near
    if k == 1:
        return _balanced(s, domain, weight)
    found = np.empty_like(s)
    for output in range(k):
        own = slice(output, None, k)
        found[own] = _balanced(s[own], (domain[0][own], domain[1][own]), weight[own])
    return found


def _balanced(s: np.ndarray, domain: tuple[np.ndarray, np.ndarray], weight: np.ndarray) -> np.ndarray:
    """The same for one output.

    Each moves in proportion to the square of its distance to the nearer end of its domain. A step may leave the domain,
    but not the cone that it spans: scaling all slopes down brings them back.
    """
    low, high = domain
    rounding = 0.1 * ROUNDING * largest_entry(s) * float(np.sum(weight))
    before = np.inf
    for _ in range(ROUNDS):
        missing = float(weight @ s)
        # A sum of many slopes has rounding errors of its own: a step that does not halve a tiny one was the last.
        if abs(missing) <= rounding or (abs(missing) <= NEARLY * rounding and abs(missing) > 0.5 * before):
            break
        before = abs(missing)
        room = np.minimum(np.minimum(np.abs(high - s), np.abs(s - low)), largest_entry(s))
        room = np.maximum(room, REACH * np.abs(s)) ** 2
        total = float(weight @ room)
        if total == 0.0:  # the squares of the slopes underflow: 0 is as good a dual point
            return np.zeros_like(s)
        s = np.clip(s - room * (missing / total), FAR * low, FAR * high)
    return s
