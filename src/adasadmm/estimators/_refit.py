"""Coefficients estimated again on the fused, selected design, without the penalty but with ridge and constraints."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .. import penalties
from .._solve.attempts import Request, attempt
from .._solve.finish import finished
from ..auto import choices
from ..linalg.joined import null_space
from ..problem import Problem
from ..rows.matrices import to_scipy
from ..rows.selections import combined_columns

__all__ = ["refitted"]

TOL = 1e-10  # relative duality gap of the second fit, which is small
ROUNDING = 1e-12


def refitted(problem: Problem, w: np.ndarray, apart: float, has_intercept: bool) -> np.ndarray:
    """The best w without the penalty, among those with ``A w = 0`` where the given w has it.

    Rows of A count as 0 up to ``apart``, in units of the largest coefficient; up to rounding, if it is 0.
    """
    A, is_set = to_scipy(problem.A), _in_sets(problem)
    sizes = abs(A) @ np.abs(w)
    limit = apart * np.max(np.abs(w), initial=0.0) * abs(A).max(axis=1).toarray().reshape(-1) + ROUNDING * sizes
    zero = A[~is_set & (np.abs(A @ w) <= limit)]
    basis = null_space(zero[:, :-1] if has_intercept else zero)
    members = sp.csr_array(sp.block_diag([basis, [[1.0]]])) if has_intercept else basis
    if not members.shape[1]:
        return np.zeros_like(w)
    inner = problem.replaced(
        rows=problem.rows._replace(X=combined_columns(problem.rows.X, members)),
        A=A[is_set] @ members,
        b=problem.b[is_set],
        gamma=(members * members).T @ problem.gamma,  # the columns are orthogonal, and gamma is one number on each
        penalty=_sets(problem),
    )
    request = Request(tol=TOL)
    found = finished(inner, attempt(inner, choices(inner), request), request)
    return members @ found.result.w_average


def _in_sets(problem: Problem) -> np.ndarray:
    """Which rows of A belong to bounds and constraints."""
    found = np.zeros(problem.m, dtype=bool)
    for part, rows in penalties.parts_of(problem.penalty, problem.p):
        found[rows] = isinstance(part, penalties.SETS)
    return found


def _sets(problem: Problem) -> tuple:
    """The sets of the penalty alone, on the rows that remain."""
    place, parts = np.cumsum(_in_sets(problem)) - 1, penalties.parts_of(problem.penalty, problem.p)
    sets = [(part, place[rows]) for part, rows in parts if isinstance(part, penalties.SETS)]
    return penalties.Stack(sets) if sets else penalties.Zero()
