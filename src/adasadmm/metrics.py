"""The metric H_t of the w-step, the paper's second order proximal function ``1/2 |w|^2_{H_t}``.

============  ==================================  ====================
``Identity``  ``H_t = I``                         SADMM
``Diagonal``  ``H_t = a I + diag(|g_{1:t,j}|)``   Ada-SADMM, diagonal
``Full``      ``H_t = a I + G_t^{1/2}``           Ada-SADMM, full
============  ==================================  ====================

A metric of your own is a ``NamedTuple`` of settings and three functions registered for it and for its state:
``start(metric, d)`` gives the state (a ``NamedTuple`` of arrays), ``observe(state, g)`` updates it in place,
``apply(state, x, out)`` writes ``H x``. The solver adds ``a I``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import quadratics
from ._jit import compiled, generic

__all__ = ["Diagonal", "Full", "Identity", "apply", "observe", "solve", "start"]


class Identity(NamedTuple):
    """``H = I``; ``a`` is not used."""


class Diagonal(NamedTuple):
    """``H_t = a I + diag(s_t)`` with ``s_tj = sqrt(g_1j^2 + ... + g_tj^2)``."""


class Full(NamedTuple):
    """``H_t = a I + G_t^{1/2}`` with ``G_t = g_1 g_1' + ... + g_t g_t'``.

    Parameters
    ----------
    refresh : float
        0 takes the root at every step, as the paper does. Otherwise the root of an earlier G_s serves until
        ``sum_{s < r <= t} |P^{-1} g_r|^2 > refresh d``, ``P = a I + G_s^{1/2}``; then
        ``G_t <= (1 + refresh d) P^2``, and Theorem 3 holds with its first term times ``sqrt(1 + refresh d)``.
    """

    refresh: float = 0.0


class DiagonalState(NamedTuple):
    squares: np.ndarray
    h: np.ndarray


class FullState(NamedTuple):
    a: float
    refresh: float
    G: np.ndarray
    roots: np.ndarray
    U: np.ndarray
    factor: np.ndarray
    drift: np.ndarray  # sum |P^{-1} g_r|^2 since the last root, roots taken, 1/eta of the factor (0: none yet)


class IdentityState(NamedTuple):
    h: np.ndarray


# --- the three functions of a metric ---------------------------------------------------------------------------------


@generic
def start(metric, d):
    """The state of a metric that has seen nothing."""


@generic
def observe(H, g):
    """H_{t-1} becomes H_t."""


@generic
def apply(H, x, out):
    """``out = H x``, without ``a I``."""


@generic
def observe_at(H, j, g, a):
    """Coordinate j of a diagonal metric: ``H_jj`` after g_j was seen, with ``a``."""


@start.register
def _(metric: Identity, d):
    return IdentityState(np.zeros(d))


@observe.register
def _(H: IdentityState, g):
    pass


@observe_at.register
def _(H: IdentityState, j, g, a):
    return 1.0


@apply.register
def _(H: IdentityState, x, out):
    for j in range(len(x)):
        out[j] = x[j]


@start.register
def _(metric: Diagonal, d):
    return DiagonalState(np.zeros(d), np.zeros(d))


@observe.register
def _(H: DiagonalState, g):
    for j in range(len(g)):
        H.squares[j] += g[j] * g[j]


@observe_at.register
def _(H: DiagonalState, j, g, a):
    H.squares[j] += g * g
    return a + np.sqrt(H.squares[j])


@apply.register
def _(H: DiagonalState, x, out):
    for j in range(len(x)):
        out[j] = np.sqrt(H.squares[j]) * x[j]


@start.register
def _(metric: Full, d):
    return FullState(0.0, float(metric.refresh), *(np.zeros(s) for s in ((d, d), d, (d, d), (d, d), 3)))


@observe.register
def _(H: FullState, g):
    d = len(g)
    for i in range(d):
        if g[i] != 0.0:
            for j in range(d):
                H.G[i, j] += g[i] * g[j]
    if H.refresh > 0.0 and H.drift[1] > 0.0:
        turned = np.zeros_like(g)
        for i in range(d):
            if g[i] != 0.0:
                for j in range(d):
                    turned[j] += H.U[i, j] * g[i]
        for j in range(d):
            H.drift[0] += (turned[j] / (H.a + H.roots[j])) ** 2
        if H.drift[0] <= H.refresh * d:
            return
    take_root(H.G, H.roots, H.U)
    H.drift[0] = 0.0
    H.drift[1] += 1.0
    H.drift[2] = 0.0


@apply.register
def _(H: FullState, x, out):
    d = len(x)
    turned = np.zeros_like(x)
    for i in range(d):
        for j in range(d):
            turned[j] += H.U[i, j] * x[i]
    for i in range(d):
        out[i] = 0.0
        for j in range(d):
            out[i] += H.U[i, j] * H.roots[j] * turned[j]


# --- the w-step's system ---------------------------------------------------------------------------------------------


class _Operator(NamedTuple):
    """``inverse_eta (a I + H) + Q`` for a metric that is known only by what it does to a vector."""

    H: Any
    a: float
    inverse_eta: float
    Q: Any
    work: np.ndarray


@quadratics.multiply.register
def _(M: _Operator, x, out):
    quadratics.multiply(M.Q, x, out)
    apply(M.H, x, M.work)
    for j in range(len(x)):
        out[j] += M.inverse_eta * (M.a * x[j] + M.work[j])


@generic
def solve(H, a, inverse_eta, Q, rhs, out):
    """Solve ``(inverse_eta (a I + H) + Q) out = rhs``."""


@solve.register(object)
def _(H, a, inverse_eta, Q, rhs, out):  # a metric of the user's own: conjugate gradients
    inverse = np.empty_like(rhs)
    for j in range(len(rhs)):
        inverse[j] = 1.0 / (inverse_eta * a + quadratics.diagonal(Q, j))
    operator = _Operator(H, a, inverse_eta, Q, np.empty_like(rhs))
    quadratics.conjugate_gradients(operator, quadratics.Jacobi(inverse), rhs, out)


@solve.register
def _(H: IdentityState, a, inverse_eta, Q, rhs, out):
    H.h[:] = inverse_eta
    quadratics.solve(Q, H.h, rhs, out)


@solve.register
def _(H: DiagonalState, a, inverse_eta, Q, rhs, out):
    for j in range(len(rhs)):
        H.h[j] = inverse_eta * (a + np.sqrt(H.squares[j]))
    quadratics.solve(Q, H.h, rhs, out)


@solve.register
def _(H: FullState, a, inverse_eta, Q, rhs, out):
    if H.drift[2] != inverse_eta:  # another root, or another step size, since the factor was made
        H.factor[:] = 0.0
        quadratics.add_to(Q, H.factor)
        factorise(H.U, H.roots, a, inverse_eta, H.factor)
        H.drift[2] = inverse_eta
    substitute(H.factor, rhs, out)


# --- LAPACK, behind doors that are compiled once for all losses and penalties -------------------------------------


@compiled
def take_root(G, roots, U):
    """The eigenvectors of G and the square roots of its eigenvalues; rounding below 0 counts as 0."""
    values, vectors = np.linalg.eigh(G)
    for j in range(len(values)):
        roots[j] = np.sqrt(max(values[j], 0.0))
    U[:] = vectors


@compiled
def factorise(U, roots, a, inverse_eta, matrix):
    """Replace ``matrix`` by the Cholesky factor of ``matrix + inverse_eta (a I + U diag(roots) U')``."""
    matrix += np.dot(U * (inverse_eta * roots), U.T)
    for j in range(len(roots)):
        matrix[j, j] += inverse_eta * a
    matrix[:] = np.linalg.cholesky(matrix)


@compiled
def substitute(factor, rhs, out):
    """Solve ``factor factor' out = rhs``."""
    d = len(rhs)
    for i in range(d):
        total = rhs[i]
        for j in range(i):
            total -= factor[i, j] * out[j]
        out[i] = total / factor[i, i]
    for i in range(d - 1, -1, -1):
        out[i] /= factor[i, i]
        for j in range(i):
            out[j] -= factor[i, j] * out[i]
