"""Degrees of freedom of a fit: the trace of the matrix that maps targets to predictions, on the fused design.

With M a basis of the points that have the zeros of the solution, ``X_c = X M`` the contracted design, and
``W = diag(c loss'')``, the degrees of freedom are

    tr[X_c (X_c'W X_c + n (M'diag(gamma) M + M'A' phi'' A M))^-1 X_c'W],

where phi'' is the second derivative of the penalty at the entries that are not 0. For the squared loss without a ridge
and an L1 penalty that is the rank of X_c: for the fused lasso of a signal, the number of pieces.

Reference: R. J. Tibshirani, J. Taylor, Degrees of freedom in lasso problems, Annals of Statistics 40, 2012.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from .. import losses, penalties
from .._core.jit import is_registered, unwrapped
from .._core.threads import one_blas_thread
from ..linalg.joined import clusters_of, null_space
from ..problem import Problem
from ..rows import products
from ..rows.matrices import CSR, Dense, Rows, WithIntercept, as_rows, innermost, plain, to_scipy
from ..rows.selections import combined_columns

__all__ = ["MOST", "TooLarge", "degrees_of_freedom", "zero_rows"]

ROUNDING = 1e-12
RANK = 1e-10  # of the largest eigenvalue, in units in which the diagonal is 1
MOST = 3000  # rows and columns of a dense matrix
SMOOTH = (penalties.L2Squared, penalties.Zero)
KINKED = (penalties.L1, penalties.GroupL2, penalties.ElasticNet)
FEASIBLE = (penalties.Box, penalties.NonNegative)


class TooLarge(Exception):
    """The matrices would need too much memory."""


class Curvature(NamedTuple):
    """The contracted design, the weights of its rows, and n times the second derivative of ridge and penalty.

    ``gram`` is the weighted Gram matrix of the contracted design, where that is known without the design.
    """

    X: Rows
    weights: np.ndarray
    penalty: sp.csr_array
    gram: np.ndarray | None = None


def zero_rows(problem: Problem, w: np.ndarray, apart: float = 0.0) -> np.ndarray:
    """The rows in which ``A w - b`` is held: at 0, where a penalty has its kink, or at a bound.

    Rows count as held up to ``apart``, in units of the largest coefficient; up to rounding, if it is 0.
    """
    A = to_scipy(problem.A)
    v = A @ w - problem.b
    sizes, largest = abs(A) @ np.abs(w) + np.abs(problem.b), abs(A).max(axis=1).toarray().reshape(-1)
    limit = apart * np.max(np.abs(w), initial=0.0) * largest + ROUNDING * sizes
    held = np.zeros(problem.m, dtype=bool)
    for part, rows in penalties.parts_of(problem.penalty, problem.p):
        if isinstance(part, penalties.NonNegative):
            held[rows] = v[rows] <= limit[rows]
        elif isinstance(part, penalties.Box):
            near = (np.abs(v[rows] - part.lower), np.abs(v[rows] - part.upper))
            held[rows] = np.minimum(*near) <= limit[rows]
        elif isinstance(part, KINKED) and part.nu > 0.0:
            held[rows] = np.abs(v[rows]) <= limit[rows]
            if isinstance(part, penalties.GroupL2):
                for group in part.groups:
                    held[rows[group]] = held[rows[group]].all()
    return held


@one_blas_thread()
def degrees_of_freedom(
    problem: Problem, w: np.ndarray, apart: float = 0.0, refitted: bool = False, most: int = MOST
) -> tuple[float | None, str]:
    """The degrees of freedom of the fit w; None, with the reason, if they are not defined or cannot be computed.

    ``apart`` as in `zero_rows`. With ``refitted``, w was estimated again without the penalty, but with its zeros. The
    intercept, a column of X, is counted. No dense matrix is decomposed with more than ``most`` rows and columns; where
    a ``most`` below the default is too small, `TooLarge` is raised, since more time may do.
    """
    reason = _why_not(problem)
    if reason:
        return None, reason
    held = zero_rows(problem, w, apart)
    weights, slopes = np.empty(problem.n), np.empty(problem.n)
    losses.derivatives(problem.loss, problem.predictions(w), problem.rows.y, problem.rows.c, slopes, weights)
    try:
        counted = _counted(problem, held, weights, refitted)
        if counted is None:
            v = None if refitted else to_scipy(problem.A) @ w - problem.b
            counted = _trace(_contracted(problem, v, held, weights, most), most)
        return counted, ""
    except TooLarge:
        if most < MOST:
            raise
        size = f"{problem.n} rows and {problem.d} coefficients"
        return None, f"{size} need matrices too large for the degrees of freedom"


def _why_not(problem: Problem) -> str:
    if problem.source is not None:
        return "the rows are in a source, and the degrees of freedom need them in memory"
    loss = unwrapped(problem.loss)
    if losses.width(problem.loss) > 1:
        return f"the degrees of freedom are not known for {type(loss).__name__}, a loss of several predictions"
    if not is_registered(losses.second, problem.loss) or isinstance(loss, (losses.Huber, losses.SquaredHinge)):
        return f"{type(loss).__name__} is not a likelihood"
    for part, _ in penalties.parts_of(problem.penalty, problem.p):
        if not isinstance(part, (*SMOOTH, *KINKED, *FEASIBLE)):
            return f"the second derivative of the penalty {type(part).__name__} is not known"
    if problem.B is not None or problem.w_set is not None:
        return "the degrees of freedom need B = -I and no w_set"
    return ""


def _is_flat(problem: Problem) -> bool:
    """Whether the penalty has no second derivative away from its kinks."""
    parts = [part for part, _ in penalties.parts_of(problem.penalty, problem.p)]
    return not any(isinstance(part, (penalties.L2Squared, penalties.ElasticNet, penalties.GroupL2)) for part in parts)


def _counted(problem: Problem, held: np.ndarray, weights: np.ndarray, refitted: bool) -> float | None:
    """The degrees of freedom where they are the dimension of the null space, since X is diagonal; else None."""
    x = problem.diagonal
    if (
        x is None
        or isinstance(problem.rows.X, WithIntercept)
        or problem.has_ridge
        or not (refitted or _is_flat(problem))
    ):
        return None
    if not (weights > 0.0).all() or not x.all():
        return None
    A = to_scipy(problem.A)[held]
    found = clusters_of(A)
    if found is not None:
        return float(found.number - len(np.unique(found.single)))
    first = A.indices[A.indptr[:-1]] if (np.diff(A.indptr) > 0).all() else np.zeros(1)
    if len(first) and (np.diff(first) > 0).all():  # a staircase: the rows are linearly independent
        return float(problem.d - len(first))
    return None


def _contracted(problem: Problem, v: np.ndarray | None, held: np.ndarray, weights: np.ndarray, most: int) -> Curvature:
    """The problem in a basis of the points with these zeros; without a v, the penalty has no curvature."""
    A, has_intercept = to_scipy(problem.A), isinstance(problem.rows.X, WithIntercept)
    zero = A[held]
    alone = has_intercept and not zero[:, [-1]].nnz
    inner = zero[:, :-1] if alone else zero
    if clusters_of(inner) is None and inner.shape[1] > most:
        raise TooLarge
    basis = null_space(inner)
    members = sp.csr_array(sp.block_diag([basis, [[1.0]]])) if alone else basis
    ridge = members.T @ sp.diags_array(problem.gamma) @ members
    bent = A @ members
    curved = sp.csr_array(problem.n * (ridge + bent.T @ _second_derivative(problem, v, held) @ bent))
    if problem.d <= min(problem.n, most) and isinstance(innermost(problem.rows.X), Dense):
        gram = members.T @ products.gram(problem.rows.X, weights) @ members  # the design would be a copy of all rows
        return Curvature(problem.rows.X, weights, curved, gram)
    X = combined_columns(problem.rows.X, members) if alone or not has_intercept else None
    if X is None:  # the intercept is bound to other coefficients
        X = as_rows(plain(problem.rows.X) @ members)
    return Curvature(X, weights, curved)


def _second_derivative(problem: Problem, v: np.ndarray | None, held: np.ndarray) -> sp.csr_array:
    """phi'' at v, in the rows that are not held; 0 without a v."""
    if v is None:
        return sp.csr_array((problem.m, problem.m))
    found = sp.lil_array((problem.m, problem.m))
    diagonal = np.zeros(problem.m)
    for part, rows in penalties.parts_of(problem.penalty, problem.p):
        if isinstance(part, penalties.L2Squared):
            diagonal[rows] = part.nu
        elif isinstance(part, penalties.ElasticNet):
            diagonal[rows] = np.where(held[rows] | (v[rows] == 0.0), 0.0, part.nu * (1.0 - part.l1_ratio))
        elif isinstance(part, penalties.GroupL2):
            shares = np.ones(len(part.groups)) if part.weights is None else part.weights
            for group, share in zip(part.groups, shares, strict=True):
                own = rows[group]
                size = float(np.linalg.norm(v[own]))
                if size > 0.0 and not held[own].all():
                    u = v[own] / size
                    found[np.ix_(own, own)] = part.nu * share / size * (np.eye(len(own)) - np.outer(u, u))
    return sp.csr_array(found) + sp.diags_array(diagonal, format="csr")


def _trace(curved: Curvature, most: int) -> float:
    """``tr[S (S + P)^-1]`` with ``S = X_c'W X_c`` and the curvature P of the penalty; the rank of S if P is 0."""
    X, weights, P, S = curved
    n, k, diagonal = X.shape[0], P.shape[0], P.diagonal()
    off = P - sp.diags_array(diagonal)
    is_diagonal = not np.any(off.data)
    if k == 0:
        return 0.0
    if is_diagonal and isinstance(X, CSR) and _is_orthogonal(X):
        own = products.gram_diagonal(X, weights)
        return float(np.sum(own / np.where(own + diagonal > 0.0, own + diagonal, 1.0)))
    if k > most or (is_diagonal and n < k and np.count_nonzero(diagonal) >= k - 1):
        return _trace_over_rows(curved, diagonal, is_diagonal, most)
    S = products.gram(X, weights) if S is None else S
    total = S + P.toarray()
    scale = 1.0 / np.sqrt(np.where(np.diag(total) > 0.0, np.diag(total), 1.0))
    S, total = scale[:, None] * S * scale, scale[:, None] * total * scale
    values, vectors = scipy.linalg.eigh(total)
    kept = values > RANK * values[-1]
    if not P.nnz or not np.any(P.data):
        return float(np.count_nonzero(kept))
    turned = vectors[:, kept]
    return float(np.sum(np.einsum("ij,ij->j", turned, S @ turned) / values[kept]))


def _trace_over_rows(curved: Curvature, diagonal: np.ndarray, is_diagonal: bool, most: int) -> float:
    """The same by an n x n matrix, if the penalty's curvature is diagonal."""
    X, weights = curved.X, curved.weights
    if X.shape[0] > most or not is_diagonal:
        raise TooLarge
    own = products.gram_diagonal(X, weights)
    ridge = np.where(diagonal > 0.0, diagonal, RANK * np.where(own > 0.0, own, 1.0))  # of an intercept
    dense = plain(X)
    dense = dense.toarray() if sp.issparse(dense) else dense
    half = np.sqrt(weights)[:, None] * dense / np.sqrt(ridge)
    values = np.maximum(scipy.linalg.eigvalsh(half @ half.T), 0.0)
    return float(np.sum(values / (1.0 + values)))


def _is_orthogonal(X: CSR) -> bool:
    """Whether no row has two entries, so that X'WX is diagonal."""
    return bool((np.diff(X.indptr) <= 1).all())
