"""Repair of a dual point of a loss of several predictions, where coordinates of w have neither ridge nor bounds.

The domain of such a loss is no box, so `repair`, which moves each slope on its own, would leave it. Slopes of the loss
itself never do. They are taken at a point near w, which Newton's method moves in the free coordinates until
``X'(c s)/n`` equals ``A'theta`` there.
"""

from __future__ import annotations

import numpy as np

from .. import losses
from .._core.jit import is_registered
from ..linalg.line_search import halved
from ..problem import Problem
from ..rows import products, selections
from ..rows.matrices import Repeated
from .domains import ROUNDING

__all__ = ["slopes_in_balance"]

STEPS = 50
WEAK = 1e-12  # the ridge of Newton's matrix, relative to its diagonal: a softmax has directions without curvature
MOST_FREE = 2000  # coordinates of a dense matrix


def slopes_in_balance(problem: Problem, w: np.ndarray, theta: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Slopes at a point near w that balance theta in the free coordinates; all 0 if there is no way to find them."""
    (rows, y, c), n, loss = problem.rows, problem.n, problem.loss
    X, s = selections.columns(rows, free), np.zeros(problem.n)
    if not isinstance(X, Repeated) or free.sum() > MOST_FREE or not is_registered(losses.second, loss):
        return s
    wanted, z = problem.times_A_transposed(theta)[free], problem.predictions(w)
    curved = np.empty((problem.terms, X.times, X.times))
    for _ in range(STEPS):
        losses.all_slopes(loss, z, y, s)
        products.transposed_product(X, c * s / n, pull := np.empty(X.shape[1]))
        missing = pull - wanted
        if np.all(np.abs(missing) <= 0.01 * ROUNDING * np.abs(s).max(initial=0.0) * problem.column_sizes[0][free]):
            break
        losses.second_derivatives(loss, z, y, c / n, curved)
        step = _step(products.gram(X, curved), missing)
        if not np.isfinite(step).all():  # no slopes balance this theta
            break
        products.product(X, step, along := np.empty(n))
        length = _length(problem, z, along, float(wanted @ step), float(missing @ step))
        if length == 0.0:
            break
        z = z + length * along
    return s


def _step(matrix: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Newton's step; not finite where most of what is missing lies in directions without curvature."""
    size = np.where(np.diag(matrix) > 0.0, np.diag(matrix), 1.0)
    scale = 1.0 / np.sqrt(size)
    scaled = matrix * np.outer(scale, scale)
    scaled[np.diag_indices_from(scaled)] += WEAK
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            step = -np.linalg.solve(scaled, missing * scale)
            without = WEAK * np.abs(step).max(initial=0.0) > 0.5 * np.abs(missing * scale).max(initial=0.0)
    except np.linalg.LinAlgError:
        without = True
    return np.full_like(missing, np.nan) if without else step * scale


def _length(problem: Problem, z: np.ndarray, along: np.ndarray, gain: float, slope: float) -> float:
    """The longest step that lowers the loss minus what theta gains, up to rounding."""
    _, y, c = problem.rows
    before = losses.mean_value(problem.loss, z, y, c)

    def falls(length: float) -> bool:
        after = losses.mean_value(problem.loss, z + length * along, y, c) - length * gain
        return bool(after <= before + 1e-4 * length * slope + 1e-15 * abs(before))

    return halved(falls)
