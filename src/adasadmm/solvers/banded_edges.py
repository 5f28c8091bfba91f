"""The rows of A in the interior-point method for trends.

``limit |u|`` is a box term with the ends ``-limit`` and ``limit`` and neither kink nor flex (`box_terms`), so that the
formulas of `ipm_steps` need no case distinctions. The variables are the rows of one array E: kernels with few arguments
are compiled, and called, several times as fast as those with dozens of arrays.
"""

from __future__ import annotations

import math

import numpy as np

from .._core.jit import inlined, inlined_sum

__all__ = [
    "DT",
    "KEPT",
    "LIMIT",
    "G",
    "P",
    "Q",
    "T",
    "U",
    "aim",
    "correct",
    "cost_of_distances",
    "edges_of",
    "move",
    "predict",
]

# The variables of `ipm_steps.Variables`; the inverses of a and b; the direction, and its products for the corrector;
# u = A w; the right-hand side of Newton's system; what a solution leaves of it, and a correction.
LIMIT, T, A, B, P, Q, PER_A, PER_B, DT, DP, DQ, OVER_A, OVER_B, U, G, LEFT, MORE = range(17)
KEPT = slice(LIMIT, Q + 1)  # of an iterate


def edges_of(limit: np.ndarray, mean: float) -> np.ndarray:
    """E with t in the middle of its box, p and q on the central path."""
    E = np.zeros((17, len(limit)))
    E[LIMIT] = E[A] = E[B] = limit
    E[P] = E[Q] = mean / limit
    return E


@inlined
def set_stiffness(E, J):
    """J of each row, and the right-hand side of the predictor."""
    a, b, p, q, per_a, per_b, u, g = E[A], E[B], E[P], E[Q], E[PER_A], E[PER_B], E[U], E[G]
    for k in range(len(J)):
        per_a[k], per_b[k] = 1.0 / a[k], 1.0 / b[k]
        J[k] = p[k] * per_a[k] + q[k] * per_b[k]
        g[k] = -u[k]


@inlined
def aim(E, mean):
    """The right-hand side of the corrector, which aims at this complementarity."""
    per_a, per_b, over_a, over_b, u, g = E[PER_A], E[PER_B], E[OVER_A], E[OVER_B], E[U], E[G]
    for k in range(len(g)):
        g[k] = (mean + over_a[k]) * per_a[k] - (mean - over_b[k]) * per_b[k] - u[k]


@inlined
def predict(E):
    """The products of directions of the predictor, which belong to dt.

    Returns the length of the step to the boundary, and how complementarity changes: by ``linear`` times the length of
    a step plus ``square`` times its square.
    """
    a, b, per_a, per_b, over_a, over_b = E[A], E[B], E[PER_A], E[PER_B], E[OVER_A], E[OVER_B]
    most, linear, square = math.inf, 0.0, 0.0
    for k in range(E.shape[1]):
        p, q, dt = E[P, k], E[Q, k], E[DT, k]
        dp, dq = p * dt * per_a[k] - p, -q * dt * per_b[k] - q
        most = nearer(nearer(most, p, dp, a[k], dt), q, dq, b[k], -dt)
        linear += dp * a[k] - p * dt + dq * b[k] + q * dt
        square += (dq - dp) * dt
        over_a[k], over_b[k] = dp * dt, dq * dt
    return most, linear, square


@inlined
def correct(E, mean):
    """The dp and dq of the corrector, which belong to dt; returns the length of the step to the boundary."""
    a, b, per_a, per_b, over_a, over_b = E[A], E[B], E[PER_A], E[PER_B], E[OVER_A], E[OVER_B]
    most = math.inf
    for k in range(E.shape[1]):
        p, q, dt = E[P, k], E[Q, k], E[DT, k]
        dp = (mean + over_a[k] + p * dt) * per_a[k] - p
        dq = (mean - over_b[k] - q * dt) * per_b[k] - q
        E[DP, k], E[DQ, k] = dp, dq
        most = nearer(nearer(most, p, dp, a[k], dt), q, dq, b[k], -dt)
    return most


@inlined
def nearer(most, p, dp, a, dt):
    """The length at which p + length dp or a - length dt is 0, if that is less."""
    if dp < 0.0 and p < -most * dp:  # divisions would take most of the time
        most = -p / dp
    if dt > 0.0 and a < most * dt:
        most = a / dt
    return most


@inlined
def move(E, length):
    """Take the step; returns the complementarity."""
    limit, t, dp, dq, dt = E[LIMIT], E[T], E[DP], E[DQ], E[DT]
    total = 0.0
    for k in range(len(t)):
        p, a = E[P, k] + length * dp[k], E[A, k] - length * dt[k]
        q, b = E[Q, k] + length * dq[k], E[B, k] + length * dt[k]
        E[P, k], E[A, k], E[Q, k], E[B, k] = p, a, q, b
        t[k] = limit[k] - a if a < b else b - limit[k]
        total += p * a + q * b
    return total


@inlined_sum
def cost_of_distances(u, p, q, a, b):
    """Bound the cost of the distances of u from ``p - q`` in the primal value."""
    total = 0.0
    for k in range(len(u)):
        total += abs(u[k] - p[k] + q[k]) * max(a[k], b[k])
    return total
