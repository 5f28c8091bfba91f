"""Dual coordinate steps: a better dual point from one that is near.

With ``q = X'(c s)/n - A'theta`` the w that belongs to a dual point is ``u = -q / gamma``. The best s_i, while all else
stays as it is, is a prox of the loss at what u makes of row i; the best theta_k is one of the penalty at what u makes
of row k of A. So the dual value rises with every step, at the cost of a row.

A coordinate without ridge has no such u: there a small ridge around ``centre`` takes its place, and what that leaves is
for `duality` to repair.
"""

from __future__ import annotations

import numpy as np

from .. import losses, penalties
from .._core.jit import compiled, generic, is_registered
from ..linalg import products
from ..linalg.matrices import CSR, Dense, WithIntercept, add_row
from ..problem import Problem
from .scaling import measure_rows

__all__ = ["ascend", "is_possible"]

SWEEPS = 8  # over the constraint, in a pass over the rows


def is_possible(problem: Problem) -> bool:
    """Whether there is a u at all, and a prox for the slopes."""
    ridge = problem.w_set is None and bool((problem.gamma > 0.0).any())
    return ridge and problem.source is None and is_registered(losses.prox, problem.loss)


def ascend(problem: Problem, centre: np.ndarray, s: np.ndarray, theta: np.ndarray, passes: int) -> None:
    """Improve s and theta in place; theta only where the constraint goes coordinate by coordinate."""
    X, y, c = problem.rows
    ridge = np.where(problem.gamma > 0.0, problem.gamma, np.max(problem.gamma))
    inverse = 1.0 / ridge
    size, around = np.empty(problem.n), np.empty(problem.n)
    measure_rows(X, c, inverse / problem.n, size)
    centre = np.where(problem.gamma > 0.0, 0.0, centre)
    products.product(X, centre, around)
    q = np.empty(problem.d)
    products.transposed_product(X, c * s / problem.n, q)
    q -= problem.times_A_transposed(theta)
    stiffness, offset = np.empty(problem.m), problem.b - problem.times_A(centre)
    measure_rows(problem.A, np.ones(problem.m), inverse, stiffness)
    one_by_one = problem.B is None and is_registered(penalties.prox_at, problem.penalty)
    order = np.random.default_rng(0).permutation(problem.n)
    for _ in range(passes):
        for piece in np.array_split(order, SWEEPS):
            move_slopes(problem.loss, X, y, c, (size, around), inverse, piece, s, q)
            if one_by_one:
                move_theta(problem.penalty, problem.A, offset, stiffness, inverse, theta, q)


@compiled
def move_slopes(loss, X, y, c, of_rows, inverse, order, s, q):
    """One step of each s_i."""
    size, around = of_rows
    for i in order:
        if size[i] > 0.0:
            z = around[i] - weighted_dot(X, i, inverse, q) + size[i] * s[i]
            better = (z - losses.prox(loss, z, size[i], y[i])) / size[i]
            if better != s[i]:
                add_row(X, i, c[i] * (better - s[i]) / len(s), q)
                s[i] = better


@compiled
def move_theta(penalty, A, b, stiffness, inverse, theta, q):
    """One step of each theta_k."""
    for k in range(len(theta)):
        if stiffness[k] > 0.0:
            beta = 1.0 / stiffness[k]
            gap = -weighted_dot(A, k, inverse, q) - b[k]
            better = penalties.dual_prox_at(penalty, k, theta[k] - beta * gap, beta)
            if better != theta[k]:
                add_row(A, k, theta[k] - better, q)
                theta[k] = better


@generic
def weighted_dot(M, i, weight, x):
    """``sum_j M_ij weight_j x_j``."""


@weighted_dot.register
def _(M: Dense, i, weight, x):
    row = M.values[i]
    total = 0.0
    for j in range(len(row)):
        total += row[j] * weight[j] * x[j]
    return total


@weighted_dot.register
def _(M: CSR, i, weight, x):
    total = 0.0
    for p in range(M.indptr[i], M.indptr[i + 1]):
        total += M.data[p] * weight[M.indices[p]] * x[M.indices[p]]
    return total


@weighted_dot.register
def _(M: WithIntercept, i, weight, x):
    return weighted_dot(M.rows, i, weight, x) + weight[-1] * x[-1]
