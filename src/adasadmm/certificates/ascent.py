"""Dual coordinate ascent: raise the dual value of a dual point that is near the optimum.

With ``q = X'(c s)/n - A'theta``, the minimiser over w that belongs to a dual point is ``u = -q / gamma``. While all
other coordinates are fixed, the best s_i is a prox of the loss at row i's prediction by u, and the best theta_k is a
prox of the penalty's conjugate at row k of ``A u - b``. Each step raises the dual value, at the cost of one row.

A coordinate j with ``gamma_j = 0`` has no such minimiser. There, a small ridge around ``centre`` replaces the missing
one, and `duality` repairs the dual point afterwards.
"""

from __future__ import annotations

import numpy as np

from .. import losses, penalties
from .._core.jit import compiled, is_registered
from ..linalg import products
from ..linalg.matrices import CSR
from ..linalg.rows import add_row, measure_rows, weighted_dot
from ..problem import Block, Problem

__all__ = ["ascend", "is_possible"]

SWEEPS = 8  # over theta in one pass over the rows


def is_possible(problem: Problem) -> bool:
    """Whether some coordinate has a ridge, w no set, and the loss a prox; the rows must be in memory."""
    ridge = problem.w_set is None and bool((problem.gamma > 0.0).any())
    return ridge and problem.source is None and is_registered(losses.prox, problem.loss)


def ascend(problem: Problem, centre: np.ndarray, s: np.ndarray, theta: np.ndarray, passes: int) -> None:
    """Improve s in place, and theta if B = -I and the penalty is a sum over coordinates."""
    X, _, c = problem.rows
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
            move_slopes(problem.loss, problem.rows, (size, around), inverse, piece, s, q)
            if one_by_one:
                move_theta(problem.penalty, problem.A, offset, stiffness, inverse, theta, q)


@compiled
def move_slopes(
    loss, block: Block, of_rows: tuple, inverse: np.ndarray, order: np.ndarray, s: np.ndarray, q: np.ndarray
):
    """Maximise over each s_i in turn; ``of_rows`` holds the size of each row and its prediction by the centre."""
    size, around = of_rows
    for i in order:
        if size[i] > 0.0:
            z = around[i] - weighted_dot(block.X, i, inverse, q) + size[i] * s[i]
            better = (z - losses.prox(loss, z, size[i], block.y[i])) / size[i]
            if better != s[i]:
                add_row(block.X, i, block.c[i] * (better - s[i]) / len(s), q)
                s[i] = better


@compiled
def move_theta(
    penalty, A: CSR, b: np.ndarray, stiffness: np.ndarray, inverse: np.ndarray, theta: np.ndarray, q: np.ndarray
):
    """Maximise over each theta_k in turn."""
    for k in range(len(theta)):
        if stiffness[k] > 0.0:
            beta = 1.0 / stiffness[k]
            gap = -weighted_dot(A, k, inverse, q) - b[k]
            better = penalties.dual_prox_at(penalty, k, theta[k] - beta * gap, beta)
            if better != theta[k]:
                add_row(A, k, theta[k] - better, q)
                theta[k] = better
