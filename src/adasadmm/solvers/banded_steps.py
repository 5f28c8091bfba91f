"""The steps of the interior-point method where A is banded, but for the loss (`banded_rows`), in compiled code.

Newton's direction is found for w and for the t of A's rows together (`linalg.banded`), so that the latter lose no
digits where J is small. As in `banded_edges`, all vectors of the length of w are the rows of an array, W.
"""

from __future__ import annotations

import numpy as np

from .._core.jit import compiled, inlined
from ..linalg import banded
from . import banded_edges as edges, ipm_steps as steps
from .banded_edges import DT, LEFT, LIMIT, MORE, P, Q, T, U

__all__ = ["NO_LENGTH", "correct", "direction", "find_zeros", "fuse", "move", "predict", "unknowns_of"]

REFINEMENTS = 3  # with one factor
REFINED = 1e-3  # of complementarity: what rounding errors of a direction may cost
NO_WEIGHT, ALMOST_RIGID = 1e100, 1e-6
NO_LENGTH = -1.0

# w and its direction; the right-hand side of Newton's system; the gradient of the Lagrangian; the ridge; the sizes that
# coordinates at least count as; roughly, their second derivatives; what a solution leaves, and a correction.
VALUE, DW, F, GRADIENT, GAMMA, LEAST, CURVATURE, LEFT_W, MORE_W = range(9)


def unknowns_of(gamma: np.ndarray, least: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """W at w = 0."""
    W = np.zeros((9, len(gamma)))
    W[GAMMA], W[LEAST], W[CURVATURE] = gamma, least, curvature
    return W


@compiled
def predict(saddle, E, W):
    """Mehrotra's predictor for the right-hand side that W holds; returns what `banded_edges.predict` returns."""
    edges.set_stiffness(E, saddle.J)
    banded.factor(saddle)
    banded.solve(saddle, W[F], E[edges.G], W[DW], E[DT])
    return edges.predict(E)


@compiled
def correct(saddle, E, W, mean, gap):
    """The corrector, which aims at this mean complementarity; its sum is ``gap`` now.

    Returns the length of the step to the boundary; NO_LENGTH if the factor is too inaccurate. The next one will be that
    of the whole system, for the predictor as well, whose products are as inaccurate as the factor was.
    """
    edges.aim(E, mean)
    banded.solve(saddle, W[F], E[edges.G], W[DW], E[DT])
    if not refined(saddle, E, W, REFINED * gap) and not saddle.is_whole[0]:
        saddle.is_whole[0] = True
        return NO_LENGTH
    return edges.correct(E, mean)


@compiled
def direction(saddle, E, W, gap, off):
    """Predictor and corrector, if all ends of boxes are those of A's rows; ``off`` is what other conditions may cost.

    Returns the length of the step to the boundary.
    """
    found = NO_LENGTH
    while found == NO_LENGTH:
        most, linear, square = predict(saddle, E, W)
        length = min(1.0, most)
        after = gap + length * (linear + length * square)
        found = correct(saddle, E, W, steps.sum_aimed_at(gap, after, length, off) / (2.0 * E.shape[1]), gap)
    return found


@inlined
def refined(saddle, E, W, enough):
    """Add corrections to the solution until rounding errors cost little; whether that is reached."""
    dw, dt = W[DW], E[DT]
    for attempt in range(REFINEMENTS + 1):
        off = left_over(saddle, E, W)
        off += steps.cost_of_residual(W[LEFT_W], W[VALUE], W[LEAST], W[GAMMA])
        if off <= enough:
            return True
        if attempt == REFINEMENTS or not off < np.inf:
            return False
        banded.solve(saddle, W[LEFT_W], E[LEFT], W[MORE_W], E[MORE])
        for j in range(len(dw)):
            dw[j] += W[MORE_W, j]
        for k in range(len(dt)):
            dt[k] += E[MORE, k]
    return False


@inlined
def left_over(saddle, E, W):
    """Return the residuals of both equations, and a bound of the cost of the second one."""
    dw, dt, f, left_w, limit, left_t, g = W[DW], E[DT], W[F], W[LEFT_W], E[LIMIT], E[LEFT], E[edges.G]
    for j in range(len(dw)):
        left_w[j] = f[j] - saddle.H[j] * dw[j] - banded.row_times(saddle.transposed, j, dt)
    off = 0.0
    for k in range(len(dt)):
        left = g[k] + saddle.J[k] * dt[k] - banded.row_times(saddle.A, k, dw)
        left_t[k] = left
        off += abs(left) * limit[k]
    return off


@compiled
def move(saddle, E, W, length):
    """Take a step of this length. A w follows from w, so that no errors add up.

    Returns the complementarity of the rows of A, what the distances of ``A w`` from ``p - q`` may cost, and the value
    of penalty and ridge. The gradient still lacks that of the loss.
    """
    w, dw, gamma, gradient = W[VALUE], W[DW], W[GAMMA], W[GRADIENT]
    value = 0.0
    for j in range(len(w)):
        w[j] += length * dw[j]
        value += 0.5 * gamma[j] * w[j] * w[j]
    gap = edges.move(E, length)
    t, u, limit = E[T], E[U], E[LIMIT]
    for j in range(len(w)):
        gradient[j] = gamma[j] * w[j] + banded.row_times(saddle.transposed, j, t)
    for k in range(len(u)):
        u[k] = banded.row_times(saddle.A, k, w)
        value += limit[k] * abs(u[k])
    return gap, edges.cost_of_distances(u, E[P], E[Q], E[edges.A], E[edges.B]), value


# --- the end ---------------------------------------------------------------------------------------------------------


@compiled
def find_zeros(A, E, w, zero):
    """Where ``A w`` tends to 0: there t is further from the ends of its box than p and q from 0, each in its unit.

    On the central path, both products are equal. The unit of p and q is the size of the terms of ``A w``.
    """
    for k in range(len(zero)):
        size = 0.0
        for c in range(len(A.width)):
            size += abs(A.values[k, c] * w[A.first[k] + c])
        zero[k] = (E[P, k] + E[Q, k]) * E[LIMIT, k] < min(E[edges.A, k], E[edges.B, k]) * size


@compiled
def fuse(saddle, E, W, zero):
    """Move to the nearest w, in the metric H, at which the rows of ``A w`` that are to be 0 are 0.

    The multipliers do not change. Repetition leaves nothing but rounding errors.
    """
    w, u, g, J = W[VALUE], E[U], E[edges.G], saddle.J
    W[F] = 0.0
    for k in range(len(zero)):
        J[k] = J[k] * ALMOST_RIGID if zero[k] else NO_WEIGHT
    banded.factor(saddle)
    for _ in range(REFINEMENTS):
        for k in range(len(zero)):
            g[k] = -u[k] if zero[k] else 0.0
        banded.solve(saddle, W[F], g, W[DW], E[DT])
        for j in range(len(w)):
            w[j] += W[DW, j]
        banded.times(saddle.A, w, u)
    W[DW] = 0.0
    E[DT] = 0.0
