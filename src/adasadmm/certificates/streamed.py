"""The dual value of a problem whose rows come from a source: passes over the blocks, no vector of length n.

As in `duality`, but s is a function of a block, and only one repair is possible. If exactly one coordinate of w is free
(an intercept: no ridge, no row of A), ``X'(c s)/n`` must vanish there. Rows push it up or down; the slopes of the
stronger side are scaled down until both sides balance. The domains of the conjugates are convex and contain 0, so the
result is a dual point. With several free coordinates the only dual point known is 0, and also with a loss of several
predictions: scaling some slopes of a row but not the others leaves the domain of its conjugate.

How far to scale is known only after the pass. The conjugates are convex, so between two fractions of the slopes at
which they are known their chord bounds them from above, and the dual value from below: one pass is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import losses
from ..problem import Block, Problem
from ..rows import products, selections
from ..sources._sums import Request, requested_losses
from . import streamed_softmax
from .domains import bounds_of, inside, into_domain, largest_scale
from .duality import NO_DUAL_POINT, Dual, missing_conjugate, total
from .streamed_softmax import Totals, totals_of

__all__ = ["BlockSlopes", "Each", "dual_value"]

FRACTIONS = np.array([0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0])  # of the slopes of one side

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
    is_softmax = streamed_softmax.has_free_intercepts(problem, free) and not of_A[free].any()
    pulls, conjugates, totals = _sums(problem, each, Sides(problem.loss, problem.n, slopes, free, scale, is_softmax))
    if is_softmax:
        pull, conjugate = streamed_softmax.mixed(pulls.sum(axis=0), float(conjugates[:, -1].sum()), totals)
    else:
        factors = _balance(pulls[:, free], of_A[free], losses.width(problem.loss) == 1)
        if factors is None:
            theta, of_A, factors = np.zeros_like(theta), np.zeros_like(of_A), np.zeros(2)
        pull = factors @ pulls
        conjugate = sum(
            float(np.interp(factor, FRACTIONS, side)) for factor, side in zip(factors, conjugates, strict=True)
        )
    q = pull - of_A
    residual = float(np.linalg.norm(q + problem.gamma * w))
    q[free] = 0.0
    return total(problem, conjugate, theta, q, residual, bounds)


class Sides(NamedTuple):
    """The slopes of the rows, times a scale, on two sides: rows that push the free coordinate up, and all others."""

    loss: Any
    n: int
    slopes: BlockSlopes
    free: np.ndarray
    scale: float
    is_softmax: bool


def _sums(problem: Problem, each: Each, sides: Sides) -> tuple[np.ndarray, np.ndarray, Totals]:
    """``X'(c s)/n`` of each side, and the mean conjugate of each side at each of `FRACTIONS` of its slopes.

    The same pass finds the losses that are wanted, and the totals of a softmax.
    """
    request = problem.streamed_losses.request
    pulls, conjugates, found, totals = (
        np.zeros((2, problem.d)),
        np.zeros((2, len(FRACTIONS))),
        np.zeros(len(request.points) + 2),
        Totals.zeros(problem),
    )
    for *of_block, of_softmax in each(dual_sums, sides, request):
        for sums, more in zip((pulls, conjugates, found), of_block, strict=True):
            sums += more
        if of_softmax is not None:
            totals = Totals(*map(np.add, totals, of_softmax))
    problem.streamed_losses.receive(found)
    return pulls, conjugates, totals


def dual_sums(
    block: Block, remembered: dict, sides: Sides, request: Request
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Totals | None]:
    """The contribution of one block to these sums, to the losses that are wanted, and to the totals of a softmax."""
    loss, n, slopes, free, scale, is_softmax = sides
    s = slopes(block, remembered).copy()
    low, high = np.empty((2, len(s)))
    losses.clip_to_domain(loss, s, block.y, low, high)
    s *= scale
    up = s * _column_to_balance(block, loss, free) > 0.0
    pulls, conjugates = np.zeros((2, len(free))), np.zeros((2, len(FRACTIONS)))
    for k, group in enumerate((up, ~up)):
        if not group.any():
            continue
        products.transposed_product(block.X, np.where(group, block.c * s, 0.0) / n, pulls[k])
        of_group = s[group], block.y[group], block.c[group]
        conjugates[k] = [len(of_group[0]) / n * _mean_conjugate(loss, share, *of_group) for share in FRACTIONS]
    totals = totals_of(block, n, losses.width(loss)) if is_softmax else None
    return pulls, conjugates, requested_losses(block, remembered, request), totals


def _mean_conjugate(loss: Any, share: float, s: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    return float(losses.mean_conjugate(loss, share * s, y, c))


def _column_to_balance(block: Block, loss: Any, free: np.ndarray) -> np.ndarray:
    """The column of the free coordinate; zeros if there is none or more than one, or the loss is not of one prediction.

    These zeros keep the rows on one side, and the slopes of each row together.
    """
    column = np.zeros(len(block.y))
    if free.sum() == 1 and losses.width(loss) == 1:
        products.product(selections.columns(block.X, free), np.ones(1), column)
    return column


def _balance(pulls: np.ndarray, of_A: np.ndarray, has_sides: bool) -> np.ndarray | None:
    """The factors, at most 1, with which the two sides cancel at the free coordinate; None if no factors do."""
    if not pulls.any() and not of_A.any():
        return np.ones(2)
    if not has_sides or pulls.shape[1] > 1 or of_A.any():
        return None
    up, down = float(pulls[0, 0]), -float(pulls[1, 0])
    return np.array([min(1.0, down / up) if up else 1.0, min(1.0, up / down) if down else 1.0])
