"""The graphical lasso: the sparse inverse of a covariance, by the algorithm of Friedman, Hastie and Tibshirani.

The problem and its dual, whose solutions are inverse to each other:

    min_K  -log det K + <S, K> + penalty sum_{i != j} |K_ij|
    max_W  log det W   where |W_ij - S_ij| <= penalty, W_ii = S_ii

Block coordinate ascent on the dual: with all other columns of W held, column j is ``W beta``, where beta is the lasso

    min_beta  1/2 beta' W beta - <S_j, beta> + penalty |beta|_1     over the other columns

and ``K_j`` is a multiple of ``(1, -beta)``. It starts at a positive definite W that the constraints allow, and
log det W grows from there, so that a singular covariance is no obstacle.

Why not scikit-learn's function of the same name: it gives up on covariances of mixed scales, and stops by a gap that
does not see the constraints where K is zero, sometimes far from the solution. A test compares the two.
"""

from __future__ import annotations

import numpy as np

from .._core.jit import compiled, inlined

__all__ = ["graphical_lasso"]

SWEEPS = 100  # over all columns
ROUNDS = 1000  # of coordinate descent in one lasso


def graphical_lasso(S: np.ndarray, penalty: float, tol: float = 1e-4) -> tuple[np.ndarray, np.ndarray] | None:
    """The regression coefficients and the covariance of the graphical lasso.

    Parameters
    ----------
    S : array of shape (d, d)
        A covariance: symmetric, positive semidefinite, with positive diagonal.
    penalty : float
        > 0. The diagonal is not penalised.
    tol : float
        Ends when no entry of W moves by more than ``tol * penalty`` in a sweep.

    Returns
    -------
    B, W : arrays of shape (d, d), or None
        ``K_jk = -B_jk K_jj``, so ``B_jk`` is not zero where ``K_jk`` is not; W is the inverse of K. None if it did not
        converge.
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
    """Solve for each column of W in turn. Returns the largest move of an entry, infinity if W lost its positivity."""
    d = len(diagonal)
    moved = 0.0
    w = np.empty(d)
    for j in range(d):
        regress(S, diagonal, penalty, W, B, tolerance, j, w)
        left = diagonal[j]  # of the variance of column j, once the others have explained theirs
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
    """The lasso of column j on the others, by coordinate descent from the last one: beta into B_j, W beta into w."""
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
