"""Paths by an active set of clusters: its parts against dense oracles, its answers against CVXPY and other solvers."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from adasadmm import (
    IPM,
    L1,
    Checkpoint,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    Hinge,
    Logistic,
    Poisson,
    Problem,
    Squared,
    Status,
    graphs,
    path,
    solve,
)
from adasadmm._solve import attempts
from adasadmm.regularization.alpha_max import alpha_max
from adasadmm.rows.matrices import as_csr
from adasadmm.solvers import ActiveSet, ProximalNewton, fits
from adasadmm.solvers.active_set.forces import FlowForces, ForestForces, forces_on, graph_of
from adasadmm.solvers.active_set.quadratic import Edges, minimiser

pytestmark = pytest.mark.kernels

D = 12


def difference_rows(edges, weights=None, d=D):
    """A row for each edge, in the given order: `graphs.incidence` refuses repeated edges."""
    A = np.zeros((len(edges), d))
    for k, (i, j) in enumerate(edges):
        A[k, i], A[k, j] = np.array([1.0, -1.0]) * (1.0 if weights is None else weights[k])
    return A


KINDS = {
    "chain": graphs.difference(D),
    "lasso": np.eye(D),
    "forest": difference_rows([(0, 1), (0, 2), (2, 3), (4, 5), (4, 6), (7, 8)]),
    "grid": graphs.incidence(graphs.grid(3, 4), None, D),
    "cube": graphs.incidence(graphs.grid(2, 2, 3), None, D),
    "clique": difference_rows(list(itertools.combinations(range(9), 2)), np.linspace(0.1, 2.0, 36)),
    "repeated edges": difference_rows(
        [(0, 1), (1, 0), (1, 2), (2, 3), (1, 2), (3, 0)], [1.0, 0.5, 1.0, 2.0, -1.0, 1.0]
    ),
    "two parts": difference_rows([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6), (6, 3)]),
    "chain and L1": np.vstack([graphs.difference(D).toarray(), 0.3 * np.eye(D)]),
    "grid and L1": np.vstack([graphs.incidence(graphs.grid(3, 4), None, D).toarray(), -0.5 * np.eye(D)[:9]]),
}


def data(loss, seed=20, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    z = X @ np.repeat(rng.normal(size=4), 3) + rng.normal(size=n)
    label = np.where(z + 6.0 * rng.normal(size=n) > 0.0, 1.0, -1.0)  # not separable: without a ridge w is bounded
    return X, {Squared: z, Logistic: label, Poisson: np.abs(z).round()}[type(loss)]


def is_the_optimum(problem, results, alphas, tol):
    """The certificates are true: no dual value is above the optimum, by another solver, and no primal one below."""
    for alpha, result in zip(alphas, results, strict=True):
        single = solve(problem.with_penalty(problem.penalty._replace(nu=alpha)), IPM(), tol=1e-9, epochs=200)
        rounding = 1e-9 * (1.0 + abs(single.certificate.primal))
        assert result.certificate.relative_gap <= tol
        assert result.certificate.dual <= single.certificate.primal + rounding
        assert result.certificate.primal >= single.certificate.dual - rounding
        np.testing.assert_array_equal(result.v, problem.times_A(result.w))


def contracted_path(problem, alphas, tol):
    """The results of the active set alone."""
    results = path(problem, alphas, solver=ActiveSet(), tol=tol)
    assert all(result.status is Status.converged and result.run.solver == ActiveSet() for result in results)
    return results


# --- the whole method ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Poisson()])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_clusters_give_the_optimum_of_the_whole_problem(loss, kind, gamma):
    problem = Problem(*data(loss), loss=loss, penalty=L1(1.0), A=KINDS[kind], gamma=gamma)
    alphas = np.geomspace(top := alpha_max(problem), 0.01 * top, 4)
    is_the_optimum(problem, contracted_path(problem, alphas, 1e-7), alphas, 1e-7)


@pytest.mark.parametrize("kind", ["chain", "grid", "grid and L1"])
def test_the_lower_bound_is_below_the_optimum_of_cvxpy(kind):
    X, y = data(Squared())
    A = sp.csr_array(KINDS[kind])
    problem = Problem(X, y, loss=Squared(), penalty=L1(1.0), A=A, gamma=0.05)
    w, nu = cp.Variable(D), cp.Parameter(nonneg=True)
    cost = cp.sum_squares(X @ w - y) / (2 * len(y)) + 0.025 * cp.sum_squares(w) + nu * cp.norm1(A @ w)
    best = cp.Problem(cp.Minimize(cost))
    alphas = np.geomspace(top := alpha_max(problem), 0.01 * top, 6)
    for alpha, result in zip(alphas, contracted_path(problem, alphas, 1e-3), strict=True):
        nu.value = alpha
        best.solve(solver=cp.CLARABEL)
        assert result.certificate.dual <= best.value + 1e-7 <= result.certificate.primal + 2e-7


@pytest.mark.parametrize("kind", ["chain", "grid", "chain and L1", "lasso"])
def test_weights_of_zero_and_rows_without_entries_join_nothing(kind):
    X, y = data(Squared())
    A = sp.vstack([sp.csr_array(KINDS[kind]), sp.csr_array((1, D))], format="csr")
    weights = np.random.default_rng(0).uniform(0.5, 2.0, A.shape[0])
    weights[::3] = 0.0
    problem = Problem(X, y, loss=Squared(), penalty=L1(1.0, weights), A=A, gamma=0.05)
    alphas = [1.0, 0.1, 0.01]
    is_the_optimum(problem, contracted_path(problem, alphas, 1e-7), alphas, 1e-7)


def test_equal_columns_and_equal_targets_are_no_obstacle():
    """Ties: forces at several cuts reach their capacities together, and H is singular without a ridge."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 4)), 3, axis=1).round()
    problem = Problem(X, X[:, 0] - X[:, 3], loss=Squared(), penalty=L1(1.0), A=KINDS["grid"])
    alphas = np.geomspace(top := alpha_max(problem), 0.01 * top, 6)
    is_the_optimum(problem, contracted_path(problem, alphas, 1e-5), alphas, 1e-5)


@pytest.mark.parametrize("kind", ["grid", "grid and L1"])
def test_weights_of_rows_a_sparse_design_and_an_increasing_path(kind):
    X, y = data(Logistic())
    X, c = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0)), np.random.default_rng(0).uniform(size=len(y))
    problem = Problem(X, y, loss=Logistic(), penalty=L1(1.0), A=KINDS[kind], gamma=0.05, sample_weight=c)
    alphas = np.geomspace(0.01 * (top := alpha_max(problem)), top, 5)
    is_the_optimum(problem, contracted_path(problem, alphas, 1e-7), alphas, 1e-7)


def test_a_search_on_a_grid_with_intercept_offset_and_weights_fits_as_the_plain_estimator(monkeypatch):
    X, y = data(Poisson())
    rng = np.random.default_rng(0)
    rows = {"sample_weight": rng.uniform(0.5, 2.0, len(y)), "offset": rng.normal(size=len(y))}
    settings = {"loss": "poisson", "l2": 0.1, "tol": 1e-9}
    plain = GraphGuidedRegressor(("grid", 3, 4), alpha=0.02, **settings).fit(X, y, **rows)
    search = GraphGuidedRegressorCV(("grid", 3, 4), loss="poisson", l2s=[0.1], tol=1e-9, alphas=[0.1, 0.02])
    monkeypatch.setattr(attempts, "solve_quietly", None)  # no other method is called
    search.set_params(selection="aic").fit(X, y, **rows)
    np.testing.assert_allclose(search.coef_path_[0][-1], plain.coef_, atol=1e-5)


def test_other_solvers_continue_where_clusters_are_too_many(limits):
    limits(clusters_of_the_active_set=5)
    problem = Problem(*data(Squared()), loss=Squared(), penalty=L1(1.0), A=KINDS["grid"], gamma=0.05)
    alphas = np.geomspace(top := alpha_max(problem), 0.001 * top, 8)
    is_the_optimum(problem, results := path(problem, alphas, tol=1e-7), alphas, 1e-7)
    assert len(np.unique(results[-1].w)) > 5


def test_rows_that_are_no_differences_are_left_to_other_solvers(limits):
    X, y = data(Squared())
    assert not fits(ActiveSet(), Problem(X, y, loss=Squared(), penalty=L1(1.0), A=graphs.difference(D, 2)))
    sums = np.abs(graphs.difference(D).toarray())
    assert not fits(ActiveSet(), Problem(X, y, loss=Squared(), penalty=L1(1.0), A=sums))
    limits(edges_per_node_of_the_active_set=2)
    assert not fits(ActiveSet(), Problem(X, y, loss=Squared(), penalty=L1(1.0), A=KINDS["clique"]))


def test_the_results_of_clusters_start_other_runs():
    problem = Problem(*data(Logistic()), loss=Logistic(), penalty=L1(1.0), A=KINDS["grid"], gamma=0.05)
    (found,) = contracted_path(problem, [0.01], 1e-3)
    again = solve(problem.with_penalty(L1(0.01)), ProximalNewton(), start=found, tol=1e-9)
    assert again.certificate.relative_gap <= 1e-9
    assert again.certificate.primal <= found.certificate.primal


# --- forces ----------------------------------------------------------------------------------------------------------


def derivatives(kind, seed=0):
    """Derivatives that forces can balance."""
    return sp.csr_array(KINDS[kind]).T @ np.random.default_rng(seed).normal(size=KINDS[kind].shape[0])


def least_congestion(A, slope, capacity):
    """The least t with ``|theta| <= t capacity`` for some theta with ``A'theta = slope``, by a linear programme."""
    A, m = sp.csr_array(A).toarray(), A.shape[0]
    bounds = np.hstack([np.vstack([np.eye(m), -np.eye(m)]), -np.tile(capacity, 2)[:, None]])
    found = scipy.optimize.linprog(
        np.append(np.zeros(m), 1.0),
        bounds,
        np.zeros(2 * m),
        np.hstack([A.T, np.zeros((A.shape[1], 1))]),
        slope,
        bounds=[(None, None)] * (m + 1),
    )
    return found.x[-1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strength", [0.2, 1.0, 10.0])
def test_balanced_forces_need_the_least_factor_of_the_capacities(kind, strength):
    graph, slope = graph_of(as_csr(KINDS[kind], "A"), None), derivatives(kind)
    forces, m = forces_on(graph), KINDS[kind].shape[0]
    assert isinstance(forces, ForestForces if kind in ("chain", "lasso", "forest") else FlowForces)
    capacity = strength * graph.limit
    inside, _ = forces.inside(slope, capacity, np.zeros(m))
    assert (np.abs(inside) <= capacity).all()
    found, scale = forces.balanced(slope, capacity, lambda scale: True)
    theta, limit = graph.multipliers(found, m), np.full(m, strength)
    np.testing.assert_allclose(sp.csr_array(KINDS[kind]).T @ theta, slope, atol=1e-9)
    assert (scale * np.abs(theta) <= limit * (1.0 + 1e-9)).all()
    assert scale == pytest.approx(1.0 / max(1.0, least_congestion(KINDS[kind], slope, limit)), rel=1e-6)
    assert forces.balanced(slope, capacity, lambda other: other > scale) is None or scale == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_edges_open_along_a_direction_of_descent(kind):
    """With the signs of the opened edges, ``slope'u + sum capacity |u_i - u_j|`` falls; without any it cannot."""
    A = sp.csr_array(KINDS[kind])
    graph, slope = graph_of(as_csr(KINDS[kind], "A"), None), derivatives(kind)
    congestion = least_congestion(A, slope, np.ones(A.shape[0]))
    for strength in (0.5 * congestion, 0.9 * congestion, 1.1 * congestion):
        _, opened = forces_on(graph).inside(slope, strength * graph.limit, np.zeros(A.shape[0]))
        assert opened.any() == (strength < congestion)
        if opened.any():
            u, v = cp.Variable(D), cp.Variable(A.shape[0])
            ordered = [cp.multiply(opened * np.sign(graph.entry), v) >= 0, cp.multiply(opened == 0.0, v) == 0]
            cost = slope @ u + strength * cp.norm1(v)
            best = cp.Problem(cp.Minimize(cost), [A @ u == v, *ordered, cp.norm_inf(u) <= 1]).solve(solver=cp.CLARABEL)
            assert best < -1e-6


# --- the quadratic model ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_minimiser_of_a_model_is_that_of_cvxpy_with_the_edges_that_it_joins(seed):
    rng = np.random.default_rng(seed)
    size, number = 7, 12
    root = rng.normal(size=(size + 2 - 4 * (seed % 2), size))  # singular for odd seeds
    H, pull = root.T @ root, root.T @ rng.normal(size=len(root))
    ends = np.array(list(itertools.combinations(range(size + 1), 2)))[rng.permutation(28)[:number]]
    limit, u = rng.uniform(0.05, 1.0, number), rng.normal(size=size) * (rng.random(size) < 0.7)
    values = np.append(u, 0.0)
    sign = np.sign(values[ends[:, 0]] - values[ends[:, 1]])
    sign[sign == 0.0] = 1.0
    edges = Edges(ends[:, 0], ends[:, 1], limit, sign)
    found = np.append(minimiser(H, pull, edges, u), 0.0)
    x = cp.Variable(size + 1)
    met = [x[i] == x[j] for i, j in ends if found[i] == found[j]]
    cost = cp.sum_squares(root @ x[:-1]) / 2 - pull @ x[:-1] + limit @ cp.abs(x[ends[:, 0]] - x[ends[:, 1]])
    best = cp.Problem(cp.Minimize(cost), [x[size] == 0, *met]).solve(solver=cp.CLARABEL)

    def value(u):
        differences = np.abs(u[ends[:, 0]] - u[ends[:, 1]])
        return 0.5 * np.sum((root @ u[:-1]) ** 2) - pull @ u[:-1] + limit @ differences

    assert value(found) == pytest.approx(best, abs=1e-6)
    assert value(found) <= value(values) + 1e-12


@pytest.mark.parametrize("loss", [Hinge(), Logistic()])
def test_a_run_resumes_from_its_checkpoint(loss, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    y = np.sign(X[:, :10].sum(axis=1) + rng.normal(size=300))
    problem = Problem(X, y, loss=loss, penalty=L1(0.02), A=graphs.difference(60), gamma=0.01)
    whole = solve(problem, ActiveSet(), tol=1e-8)
    kept = Checkpoint(tmp_path / "run")
    solve(problem, ActiveSet(), tol=1e-8, checkpoint=kept, callback=lambda snapshot: snapshot.iteration == 2)
    again = solve(problem, ActiveSet(), tol=1e-8, checkpoint=kept, resume=True)
    assert whole.status is Status.converged and again.epochs == whole.epochs
    assert np.array_equal(again.w, whole.w) and np.array_equal(again.theta, whole.theta)
