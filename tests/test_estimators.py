"""The estimators as a scikit-learn user meets them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from adasadmm import (
    SADMM,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    Status,
    StructuredClassifier,
    StructuredClassifierCV,
    StructuredRegressor,
    StructuredRegressorCV,
    TrendFilterCV,
)

pytestmark = pytest.mark.compiled  # too slow without the compiler

DEFAULTS = [
    GraphGuidedClassifier(),
    GraphGuidedRegressor(),
    StructuredClassifier(),
    StructuredRegressor(),
]
CROSS_VALIDATED = [
    GraphGuidedClassifierCV(alphas=4),
    GraphGuidedRegressorCV(alphas=4),
    StructuredClassifierCV(alphas=4),
    StructuredRegressorCV(alphas=4),
]
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
@pytest.mark.filterwarnings("ignore:the objective ended above:sklearn.exceptions.ConvergenceWarning")  # few rows
@parametrize_with_checks(STOCHASTIC, expected_failed_checks=lambda estimator: WEIGHTS_ONLY_IN_EXPECTATION)
def test_scikit_learn_checks_of_the_stochastic_solvers(estimator, check):
    check(estimator)


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
    with pytest.warns(ConvergenceWarning, match="partial_fit diverged: .* the last finite iterate"):
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


class Cubes(GraphGuidedRegressor):
    """With a parameter of its own, and fewer of the others."""

    def __init__(self, alpha=0.01, power=3):
        super().__init__("chain", alpha=alpha)
        self.power = power

    def fit(self, X, y):
        return super().fit(X**self.power, y)

    def predict(self, X, offset=None):
        return super().predict(X**self.power, offset)


class Chain(GraphGuidedRegressorCV):
    """With two parameters of the others only."""

    def __init__(self, alphas=4, cv=3):
        super().__init__("chain", alphas=alphas, cv=cv)


class Steps(TrendFilterCV):
    def __init__(self, alphas=5, smallest=1e-3):
        super().__init__(0, alphas, eps=smallest)
        self.smallest = smallest


def test_a_derived_class_may_have_other_parameters():
    X = np.random.default_rng(0).normal(size=(90, 4))
    y = X**3 @ [1.0, 1.0, -1.0, -1.0]
    assert Cubes(power=3).fit(X, y).score(X, y) > 0.99 > Cubes(power=2).fit(X, y).score(X, y)
    search = GridSearchCV(Cubes(), {"power": [1, 2, 3], "alpha": [0.01, 0.1]}, cv=3).fit(X, y)
    assert search.best_params_ == {"power": 3, "alpha": 0.01}
    chain, plain = Chain().fit(X, y), GraphGuidedRegressorCV("chain", alphas=4, cv=3).fit(X, y)
    np.testing.assert_array_equal(chain.cv_scores_, plain.cv_scores_)
    t = np.arange(90.0)
    np.testing.assert_array_equal(Steps().fit(t, y).alphas_, TrendFilterCV(0, 5, eps=1e-3).fit(t, y).alphas_)
    for model, changed in ((Cubes(), {"alpha": 0.5, "power": 1}), (Chain(), {"alphas": 2, "cv": 4})):
        copy = pickle.loads(pickle.dumps(clone(model.set_params(**changed))))
        assert copy.get_params() == changed and copy.graph == "chain" and copy.loss == "squared"


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
