"""Offsets of series and images, against CVXPY and against shifted targets."""

import numpy as np
import pytest
from random_rows import random_targets
from references import TERMS, cp
from sklearn import config_context
from sklearn.model_selection import GridSearchCV

from adasadmm import (
    Gamma,
    Hinge,
    Logistic,
    NegativeBinomial,
    Poisson,
    Quantile,
    Squared,
    TotalVariationDenoiser,
    TrendFilter,
)

pytestmark = pytest.mark.compiled


SERIES_LOSSES = [Squared(), Poisson(), Gamma(), NegativeBinomial(0.7), Logistic(), Quantile(0.3)]


def best_series(loss, node, y, weight, offset, alpha, order):
    """The optimum of a series at times 0, 1, 2, ..., with the targets ``y`` at the times ``node``."""
    w, c = cp.Variable(node.max() + 1), weight / weight.sum()
    value = c @ TERMS[type(loss)](loss, w[node] + offset, y) + alpha * cp.norm1(cp.diff(w, order + 1))
    return cp.Problem(cp.Minimize(value)).solve(solver=cp.CLARABEL), w.value


@pytest.mark.parametrize("equal", [True, False], ids=["equal offsets", "different offsets"])
@pytest.mark.parametrize(
    "loss",
    [loss if isinstance(loss, Poisson) else pytest.param(loss, marks=pytest.mark.slow) for loss in SERIES_LOSSES],
    ids=str,
)
def test_a_series_with_several_targets_at_one_time_has_the_optimum_of_cvxpy(loss, equal):
    rng = np.random.default_rng(2)
    node = rng.permutation(np.repeat(np.arange(20), 3))
    offset = rng.normal(size=20)[node] if equal else rng.normal(size=60)
    y, weight = random_targets(loss, rng, np.sin(node / 4.0) + offset), rng.integers(1, 4, size=60).astype(float)
    model = TrendFilter(1, alpha=0.02, loss=loss, tol=1e-8).fit(node.astype(float), y, weight, offset)
    best, w = best_series(loss, node, y, weight, offset, 0.02, 1)
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    if not isinstance(loss, Quantile):  # whose optimum need not be unique
        np.testing.assert_allclose(model.coef_, w, atol=2e-3)


def test_a_reproduction_number_is_a_trend_of_counts_with_an_offset():
    rng = np.random.default_rng(0)
    t, growth = np.arange(60.0), np.where(np.arange(60) < 30, 0.1, -0.1)
    expected = 50.0 * np.exp(np.append(0.0, np.cumsum(growth)))
    y, offset = rng.poisson(expected[1:]).astype(float), np.log(expected[:-1])
    y[[5, 40]], offset[[5, 40]] = np.nan, [np.nan, -np.inf]  # a missing count needs no offset
    model = TrendFilter(0, alpha=1.0, loss="poisson").fit(t, y, offset=offset)
    assert abs(np.exp(model.coef_[10]) - np.exp(0.1)) < 0.05 > abs(np.exp(model.coef_[50]) - np.exp(-0.1))
    known = np.isfinite(offset)
    np.testing.assert_allclose(model.predict(t[known], offset[known]), np.exp(model.coef_ + offset)[known])
    assert model.score(t, y, offset=offset) > 0.8 > model.score(t, y)


def test_scikit_learn_routes_the_offset_of_a_series():
    rng = np.random.default_rng(0)
    t, offset = np.arange(60.0), rng.normal(size=60)
    y = rng.poisson(5.0 * np.exp(offset)).astype(float)
    with config_context(enable_metadata_routing=True):
        model = TrendFilter(loss="poisson").set_fit_request(offset=True).set_score_request(offset=True)
        search = GridSearchCV(model, {"alpha": [0.1, 10.0]}, cv=3).fit(t[:, None], y, offset=offset)
    alone = TrendFilter(loss="poisson", alpha=search.best_params_["alpha"]).fit(t, y, offset=offset)
    np.testing.assert_array_equal(search.best_estimator_.coef_, alone.coef_)


@pytest.mark.parametrize(
    ("loss", "shape"),
    [(Poisson(), (9, 8)), (Hinge(), (9, 8)), (Squared(), (9, 8)), (Gamma(), (40,)), (Logistic(), (7, 6))],
)
def test_an_image_with_an_offset_has_the_optimum_of_cvxpy(loss, shape):
    rng = np.random.default_rng(1)
    level = np.where(np.arange(shape[0]) < 4, 1.0, -1.0).reshape(-1, *[1] * (len(shape) - 1))
    offset = rng.normal(size=shape)
    image = random_targets(loss, rng, (level + offset).reshape(-1)).reshape(shape)
    image[1] = np.nan
    seen = ~np.isnan(image)
    given = np.where(seen, offset, np.inf)  # of a missing pixel, any offset
    model = TotalVariationDenoiser(alpha=0.02, loss=loss, tol=1e-7).fit(image, offset=given)
    w = cp.Variable(image.shape)
    chosen = np.flatnonzero(seen.reshape(-1))
    z = cp.vec(w, order="C")[chosen] + offset.reshape(-1)[chosen]
    total = cp.sum(TERMS[type(loss)](loss, z, image.reshape(-1)[chosen])) / len(chosen)
    along = sum(cp.sum(cp.abs(cp.diff(w, axis=axis))) for axis in range(image.ndim))
    best = cp.Problem(cp.Minimize(total + 0.02 * along)).solve(solver=cp.CLARABEL)
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    if isinstance(loss, Poisson):
        np.testing.assert_allclose(model.image_[seen], np.exp(model.coef_ + offset)[seen])
        np.testing.assert_array_equal(
            TotalVariationDenoiser(alpha=0.02, loss=loss, tol=1e-7).fit_transform(image, offset=given), model.image_
        )


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (np.zeros(3), r"offset must have shape \(5,\).*got \(3,\)"),
        (
            [0.0, np.nan, 0.0, 0.0, 0.0],
            r"offset must be finite where there is a target, got nan.*set the target to NaN",
        ),
    ],
)
def test_a_wrong_offset_of_a_signal_is_named(offset, message):
    t, y = np.arange(5.0), np.ones(5)
    for fit in (TrendFilter(loss="poisson").fit, TrendFilter(loss="poisson").fit(t, y).score):
        with pytest.raises(ValueError, match=message):
            fit(t, y, offset=offset)
    with pytest.raises(ValueError, match=message):
        TotalVariationDenoiser(loss="poisson").fit(y, offset=offset)
    with pytest.raises(ValueError, match="offset must hold numbers"):
        TrendFilter(loss="poisson").fit(t, y, offset=["one"] * 5)
    with pytest.raises(ValueError, match="image must hold counts >= 0 for Poisson, got -1; correct"):
        TotalVariationDenoiser(loss="poisson").fit(-y)
