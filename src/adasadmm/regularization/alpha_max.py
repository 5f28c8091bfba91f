"""The largest strength of a path: the penalty at which the structure fuses or drops all it can."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .. import losses
from .._core.threads import one_blas_thread
from .._solve import solve_at_once
from .._solve.attempts import Request, attempt
from ..auto import unpenalised
from ..certificates import duality
from ..certificates.contraction import stands_alone_at_the_end
from ..certificates.trace import Result, Status
from ..linalg.joined import clusters_of, null_space
from ..penalties import L1, GroupL2, Zero, parts_of
from ..problem import Problem
from ..rows.matrices import Repeated, Rows, WithIntercept, as_csr, as_rows, not_repeated, plain, repeated, to_scipy
from ..rows.selections import combined_columns
from ..solvers import TotalVariation
from ..solvers.tv.chain import why_no_chain
from ..solvers.tv.nodes import why_not

__all__ = ["alpha_max"]

MOST_EDGES = 4  # for each coefficient, with which the Laplacian of a graph has a sparse factor
FUSED = 1e-6  # the gap of the fused solution of a chain, whose multipliers are those of exact sums
MOST_RAISES, RAISED = 10, 100.0  # of a strength that does not fuse a chain
MARGIN = 1.0 + 1e-4  # at the bound itself, rounding decides which coefficients are 0


@one_blas_thread()
def alpha_max(problem: Problem) -> float:
    """An alpha at which ``A w = 0`` in all rows with an L1 or group penalty: all that can be fused or dropped is.

    The problem in a basis of these points is small: for a graph, it has one coefficient for each connected component.
    At its solution w, with loss slopes s, the optimality condition of the full problem is ``A'theta = r`` with
    ``r = X'(c s)/n + gamma w`` and ``|theta_k| <= alpha weights_k``, or ``|theta_g| <= alpha weights_g`` for a group.
    Any solution theta shows that everything is fused for the largest of these ratios; we take the one of least norm.
    """
    along_chains = _chain_multipliers(problem)
    if along_chains is not None:
        return MARGIN * float(np.max(np.abs(along_chains), initial=np.finfo(float).tiny))
    A, starts = _penalised(problem)
    steps = _staircase(A)
    if steps is None or clusters_of(A) is not None:
        basis = _null_space(A, problem.outputs)
    else:  # of differences of higher order it is small, but dense: a singular value decomposition would take long
        basis = sp.csr_array(_polynomials(A, steps))
    w, slopes = np.zeros(problem.d), duality.slopes(problem, np.zeros(problem.n))
    if basis.shape[1]:
        fused = problem.replaced(
            rows=problem.rows._replace(X=_combined(problem.rows.X, basis)),
            penalty=Zero(),
            A=np.zeros((0, basis.shape[1])),
            b=None,
            gamma=(basis * basis).T @ problem.gamma,  # no two columns share a coefficient, or gamma is one number
        )
        result = _solved(fused)
        w, slopes = basis @ result.w, result.run.dual_point()[0]
    rest = duality.data_pull(problem, slopes) + problem.gamma * w
    if steps is None:
        theta = _least_norm(A, rest)
    else:
        theta = sp.linalg.spsolve_triangular(A[:, steps].T.tocsr(), rest[steps], lower=True)
    ratios = np.sqrt(np.add.reduceat(theta * theta, starts)) if len(starts) else np.zeros(0)
    return MARGIN * float(np.max(ratios, initial=np.finfo(float).tiny))


def _chain_multipliers(problem: Problem) -> np.ndarray | None:
    """The theta at which chains are fused, divided by the weights of the penalty; None if the problem has no chains.

    Dynamic programming finds it where X is diagonal and the penalty is so strong that it fuses everything; a strength
    that does not is raised. For a smooth loss theta is unique, because chains have no cycles.
    """
    penalty, solver = problem.penalty, TotalVariation()
    if not isinstance(penalty, L1) or not losses.is_smooth(problem.loss) or why_not(problem) or why_no_chain(problem):
        return None
    weights = np.ones(problem.m) if penalty.weights is None else penalty.weights
    if not weights.all():
        return None
    strength = float(np.abs(problem.rates * problem.diagonal * duality.slopes(problem, np.zeros(problem.n))).sum())
    for _ in range(MOST_RAISES):
        result = solve_at_once(problem.with_strength(strength), solver, None, FUSED, 1.0)
        if result.status is not Status.converged:
            return None
        if not result.v.any():
            return result.theta / weights
        strength *= RAISED
    return None


def _null_space(A: sp.csr_array, outputs: int) -> sp.csr_array:
    """A basis of the null space; the same for each output, if A is."""
    once = not_repeated(as_csr(A, "A"), outputs) if outputs > 1 else None
    return null_space(A) if once is None else to_scipy(repeated(as_csr(null_space(to_scipy(once)), "basis"), outputs))


def _combined(X: Rows, basis: sp.csr_array) -> Rows:
    """``X basis``, in the form that X has if that is possible."""
    once = not_repeated(as_csr(basis, "basis"), X.times) if isinstance(X, Repeated) else None
    if not isinstance(X, Repeated) or once is None:
        return as_rows(plain(X) @ basis)
    members = to_scipy(once)
    if isinstance(X.rows, WithIntercept) and not stands_alone_at_the_end(members):
        return Repeated(as_rows(plain(X.rows) @ members), X.times)
    return Repeated(combined_columns(X.rows, members), X.times)


def _least_norm(A: sp.csr_array, rest: np.ndarray) -> np.ndarray:
    """The theta of least norm with ``A'theta = rest``: along a sparse graph by its Laplacian, else by LSQR.

    The entries of ``rest`` sum to 0 over each component, so that one of its coefficients may be tied to 0.
    """
    found = clusters_of(A)
    if found is None or A.shape[0] > MOST_EDGES * A.shape[1]:
        return sp.linalg.lsqr(A.T.tocsr(), rest, atol=1e-10, btol=1e-10)[0]
    laplacian = sp.csc_array(A.T @ A)
    loose = np.setdiff1d(np.arange(found.number), found.single)
    tied = np.zeros(A.shape[1])
    tied[np.unique(found.label, return_index=True)[1][loose]] = 1.0
    scale = laplacian.diagonal().max(initial=0.0) or 1.0
    return A @ sp.linalg.spsolve(laplacian + sp.diags_array(scale * tied, format="csc"), rest)


def _solved(problem: Problem) -> Result:
    """The solution without a penalty; its slopes should be accurate, because higher differences sum their errors."""
    return attempt(problem, unpenalised(problem), Request(tol=1e-10, keywords={"epochs": 100}))


def _penalised(problem: Problem) -> tuple[sp.csr_array, np.ndarray]:
    """The rows of A with an L1 or group penalty, times their weights; and where each term of the penalty starts."""
    A, found, starts, count = to_scipy(problem.A), [], [], 0
    for part, rows in parts_of(problem.penalty, problem.p):
        if isinstance(part, L1):
            order, sizes = rows, np.ones(len(rows), dtype=int)
        elif isinstance(part, GroupL2):
            order, sizes = rows[np.concatenate(part.groups)], np.array([len(group) for group in part.groups])
        else:
            continue
        weights = np.ones(len(sizes)) if part.weights is None else part.weights
        kept = weights > 0.0  # terms without a weight are free
        order, sizes, weights = order[np.repeat(kept, sizes)], sizes[kept], weights[kept]
        starts.append(count + np.cumsum(sizes) - sizes)
        found.append(sp.diags_array(np.repeat(weights, sizes)) @ A[order])
        count += len(order)
    if not found:
        raise ValueError("alphas must be a list of numbers: only L1 and GroupL2 penalties have a largest strength")
    stacked = sp.vstack(found, format="csr")
    stacked.sort_indices()  # a product leaves them in any order, and `_staircase` asks for the first of each row
    return stacked, np.concatenate(starts).astype(int)


def _staircase(A: sp.csr_array) -> np.ndarray | None:
    """The first column of each row, if these increase: then the rows are linearly independent, and theta is unique."""
    if not (np.diff(A.indptr) > 0).all():
        return None
    first = A.indices[A.indptr[:-1]]
    return first if (np.diff(first) > 0).all() and A.has_sorted_indices else None


def _polynomials(A: sp.csr_array, steps: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the null space of a staircase: all other columns are free."""
    free = np.setdiff1d(np.arange(A.shape[1]), steps)
    found = np.zeros((A.shape[1], len(free)))
    found[free, np.arange(len(free))] = 1.0
    found[steps] = -sp.linalg.spsolve_triangular(A[:, steps].tocsr(), A[:, free].toarray(), lower=False)
    return np.linalg.qr(found)[0]
