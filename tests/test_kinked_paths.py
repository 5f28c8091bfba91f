"""Paths of losses with kinks by an active set of clusters: answers against other solvers and CVXPY, and its parts."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from test_contracted import KINDS, D, contracted_path, is_the_optimum

from adasadmm import (
    ALM,
    L1,
    EpsilonInsensitive,
    GraphGuidedClassifierCV,
    Hinge,
    Logistic,
    NonNegative,
    Problem,
    Quantile,
    Tweedie,
    Zero,
    path,
    solve,
)
from adasadmm._solve import attempts
from adasadmm.regularization.alpha_max import alpha_max
from adasadmm.rows.last_products import UpdatedProduct
from adasadmm.rows.matrices import WithIntercept, as_rows
from adasadmm.solvers import fits
from adasadmm.solvers.active_set.active_set import ActiveSet
from adasadmm.solvers.active_set.gram import KeptGram, SummedColumns, cluster_gram, is_cheap
from adasadmm.solvers.active_set.quadratic import Edges, minimiser

pytestmark = pytest.mark.kernels

LOSSES = [Hinge(), Quantile(0.3), EpsilonInsensitive(0.2)]


def data(loss, n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    z = X @ np.repeat(rng.normal(size=4), 3) + rng.normal(size=n)
    return X, np.where(z > 0.0, 1.0, -1.0) if isinstance(loss, Hinge) else z


def strengths(problem, number, least):
    return np.geomspace(top := alpha_max(problem), least * top, number)


def reaches_the_optimum(problem, number=6, least=0.003, tol=1e-3):
    alphas = strengths(problem, number, least)
    is_the_optimum(problem, contracted_path(problem, alphas, tol), alphas, tol)


# --- the whole method ------------------------------------------------------------------------------------------------


def slow_unless(fast, values):
    return [value if value in fast else pytest.param(value, marks=pytest.mark.slow) for value in values]


@pytest.mark.parametrize("loss", slow_unless([Hinge()], LOSSES))
@pytest.mark.parametrize("kind", slow_unless(["chain", "grid and L1"], KINDS))
def test_clusters_give_the_optimum_of_the_whole_problem(loss, kind):
    reaches_the_optimum(Problem(*data(loss), loss=loss, penalty=L1(1.0), A=KINDS[kind], gamma=0.01))


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [1e-5, 1.0])
def test_many_rows_a_free_intercept_weights_of_zero_and_offsets(gamma):
    """With many rows the Gram matrix of all columns is kept, and changes with the weights of a few rows."""
    X, y = data(Hinge(), n=1500)
    rng = np.random.default_rng(1)
    c = rng.uniform(0.0, 2.0, len(y)) * (rng.random(len(y)) < 0.8)
    A = np.hstack([KINDS["chain and L1"], np.zeros((len(KINDS["chain and L1"]), 1))])
    problem = Problem(
        np.hstack([X, np.ones((len(y), 1))]),
        y,
        loss=Hinge(),
        penalty=L1(1.0),
        A=A,
        gamma=np.append(np.full(D, gamma), 0.0),
        sample_weight=c,
        offset=rng.normal(size=len(y)),
    )
    assert isinstance(solve(problem, ActiveSet(), tol=1e-3).run.method.tools.gram, KeptGram)
    reaches_the_optimum(problem)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["chain", "grid and L1"])
def test_sparse_rows_and_an_increasing_path(loss, kind):
    X, y = data(loss)
    X = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    problem = Problem(X, y, loss=loss, penalty=L1(1.0), A=KINDS[kind], gamma=0.01)
    alphas = strengths(problem, 6, 0.003)[::-1]
    is_the_optimum(problem, contracted_path(problem, alphas, 1e-3), alphas, 1e-3)


def test_the_lower_bound_is_below_the_optimum_of_cvxpy():
    X, y = data(Hinge())
    A = sp.csr_array(KINDS["grid and L1"])
    problem = Problem(X, y, loss=Hinge(), penalty=L1(1.0), A=A, gamma=0.01)
    w, nu = cp.Variable(D), cp.Parameter(nonneg=True)
    cost = cp.sum(cp.pos(1 - cp.multiply(y, X @ w))) / len(y) + 0.005 * cp.sum_squares(w) + nu * cp.norm1(A @ w)
    best = cp.Problem(cp.Minimize(cost))
    alphas = strengths(problem, 6, 0.003)
    for alpha, result in zip(alphas, contracted_path(problem, alphas, 1e-3), strict=True):
        nu.value = alpha
        best.solve(solver=cp.CLARABEL)
        assert result.certificate.dual <= best.value + 1e-7 <= result.certificate.primal + 2e-7


def test_equal_rows_and_separable_classes_are_no_obstacle():
    """Ties: many rows are at the kink together; and at weak strengths the loss almost vanishes."""
    rng = np.random.default_rng(0)
    X = (rng.random((300, D)) < 0.4).astype(float)
    y = np.where(X[:, 0] + X[:, 3] > 0.5, 1.0, -1.0)
    reaches_the_optimum(Problem(X, y, loss=Hinge(), penalty=L1(1.0), A=KINDS["chain"], gamma=1e-4), 20, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_a_path_reaches_any_tolerance_whichever_method_ends_it(tol, limits):
    problem = Problem(*data(Hinge()), loss=Hinge(), penalty=L1(1.0), A=KINDS["grid"], gamma=0.01)
    alphas = strengths(problem, 5, 0.01)
    is_the_optimum(problem, path(problem, alphas, tol=tol), alphas, tol)
    limits(rounds_of_the_active_set=4)  # some strength needs more
    results = path(problem, alphas, tol=tol)
    assert all(result.certificate.relative_gap <= tol for result in results)


def test_without_a_ridge_other_solvers_are_used():
    X, y = data(Hinge())
    assert not fits(ActiveSet(), Problem(X, y, loss=Hinge(), penalty=L1(1.0), A=KINDS["chain"]))
    free = np.append(0.0, np.full(D - 1, 0.1))
    assert not fits(ActiveSet(), Problem(X, y, loss=Hinge(), penalty=L1(1.0), A=KINDS["chain"], gamma=free))


def test_a_result_starts_other_runs():
    problem = Problem(*data(Hinge()), loss=Hinge(), penalty=L1(1.0), A=KINDS["grid"], gamma=0.01)
    (found,) = contracted_path(problem, [0.01], 1e-3)
    slopes, theta = found.run.dual_point()
    assert ((slopes * problem.rows.y <= 1e-12) & (slopes * problem.rows.y >= -1.0 - 1e-12)).all()
    assert (np.abs(theta) <= 0.01 * (1.0 + 1e-12)).all()
    again = solve(problem.with_penalty(L1(0.01)), ALM(), start=found, tol=1e-9)
    assert again.certificate.relative_gap <= 1e-9
    assert again.certificate.primal <= found.certificate.primal
    state = found.run.state()
    found.run.restore(state)
    np.testing.assert_array_equal(found.run.fork(found.run.problem).point.w, found.w)


def null_model_only(problem, solver, real=attempts.solve_quietly, **settings):
    """The largest strength follows from the null model; no other problem may be left to another solver."""
    assert isinstance(problem.penalty, Zero)
    return real(problem, solver, **settings)


def test_a_search_takes_no_other_solver(monkeypatch):
    X, y = data(Hinge(), n=1000)
    search = GraphGuidedClassifierCV("chain", alphas=8, cv=3, tol=1e-3)
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    monkeypatch.setattr(attempts, "solve_quietly", null_model_only)
    np.testing.assert_array_equal(search.fit(X, y).cv_results_["mean_test_score"], expected)
    assert repr(search.solver_) == "ActiveSet(share=None)"
    assert (search.dual_gap_path_ <= 1e-3).all()


# --- its parts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "sparse", "intercept", "sparse intercept"])
@pytest.mark.parametrize("tolerance", [0.0, 0.1])
def test_gram_matrices_of_clusters_follow_weights_and_clusters(form, tolerance):
    rng = np.random.default_rng(0)
    n, d = 60, 5
    dense = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X = as_rows(sp.csr_array(dense) if "sparse" in form else dense)
    if "intercept" in form:
        X, dense = WithIntercept(X), np.hstack([dense, np.ones((n, 1))])
    kept, summed = KeptGram(X, tolerance), SummedColumns(X)
    weights = np.zeros(n)
    for step in range(30):
        rows = rng.permutation(n)[: rng.choice([0, 1, 5, 40])]
        weights = weights.copy()
        weights[rows] = rng.uniform(0.5, 1.0, len(rows)) * (rng.random(len(rows)) < 0.5)
        label = rng.integers(-1, 3, dense.shape[1])
        columns = np.stack([dense[:, label == cluster].sum(axis=1) for cluster in range(3)], axis=1)
        expected = columns.T @ (weights[:, None] * columns)
        np.testing.assert_allclose(summed.matrix(label, 3, weights), expected, atol=1e-12)
        found = kept.matrix(label, 3, weights)
        if tolerance == 0.0:
            np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=f"step {step}")
        assert np.sum(np.abs(weights - kept.weights)) <= tolerance * np.sum(kept.weights)
        of_clusters = rng.normal(size=3)
        p = np.append(of_clusters, 0.0)[label]
        for gram in (kept, summed):
            np.testing.assert_allclose(gram.product(p, of_clusters), dense @ p, atol=1e-12)


def test_the_form_of_the_gram_matrix_follows_the_shape():
    assert isinstance(cluster_gram(as_rows(np.ones((64, 1))), 0.1), SummedColumns)
    assert isinstance(cluster_gram(as_rows(np.ones((65, 1))), 0.1), KeptGram)
    assert isinstance(cluster_gram(as_rows(sp.csr_array(np.ones((5, 1)))), 0.1), KeptGram)
    assert isinstance(cluster_gram(as_rows(np.ones((2, 2))), 0.0), SummedColumns)
    assert isinstance(cluster_gram(as_rows(np.ones((3, 2))), 0.0), KeptGram)
    assert not is_cheap(as_rows(sp.csr_array((5000, 1001))), is_smooth=True)


def test_products_follow_an_x_that_changes():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(50, 4))
    product, x = UpdatedProduct(as_rows(M)), np.zeros(50)
    for changed in (50, 3, 0, 1, 30, 2):
        x = x.copy()
        x[rng.permutation(50)[:changed]] = rng.normal(size=changed)
        np.testing.assert_allclose(product.of(x), M.T @ x, atol=1e-13)
        assert product.is_direct == (changed >= 25)


def test_a_difference_that_rounding_gave_the_wrong_sign_ends_at_zero():
    edges = Edges(np.array([0]), np.array([1]), np.ones(1), np.ones(1))
    found = minimiser(np.eye(2), np.array([1.0, -1.0]), edges, np.array([0.0, 1e-17]))
    assert found[0] == found[1]


@pytest.mark.parametrize("gamma", [1e-10, 1e-12, 1e-20])
def test_long_steps_along_a_weak_ridge_leave_no_rounding_in_the_certificate(gamma):
    X = np.array([[1.3058, 1.0], [0.3443, 0.0], [0.0, 0.0], [-0.9551, 0.0]])
    c = np.array([0.16585682, 0.1248459, 0.01051466, 0.23712966])
    y = np.array([-1.0, -1.0, -1.0, 1.0])
    problem = Problem(X, y, loss=Hinge(), penalty=L1(0.01), A=np.eye(2), gamma=gamma, sample_weight=c)
    (result,) = path(problem, [0.01], tol=1e-6)
    assert result.certificate.primal == pytest.approx(problem.objective(result.w), rel=1e-14)
    assert result.certificate.dual <= result.certificate.primal
    is_the_optimum(problem, [result], [0.01], 1e-6)


@pytest.mark.slow
def test_a_perfect_fit_and_far_strengths():
    """Nothing is left to be explained, so that the gap that is wanted is 0; and predictions would lead too far."""
    X, _ = data(Quantile(0.5))
    for loss in (Quantile(0.5), EpsilonInsensitive(0.1)):
        problem = Problem(X, np.zeros(len(X)), loss=loss, penalty=L1(1.0), A=KINDS["chain"], gamma=0.01)
        for result in path(problem, [1.0, 0.5, 0.1]):
            assert result.certificate.relative_gap == 0.0 and not result.w.any()
    problem = Problem(*data(Hinge()), loss=Hinge(), penalty=L1(1.0), A=KINDS["chain"], gamma=0.01)
    top = alpha_max(problem)
    alphas = [top, 0.999 * top, 0.001 * top, 0.001 * top, 0.5 * top]
    is_the_optimum(problem, path(problem, alphas), alphas, 1e-3)


@pytest.mark.parametrize("loss", [Logistic(), Tweedie(1.5)], ids=str)
def test_paths_of_smooth_losses_with_a_set(loss):
    """Of the smooth losses, those with a set are treated as losses with kinks are."""
    X, z = data(Quantile(0.5))
    y = np.where(z > 0.0, 1.0, -1.0) if isinstance(loss, Logistic) else np.maximum(z, 0.0)
    problem = Problem(X, y, loss=loss, penalty=L1(1.0), A=KINDS["chain"], gamma=0.1, w_set=NonNegative())
    assert all(result.certificate.relative_gap <= 1e-6 for result in path(problem, [0.1, 0.01], tol=1e-6))
