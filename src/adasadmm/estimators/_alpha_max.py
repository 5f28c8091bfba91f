"""The largest strength of a path: the penalty at which the graph fuses all it can."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._solve import solve
from ..certificates import duality
from ..linalg.clusters import null_space
from ..linalg.matrices import as_rows, plain, to_scipy
from ..penalties import L1, Zero, parts_of
from ..problem import Problem
from ..solvers import ADMM

__all__ = ["alpha_max"]

MARGIN = 1.0 + 1e-4  # at the bound itself, rounding decides which coefficients are 0


def alpha_max(problem: Problem) -> float:
    """An alpha at which ``A w = 0`` in all rows with an L1 penalty: all that can be fused or dropped is.

    The problem in a basis of these points is small: for a graph, it has one coefficient for each connected component.
    At its solution w, with loss slopes s, the optimality condition of the full problem is ``A'theta = r`` with
    ``r = X'(c s)/n + gamma w`` and ``|theta_k| <= alpha weights_k``. Any solution theta shows that everything is fused
    for ``alpha >= max |theta_k| / weights_k``; LSQR gives the one of least norm.
    """
    A, X = _penalised(problem), problem.rows.X
    basis = null_space(A)
    w, slopes = np.zeros(problem.d), duality.slopes(problem, np.zeros(problem.n))
    if basis.shape[1]:
        fused = problem.replaced(
            rows=problem.rows._replace(X=as_rows(plain(X) @ basis)),
            penalty=Zero(),
            A=np.zeros((0, basis.shape[1])),
            b=None,
            gamma=(basis * basis).T @ problem.gamma,  # no two columns of the basis share a coefficient
        )
        result = solve(fused, ADMM(), tol=1e-6)
        w, slopes = basis @ result.w, result.run.dual_point()[0]
    rest = duality.data_pull(problem, slopes) + problem.gamma * w
    theta = sp.linalg.lsqr(A.T.tocsr(), rest, atol=1e-10, btol=1e-10)[0]
    return MARGIN * float(np.max(np.abs(theta), initial=np.finfo(float).tiny))


def _penalised(problem: Problem) -> sp.csr_array:
    """The rows of A with an L1 penalty, times their weights."""
    A, found = to_scipy(problem.A), []
    for part, rows in parts_of(problem.penalty, problem.p):
        if isinstance(part, L1):
            weights = np.ones(len(rows)) if part.weights is None else part.weights
            found.append(sp.diags_array(weights) @ A[rows])
    return sp.vstack(found, format="csr")
