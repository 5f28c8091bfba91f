"""What a dual point out of balance proves where a coefficient has neither a ridge nor bounds.

There the dual value needs ``q = X'(c s)/n - A'theta`` to be 0, and in floating point q is only small. For an optimum w*
the lower bound is then ``D + <q, w*>`` instead of D, and ``|<q, w*>|`` is small only if w* is not large. How large w*
can be follows from the columns. Predictions of the size of z and differences ``A w`` that the objective can pay for
leave no room for a large w*, unless the columns are nearly collinear:

    |<q, w*>|  <=  |M^{-T} q| |M w*|  <=  |q / norms| size(z) / weakest,    M = (X sqrt(c/n), A nu size(z)/excess),

where ``weakest`` is the least singular value of M with its columns scaled to norm 1. Directions in which M is exactly 0
do not count: q is orthogonal to them for every s and theta. Columns that agree in all but their last digits are another
matter. Nobody knows from rounded products how far their optimum is, so there is no proof.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from .. import penalties
from ..linalg.systems import system_for
from ..problem import Problem
from ..rows import products
from ..rows.matrices import CSR, Rows, is_streamed, plain, to_scipy
from ..rows.products import largest_entry
from .domains import Bounds
from .repair import Free, free_coordinates

__all__ = ["COLLINEAR", "cost_of_imbalance", "rounding_of"]

COLLINEAR = (
    "no proof is possible: the columns of X are collinear up to rounding errors and their coefficients have no ridge; "
    "drop columns, or add a small ridge"
)
ULPS = 4 * np.finfo(float).eps
BEYOND = 3.0  # predictions at the optimum may be larger than those at w, by this factor
INDEPENDENT = 1e-3  # a least singular value of X alone with which A need not be looked at
TALL = 2  # rows for each column: with fewer, X alone is rarely as well conditioned
UNKNOWN = 1e-13  # times the number of columns: eigenvalues below it may be 0
MOST_COLUMNS = 1500  # of an eigendecomposition; with more columns, inverse iteration finds the least eigenvalue
ITERATIONS = 12
SHARE_PROVED = 0.5  # of an estimated eigenvalue
FAR = 1e100  # a multiplier of this size lies in the domain of the penalty only if all do


def rounding_of(problem: Problem, w: np.ndarray, s: np.ndarray) -> float:
    """How far rounding errors of ``X w`` may move the loss."""
    return ULPS * largest_entry(s) * float(problem.column_sizes[0] @ np.abs(w))


def cost_of_imbalance(
    problem: Problem, w: np.ndarray, s: np.ndarray, theta: np.ndarray, q: np.ndarray, bounds: Bounds
) -> float:
    """A bound of ``-<q, w*>`` over the unbounded coordinates; infinite if their columns are nearly collinear."""
    free = free_coordinates(problem, bounds)
    rounding = largest_entry(s) * problem.column_sizes[0][free.chosen]
    if len(free.A.data):  # edges may differ in their units, unlike rows
        rounding += abs(to_scipy(free.A)).T @ np.abs(theta)
    off = np.abs(q[free.chosen]) + ULPS * rounding
    if not off.any():
        return 0.0
    z = largest_entry(problem.last_products.of(w))
    # The penalty at the optimum is at most the whole excess; with a general B it is not used.
    excess = (problem.objective(w) if problem.B is None else problem.loss_at(w)[0]) - problem.least_loss
    if not excess > 0.0 or not s.any():  # no model is better, or s = 0 bounds the loss from below as it is
        return 0.0
    z = max(z, excess / largest_entry(s))
    norms, weakest = _conditioning(problem, free, z / excess)
    counted = norms > 0.0
    if weakest == 0.0 or off[~counted].any():
        return math.inf
    return BEYOND * z / weakest * float(np.linalg.norm(off[counted] / norms[counted]))


def _conditioning(problem: Problem, free: Free, per_edge: float) -> tuple[np.ndarray, float]:
    """The norms of the columns of M, and its least singular value after a division by them; 0 if it is not known."""
    known = problem.of_coordinates.setdefault("conditioning", {})
    n, d = free.X.shape
    if n >= TALL * d and _is_enough(of_X := _of_rows(problem, free, known)):
        return of_X
    # The power of 10 is near enough, and does not change from one iteration to the next.
    limits = np.minimum(10.0 ** np.floor(np.log10(per_edge)) * _limits(problem), _balanced_limits(problem, free))
    key = limits.tobytes()
    if key not in known:
        known[key] = _weakest(free.X, free.A, problem.rates, limits * limits)
    # Beside A, columns of X that are equal may no longer be seen to be so.
    if known[key][1] == 0.0 and d <= n < TALL * d and _is_enough(of_X := _of_rows(problem, free, known)):
        return of_X
    return known[key]


def _of_rows(problem: Problem, free: Free, known: dict[Any, tuple[np.ndarray, float]]) -> tuple[np.ndarray, float]:
    """The same for X alone."""
    if "X" not in known:
        known["X"] = _weakest(free.X, free.A, problem.rates, np.zeros(problem.m))
    return known["X"]


def _is_enough(of_X: tuple[np.ndarray, float]) -> bool:
    """Whether A need not be looked at."""
    norms, weakest = of_X
    return weakest >= INDEPENDENT and bool(norms.all())


def _limits(problem: Problem) -> np.ndarray:
    """The cost of a unit of each entry of ``A w``; 0 where a multiplier cannot be told from the domain alone."""
    if problem.B is not None:
        return np.zeros(problem.m)
    far = np.full(problem.m, FAR)
    limits = np.minimum(*(np.abs(penalties.domain(problem.penalty, end)) for end in (far, -far)))
    finite = limits < 1e-3 * FAR
    return np.where(finite, limits, limits[finite].max(initial=0.0) or 1.0)


def _balanced_limits(problem: Problem, free: Free) -> np.ndarray:
    """Weights with which no row of A is larger than the columns of X that it joins.

    A smaller weight than an objective can pay for is allowed as well. A larger one only hides the rows of X: beside a
    strong penalty they would be lost in rounding errors. Columns without entries count as those of usual size.
    """
    norms = np.sqrt(products.gram_diagonal(free.X, problem.rates))
    if not norms.any():
        return np.full(problem.m, np.inf)
    norms[norms == 0.0] = np.median(norms[norms > 0.0])
    largest = (abs(to_scipy(free.A)) @ sp.diags_array(1.0 / norms)).max(axis=1).toarray().reshape(-1)
    return np.divide(1.0, largest, out=np.full(len(largest), np.inf), where=largest > 0.0)


def _weakest(X: Rows, A: CSR, rows: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, float]:
    """The same for given weights of the rows of X and A."""
    squares = products.gram_diagonal(X, rows) + products.gram_diagonal(A, edges)
    norms = np.sqrt(squares)
    if not norms.any():
        return norms, 1.0
    if len(norms) > MOST_COLUMNS:
        return norms, _by_inverse_iteration(X, A, rows, edges, squares)
    counted = norms > 0.0
    gram = np.zeros((len(norms), len(norms)))
    products.add_lower_gram(X, rows, gram)
    products.add_lower_gram(A, edges, gram)
    scale = np.where(counted, 1.0 / np.where(counted, norms, 1.0), 0.0)
    gram = (scale[:, None] * gram * scale)[np.ix_(counted, counted)]
    bound = _by_factors(gram)
    if bound > 0.0:
        return norms, math.sqrt(bound)
    values, vectors = scipy.linalg.eigh(gram, lower=True, check_finite=False)
    unknown = values <= UNKNOWN * len(values)
    if unknown.any():
        directions = np.zeros((len(norms), np.count_nonzero(unknown)))
        directions[counted] = scale[counted, None] * vectors[:, unknown]
        if not _vanish(X, A, edges, directions):
            return norms, 0.0
    return norms, math.sqrt(values[~unknown][0]) if not unknown.all() else 0.0


def _by_factors(gram: np.ndarray) -> float:
    """A lower bound of the least eigenvalue, near it, in a fifth of the time that `eigh` takes; 0 if it is not found.

    Inverse iteration estimates the eigenvalue from above. A matrix from which half of that is subtracted, and which
    still has a Cholesky factor, proves the bound. ``gram`` is given by its lower triangle, with the diagonal 1.
    """
    lower, failed = _cholesky(gram, UNKNOWN * len(gram))
    if failed:
        return 0.0
    x = np.random.default_rng(0).normal(size=len(gram))
    for _ in range(ITERATIONS):
        x = scipy.linalg.cho_solve((lower, True), x / np.linalg.norm(x), check_finite=False)
    bound = SHARE_PROVED / float(np.linalg.norm(x))
    return bound if bound > 10.0 * UNKNOWN * len(gram) and not _cholesky(gram, -bound)[1] else 0.0


def _cholesky(gram: np.ndarray, added: float) -> tuple[np.ndarray, int]:
    """The lower factor of the matrix with this number added to its diagonal, and whether it has none."""
    shifted = gram.copy()
    np.fill_diagonal(shifted, np.diag(gram) + added)
    return scipy.linalg.lapack.dpotrf(shifted, lower=1)


def _by_inverse_iteration(X: Rows, A: CSR, rows: np.ndarray, edges: np.ndarray, squares: np.ndarray) -> float:
    """The least singular value of many columns; 0 if it is not above what rounding leaves of it."""
    system = system_for(X, A)
    ridge = UNKNOWN * np.where(squares > 0.0, squares, 1.0)
    system.factor(rows, edges, ridge)
    x, norms = np.random.default_rng(0).normal(size=len(squares)), np.sqrt(np.where(squares > 0.0, squares, 1.0))
    for _ in range(ITERATIONS):
        x = norms * system.solve(norms * (x / np.linalg.norm(x)))
    least = 1.0 / float(np.linalg.norm(x))
    return math.sqrt(least) if least > 10.0 * UNKNOWN else 0.0


def _vanish(X: Rows, A: CSR, edges: np.ndarray, directions: np.ndarray) -> bool:
    """Whether X and A are exactly 0 along directions that are 0 up to rounding errors.

    Where columns are equal, or add up to the intercept, some basis of the directions has the entries 0, 1 and -1, and
    is found by elimination. Its products are summed without rounding errors.
    """
    if is_streamed(X):
        return False
    _, _, pivots = scipy.linalg.qr(directions.T, mode="economic", pivoting=True)
    pivots = pivots[: directions.shape[1]]
    basis = np.linalg.solve(directions[pivots].T, directions.T).T
    whole = np.round(basis)
    if np.abs(basis - whole).max() > 1e-4 or np.abs(whole).max() > 1.0:
        return False
    used = np.flatnonzero(whole.any(axis=1))
    matrices = plain(X), to_scipy(A)[np.flatnonzero(edges)]
    return all(_sums_vanish(matrix[:, used], whole[used]) for matrix in matrices if matrix.shape[0])


def _sums_vanish(columns, signs: np.ndarray) -> bool:
    """Whether sums of columns with these signs are exactly 0, by additions whose errors are known."""
    dense = columns.toarray() if hasattr(columns, "toarray") else np.asarray(columns)
    for sign in signs.T:
        total, error = np.zeros(len(dense)), np.zeros(len(dense))
        for j in np.flatnonzero(sign):
            term = sign[j] * dense[:, j]
            after = total + term
            back = after - total
            error += (total - (after - back)) + (term - back)
            total = after
        if total.any() or error.any():
            return False
    return True
