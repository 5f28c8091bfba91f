"""The graphical lasso: a sparse inverse covariance, by the algorithm of Friedman, Hastie and Tibshirani.

The solutions of the primal and the dual problem are inverse to each other:

    min_K  -log det K + <S, K> + penalty sum_{i != j} |K_ij|
    max_W  log det W   subject to |W_ij - S_ij| <= penalty, W_ii = S_ii

The algorithm is block coordinate ascent on the dual. With all other columns of W fixed, column j is ``W beta``, where
beta solves the lasso problem

    min_beta  1/2 beta' W beta - <S_j, beta> + penalty |beta|_1     over the other columns

and ``K_j`` is a multiple of ``(1, -beta)``. The start is a feasible, positive definite W, and log det W increases
from there, so the covariance may be singular.

scikit-learn's ``graphical_lasso`` is not used: it fails on covariances of mixed scales, and its stopping criterion
ignores the constraints at zeros of K, so it sometimes stops far from the solution. A test compares the two.
"""

from __future__ import annotations

import numpy as np

from .._core.jit import compiled, inlined

__all__ = ["graphical_lasso"]

SWEEPS = 100  # at most, over all columns
ROUNDS = 1000  # of coordinate descent in a lasso, at most


def graphical_lasso(S: np.ndarray, penalty: float, tol: float = 1e-4) -> tuple[np.ndarray, np.ndarray] | None:
    """The regression coefficients and the covariance of the graphical lasso.

    Parameters
    ----------
    S : array of shape (d, d)
        A covariance matrix: symmetric, positive semidefinite, with positive diagonal.
    penalty : float
        The strength of the penalty, positive. The diagonal is not penalised.
    tol : float, default=1e-4
        The iteration stops when no entry of W changes by more than ``tol * penalty`` in a sweep.

    Returns
    -------
    B, W : arrays of shape (d, d), or None
        ``K_jk = -B_jk K_jj`` for j != k, so B and K have the same zeros off the diagonal; W is the inverse of K. None
        if the iteration did not converge.
    """
    S = np.ascontiguousarray(S, dtype=np.float64)
    diagonal = np.diag(S).copy()
    largest = np.max(np.abs(S - np.diag(diagonal)), initial=0.0)
    share = min(1.0, penalty / largest) if largest > 0.0 else 1.0
    W = (1.0 - share) * S + share * np.diag(diagonal)
    B = np.zeros_like(S)
    for _ in range(SWEEPS):
        moved = sweep(S, diagonal, float(penalty), W, B, 0.1 * tol * penalty)
        if not np.isfinite(moved):
            return None
        if moved <= tol * penalty:
            return B, W
    return None


@compiled
def sweep(S, diagonal, penalty, W, B, tolerance):
    """Solve for each column of W in turn; return the largest change of an entry, or inf if W is no longer positive."""
    d = len(diagonal)
    moved = 0.0
    w = np.empty(d)
    for j in range(d):
        regress(S, diagonal, penalty, W, B, tolerance, j, w)
        left = diagonal[j]  # the variance of column j that the other columns do not explain
        for k in range(d):
            left -= w[k] * B[j, k]
            moved = max(moved, abs(w[k] - W[j, k]))
        if not left > 0.0:
            return np.inf
        for k in range(d):
            W[j, k] = W[k, j] = w[k]
    return moved


@inlined
def regress(S, diagonal, penalty, W, B, tolerance, j, w):
    """The lasso of column j on the others, by warm-started coordinate descent: beta into B_j, W beta into w."""
    d = len(diagonal)
    for i in range(d):
        w[i] = 0.0
    for k in range(d):
        if B[j, k] != 0.0:
            for i in range(d):
                w[i] += B[j, k] * W[k, i]
    for _ in range(ROUNDS):
        change = 0.0
        for k in range(d):
            rest = S[j, k] - w[k] + diagonal[k] * B[j, k]
            goal = 0.0
            if abs(rest) > penalty and k != j:
                goal = (rest - penalty if rest > 0.0 else rest + penalty) / diagonal[k]
            step = goal - B[j, k]
            if step != 0.0:
                B[j, k] = goal
                for i in range(d):
                    w[i] += step * W[k, i]
                change = max(change, abs(step) * diagonal[k])
        if change <= tolerance:
            break
    w[j] = diagonal[j]
