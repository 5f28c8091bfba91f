"""Trend filters: what is wrong input, and what only looks like it."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from adasadmm import IPM, TrendFilter

pytestmark = pytest.mark.compiled  # too slow without the compiler


T = np.arange(5.0)


@pytest.mark.parametrize(
    "settings, arguments, message",
    [
        ({}, ([0.0, np.nan, 2.0], [1.0, 2.0, 3.0]), "t contains NaN"),
        ({}, ([0.0, np.inf, 2.0], [1.0, 2.0, 3.0]), "t contains infinity"),
        ({}, (T, [1.0, 2.0, np.inf, 0.0, 1.0]), "y contains infinity"),
        ({}, (T, T[:4]), "inconsistent numbers of samples"),
        ({}, (np.eye(3), T[:3]), r"t must have shape \(n,\) or \(n, 1\): one time for each observation, got \(3, 3\)"),
        ({}, (T, np.ones((5, 2))), r"y must have shape \(n,\)"),
        ({}, ([], []), "minimum of 1 is required"),
        ({}, (T, np.full(5, np.nan)), "y has no observed target"),
        ({}, (T, T, np.zeros(5)), "y has no observed target"),
        ({}, (T, T, -np.ones(5)), "sample_weight must be >= 0, got -1.0"),
        ({}, (T, T, np.ones(4)), r"sample_weight must have shape \(5,\), one weight for each target, got \(4,\)"),
        ({}, (np.arange("2020-01", "2020-06", dtype="datetime64[M]"), T), "t must hold numbers, got dates; convert"),
        ({"order": 1}, ([1.0], [2.0]), "order must be below the number of distinct times with a target, 1, got 1"),
        ({"order": 5}, (T, T), "order must be below the number of distinct times with a target, 5, got 5"),
        ({"order": -1}, (T, T), "The 'order' parameter"),
        ({"order": 1.5}, (T, T), "The 'order' parameter"),
        ({"alpha": -1.0}, (T, T), "The 'alpha' parameter"),
        ({"alpha": np.inf}, (T, T), "alpha"),
        ({"l2": -1.0}, (T, T), "The 'l2' parameter"),
        ({"loss": "cubic"}, (T, T), "The 'loss' parameter"),
        ({"loss": "poisson"}, (T, -T), "Poisson"),
        ({"loss": "poisson"}, (T, 0 * T), "all targets are 0"),
        ({"loss": "logistic"}, (T, T), "labels|-1 and"),
        ({"loss": "logistic"}, (T, np.ones(5)), "y has only the label 1"),
    ],
)
def test_wrong_input_is_named(settings, arguments, message):
    with pytest.raises(ValueError, match=message):
        TrendFilter(**settings).fit(*arguments)


def test_a_failed_fit_changes_nothing():
    model = TrendFilter(0, alpha=0.01)
    with pytest.raises(NotFittedError):
        model.predict(T)
    model.fit(T, T)
    before = model.coef_
    with pytest.raises(ValueError, match="t contains NaN"):
        model.fit([np.nan], [1.0])
    assert model.coef_ is before
    with pytest.raises(ValueError, match="t contains NaN"):
        model.predict([np.nan])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the relative duality gap")
def test_directions_that_do_not_fall_end_no_fit():
    """Rounding makes Newton's direction at a gradient near 0 one of ascent."""
    model = TrendFilter(3, 0.01, "hinge", tol=1e-6).fit(np.arange(8), [1, 1, 0, 0, 1, 1, 1, 1])
    assert model.objective_ < 1e-12


def test_targets_inside_the_tube_are_fitted_exactly():
    y = 1e-6 * np.random.default_rng(1).normal(size=100)
    model = TrendFilter(0, 0.1, "epsilon_insensitive", l2=1e-3).fit(np.arange(100), y)
    assert model.objective_ == model.dual_gap_ == 0.0


def test_equal_targets_at_one_time_leave_no_gap():
    """The variance inside of the times is rounding, which says nothing about the gap."""
    y, weight = np.repeat(np.random.default_rng(0).normal(size=10), 2) / 3, np.tile([1, 0.3], 10)
    model = TrendFilter(0, 0.0).fit(np.repeat(np.arange(10), 2), y, sample_weight=weight)
    assert model.dual_gap_ <= model.tol


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    "loss", ["squared", *(pytest.param(name, marks=pytest.mark.slow) for name in ("huber", "quantile"))]
)
def test_the_level_of_the_targets_does_not_matter(order, loss):
    t = np.arange(60.0)
    y = np.round(np.sin(t / 5) + 0.1 * np.random.default_rng(3).normal(size=60), 4)
    plain = TrendFilter(order, 0.1, loss=loss, tol=1e-7).fit(t, y)
    for shift, tol in ((1e5, 1e-7), (1e8, 1e-4)):  # numbers near 1e8 are 1.5e-8 apart, which the gap shows
        model = TrendFilter(order, 0.1, loss=loss, tol=tol).fit(t, y + shift)
        np.testing.assert_allclose(model.coef_ - shift, plain.coef_, atol=2e-15 * shift + 1e-4)
        assert model.objective_ == pytest.approx(plain.objective_, rel=max(1e-6, tol))
        np.testing.assert_allclose(model.predict([3.5]) - shift, plain.predict([3.5]), atol=2e-15 * shift + 1e-4)
    if loss == "squared":
        np.testing.assert_array_equal(
            TrendFilter(order, 0.1, tol=1e-7).fit(t, y + 1e5).change_points_, plain.change_points_
        )


def test_a_constant_series_is_fitted_exactly():
    for order in range(4):
        model = TrendFilter(order, 1.0).fit(np.arange(30), np.full(30, 5.0))
        assert model.dual_gap_ == 0.0 and len(model.change_points_) == 0
        np.testing.assert_array_equal(model.coef_, 5.0)


def test_equal_counts_have_a_score():
    model = TrendFilter(0, loss="poisson").fit([0, 1, 2], [2, 2, 2])
    assert model.score([0, 1, 2], [2, 2, 2]) == 1.0


@pytest.mark.parametrize("alpha", [1e-2, 10.0, 1e4])
def test_a_polynomial_is_fitted_up_to_rounding(alpha, recwarn):
    """The optimum is 0, which rounding errors of the differences hide the more, the stronger the penalty is."""
    t = np.arange(60.0)
    y = 1.0 + t / 60.0 - (t / 60.0) ** 2
    model = TrendFilter(order=2, alpha=alpha).fit(t, y)
    assert all("raise tol, since the fit is exact up to rounding" in str(warning.message) for warning in recwarn)
    assert (model.dual_gap_ > model.tol) == bool(recwarn.list)
    np.testing.assert_allclose(model.coef_, y, atol=1e-6)
    assert model.n_pieces_ == 1


@pytest.mark.parametrize("alpha", [1e-3, 1e-2, 1.0])
def test_a_cubic_trend_at_close_times_is_proved(alpha):
    """Times a thousandth of the median distance apart make the first factor of Newton's system useless."""
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0.0, 10.0, 300))
    y = np.sin(t) + 0.3 * rng.normal(size=300)
    model = TrendFilter(3, alpha, tol=1e-5).fit(t, y)
    assert isinstance(model.solver_, IPM)
    assert model.dual_gap_ <= 1e-5


@pytest.mark.parametrize(("is_even", "order", "part"), [(True, 3, 1e-4), (False, 2, 1e-6)])
def test_a_very_weak_penalty_on_a_flat_loss_is_proved(is_even, order, part):
    """Labels are nearly separated: second derivatives of the loss fall below 1e-15 of the largest one."""
    rng, even = np.random.default_rng(0), np.linspace(0.0, 10.0, 200)
    uneven = np.sort(rng.uniform(0.0, 10.0, 200))
    t, y = even if is_even else uneven, np.sign(np.sin(even) + rng.logistic(size=200))
    model = TrendFilter(order, part * np.median(np.diff(t)) ** order / 200, "logistic", tol=1e-3).fit(t, y)
    assert model.dual_gap_ <= model.tol


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "huber", "quantile", "poisson"])
def test_a_single_observation_is_a_constant(loss):
    """Its chain has no edges."""
    model = TrendFilter(order=0, loss=loss, alpha=0.1).fit([0.0, 1.0], [2.0, 5.0], sample_weight=[1.0, 0.0])
    np.testing.assert_allclose(model.predict([0.0, 1.0, 7.0]), 2.0, rtol=1e-6)
