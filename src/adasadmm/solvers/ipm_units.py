"""The units of a problem: how large its variables are to be expected, before any of them is known."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import losses
from ..certificates import duality
from ..linalg import products
from ..problem import Problem

__all__ = ["Units", "units_of"]

TINY = float(np.finfo(float).tiny)
HOLD, HOLD_EMPTY = 1e-12, 1e-8  # of a coordinate's curvature: its proximal term if it has no ridge; if it has no data


class Units(NamedTuple):
    """Sizes that no unit of features or targets changes.

    Attributes
    ----------
    depth : float
        The loss at w = 0, above the least possible loss. 0 means that w = 0 cannot be improved.
    curvature : ndarray of shape (d,)
        The second derivative of the loss for each coordinate, roughly.
    reach_of_w : ndarray of shape (d,)
        How far a coordinate has to move for the predictions to cross the range of the loss.
    reach : ndarray of shape (n + m,)
        The same for each row of X, and after these for each row of A.
    softness : ndarray of shape (n + m,)
        How far a row moves per unit of its multiplier.
    hold : ndarray of shape (d,)
        A small proximal term for each coordinate without a ridge.
    """

    depth: float
    curvature: np.ndarray
    reach_of_w: np.ndarray
    reach: np.ndarray
    softness: np.ndarray
    hold: np.ndarray


def units_of(problem: Problem) -> Units:
    """The units of a problem with rows in memory."""
    depth, unit = _loss_at_zero(problem)
    scale, weight = depth or 1.0, problem.rows.c / problem.n
    curvature = unit * products.gram_diagonal(problem.rows.X, weight)
    data = curvature > 0.0
    most = float(np.max(curvature, initial=0.0)) or 1.0
    reach_of_w = np.sqrt(scale / np.where(data, curvature, most))
    of_A = np.empty(problem.m)
    products.product(problem.A._replace(data=np.abs(problem.A.data)), reach_of_w, of_A)
    with np.errstate(divide="ignore"):
        of_X = np.where(weight > 0.0, np.sqrt(scale / (unit * weight)), 1.0)
    reach = np.concatenate([of_X, np.where(of_A > 0.0, of_A, 1.0)])
    softness = reach**2 / scale
    diagonal = curvature + products.gram_diagonal(problem.A, 1.0 / softness[problem.n :])
    hold = np.where(data, HOLD, HOLD_EMPTY) * np.where(diagonal > 0.0, diagonal, 1.0 / HOLD_EMPTY)
    return Units(depth, curvature, reach_of_w, reach, softness, np.where(problem.gamma > 0.0, 0.0, hold))


def _loss_at_zero(problem: Problem) -> tuple[float, float]:
    """The loss at w = 0 above the least possible loss, and squared slopes relative to it."""
    depth = problem.loss_at_zero
    if not duality.missing_conjugate(problem):
        depth += float(losses.mean_conjugate(problem.loss, np.zeros(problem.n), *problem.rows[1:]))
    depth = depth if 0.0 < depth < math.inf else 0.0
    slopes = duality.slopes(problem, np.zeros(problem.n))
    unit = float(np.mean(problem.rows.c * slopes**2)) / max(depth, TINY)
    return depth, unit if 0.0 < unit < math.inf else 1.0
