"""Step sizes for each coordinate and each row, computed from the sizes of columns and rows alone.

The w-step has the metric ``diag(h) / eta``. Several rows of a batch may move the same column at once: with b rows in a
batch and a fraction ``share_j`` of rows in which x_ij is not 0, about ``overlap_j = 1 + (b - 1) share_j`` of them do.
For eta = 1, row i then moves its own prediction by ``size_i = c_i / b sum_j overlap_j x_ij^2 / h_j`` per unit of slope.

Any h > 0 is valid. ``h_j = overlap_j max_i x_ij^2`` makes the steps independent of the units of the features. So does
its geometric mean with ``mean_i c_i x_ij^2``, which also lets rare features move faster, as AdaGrad does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..problem import Problem
from ..rows.kernels import measure_columns, weighted_squares

__all__ = ["Scaling", "scaling"]

EMPTY = 1e-6  # h of a column without data, relative to the largest h: only the constraint holds such a coordinate


class Scaling(NamedTuple):
    """``h`` of each coordinate and ``size`` of each row."""

    h: np.ndarray
    size: np.ndarray


def scaling(problem: Problem, batch_size: int, rare_is_fast: bool) -> Scaling:
    """The scaling for batches of ``batch_size`` rows; ``rare_is_fast`` chooses the geometric mean as h."""
    X, _, c = problem.rows
    mean, most, share = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    measure_columns(X, c, mean, most, share)
    overlap = 1.0 + (batch_size - 1) * share
    h = np.sqrt(overlap * most * mean) if rare_is_fast else overlap * most
    h[h == 0.0] = EMPTY * h.max() or 1.0
    return Scaling(h, c * weighted_squares(X, overlap / h / batch_size))
