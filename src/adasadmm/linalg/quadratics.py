"""The quadratic term Q of the w-step, and systems ``(diag(h) + Q) x = rhs``.

- ``Separable`` and ``Linearized``: a diagonal majoriser of ``beta A'A``, beside a diagonal metric and any other.
- ``Eliminated``: ``beta A'A`` itself, by sparse elimination; where a factor is dear, an old one preconditions
  conjugate gradients for some steps, since h moves slowly.
- ``Iterated``: ``beta A'A`` where elimination would fill in too much, by conjugate gradients alone.

The latter two may carry a ridge, a diagonal added to them (OADMM keeps ``gamma`` there).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.jit import generic, inlined
from . import elimination
from .elimination import Elimination
from .matrices import CSR, add_row, row_dot, to_scipy

__all__ = [
    "Eliminated",
    "Iterated",
    "Linearized",
    "Separable",
    "add_to",
    "conjugate_gradients",
    "diagonal",
    "multiply",
    "solve",
]

CG_TOLERANCE = 1e-12  # of the residual, relative: far below what a stochastic step can feel
CG_MOST = 1000
CG_FEW = 3.0  # iterations that a step with an old factor takes at least


class Linearized(NamedTuple):
    """``Q = diag(m)``."""

    m: np.ndarray


class Separable(NamedTuple):
    """``Q = diag(m)`` beside a metric that is diagonal, too."""

    m: np.ndarray


class Iterated(NamedTuple):
    """``Q = beta A'A + diag(ridge)``; ``diag`` is its diagonal."""

    A: CSR
    beta: float
    ridge: np.ndarray
    diag: np.ndarray


class Eliminated(NamedTuple):
    """The same, with a factor of ``diag(h) + Q`` for the h of this step or of an earlier one.

    A new factor costs ``price``, an iteration with the old one ``fare``, both in multiplications. A factor is made anew
    when the fares since the last one would come to its price: at most twice the cost of knowing best.
    """

    Q: Iterated
    factor: Elimination
    h: np.ndarray  # of the factor
    spent: np.ndarray  # fares since the factor was made, and that of the last step
    price: float
    fare: float


def majoriser(A: CSR) -> np.ndarray:
    """``m_j = sum_k |A_kj| sum_i |A_ki|``: then ``diag(m) - A'A`` is diagonally dominant, so never negative."""
    absolute = abs(to_scipy(A))
    return absolute.T @ absolute.sum(axis=1)


def exact(A: CSR, beta: float, ridge: np.ndarray) -> Eliminated | Iterated:
    """``beta A'A + diag(ridge)``, eliminated where that does not fill in too much."""
    plain = to_scipy(A)
    square = (plain.T @ plain).tocsr() * beta
    Q = Iterated(A, beta, ridge, square.diagonal() + ridge)
    factor = elimination.eliminate(square)
    if factor is None:
        return Q
    factor.S_diagonal[:] += ridge[factor.order]
    price = 2.0 * len(factor.row) + len(factor.target) + len(ridge)
    fare = 2.0 * len(factor.row) + 2.0 * plain.nnz + 8.0 * len(ridge)
    return Eliminated(Q, factor, np.full(len(ridge), np.nan), np.array([np.inf, 0.0]), price, fare)


def changing(Q: Any) -> dict[str, np.ndarray]:
    """The arrays that a solve writes and a later one reads, by name."""
    if not isinstance(Q, Eliminated):
        return {}
    return {"h": Q.h, "spent": Q.spent, "factor.D": Q.factor.D, "factor.L": Q.factor.L}


def fork(Q: Any) -> Any:
    """A copy that can go its own way."""
    if not isinstance(Q, Eliminated):
        return Q
    h, spent, D, L = (array.copy() for array in changing(Q).values())
    return Q._replace(h=h, spent=spent, factor=Q.factor._replace(D=D, L=L, x=Q.factor.x.copy()))


@generic
def diagonal(Q, j):
    """``Q_jj``."""


@diagonal.register
def _(Q: Linearized, j):
    return Q.m[j]


@diagonal.register
def _(Q: Iterated, j):
    return Q.diag[j]


@diagonal.register
def _(Q: Eliminated, j):
    return Q.Q.diag[j]


@generic
def multiply(Q, x, out):
    """``out = Q x``."""


@multiply.register
def _(Q: Linearized, x, out):
    for j in range(len(x)):
        out[j] = Q.m[j] * x[j]


@multiply.register
def _(Q: Eliminated, x, out):
    multiply(Q.Q, x, out)


@multiply.register
def _(Q: Iterated, x, out):
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
def _(Q: Eliminated, matrix):
    add_to(Q.Q, matrix)


@add_to.register
def _(Q: Iterated, matrix):
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
def _(Q: Iterated, h, rhs, out):
    inverse = np.empty_like(rhs)
    for j in range(len(rhs)):
        inverse[j] = 1.0 / (h[j] + Q.diag[j])
    conjugate_gradients(_Shifted(Q, h), Jacobi(inverse), rhs, out)


@solve.register
def _(Q: Eliminated, h, rhs, out):
    moved = False
    for j in range(len(h)):
        moved = moved or h[j] != Q.h[j]
    if moved and Q.spent[0] + Q.spent[1] < Q.price:
        iterations = conjugate_gradients(_Shifted(Q.Q, h), Q.factor, rhs, out)
        Q.spent[1] = Q.fare * iterations
        Q.spent[0] += Q.spent[1]
        return
    if moved:
        elimination.factorise(Q.factor, h)
        Q.h[:] = h
        Q.spent[0] = 0.0
        Q.spent[1] = Q.fare * CG_FEW
    elimination.substitute(Q.factor, rhs, out)


class _Shifted(NamedTuple):
    """``diag(h) + Q``."""

    Q: NamedTuple
    h: np.ndarray


@multiply.register
def _(S: _Shifted, x, out):
    multiply(S.Q, x, out)
    for j in range(len(x)):
        out[j] += S.h[j] * x[j]


class Jacobi(NamedTuple):
    """The inverse of a diagonal as preconditioner."""

    inverse: np.ndarray


@generic
def precondition(P, x, out):
    """``out = P x``, P near the inverse of the operator."""


@precondition.register
def _(P: Jacobi, x, out):
    for j in range(len(x)):
        out[j] = P.inverse[j] * x[j]


@precondition.register
def _(P: Elimination, x, out):
    elimination.substitute(P, x, out)


@inlined
def conjugate_gradients(operator, preconditioner, rhs, out):
    """Solve ``operator out = rhs`` from 0 to a relative residual of 1e-12; returns the number of iterations."""
    d = len(rhs)
    out[:] = 0.0
    residual = rhs.copy()
    direction, image, turned = np.empty_like(rhs), np.empty_like(rhs), np.empty_like(rhs)
    precondition(preconditioner, residual, direction)
    goal = CG_TOLERANCE * np.sqrt(np.dot(rhs, rhs))
    if not np.isfinite(goal):
        out[:] = np.nan  # a run that diverges must not look as if it stood still
        return 0
    along = np.dot(residual, direction)
    for iteration in range(CG_MOST):
        if not np.sqrt(np.dot(residual, residual)) > goal:
            return iteration
        multiply(operator, direction, image)
        step = along / np.dot(direction, image)
        for j in range(d):
            out[j] += step * direction[j]
            residual[j] -= step * image[j]
        precondition(preconditioner, residual, turned)
        following = np.dot(residual, turned)
        for j in range(d):
            direction[j] = turned[j] + following / along * direction[j]
        along = following
    return CG_MOST
