"""The squared loss of many rows is that of few: the same objective, dual values, models and criteria."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import IPM, L1, GraphGuidedRegressor, GraphGuidedRegressorCV, Hinge, Problem, Squared, graphs
from adasadmm.certificates import certify
from adasadmm.rows.matrices import WithIntercept, as_rows
from adasadmm.sources.condensed import slopes_of_all

N, D = 8000, 30
LOSS = Squared()


def data(seed=0, kind="dense"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * 10.0 ** rng.uniform(-2, 2, D)
    if kind == "sparse":
        X = sp.csr_array(np.where(rng.random((N, D)) < 0.9, X, 0.0))
    w = np.repeat(rng.normal(size=D // 5), 5)
    return X, X @ w + rng.normal(size=N), rng.random(N)


def problem_of(kind, intercept=True, loss=LOSS):
    X, y, weight = data(kind=kind)
    rows = as_rows(X)
    A = graphs.difference(D)
    if intercept:
        rows, A = WithIntercept(rows), sp.hstack([A, sp.csr_array((D - 1, 1))], format="csr")
    y = np.sign(y) if isinstance(loss, Hinge) else y
    return Problem(rows, y, loss=loss, penalty=L1(0.1), A=A, gamma=1e-3, sample_weight=weight)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [True, False])
def test_condensed_rows_have_the_same_objective_and_dual_value(kind, intercept):
    problem = problem_of(kind, intercept)
    few, rng = problem.condensed, np.random.default_rng(1)
    assert few.n == problem.d + 1
    for _ in range(5):
        w = rng.normal(size=problem.d)
        assert few.objective(w) == pytest.approx(problem.objective(w), rel=1e-12)
        s, theta = rng.normal(size=few.n), 0.1 * rng.uniform(-1.0, 1.0, problem.m)
        v = problem.times_A(w)
        lifted = certify(problem, w, v, slopes_of_all(problem.rows, few.rows, s), theta)
        assert lifted.dual == pytest.approx(certify(few, w, v, s, theta).dual, rel=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_fit_to_condensed_rows_is_that_to_all_rows(kind, weighted):
    X, y, weight = data(2, kind)
    models = [
        GraphGuidedRegressor("chain", alpha=0.05, tol=1e-9, solver=solver).fit(X, y, weight if weighted else None)
        for solver in ("auto", IPM())
    ]
    few, full = models
    assert f"loss of {N} rows is that of {D + 2}" in few.solver_reason_
    assert few.dual_gap_ <= 1e-9
    np.testing.assert_allclose(few.coef_, full.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(few.clusters_, full.clusters_)
    for name in ("df_", "aic_", "bic_"):
        assert getattr(few, name) == pytest.approx(getattr(full, name), rel=1e-9)


def test_every_strength_of_a_search_is_certified_by_all_rows():
    X, y, _ = data(3)
    search = GraphGuidedRegressorCV("chain", alphas=8, cv=3).fit(X, y)
    assert np.max(search.dual_gap_path_) <= search.tol
    single = GraphGuidedRegressor("chain", alpha=search.alpha_, tol=1e-8, solver=IPM()).fit(X, y)
    np.testing.assert_allclose(search.coef_, single.coef_, rtol=1e-2, atol=1e-3 * np.abs(single.coef_).max())


def test_rows_are_not_condensed_where_rounding_would_matter():
    X, y, _ = data()
    exact, dependent, empty = X @ np.ones(D), X.copy(), X.copy()
    dependent[:, 1] = dependent[:, 0] * (1.0 + 1e-6 * np.arange(N) / N)
    empty[:, 1] = 0.0
    cases = (X, exact), (X, y + 1e9), (X, 1e160 * y), (1e160 * X, y), (dependent, y), (empty, y), (X[:200], y[:200])
    for rows, targets in cases:
        problem = Problem(WithIntercept(as_rows(rows)), targets, loss=Squared(), penalty=L1(0.1), A=np.eye(D + 1))
        assert problem.condensed is problem
    hinge = problem_of("dense", loss=Hinge())
    assert hinge.condensed is hinge
