"""The derivatives of psi, the function that the augmented Lagrangian method minimises, and its line search.

The proximal Newton method minimises its models in the same way: it shares the part of the penalty and the search.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ... import losses, penalties
from ..._core.jit import is_registered
from ..._core.threads import side_by_side
from ...problem import Problem
from ...rows import matrices, products, selections
from ...rows.matrices import Rows

__all__ = ["Envelopes", "PenaltyEnvelope", "RowTerms", "step_length"]

PROBE = 1e-6  # the relative step of the difference quotient that gives the derivative of a prox
TINY = float(np.finfo(float).tiny)
STEEP = 0.5  # of the first slope: where psi rises more steeply after a full step, a line search follows
LONGER, LONGEST = 4.0, 1e6  # where it still falls as steeply, the step is made longer
REACH = 3.0  # steps as long as the last one after which a row left out must still have the same slope
FEW = 0.5  # of the rows: where fewer may change their slopes, the others are left out
LOADED = 2**26  # entries of rows that are loaded for that: 512 MiB
FLAT, TRIALS = 0.3, 30  # a line search ends if the slope is this part of the first one, or after this many trials


class Envelopes(NamedTuple):
    """The Moreau envelope of each row's loss, at ``X w + u``."""

    loss: tuple
    y: np.ndarray
    c: np.ndarray
    Xw: np.ndarray
    u: np.ndarray
    beta_z: float


class PenaltyEnvelope:
    """The Moreau envelope of the penalty, at points ``x = A w - b - theta / beta``.

    Attributes
    ----------
    separable : ndarray of bool
        Which coordinates the prox treats one by one.
    """

    def __init__(self, problem: Problem) -> None:
        self.penalty, self.separable = problem.v_step[1], np.ones(problem.p, dtype=bool)
        for part, rows in penalties.parts_of(problem.penalty, problem.p):
            self.separable[rows] = is_registered(penalties.prox_at, part)

    def prox(self, x: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """The best v, and the theta after it."""
        penalties.whole_prox(self.penalty, x, 1.0 / beta, v := np.empty_like(x))
        return v, -beta * (x - v)

    def curvature(self, x: np.ndarray, v: np.ndarray, beta: float) -> np.ndarray:
        """1 - the derivative of the prox, which is v at x; a bound where the prox couples coordinates."""
        off = x - v
        step = PROBE * (np.abs(x) + np.abs(off)) + TINY
        penalties.whole_prox(self.penalty, x + step, 1.0 / beta, probed := np.empty_like(x))
        curvature = np.where(self.separable, 1.0 - (probed - v) / step, off / np.where(x == 0.0, 1.0, x))
        curvature[(x == 0.0) & ~self.separable] = 1.0
        return np.where(curvature > PROBE, np.minimum(curvature, 1.0), 0.0)


class RowTerms:
    """The rows' part of psi, for all rows, or for those whose slopes may still change.

    Attributes
    ----------
    Xw, z : ndarray
        The predictions, and their proxes after `slopes`.
    chosen : ndarray or None
        The indices of the rows, None for all of them.
    unit : float
        The second derivative of a row with the curvature 1.
    """

    def __init__(self, X: Rows, envelopes: Envelopes, z: np.ndarray, chosen: np.ndarray | None = None) -> None:
        self.X, self.envelopes, self.z, self.chosen = X, envelopes, z, chosen
        self.Xw, self.unit = envelopes.Xw, envelopes.beta_z
        self.is_smooth = losses.is_smooth(envelopes.loss)
        # The prox of a loss with kinks is so cheap that threads are not worth it as soon as for products with X.
        self.pieces = products.pieces(X) if self.is_smooth else products.pieces_of_rows(X.shape[0])
        self.others = np.zeros(self.X.shape[1])  # the pull of the rows that are left out

    def slopes(self) -> np.ndarray:
        """The slope of each envelope, with the weight of its row; also sets z."""
        slopes = np.empty_like(self.z)
        side_by_side(partial(slopes_of_rows, self.envelopes, self.z, slopes), self.pieces)
        return slopes

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        """The gradient of this part, times n, for these slopes."""
        products.transposed_product(self.X, slopes, pull := np.empty(self.X.shape[1]))
        return pull + self.others

    def product(self, p: np.ndarray) -> np.ndarray:
        """``X p``."""
        products.product(self.X, p, Xp := np.empty_like(self.z))
        return Xp

    def move_to(self, w: np.ndarray) -> None:
        """Set the predictions to ``X w``."""
        products.product(self.X, w, self.Xw)

    def riding(self) -> contextlib.AbstractContextManager[None]:
        """A context whose passes over rows that are not in memory evaluate these terms as well (`StreamedRows`)."""
        return contextlib.nullcontext()

    def slope(self, p: np.ndarray, Xp: np.ndarray, length: float) -> float:
        """The derivative along p after a step of this length, times n."""
        of_pieces = side_by_side(partial(slope_of_rows, self.envelopes, Xp, length), self.pieces)
        return sum(of_pieces) + float(self.others @ p)

    def curvature(self) -> np.ndarray:
        """The second derivative of each envelope over beta_z, with the weight of its row."""
        out = np.empty_like(self.z)
        side_by_side(partial(curvature_of_rows, self.envelopes, self.z, out), self.pieces)
        return out

    def near(self, step: np.ndarray, pull: np.ndarray) -> RowTerms:
        """These terms without the rows that keep their slopes while predictions move a few times as far as ``step``.

        ``pull`` is that of these terms. Nothing is left out if that would save little, or if the loss is smooth.
        """
        if self.is_smooth:
            return self
        bends = np.empty(len(step), dtype=bool)
        side_by_side(partial(may_bend, self.envelopes, step, REACH, REACH * np.mean(np.abs(step)), bends), self.pieces)
        chosen = np.flatnonzero(bends)
        if len(chosen) > FEW * len(step) or (matrices.is_streamed(self.X) and len(chosen) * self.X.shape[1] > LOADED):
            return self
        e = self.envelopes
        few = e._replace(y=e.y[chosen], c=e.c[chosen], Xw=e.Xw[chosen], u=e.u[chosen])
        near = RowTerms(selections.taken(self.X, chosen), few, self.z[chosen], chosen)
        near.others = pull - near.pull(near.slopes())
        return near


def slopes_of_rows(e: Envelopes, z: np.ndarray, out: np.ndarray, rows: slice) -> None:
    """Write each row's prox to ``z``, and the slope of its envelope, with its weight, to ``out``; a slice of rows."""
    target = e.Xw[rows] + e.u[rows]
    z[rows] = proxes(e, target, rows)
    np.multiply(e.beta_z * e.c[rows], target - z[rows], out=out[rows])


def curvature_of_rows(e: Envelopes, z: np.ndarray, out: np.ndarray, rows: slice) -> None:
    """The second derivative of each row's envelope over beta_z, with its weight: 1 - the derivative of the prox."""
    target = e.Xw[rows] + e.u[rows]
    step = PROBE * (np.abs(target) + np.abs(target - z[rows])) + TINY
    curvature = 1.0 - (proxes(e, target + step, rows) - z[rows]) / step
    out[rows] = np.where(curvature > PROBE, e.c[rows] * np.minimum(curvature, 1.0), 0.0)


def slope_of_rows(e: Envelopes, Xp: np.ndarray, length: float, rows: slice) -> float:
    """The derivative of the rows' part of psi along p after a step of this length, times n."""
    target = e.Xw[rows] + length * Xp[rows] + e.u[rows]
    return e.beta_z * float(np.add.reduce(e.c[rows] * (target - proxes(e, target, rows)) * Xp[rows]))


def may_bend(e: Envelopes, Xp: np.ndarray, reach: float, least: float, out: np.ndarray, rows: slice) -> None:
    """Which rows' envelopes have curvature within ``reach |Xp| + least`` of their targets: slopes never fall."""
    target, far = e.Xw[rows] + e.u[rows], reach * np.abs(Xp[rows]) + least
    above, below = proxes(e, target + far, rows), proxes(e, target - far, rows)
    out[rows] = (e.c[rows] > 0.0) & (2.0 * far - (above - below) > PROBE * PROBE * far)


def proxes(e: Envelopes, target: np.ndarray, rows: slice) -> np.ndarray:
    """The prox of the loss of each row."""
    return losses.each(losses.prox, e.loss, target, 1.0 / e.beta_z, e.y[rows])


def step_length(
    slope: Callable[[float], float],
    first_slope: float,
    *,
    longest: float = LONGEST,
    steep: float = STEEP,
    flat: float = FLAT,
) -> float:
    """How far to go along a direction in which a convex function falls with ``first_slope``.

    A full step if the slope after it is neither as steep upwards nor as steep downwards as before. A step that was too
    short is made longer: that happens where nothing but the part that holds a step bounded has curvature. No step if
    the function does not fall: rounding turns the direction of a gradient near 0.
    """
    if not first_slope < 0.0:
        return 0.0
    length, slope_high = 1.0, slope(1.0)
    low, slope_low = 0.0, first_slope
    while slope_high < steep * first_slope and length < longest:
        low, slope_low = length, slope_high
        length *= LONGER
        slope_high = slope(length)
    if not slope_high > -steep * first_slope:
        return length if np.isfinite(slope_high) or low == 0.0 else low
    return _line_search(slope, -flat * first_slope, (low, slope_low), (length, slope_high))


def _line_search(
    slope: Callable[[float], float], allowed: float, below: tuple[float, float], above: tuple[float, float]
) -> float:
    """A length between two at which the slope is at most ``allowed``, by secant steps and bisections."""
    (low, slope_low), (high, slope_high) = below, above
    for trial in range(TRIALS):
        secant = slope_low / (slope_low - slope_high)
        length = low + (high - low) * (0.5 if trial % 3 == 2 else min(max(secant, 0.1), 0.9))
        found = slope(length)
        if abs(found) <= allowed:
            return length
        if found > 0.0:
            high, slope_high = length, found
        else:
            low, slope_low = length, found
    return low or length
