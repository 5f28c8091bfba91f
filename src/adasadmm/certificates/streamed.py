"""The dual value of a problem whose rows come from a source: passes over the blocks, no vector of length n.

As in `duality`, but s is a function of a block, and only one repair is possible. If exactly one coordinate of w is free
(an intercept: no ridge, no row of A), ``X'(c s)/n`` must vanish there. Rows push it up or down; the slopes of the
stronger side are scaled down until both sides balance. The domains of the conjugates are convex and contain 0, so the
result is a dual point. With several free coordinates the only dual point known is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from .. import losses
from ..linalg import matrices, products
from ..problem import Block, Problem
from .domains import bounds_of, inside, into_domain, largest_scale
from .duality import NO_DUAL_POINT, Dual, missing_conjugate, total

__all__ = ["BlockSlopes", "Each", "dual_value"]

Each = Callable[..., Iterable[Any]]  # calls function(block, remembered, *common) for each block, as `Problem.each` does


class BlockSlopes(Protocol):
    """The slopes of one block, from the block and from what the run remembers with it."""

    def __call__(self, block: Block, remembered: dict, /) -> np.ndarray: ...


def dual_value(problem: Problem, w: np.ndarray, slopes: BlockSlopes, theta: np.ndarray, each: Each) -> Dual:
    """D at a point near (s, theta) where the conjugates are finite; w is needed for the residual only."""
    missing = missing_conjugate(problem)
    if missing:
        return Dual(-math.inf, math.nan, missing)
    theta = into_domain(problem, theta)
    scale = largest_scale(problem, theta, 1.0)
    theta = scale * theta
    if not inside(problem, theta):
        return Dual(-math.inf, math.nan, NO_DUAL_POINT)
    bounds = bounds_of(problem)
    free, of_A = bounds.unbounded, problem.times_A_transposed(theta)
    pulls, conjugates = _sums(problem, each, slopes, free, np.full(2, scale))
    factors = _balance(pulls[:, free], of_A[free])
    if factors is None:
        theta, of_A, factors = np.zeros_like(theta), np.zeros_like(of_A), np.zeros(2)
    if (factors != 1.0).any():
        _, conjugates = _sums(problem, each, slopes, free, scale * factors)
    q = factors @ pulls - of_A
    residual = float(np.linalg.norm(q + problem.gamma * w))
    q[free] = 0.0
    return total(problem, conjugates, theta, q, residual, bounds)


def _sums(
    problem: Problem, each: Each, slopes: BlockSlopes, free: np.ndarray, factors: np.ndarray
) -> tuple[np.ndarray, float]:
    """``X'(c s)/n`` of the rows that push the free coordinate up and of all others, and the mean conjugate."""
    pulls, conjugates = np.zeros((2, problem.d)), 0.0
    for pull, conjugate in each(dual_sums, problem.loss, problem.n, slopes, free, factors):
        pulls += pull
        conjugates += conjugate
    return pulls, conjugates


def dual_sums(
    block: Block, remembered: dict, loss: Any, n: int, slopes: BlockSlopes, free: np.ndarray, factors: np.ndarray
) -> tuple[np.ndarray, float]:
    """The contribution of one block to these sums."""
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
    """The column of the free coordinate; zeros if there is none, or more than one."""
    column = np.zeros(len(block.y))
    if free.sum() == 1:
        products.product(matrices.columns(block.X, free), np.ones(1), column)
    return column


def _balance(pulls: np.ndarray, of_A: np.ndarray) -> np.ndarray | None:
    """The factors, at most 1, with which the two sides cancel at the free coordinate; None if no factors do."""
    if pulls.shape[1] == 0 or (not pulls.any() and not of_A.any()):
        return np.ones(2)
    if pulls.shape[1] > 1 or of_A.any():
        return None
    up, down = float(pulls[0, 0]), -float(pulls[1, 0])
    return np.array([min(1.0, down / up) if up else 1.0, min(1.0, up / down) if down else 1.0])
