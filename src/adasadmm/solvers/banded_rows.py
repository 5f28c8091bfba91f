"""The loss in the interior-point method for trends, where row i of X has one entry, in one column, and its iterations.

A smooth loss enters by its derivatives, one with kinks by the box terms of `ipm_steps`. An iteration with a smooth loss
is a single call of compiled code: for a few thousand points, calls of its parts would take as long as their work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import losses
from .._core.jit import compiled, inlined
from ..linalg.banded import Saddle
from ..problem import Problem
from . import banded_steps, ipm_steps as steps
from .banded_steps import CURVATURE, DW, GAMMA, GRADIENT, LEAST, VALUE, F
from .box_terms import loss_pieces, terms_of_loss
from .ipm import FIRST_GAP
from .ipm_steps import Step, Variables
from .ipm_units import Units

__all__ = ["Entries", "Now", "RowsWithKinks", "SmoothRows", "rows_of"]


class Entries(NamedTuple):
    """Row i of X is ``entry[i]`` in column ``column[i]``; its loss has this weight.

    ``z = X w``, ``dz`` is its direction, ``slopes`` and ``curved`` are the weighted derivatives of the loss, and
    ``pull`` is what terms with a kink add to the right-hand side of Newton's system.
    """

    column: np.ndarray
    entry: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    z: np.ndarray
    dz: np.ndarray
    slopes: np.ndarray
    curved: np.ndarray
    pull: np.ndarray


def rows_of(problem: Problem, column: np.ndarray, entry: np.ndarray) -> SmoothRows | RowsWithKinks:
    """The rows of a problem at w = 0."""
    given = column, entry, problem.rows.y, problem.rows.c / problem.n
    entries = Entries(*given, *np.zeros((5, problem.n)))
    kinked = loss_pieces(problem.loss, problem.rows.y[:0])
    return RowsWithKinks(problem, entries) if kinked else SmoothRows(problem.loss, entries)


class Now(NamedTuple):
    """Where the method is: complementarity, what the other conditions may cost, the objective, and the damping."""

    gap: float
    off: float
    value: float
    damping: float


class SmoothRows:
    """A loss with a second derivative."""

    first_gap, ends = 1.0, 0.0  # the first complementarity, of the loss at w = 0; the number of finite ends

    def __init__(self, loss: Any, entries: Entries) -> None:
        self.loss, self.entries = loss, entries
        self.searches = not isinstance(loss, losses.Squared)  # whose second derivative does not change

    def start(self, mean: float, units: Units) -> None:
        pass

    def iterate(self, saddle: Saddle, E: np.ndarray, W: np.ndarray, now: Now) -> Now:
        """One iteration: predictor, corrector, step."""
        return Now(*iterate_smooth(self.loss, self.entries, saddle, E, W, now, self.searches))

    def stay(self, saddle: Saddle, E: np.ndarray, W: np.ndarray) -> Now:
        """What follows from w and t, after they were set."""
        gap, off, value = follow_smooth(self.loss, self.entries, saddle, E, W, 0.0)
        return Now(gap, off, value, 0.0)


class RowsWithKinks:
    """A loss that is a sum of box terms."""

    first_gap = FIRST_GAP

    def __init__(self, problem: Problem, entries: Entries) -> None:
        self.loss, self.entries, self.terms = problem.loss, entries, terms_of_loss(problem)
        self.x, self.step = Variables.zeros(self.terms), Step.zeros(self.terms)
        self.ends = float(self.terms.share @ (np.isfinite(self.terms.low).astype(float) + np.isfinite(self.terms.high)))
        self.zeros, self.total = np.zeros(len(entries.y)), 0.0

    def start(self, mean: float, units: Units) -> None:
        steps.start(self.terms, self.x, self.entries.z, units.reach, mean)

    def iterate(self, saddle: Saddle, E: np.ndarray, W: np.ndarray, now: Now) -> Now:
        """One iteration: predictor and corrector, with one factorisation, and a step."""
        most = banded_steps.NO_LENGTH
        while most == banded_steps.NO_LENGTH:
            self._assemble(W, saddle.H, 0.0)
            most, linear, square = banded_steps.predict(saddle, E, W)
            length = min(1.0, most, self._turn(W, 0.0))
            after = now.gap + length * (linear + length * square)
            after += steps.complementarity(self.terms, self.x, self.step, length) - self.total
            mean = steps.sum_aimed_at(now.gap, after, length, now.off) / (self.ends + 2.0 * E.shape[1])
            self._assemble(W, saddle.H, mean)
            most = banded_steps.correct(saddle, E, W, mean, now.gap)
        length = min(1.0, steps.TO_BOUNDARY * min(most, self._turn(W, mean)))
        self.total = steps.move(self.terms, self.x, self.step, length)
        return self._follow(saddle, E, W, length)

    def stay(self, saddle: Saddle, E: np.ndarray, W: np.ndarray) -> Now:
        """What follows from w and t, after they were set."""
        self.total = steps.move(self.terms, self.x, self.step, 0.0)
        return self._follow(saddle, E, W, 0.0)

    def _assemble(self, W: np.ndarray, H: np.ndarray, mean: float) -> None:
        """The diagonal H and the right-hand side of Newton's system."""
        e = self.entries
        if mean == 0.0:
            self.step.forget_products()
        e.curved[:] = e.pull[:] = 0.0
        steps.assemble(self.terms, self.x, e.z, self.step, mean, self.zeros, e.curved, self.zeros, e.pull)
        assemble(e, W, H, 0.0)

    def _turn(self, W: np.ndarray, mean: float) -> float:
        """The direction of the rows; returns the length of the step to the boundary."""
        set_direction(self.entries, W)
        steps.turn(self.terms, self.entries.dz, self.step)
        return steps.direct(self.terms, self.x, self.step, mean)

    def _follow(self, saddle: Saddle, E: np.ndarray, W: np.ndarray, length: float) -> Now:
        """Take the step; all that follows from w and t."""
        e, (gap, off, value) = self.entries, banded_steps.move(saddle, E, W, length)
        e.slopes[:] = 0.0
        steps.add_duals(self.terms, self.x.t, self.x.cones.t, e.slopes)
        loss, off_loss = follow(self.loss, e, W)
        off += off_loss + steps.cost_of_gaps(self.terms, self.x, e.z)
        return Now(self.total + gap, off, loss + value, 0.0)


@compiled
def assemble(e, W, H, damping):
    """The diagonal of Newton's matrix, and the right-hand side."""
    f, gradient, gamma, curvature = W[F], W[GRADIENT], W[GAMMA], W[CURVATURE]
    for j in range(len(H)):
        H[j] = gamma[j] + damping * curvature[j]
        f[j] = -gradient[j]
    for i in range(len(e.y)):
        j, x = e.column[i], e.entry[i]
        H[j] += e.curved[i] * x * x
        f[j] -= e.pull[i] * x


@compiled
def set_direction(e, W):
    """The direction of ``X w``."""
    dw = W[DW]
    for i in range(len(e.dz)):
        e.dz[i] = e.entry[i] * dw[e.column[i]]


@compiled
def iterate_smooth(loss, e, saddle, E, W, now, searches):
    """An iteration; ``searches`` tells whether the length of the step must be found. Returns the fields of `Now`."""
    assemble(e, W, saddle.H, now.damping)
    most = banded_steps.direction(saddle, E, W, now.gap, now.off)
    length = most = min(1.0, steps.TO_BOUNDARY * most)
    if searches:
        set_direction(e, W)
        length = steps.safe_length((loss, e.y, e.weight), e.z, e.dz, e.slopes, e.curved, now.gap, most)
    gap, off, value = follow_smooth(loss, e, saddle, E, W, length)
    return gap, off, value, steps.damped(now.damping, length, most)


@compiled
def follow_smooth(loss, e, saddle, E, W, length):
    """Take a step; all that follows from w and t. Returns the first fields of `Now`."""
    gap, off, value = banded_steps.move(saddle, E, W, length)
    set_predictions(e, W)
    losses.derivatives(loss, e.z, e.y, e.weight, e.slopes, e.curved)
    value_of_loss, off_loss = finish(loss, e, W)
    return gap, off + off_loss, value + value_of_loss


@compiled
def follow(loss, e, W):
    set_predictions(e, W)
    return finish(loss, e, W)


@inlined
def set_predictions(e, W):
    w = W[VALUE]
    for i in range(len(e.z)):
        e.z[i] = e.entry[i] * w[e.column[i]]


@inlined
def finish(loss, e, W):
    """Add the slopes of the loss to the gradient; the loss, and what the gradient may cost."""
    gradient, value = W[GRADIENT], 0.0
    for i in range(len(e.y)):
        gradient[e.column[i]] += e.entry[i] * e.slopes[i]
        if e.weight[i] > 0.0:
            value += e.weight[i] * losses.value(loss, e.z[i], e.y[i])
    return value, steps.cost_of_residual(gradient, W[VALUE], W[LEAST], W[GAMMA])
