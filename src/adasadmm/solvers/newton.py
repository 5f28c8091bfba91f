"""The derivatives of psi, what the augmented Lagrangian method minimises, and Newton's system."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from .. import losses, penalties
from .._core.jit import compiled
from ..linalg import products
from ..linalg.matrices import CSR, Rows, add_row

__all__ = ["PROBE", "TINY", "Matrix", "bend_of_rows", "by_products", "prox", "pull_of_rows", "slope_of_rows", "solved"]

PROBE = 1e-6  # how far a prox is probed for its derivative, relative
TINY = float(np.finfo(float).tiny)
MORE_DIAGONAL = 0.0, 1e-13, 1e-10, 1e-7
CG_TOLERANCE, CG_MOST = 1e-3, 500


@compiled
def pull_of_rows(loss, block, Xw, u, beta_z, z, first, last, out):
    """``z``, each row's prox, and ``out += X'C s`` with the slopes s of the envelopes."""
    for i in range(first, last):
        target = Xw[i] + u[i]
        z[i] = losses.prox(loss, target, 1.0 / beta_z, block.y[i])
        slope = block.c[i] * beta_z * (target - z[i])
        if slope != 0.0:
            add_row(block.X, i, slope, out)


@compiled
def bend_of_rows(loss, block, Xw, u, beta_z, z, first, last, out):
    """How each row's prox bends, with its weight: 1 where it stands still, 0 where it follows its argument."""
    for i in range(first, last):
        target = Xw[i] + u[i]
        step = PROBE * (abs(target) + abs(target - z[i])) + TINY
        bend = 1.0 - (losses.prox(loss, target + step, 1.0 / beta_z, block.y[i]) - z[i]) / step
        out[i] = block.c[i] * min(bend, 1.0) if bend > PROBE else 0.0


@compiled
def slope_of_rows(loss, block, Xw, u, beta_z, Xp, length, first, last):
    """The derivative of the rows' part of psi along p after a step of this length, times n."""
    total = 0.0
    for i in range(first, last):
        target = Xw[i] + length * Xp[i] + u[i]
        total += block.c[i] * beta_z * (target - losses.prox(loss, target, 1.0 / beta_z, block.y[i])) * Xp[i]
    return total


@compiled
def prox(penalty, x, tau, out):
    """The penalty's prox, compiled for a caller in Python."""
    penalties.prox(penalty, x, tau, out)


class Matrix(NamedTuple):
    """``X' diag(weights) X + A' diag(edges) A + diag(ridge)``, not made."""

    X: Rows
    weights: np.ndarray
    A: CSR
    edges: np.ndarray
    ridge: np.ndarray


def solved(M: Matrix, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``M^{-1} rhs``, and the diagonal of M, to which it is scaled: features may differ by many decades."""
    matrix = products.gram(M.X, M.weights) + products.gram(M.A, M.edges)
    matrix[np.diag_indices_from(matrix)] += M.ridge
    diagonal = np.diag(matrix).copy()
    scale = 1.0 / np.sqrt(diagonal)
    matrix *= np.outer(scale, scale)
    return _by_factors(matrix, rhs * scale) * scale, diagonal


def _by_factors(matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve a positive system whose diagonal is 1; where rounding made it indefinite, with a little more there."""
    for more in MORE_DIAGONAL:
        matrix[np.diag_indices_from(matrix)] += more
        try:
            factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return scipy.linalg.cho_solve(factor, rhs, check_finite=False)
    raise np.linalg.LinAlgError("Newton's matrix is not positive")


def by_products(M: Matrix, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by conjugate gradients, where the matrix would be too large."""
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
