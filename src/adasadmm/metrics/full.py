"""The full metric ``a I + G^{1/2}``: its root followed step by step, or one of some steps ago."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import inlined
from ..linalg import dense, quadratics
from ._generic import Operator, apply, observe, solve, start

MAX_WAITING = 64  # gradients that BLAS adds to G at once
QUADRATURE_NODES = 36  # of the rule by which a root is followed: its relative error is 6e-9
MAX_FOLLOWED_STEPS = 32  # after which the root is computed anew
MAX_GROWTH = 4.0  # of tr G while a root is followed, as a factor
MAX_ETA_RATIO = 1.5  # of two step sizes whose systems precondition each other well
SMALL_ENTRY = 1e-3  # of a gradient, in units of what moves the lagging metric: smaller ones are only bounded


class Full(NamedTuple):
    """The paper's full metric, ``H_t = a I + G_t^{1/2}``: ``G_t`` is the sum of ``g_r g_r'`` for r up to t.

    Parameters
    ----------
    refresh : float, default=0.0
        0 takes the root at every step, as the paper does. Otherwise the root of an earlier G_s serves until
        ``sum_{s < r <= t} |P^{-1} g_r|^2 > refresh d``, ``P = a I + G_s^{1/2}``; then
        ``G_t <= (1 + refresh d) P^2``, and Theorem 3 holds with its first term times ``sqrt(1 + refresh d)``. Entries
        of g_r that hardly count enter the sum by a bound.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import AdaSADMM, Full, L1, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.1), A=[[1.0, -1.0]])
    >>> solve(problem, AdaSADMM(Full(refresh=0.05)), epochs=50).w_mean.shape
    (2,)
    """

    refresh: float = 0.0


class FullState(NamedTuple):
    """``H = a I + S``, ``S = G^{1/2}``.

    At times S is recomputed by an eigendecomposition ``U' diag(roots)^2 U`` of G; in between `dense.follow_root`
    adds what each gradient adds to it. Only then do the gradients that wait go into G. ``inverse`` is that of
    ``P / eta + Q`` for some earlier P, and near enough to precondition conjugate gradients.
    """

    a: float
    G: np.ndarray
    waiting: np.ndarray
    roots: np.ndarray
    U: np.ndarray
    S: np.ndarray
    rule: np.ndarray
    steps: np.ndarray
    inverse: np.ndarray
    counts: np.ndarray  # gradients that wait, roots taken
    reach: np.ndarray  # tr G, the most for which the rule is good, and the 1/eta of `inverse` (0: there is none yet)


class LaggingState(NamedTuple):
    """``H = a I + S`` with the root S of an earlier G, or of this one.

    ``G`` lacks the gradients that wait in the first rows of ``waiting``. ``inverse`` serves the w-step until S changes:
    the inverse of ``H / eta + Q`` itself or, where eta changes, T with ``T'H T = I`` and ``T'Q T = diag(spread)``,
    which is good for every eta.
    """

    a: float
    refresh: float
    G: np.ndarray
    waiting: np.ndarray
    roots: np.ndarray
    U: np.ndarray
    S: np.ndarray
    whitening: np.ndarray  # |its transpose times g| is |H^{-1} g|
    inverse: np.ndarray
    transposed: np.ndarray  # of T
    spread: np.ndarray
    counts: np.ndarray  # gradients that wait, roots taken, whether eta was seen to change
    drift: np.ndarray  # sum |H^{-1} g_r|^2 since the last root, and the 1/eta of `inverse` (0: there is none yet)


ROOTS = FullState, LaggingState  # they know their a


@start.register
def full_start(metric: Full, d):
    counts, numbers, square = np.zeros(3, np.int64), np.zeros(3), (d, d)
    G, U, S, inverse = (np.zeros(square) for _ in range(4))
    if metric.refresh > 0.0:
        known = float(metric.refresh), G, np.zeros((MAX_WAITING, d)), np.zeros(d), U, S
        return LaggingState(0.0, *known, np.zeros(square), inverse, np.zeros(square), np.zeros(d), counts, numbers)
    steps = (
        min(max(MAX_FOLLOWED_STEPS // 4, d // 8), MAX_FOLLOWED_STEPS) if d >= 8 else 1
    )  # few features: a root costs less
    followed = dense.root_rule(QUADRATURE_NODES), np.zeros((steps * QUADRATURE_NODES, d))
    return FullState(0.0, G, np.zeros((steps, d)), np.zeros(d), U, S, *followed, inverse, counts, numbers)


@observe.register
def full_observe(H: FullState, g):
    square = 0.0
    for j in range(len(g)):
        square += g[j] * g[j]
    if square == 0.0:
        return
    dense.copy(g, H.waiting[H.counts[0]])
    H.counts[0] += 1
    H.reach[0] += square
    if H.counts[0] < len(H.waiting) and H.reach[0] <= H.reach[1]:
        dense.follow_root(g, H.U, H.roots, np.sqrt(H.reach[1]), H.rule, H.steps, H.counts[0] - 1, H.S)
        return
    renew_root(H)
    H.reach[1] = MAX_GROWTH * H.reach[0]
    H.reach[2] = 0.0


@observe.register
def lagging_observe(H: LaggingState, g):
    dense.copy(g, H.waiting[H.counts[0]])
    H.counts[0] += 1
    if H.counts[1] > 0:
        least = H.a + H.roots[0]
        large, small = dense.square_of_product(H.whitening, g, SMALL_ENTRY * np.sqrt(H.refresh) * least)
        H.drift[0] += (np.sqrt(large) + np.sqrt(small) / least) ** 2
        if H.drift[0] <= H.refresh * len(g):
            if H.counts[0] == len(H.waiting):
                dense.add_squares(H.waiting, H.counts[0], H.G)
                H.counts[0] = 0
            return
    renew_root(H)
    for i in range(len(g)):
        for j in range(len(g)):
            H.whitening[j, i] = H.U[i, j] / (H.a + H.roots[i])
    H.drift[:] = 0.0


@apply.register
def full_apply(H: FullState, x, out):
    dense.symmetric_times(H.S, x, out)


@apply.register
def lagging_apply(H: LaggingState, x, out):
    dense.symmetric_times(H.S, x, out)


@inlined
def renew_root(H):
    """The root of G with the gradients that waited."""
    dense.add_squares(H.waiting, H.counts[0], H.G)
    dense.take_root(H.G, H.roots, H.U, H.S)
    H.counts[0] = 0
    H.counts[1] += 1


class _Inverse(NamedTuple):
    """The inverse of a matrix near the operator's, as preconditioner."""

    matrix: np.ndarray


@quadratics.precondition.register
def _inverse_precondition(P: _Inverse, x, out):
    dense.symmetric_times(P.matrix, x, out)


@solve.register
def full_solve(H: FullState, a, inverse_eta, Q, rhs, out):
    if not H.reach[2] / MAX_ETA_RATIO <= inverse_eta <= H.reach[2] * MAX_ETA_RATIO:
        H.inverse[:] = 0.0
        quadratics.add_to(Q, H.inverse)
        dense.invert(H.S, a, inverse_eta, H.inverse)
        H.reach[2] = inverse_eta
    operator = Operator(H, a, inverse_eta, Q, np.empty_like(rhs))
    quadratics.conjugate_gradients(operator, _Inverse(H.inverse), rhs, out)


@solve.register
def lagging_solve(H: LaggingState, a, inverse_eta, Q, rhs, out):
    if H.drift[1] != inverse_eta and not (H.counts[2] and H.drift[1] != 0.0):
        H.counts[2] = H.counts[2] or H.drift[1] != 0.0  # the same root, but another step size
        H.inverse[:] = 0.0
        quadratics.add_to(Q, H.inverse)
        if H.counts[2]:
            dense.diagonalise(H.U, H.roots, a, H.inverse, H.transposed, H.spread)
        else:
            dense.invert(H.S, a, inverse_eta, H.inverse)
        H.drift[1] = inverse_eta
    if not H.counts[2]:
        dense.symmetric_times(H.inverse, rhs, out)
        return
    turned = np.empty_like(rhs)
    dense.times(H.transposed, len(rhs), rhs, turned)
    for j in range(len(rhs)):
        turned[j] /= inverse_eta + H.spread[j]
    dense.times(H.inverse, len(rhs), turned, out)
