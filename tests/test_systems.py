"""Newton's system by structure, against a dense solution."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm.linalg import systems
from adasadmm.linalg.dense_systems import DenseSystem, RowSpace
from adasadmm.linalg.gram_factor import gram_pattern
from adasadmm.linalg.matrices import WithIntercept, as_csr, as_rows, plain, to_scipy
from adasadmm.linalg.sparse_systems import Bordered, ConjugateGradients, EdgeSpace, SparseSystem


def chain(d):
    return sp.diags_array([np.ones(d - 1), -np.ones(d - 1)], offsets=[0, 1], shape=(d - 1, d))


def grid(d):
    side = int(np.sqrt(d))
    line, one = chain(side), sp.eye_array(side)
    A = sp.vstack([sp.kron(one, line), sp.kron(line, one)])
    return sp.hstack([A, sp.csr_array((A.shape[0], d - side * side))])  # the rest are nodes without edges


def trend(d):
    return chain(d - 1) @ chain(d)


def random_graph(d, seed=0):
    random = np.random.default_rng(seed)
    ends = random.integers(0, d, (d, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    row = np.repeat(np.arange(len(ends)), 2)
    return sp.csr_array((np.tile([1.0, -1.0], len(ends)), (row, ends.ravel())), shape=(len(ends), d))


def fused_and_sparse(d):
    return sp.vstack([0.7 * chain(d), sp.eye_array(d)])


GRAPHS = {"chain": chain, "grid": grid, "trend": trend, "random": random_graph, "fused and sparse": fused_and_sparse}


def rows_of(kind, n, d, seed=0):
    random = np.random.default_rng(seed)
    if kind == "diagonal":
        X = sp.diags_array(random.uniform(0.5, 2.0, d))
    elif kind == "sparse":
        X = sp.random_array((n, d), density=min(1.0, 4.0 / d), rng=random, data_sampler=random.standard_normal)
    else:
        X = random.standard_normal((n, d))
    return as_rows(X)


def every_system(X, A):
    """One system of each kind that is possible, whatever its cost."""
    if isinstance(X, WithIntercept):
        inner = as_csr(to_scipy(A)[:, :-1], "A")
        return [DenseSystem(X, A), *(Bordered(X, A, system) for system in every_system(X.rows, inner)[1:])]
    found = [DenseSystem(X, A), ConjugateGradients(X, A, gram_pattern([A], np.inf))]
    found.append(RowSpace(X, A, gram_pattern([A], np.inf)))
    if not hasattr(X, "values"):
        found.append(SparseSystem(X, A, gram_pattern([X, A], np.inf)))
        if (np.diff(X.indptr) <= 1).all():
            transposed = as_csr(to_scipy(A).T.tocsr(), "A")
            found.append(EdgeSpace(X, A, transposed, gram_pattern([transposed], np.inf)))
    return found


def matrix_of(X, A, rows, edges, ridge):
    X, A = plain(X), to_scipy(A).toarray()
    X = X.toarray() if sp.issparse(X) else X
    return X.T @ (rows[:, None] * X) + A.T @ (edges[:, None] * A) + np.diag(ridge)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "diagonal"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(12, 40), (60, 30)])
def test_every_way_gives_the_solution(graph, kind, intercept, shape):
    n, d = shape
    random = np.random.default_rng(1)
    X, A = rows_of(kind, n, d), as_csr(GRAPHS[graph](d), "A")
    if intercept:
        X, A = WithIntercept(X), as_csr(sp.hstack([to_scipy(A), sp.csr_array((A.shape[0], 1))]), "A")
    for decades in (0.0, 8.0):
        weights = [10.0 ** random.uniform(-decades, decades, length) for length in (X.shape[0], A.shape[0])]
        ridge = 10.0 ** random.uniform(-2.0, 0.0, X.shape[1])
        if intercept:
            ridge[-1] = 0.0
        M, rhs = matrix_of(X, A, *weights, ridge), random.standard_normal(X.shape[1])
        expected = np.linalg.solve(M, rhs)
        for system in [*every_system(X, A), systems.system_for(X, A)]:
            system.factor(*weights, ridge)
            found = system.solve(rhs)
            kindly = decades == 0.0
            assert np.linalg.norm(M @ found - rhs) <= 1e-8 * np.linalg.norm(rhs) or not kindly, system.name
            size = np.sqrt(np.diag(M))
            off = np.linalg.norm(size * (found - expected)) / np.linalg.norm(size * expected)
            assert off <= (1e-8 if kindly else 1e-3) or system.name == "conjugate gradients", system.name
            np.testing.assert_allclose(system.diagonal, np.diag(M), rtol=1e-10)
