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

__all__ = ["Diagonal", "Full", "Identity", "apply", "observe", "observe_at", "solve", "start"]

WAITING = 64  # gradients that are gathered into G at once, by BLAS


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
    """``P = a I + U diag(roots) U'`` with the root of an earlier G, or of this one.

    ``G`` lacks the gradients that wait in the first rows of ``waiting``. ``inverse`` serves the w-step until P changes:
    a Cholesky factor where every step has a root of its own; the inverse of ``P / eta + Q`` itself; or, where eta
    changes, T with ``T'P T = I`` and ``T'Q T = diag(spread)``, which is good for every eta.
    """

    a: float
    refresh: float
    G: np.ndarray
    waiting: np.ndarray
    roots: np.ndarray
    U: np.ndarray
    P_root_inverse: np.ndarray  # U diag(1 / (a + roots)): |its transpose times g| is |P^{-1} g|
    inverse: np.ndarray
    transposed: np.ndarray  # of T
    spread: np.ndarray
    counts: np.ndarray  # gradients that wait, roots taken, and whether eta was seen to change
    drift: np.ndarray  # sum |P^{-1} g_r|^2 since the last root, and the 1/eta of `inverse` (0: there is none yet)


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
    arrays = [np.zeros(shape) for shape in ((d, d), (WAITING, d), d, (d, d), (d, d), (d, d), (d, d), d)]
    return FullState(0.0, float(metric.refresh), *arrays, np.zeros(3, np.int64), np.zeros(2))  # type: ignore[call-arg]


@observe.register
def _(H: FullState, g):
    H.waiting[H.counts[0]] = g
    H.counts[0] += 1
    if H.refresh > 0.0 and H.counts[1] > 0:
        turned = np.empty_like(g)
        transposed_times(H.P_root_inverse, g, turned)
        for j in range(len(g)):
            H.drift[0] += turned[j] * turned[j]
        if H.drift[0] <= H.refresh * len(g):
            if H.counts[0] == len(H.waiting):
                gather(H.waiting, H.G)
                H.counts[0] = 0
            return
    gather(H.waiting[: H.counts[0]], H.G)
    take_root(H.G, H.a, H.roots, H.U, H.P_root_inverse)
    H.counts[0] = 0
    H.counts[1] += 1
    H.drift[:] = 0.0


@apply.register
def _(H: FullState, x, out):
    turned = np.empty_like(x)
    transposed_times(H.U, x, turned)
    for i in range(len(x)):
        out[i] = 0.0
        for j in range(len(x)):
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
    if H.drift[1] != inverse_eta and not (H.counts[2] and H.drift[1] != 0.0):
        H.counts[2] = H.counts[2] or H.drift[1] != 0.0  # the same root, but another step size
        H.inverse[:] = 0.0
        quadratics.add_to(Q, H.inverse)
        if H.counts[2]:
            diagonalise(H.P_root_inverse, a, H.roots, H.inverse, H.transposed, H.spread)
        else:
            factorise(H.U, H.roots, a, inverse_eta, H.inverse, H.refresh > 0.0)
        H.drift[1] = inverse_eta
    if H.counts[2]:
        turned = np.empty_like(rhs)
        transposed_times(H.inverse, rhs, turned)
        for j in range(len(rhs)):
            turned[j] /= inverse_eta + H.spread[j]
        transposed_times(H.transposed, turned, out)
    elif H.refresh > 0.0:
        transposed_times(H.inverse, rhs, out)
    else:
        substitute(H.inverse, rhs, out)


# --- dense algebra, behind doors that are compiled once for all losses and penalties ---------------------------------


@compiled
def transposed_times(M, x, out):
    """``out = M' x`` by rows of M, four at a time, so that out is read and written less often."""
    d = len(x)
    out[:] = 0.0
    for i in range(0, d - 3, 4):
        a, b, c, e = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(len(out)):
            out[j] += a * M[i, j] + b * M[i + 1, j] + c * M[i + 2, j] + e * M[i + 3, j]
    for i in range(d - d % 4, d):
        for j in range(len(out)):
            out[j] += x[i] * M[i, j]


@compiled
def dot(A, B, out):
    """``out = A B``. BLAS and LAPACK take long to compile at each place that calls them: these three are the places."""
    np.dot(A, B, out)


@compiled
def eigen(M, values, vectors):
    """The eigenvalues and eigenvectors of a symmetric M."""
    found_values, found_vectors = np.linalg.eigh(M)
    values[:] = found_values
    vectors[:] = found_vectors


@compiled
def cholesky(M):
    """Replace M by its lower factor."""
    M[:] = np.linalg.cholesky(M)


@compiled
def gather(waiting, G):
    """``G += waiting' waiting``."""
    product = np.empty_like(G)
    dot(np.ascontiguousarray(waiting.T), waiting, product)
    G += product


@compiled
def take_root(G, a, roots, U, P_root_inverse):
    """The eigenvectors of G and the square roots of its eigenvalues; rounding below 0 counts as 0."""
    eigen(G, roots, U)
    for j in range(len(roots)):
        roots[j] = np.sqrt(max(roots[j], 0.0))
    for i in range(len(roots)):
        for j in range(len(roots)):
            P_root_inverse[i, j] = U[i, j] / (a + roots[j])


@compiled
def factorise(U, roots, a, inverse_eta, matrix, invert):
    """Replace Q in ``matrix`` by the factor of ``inverse_eta (a I + U diag(roots) U') + Q``, or by its inverse."""
    P = np.empty_like(matrix)
    dot(U * roots, np.ascontiguousarray(U.T), P)
    for i in range(len(roots)):
        for j in range(len(roots)):
            matrix[i, j] += inverse_eta * P[i, j]
        matrix[i, i] += inverse_eta * a
    cholesky(matrix)
    if invert:
        half = np.zeros_like(matrix)  # the inverse of the factor, row by row
        for i in range(len(roots)):
            for j in range(i):
                for k in range(j + 1):
                    half[i, k] -= matrix[i, j] * half[j, k]
            half[i, i] = 1.0
            for k in range(i + 1):
                half[i, k] /= matrix[i, i]
        dot(np.ascontiguousarray(half.T), half, matrix)


@compiled
def diagonalise(P_root_inverse, a, roots, matrix, transposed, spread):
    """Replace Q in ``matrix`` by T with ``T'P T = I`` and ``T'Q T = diag(spread)``."""
    half = P_root_inverse * np.sqrt(a + roots)  # U diag(a + roots)^{-1/2}
    product, vectors = np.empty_like(matrix), np.empty_like(matrix)
    dot(matrix, half, product)
    dot(np.ascontiguousarray(half.T), product, transposed)
    eigen(transposed, spread, vectors)
    for j in range(len(spread)):
        spread[j] = max(spread[j], 0.0)
    dot(half, vectors, matrix)
    transposed[:] = matrix.T


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
