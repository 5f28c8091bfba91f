"""A dual point in closed form where X is diagonal: no linear system, and memory of the size of the data.

If gamma_j = 0, the dual value is finite only for ``x_j c_j s_j / n = (A'theta)_j``. Where X is diagonal, each s_j stands
in one of these equations alone, so theta determines s. A row of weight 0, or with x_j = 0, has no s that could help:
there ``(A'theta)_j`` itself must vanish, as it does for methods that leave such nodes out.
"""

from __future__ import annotations

import numpy as np

from ..linalg.matrices import WithIntercept
from ..problem import Problem
from .domains import ROUNDING, Bounds
from .repair import sizes

__all__ = ["closed_form"]


def closed_form(
    problem: Problem, s: np.ndarray, theta: np.ndarray, domain: tuple[np.ndarray, np.ndarray], bounds: Bounds
) -> tuple[np.ndarray, np.ndarray] | None:
    """The s that belongs to theta, or None if X is not diagonal or the equations have no solution nearby.

    Entries that leave their domain by no more than rounding are moved back into it; `duality` scales all others down.
    """
    x, (low, high) = problem.diagonal, domain
    if x is None or problem.w_set is not None:
        return None
    n, of_A = problem.n, problem.times_A_transposed(theta)
    pull = x * problem.rows.c / n
    free, tied = bounds.unbounded[:n], pull != 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        s = np.where(free & tied, of_A[:n] / pull, np.where(free, 0.0, s))
    inside = np.clip(s, low, high)
    size = sizes(problem, s, theta)
    rounding = np.abs(pull * (s - inside)) <= 0.1 * ROUNDING * size[:n]
    s = np.where(rounding, inside, s)
    stuck = (s < low) & (low == 0.0) | (s > high) & (high == 0.0)  # scaling s down would not bring it back
    left = np.abs(of_A[:n][free & ~tied]) > ROUNDING * size[:n][free & ~tied]
    if stuck.any() or left.any():
        return None
    if isinstance(problem.rows.X, WithIntercept) and bounds.unbounded[n]:
        if abs(float(np.sum(problem.rows.c * s)) / n) > ROUNDING * size[n]:
            return None
    return s, theta
