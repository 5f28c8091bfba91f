"""The first iterations of the augmented Lagrangian method, where others are cheaper: on a sample, or by dual ascent.

If rows are many, the solution for a sample of them is near. For a loss with kinks and many features, a pass of dual
coordinate ascent costs a fraction of a Newton step, and the first passes gain as much. With each iteration fewer rows
take part: the slopes of the others are at a bound, and would stay there. With few features Newton's method is as fast
from the start, and compiles nothing.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ... import losses
from ...certificates import ascent, duality
from ...certificates.ascent import Ascent
from ...certificates.primal import Primal, feasible_point
from ...linalg.line_search import halved
from ...problem import Problem
from ...rows import matrices, products
from ..units import FIRST_BETA_Z, Units, measured
from .lagrangian import PenaltyEnvelope
from .row_terms import REACH

__all__ = ["Moved", "advance", "best_between", "few_move", "first", "is_cheap", "predicted", "sampled"]

SAMPLE, SAMPLE_A_FEATURE = 4000, 40  # rows of a sample
STREAMED = 10  # times as many of a source, where a pass over all rows is far more expensive
SAMPLED = 8  # times the sample is the least number of rows at which it saves time
SAMPLE_GAP = 1e-2  # the relative gap at which a sample has served
PASSES = 1  # over all rows that the rounds over some of them may cost
FIRST_TIMES = 2  # that the first iteration chooses rows
FIRST_STEP = 0.05  # of the mean absolute prediction: how far a round after the first one is expected to move it
TOGETHER = 16  # rows that a round over all rows visits one after the other, as they lie in memory
MOST_REACH = 30.0  # of a row's slope, in units of the range of the loss
PREDICTED = 0.25  # relative gap up to which ascent is faster than Newton's method
PARTS = 6  # of the way from the best point so far to another one: all, a half, a quarter, ...
LEAST_FEATURES = 300  # below this many a Newton step costs about as much as a pass of ascent
MOST_COPIED = 2**23  # entries of X, since rows are copied
TRIAL, FEW = 8, 0.3  # an eighth of the rows is visited to see whether few of them move


# --- a sample --------------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """The problem on some of its rows, or on all if these are few, and the relative gap at which it has served."""

    problem: Problem
    gap: float


def sampled(problem: Problem) -> tuple[Sample, Units]:
    """A sample, and the units of the problem. One pass over the rows finds both."""
    least, (X, _, c) = max(SAMPLE, SAMPLE_A_FEATURE * problem.d), problem.rows
    most = STREAMED * least if matrices.is_streamed(X) else least
    count = max(least, min(most, problem.n // SAMPLED))
    squares, weights = np.zeros(problem.d), c / problem.n
    with matrices.riding(X, products.gram_diagonal, squares.__iadd__, weights) as rider:
        few = problem.sampled(count) if SAMPLED * count <= problem.n else problem
    squares = squares if rider.is_done else products.gram_diagonal(X, weights)
    return Sample(few, SAMPLE_GAP * least / count), measured(problem, few, squares)


# --- dual coordinate ascent ------------------------------------------------------------------------------------------


def is_cheap(envelope: PenaltyEnvelope, units: Units) -> bool:
    """Whether coordinates of the dual point can be improved one by one, with steps that are not too short.

    A step is short if the slope of one row, multiplied by the inverse ridge, moves the row's own prediction far beyond
    the range of the loss. For a smooth loss Newton's method is better in any case.
    """
    problem = envelope.problem
    if matrices.is_streamed(problem.rows.X) or not ascent.is_possible(problem):
        return False
    if problem.d < LEAST_FEATURES or losses.is_smooth(problem.loss) or not envelope.separable.all():
        return False
    ridge = np.where(problem.gamma > 0.0, problem.gamma, np.max(problem.gamma))
    reach = float(np.sum(units.curvature / ridge)) / (FIRST_BETA_Z * problem.n)
    return reach <= MOST_REACH and matrices.size(problem.rows.X) <= MOST_COPIED


def few_move(steps: Ascent) -> bool:
    """Whether few rows have a slope that is not 0, so that nearly all passes will be over few rows.

    The alternative for many rows, a sample, is as good for any rows.
    """
    n = steps.problem.n
    return steps.moves(np.random.default_rng(n).integers(n, size=n // TRIAL)) <= FEW


class Moved(NamedTuple):
    """Where the primal point is after an iteration, and how far the last round moved the predictions on average."""

    w: np.ndarray
    Xw: np.ndarray
    step: float


def first(steps: Ascent, s: np.ndarray, theta: np.ndarray) -> Moved:
    """The first iteration: a round over all rows, then rounds over the rows that may still move."""
    w = steps.minimiser(np.zeros(steps.problem.d), s, theta)
    steps.visit_all(_shuffled(len(s)), w, s, theta)
    products.product(steps.problem.rows.X, w, Xw := np.empty_like(s))
    moved = Moved(w, Xw, FIRST_STEP * float(np.mean(np.abs(Xw))))
    for _ in range(FIRST_TIMES):
        moved = advance(steps, moved, s, theta)
    return moved


def advance(steps: Ascent, before: Moved, s: np.ndarray, theta: np.ndarray) -> Moved:
    """Improve s and theta in place, by rounds over some rows.

    These are the rows whose slopes may change while predictions move a few times as far as in the last round.
    """
    rows = steps.movable(before.Xw, s, REACH * before.step)
    order, w = np.random.default_rng(len(rows)).permutation(rows), steps.minimiser(before.w, s, theta)
    step = steps.visit(order, PASSES, w, s, theta)
    products.product(steps.problem.rows.X, w, Xw := np.empty_like(s))
    return Moved(w, Xw, step)


def predicted(
    envelope: PenaltyEnvelope, units: Units, point: tuple[np.ndarray, np.ndarray, np.ndarray], primal: float
) -> np.ndarray | None:
    """The slopes from which ascent is going to end soon, given a prediction of w, s and theta; None if it is not.

    ``primal`` is the best objective so far. At weak strengths of a path the prediction proves a large part of it, and
    an iteration of ascent costs a few Newton steps; at strong ones theta moves too slowly.
    """
    if not is_cheap(envelope, units):
        return None
    problem, (w, s, theta) = envelope.problem, point
    losses.clip_to_domain(problem.loss, near := s.copy(), problem.rows.y, np.empty_like(s), np.empty_like(s))
    dual = duality.dual_value(problem, w, near, theta).value
    return near if primal - dual <= PREDICTED * abs(primal) else None


def best_between(problem: Problem, w: np.ndarray, moved: Moved) -> Primal:
    """The best of a few points between w and the one after an iteration.

    The latter minimises the Lagrangian for a dual point that is not yet the best one, and may be far from the solution.
    """
    Xw = problem.predictions(w)

    @functools.cache
    def at(length: float) -> Primal:
        point = w + length * (moved.w - w)
        problem.last_products.remember(point, Xw + length * (moved.Xw - Xw))
        return feasible_point(problem, point, problem.times_A(point) - problem.b)

    return at(halved(lambda length: not at(0.5 * length).value < at(length).value, halvings=PARTS))


def _shuffled(n: int) -> np.ndarray:
    """All rows in a random order of short runs, which are read much faster than single rows."""
    first = TOGETHER * np.random.default_rng(n).permutation(-(-n // TOGETHER))
    order = (first[:, None] + np.arange(TOGETHER)).reshape(-1)
    return order[order < n]
