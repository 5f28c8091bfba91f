"""Trend filtering: optima by CVXPY, exact pieces, predictions at any time, and what a user may get wrong."""

import math
import pickle

import numpy as np
import pytest
import references
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from adasadmm import ADMM, L1, Quantile, TrendFilter, TrendFilterCV, load_model, save_model
from adasadmm.estimators._curves import Curve
from adasadmm.registry import LOSSES

pytestmark = pytest.mark.compiled  # too slow without the compiler

CHECKS_WITHOUT_DATA = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_valid_tag_types",
    "check_estimator_tags_renamed",
]


def divided_differences(x, order):
    """The matrix of graphs.difference from its closed form: (k - 1)! (x_{i+k} - x_i) times a divided difference."""
    D = np.zeros((len(x) - order, len(x)))
    for i in range(len(x) - order):
        window = range(i, i + order + 1)
        for j in window:
            D[i, j] = 1.0 / math.prod(x[j] - x[other] for other in window if other != j)
        D[i] *= math.factorial(order - 1) * (x[i + order] - x[i])
    return sp.csr_array(D)


def optimum(t, y, *, order, alpha, loss="squared", l2=0.0, weight=None, nodes=None):
    """The optimal objective and values at the nodes, by default the distinct times, by CVXPY."""
    nodes = np.unique(t) if nodes is None else nodes
    X = sp.csr_array((np.ones(len(t)), (np.arange(len(t)), np.searchsorted(nodes, t))), shape=(len(t), len(nodes)))
    loss = LOSSES[loss] if isinstance(loss, str) else loss
    A = divided_differences(nodes, order + 1)
    value, w, _, _ = references.optimum(X, y, loss=loss, penalty=L1(alpha), A=A, gamma=l2, sample_weight=weight)
    return value, w


def series(seed, n=40, order=1):
    """A noisy series at uneven times with one change in the middle."""
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.1, 2.0, n))
    rest = np.maximum(t - t[n // 2], 0.0) ** order
    return t, t**order / t[-1] ** order - 2.0 * rest / rest[-1] + 0.1 * rng.normal(size=n), rng


def targets_of(loss, y, rng):
    """Targets of the kind that a loss takes."""
    name = loss if isinstance(loss, str) else type(loss).__name__.lower()
    if name in ("logistic", "hinge", "squared_hinge"):
        return np.where(y + 0.5 * rng.normal(size=len(y)) > np.median(y), 1.0, -1.0)
    return rng.poisson(np.exp(y + 1.0)).astype(float) if name == "poisson" else y


# --- the optimum -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order, alpha", [(0, 0.01), (1, 0.05), (2, 0.1)])
def test_uneven_times_equal_cvxpy(order, alpha):
    t, y, _ = series(order, order=max(order, 1))
    model = TrendFilter(order, alpha=alpha, tol=1e-7).fit(t, y)
    value, w = optimum(t, y, order=order, alpha=alpha)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.dual_gap_ <= 1e-7
    np.testing.assert_allclose(model.coef_, w, atol=1e-3)


@pytest.mark.parametrize(
    "loss", ["logistic", "poisson", "huber", Quantile(0.3), "squared_hinge", "epsilon_insensitive"]
)
def test_every_loss_equals_cvxpy_with_weights_and_repeated_times(loss):
    t, y, rng = series(3, n=30)
    t, y = np.append(t, t[:8]), np.append(y, y[:8] + 0.2)
    weight = rng.uniform(0.5, 2.0, len(t))
    y = targets_of(loss, y, rng)
    model = TrendFilter(0, alpha=0.02, loss=loss, l2=0.01, tol=1e-6).fit(t, y, sample_weight=weight)
    value, _ = optimum(t, y, order=0, alpha=0.02, loss=loss, l2=0.01, weight=weight)
    assert model.objective_ == pytest.approx(value, rel=3e-6)


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_several_targets_at_one_time_are_several_observations(loss):
    """Their mean suffices for these losses; the objective is still that of all targets."""
    t, y, rng = series(4, n=25)
    t, y = np.repeat(t, 2), targets_of(loss, np.repeat(y, 2) + 0.3 * rng.normal(size=50), rng)
    weight = rng.uniform(0.5, 2.0, 50)
    model = TrendFilter(1, alpha=0.05, loss=loss, tol=1e-7).fit(t, y, sample_weight=weight)
    value, w = optimum(t, y, order=1, alpha=0.05, loss=loss, weight=weight)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.trace_["objective"][-1] == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(model.coef_, w, atol=2e-3)


@pytest.mark.parametrize("order", [0, 1])
def test_missing_targets_are_free_values(order):
    """The optimum with a free value at each missing time is the optimum without that time."""
    t, y, rng = series(5, n=30)
    missing = rng.random(30) < 0.3
    gaps = np.where(missing, np.nan, y)
    model = TrendFilter(order, alpha=0.02, tol=1e-7).fit(t, gaps)
    value, _ = optimum(t[~missing], y[~missing], order=order, alpha=0.02, nodes=t)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_array_equal(model.times_, t)
    shorter = TrendFilter(order, alpha=0.02, tol=1e-7).fit(t[~missing], y[~missing])
    np.testing.assert_array_equal(model.predict(t), shorter.predict(t))
    unweighted = TrendFilter(order, alpha=0.02, tol=1e-7).fit(t, y, sample_weight=~missing)
    np.testing.assert_array_equal(model.coef_, unweighted.coef_)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_series_equal_cvxpy(seed):
    rng = np.random.default_rng(seed)
    order, n = int(rng.integers(0, 3)), int(rng.integers(6, 60))
    others = ("gamma", "tweedie", "negative_binomial", "multinomial")  # see test_log_link and test_multinomial
    names = [name for name in LOSSES if name not in others]
    loss = names[seed % len(names)]
    t, y, _ = series(seed, n=n, order=max(order, 1))
    y = targets_of(loss, y, rng)
    weight = None if rng.random() < 0.5 else rng.uniform(0.1, 3.0, n)
    alpha, l2 = 10.0 ** rng.uniform(-4, 0), float(10.0 ** rng.uniform(-3, -1))
    model = TrendFilter(order, alpha=alpha, loss=loss, l2=l2, tol=1e-5).fit(t, y, sample_weight=weight)
    try:
        value, _ = optimum(t, y, order=order, alpha=alpha, loss=loss, l2=l2, weight=weight)
    except UserWarning as warning:
        pytest.skip(f"no reference: {warning}")
    assert value - 1e-7 * abs(value) <= model.objective_ <= value + 1.1e-5 * abs(model.objective_)


def test_the_unit_of_time_only_scales_alpha():
    t, y, _ = series(6)
    model = TrendFilter(2, alpha=0.1, tol=1e-7).fit(t, y)
    days = TrendFilter(2, alpha=0.1 * 365.25**2, tol=1e-7).fit(365.25 * t, y)
    np.testing.assert_allclose(days.coef_, model.coef_, atol=1e-5)
    default, in_days = TrendFilter(2).fit(t, y), TrendFilter(2).fit(365.25 * t, y)
    np.testing.assert_allclose(in_days.coef_, default.coef_, atol=1e-5)


# --- pieces and predictions ------------------------------------------------------------------------------------------


def test_steps_are_exact():
    t = np.arange(60.0)
    truth = np.repeat([0.0, 3.0, 1.0], 20)
    y = truth + 0.1 * np.random.default_rng(0).normal(size=60)
    model = TrendFilter(0, alpha=0.05).fit(t, y)
    np.testing.assert_array_equal(model.change_points_, [20.0, 40.0])
    assert model.n_pieces_ == 3 and len(np.unique(model.coef_)) == 3
    np.testing.assert_array_equal(model.predict([-5.0, 19.5, 20.0, 99.0]), model.coef_[[0, 19, 20, 59]])


def test_lines_have_no_second_differences():
    t, _, rng = series(7, n=50)
    y = np.abs(t - t[25]) + 0.05 * rng.normal(size=50)
    model = TrendFilter(1, alpha=0.3).fit(t, y)
    bends = np.diff(np.diff(model.coef_) / np.diff(t))
    at = np.flatnonzero(np.isin(t[1:-1], model.change_points_))
    assert len(at) == len(model.change_points_) == model.n_pieces_ - 1 < 6
    assert np.abs(np.delete(bends, at)).max() < 1e-11 < np.abs(bends[at]).min()
    between = (t[1:] + t[:-1]) / 2
    np.testing.assert_allclose(model.predict(between), (model.coef_[1:] + model.coef_[:-1]) / 2, atol=1e-12)
    slope = (model.coef_[-1] - model.coef_[-2]) / (t[-1] - t[-2])
    np.testing.assert_allclose(model.predict([t[-1] + 10]), model.coef_[-1] + 10 * slope, atol=1e-8)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_a_curve_is_its_polynomials(degree):
    """Two polynomials that agree in as many knots as a break leaves them in common."""
    rng = np.random.default_rng(degree)
    x, r = np.sort(rng.uniform(0, 10, 14)), 6
    left = np.polynomial.Polynomial(rng.normal(size=degree + 1))
    step = np.polynomial.Polynomial.fromroots(x[r + 1 : r + 1 + degree]) if degree else np.polynomial.Polynomial([1.0])
    right = left + 2.0 * step
    values = np.where(np.arange(14) <= r + degree, left(x), right(x))
    D = divided_differences(x, degree + 1)
    assert np.flatnonzero(np.abs(D @ values) > 1e-6 * np.abs(D @ values).max()).tolist() == [r]
    curve = Curve(x, values, np.array([r]), degree)
    change = x[r + max(degree, 1)]
    assert curve.change_points.tolist() == [change]
    t = np.concatenate([rng.uniform(-2, 12, 200), x])
    np.testing.assert_allclose(curve.at(t), np.where(t < change, left(t), right(t)), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(curve.at(x), values)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_predictions_at_the_times_of_the_fit_are_the_coefficients(order):
    t, y, rng = series(8, n=30)
    shuffled = rng.permutation(30)
    model = TrendFilter(order, alpha=0.05).fit(t[shuffled], y[shuffled])
    np.testing.assert_array_equal(model.times_, t)
    np.testing.assert_array_equal(model.predict(t), model.coef_)
    np.testing.assert_array_equal(model.predict(t.reshape(-1, 1)), model.coef_)
    np.testing.assert_array_equal(model.coef_, TrendFilter(order, alpha=0.05).fit(t, y).coef_)


def test_counts_and_labels_have_responses():
    t, y, rng = series(9, n=60)
    counts = targets_of("poisson", y, rng)
    model = TrendFilter(1, alpha=0.1, loss="poisson").fit(t, counts)
    np.testing.assert_array_equal(model.predict(t), np.exp(model.coef_))
    assert model.score(t, counts) > 0.1
    labels = targets_of("logistic", y, rng)
    model = TrendFilter(0, alpha=0.03, loss="logistic").fit(t, labels)
    np.testing.assert_allclose(model.predict(t), 1 / (1 + np.exp(-model.coef_)))
    zero_one = TrendFilter(0, alpha=0.03, loss="logistic").fit(t, labels > 0)
    np.testing.assert_array_equal(zero_one.coef_, model.coef_)
    assert model.score(t, labels) == zero_one.score(t, labels > 0) > 0.6


def test_few_points():
    one = TrendFilter(0, alpha=1.0).fit([3.0], [5.0])
    assert one.predict([-1.0, 3.0, 9.0]) == pytest.approx([5.0] * 3) and one.n_pieces_ == 1
    two = TrendFilter(1, alpha=1.0).fit([0.0, 1.0], [0.0, 2.0])
    np.testing.assert_allclose(two.predict([0.5, 2.0]), [1.0, 4.0], atol=1e-6)
    same = TrendFilter(0, alpha=1.0).fit([1.0, 1.0, 1.0], [1.0, 2.0, 6.0])
    assert same.coef_ == pytest.approx([3.0]) and same.times_.tolist() == [1.0]


# --- scikit-learn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS_WITHOUT_DATA)
def test_scikit_learn_checks(check):
    """scikit-learn skips its checks with data for estimators of one-dimensional X."""
    getattr(estimator_checks, check)("TrendFilter", TrendFilter())


def test_tools_of_scikit_learn():
    t, y, _ = series(10, n=60)
    column = t.reshape(-1, 1)
    search = GridSearchCV(TrendFilter(1), {"alpha": [1e-3, 0.1, 10.0]}).fit(column, y)
    assert search.best_params_["alpha"] in (1e-3, 0.1)
    model = make_pipeline(FunctionTransformer(np.log1p), TrendFilter(1, alpha=0.001)).fit(column, y)
    assert model.score(column, y) > 0.8
    gaps = np.where(np.arange(60) % 7 == 3, np.nan, y)
    assert np.isfinite(TrendFilter(0, alpha=0.01).fit(t, gaps).score(t, gaps))
    assert len(cross_val_score(TrendFilter(0, alpha=0.01), column, y, cv=3)) == 3


def test_models_are_copied_and_saved(tmp_path):
    t, y, _ = series(11)
    model = TrendFilter(1, alpha=0.05, loss="huber").fit(t, y)
    assert clone(model).get_params() == model.get_params()
    save_model(model, tmp_path / "model.skops")
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model.skops")):
        np.testing.assert_array_equal(other.predict(t + 0.3), model.predict(t + 0.3))
        np.testing.assert_array_equal(other.change_points_, model.change_points_)


def test_summary():
    t, y, _ = series(12)
    model = TrendFilter(1, alpha=0.05)
    assert "piecewise linear" not in model._repr_html_()
    text = model.fit(t, y).summary()
    assert text.startswith("TrendFilter: 40 times, piecewise linear\n") and "relative duality gap" in text
    assert f"{model.n_pieces_} pieces" in text and type(model.solver_).__name__ in text
    assert "piecewise linear" in model._repr_html_()


def test_a_given_solver_is_used():
    t, y, _ = series(13, n=20)
    model = TrendFilter(0, alpha=0.02, solver=ADMM(), tol=1e-6).fit(t, y)
    value, _ = optimum(t, y, order=0, alpha=0.02)
    assert isinstance(model.solver_, ADMM) and model.objective_ == pytest.approx(value, rel=1e-5)
    loose = TrendFilter(0, alpha=0.02, solver="ada-diag").fit(t, y)
    assert 1 <= loose.n_pieces_ <= 20
    with pytest.warns(ConvergenceWarning, match="above tol=0: raise max_iter, which is 2, or tol"):
        TrendFilter(1, alpha=0.02, loss="logistic", l2=0.1, tol=0.0, max_iter=2).fit(t, y > 0)


@pytest.mark.parametrize("selection", ["cv", "bic"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_curves_of_a_path_are_those_of_single_fits_also_at_times_without_a_target(order, selection):
    t = np.arange(40.0) ** 1.1
    y = np.sin(t / 5.0) + 50.0
    y[[0, 7, 8, 30, 39]] = np.nan
    search = TrendFilterCV(order, alphas=4, eps=1e-3, selection=selection, tol=1e-9).fit(t, y)
    assert search.coef_path_.shape == (1, 4, 40) and len(search.times_) == 40
    np.testing.assert_array_equal(search.coef_path_[0][list(search.alphas_).index(search.alpha_)], search.coef_)
    for alpha, coef in zip(search.alphas_, search.coef_path_[0], strict=True):
        alone = TrendFilter(order, alpha, tol=1e-9).fit(t, y)
        np.testing.assert_array_equal(alone.times_, search.times_)
        np.testing.assert_allclose(coef, alone.coef_, rtol=1e-4)
