"""The units of a problem: how large its variables are to be expected, before any of them is known."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from ...problem import Problem
from ...rows import products
from ..units import at_zero

__all__ = ["FIRST_GAP", "Units", "units_of"]

FIRST_GAP = 10.0  # times the loss at 0 is the first complementarity, if the loss has kinks
HOLD, HOLD_EMPTY = 1e-12, 1e-8  # of a coordinate's curvature: its proximal term if it has no ridge; if it has no data


@dataclasses.dataclass(frozen=True)
class Units:
    """Sizes that no unit of features or targets changes.

    Attributes
    ----------
    depth : float
        The loss at w = 0, above the least possible loss. 0 means that w = 0 cannot be improved.
    unit : float
        Squared slopes of the loss, relative to the depth.
    curvature : ndarray of shape (d,)
        The second derivative of the loss for each coordinate, roughly.
    reach_of_w : ndarray of shape (d,)
        How far a coordinate has to move for the predictions to cross the range of the loss.
    """

    problem: Problem
    depth: float
    unit: float
    curvature: np.ndarray
    reach_of_w: np.ndarray

    @functools.cached_property
    def reach(self) -> np.ndarray:
        """As ``reach_of_w``, for each row of X, and after these for each row of A."""
        problem, weight = self.problem, self.problem.rows.c / self.problem.n
        of_A = np.empty(problem.m)
        products.product(problem.A._replace(data=np.abs(problem.A.data)), self.reach_of_w, of_A)
        with np.errstate(divide="ignore"):
            of_X = np.where(weight > 0.0, np.sqrt((self.depth or 1.0) / (self.unit * weight)), 1.0)
        return np.concatenate([of_X, np.where(of_A > 0.0, of_A, 1.0)])

    @functools.cached_property
    def softness(self) -> np.ndarray:
        """How far a row of X or A moves per unit of its multiplier."""
        return self.reach**2 / (self.depth or 1.0)

    @functools.cached_property
    def hold(self) -> np.ndarray:
        """A small proximal term for each coordinate without a ridge."""
        problem, data = self.problem, self.curvature > 0.0
        diagonal = self.curvature + products.gram_diagonal(problem.A, 1.0 / self.softness[problem.n :])
        hold = np.where(data, HOLD, HOLD_EMPTY) * np.where(diagonal > 0.0, diagonal, 1.0 / HOLD_EMPTY)
        return np.where(problem.gamma > 0.0, 0.0, hold)


def units_of(problem: Problem) -> Units:
    """The units of a problem with rows in memory."""
    depth, unit = at_zero(problem)
    depth = depth if 0.0 < depth < math.inf else 0.0
    curvature = unit * products.gram_diagonal(problem.rows.X, problem.rows.c / problem.n)
    most = float(np.max(curvature, initial=0.0)) or 1.0
    return Units(problem, depth, unit, curvature, np.sqrt((depth or 1.0) / np.where(curvature > 0.0, curvature, most)))
