"""Fits with hostile numbers: no false proof, nothing worse than the null model, no tolerance missed in silence."""

import math

import numpy as np
import pytest
from hostile_fits import judged, random_fit
from sklearn.exceptions import ConvergenceWarning

from adasadmm import GraphGuidedClassifier, GraphGuidedRegressor, Problem, TrendFilter, graphs, solve
from adasadmm.losses import Squared
from adasadmm.penalties import L1
from adasadmm.solvers import ALM

pytestmark = pytest.mark.compiled  # too slow without the compiler


def check(numbers):
    found = []
    for number in numbers:
        case = random_fit(number)
        verdict = judged(case)
        found += [f"{case.name}: {fault}" for fault in verdict[:3] if fault]
    assert not found, "\n".join(found)


def test_some_fits_with_hostile_numbers():
    check(range(0, 150, 15))


@pytest.mark.parametrize("number", [1042, 2371])
def test_slopes_that_overflow_prove_nothing_and_are_no_error(number):
    """A loss that grows fast, far from its minimum: the dual point of the first iterates is not finite."""
    check([number])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(3000, 3300, 50))
def test_fits_with_hostile_numbers(first):
    check(range(first, first + 50))


# --- columns that agree in all but their last digits ----------------------------------------------------------------


def pair(apart, seed=0):
    """Two columns at this distance; the target depends on their difference. The third one is another."""
    rng = np.random.default_rng(seed)
    X, e = rng.normal(size=(60, 3)), rng.normal(size=60)
    X[:, 1] = X[:, 0] + apart * e
    return X, X[:, 2] + 2.0 * e + 0.3 * rng.normal(size=60)


def optimum(X, y):
    """The least squares of the pair, from the difference of its columns, which is exact."""
    rest = X[:, 1] - X[:, 0]
    Z = np.column_stack([X[:, 0], rest / np.abs(rest).max(), X[:, 2], np.ones(len(y))])
    r = y - Z @ np.linalg.lstsq(Z, y)[0]
    return 0.5 * np.mean(r * r)


@pytest.mark.parametrize("apart", [1e-4, 1e-6, 1e-8, 1e-10, 1e-11, 1e-12, 1e-13, 1e-15])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nearly_equal_columns_without_a_ridge_get_no_false_proof(apart):
    X, y = pair(apart)
    model = GraphGuidedRegressor("chain", alpha=0.0, l2=0.0, tol=1e-6).fit(X, y)
    w = model.coef_.astype(np.longdouble)
    z = (w[0] + w[1]) * X[:, 0] + w[1] * (X[:, 1] - X[:, 0]) + w[2] * X[:, 2] + model.intercept_
    value = float(0.5 * np.mean((z - y) ** 2))
    assert (value - optimum(X, y)) / value <= model.dual_gap_ + 1e-13
    assert apart > 1e-7 or not model.dual_gap_ <= 1e-6


def test_a_warning_names_the_collinear_columns():
    X, y = pair(1e-11)
    with pytest.warns(UserWarning, match="collinear up to rounding errors"):
        GraphGuidedRegressor("chain", alpha=0.0, l2=0.0).fit(X, y)


def test_exactly_equal_columns_and_levels_that_add_up_to_the_intercept_are_proved():
    rng = np.random.default_rng(0)
    level = rng.integers(4, size=80)
    X = np.column_stack([np.eye(4)[level], rng.normal(size=80)])
    X = np.column_stack([X, X[:, -1]])
    y = level + X[:, -1] + rng.normal(size=80)
    model = GraphGuidedRegressor("chain", alpha=0.0, l2=0.0, tol=1e-9).fit(X, y)
    assert model.dual_gap_ <= 1e-9
    labels = GraphGuidedClassifier("chain", alpha=1e-3, l2=0.0, tol=1e-6).fit(X, y > 1.5)
    assert labels.dual_gap_ <= 1e-6


# --- targets and times far from 0 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive", "quantile"])
@pytest.mark.parametrize("shift", [1e4, 1e7, 1e10])
def test_the_level_of_the_targets_does_not_matter(loss, shift):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 3)) + 100.0
    far = X @ [1.0, 1.0, -1.0] + rng.normal(size=100) + shift
    given = {"loss": loss, "alpha": 0.01, "l2": 0.0, "tol": 1e-7}
    model, near = (GraphGuidedRegressor("chain", **given).fit(X, y) for y in (far, far - shift))
    assert model.dual_gap_ <= 1e-7
    assert model.coef_ == pytest.approx(near.coef_, abs=1e-4)
    assert model.predict(X) - shift == pytest.approx(near.predict(X), abs=1e-4 + 1e-15 * shift)


def test_a_column_of_ones_makes_the_level_of_the_targets_as_unimportant_as_an_intercept():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(50, 2)), np.ones(50)])
    y = X[:, 0] + rng.normal(size=50) + 1e8
    problem = Problem(X, y, loss=Squared(), penalty=L1(0.1), A=[[1.0, -1.0, 0.0]])
    with pytest.warns(ConvergenceWarning, match="above tol"):
        found = solve(problem, ALM(), tol=1e-6)
    best = GraphGuidedRegressor("chain", alpha=0.1, l2=0.0, tol=1e-9).fit(X[:, :2], y - 1e8)
    value = problem.objective(found.w_average)
    known = problem.objective(np.append(best.coef_, best.intercept_ + 1e8))
    assert (value - known) / value <= found.certificate.relative_gap + 1e-8


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_trend_belongs_to_the_distances_of_its_times_wherever_they_begin(order):
    n = 100
    t = 1.7e9 + np.arange(n) * 1e-3  # seconds since 1970, at 1 kHz
    y = np.sin(np.arange(n) / 20) + 0.1 * np.random.default_rng(0).normal(size=n)
    model, same = (TrendFilter(order=order, alpha=1e-3**order, tol=1e-7).fit(times, y) for times in (t, t - t[0]))
    D = graphs.difference(n, order + 1, positions=t)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-6)
    own = 0.5 * np.mean((model.coef_ - y) ** 2) + model.alpha_ * np.abs(D @ model.coef_).sum()
    assert math.isclose(own, model.objective_, rel_tol=1e-6)


def test_the_gap_of_a_trend_is_that_of_the_curve_after_its_values_were_rounded():
    y = np.sin(np.arange(60) / 9.0) + 1e10
    with pytest.warns(UserWarning, match="above tol"):
        model = TrendFilter(order=3, alpha=1.0, tol=1e-9).fit(np.arange(60.0), y)
    kept = model.coef_ - 1e10
    D = graphs.difference(60, 4)
    own = 0.5 * np.mean((kept - (y - 1e10)) ** 2) + model.alpha_ * np.abs(D @ kept).sum()
    assert own == pytest.approx(model.objective_, rel=1e-3)
