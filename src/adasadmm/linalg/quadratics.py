"""The quadratic term Q of the w-step, and systems ``(diag(h) + Q) x = rhs``.

- ``Separable`` and ``Linearized``: a diagonal majoriser of ``beta A'A``, the former for diagonal metrics, the latter
  for all others.
- ``Eliminated``: ``beta A'A`` itself, by a sparse factor. Since h changes slowly, a factor of an earlier h serves as
  preconditioner of conjugate gradients for some steps where a new one would be expensive.
- ``Iterated``: ``beta A'A`` by conjugate gradients alone, where a factor would have too much fill-in.

The latter two may include a ridge, a diagonal that is added to ``beta A'A`` (OADMM keeps ``gamma`` there).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import generic, inlined
from ..rows.kernels import add_row, row_dot
from ..rows.matrices import CSR, to_scipy
from . import elimination
from .elimination import Elimination

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

CG_TOLERANCE = 1e-12  # of the relative residual: far below the noise of a stochastic step
CG_MOST = 1000
CG_FEW = 3.0  # iterations assumed for the next step when a factor has just been computed


class Linearized(NamedTuple):
    """``Q = diag(m)`` with a metric that is not diagonal."""

    m: np.ndarray


class Separable(NamedTuple):
    """``Q = diag(m)`` with a diagonal metric: the w-step is separable."""

    m: np.ndarray


class Iterated(NamedTuple):
    """``Q = beta A'A + diag(ridge)``; ``diag`` is its diagonal."""

    A: CSR
    beta: float
    ridge: np.ndarray
    diag: np.ndarray


class Eliminated(NamedTuple):
    """The same, with a factor of ``diag(h) + Q`` for the h of this step or of an earlier one.

    A new factor costs ``price``, an iteration with the old one ``fare``, both in multiplications. The factor is
    recomputed when the fares since the last one would reach its price. As in the ski-rental problem, this costs at most
    twice as much as the best choice in hindsight.
    """

    Q: Iterated
    factor: Elimination
    h: np.ndarray  # for which the factor was computed
    spent: np.ndarray  # fares since then, and the fare of the last step
    price: float
    fare: float


Quadratic = Separable | Linearized | Iterated | Eliminated


def majoriser(A: CSR) -> np.ndarray:
    """``m_j = sum_k |A_kj| sum_i |A_ki|``: ``diag(m) - A'A`` is diagonally dominant, so positive semidefinite."""
    absolute = abs(to_scipy(A))
    return absolute.T @ absolute.sum(axis=1)


def exact(A: CSR, beta: float, ridge: np.ndarray) -> Eliminated | Iterated:
    """``beta A'A + diag(ridge)``, with a sparse factor unless that has too much fill-in."""
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


def changing(Q: Quadratic) -> dict[str, np.ndarray]:
    """The arrays that a solve writes and a later solve reads, by name: the state of Q."""
    if not isinstance(Q, Eliminated):
        return {}
    return {"h": Q.h, "spent": Q.spent, "factor.D": Q.factor.D, "factor.L": Q.factor.L}


def fork(Q: Quadratic) -> Quadratic:
    """A copy with a state of its own."""
    if not isinstance(Q, Eliminated):
        return Q
    h, spent, D, L = (array.copy() for array in changing(Q).values())
    return Q._replace(h=h, spent=spent, factor=Q.factor._replace(D=D, L=L, x=Q.factor.x.copy()))


@generic
def diagonal(Q, j: int):
    """``Q_jj``."""


@diagonal.register
def linearized_diagonal(Q: Linearized, j: int) -> float:
    return Q.m[j]


@diagonal.register
def iterated_diagonal(Q: Iterated, j: int) -> float:
    return Q.diag[j]


@diagonal.register
def eliminated_diagonal(Q: Eliminated, j: int) -> float:
    return Q.Q.diag[j]


@generic
def multiply(Q, x: np.ndarray, out: np.ndarray):
    """``out = Q x``."""


@multiply.register
def linearized_multiply(Q: Linearized, x: np.ndarray, out: np.ndarray) -> None:
    for j in range(len(x)):
        out[j] = Q.m[j] * x[j]


@multiply.register
def eliminated_multiply(Q: Eliminated, x: np.ndarray, out: np.ndarray) -> None:
    multiply(Q.Q, x, out)


@multiply.register
def iterated_multiply(Q: Iterated, x: np.ndarray, out: np.ndarray) -> None:
    for j in range(len(x)):
        out[j] = Q.ridge[j] * x[j]
    for k in range(len(Q.A.indptr) - 1):
        along = row_dot(Q.A, k, x)
        if along != 0.0:
            add_row(Q.A, k, Q.beta * along, out)


@generic
def add_to(Q, matrix: np.ndarray):
    """``matrix += Q`` for a dense matrix."""


@add_to.register
def linearized_add_to(Q: Linearized, matrix: np.ndarray) -> None:
    for j in range(len(Q.m)):
        matrix[j, j] += Q.m[j]


@add_to.register
def eliminated_add_to(Q: Eliminated, matrix: np.ndarray) -> None:
    add_to(Q.Q, matrix)


@add_to.register
def iterated_add_to(Q: Iterated, matrix: np.ndarray) -> None:
    for j in range(len(Q.ridge)):
        matrix[j, j] += Q.ridge[j]
    A = Q.A
    for k in range(len(A.indptr) - 1):
        for p in range(A.indptr[k], A.indptr[k + 1]):
            add_row(A, k, Q.beta * A.data[p], matrix[A.indices[p]])


@generic
def solve(Q, h: np.ndarray, rhs: np.ndarray, out: np.ndarray):
    """Solve ``(diag(h) + Q) out = rhs``."""


@solve.register
def iterated_solve(Q: Iterated, h: np.ndarray, rhs: np.ndarray, out: np.ndarray) -> None:
    inverse = np.empty_like(rhs)
    for j in range(len(rhs)):
        inverse[j] = 1.0 / (h[j] + Q.diag[j])
    conjugate_gradients(_Shifted(Q, h), Jacobi(inverse), rhs, out)


@solve.register
def eliminated_solve(Q: Eliminated, h: np.ndarray, rhs: np.ndarray, out: np.ndarray) -> None:
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
        for j in range(len(h)):  # numba's assignment of an array takes seconds to compile, because of its error message
            Q.h[j] = h[j]
        Q.spent[0] = 0.0
        Q.spent[1] = Q.fare * CG_FEW
    elimination.substitute(Q.factor, rhs, out)


class _Shifted(NamedTuple):
    """``diag(h) + Q``."""

    Q: Iterated
    h: np.ndarray


@multiply.register
def _shifted_multiply(S: _Shifted, x: np.ndarray, out: np.ndarray) -> None:
    multiply(S.Q, x, out)
    for j in range(len(x)):
        out[j] += S.h[j] * x[j]


class Jacobi(NamedTuple):
    """The Jacobi preconditioner: the inverse of the diagonal."""

    inverse: np.ndarray


@generic
def precondition(P, x: np.ndarray, out: np.ndarray):
    """``out = P x``, where P approximates the inverse of the operator."""


@precondition.register
def jacobi_precondition(P: Jacobi, x: np.ndarray, out: np.ndarray) -> None:
    for j in range(len(x)):
        out[j] = P.inverse[j] * x[j]


@precondition.register
def elimination_precondition(P: Elimination, x: np.ndarray, out: np.ndarray) -> None:
    elimination.substitute(P, x, out)


@inlined
def conjugate_gradients(operator, preconditioner, rhs: np.ndarray, out: np.ndarray) -> int:
    """Solve ``operator out = rhs`` from 0 to a relative residual of 1e-12; returns the number of iterations."""
    d = len(rhs)
    out[:] = 0.0
    residual = rhs.copy()
    direction, image, turned = np.empty_like(rhs), np.empty_like(rhs), np.empty_like(rhs)
    precondition(preconditioner, residual, direction)
    goal = CG_TOLERANCE * np.sqrt(np.dot(rhs, rhs))
    if not np.isfinite(goal):
        out[:] = np.nan  # otherwise w would not move, and a diverging run would look like a converged one
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
