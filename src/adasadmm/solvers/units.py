"""The units in which the augmented Lagrangian method measures: all of them change with those of the features.

If the columns of X and A are multiplied by the entries of a vector S, then ``X w`` and ``A w`` remain as they are for a
w divided by S. Everything below follows such a change, column by column, so that the method takes the same steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import losses
from ..certificates import duality
from ..problem import Problem
from ..rows import products
from ..rows.matrices import to_scipy

__all__ = ["Units", "at_zero", "even_beta", "measured"]

FIRST_BETA_Z = 0.1  # in units of slope^2 / loss at w = 0
HOLD = 1e-4  # of the curvature at the start: keeps a step bounded if no row has curvature and there is no ridge
TINY = float(np.finfo(float).tiny)


class Units(NamedTuple):
    """The starting values of a run.

    ``reach`` is a w_j that moves the predictions across the range of the loss at 0, ``curvature`` that of the rows'
    envelopes at the start, ``ridge`` the diagonal to add to Newton's matrix, and ``even`` a beta with which the rows
    of X and those of A have equal weight.
    """

    beta_z: float
    even: float
    reach: np.ndarray
    curvature: np.ndarray
    ridge: np.ndarray


def measured(problem: Problem, sample: Problem, squares: np.ndarray) -> Units:
    """The units of the parameters, from a sample; those of columns from their mean squares over all rows."""
    depth, unit = at_zero(sample)
    beta_z = FIRST_BETA_Z * unit
    curvature = beta_z * squares
    with_data = curvature > 0.0
    reach = np.sqrt(FIRST_BETA_Z * depth / np.where(with_data, curvature, np.inf))
    of_A, even = squared_columns(problem), even_beta(problem, curvature)
    # A column without data is measured by the rows of A that it shares with columns that have some.
    along = abs(to_scipy(problem.A)) @ reach
    without = ~with_data & (of_A > 0.0)
    reach[without] = np.max(along, initial=0.0) / np.sqrt(of_A[without])
    hold = HOLD * np.where(with_data, curvature, np.where(without, even * of_A, 1.0))
    return Units(beta_z, even, reach, curvature, np.where(problem.gamma > 0.0, problem.gamma, hold))


def at_zero(problem: Problem) -> tuple[float, float]:
    """The loss at w = 0, above the least possible loss, and its squared slopes relative to that."""
    depth = problem.loss_at_zero
    if not duality.missing_conjugate(problem):
        depth += float(losses.mean_conjugate(problem.loss, np.zeros(problem.n), *problem.rows[1:]))
    slopes = duality.slopes(problem, np.zeros(problem.n))
    unit = float(np.mean(problem.rows.c * slopes**2)) / max(depth, TINY)
    return depth, unit if 0.0 < unit < math.inf else 1.0


def squared_columns(problem: Problem) -> np.ndarray:
    """The diagonal of ``A'A``."""
    return products.gram_diagonal(problem.A, np.ones(problem.m))


def even_beta(problem: Problem, curvature: np.ndarray) -> float:
    """The median over the columns of the curvature of the rows to that of ``A'A``: columns differ by many decades."""
    of_A = squared_columns(problem)
    both = (curvature > 0.0) & (of_A > 0.0)
    return float(np.median(curvature[both] / of_A[both])) if both.any() else 1.0
