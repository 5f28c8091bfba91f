"""The certificate of a problem whose rows come from a source: passes over the blocks, no vector of the length n.

As in `duality`, but s is a function of a block, and is moved in one way only. Where one coordinate of w is free (an
intercept: no ridge, no row of A), ``X'(c s)/n`` must vanish there: the rows that pull it up or those that pull it
down, whichever pull more, have their s scaled down until they balance. The domains of the conjugates are convex and
hold 0, so that is a dual point. With more free coordinates 0 is the one known.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import losses, penalties
from ..linalg import matrices, products
from ..problem import Block, Problem
from . import duality
from .trace import Certificate

__all__ = ["certify"]

Slopes = Any  # (block, what is remembered with it) -> s


def certify(
    problem: Problem, w: np.ndarray, v: np.ndarray, slopes: Slopes, theta: np.ndarray, each: Any = None
) -> Certificate:
    """What the point (w, v) and the dual point (s, theta) prove together.

    ``each`` calls a function for each block (`Problem.each`), with what the run remembers.
    """
    primal, reason = duality.primal_value(problem, w if problem.w_copy is None else v[problem.w_copy], v)
    dual, dual_residual, dual_reason = dual_value(problem, w, slopes, theta, problem.each if each is None else each)
    return duality.certificate(problem, (w, v), primal, dual, dual_residual, (reason, dual_reason))


def dual_value(
    problem: Problem, w: np.ndarray, slopes: Slopes, theta: np.ndarray, each: Any
) -> tuple[float, float, str]:
    """``D(s, theta)`` after moving both into the conjugates' domains, ``|q + gamma w|``, and why D may be infinite."""
    missing = duality.missing_conjugate(problem)
    if missing:
        return -math.inf, math.nan, missing
    theta = duality.into_domain(problem, theta)
    scale = duality.largest(lambda t: duality.inside(problem, t * theta), 1.0)
    theta = scale * theta
    if not duality.inside(problem, theta):
        return -math.inf, math.nan, "no dual point was found where the conjugates are finite"
    lower, upper = duality.bounds(problem)
    free = (problem.gamma == 0.0) & (np.isneginf(lower) | np.isposinf(upper))
    of_A = problem.times_A_transposed(theta)
    pulls, conjugates = _sums(problem, each, slopes, free, np.full(2, scale))
    factors = _balance(pulls[:, free], of_A[free])
    if factors is None:
        theta, of_A, factors = np.zeros_like(theta), np.zeros_like(of_A), np.zeros(2)
    if (factors != 1.0).any():
        _, conjugates = _sums(problem, each, slopes, free, scale * factors)
    q = factors @ pulls - of_A
    dual_residual = float(np.linalg.norm(q + problem.gamma * w))
    q[free] = 0.0
    value = -conjugates
    wanted = problem.times_B_transposed(theta)
    value -= penalties.conjugate(problem.penalty, penalties.domain(problem.penalty, wanted))
    value += float(theta @ problem.b) + duality.least(problem.gamma, q, lower, upper)
    return float(value), dual_residual, "" if math.isfinite(value) else "the dual value is infinite"


def _sums(
    problem: Problem, each: Any, slopes: Slopes, free: np.ndarray, factors: np.ndarray
) -> tuple[np.ndarray, float]:
    """What the rows that pull the free coordinate up, and the others, pull at all; and the mean of the conjugates."""
    pulls, conjugates = np.zeros((2, problem.d)), 0.0
    for pull, conjugate in each(dual_sums, problem.loss, problem.n, slopes, free, factors):
        pulls += pull
        conjugates += conjugate
    return pulls, conjugates


def dual_sums(
    block: Block, remembered: dict, loss: Any, n: int, slopes: Slopes, free: np.ndarray, factors: np.ndarray
) -> tuple[np.ndarray, float]:
    """The share of a block in these sums."""
    s = slopes(block, remembered).copy()
    low, high = np.empty((2, len(s)))
    losses.clip_to_domain(loss, s, block.y, low, high)
    up = s * _free_column(block, free) > 0.0
    s *= np.where(up, *factors)
    pulls = np.empty((2, len(free)))
    for pull, group in zip(pulls, (up, ~up), strict=True):
        products.transposed_product(block.X, np.where(group, block.c * s, 0.0) / n, pull)
    return pulls, len(s) / n * float(losses.mean_conjugate(loss, s, block.y, block.c))


def _free_column(block: Block, free: np.ndarray) -> np.ndarray:
    """The entries of the one free column; 0 where there is none, or several."""
    column = np.zeros(len(block.y))
    if free.sum() == 1:
        products.product(matrices.columns(block.X, free), np.ones(1), column)
    return column


def _balance(pulls: np.ndarray, of_A: np.ndarray) -> np.ndarray | None:
    """The factors, at most 1, that make the two pulls at the free coordinate cancel; None where that cannot be."""
    if pulls.shape[1] == 0 or (not pulls.any() and not of_A.any()):
        return np.ones(2)
    if pulls.shape[1] > 1 or of_A.any():
        return None
    up, down = float(pulls[0, 0]), -float(pulls[1, 0])
    return np.array([min(1.0, down / up) if up else 1.0, min(1.0, up / down) if down else 1.0])
