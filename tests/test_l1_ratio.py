"""Sparse and fused coefficients by one parameter: against scikit-learn where it has the model, and against CVXPY."""

import numpy as np
import pytest
import references
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.model_selection import GridSearchCV

from adasadmm import (
    L1,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    Squared,
    StructuredClassifier,
    StructuredRegressor,
    graphs,
    load_model,
    save_model,
)
from adasadmm.registry import LOSSES

N, D = 120, 20
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D))
Y = X @ np.repeat([0.0, 2.0, 0.0, -1.0], 5) + rng.normal(size=N) + 3.0
LABELS = np.where(Y > 3.0, "yes", "no")
EXACT = {"l2": 0.0, "tol": 1e-10}


# --- scikit-learn's models -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [GraphGuidedRegressor("chain"), StructuredRegressor("trend")], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_one_is_the_lasso(model, intercept):
    ours = model.set_params(alpha=0.1, l1_ratio=1.0, fit_intercept=intercept, **EXACT).fit(X, Y)
    theirs = Lasso(0.1, fit_intercept=intercept, tol=1e-14, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    np.testing.assert_array_equal(ours.coef_ == 0.0, theirs.coef_ == 0.0)


def test_an_elastic_net_is_a_lasso_with_a_ridge():
    strength, ratio = 0.2, 0.4
    theirs = ElasticNet(strength, l1_ratio=ratio, tol=1e-14, max_iter=10**6).fit(X, Y)
    ours = GraphGuidedRegressor("chain", alpha=strength * ratio, l2=strength * (1 - ratio), l1_ratio=1.0, tol=1e-12)
    np.testing.assert_allclose(ours.fit(X, Y).coef_, theirs.coef_, atol=1e-6)


def test_l1_logistic_regression():
    ours = GraphGuidedClassifier("chain", loss="logistic", alpha=0.03, l1_ratio=1.0, **EXACT).fit(X, LABELS)
    theirs = LogisticRegression(l1_ratio=1.0, C=1.0 / (N * 0.03), solver="saga", tol=1e-12, max_iter=10**6)
    np.testing.assert_allclose(ours.coef_, theirs.fit(X, LABELS).coef_, atol=1e-6)
    assert 0 < np.count_nonzero(ours.coef_) < D


# --- CVXPY -----------------------------------------------------------------------------------------------------------


def test_both_parts_against_cvxpy():
    ours = GraphGuidedRegressor("chain", alpha=0.2, l1_ratio=0.4, fit_intercept=False, **EXACT).fit(X, Y)
    A = sp.vstack([0.6 * graphs.difference(D), 0.4 * sp.eye_array(D)])
    value, w, _, _ = references.optimum(X, Y, loss=Squared(), penalty=L1(0.2), A=A)
    np.testing.assert_allclose(ours.coef_, w, atol=1e-5)
    np.testing.assert_allclose(ours._objectives[0], value, rtol=1e-9)
    assert (ours.coef_ == 0.0).any() and (np.diff(ours.coef_) == 0.0).any()


def test_groups_and_single_coefficients():
    A, rows = graphs.overlapping_groups([range(k, k + 5) for k in range(0, D, 5)], D)
    groups = StructuredRegressor((A, rows), penalty="group", alpha=0.6, l2=0.0, tol=1e-8).fit(X, Y)
    both = StructuredRegressor((A, rows), penalty="group", alpha=0.6, l1_ratio=0.5, l2=0.0, tol=1e-8).fit(X, Y)
    dropped = groups.coef_.reshape(4, 5) == 0.0
    assert (dropped.all(axis=1) == dropped.any(axis=1)).all() and dropped.any()
    assert (both.coef_[5:10] != 0.0).all() and both.dual_gap_ <= 1e-8
    norms = np.linalg.norm(both.coef_.reshape(4, 5), axis=1).sum()
    rest = Y - both.predict(X)
    assert both._objectives[0] == pytest.approx(rest @ rest / (2 * N) + 0.3 * norms + 0.3 * np.abs(both.coef_).sum())


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_a_diagonal_design(loss):
    y = np.random.default_rng(1).poisson(np.repeat([1.0, 5.0, 1.0], 20)).astype(float)
    model = StructuredRegressor("chain", loss=loss, alpha=0.02, l1_ratio=0.3, fit_intercept=False, **EXACT)
    model.fit(sp.eye_array(60, format="csr"), y)
    A = sp.vstack([0.7 * graphs.difference(60), 0.3 * sp.eye_array(60)])
    value, w, _, _ = references.optimum(np.eye(60), y, loss=LOSSES[loss], penalty=L1(0.02), A=A)
    np.testing.assert_allclose(model.coef_, w, atol=1e-4)
    assert model.dual_gap_ <= 1e-8 and abs(model._objectives[0] - value) <= 1e-7 * max(1.0, abs(value))


# --- the rest of an estimator's day ----------------------------------------------------------------------------------


def test_a_grid_search_by_name_and_the_search_along_a_path():
    grid = {"alpha": [0.05, 0.2], "l1_ratio": [0.0, 0.5, 1.0]}
    search = GridSearchCV(GraphGuidedRegressor("chain", l2=0.0), grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.8
    along = GraphGuidedRegressorCV("chain", alphas=6, l1_ratio=0.5, cv=3, tol=1e-6).fit(X, Y)
    assert not along.coef_path_[0, 0].any() and along.coef_path_[0, 1].any()  # the path starts where all are 0
    assert along.score(X, Y) > 0.8
    labels = GraphGuidedClassifierCV("chain", alphas=4, l1_ratio=1.0, fit_intercept=False, cv=3).fit(X, LABELS)
    assert not labels.coef_path_[0, 0].any()


def test_streams_files_and_a_warm_start(tmp_path):
    model = StructuredClassifier("chain", alpha=0.05, l1_ratio=0.5, random_state=0)
    for _ in range(3):
        model.partial_fit(X, LABELS, classes=["no", "yes"])
    assert model.score(X, LABELS) > 0.8
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.partial_fit(X, LABELS).coef_, model.partial_fit(X, LABELS).coef_)
    warm = GraphGuidedRegressor("chain", alpha=0.1, l1_ratio=0.5, warm_start=True, tol=1e-8).fit(X, Y)
    first = warm.coef_.copy()
    np.testing.assert_allclose(warm.fit(X, Y).coef_, first, atol=1e-6)
    np.testing.assert_allclose(warm.to_sklearn().predict(X), warm.predict(X))


def test_with_a_penalty_object_it_must_be_zero():
    with pytest.raises(
        ValueError, match=r"l1_ratio must be 0 if penalty is an object, which is used as it is, got 0\.5"
    ):
        StructuredRegressor("chain", penalty=L1(0.1), l1_ratio=0.5).fit(X, Y)
    with pytest.raises(ValueError, match="'l1_ratio' parameter of GraphGuidedRegressor must be a float in the range"):
        GraphGuidedRegressor("chain", l1_ratio=1.5).fit(X, Y)
