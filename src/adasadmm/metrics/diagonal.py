"""Metrics with one number for each coordinate, or for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..linalg import quadratics
from ._generic import apply, observe, observe_at, solve, start


class Identity(NamedTuple):
    """``H = I``, the metric of SADMM; ``a`` is not used.

    Examples
    --------
    >>> from adasadmm import AdaSADMM, Identity
    >>> AdaSADMM(Identity(), eta=0.1).metric
    Identity()
    """


class IdentityState(NamedTuple):
    h: np.ndarray


class Isotropic(NamedTuple):
    """``H_t = (a + |(g_1, ..., g_{t-1})|) I``: one scale for all, what "identity" becomes with ``eta="auto"``.

    A step size that is a distance needs a metric that counts gradients. g_t itself is left out, because all of it is
    known only when the first coordinates have moved.
    """


class IsotropicState(NamedTuple):
    h: np.ndarray
    sums: np.ndarray  # of the squares of all gradients; its root before the last


class Scaled(NamedTuple):
    """``H = diag(h)``, the same in all iterations and without ``a``: for a diagonal w-step only."""

    h: np.ndarray


class Diagonal(NamedTuple):
    """The paper's diagonal metric, ``H_t = a I + diag(s_t)``: ``s_tj^2`` is the sum of ``g_rj^2`` for r up to t.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Diagonal, metrics
    >>> state, out = metrics.start(Diagonal(), 2), np.empty(2)
    >>> metrics.observe(state, np.array([3.0, 1.0]))
    >>> metrics.observe(state, np.array([4.0, 0.0]))
    >>> metrics.apply(state, np.ones(2), out)
    >>> out
    array([5., 1.])
    """


class DiagonalState(NamedTuple):
    squares: np.ndarray
    h: np.ndarray


@start.register
def identity_start(metric: Identity, d):
    return IdentityState(np.zeros(d))


@observe.register
def identity_observe(H: IdentityState, g):
    pass


@observe_at.register
def identity_observe_at(H: IdentityState, j, g, a):
    return 1.0


@start.register
def isotropic_start(metric: Isotropic, d):
    return IsotropicState(np.zeros(d), np.zeros(2))


@observe.register
def isotropic_observe(H: IsotropicState, g):
    for j in range(len(g)):
        observe_at(H, j, g[j], 0.0)


@observe_at.register
def isotropic_observe_at(H: IsotropicState, j, g, a):
    if j == 0:
        H.sums[1] = np.sqrt(H.sums[0])
    H.sums[0] += g * g
    return a + H.sums[1]


@apply.register
def isotropic_apply(H: IsotropicState, x, out):
    for j in range(len(x)):
        out[j] = H.sums[1] * x[j]


@observe_at.register
def scaled_observe_at(H: Scaled, j, g, a):
    return H.h[j]


@apply.register
def identity_apply(H: IdentityState, x, out):
    for j in range(len(x)):
        out[j] = x[j]


@start.register
def diagonal_start(metric: Diagonal, d):
    return DiagonalState(np.zeros(d), np.zeros(d))


@observe.register
def diagonal_observe(H: DiagonalState, g):
    for j in range(len(g)):
        H.squares[j] += g[j] * g[j]


@observe_at.register
def diagonal_observe_at(H: DiagonalState, j, g, a):
    H.squares[j] += g * g
    return a + np.sqrt(H.squares[j])


@apply.register
def diagonal_apply(H: DiagonalState, x, out):
    for j in range(len(x)):
        out[j] = np.sqrt(H.squares[j]) * x[j]


@solve.register
def identity_solve(H: IdentityState, a, inverse_eta, Q, rhs, out):
    H.h[:] = inverse_eta
    quadratics.solve(Q, H.h, rhs, out)


@solve.register
def isotropic_solve(H: IsotropicState, a, inverse_eta, Q, rhs, out):
    H.h[:] = inverse_eta * (a + H.sums[1])
    quadratics.solve(Q, H.h, rhs, out)


@solve.register
def diagonal_solve(H: DiagonalState, a, inverse_eta, Q, rhs, out):
    for j in range(len(rhs)):
        H.h[j] = inverse_eta * (a + np.sqrt(H.squares[j]))
    quadratics.solve(Q, H.h, rhs, out)
