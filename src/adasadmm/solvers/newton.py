"""The derivatives of psi, the function that the augmented Lagrangian method minimises, and Newton's system."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from .. import losses, penalties
from .._core.jit import compiled
from ..linalg import products
from ..linalg.matrices import CSR, Rows
from ..linalg.rows import add_row
from ..sources.blocks import Block

__all__ = [
    "PROBE",
    "TINY",
    "Envelopes",
    "Matrix",
    "curvature_of_rows",
    "line_search",
    "prox",
    "pull_of_rows",
    "slope_of_rows",
    "solve",
]

PROBE = 1e-6  # the relative step of the difference quotient that gives the derivative of a prox
TINY = float(np.finfo(float).tiny)
MORE_DIAGONAL = 0.0, 1e-13, 1e-10, 1e-7
CG_TOLERANCE, CG_MOST = 1e-3, 500
FLAT, TRIALS = 0.3, 30  # a line search ends where the slope is this part of the first one, or after so many trials
DENSE_FEATURES = 2000  # up to which the matrix is formed and factored


class Envelopes(NamedTuple):
    """The Moreau envelope of each row's loss, at ``X w + u``."""

    loss: tuple
    block: Block
    Xw: np.ndarray
    u: np.ndarray
    beta_z: float


@compiled
def pull_of_rows(e, z, d, rows):
    """Write each row's prox to ``z``; returns ``X'C s`` with the slopes s of the envelopes. ``rows`` is a slice."""
    out = np.zeros(d)
    for i in range(rows.start, rows.stop):
        target = e.Xw[i] + e.u[i]
        z[i] = losses.prox(e.loss, target, 1.0 / e.beta_z, e.block.y[i])
        slope = e.block.c[i] * e.beta_z * (target - z[i])
        if slope != 0.0:
            add_row(e.block.X, i, slope, out)
    return out


@compiled
def curvature_of_rows(e, z, out, rows):
    """The second derivative of each row's envelope over beta_z, with its weight: 1 - the derivative of the prox."""
    for i in range(rows.start, rows.stop):
        target = e.Xw[i] + e.u[i]
        step = PROBE * (abs(target) + abs(target - z[i])) + TINY
        curvature = 1.0 - (losses.prox(e.loss, target + step, 1.0 / e.beta_z, e.block.y[i]) - z[i]) / step
        out[i] = e.block.c[i] * min(curvature, 1.0) if curvature > PROBE else 0.0


@compiled
def slope_of_rows(e, Xp, length, rows):
    """The derivative of the rows' part of psi along p after a step of this length, times n."""
    total = 0.0
    for i in range(rows.start, rows.stop):
        target = e.Xw[i] + length * Xp[i] + e.u[i]
        z = losses.prox(e.loss, target, 1.0 / e.beta_z, e.block.y[i])
        total += e.block.c[i] * e.beta_z * (target - z) * Xp[i]
    return total


@compiled
def prox(penalty, x, tau, out):
    """The penalty's prox, compiled for a caller in Python."""
    penalties.prox(penalty, x, tau, out)


class Matrix(NamedTuple):
    """``X' diag(weights) X + A' diag(edges) A + diag(ridge)``, by its factors."""

    X: Rows
    weights: np.ndarray
    A: CSR
    edges: np.ndarray
    ridge: np.ndarray


def solve(M: Matrix, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``M^{-1} rhs``, and the diagonal of M: by a Cholesky factor or, for many features, by conjugate gradients."""
    return _by_factors(M, rhs) if len(rhs) <= DENSE_FEATURES else _by_products(M, rhs)


def _by_factors(M: Matrix, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matrix is scaled to a unit diagonal: features may differ by many decades."""
    matrix = products.gram(M.X, M.weights) + products.gram(M.A, M.edges)
    matrix[np.diag_indices_from(matrix)] += M.ridge
    diagonal = np.diag(matrix).copy()
    scale = 1.0 / np.sqrt(diagonal)
    matrix *= np.outer(scale, scale)
    return _solve_positive(matrix, rhs * scale) * scale, diagonal


def _solve_positive(matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve a positive system with a unit diagonal; if rounding made it indefinite, with a larger diagonal."""
    for more in MORE_DIAGONAL:
        matrix[np.diag_indices_from(matrix)] += more
        try:
            factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return scipy.linalg.cho_solve(factor, rhs, check_finite=False)
    raise np.linalg.LinAlgError("Newton's matrix is not positive")


def _by_products(M: Matrix, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Conjugate gradients with a diagonal preconditioner: the matrix itself would be too large."""
    d = len(rhs)
    diagonal = M.ridge + products.gram_diagonal(M.X, M.weights) + products.gram_diagonal(M.A, M.edges)

    def product(x: np.ndarray) -> np.ndarray:
        total = M.ridge * x
        for rows, weights in ((M.X, M.weights), (M.A, M.edges)):
            along, back = np.empty(len(weights)), np.empty(d)
            products.product(rows, x, along)
            products.transposed_product(rows, weights * along, back)
            total += back
        return total

    operator, inverse = (
        scipy.sparse.linalg.LinearOperator((d, d), matvec=matvec, dtype=float)
        for matvec in (product, lambda x: x / diagonal)
    )
    return scipy.sparse.linalg.cg(operator, rhs, rtol=CG_TOLERANCE, maxiter=CG_MOST, M=inverse)[0], diagonal


def line_search(slope: Callable[[float], float], slope_low: float, slope_high: float) -> float:
    """A length between 0 and 1 at which the slope is small, by secant steps with a bisection every third time."""
    low, high, first_slope = 0.0, 1.0, slope_low
    for trial in range(TRIALS):
        secant = slope_low / (slope_low - slope_high)
        length = low + (high - low) * (0.5 if trial % 3 == 2 else min(max(secant, 0.1), 0.9))
        found = slope(length)
        if abs(found) <= -FLAT * first_slope:
            return length
        if found > 0.0:
            high, slope_high = length, found
        else:
            low, slope_low = length, found
    return low or length
