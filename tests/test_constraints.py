"""Signs, bounds and linear constraints of coefficients: they hold, and the certificate is that of this point."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, lsq_linear
from sklearn.linear_model import Lasso, LinearRegression

from adasadmm import (
    L1,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    StructuredClassifier,
    StructuredRegressor,
    graphs,
    load_model,
    save_model,
    sources,
)
from adasadmm.linalg.projections import nearest_inside

N, D = 200, 12
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D))
Y = X @ np.repeat([1.0, -1.0, 2.0], 4) + rng.normal(size=N) + 5.0
FREE = {"alpha": 0.0, "l2": 0.0, "tol": 1e-10}


# --- the same models elsewhere ---------------------------------------------------------------------------------------


def test_positive_is_scikit_learns():
    ours = GraphGuidedRegressor("chain", positive=True, **FREE).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, LinearRegression(positive=True).fit(X, Y).coef_, atol=1e-6)
    assert ours.coef_.min() == 0.0
    ours = GraphGuidedRegressor("chain", positive=True, alpha=0.1, l1_ratio=1.0, l2=0.0, tol=1e-10).fit(X, Y)
    theirs = Lasso(0.1, positive=True, tol=1e-14, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


def test_bounds_are_scipys():
    lower, upper = np.full(D, -0.5), np.linspace(0.5, 3.0, D)
    ours = StructuredRegressor("chain", bounds=(lower, upper), fit_intercept=False, **FREE).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, lsq_linear(X, Y, (lower, upper), tol=1e-14).x, atol=1e-6)
    assert (ours.coef_ >= lower).all() and (ours.coef_ <= upper).all()
    assert (ours.coef_ == lower).any() and (ours.coef_ == upper).any()  # exactly
    assert ours.dual_gap_ <= 1e-10


def test_a_dict_by_name_or_by_number():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    named = GraphGuidedRegressor("chain", bounds={"x0": (None, 0.25), "x5": (0, np.inf)}).fit(table, Y)
    numbered = GraphGuidedRegressor("chain", bounds={0: (-np.inf, 0.25), 5: (0, None)}).fit(X, Y)
    np.testing.assert_array_equal(named.coef_, numbered.coef_)
    assert named.coef_[0] == 0.25 and named.coef_[5] == 0.0 and named.coef_.min() < -0.5


def test_a_search_over_a_file_knows_the_names_of_its_features(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    names = ",".join([*(f"x{j}" for j in range(D)), "y"])
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, Y]), delimiter=",", header=names, comments="")
    model = GraphGuidedRegressorCV([["x0", "x1"]], bounds={"x0": (None, 0.25)}, alphas=[0.1, 0.01], cv=2)
    model.fit(sources.csv(tmp_path / "rows.csv"))
    assert model.coef_[0] == 0.25 and model.graph_.tolist() == [[0, 1]] and model.feature_names_in_[0] == "x0"


def test_the_intercept_is_free():
    model = GraphGuidedRegressor("chain", bounds=(0.0, 0.0), **FREE).fit(X, Y)
    assert not model.coef_.any() and model.intercept_ == pytest.approx(Y.mean())


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_monotone_convex_and_summing_to_one(tol):
    settings = {"alpha": 0.05, "l2": 0.0, "tol": tol}
    rising = StructuredRegressor("chain", constraints=(graphs.difference(D), None, 0.0), **settings).fit(X, Y)
    assert np.diff(rising.coef_).min() >= 0.0 and (np.diff(rising.coef_) == 0.0).any()
    second = LinearConstraint(graphs.difference(D, 2).toarray(), 0.0, np.inf)
    convex = StructuredRegressor("chain", constraints=second, **settings).fit(X, Y)
    assert np.diff(convex.coef_, 2).min() >= -1e-12
    whole = StructuredRegressor("chain", positive=True, constraints=(np.ones(D), 1.0, 1.0), **settings).fit(X, Y)
    assert abs(whole.coef_.sum() - 1.0) <= 1e-12 and whole.coef_.min() >= 0.0
    for model in (rising, convex, whole):
        assert model.dual_gap_ <= tol


def test_each_row_has_its_multiplier():
    """At the optimum of ``1/2 |X w - y|^2 / n`` on ``w_0 = 3``, the multiplier is the derivative of the loss there."""
    fixed = sp.csr_array(([1.0], ([0], [0])), shape=(1, D))
    model = StructuredRegressor("chain", constraints=(fixed, 3.0, 3.0), fit_intercept=False, **FREE).fit(X, Y)
    slope = X.T @ (X @ model.coef_ - Y) / N
    assert model._results[0].theta[-1] == pytest.approx(slope[0], abs=1e-6)
    np.testing.assert_allclose(slope[1:], 0.0, atol=1e-6)


# --- the rest of an estimator's day ----------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"max_iter": 1}, {"solver": "ada-diag", "max_iter": 2}, {}], ids=str)
def test_a_run_that_ends_early_satisfies_general_constraints(settings):
    inside = rng.normal(size=D)
    C = rng.normal(size=(20, D))
    lower, upper = C @ inside - 0.1, C @ inside + rng.random(20)
    model = StructuredRegressor("chain", constraints=(C, lower, upper), **settings)
    if settings == {"max_iter": 1}:
        with pytest.warns(UserWarning, match="above tol"):
            model.fit(X, Y)
    else:
        model.fit(X, Y)
    v, size = C @ model.coef_, 1.0 + np.abs(model.coef_).max() + np.abs(upper).max()
    assert max((lower - v).max(), (v - upper).max()) <= 1e-12 * size
    assert model._results[0].certificate.primal == model._objectives[0]


@pytest.mark.slow
def test_streams_stay_inside_and_can_be_saved(tmp_path):
    model = StructuredClassifier("chain", bounds=(-0.1, 0.3), alpha=0.01, random_state=0)
    for _ in range(2):
        model.partial_fit(X, Y > 5.0, classes=[False, True])
        assert model.coef_.min() >= -0.1 and model.coef_.max() <= 0.3
    save_model(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").coef_, model.coef_)


def test_paths_classes_and_penalty_objects():
    search = GraphGuidedRegressorCV("chain", alphas=5, cv=3, positive=True).fit(X, Y)
    assert search.coef_path_.min() >= 0.0 and search.score(X, Y) > 0.5
    labels = np.digitize(Y, [3.0, 7.0])
    several = GraphGuidedClassifier("chain", bounds=(-0.2, 0.2), alpha=0.01).fit(X, labels)
    assert np.abs(several.coef_).max() == 0.2
    given = StructuredRegressor("chain", penalty=L1(0.05), l2=0.0, positive=True, tol=1e-8).fit(X, Y)
    named = StructuredRegressor("chain", alpha=0.05, l2=0.0, positive=True, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(given.coef_, named.coef_, atol=1e-7)


def test_the_nearest_point_inside_a_polyhedron():
    C, inside, w = rng.normal(size=(15, 6)), rng.normal(size=6), rng.normal(size=6)
    lower, upper = C @ inside - 0.1, np.full(15, np.inf)
    found = nearest_inside(sp.csr_array(C), lower, upper, w)
    assert (C @ found >= lower - 1e-13).all()
    for other in inside + 0.2 * rng.normal(size=(2000, 6)):
        if (C @ other >= lower).all():
            assert np.linalg.norm(found - w) <= np.linalg.norm(other - w)
    np.testing.assert_array_equal(nearest_inside(sp.csr_array(C), -np.full(15, np.inf), np.full(15, np.inf), w), w)


# --- errors, before any work -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bounds": (1.0, 0.0)}, "bounds leave no value for feature 0: the lower bound 1 exceeds the upper bound 0"),
        ({"bounds": (None, -1.0), "positive": True}, "bounds and positive=True leave no value for feature 0"),
        ({"bounds": {"age": (0, 1)}}, "bounds names a feature that X does not have: 'age'; X has no column names"),
        ({"bounds": {0: 3.0}}, r"bounds\[0\] must be a pair \(lower, upper\), got 3.0"),
        ({"bounds": 3.0}, r"bounds must be a pair \(lower, upper\) of numbers or arrays, or a dict"),
        ({"bounds": (np.zeros(3), None)}, r"the lower end of bounds must be one number or 12, got shape \(3,\)"),
        ({"bounds": (np.nan, 1.0)}, "the lower end of bounds must be neither NaN nor inf, got nan"),
        ({"bounds": ("a", 1.0)}, "the lower end of bounds must be numbers or None, got 'a'"),
        ({"constraints": (np.ones((2, 3)), 0, 1)}, r"C of constraints must have a column for each of the 12 features"),
        ({"constraints": (np.ones(D), 1.0, 0.0)}, "row 0 of constraints has no solution: its lower end 1 exceeds"),
        ({"constraints": np.ones(D)}, r"constraints must be \(C, lower, upper\)"),
        (
            {"constraints": (np.ones(D), None, -1.0), "positive": True},
            "no coefficients satisfy the bounds of feature 0, .* and 8 more together",
        ),
        (
            {"constraints": (np.eye(3, D), [1.0, 0.0, 0.0], [2.0, 1.0, 1.0]), "bounds": {0: (None, 0.5)}},
            r"no coefficients satisfy the bounds of feature 0, row 0 of C together \(by 0.5 at least\); relax",
        ),
    ],
)
def test_what_cannot_be_satisfied_is_an_error(parameters, message):
    calls = []

    def matrix(d):
        calls.append(d)
        return graphs.difference(d)

    with pytest.raises(ValueError, match=message):
        StructuredRegressor(matrix, **parameters).fit(X, Y)
    assert not calls


def test_unknown_names_are_listed_with_the_known_ones():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    with pytest.raises(ValueError, match=r"does not have: 'age'; the columns of X are x0, x1, x2, x3, x4, \.\.\."):
        GraphGuidedRegressor("chain", bounds={"age": (0, 1)}).fit(table, Y)
