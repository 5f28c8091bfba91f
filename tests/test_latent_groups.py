"""Latent overlapping groups: any of its groups may select a feature."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from adasadmm import StructuredClassifier, StructuredRegressor, graphs, load_model, save_model, sources


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_latent_groups_are_group_lasso_on_copied_columns(intercept, form):
    """Against CVXPY with one variable for each group; feature 9 is in no group, and so not penalised."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 10)), [[0, 1, 2, 3], [3, 4, 5], [5, 6, 7, 8], [2, 5]]
    y = X @ np.r_[0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 1.0] + 0.3 * rng.normal(size=60) + intercept
    parts, free, constant = [cp.Variable(len(group)) for group in groups], cp.Variable(), cp.Variable()
    z = sum(X[:, group] @ u for group, u in zip(groups, parts, strict=True)) + free * X[:, 9] + intercept * constant
    ridge = sum(cp.sum_squares(u) for u in parts) + cp.square(free)
    objective = cp.sum_squares(z - y) / 120 + 0.005 * ridge + 0.2 * sum(cp.norm2(u) for u in parts)
    cp.Problem(cp.Minimize(objective)).solve(cp.CLARABEL)
    expected = np.zeros(10)
    for group, u in zip(groups, parts, strict=True):
        expected[group] += u.value
    expected[9] = free.value
    model = StructuredRegressor(
        graphs.latent_groups(groups, 10), penalty="group", alpha=0.2, l2=0.01, tol=1e-8, fit_intercept=intercept
    ).fit(form(X), y)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-4)
    np.testing.assert_allclose(model.latent_coef_.sum(axis=0)[:9], model.coef_[:9], atol=1e-12)
    np.testing.assert_allclose(model.latent_coef_[[1], :].toarray()[0, 3:6], parts[1].value, atol=1e-4)
    assert not model.latent_coef_[[0], :].toarray().any() and model.predict(X).shape == (60,)


def test_latent_groups_of_several_classes_and_of_parts_of_a_stream():
    X, y = load_iris(return_X_y=True)
    latent = graphs.latent_groups([[0, 1], [1, 2, 3]], 4)
    model = StructuredClassifier(latent, penalty="group", alpha=0.01).fit(X, y)
    assert model.coef_.shape == (3, 4) and len(model.latent_coef_) == 3 and model.score(X, y) > 0.8
    stream = StructuredClassifier(lambda d: latent, penalty="group", alpha=0.01)
    assert stream.partial_fit(X, y, classes=[0, 1, 2]).coef_.shape == (3, 4)
    with pytest.raises(ValueError, match="latent groups must be over the 3 features, got groups over 4"):
        StructuredClassifier(latent, penalty="group").fit(X[:, :3], y)
    with pytest.raises(ValueError, match="latent groups need rows in memory"):
        StructuredRegressor(latent, penalty="group", solver="alm").fit(sources.arrays(X, y.astype(float)))


def test_a_saved_model_has_its_latent_coefficients(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = StructuredRegressor(graphs.latent_groups([[0, 1], [1, 2, 3]], 4), penalty="group", alpha=0.01).fit(X, y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.latent_coef_.toarray(), model.latent_coef_.toarray())


def test_bounds_hold_for_the_sum_and_weights_for_the_groups():
    rng = np.random.default_rng(1)
    X, latent = rng.normal(size=(80, 6)), graphs.latent_groups([[0, 1, 2], [2, 3], [3, 4, 5]], 6)
    y = X @ [1.0, 1.0, 2.0, 0.0, 0.0, -1.0] + 0.1 * rng.normal(size=80)
    settings = {"penalty": "group", "alpha": 0.05, "tol": 1e-6}
    bounded = StructuredRegressor(latent, bounds=(-0.5, 1.5), **settings).fit(X, y)
    assert bounded.coef_[2] == pytest.approx(1.5) and bounded.coef_[5] == pytest.approx(-0.5)
    plain = StructuredRegressor(latent, **settings).fit(X, y)
    weighted = StructuredRegressor(latent, weights=[1.0, 1.0, 100.0], **settings).fit(X, y)
    assert plain.coef_[5] < -0.5 and not weighted.latent_coef_[[2], :].toarray().any() and weighted.coef_[5] == 0.0
    adaptive = StructuredRegressor(latent, weights="adaptive", refit="clusters", **settings).fit(X, y)
    assert adaptive.coef_.shape == adaptive.coef_penalized_.shape == (6,)
