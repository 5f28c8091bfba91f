"""The quadratic term Q of the w-step, and systems ``(diag(h) + Q) x = rhs``.

- ``Linearized``: a diagonal majoriser of ``beta A'A``. Nothing to solve.
- ``Exact``: ``beta A'A`` itself, by conjugate gradients.
- ``Spectral``: ``beta A'A`` by its eigenvectors, where ``h`` is one number for all coordinates.

Each may carry a ridge, a diagonal added to it (OADMM keeps ``gamma`` there).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._jit import generic, inlined
from .matrices import CSR, add_row, gram, row_dot, to_scipy

__all__ = ["Exact", "Linearized", "Spectral", "add_to", "conjugate_gradients", "diagonal", "multiply", "solve"]

CG_TOLERANCE = 1e-12  # of the residual, relative: far below what a stochastic step can feel
CG_MOST = 1000
SPECTRAL_MOST = 256  # beyond this d two products with the eigenvectors cost more than conjugate gradients


class Linearized(NamedTuple):
    """``Q = diag(m)``."""

    m: np.ndarray


class Exact(NamedTuple):
    """``Q = beta A'A + diag(ridge)``; ``diag`` is its diagonal."""

    A: CSR
    beta: float
    ridge: np.ndarray
    diag: np.ndarray


class Spectral(NamedTuple):
    """``Q = U diag(values) U'``."""

    values: np.ndarray
    U: np.ndarray


def majoriser(A: CSR) -> np.ndarray:
    """``m_j = sum_k |A_kj| sum_i |A_ki|``: then ``diag(m) - A'A`` is diagonally dominant, so never negative."""
    absolute = abs(to_scipy(A))
    return absolute.T @ absolute.sum(axis=1)


def exact(A: CSR, beta: float, ridge: np.ndarray) -> Exact:
    squares = to_scipy(A).power(2).sum(axis=0)
    return Exact(A, beta, ridge, beta * np.asarray(squares).reshape(-1) + ridge)


def spectral(A: CSR, beta: float, ridge: np.ndarray) -> Spectral:
    values, U = np.linalg.eigh(beta * gram(A, np.ones(A.shape[0])) + np.diag(ridge))
    return Spectral(np.maximum(values, 0.0), np.ascontiguousarray(U))


@generic
def diagonal(Q, j):
    """``Q_jj``."""


@diagonal.register
def _(Q: Linearized, j):
    return Q.m[j]


@diagonal.register
def _(Q: Exact, j):
    return Q.diag[j]


@generic
def multiply(Q, x, out):
    """``out = Q x``."""


@multiply.register
def _(Q: Linearized, x, out):
    for j in range(len(x)):
        out[j] = Q.m[j] * x[j]


@multiply.register
def _(Q: Exact, x, out):
    for j in range(len(x)):
        out[j] = Q.ridge[j] * x[j]
    for k in range(len(Q.A.indptr) - 1):
        along = row_dot(Q.A, k, x)
        if along != 0.0:
            add_row(Q.A, k, Q.beta * along, out)


@generic
def add_to(Q, matrix):
    """``matrix += Q`` for a dense matrix."""


@add_to.register
def _(Q: Linearized, matrix):
    for j in range(len(Q.m)):
        matrix[j, j] += Q.m[j]


@add_to.register
def _(Q: Exact, matrix):
    for j in range(len(Q.ridge)):
        matrix[j, j] += Q.ridge[j]
    A = Q.A
    for k in range(len(A.indptr) - 1):
        for p in range(A.indptr[k], A.indptr[k + 1]):
            add_row(A, k, Q.beta * A.data[p], matrix[A.indices[p]])


@generic
def solve(Q, h, rhs, out):
    """Solve ``(diag(h) + Q) out = rhs``."""


@solve.register
def _(Q: Linearized, h, rhs, out):
    for j in range(len(rhs)):
        out[j] = rhs[j] / (h[j] + Q.m[j])


@solve.register
def _(Q: Exact, h, rhs, out):
    inverse = np.empty_like(rhs)
    for j in range(len(rhs)):
        inverse[j] = 1.0 / (h[j] + Q.diag[j])
    conjugate_gradients(_Shifted(Q, h), inverse, rhs, out)


@solve.register
def _(Q: Spectral, h, rhs, out):
    d = len(rhs)
    out[:] = 0.0
    turned = np.zeros_like(rhs)
    for i in range(d):
        for j in range(d):
            turned[j] += Q.U[i, j] * rhs[i]
    for j in range(d):
        turned[j] /= h[0] + Q.values[j]  # h is constant: Spectral serves multiples of the identity only
    for i in range(d):
        for j in range(d):
            out[i] += Q.U[i, j] * turned[j]


class _Shifted(NamedTuple):
    """``diag(h) + Q``."""

    Q: NamedTuple
    h: np.ndarray


@multiply.register
def _(S: _Shifted, x, out):
    multiply(S.Q, x, out)
    for j in range(len(x)):
        out[j] += S.h[j] * x[j]


@inlined
def conjugate_gradients(operator, inverse_diagonal, rhs, out):
    """Solve ``operator out = rhs`` from 0, preconditioned by a diagonal, to a relative residual of 1e-12."""
    d = len(rhs)
    out[:] = 0.0
    residual = rhs.copy()
    direction = inverse_diagonal * residual
    image = np.empty_like(rhs)
    goal = CG_TOLERANCE * np.sqrt(np.dot(rhs, rhs))
    if not np.isfinite(goal):
        out[:] = np.nan  # a run that diverges must not look as if it stood still
        return
    along = np.dot(residual, direction)
    for _ in range(CG_MOST):
        if not np.sqrt(np.dot(residual, residual)) > goal:
            break
        multiply(operator, direction, image)
        step = along / np.dot(direction, image)
        following = 0.0
        for j in range(d):
            out[j] += step * direction[j]
            residual[j] -= step * image[j]
            following += residual[j] * residual[j] * inverse_diagonal[j]
        for j in range(d):
            direction[j] = inverse_diagonal[j] * residual[j] + following / along * direction[j]
        along = following
