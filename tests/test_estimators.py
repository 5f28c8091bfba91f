"""The estimators as a scikit-learn user meets them."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

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
    Status,
    StructuredClassifier,
    StructuredRegressor,
    graphs,
)
from adasadmm.estimators import _fitting
from adasadmm.paths import choice as _choice

pytestmark = pytest.mark.compiled  # too slow without the compiler

DEFAULTS = [
    GraphGuidedClassifier(),
    GraphGuidedRegressor(),
    StructuredClassifier(),
    StructuredRegressor(),
]
CROSS_VALIDATED = [GraphGuidedClassifierCV(alphas=4), GraphGuidedRegressorCV(alphas=4)]
STOCHASTIC = [
    GraphGuidedClassifier(solver="ada-diag"),
    GraphGuidedRegressor(solver="ada-diag"),
    StructuredClassifier(solver="sadmm", eta=1.0),
    StructuredRegressor(solver="ada-full"),
]
WEIGHTS_ONLY_IN_EXPECTATION = {
    name: "a weight is a repetition in expectation only, since rows are visited in a random order"
    for name in ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
}


NO_EDGES = pytest.mark.filterwarnings("ignore:the graph has no edges")  # true of some of the checks' data


@NO_EDGES
@parametrize_with_checks(DEFAULTS)
def test_scikit_learn_checks_of_the_defaults(estimator, check):
    check(estimator)


@pytest.mark.slow  # twenty fits for each of theirs
@NO_EDGES
@parametrize_with_checks(CROSS_VALIDATED)
def test_scikit_learn_checks_of_cross_validated_models(estimator, check):
    check(estimator)


@pytest.mark.slow
@NO_EDGES
@parametrize_with_checks(STOCHASTIC, expected_failed_checks=lambda estimator: WEIGHTS_ONLY_IN_EXPECTATION)
def test_scikit_learn_checks_of_the_stochastic_solvers(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :8], y


@pytest.fixture(scope="module")
def blobs():
    return make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [2, 3])
def test_a_stochastic_weight_is_a_repetition_in_expectation(weight):
    X, y = make_regression(60, 4, noise=20.0, random_state=0)
    y = y / y.std()
    weights = np.ones(60)
    weights[:20] = weight
    options = {"solver": "ada-diag", "alpha": 0.01, "l2": 0.01, "eta": 1.0, "max_iter": 100}
    rows = np.repeat(np.arange(60), weights.astype(int))
    weighted, repeated = [], []
    for seed in range(8):
        model = GraphGuidedRegressor("chain", random_state=seed, **options)
        weighted.append(clone(model).fit(X, y, sample_weight=weights).coef_)
        repeated.append(clone(model).fit(X[rows], y[rows]).coef_)
    unweighted = GraphGuidedRegressor("chain", random_state=0, **options).fit(X, y).coef_
    gap = np.linalg.norm(np.mean(weighted, axis=0) - np.mean(repeated, axis=0))
    assert gap < 0.25 * np.linalg.norm(np.mean(repeated, axis=0) - unweighted)


def test_class_weight_is_a_sample_weight(cancer):
    X, y = cancer
    by_class = GraphGuidedClassifier("chain", class_weight={0: 1.0, 1: 3.0}, tol=1e-4).fit(X, y)
    by_row = GraphGuidedClassifier("chain", tol=1e-4).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-9)


def test_class_weights_of_zero_are_refused(cancer):
    X, y = cancer
    with pytest.raises(ValueError, match="class_weight gives every row a weight of 0"):
        GraphGuidedClassifier("chain", class_weight={0: 0.0, 1: 0.0}).fit(X, y)


# --- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [[50], [1, 2, 3, 150], list(range(1, 200, 7))], ids=str)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_blocks_give_the_same_bits_as_one_pass_however_they_are_cut(blobs, cuts, layout):
    X, y = blobs
    settings = {"solver": "ada-diag", "alpha": 0.01, "l2": 0.01, "eta": 0.5, "beta": 1.0, "batch_size": 1}
    whole = GraphGuidedClassifier("chain", shuffle=False, max_iter=1, **settings).fit(layout(X), y)
    stream = GraphGuidedClassifier("chain", **settings)
    for rows in np.split(np.arange(len(y)), cuts):
        stream.partial_fit(layout(X[rows]), y[rows], classes=[0, 1, 2])
    np.testing.assert_array_equal(stream.coef_, whole.coef_)
    np.testing.assert_array_equal(stream.intercept_, whole.intercept_)


def test_a_stream_goes_on_after_pickling(blobs):
    X, y = blobs
    settings = {"solver": "ada-diag", "alpha": 0.01, "l2": 0.01, "eta": 0.5, "beta": 1.0}
    model = GraphGuidedRegressor("chain", **settings).partial_fit(X[:100], y[:100])
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.partial_fit(X[100:], y[100:]).coef_, other.partial_fit(X[100:], y[100:]).coef_)


def test_what_a_stream_cannot_do_is_said(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        GraphGuidedClassifier("chain").partial_fit(X, y)
    with pytest.raises(ValueError, match='partial_fit cannot compute class_weight="balanced"'):
        GraphGuidedClassifier("chain", class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="partial_fit needs a stochastic solver"):
        GraphGuidedClassifier("chain", solver="admm").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="y has a label that is not in classes: 2"):
        GraphGuidedClassifier("chain").partial_fit(X, y, classes=[0, 1])
    model = GraphGuidedClassifier("chain").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes differ from those of the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    model.set_params(fit_intercept=False)
    with pytest.raises(ValueError, match="fit_intercept was changed between two calls"):
        model.partial_fit(X, y)
    model.set_params(fit_intercept=True, eta=0.5)
    with pytest.raises(ValueError, match="the solver or one of its settings was changed between two calls"):
        model.partial_fit(X, y)
    assert not hasattr(GraphGuidedClassifierCV("chain"), "partial_fit")


def test_a_first_block_that_was_refused_leaves_nothing_behind(blobs):
    X, y = blobs
    model = GraphGuidedClassifier("chain", solver="admm")
    with pytest.raises(ValueError, match="needs a stochastic solver"):
        model.partial_fit(X, y > 0, classes=[False, True])
    assert list(model.set_params(solver="auto").partial_fit(X, y, classes=[0, 1, 2]).classes_) == [0, 1, 2]


@pytest.mark.parametrize("kind", [GraphGuidedClassifier, GraphGuidedRegressor])
def test_a_stream_after_a_fit_keeps_the_features_but_not_the_gap(kind, blobs):
    X, y = blobs
    model = kind("chain").fit(X, y)
    with pytest.raises(ValueError, match="is expecting 6 features"):
        model.partial_fit(X[:, :3], y)
    model.partial_fit(X, y)
    assert not any(hasattr(model, name) for name in ("dual_gap_", "status_", "trace_"))
    assert "gap" not in model.summary()


def test_a_stream_that_diverges_warns():
    X, y = make_regression(20, 3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="partial_fit: .* the last finite iterate"):
        GraphGuidedRegressor("chain", solver=SADMM(eta=1e300, w_step="linearized")).partial_fit(X, y)


# --- scikit-learn's company ------------------------------------------------------------------------------------------


def test_pipeline_grid_search_and_cross_validation(cancer):
    X, y = cancer
    model = make_pipeline(StandardScaler(), GraphGuidedClassifier("chain", loss="logistic"))
    search = GridSearchCV(model, {"graphguidedclassifier__alpha": [1e-3, 1e-1]}, n_jobs=2, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_calibration_and_one_against_the_rest(cancer, blobs):
    X, y = cancer
    X = StandardScaler().fit_transform(X)
    calibrated = CalibratedClassifierCV(GraphGuidedClassifier("chain"), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(y), 2)
    X, y = blobs
    own = GraphGuidedClassifier("chain", alpha=0.01, l2=0.01).fit(X, y)
    wrapped = OneVsRestClassifier(GraphGuidedClassifier("chain", alpha=0.01, l2=0.01)).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), wrapped.decision_function(X), rtol=1e-9)


def test_behind_a_column_transformer(cancer):
    X, y = cancer
    X = X.assign(site=np.where(np.arange(len(X)) % 3, "left", "right"))
    columns = ColumnTransformer([("scale", StandardScaler(), list(X.columns[:8])), ("hot", OneHotEncoder(), ["site"])])
    assert make_pipeline(columns, GraphGuidedClassifier("chain")).fit(X, y).score(X, y) > 0.9


def test_clone_pickle_and_set_params(cancer):
    X, y = cancer
    X = StandardScaler().fit_transform(X)
    model = GraphGuidedClassifier("chain", alpha=0.01).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert len(pickle.dumps(model)) < 20_000  # the rows are not inside
    stronger = model.coef_.copy()
    np.testing.assert_allclose(clone(model).fit(X, y).coef_, stronger)
    assert np.ptp(model.set_params(alpha=10.0).fit(X, y).coef_) < 1e-3 < np.ptp(stronger)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_keep_their_names(frame, cancer):
    X, y = cancer
    data = frame({name: X[name].to_numpy() for name in X.columns})
    model = GraphGuidedClassifier([(X.columns[0], X.columns[1])]).fit(data, y)
    assert list(model.feature_names_in_) == list(X.columns)
    np.testing.assert_array_equal(model.graph_, [[0, 1]])


def test_metadata_routing_takes_sample_weight(cancer):
    import sklearn

    X, y = cancer
    with sklearn.config_context(enable_metadata_routing=True):
        model = GraphGuidedClassifier("chain").set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_val_score(model, X, y, params={"sample_weight": np.ones(len(y))}, cv=3)
    assert scores.shape == (3,)


def test_labels_of_any_kind(cancer):
    X, y = cancer
    for labels in (np.array(["bad", "good"])[y], y == 1, y.to_numpy() * 7 - 3):
        model = GraphGuidedClassifier("chain").fit(X, labels)
        assert model.predict(X).dtype == np.asarray(labels).dtype
        assert model.score(X, labels) > 0.8


def test_one_class_only_is_an_error(cancer):
    X, y = cancer
    with pytest.raises(ValueError, match="needs at least 2 classes, y has one class only"):
        GraphGuidedClassifier("chain").fit(X, np.ones(len(y)))


def test_callbacks_of_scikit_learn_are_told_and_can_stop(cancer):
    callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    X, y = StandardScaler().fit_transform(cancer[0].to_numpy()), cancer[1].to_numpy()
    monitor = callback.ScoringMonitor(scoring="accuracy")
    GraphGuidedClassifier("chain", solver="ada-diag", max_iter=3).set_callbacks(monitor).fit(X, y)
    log = monitor.get_logs().data_as_pandas
    assert len(log) >= 3 and log["accuracy"].min() > 0.85

    class StopAtOnce:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context, **given): ...
        def on_fit_task_end(self, estimator, context, **given):
            return True

    stopped = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=9).set_callbacks(StopAtOnce()).fit(X, y)
    assert stopped.n_iter_ == 1 and stopped.status_ is Status.stopped


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


def test_a_missed_tolerance_warns_only_for_auto(cancer):
    X, y = cancer
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
    used, plain = [], _fitting.solve
    monkeypatch.setattr(_choice, "MOST_FEATURES", 5)
    monkeypatch.setattr(_fitting, "solve", lambda *both, **rest: used.append(both[1]) or plain(*both, **rest))
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
    with pytest.warns(ConvergenceWarning, match="the last finite iterate is returned; a smaller eta may help"):
        model = GraphGuidedRegressor("chain", solver=SADMM(eta=1e300, w_step="linearized")).fit(X, y)
    assert np.isfinite(model.coef_).all() and model.status_ is Status.diverged


@pytest.mark.parametrize(
    "solver", ["ada-diag", "ada-full", "sadmm", "admm", AdaSADMM(eta=0.5), ADMM(), SPDHG()], ids=str
)
def test_every_solver_by_name_or_object(solver, cancer):
    X, y = cancer
    X = StandardScaler().fit_transform(X)
    assert GraphGuidedClassifier("chain", solver=solver, alpha=0.01, l2=0.01).fit(X, y).score(X, y) > 0.9


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
