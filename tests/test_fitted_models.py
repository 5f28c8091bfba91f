"""What a fit of an estimator finds and says: its answers, structures, paths and summaries."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import adasadmm
from adasadmm import (
    ADMM,
    ALM,
    ASVRGADMM,
    L1,
    SADMM,
    SPDHG,
    AdaSADMM,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    Huber,
    L2Squared,
    NetworkLassoRegressor,
    Status,
    StructuredClassifier,
    StructuredRegressor,
    StructuredRegressorCV,
    TermsRegressorCV,
    TrendFilterCV,
    auto as _choice,
    graphs,
    sources,
    terms,
)
from adasadmm._solve import attempts

pytestmark = pytest.mark.compiled  # too slow without the compiler


# --- a second fit ----------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(11)
WIDE, NARROW = RNG.normal(size=(60, 9)), RNG.normal(size=(50, 5))
NAMED = pd.DataFrame(WIDE, columns=list("abcdefghi"))
TABLES = [pd.DataFrame({name: RNG.integers(0, 4, 60) for name in names}) for names in ("uv", "xyz")]
SECOND_FITS = {  # parameters and data of the first fit, and of the second
    "a learnt graph": (GraphGuidedRegressorCV("knn", alphas=3), ({}, NAMED), ({}, NARROW)),
    "another graph": (GraphGuidedClassifierCV("chain", alphas=3), ({}, WIDE), ({"graph": [[0, 4], [2, 3]]}, NARROW)),
    "by folds, then BIC": (GraphGuidedRegressorCV("chain", alphas=3), ({}, WIDE), ({"selection": "bic"}, WIDE)),
    "by BIC, then folds": (TrendFilterCV(0, 3, selection="bic"), ({}, WIDE[:, 0]), ({"selection": "cv"}, NARROW[:, 0])),
    "latent groups, then none": (
        StructuredRegressorCV("chain", penalty="l1", alphas=3),
        ({"A": graphs.latent_groups([[0, 1, 2], [2, 3, 4, 5, 6, 7, 8]], 9), "penalty": "group"}, WIDE),
        ({"A": "chain", "penalty": "l1"}, NARROW),
    ),
    "a second estimate, held-out rows": (
        GraphGuidedRegressor("chain"),
        ({"refit": "clusters", "validation_fraction": 0.2}, NAMED),
        ({"refit": "none", "validation_fraction": 0.0}, NARROW),
    ),
    "files, then rows": (GraphGuidedRegressor("chain"), ({}, sources.arrays(WIDE, WIDE[:, 0])), ({}, NARROW)),
    "a warm start": (GraphGuidedRegressor("chain", warm_start=True, refit="clusters"), ({}, WIDE), ({}, NARROW)),
    "other terms": (
        TermsRegressorCV([terms.nominal("u")], alphas=3),
        ({}, TABLES[0]),
        ({"terms": [terms.ordered("x"), terms.nominal("z")], "selection": "aic"}, TABLES[1]),
    ),
    "a network": (
        NetworkLassoRegressor([[0, 1], [1, 2]]),
        ({}, WIDE),
        ({"graph": [[0, 1], [1, 2], [2, 3], [0, 3]]}, NARROW),
    ),
}


@pytest.mark.parametrize("name", SECOND_FITS)
def test_nothing_of_the_first_fit_is_left_after_the_second(name):
    model, first, second = SECOND_FITS[name]
    again, fresh = clone(model), clone(model)
    for fitted, runs in ((again, (first, second)), (fresh, (second,))):
        for parameters, X in runs:
            fitted.set_params(**parameters).fit(*targets_for(model, X))
    assert set(vars(again)) == set(vars(fresh))
    for attribute, value in vars(fresh).items():
        found = vars(again)[attribute]
        if isinstance(value, (np.ndarray, float, str)) and "seconds" not in attribute:
            np.testing.assert_array_equal(found, value, err_msg=attribute)
    assert again.summary() == fresh.summary()


def targets_for(model, X):
    """X and, unless it is a source, targets, with the nodes of a network."""
    if isinstance(X, sources.Source):
        return (X,)
    column = np.asarray(X, dtype=float).reshape(len(X), -1)[:, 0]
    y = column > 0 if isinstance(model, GraphGuidedClassifierCV) else np.sin(5.0 * column) + np.arange(len(X)) % 2
    return (X, y, np.arange(len(X)) % 3) if isinstance(model, NetworkLassoRegressor) else (X, y)


def test_a_derived_class_keeps_what_it_sets_itself():
    class Scaled(GraphGuidedRegressor):
        def fit(self, X, y):
            self.scaler_ = StandardScaler().fit(X)
            super().fit(self.scaler_.transform(X), y)
            self.rows_ = len(X)
            return self

    model = Scaled("chain").fit(WIDE, WIDE[:, 0]).fit(NARROW, NARROW[:, 0])
    np.testing.assert_array_equal(model.scaler_.mean_, NARROW.mean(axis=0))
    assert model.rows_ == 50 and model.coef_.shape == (5,)


@pytest.mark.parametrize("solver", ["auto", "ada-diag"])
def test_a_stream_before_a_fit_leaves_nothing_behind(solver):
    model = GraphGuidedRegressor("chain", solver=solver, random_state=0)
    fresh = clone(model).fit(NARROW, NARROW[:, 0])
    again = model.set_params(solver="ada-diag").partial_fit(NAMED, WIDE[:, 0]).set_params(solver=solver)
    again.fit(NARROW, NARROW[:, 0])
    assert set(vars(again)) == set(vars(fresh))
    np.testing.assert_array_equal(again.coef_, fresh.coef_)


# --- answers ---------------------------------------------------------------------------------------------------------


def test_the_gap_is_reported_and_true(cancer):
    import cvxpy as cp

    X, y = cancer
    X = StandardScaler().fit_transform(X)
    model = GraphGuidedClassifier("chain", alpha=0.02, l2=0.05).fit(X, y)
    w, b = cp.Variable(8), cp.Variable()
    signs = np.where(y == 1, 1.0, -1.0)
    hinge = cp.sum(cp.pos(1 - cp.multiply(signs, X @ w + b))) / len(y)
    best = cp.Problem(cp.Minimize(hinge + 0.025 * cp.sum_squares(w) + 0.02 * cp.norm1(cp.diff(w)))).solve(cp.CLARABEL)
    coef, margin = model.coef_[0], signs * model.decision_function(X)
    value = np.maximum(0, 1 - margin).mean() + 0.025 * coef @ coef + 0.02 * np.abs(np.diff(coef)).sum()
    assert model.dual_gap_ <= 1e-3 and model.status_ is Status.converged
    assert best * (1 - 1e-7) <= value <= best * (1 + model.dual_gap_ + 1e-7)


def test_a_missed_tolerance_warns_unless_the_solver_is_stochastic(cancer):
    X, y = StandardScaler().fit_transform(cancer[0]), cancer[1]
    with pytest.warns(ConvergenceWarning, match="relative duality gap is .* above tol=1e-09: raise max_iter"):
        GraphGuidedClassifier("chain", tol=1e-9, max_iter=3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=2).fit(X, y)
    assert model.dual_gap_ > 0 and model.n_iter_ == 2


@pytest.mark.parametrize("loss, solver", [("hinge", SPDHG), ("logistic", ASVRGADMM)])
def test_with_many_features_auto_comes_to_the_same_gap_without_a_matrix(loss, solver, cancer, monkeypatch):
    """The limit of batch ADMM is lowered, so that a small problem counts as a large one."""
    X, y = cancer
    X, settings = StandardScaler().fit_transform(X), {"loss": loss, "alpha": 0.02, "l2": 0.05}
    small = GraphGuidedClassifier("chain", **settings, tol=1e-6).fit(X, y)
    used, plain = [], attempts.solve_quietly
    monkeypatch.setattr(_choice, "MOST_FEATURES", 5)
    monkeypatch.setattr(attempts, "solve_quietly", lambda *both, **rest: used.append(both[1]) or plain(*both, **rest))
    model = GraphGuidedClassifier("chain", **settings, tol=1e-6, random_state=0).fit(X, y)
    assert [type(one) for one in used] == [solver]
    assert model.dual_gap_ <= 1e-6 and model.status_ is Status.converged
    np.testing.assert_allclose(model.coef_, small.coef_, rtol=0.0, atol=1e-3 * np.abs(small.coef_).max())
    with pytest.warns(ConvergenceWarning, match="relative duality gap is .* above tol=1e-09: raise max_iter"):
        GraphGuidedClassifier("chain", **settings, tol=1e-9, max_iter=2).fit(X, y)
    monkeypatch.setattr(solver, "fit_epochs", 2)
    used.clear()
    model = GraphGuidedClassifier("chain", **settings, tol=1e-8, random_state=0).fit(X, y)
    assert [type(one) for one in used] == [solver, ALM] and model.dual_gap_ <= 1e-8


def test_a_fit_that_diverges_warns():
    X, y = make_regression(20, 3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="the last finite iterate is kept; a smaller eta may help"):
        model = GraphGuidedRegressor("chain", solver=SADMM(eta=1e300, w_step="linearized")).fit(X, y)
    assert np.isfinite(model.coef_).all() and model.status_ is Status.diverged


@pytest.mark.parametrize(
    "solver", ["ada-diag", "ada-full", "sadmm", "admm", AdaSADMM(eta=0.5), ADMM(), SPDHG()], ids=str
)
def test_every_solver_by_name_or_object(solver, cancer):
    X, y = cancer
    X = StandardScaler().fit_transform(X)
    assert GraphGuidedClassifier("chain", solver=solver, alpha=0.01, l2=0.01, tol=1e-3).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    "loss", ["squared", "huber", "epsilon_insensitive", "quantile", "poisson", Huber(0.3)], ids=str
)
def test_every_regression_loss(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = rng.poisson(np.exp(X @ [0.5, 0.5, -0.3, -0.3])).astype(float)
    model = GraphGuidedRegressor("chain", loss=loss, alpha=0.01, l2=0.01).fit(X, y)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.5
    if loss == "poisson":
        assert (model.predict(X) > 0).all()


def test_probabilities_only_for_the_logistic_loss(blobs):
    X, y = blobs
    probabilities = GraphGuidedClassifier("chain", loss="logistic").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as error:
        _ = GraphGuidedClassifier("chain").predict_proba
    assert 'predict_proba needs loss="logistic"' in str(error.value.__cause__)


def test_several_classes_in_parallel_are_the_same(blobs):
    X, y = blobs
    one, two = (GraphGuidedClassifier("chain", n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.dual_gap_.shape == (3,) and len(one.trace_) == 3


def test_a_warm_start_takes_fewer_iterations_and_never_writes_a_parameter(cancer):
    X, y = cancer
    X = StandardScaler().fit_transform(X)
    # To a looser tol, dual ascent from w = 0 takes as few iterations as ALM from the solution.
    model = GraphGuidedClassifier("chain", warm_start=True, tol=1e-8).fit(X, y)
    before = model.get_params()
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    assert model.get_params() == before


def test_the_intercept_is_free_and_outside_the_graph():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = GraphGuidedRegressor("chain", alpha=100.0, l2=100.0, tol=1e-8).fit(X, X.sum(axis=1) + 1000.0)
    assert model.intercept_ == pytest.approx(1000.0, abs=1.0)
    assert np.abs(model.coef_).max() < 0.1


def test_clusters_are_the_planted_ones():
    rng = np.random.default_rng(0)
    w = np.repeat([1.0, -1.0, 2.0], 4)
    X = rng.normal(size=(300, 12))
    y = X @ w + 0.1 * rng.normal(size=300)
    model = GraphGuidedRegressor("chain", alpha=0.05, l2=0.0, tol=1e-6).fit(X, y)
    np.testing.assert_array_equal(model.clusters_, np.repeat([0, 1, 2], 4))


# --- structures ------------------------------------------------------------------------------------------------------


def test_trend_filtering_finds_a_kink():
    t = np.arange(60.0)
    truth = np.abs(t - 30.0)
    y = truth + 0.1 * np.random.default_rng(0).normal(size=60)
    model = StructuredRegressor("trend", alpha=0.01, l2=0.0, fit_intercept=False, tol=1e-6).fit(np.eye(60), y)
    assert np.abs(model.coef_ - truth).max() < 0.6


def test_overlapping_groups_and_a_penalty_of_ones_own(cancer):
    X, y = cancer
    X = StandardScaler().fit_transform(X)
    A, groups = graphs.overlapping_groups([[0, 1, 2, 3], [3, 4, 5], [5, 6, 7]], 8)
    model = StructuredClassifier((A, groups), penalty="group", alpha=0.05, l2=1e-3).fit(X, y)
    assert model.score(X, y) > 0.9
    given = StructuredClassifier(np.eye(8), penalty=L1(0.2), l2=1e-3, tol=1e-5).fit(X, y)
    named = StructuredClassifier(np.eye(8), penalty="l1", alpha=0.2, l2=1e-3, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(given.coef_, named.coef_)
    ridge = StructuredClassifier(lambda d: sp.eye_array(d), penalty=L2Squared(0.1)).fit(X, y)
    assert ridge.score(X, y) > 0.9


def test_structures_that_do_not_fit_are_refused(cancer):
    X, y = cancer
    for A, message in (("ring", "A must be one of 'chain', 'trend'"), (np.eye(3), "A must have a column for each of")):
        with pytest.raises(ValueError, match=message):
            StructuredClassifier(A).fit(X, y)
    with pytest.raises(ValueError, match="needs the groups of rows of A"):
        StructuredClassifier(np.eye(8), penalty="group").fit(X, y)
    with pytest.raises(ValueError, match="penalty must be 'l1', 'group' or a penalty, got 'l2'"):
        StructuredClassifier(graphs.overlapping_groups([[0, 1]], 8), penalty="l2").fit(X, y)
    with pytest.raises(AttributeError, match="clusters_ needs a graph"):
        _ = StructuredClassifier("trend").fit(X, y).clusters_


# --- paths -----------------------------------------------------------------------------------------------------------


def test_the_path_begins_where_everything_fuses_and_the_choice_predicts():
    rng = np.random.default_rng(0)
    w = np.repeat([1.0, -1.0], 6)
    X = rng.normal(size=(80, 12))
    y = X @ w + rng.normal(size=80)
    best = GraphGuidedRegressorCV("chain", alphas=10, cv=4, tol=1e-6).fit(X, y)
    assert np.ptp(best.coef_path_[0, 0]) < 1e-3 * np.ptp(best.coef_path_[0, -1])
    assert best.cv_scores_.shape == (1, 10, 4) and best.alpha_ in best.alphas_
    assert (np.diff(best.alphas_) < 0).all()
    careful = GraphGuidedRegressorCV("chain", alphas=10, cv=4, rule="1se").fit(X, y)
    assert careful.alpha_ >= best.alpha_
    np.testing.assert_allclose(best.coef_, best.coef_path_[0, list(best.alphas_).index(best.alpha_)])
    two = GraphGuidedRegressorCV("chain", alphas=[1.0, 0.1], l2s=[1e-3, 10.0], n_jobs=2).fit(X, y)
    assert two.l2_ == 1e-3 and two.cv_scores_.shape == (2, 2, 5)


def test_the_path_agrees_with_single_fits(cancer):
    X, y = cancer
    X = StandardScaler().fit_transform(X)
    path = GraphGuidedClassifierCV("chain", alphas=[0.1, 0.03, 0.01], cv=3, tol=1e-6).fit(X, y)
    single = GraphGuidedClassifier("chain", alpha=path.alpha_, l2=path.l2_, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(path.decision_function(X), single.decision_function(X), atol=0.05)


def test_a_path_knows_the_features_by_name(cancer):
    X, y = cancer
    pair = list(X.columns[[0, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # scikit-learn's about rows without names
        path = GraphGuidedClassifierCV([pair], alphas=[0.1], cv=2).fit(X / X.max(), y)
    assert path.graph_.tolist() == [[0, 3]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alphas": [-1.0, 1.0]}, "alphas must contain at least one number, all finite and >= 0"),
        ({"alphas": []}, "alphas must contain at least one number"),
        ({"l2s": [-1.0]}, "l2s must contain at least one number, all finite and >= 0"),
        ({"rule": "1se", "cv": [(np.arange(300), np.arange(300, 569))]}, 'rule="1se" needs at least 2 folds'),
        ({"alphas": [0.1], "cv": 2, "scoring": lambda model, X, y: np.nan}, "scoring=.* gives nan in at least"),
    ],
)
def test_what_a_path_cannot_do_is_said(options, message, cancer):
    X, y = cancer
    with pytest.raises(ValueError, match=message):
        GraphGuidedClassifierCV("chain", **options).fit(X / X.max(), y)


# --- what it shows ---------------------------------------------------------------------------------------------------


def test_the_summary_tells_what_was_fitted(cancer):
    X, y = cancer
    model = GraphGuidedClassifier("chain").fit(X, y)
    text = model.summary()
    for words in ("8 features", "7 edges", "relative duality gap", "converged"):
        assert words in text
    assert re.search(r"^\d+ groups of equal coefficients, \d+ of them with more than one feature$", text, re.MULTILINE)
    assert "relative duality gap" in model._repr_html_()
    hostile = X.rename(columns={X.columns[0]: "<script>alert(1)</script>"})
    assert "<script>alert(1)" not in GraphGuidedClassifier("chain").fit(hostile, y)._repr_html_()


@pytest.mark.parametrize("solver", ["auto", "ada-diag"])
def test_the_summary_shows_the_objective_of_the_coefficients(solver, blobs):
    """The last point of the trace belongs to the last iterate; with "ada-diag" the model is an average."""
    X, y = blobs
    model = GraphGuidedClassifier("chain", solver=solver, alpha=0.02, l2=0.1, random_state=0).fit(X, y)
    shown = [float(value) for value in re.findall(r"objective (\S+),", model.summary())]
    scores = X @ model.coef_.T + model.intercept_
    losses = np.maximum(0.0, 1.0 - np.where(y[:, None] == model.classes_, 1.0, -1.0) * scores).mean(axis=0)
    penalties = 0.05 * (model.coef_**2).sum(axis=1) + 0.02 * np.abs(np.diff(model.coef_)).sum(axis=1)
    np.testing.assert_allclose(shown, losses + penalties, rtol=2e-6)
    if solver == "ada-diag":
        last = [trace["objective"][-1] for trace in model.trace_]
        assert not np.allclose(shown, last, rtol=1e-4)


def test_the_summary_shows_no_negative_gap(cancer):
    model = GraphGuidedClassifier("chain").fit(*cancer)
    model.dual_gap_ = -7.3e-16
    assert "relative duality gap 0.0e+00, converged" in model.summary()


def test_names_are_public():
    for name in ("GraphGuidedClassifier", "GraphGuidedRegressorCV", "StructuredRegressor", "ConvergenceDisplay"):
        assert name in adasadmm.__all__
