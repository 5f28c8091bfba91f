"""Classifiers with a softmax of all classes, or a joint penalty of the functions of each class against the rest."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer

from adasadmm import (
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    Problem,
    StructuredClassifier,
    StructuredClassifierCV,
    TermsClassifierCV,
    TotalVariationDenoiser,
    TrendFilter,
    graphs,
    load_model,
    path,
    penalties,
    save_model,
    sources,
    terms,
)
from adasadmm.cli import main
from adasadmm.losses import Multinomial

LOSS = Multinomial(4)


def test_without_a_ridge_bounded_coefficients_have_a_certificate(flowers):
    X, y = flowers
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = StructuredClassifier("chain", loss="multinomial", alpha=0.01, l2=0.0, positive=True).fit(X, y)
    W = cp.Variable((3, X.shape[1]), nonneg=True)
    Z = X @ W.T + np.ones((len(y), 1)) @ cp.reshape(b := cp.Variable(3), (1, 3), order="C")
    hit = cp.sum(cp.multiply(np.eye(3)[np.searchsorted(model.classes_, y)], Z), axis=1)
    objective = cp.sum(cp.log_sum_exp(Z, axis=1) - hit) / len(y) + 0.01 * cp.sum(cp.abs(W[:, 1:] - W[:, :-1]))
    optimum = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    W.value, b.value = model.coef_, model.intercept_
    assert objective.value - optimum <= model.dual_gap_ * objective.value + 1e-8
    assert model.dual_gap_ <= 1e-3


def test_a_classifier_without_structure_is_scikit_learns(flowers):
    X, y = flowers
    model = GraphGuidedClassifier("chain", loss="multinomial", alpha=0.0, l2=1.0 / len(y), tol=1e-12).fit(X, y)
    peer = LogisticRegression(solver="newton-cg", tol=1e-12, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    plain = model.to_sklearn()
    assert isinstance(plain, LogisticRegression)
    np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X), atol=1e-14)
    assert model.df_ is None and "several outputs" in model.df_reason_
    assert model.summary().count("each class: ") == 1 and isinstance(model.dual_gap_, float)


def test_logistic_means_multinomial_with_more_than_two_classes(flowers):
    X, y = flowers
    models = [GraphGuidedClassifier("chain", loss=loss, alpha=0.01).fit(X, y) for loss in ("logistic", "multinomial")]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    two = y != "setosa"
    binary, softmax = (GraphGuidedClassifier("chain", loss=loss, alpha=0.0).fit(X[two], y[two]) for loss in LOGISTIC)
    assert binary.coef_.shape == (1, 4) and softmax.coef_.shape == (2, 4)
    np.testing.assert_allclose(softmax.to_sklearn().predict_proba(X), softmax.predict_proba(X), atol=1e-14)


LOGISTIC = ("logistic", "multinomial")


def test_two_classes_have_one_score_as_in_scikit_learn(flowers, tmp_path):
    """The score of the second class less that of the first; tools of scikit-learn accept nothing else."""
    X, y = flowers[0], np.where(flowers[1] == "virginica", "yes", "no")
    softmax, binary = (
        GraphGuidedClassifier("chain", loss=loss, alpha=0.01, l2=l2, tol=1e-8).fit(X, y)
        for loss, l2 in (("multinomial", 0.02), ("logistic", 0.01))  # half of the difference for each class
    )
    np.testing.assert_allclose(softmax.decision_function(X), binary.decision_function(X), rtol=1e-3)
    np.testing.assert_allclose(softmax.predict_proba(X), binary.predict_proba(X), atol=1e-4)
    assert (softmax.predict(X) == binary.predict(X)).all()
    assert get_scorer("roc_auc")(softmax, X, y) == get_scorer("roc_auc")(binary, X, y)
    assert softmax.predict(np.zeros((1, 4)), offset=[-softmax.intercept_]) == softmax.classes_[1]  # a score of 0
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b,c,d", comments="")
    save_model(softmax, tmp_path / "m.skops")
    assert main(["predict", str(tmp_path / "m.skops"), str(tmp_path / "rows.csv"), "--out", str(tmp_path / "p")]) == 0
    lines = [line.split(",") for line in (tmp_path / "p").read_text().splitlines()]
    assert lines[0] == ["prediction", "score_yes"] and {len(line) for line in lines} == {2}


SEARCHES = {
    "graph": (GraphGuidedClassifierCV("chain"), graphs.difference(4)),
    "structure": (StructuredClassifierCV("chain"), graphs.difference(4)),
    "terms": (TermsClassifierCV([terms.linear(list("abcd"))]), np.eye(4)),
}


@pytest.mark.parametrize("search, A", SEARCHES.values(), ids=SEARCHES)
def test_a_search_with_a_softmax_of_two_classes_is_that_of_their_score(flowers, search, A):
    """With w for one class and -w for the other, the strengths of both losses are those of the score 2 w."""
    X, y = pd.DataFrame(flowers[0], columns=list("abcd")), flowers[1] == "virginica"
    search = clone(search).set_params(eps=0.03, cv=3, tol=1e-9, scoring="neg_log_loss")
    softmax = clone(search).set_params(loss="multinomial", alphas=5, l2s=[0.02]).fit(X, y)
    binary = clone(search).set_params(loss="logistic", alphas=softmax.alphas_, l2s=[0.01]).fit(X, y)
    np.testing.assert_allclose(softmax.cv_scores_, binary.cv_scores_, atol=1e-4)
    np.testing.assert_allclose(np.diff(softmax.coef_path_, axis=0), binary.coef_path_, atol=2e-3)
    assert softmax.alpha_ == binary.alpha_
    np.testing.assert_allclose(A @ softmax.coef_path_[:, 0].T, 0.0, atol=1e-12)  # at alpha_max


def test_a_path_of_a_softmax_of_two_classes_is_certified(flowers):
    X, y = flowers[0], (flowers[1] == "virginica").astype(float)
    problem = Problem(X, y, loss=Multinomial(), penalty=penalties.L1(1.0), A=graphs.difference(4), gamma=0.01)
    assert all(result.certificate.relative_gap <= 1e-6 for result in path(problem, [0.3, 0.1, 0.01], tol=1e-6))


def test_small_probabilities_of_two_classes_are_not_rounded_to_0(flowers):
    X, y = flowers[0], flowers[1] == "virginica"
    model = GraphGuidedClassifier("chain", loss="logistic", alpha=0.01).fit(X, y)
    far = 20.0 * np.outer([1.0, -1.0], X[0])  # one of each class
    scores = model.decision_function(far)
    assert (np.abs(scores) > 40.0).all() and scores.prod() < 0.0
    np.testing.assert_allclose(model.predict_log_proba(far).min(axis=1), -np.abs(scores), rtol=1e-12)


def test_a_joint_penalty_fuses_features_for_all_classes_or_none(flowers):
    X, y = flowers
    model = GraphGuidedClassifier("chain", loss="multinomial", alpha=0.02, joint=True).fit(X, y)
    equal = np.diff(model.coef_, axis=1) == 0.0
    assert equal.any() and (equal == equal[:1]).all()
    assert (model.clusters_ == model.clusters_[0]).all()


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("features", [12, 80])  # ProximalNewton and ADMM
def test_structure_is_exact_at_a_loose_tolerance(features, joint):
    rng = np.random.default_rng(features)
    X = rng.normal(size=(150, features))
    W = np.repeat(rng.normal(size=(4, features // 4)), 4, axis=1)
    y = np.argmax(X @ W.T + rng.gumbel(size=(150, 4)), axis=1)
    model = GraphGuidedClassifier("chain", loss="logistic", alpha=0.03, l1_ratio=0.3, joint=joint, tol=1e-3).fit(X, y)
    for values in (np.abs(np.diff(model.coef_)), np.abs(model.coef_)):
        assert not ((values > 0.0) & (values < 1e-9)).any()
    assert (np.diff(model.coef_) == 0.0).any() and model.dual_gap_ <= 1e-3
    tight = clone(model).set_params(tol=1e-8).fit(X, y)
    assert np.mean((np.diff(model.coef_) == 0.0) == (np.diff(tight.coef_) == 0.0)) > 0.97


@pytest.mark.slow
def test_weights_repeat_rows_and_offsets_shift_scores(flowers):
    X, y = flowers
    weight, model = 1 + np.arange(len(y)) % 3, StructuredClassifier(loss="multinomial", alpha=0.01, l2=0.01, tol=1e-10)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    W = np.random.default_rng(0).normal(size=(4, 3))
    shifted = clone(model).fit(X, y, offset=X @ W)
    scores = shifted.decision_function(X, offset=X @ W)
    np.testing.assert_allclose(scores, X @ (shifted.coef_.T + W) + shifted.intercept_)
    assert shifted.score(X, y, offset=X @ W) > 0.9
    with pytest.raises(ValueError, match=r"or the shape \(150, 3\)"):
        clone(model).fit(X, y, offset=np.zeros((150, 2)))


def test_warm_starts_and_repeated_fits_give_the_same_model(flowers):
    X, y = flowers
    model = GraphGuidedClassifier("chain", loss="multinomial", alpha=0.01, warm_start=True).fit(X, y)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    iterations = model.n_iter_
    assert model.fit(X, y).n_iter_ <= iterations


@pytest.mark.slow  # compiles for seconds
def test_streams_and_partial_fits_learn_all_classes(flowers, tmp_path):
    X, y = flowers
    rows = np.random.default_rng(0).permutation(len(y))
    model = GraphGuidedClassifier("chain", loss="multinomial", alpha=0.001, random_state=0)
    for _ in range(20):
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    assert model.score(X, y) > 0.9 and model.coef_.shape == (3, 4)
    source = sources.arrays(X[rows], np.searchsorted(np.unique(y), y[rows]), block_rows=40)
    streamed = GraphGuidedClassifier("chain", loss="multinomial", solver="ada-diag", max_iter=20, random_state=0)
    again = clone(streamed).fit(source)
    assert streamed.fit(source).score(source) > 0.9 and streamed.dual_gap_ < 1.0
    np.testing.assert_array_equal(streamed.coef_, again.coef_)


def test_a_saved_model_predicts_the_same(flowers, tmp_path):
    X, y = flowers
    model = GraphGuidedClassifier("chain", loss="multinomial", alpha=0.01).fit(X, y)
    save_model(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "model.skops").predict_proba(X), model.predict_proba(X))


@pytest.mark.slow
def test_a_search_chooses_the_strength(flowers):
    X, y = flowers
    settings = {"alphas": 5, "cv": 3, "scoring": "neg_log_loss", "tol": 1e-6}
    search = GraphGuidedClassifierCV("chain", loss="multinomial", **settings).fit(X, y)
    assert search.coef_path_.shape == (3, 5, 4) and search.score(X, y) > 0.95
    assert (search.coef_path_[:, 0] == search.coef_path_[:, 0, :1]).all()  # everything is fused at the largest alpha


# --- joint penalties of losses of each class against the rest ---------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "ratio"), [("hinge", 0.0), pytest.param("squared_hinge", 0.4, marks=pytest.mark.slow)]
)
def test_a_joint_penalty_of_classes_against_the_rest_is_cvxpys(loss, ratio, flowers):
    X, y = flowers
    model = GraphGuidedClassifier("chain", loss=loss, alpha=0.05, l2=0.01, l1_ratio=ratio, joint=True, tol=1e-6)
    model.fit(X, y)
    W, b = cp.Variable((3, 4)), cp.Variable(3)
    Z = X @ W.T + np.ones((len(y), 1)) @ cp.reshape(b, (1, 3), order="C")
    below = cp.pos(1.0 - cp.multiply(np.where(y[:, None] == model.classes_, 1.0, -1.0), Z))
    objective = cp.sum(below if loss == "hinge" else cp.square(below)) / len(y) + 0.005 * cp.sum_squares(W)
    objective += 0.05 * (1.0 - ratio) * cp.sum(cp.norm(W[:, 1:] - W[:, :-1], 2, axis=0))
    objective += 0.05 * ratio * cp.sum(cp.norm(W, 2, axis=0))
    optimum = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    assert model._objectives[0] == pytest.approx(optimum, rel=1e-6) and model.dual_gap_ <= 1e-6
    np.testing.assert_allclose(model.coef_, W.value, atol=2e-3)
    fused = np.diff(model.coef_, axis=1) == 0.0
    assert (fused.all(axis=0) == fused.any(axis=0)).all()


@pytest.mark.slow  # compiles for seconds
def test_joint_hinges_predict_validate_and_continue_as_separate_ones_do(flowers):
    X, y = flowers
    model = GraphGuidedClassifier("chain", alpha=0.01, joint=True, validation_fraction=0.2, warm_start=True).fit(X, y)
    assert model.score(X, y) > 0.8 and model.validation_loss_.shape == (3,)
    iterations = model.n_iter_
    assert model.fit(X, y).n_iter_ <= iterations
    stream = GraphGuidedClassifier("chain", alpha=0.001, joint=True, random_state=0)
    for _ in range(5):
        stream.partial_fit(X, y, classes=np.unique(y))
    assert stream.coef_.shape == (3, 4) and stream.score(X, y) > 0.7


def test_what_joint_cannot_join_is_an_error(flowers):
    X, y = flowers
    source = sources.arrays(X, np.searchsorted(np.unique(y), y), block_rows=40)
    with pytest.raises(ValueError, match="joint=True with loss='hinge' needs rows in memory: set joint=False, or"):
        GraphGuidedClassifier("chain", joint=True, solver="ada-diag").fit(source)
    with pytest.raises(ValueError, match="joint=True joins the penalties L1 and GroupL2, not ElasticNet"):
        StructuredClassifier("chain", penalty=penalties.ElasticNet(0.1), loss="multinomial", joint=True).fit(X, y)
    with pytest.raises(ValueError, match="refit='clusters' is not available for outputs that are fitted together"):
        GraphGuidedClassifier("chain", joint=True, refit="clusters").fit(X, y)
    two = y != "setosa"  # one linear function: there is nothing to join
    alone, joint = (GraphGuidedClassifier("chain", joint=joint).fit(X[two], y[two]) for joint in (False, True))
    np.testing.assert_array_equal(alone.coef_, joint.coef_)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (GraphGuidedRegressor("chain", loss=LOSS), (np.eye(4), np.arange(4.0))),
        (TrendFilter(loss=LOSS), (np.arange(4.0), np.arange(4.0))),
        (TotalVariationDenoiser(loss=LOSS), (np.arange(4.0),)),
    ],
)
def test_a_model_of_one_prediction_takes_no_softmax(model, given):
    with pytest.raises(ValueError, match=r"one prediction for each row, got Multinomial\(classes=4\)"):
        model.fit(*given)


def test_the_number_of_classes_must_be_that_of_the_labels(flowers):
    with pytest.raises(ValueError, match=r"y has 3 classes, but loss=Multinomial\(classes=4\)"):
        GraphGuidedClassifier("chain", loss=LOSS).fit(*flowers)
