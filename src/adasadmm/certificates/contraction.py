"""The problem that remains if some rows of ``A w = 0`` hold exactly: one coefficient for each cluster.

Where the rows of A are differences of two coefficients, or single coefficients, the rows in which v is 0 join the
coefficients into clusters, and set some clusters to 0. The contracted problem has a column for each of the others.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .. import penalties
from ..linalg.joined import clusters_of, null_space
from ..problem import Problem
from ..rows.matrices import WithIntercept, to_scipy
from ..rows.selections import combined_columns
from .trace import Result

__all__ = ["Contraction", "contracted", "stands_alone_at_the_end"]


class Contraction(NamedTuple):
    """A problem over clusters.

    ``members`` maps its coefficients to those of the original problem, and ``apart`` are the rows of A that remain.
    """

    problem: Problem
    members: sp.csr_array
    apart: np.ndarray

    def expanded(self, u: np.ndarray) -> np.ndarray:
        """The coefficients of the original problem."""
        return self.members @ u

    def start(self, result: Result) -> Result:
        """A result of the original problem as the start of a run on this one."""
        u = (self.members.T @ result.w) / np.asarray(self.members.sum(axis=0)).reshape(-1)
        v = self.problem.times_A(u) - self.problem.b
        return dataclasses.replace(result, w=u, v=v, theta=result.theta[self.apart], run=None)


def contracted(problem: Problem, v: np.ndarray) -> Contraction | None:
    """The problem over the clusters that the zeros of v make; None if there is none of this form.

    The penalty must be `L1`, and w must have no set.
    """
    penalty, A = problem.penalty, to_scipy(problem.A)
    if problem.B is not None or problem.w_set is not None or not isinstance(penalty, penalties.L1):
        return None
    if problem.outputs > 1:
        return None
    joined, apart = np.flatnonzero(v == 0.0), np.flatnonzero(v != 0.0)
    if problem.b[joined].any() or clusters_of(A, joined) is None:
        return None
    members = null_space(A[joined])
    if members.shape[1] == 0 or (isinstance(problem.rows.X, WithIntercept) and not stands_alone_at_the_end(members)):
        return None
    inner = problem.replaced(
        rows=problem.rows._replace(X=combined_columns(problem.rows.X, members)),
        A=A[apart] @ members,
        b=problem.b[apart],
        gamma=members.T @ problem.gamma,
        penalty=penalties.L1(penalty.nu, None if penalty.weights is None else penalty.weights[apart]),
    )
    return Contraction(inner, members, apart)


def stands_alone_at_the_end(members: sp.csr_array) -> bool:
    """Whether the last coefficient, an intercept, is the only one of the last cluster."""
    last = members.shape[1] - 1
    return np.array_equal(np.flatnonzero(members.indices == last), [members.nnz - 1])
