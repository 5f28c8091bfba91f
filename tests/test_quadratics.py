"""The systems of the exact w-step: each way of solving them against a dense solve."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import L1, SADMM, AdaSADMM, Hinge, Problem, graphs, solve
from adasadmm.linalg import quadratics
from adasadmm.rows.matrices import as_csr

pytestmark = pytest.mark.kernels

RNG = np.random.default_rng(3)


def random_graph(d, edges):
    ends = RNG.integers(0, d, size=(edges, 2))
    return graphs.incidence(np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0), d=d)


MATRICES = {
    "chain": graphs.incidence(graphs.chain(30)),
    "grid": graphs.incidence(graphs.grid(6, 7)),
    "graph": random_graph(40, 60),
    "star": graphs.incidence(np.array([[0, j] for j in range(1, 20)])),
    "clique": graphs.incidence(np.array([[i, j] for i in range(12) for j in range(i)])),
    "trend": graphs.trend(25),
    "dense": RNG.normal(size=(15, 10)),
    "no rows": np.zeros((0, 7)),
    "empty rows and columns": sp.csr_array(([1.0, -2.0], ([1, 1], [0, 3])), shape=(3, 6)),
}


def systems(A, ridge=0.3, steps=12):
    """Q and its dense twin, and a walk of h that moves slowly."""
    A = as_csr(sp.csr_array(A), "A")
    d = A.columns
    ridge = np.full(d, ridge)
    dense = np.zeros((A.shape[0], d))
    for k in range(A.shape[0]):
        dense[k, A.indices[A.indptr[k] : A.indptr[k + 1]]] = A.data[A.indptr[k] : A.indptr[k + 1]]
    h = RNG.uniform(0.5, 2.0, size=d)
    walk = [h * (1.0 + 0.01 * t) ** RNG.uniform(size=d) for t in range(steps)]
    return quadratics.exact(A, 1.7, ridge), 1.7 * dense.T @ dense + np.diag(ridge), walk


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("way", ["each step", "old factor", "iterated"])
def test_every_way_solves_the_system(name, way, limits):
    if way == "iterated":
        limits(entries_of_an_exact_w_step=-1)
    Q, dense, walk = systems(MATRICES[name])
    if way == "old factor" and isinstance(Q, quadratics.Eliminated):
        Q = Q._replace(price=1e9)
    assert isinstance(Q, quadratics.Iterated if way == "iterated" else quadratics.Eliminated)
    for h in walk:
        rhs, out = RNG.normal(size=len(h)), np.empty(len(h))
        quadratics.solve(Q, h, rhs, out)
        np.testing.assert_allclose(out, np.linalg.solve(np.diag(h) + dense, rhs), rtol=1e-9, atol=1e-11)
    if way == "old factor":
        np.testing.assert_array_equal(Q.h, walk[0])  # never factored again


def test_an_old_factor_is_made_anew_when_it_has_cost_as_much():
    Q, _, walk = systems(MATRICES["clique"], steps=60)
    Q = Q._replace(price=30 * Q.fare)
    made = []
    for h in walk:
        quadratics.solve(Q, h, RNG.normal(size=len(h)), np.empty(len(h)))
        made.append(np.array_equal(Q.h, h))
    assert 2 <= sum(made) <= 30


def test_a_chain_is_tridiagonal_and_a_star_does_not_fill_in():
    for name, d in (("chain", 30), ("star", 20)):
        Q, _, _ = systems(MATRICES[name])
        assert len(Q.factor.row) == d - 1 and len(Q.factor.target) == 0


def test_a_graph_that_fills_in_too_much_is_not_eliminated(limits):
    limits(entries_of_an_exact_w_step=50)
    assert isinstance(systems(MATRICES["clique"])[0], quadratics.Iterated)


@pytest.mark.slow  # long runs
@pytest.mark.compiled
@pytest.mark.parametrize("solver", [SADMM(0.5), AdaSADMM(eta=0.5, w_step="exact")], ids=repr)
def test_a_run_that_goes_on_has_the_bits_of_one_that_was_not_stopped_also_with_old_factors(solver, monkeypatch):
    """A clique over 40 features: its factor is dear, so it serves for some steps."""
    d = 40
    A = graphs.incidence(np.array([[i, j] for i in range(d) for j in range(i)]), d=d)
    X = RNG.normal(size=(150, d))
    problem = Problem(X, np.sign(X[:, 0] + 0.1), loss=Hinge(), penalty=L1(1e-3), A=A, gamma=0.01)
    whole = solve(problem, solver, samples=np.arange(150))
    half = solve(problem, solver, samples=np.arange(70))
    assert not np.array_equal(half.run.method.Q.h, whole.run.method.Q.h)
    rest = solve(problem, solver, samples=np.arange(70, 150), start=half)
    np.testing.assert_array_equal(rest.w, whole.w)
    again = solve(problem, solver, samples=np.arange(70, 150), start=half)  # and the first half is as it was
    np.testing.assert_array_equal(again.w, whole.w)
