"""The first iterations of the augmented Lagrangian method by dual coordinate ascent, where that is cheaper.

For a loss with kinks, a pass over the rows costs a fraction of a Newton step, and the first passes gain as much. With
each iteration fewer rows take part: the slopes of the others are at a bound, and would stay there.
"""

from __future__ import annotations

import numpy as np

from .. import losses, penalties
from .._core.jit import is_registered
from ..certificates import ascent
from ..certificates.ascent import Ascent
from ..linalg import matrices
from ..problem import Problem
from .newton import REACH
from .units import FIRST_BETA_Z, Units

__all__ = ["advance", "few_move", "is_cheap"]

FIRST_PASSES, PASSES = 5, 1  # over all rows that the first iteration may cost, and each later one
MOST_REACH = 30.0  # of a row's slope, in units of the range of the loss
MOST_COPIED = 2**23  # entries of X, since rows are copied
TRIAL, FEW = 8, 0.3  # an eighth of the rows is visited to see whether few of them move


def is_cheap(problem: Problem, units: Units) -> bool:
    """Whether coordinates of the dual point can be improved one by one, with steps that are not too short.

    A step is short if the slope of one row, multiplied by the inverse ridge, moves the row's own prediction far beyond
    the range of the loss. For a smooth loss Newton's method is better in any case.
    """
    if matrices.is_streamed(problem.rows.X) or not ascent.is_possible(problem):
        return False
    if is_registered(losses.curvature, problem.loss):
        return False
    if not all(is_registered(penalties.prox_at, part) for part, _ in penalties.parts_of(problem.penalty, problem.p)):
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


def advance(
    steps: Ascent, primal: tuple[np.ndarray, np.ndarray], dual: tuple[np.ndarray, np.ndarray], moved: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Improve s and theta in place; returns the w that belongs to them, and the one a round before.

    ``primal`` holds w and ``X w`` before, ``dual`` s and theta. The rows that take part are those whose slopes may
    change while predictions move a few times as far as ``moved``, their mean movement in the last round; None means all
    rows.
    """
    (w, Xw), (s, theta) = primal, dual
    rows = np.arange(len(s)) if moved is None else steps.movable(Xw, s, REACH * moved)
    w, order = steps.minimiser(w, s, theta), np.random.default_rng(len(rows)).permutation(rows)
    return w, steps.visit(order, FIRST_PASSES if moved is None else PASSES, w, s, theta)
