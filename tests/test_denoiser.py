"""Total variation denoising of signals, images and volumes: optima by CVXPY, exact pieces, missing pixels."""

import pickle

import numpy as np
import pytest
import references
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from adasadmm import L1, Quantile, TotalVariationDenoiser, TrendFilter, graphs, load_model, save_model
from adasadmm.graphs.structures import grid_rows
from adasadmm.registry import LOSSES
from adasadmm.rows.matrices import to_scipy

pytestmark = [pytest.mark.kernels, pytest.mark.compiled]  # too slow without the compiler


def optimum(image, *, alpha, loss="squared", l2=0.0, weight=None):
    """The optimal objective by CVXPY; missing pixels are NaN or have weight 0."""
    seen = ~np.isnan(image) if weight is None else ~np.isnan(image) & (weight > 0.0)
    X = sp.eye_array(image.size, format="csr")[seen.reshape(-1)]
    weight = None if weight is None else weight[seen]
    loss = LOSSES[loss] if isinstance(loss, str) else loss
    A = graphs.incidence(graphs.grid(*image.shape))
    return references.optimum(X, image[seen], loss=loss, penalty=L1(alpha), A=A, gamma=l2, sample_weight=weight)[0]


def picture(*shape, seed=0, noise=0.2):
    """A block of another value, with noise."""
    rng = np.random.default_rng(seed)
    image = noise * rng.normal(size=shape)
    image[tuple(slice(length // 3, None) for length in shape)] += 2.0
    return image, rng


@pytest.mark.parametrize("shape", [(40,), (7, 8), (3, 4, 5), (1, 6), (6, 1, 2)])
def test_every_dimension_equals_cvxpy(shape):
    image, _ = picture(*shape)
    model = TotalVariationDenoiser(alpha=0.3 / image.size, tol=1e-6).fit(image)
    assert model.objective_ == pytest.approx(optimum(image, alpha=0.3 / image.size), rel=2e-6)
    assert model.image_.shape == shape and model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber", Quantile(0.3)])
@pytest.mark.parametrize("shape", [(30,), (6, 6)])
def test_every_loss_equals_cvxpy(loss, shape):
    image, rng = picture(*shape, seed=1)
    if loss == "logistic":
        image = np.where(image + rng.normal(size=shape) > 1.0, 1.0, -1.0)
    elif loss == "poisson":
        image = rng.poisson(np.exp(image)).astype(float)
    model = TotalVariationDenoiser(alpha=0.02, loss=loss, l2=0.01, tol=1e-5).fit(image)
    value = optimum(image, alpha=0.02, loss=loss, l2=0.01)
    assert abs(model.objective_ - value) <= 2e-5 * abs(value)
    expected = {"logistic": lambda w: 1 / (1 + np.exp(-w)), "poisson": np.exp}.get(loss, lambda w: w)
    np.testing.assert_allclose(model.image_, expected(model.coef_))


@pytest.mark.parametrize("shape", [(40,), (7, 8), (3, 4, 4)])
def test_missing_pixels_and_weights_equal_cvxpy(shape):
    image, rng = picture(*shape, seed=2)
    gaps = np.where(rng.random(shape) < 0.2, np.nan, image)
    model = TotalVariationDenoiser(alpha=0.01, tol=1e-5).fit(gaps)
    assert model.objective_ == pytest.approx(optimum(gaps, alpha=0.01), rel=2e-5)
    assert np.isfinite(model.image_).all()
    assert gaps[~np.isnan(gaps)].min() <= model.image_.min() and model.image_.max() <= np.nanmax(gaps)
    weight = rng.uniform(0.5, 2.0, shape) * (rng.random(shape) < 0.8)
    model = TotalVariationDenoiser(alpha=0.01, tol=1e-5).fit(gaps, sample_weight=weight)
    assert model.objective_ == pytest.approx(optimum(gaps, alpha=0.01, weight=weight), rel=2e-5)


def test_pieces_are_exact():
    image = np.zeros((12, 10))
    image[3:7, 2:6], image[9:, 7:] = 4.0, -3.0
    noisy = image + 0.05 * np.random.default_rng(0).normal(size=image.shape)
    model = TotalVariationDenoiser(alpha=0.002).fit(noisy)
    assert model.n_pieces_ == 3 and len(np.unique(model.coef_)) == 3
    expected = np.where(image == 4.0, 1, np.where(image == -3.0, 2, 0))
    np.testing.assert_array_equal(model.labels_, expected)
    edge = np.zeros(image.shape, dtype=bool)
    edge[1:] |= np.diff(expected, axis=0) != 0
    edge[:, 1:] |= np.diff(expected, axis=1) != 0
    np.testing.assert_array_equal(model.change_points_, edge)


def test_a_signal_is_a_trend_of_order_0():
    signal = np.repeat([0.0, 2.0, 1.0], 15) + 0.1 * np.random.default_rng(0).normal(size=45)
    model = TotalVariationDenoiser(alpha=0.05, tol=1e-8)
    trend = TrendFilter(0, alpha=0.05, tol=1e-8).fit(np.arange(45), signal)
    np.testing.assert_allclose(model.fit_transform(signal), trend.coef_, atol=1e-6)
    np.testing.assert_array_equal(model.change_points_, trend.change_points_)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], 15))


def test_channels_are_denoised_one_by_one():
    image, rng = picture(6, 5, seed=3)
    colours = np.stack([image, image + 0.1 * rng.normal(size=image.shape), -image], axis=1)
    model = TotalVariationDenoiser(alpha=0.01, channel_axis=1)
    found = model.fit_transform(colours)
    for k in range(3):
        alone = TotalVariationDenoiser(alpha=0.01).fit(colours[:, k])
        np.testing.assert_array_equal(found[:, k], alone.image_)
    assert found.shape == model.labels_.shape == colours.shape and len(model.trace_) == 3
    assert not set(model.labels_[:, 0].flat) & set(model.labels_[:, 1].flat)
    last = TotalVariationDenoiser(alpha=0.01, channel_axis=-1).fit_transform(np.moveaxis(colours, 1, -1))
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), found)


def test_integers_lists_and_single_pixels():
    assert TotalVariationDenoiser(alpha=0.1).fit_transform([[7]]) == pytest.approx(7.0)
    image = np.array([[0, 0, 200], [0, 255, 210]], dtype=np.uint8)
    found = TotalVariationDenoiser(alpha=1.0).fit_transform(image)
    np.testing.assert_allclose(found, TotalVariationDenoiser(alpha=1.0).fit_transform(image.tolist()))
    assert found.dtype == np.float64


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (1, 5), (1,), (4, 1, 3)])
def test_the_matrix_of_a_grid_is_its_incidence_matrix(shape):
    expected = graphs.incidence(graphs.grid(*shape), d=int(np.prod(shape)))
    np.testing.assert_array_equal(to_scipy(grid_rows(shape)).toarray(), expected.toarray())


def test_models_are_copied_and_saved(tmp_path):
    image, _ = picture(6, 6)
    model = TotalVariationDenoiser(alpha=0.01).fit(image)
    assert clone(model).get_params() == model.get_params()
    save_model(model, tmp_path / "model.skops")
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model.skops")):
        np.testing.assert_array_equal(other.labels_, model.labels_)
    assert model.summary().startswith("TotalVariationDenoiser: 6 x 6 pixels\n")
    assert "6 x 6 pixels" in model._repr_html_()


@pytest.mark.parametrize(
    "settings, image, message",
    [
        (
            {},
            np.zeros((2, 2, 2, 2)),
            r"one, two or three dimensions beside channel_axis=None, got shape \(2, 2, 2, 2\)",
        ),
        ({"channel_axis": 0}, np.zeros(3), "one, two or three dimensions beside channel_axis=0"),
        ({"channel_axis": 2}, np.zeros((3, 3)), r"channel_axis must be an axis of the image of shape \(3, 3\), got 2"),
        ({}, np.full((2, 2), np.nan), "image has no observed pixel"),
        ({}, [[1.0, np.inf]], "image contains infinity"),
        ({}, np.zeros((0, 3)), "minimum of 1 is required"),
        ({"alpha": -1.0}, np.zeros((2, 2)), "The 'alpha' parameter"),
        ({"loss": "poisson"}, np.zeros((2, 2)), "all targets are 0"),
        ({"loss": "poisson"}, -np.ones((2, 2)), "Poisson"),
    ],
)
def test_wrong_input_is_named(settings, image, message):
    with pytest.raises(ValueError, match=message):
        TotalVariationDenoiser(**settings).fit(image)


def test_wrong_weights_are_named():
    model = TotalVariationDenoiser(alpha=0.1)
    with pytest.raises(NotFittedError):
        model.labels_
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(2, 3\)"):
        model.fit(np.zeros((2, 3)), sample_weight=np.ones(6))
    with pytest.raises(ValueError, match="sample_weight must be >= 0, got -1"):
        model.fit(np.zeros((2, 3)), sample_weight=-np.ones((2, 3)))
    with pytest.raises(ValueError, match="image has no observed pixel"):
        model.fit(np.zeros((2, 3)), sample_weight=np.zeros((2, 3)))
    assert not hasattr(model, "coef_")
