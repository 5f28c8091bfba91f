"""The mean loss of the rows as a function with second derivatives, for Newton steps.

A smooth loss is taken as it is. A loss with kinks is replaced by Moreau envelopes, as in the augmented Lagrangian
method: row i counts with the envelope of its loss at ``z_i + s_i / beta``, where z_i is its prediction and s_i its
multiplier. The slope of the envelope is a subgradient of the loss at a prediction near z_i, and so belongs to a dual
point. The error that remains is the *row gap*,

    1/n sum_i c_i (loss(z_i) + loss*(s_i) - s_i z_i)  with the slopes s of the envelopes.

A larger beta reduces it, and so does a step of the multipliers, which are replaced by these slopes.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np

from ... import losses
from ..._core.jit import is_registered
from ...problem import Problem
from ...rows import products
from ..alm.row_terms import Envelopes, RowTerms
from ..base import NamedState, beyond
from ..units import measured

__all__ = ["Gap", "KinkedRows", "LossTerms", "SmoothRows", "rows_of", "unweighted"]

FIRST_BETA = 30.0  # times the first one of ALM, which starts farther from the solution
AIM = 0.5  # of the gap that is wanted: the row gap for which beta is chosen
SMALL = 0.3  # of it: a row gap below that needs no step of the multipliers
LARGE, FASTER = 3.0, 3.0  # of it: a row gap above that lets beta grow at once, by this factor
LEAST_CHANGE, MOST_CHANGE = 0.5, 4.0  # of beta from one strength to the next
EASY = 10  # steps: after a strength that took more, the next one begins with a smaller beta
SMALLER = 3.0  # by this factor, until the first step of the multipliers
CHANGED = 0.06  # relative change of second derivatives up to which a Gram matrix serves


class Gap(NamedTuple):
    """An absolute duality gap, the part of it that the rows contribute, and the gap that is wanted."""

    total: float
    of_rows: float
    wanted: float

    @property
    def is_of_rows(self) -> bool:
        """Whether the rows contribute most of it, and so much that this matters."""
        return self.of_rows >= max(0.5 * self.total, SMALL * self.wanted)


def unweighted(problem: Problem, slopes: np.ndarray) -> np.ndarray:
    """Slopes without the weights of the rows."""
    c = problem.rows.c
    return slopes / np.where(c > 0.0, c, 1.0)


def rows_of(problem: Problem) -> SmoothRows | KinkedRows:
    """The model for the loss of a problem."""
    return SmoothRows(problem) if is_registered(losses.second, problem.loss) else KinkedRows(problem)


# --- smooth losses ---------------------------------------------------------------------------------------------------


class LossTerms:
    """The rows of a smooth loss at their predictions; slopes and curvatures include the weights of the rows.

    `RowTerms` has the same members.

    Attributes
    ----------
    Xw : ndarray
        The predictions, which the caller moves.
    unit : float
        The second derivative of a row with the curvature 1.
    """

    unit = 1.0

    def __init__(self, problem: Problem, z: np.ndarray) -> None:
        self.problem, self.Xw = problem, z
        self.seconds = np.empty(0)

    def slopes(self) -> np.ndarray:
        """The first derivative of each row."""
        _, y, c = self.problem.rows
        slopes, self.seconds = np.empty_like(self.Xw), np.empty_like(self.Xw)
        losses.derivatives(self.problem.loss, self.Xw, y, c, slopes, self.seconds)
        return slopes

    def curvature(self) -> np.ndarray:
        """The second derivative of each row over ``unit``, after `slopes`."""
        return self.seconds

    def slope(self, p: np.ndarray, Xp: np.ndarray, length: float) -> float:
        """The derivative along p after a step of this length, summed over the rows."""
        _, y, c = self.problem.rows
        losses.all_slopes(self.problem.loss, self.Xw + length * Xp, y, slopes := np.empty_like(Xp))
        with np.errstate(over="ignore", invalid="ignore"):  # a step may be far too long
            return float(np.where(c > 0.0, c * slopes, 0.0) @ Xp)


class SmoothRows:
    """A loss with second derivatives: slopes at the predictions leave no row gap.

    Attributes
    ----------
    tolerance : float
        The relative change of curvatures up to which a Gram matrix serves.
    hold : ndarray of shape (d,)
        The least curvature of each coefficient in the model.
    """

    is_smooth, tolerance = True, CHANGED

    def __init__(self, problem: Problem) -> None:
        self.problem, self.hold = problem, np.zeros(problem.d)

    def terms(self, z: np.ndarray) -> LossTerms:
        """The rows at these predictions."""
        return LossTerms(self.problem, z)

    def levels(self, z: np.ndarray, s: np.ndarray) -> tuple[float, float]:
        """The mean loss at the predictions, and the row gap; s are the slopes without weights."""
        return losses.mean_value(self.problem.loss, z, *self.problem.rows[1:]), 0.0

    def renew(self, slopes: np.ndarray, gap: Gap) -> bool:
        """A step of the multipliers, after which the rows have other terms; False if that would not help."""
        return False

    def moved_to(self, problem: Problem, slopes: np.ndarray, gap: Gap, steps: int) -> SmoothRows:
        """The rows at another strength, after one that was solved with these slopes and so many steps."""
        return SmoothRows(problem)

    def predict(self, last: np.ndarray, before: np.ndarray, times: float) -> None:
        """Let what the rows remember change as between the slopes of the last two strengths."""

    def state(self) -> NamedState:
        """What the terms depend on, besides the predictions."""
        return {}

    def restore(self, state: NamedState) -> None:
        """Return to a state."""


# --- losses with kinks -----------------------------------------------------------------------------------------------


class KinkedRows:
    """A loss with kinks: its envelopes, with multipliers s and a beta that follow the strengths."""

    is_smooth, tolerance = False, 0.0
    numbers = "beta", "smaller", "first_row_gap"

    def __init__(self, problem: Problem) -> None:
        units = measured(problem, problem, products.gram_diagonal(problem.rows.X, problem.rates))
        self.problem, self.s, self.beta = problem, np.zeros(problem.n), FIRST_BETA * units.beta_z
        self.hold = np.where(problem.gamma > 0.0, 0.0, units.ridge)
        self.first_row_gap = np.inf  # before the first step of the multipliers
        self.smaller = 1.0  # by how much beta is smaller until then

    def terms(self, z: np.ndarray) -> RowTerms:
        X, y, c = self.problem.rows
        return RowTerms(X, Envelopes(self.problem.loss, y, c, z, self.s / self.beta, self.beta))

    def levels(self, z: np.ndarray, s: np.ndarray) -> tuple[float, float]:
        loss, (_, y, c) = self.problem.loss, self.problem.rows
        counted = c > 0.0
        values = np.where(counted, losses.each(losses.value, loss, z, y), 0.0)
        gaps = np.maximum(values + np.where(counted, losses.each(losses.conjugate, loss, s, y), 0.0) - s * z, 0.0)
        return float(c @ values) / len(z), float(c @ np.where(counted, gaps, 0.0)) / len(z)

    def renew(self, slopes: np.ndarray, gap: Gap) -> bool:
        if not gap.is_of_rows:
            return False
        if self.smaller > 1.0:
            self.beta, self.smaller = self.smaller * self.beta, 1.0
        elif self.first_row_gap == np.inf:
            self.first_row_gap = gap.of_rows
        if self.first_row_gap < np.inf and gap.of_rows > LARGE * gap.wanted:
            self.beta *= FASTER
            self.first_row_gap /= FASTER
        self.s = unweighted(self.problem, slopes)
        return True

    def moved_to(self, problem: Problem, slopes: np.ndarray, gap: Gap, steps: int) -> KinkedRows:
        other = copy.copy(self)
        other.problem, other.s = problem, unweighted(self.problem, slopes)
        other.beta *= self.smaller
        found = gap.of_rows if self.first_row_gap == np.inf else self.first_row_gap
        if gap.wanted > 0.0:
            other.beta *= min(max(found / (AIM * gap.wanted), LEAST_CHANGE), MOST_CHANGE)
        other.smaller = SMALLER if steps > EASY else 1.0
        other.beta /= other.smaller
        other.first_row_gap = np.inf
        return other

    def predict(self, last: np.ndarray, before: np.ndarray, times: float) -> None:
        self.s = beyond(unweighted(self.problem, last), unweighted(self.problem, before), times)
        losses.clip_to_domain(self.problem.loss, self.s, self.problem.rows.y, *np.empty((2, len(self.s))))

    def state(self) -> NamedState:
        return {"multipliers": self.s.copy()} | {name: getattr(self, name) for name in self.numbers}

    def restore(self, state: NamedState) -> None:
        self.s = np.array(state["multipliers"])
        for name in self.numbers:
            setattr(self, name, state[name])
