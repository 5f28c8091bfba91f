"""The loss in the interior-point method for trends, where row i of X has one entry, in one column.

A smooth loss enters by its derivatives, one with kinks by the box terms of `ipm_steps`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import losses
from .._core.jit import compiled, inlined
from ..problem import Problem
from . import ipm_steps as steps
from .banded_steps import CURVATURE, DW, GAMMA, GRADIENT, LEAST, VALUE, F
from .box_terms import loss_pieces, terms_of_loss
from .ipm import FIRST_GAP
from .ipm_steps import Step, Variables
from .ipm_units import Units

__all__ = ["Entries", "RowsWithKinks", "SmoothRows", "rows_of"]


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


class SmoothRows:
    """A loss with a second derivative."""

    first_gap, ends = 1.0, 0.0  # the first complementarity, of the loss at w = 0; the number of finite ends

    def __init__(self, loss: Any, entries: Entries) -> None:
        self.loss, self.entries = loss, entries

    def start(self, mean: float, units: Units) -> None:
        pass

    def assemble(self, W: np.ndarray, H: np.ndarray, mean: float, damping: float) -> None:
        """The diagonal H and the right-hand side of Newton's system; for the corrector, both stay as they are."""
        if mean == 0.0:
            assemble(self.entries, W, H, damping)

    def turn(self, W: np.ndarray, mean: float) -> float:
        """The direction of the rows; returns the length of the step to the boundary."""
        return math.inf

    def after(self, length: float) -> float:
        """By how much complementarity changes with the predictor's step."""
        return 0.0

    def move(self, W: np.ndarray, gap: float, length: float) -> tuple[float, float]:
        """The length at which the derivatives are good enough to take a step, and the complementarity after it."""
        if isinstance(self.loss, losses.Squared):  # its second derivative does not change
            return length, 0.0
        return safe_length(self.loss, self.entries, W, gap, length), 0.0

    def follow(self, W: np.ndarray) -> tuple[float, float]:
        """All that follows from w. Returns the loss, and what the remaining conditions may cost."""
        return follow_smooth(self.loss, self.entries, W)


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

    def assemble(self, W: np.ndarray, H: np.ndarray, mean: float, damping: float) -> None:
        e = self.entries
        if mean == 0.0:
            self.step.forget_products()
        e.curved[:] = e.pull[:] = 0.0
        steps.assemble(self.terms, self.x, e.z, self.step, mean, self.zeros, e.curved, self.zeros, e.pull)
        assemble(e, W, H, damping)

    def turn(self, W: np.ndarray, mean: float) -> float:
        set_direction(self.entries, W)
        steps.turn(self.terms, self.entries.dz, self.step)
        return steps.direct(self.terms, self.x, self.step, mean)

    def after(self, length: float) -> float:
        return steps.complementarity(self.terms, self.x, self.step, length) - self.total

    def move(self, W: np.ndarray, gap: float, length: float) -> tuple[float, float]:
        self.total = steps.move(self.terms, self.x, self.step, length)
        return length, self.total

    def follow(self, W: np.ndarray) -> tuple[float, float]:
        e = self.entries
        e.slopes[:] = 0.0
        steps.add_duals(self.terms, self.x.t, self.x.cones.t, e.slopes)
        value, off = follow(self.loss, e, W)
        return value, off + steps.cost_of_gaps(self.terms, self.x, e.z)


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
def safe_length(loss, e, W, gap, most):
    set_direction(e, W)
    return steps.safe_length((loss, e.y, e.weight), e.z, e.dz, e.slopes, e.curved, gap, most)


@compiled
def follow_smooth(loss, e, W):
    set_predictions(e, W)
    losses.derivatives(loss, e.z, e.y, e.weight, e.slopes, e.curved)
    return finish(loss, e, W)


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
