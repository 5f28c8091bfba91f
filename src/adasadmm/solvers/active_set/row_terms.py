"""The mean loss of the rows as a function with second derivatives, for Newton steps along a path.

A smooth loss is taken as it is. A loss with kinks is replaced by Moreau envelopes, as in the augmented Lagrangian
method: row i counts with the envelope of its loss at ``z_i + s_i / beta``, where z_i is its prediction and s_i its
multiplier, the slope of the last solution. The slope of the envelope is a subgradient of the loss at a prediction near
z_i, and so belongs to a dual point. The error that remains is the *row gap*,

    1/n sum_i c_i (loss(z_i) + loss*(s_i) - s_i z_i)  with the slopes s of the envelopes.

A larger beta reduces it, and so does a step of the multipliers, which are replaced by these slopes.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ... import losses
from ..._core.jit import compiled
from ...problem import Problem
from ...rows import products
from .. import ALM, ProximalNewton, Solver, fits
from ..alm.row_terms import Envelopes, RowTerms
from ..base import beyond, times_farther
from ..units import measured

__all__ = ["Gap", "RowModel", "Terms", "row_model", "unweighted"]

FIRST_BETA = 30.0  # times the first one of ALM, which starts farther from the solution
AIM = 0.5  # of the gap that is wanted: the row gap for which beta is chosen
SMALL = 0.3  # of it: a row gap below that needs no step of the multipliers
LARGE, FASTER = 3.0, 3.0  # of it: a row gap above that lets beta grow at once, by this factor
LEAST_CHANGE, MOST_CHANGE = 0.5, 4.0  # of beta from one strength to the next
EASY = 10  # steps: after a strength that took more, the next one begins with a smaller beta
SMALLER = 3.0  # by this factor, until the first step of the multipliers
CHANGED = 0.06  # relative change of second derivatives up to which a Gram matrix serves


class Terms(Protocol):
    """The rows at their predictions; slopes and curvatures include the weights c of the rows.

    Attributes
    ----------
    Xw : ndarray
        The predictions, which the caller moves.
    unit : float
        The second derivative of a row with the curvature 1.
    """

    Xw: np.ndarray
    unit: float

    def slopes(self) -> np.ndarray:
        """The first derivative of each row."""

    def curvature(self) -> np.ndarray:
        """The second derivative of each row over ``unit``, after `slopes`."""

    def slope(self, p: np.ndarray, Xp: np.ndarray, length: float) -> float:
        """The derivative along p after a step of this length, summed over the rows."""


class RowModel(Protocol):
    """How the rows enter Newton's steps; it keeps what one strength learns for the next.

    Attributes
    ----------
    solver : Solver
        The solver to which the method belongs, and which can continue from its results.
    tolerance : float
        Relative change of the curvature up to which a Gram matrix serves.
    hold : ndarray
        A small second derivative of the coordinates without a ridge, which bounds a step if no row has curvature.
    is_smooth : bool
        Whether the loss is taken as it is.
    """

    solver: Solver
    tolerance: float
    is_smooth: bool
    hold: np.ndarray

    def begin(self, problem: Problem, z: np.ndarray) -> Terms:
        """The rows at the first point of another strength."""

    def levels(self, problem: Problem, z: np.ndarray, slopes: np.ndarray) -> tuple[float, float]:
        """The mean loss at the predictions, and the row gap."""

    def renewed(self, problem: Problem, terms: Terms, slopes: np.ndarray, gap: Gap) -> Terms | None:
        """The rows after a step of the multipliers; None if that would not help."""

    def keep(self, problem: Problem, slopes: np.ndarray, gap: Gap, steps: int) -> None:
        """The strength is solved with these slopes, after so many steps."""


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


def row_model(problem: Problem) -> RowModel | None:
    """The model for the loss of a problem; None if the loss or the penalty allows none."""
    for solver, model in ((ProximalNewton(), Smooth), (ALM(), Kinked)):
        if fits(solver, problem):
            return model(problem, solver)
    return None


# --- smooth losses ---------------------------------------------------------------------------------------------------


class LossTerms:
    """The rows of a smooth loss."""

    unit = 1.0

    def __init__(self, problem: Problem, z: np.ndarray) -> None:
        self.problem, self.Xw = problem, z
        self.seconds = np.empty(0)

    def slopes(self) -> np.ndarray:
        _, y, c = self.problem.rows
        slopes, self.seconds = np.empty_like(self.Xw), np.empty_like(self.Xw)
        losses.derivatives(self.problem.loss, self.Xw, y, c, slopes, self.seconds)
        return slopes

    def curvature(self) -> np.ndarray:
        return self.seconds

    def slope(self, p: np.ndarray, Xp: np.ndarray, length: float) -> float:
        _, y, c = self.problem.rows
        losses.all_slopes(self.problem.loss, self.Xw + length * Xp, y, slopes := np.empty_like(Xp))
        with np.errstate(over="ignore", invalid="ignore"):  # a step may be far too long
            return float(np.where(c > 0.0, c * slopes, 0.0) @ Xp)


class Smooth:
    """A loss with second derivatives: slopes at the predictions leave no row gap."""

    tolerance, is_smooth = CHANGED, True

    def __init__(self, problem: Problem, solver: Solver) -> None:
        self.solver, self.hold = solver, np.zeros(problem.d)

    def begin(self, problem: Problem, z: np.ndarray) -> Terms:
        return LossTerms(problem, z)

    def levels(self, problem: Problem, z: np.ndarray, slopes: np.ndarray) -> tuple[float, float]:
        return float(losses.mean_value(problem.loss, z, *problem.rows[1:])), 0.0

    def renewed(self, problem: Problem, terms: Terms, slopes: np.ndarray, gap: Gap) -> Terms | None:
        return None

    def keep(self, problem: Problem, slopes: np.ndarray, gap: Gap, steps: int) -> None:
        pass


# --- losses with kinks -----------------------------------------------------------------------------------------------


class Kinked:
    """A loss with kinks: its envelopes, with multipliers and a beta that follow the strengths."""

    tolerance, is_smooth = 0.0, False

    def __init__(self, problem: Problem, solver: Solver) -> None:
        units = measured(problem, problem, products.gram_diagonal(problem.rows.X, problem.rates))
        self.solver, self.beta = solver, FIRST_BETA * units.beta_z
        self.hold = np.where(problem.gamma > 0.0, 0.0, units.ridge)
        self.history: list[tuple[float, np.ndarray]] = []  # the last two strengths, and s there
        self.s = np.zeros(problem.n)
        self.first_row_gap: float | None = None  # before the first step of the multipliers
        self.last_steps, self.smaller = 0, 1.0

    def begin(self, problem: Problem, z: np.ndarray) -> Terms:
        self.first_row_gap = None
        self.s = self._predicted(problem)
        self.smaller = SMALLER if self.last_steps > EASY else 1.0
        self.beta /= self.smaller
        return self._terms(problem, z)

    def _predicted(self, problem: Problem) -> np.ndarray:
        """The multipliers at another strength, if they change as between the last two."""
        if len(self.history) < 2:
            return self.s
        (one, before), (other, last) = self.history
        s = beyond(last, before, times_farther(problem.penalty.nu, one, other))
        losses.clip_to_domain(problem.loss, s, problem.rows.y, np.empty_like(s), np.empty_like(s))
        return s

    def _terms(self, problem: Problem, z: np.ndarray) -> RowTerms:
        X, y, c = problem.rows
        return RowTerms(X, Envelopes(problem.loss, y, c, z, self.s / self.beta, self.beta))

    def levels(self, problem: Problem, z: np.ndarray, slopes: np.ndarray) -> tuple[float, float]:
        return loss_and_row_gap(problem.loss, z, slopes, *problem.rows[1:])

    def renewed(self, problem: Problem, terms: Terms, slopes: np.ndarray, gap: Gap) -> Terms | None:
        if not gap.is_of_rows:
            return None
        if self.smaller > 1.0:
            self._restore_beta()
        elif self.first_row_gap is None:
            self.first_row_gap = gap.of_rows
        if self.first_row_gap is not None and gap.of_rows > LARGE * gap.wanted:
            self.beta *= FASTER
            self.first_row_gap /= FASTER
        self.s = unweighted(problem, slopes)
        return self._terms(problem, terms.Xw)

    def _restore_beta(self) -> None:
        self.beta, self.smaller = self.smaller * self.beta, 1.0

    def keep(self, problem: Problem, slopes: np.ndarray, gap: Gap, steps: int) -> None:
        self._restore_beta()
        self.last_steps = steps
        self.s = unweighted(problem, slopes)
        self.history = [*self.history[-1:], (problem.penalty.nu, self.s)]
        found = gap.of_rows if self.first_row_gap is None else self.first_row_gap
        if gap.wanted > 0.0:
            self.beta *= min(max(found / (AIM * gap.wanted), LEAST_CHANGE), MOST_CHANGE)


@compiled
def loss_and_row_gap(loss, z, slopes, y, c):
    """The mean loss, and the row gap of slopes that include the weights of the rows."""
    total, gap = 0.0, 0.0
    for i in range(len(z)):
        if c[i] > 0.0:
            value, s = losses.value(loss, z[i], y[i]), slopes[i] / c[i]
            total += c[i] * value
            gap += c[i] * max(value + losses.conjugate(loss, s, y[i]) - s * z[i], 0.0)
    return total / len(z), gap / len(z)
