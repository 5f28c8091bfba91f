"""Weights of the penalty's terms, given and adaptive, and coefficients estimated again on the fused design."""

import numpy as np
import pytest
import references
import scipy.sparse as sp
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge

from adasadmm import (
    L1,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    Logistic,
    Poisson,
    Squared,
    StructuredClassifier,
    StructuredRegressor,
    graphs,
    load_model,
    save_model,
)
from adasadmm.estimators._types import PerRow
from adasadmm.estimators._weights import adaptive_weights, gcv_strength, pilot

N, D = 150, 12
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D))
W = np.repeat([1.0, 0.0, 2.0], 4)
Y = X @ W + 0.5 * rng.normal(size=N) + 5.0
EXACT = {"l2": 0.0, "tol": 1e-10}


# --- given weights ---------------------------------------------------------------------------------------------------


def test_weights_of_edges_and_features_against_cvxpy():
    weights = rng.uniform(0.2, 2.0, size=D - 1 + D)
    model = GraphGuidedRegressor("chain", alpha=0.3, l1_ratio=0.4, weights=weights, fit_intercept=False, **EXACT)
    shares = np.repeat([0.6, 0.4], [D - 1, D]) * weights
    A = sp.diags_array(shares) @ sp.vstack([graphs.difference(D), sp.eye_array(D)])
    value, w, _, _ = references.optimum(X, Y, loss=Squared(), penalty=L1(0.3), A=A)
    np.testing.assert_allclose(model.fit(X, Y).coef_, w, atol=1e-5)
    assert model._objectives[0] == pytest.approx(value, rel=1e-8)


def test_weights_multiply_those_of_the_graph_and_may_be_left_out_for_features():
    edges, weights = graphs.chain(D), rng.uniform(0.5, 2.0, size=D - 1)
    settings = {"alpha": 0.2, "l1_ratio": 0.3, **EXACT}
    one = GraphGuidedRegressor((edges, weights), **settings).fit(X, Y)
    other = GraphGuidedRegressor(edges, weights=weights, **settings).fit(X, Y)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-7)


def test_a_weighted_lasso_and_weighted_groups():
    weights = rng.uniform(0.5, 2.0, size=D)
    ours = StructuredRegressor("chain", alpha=0.1, l1_ratio=1.0, weights=weights, **EXACT).fit(X, Y)
    theirs = Lasso(0.1, tol=1e-14, max_iter=10**6).fit(X / weights, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_ / weights, atol=1e-6)
    groups = graphs.overlapping_groups([range(k, k + 4) for k in (0, 4, 8)], D)
    strong = StructuredRegressor(groups, penalty="group", alpha=0.3, weights=[20.0, 1.0, 0.0], l2=0.0).fit(X, Y)
    assert not strong.coef_[:4].any() and strong.coef_[8:].all()


# --- adaptive weights ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(80, 10), (20, 30)], ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_generalised_cross_validation(shape, intercept):
    """The chosen strength has the least score, computed from the hat matrix of scikit-learn's ridge."""
    draws = np.random.default_rng(0)  # for some others the best strength with more columns than rows is 0
    sizes = np.exp(-0.2 * np.arange(shape[1]))
    X, weight = draws.normal(size=shape) * sizes, draws.uniform(0.5, 2.0, size=shape[0])
    y = X @ sizes + 0.5 * draws.normal(size=shape[0])

    def score(strength):
        def fit(target):
            model = Ridge(strength, fit_intercept=intercept, solver="cholesky").fit(X, target, sample_weight=weight)
            return model.predict(X)

        freedom = shape[0] - sum(fit(unit)[i] for i, unit in enumerate(np.eye(shape[0])))
        return weight @ (y - fit(y)) ** 2 / freedom**2

    chosen = gcv_strength(X, y, weight, intercept)
    found = score(chosen)
    assert all(found <= 1.000001 * score(chosen * factor) for factor in (0.5, 0.75, 1.4, 2.0))


def test_the_formula():
    w = np.array([1.0, 1.0, 3.0])
    A = sp.csr_array([[1.0, -1.0, 0.0], [0.0, 5.0, -5.0]])
    structural, sparse = adaptive_weights(A, L1(1.0), w, 0.5)
    expected = np.array([1.0 / (1e-4 * 2.0), 1.0 / 2.0]) ** 0.5
    np.testing.assert_allclose(structural, expected / expected.mean())
    expected = 1.0 / w**0.5
    np.testing.assert_allclose(sparse, expected / expected.mean())


def test_adaptive_weights_find_the_pieces_with_less_shrinkage():
    plain = GraphGuidedRegressor("chain", alpha=0.3, l1_ratio=0.3, l2=0.0).fit(X, Y)
    adaptive = GraphGuidedRegressor("chain", alpha=0.3, l1_ratio=0.3, l2=0.0, weights="adaptive").fit(X, Y)
    np.testing.assert_array_equal(adaptive.clusters_, np.repeat([0, 1, 2], 4))
    assert np.abs(adaptive.coef_ - W).max() < 0.5 * np.abs(plain.coef_ - W).max()
    np.testing.assert_array_equal(adaptive.set_params(weights_power=0.0).fit(X, Y).coef_, plain.coef_)


def test_each_class_has_weights_of_its_own_and_searches_adapt_on_each_fold():
    labels = np.digitize(Y, [3.0, 7.0])
    options = {"loss": "squared_hinge", "alpha": 0.02, "l1_ratio": 0.5, "weights": "adaptive"}
    model = StructuredClassifier("chain", **options).fit(X, labels)
    alone = StructuredClassifier("chain", **options)
    np.testing.assert_allclose(model.coef_[1], alone.fit(X, labels == 1).coef_[0], atol=1e-8)
    search = GraphGuidedClassifierCV("chain", alphas=4, cv=3, weights="adaptive").fit(X, labels)
    assert search.score(X, labels) > 0.7


@pytest.mark.parametrize("loss", [Squared(), Poisson(), Logistic()], ids=lambda loss: type(loss).__name__)
def test_the_ridge_fit_points_to_the_true_coefficients(loss):
    z = X @ W / 3.0
    y = {"Squared": z, "Poisson": rng.poisson(np.exp(z)), "Logistic": np.where(z + rng.logistic(size=N) > 0, 1, -1)}
    w = pilot(X, y[type(loss).__name__].astype(float), PerRow(), loss, True)
    assert w @ W > 0.75 * np.linalg.norm(w) * np.linalg.norm(W)
    sparse = pilot(sp.csr_array(X), y[type(loss).__name__].astype(float), PerRow(np.ones(N)), loss, True)
    np.testing.assert_allclose(sparse, w, atol=1e-3 * np.abs(w).max())


# --- estimated again -------------------------------------------------------------------------------------------------


def test_least_squares_on_the_clusters():
    model = GraphGuidedRegressor("chain", alpha=0.3, l1_ratio=0.5, l2=0.0, refit="clusters").fit(X, Y)
    members = np.unique(model.clusters_, return_inverse=True)[1][:, None] == np.unique(model.clusters_)
    kept = members[:, (members * (model.coef_penalized_ != 0.0)[:, None]).any(axis=0)].astype(float)
    again = LinearRegression().fit(X @ kept, Y)
    np.testing.assert_allclose(model.coef_, kept @ again.coef_, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, again.intercept_, atol=1e-7)
    assert (model.coef_ == 0.0).any() and not np.allclose(model.coef_, model.coef_penalized_)
    plain = GraphGuidedRegressor("chain", alpha=0.3, l1_ratio=0.5, l2=0.0).fit(X, Y)
    np.testing.assert_array_equal(model.coef_penalized_, plain.coef_)
    assert model.intercept_penalized_ == plain.intercept_ and model.dual_gap_ == plain.dual_gap_
    assert model.summary().endswith("objective and gap are those of coef_penalized_")
    assert not hasattr(plain, "coef_penalized_") and "again" not in plain.summary()


def test_trends_groups_and_classes():
    trend = StructuredRegressor("trend", alpha=1.0, l2=0.0, refit="clusters", tol=1e-8).fit(X, Y)
    kinks = np.abs(np.diff(trend.coef_penalized_, 2)) > 1e-8
    np.testing.assert_array_equal(np.abs(np.diff(trend.coef_, 2)) > 1e-8, kinks)
    rest = [np.mean((Y - X @ w - b) ** 2) for w, b in ((trend.coef_, trend.intercept_), (trend.coef_penalized_, 0.0))]
    assert rest[0] < rest[1]
    groups = graphs.overlapping_groups([range(k, k + 4) for k in (0, 4, 8)], D)
    model = StructuredRegressor(groups, penalty="group", alpha=0.3, l2=0.0, refit="clusters", tol=1e-8).fit(X, Y)
    assert not model.coef_[4:8].any()
    kept = np.flatnonzero(model.coef_)
    np.testing.assert_allclose(model.coef_[kept], LinearRegression().fit(X[:, kept], Y).coef_, atol=1e-6)
    labels = np.where(Y > 6.0, "high", "low")
    sparse = GraphGuidedClassifier("chain", loss="logistic", alpha=0.05, l1_ratio=1.0, l2=0.02, refit="clusters")
    kept = np.flatnonzero(sparse.fit(X, labels).coef_[0])
    theirs = LogisticRegression(C=1.0 / (0.02 * N), tol=1e-10, max_iter=10**5).fit(X[:, kept], labels)
    np.testing.assert_allclose(sparse.coef_[:, kept], theirs.coef_, atol=1e-5)


def test_constraints_remain_and_the_model_can_be_saved_and_searched(tmp_path):
    model = GraphGuidedRegressor("chain", alpha=0.2, bounds=(0.0, 1.5), l2=0.0, refit="clusters").fit(X, Y)
    assert model.coef_.max() == 1.5 and model.coef_.min() >= 0.0
    save_model(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").coef_penalized_, model.coef_penalized_)
    np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X))
    search = GraphGuidedRegressorCV("chain", alphas=5, l1_ratio=0.5, refit="clusters", cv=3).fit(X, Y)
    assert search.score(X, Y) > 0.9 and search.coef_penalized_.shape == (D,)
    search.set_params(refit="none").fit(X, Y)
    assert not hasattr(search, "coef_penalized_")


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": np.ones(5)}, "weights must have an entry for each of the 11 terms .* or 23 with one for each"),
        ({"weights": [-1.0] * 11}, "array of finite numbers >= 0"),
        ({"weights": [[1.0] * 11]}, "array of finite numbers >= 0"),
        ({"weights": "best"}, "'weights' parameter of StructuredRegressor must be a str among {'adaptive'}"),
        ({"weights": "adaptive", "penalty": L1(0.1)}, "weights must be None if penalty is an object"),
        ({"refit": "all"}, "'refit' parameter of StructuredRegressor must be a str among"),
    ],
)
def test_what_cannot_be_meant_is_an_error(parameters, message):
    with pytest.raises(ValueError, match=message):
        StructuredRegressor("chain", **parameters).fit(X, Y)


def test_what_a_stream_cannot_take_is_an_error():
    StructuredRegressor("chain", weights=np.ones(11)).partial_fit(X, Y)
    with pytest.raises(ValueError, match='weights="adaptive" needs all rows in memory'):
        StructuredRegressor("chain", weights="adaptive").partial_fit(X, Y)
    with pytest.raises(ValueError, match='refit must be "none" in partial_fit'):
        StructuredRegressor("chain", refit="clusters").partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"validation_fraction must be 0 in partial_fit, .* got 0.2"):
        StructuredRegressor("chain", validation_fraction=0.2).partial_fit(X, Y)
