"""The largest strength of a path: the penalty at which the graph fuses all it can."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._solve import solve
from ..linalg.matrices import plain, to_scipy
from ..linalg.products import transposed_product
from ..penalties import Zero
from ..problem import Problem
from ..solvers import ADMM

__all__ = ["alpha_max"]


def alpha_max(problem: Problem, edges: np.ndarray) -> float:
    """An alpha at which all coefficients within each connected component of the graph are equal.

    The problem with one coefficient for each component is small. At its solution w, with loss slopes s, the optimality
    condition of the full problem is ``A'theta = r`` with ``r = X'(c s)/n + gamma w`` and ``|theta| <= alpha``. Any
    solution theta shows that everything is fused for ``alpha >= max |theta|``; LSQR gives the one of least norm.
    """
    columns = problem.d
    graph = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(columns, columns))
    count, label = sp.csgraph.connected_components(graph, directed=False)
    member = sp.csr_array((np.ones(columns), (np.arange(columns), label)), shape=(columns, count))
    X = problem.rows.X
    fused = Problem(
        plain(X) @ member,
        problem.rows.y,
        loss=problem.loss,
        penalty=Zero(),
        A=np.zeros((0, count)),
        gamma=member.T @ problem.gamma,
        sample_weight=problem.rows.c,
    )
    result = solve(fused, ADMM(), tol=1e-6)
    pull = np.empty(columns)
    slopes, _ = result.run.dual_point()
    transposed_product(X, problem.rows.c * slopes / problem.n, pull)
    rest = pull + problem.gamma * (member @ result.w)
    theta = sp.linalg.lsqr(to_scipy(problem.A).T.tocsr(), rest, atol=1e-10, btol=1e-10)[0]
    return float(np.max(np.abs(theta), initial=np.finfo(float).tiny))
