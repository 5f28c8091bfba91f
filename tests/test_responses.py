"""Several responses: separate fits, joint penalties, missing targets."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import r2_score
from sklearn.utils.estimator_checks import check_estimator

from adasadmm import (
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    StructuredRegressor,
    StructuredRegressorCV,
    graphs,
    load_model,
    save_model,
    sources,
)


def responses(seed=0, n=60, d=6, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    W = np.repeat(rng.normal(size=(k, 2)), d // 2, axis=1)
    return X, X @ W.T + rng.normal(size=k) + 0.3 * rng.normal(size=(n, k))


def test_separate_responses_are_fits_of_their_own():
    X, Y = responses()
    model = GraphGuidedRegressor("chain", alpha=0.05).fit(X, Y)
    assert model.coef_.shape == (3, 6) and model.intercept_.shape == (3,)
    for column in range(3):
        one = GraphGuidedRegressor("chain", alpha=0.05).fit(X, Y[:, column])
        assert one.coef_.tobytes() == model.coef_[column].tobytes() and one.intercept_ == model.intercept_[column]
        assert one.dual_gap_ == model.dual_gap_[column]
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) == pytest.approx(r2_score(Y, model.predict(X)))
    assert_allclose(model.to_sklearn().predict(X), model.predict(X))
    assert "response 2: " in model.summary() and "in 3 responses" in model.summary()
    single = GraphGuidedRegressor("chain", alpha=0.05).fit(X, Y[:, :1])
    assert single.coef_.shape == (1, 6) and single.predict(X).shape == (60, 1)


def joint_optimum(X, Y, A, alpha, l2, ratio=0.0, seen=None, loss="squared"):
    W, b = cp.Variable((X.shape[1], Y.shape[1])), cp.Variable(Y.shape[1])
    seen = np.ones(Y.shape) if seen is None else seen
    off = X @ W + np.ones((len(X), 1)) @ cp.reshape(b, (1, Y.shape[1]), order="C") - np.nan_to_num(Y)
    of_entry = cp.square(off) / 2 if loss == "squared" else cp.huber(off, 1.0) / 2
    weight = seen / seen.mean()  # the mean over the entries that are there, times the number of responses
    total = cp.sum(cp.multiply(weight, of_entry)) / len(X) + l2 / 2 * cp.sum_squares(W)
    total += alpha * (1 - ratio) * cp.sum(cp.norm(A @ W, 2, axis=1)) + alpha * ratio * cp.sum(cp.norm(W, 2, axis=1))
    problem = cp.Problem(cp.Minimize(total))
    problem.solve(solver=cp.CLARABEL)
    return problem.value, W.value


SLOW = [pytest.param(s, loss, marks=pytest.mark.slow) for s in range(1, 5) for loss in ("squared", "huber")]


@pytest.mark.parametrize(("seed", "loss"), [(0, "squared"), *SLOW])
def test_a_joint_fit_is_that_of_cvxpy_and_fuses_an_edge_for_all_responses_or_none(seed, loss):
    X, Y = responses(seed)
    rng = np.random.default_rng(seed)
    A, alpha, l2, ratio = graphs.difference(6), 10 ** rng.uniform(-2, -0.3), 10 ** rng.uniform(-3, -1), 0.3 * (seed % 2)
    settings = {"alpha": alpha, "l2": l2, "l1_ratio": ratio, "loss": loss, "joint": True, "tol": 1e-7}
    best, W = joint_optimum(X, Y, A.toarray(), alpha, l2, ratio, loss=loss)
    for model in (GraphGuidedRegressor("chain", **settings), StructuredRegressor(A, **settings)):
        model.fit(X, Y)
        assert_allclose(model._objectives[0], best, rtol=1e-6)
        assert_allclose(model.coef_, W.T, atol=2e-3)
        assert model.dual_gap_ <= 1e-7 and model._objectives[0] * (1 - model.dual_gap_) <= best * (1 + 1e-7)
        fused = np.diff(model.coef_, axis=1) == 0.0
        assert (fused.all(axis=0) | ~fused.any(axis=0)).all()


def test_missing_targets_have_no_weight():
    X, Y = responses(1)
    rng = np.random.default_rng(0)
    lost = rng.random(Y.shape) < 0.3
    Z = np.where(lost, np.nan, Y)
    model = GraphGuidedRegressor("chain", alpha=0.05, l2=0.01, missing="ignore", tol=1e-8).fit(X, Z)
    for column in range(3):
        there = ~lost[:, column]
        one = GraphGuidedRegressor("chain", alpha=0.05, l2=0.01, tol=1e-8).fit(X[there], Y[there, column])
        assert_allclose(model.coef_[column], one.coef_, atol=1e-6)
        for criterion in ("df_", "aic_", "bic_"):  # a row without a target is not counted
            assert getattr(model, criterion)[column] == pytest.approx(getattr(one, criterion), rel=1e-4)
    best, W = joint_optimum(X, Z, graphs.difference(6).toarray(), 0.05, 0.01, seen=(~lost).astype(float))
    joint = GraphGuidedRegressor("chain", alpha=0.05, l2=0.01, missing="ignore", joint=True, tol=1e-7).fit(X, Z)
    assert_allclose(joint._objectives[0], best, rtol=1e-6)
    assert_allclose(joint.coef_, W.T, atol=2e-3)
    expected = [r2_score(Y[~lost[:, j], j], joint.predict(X)[~lost[:, j], j]) for j in range(3)]
    assert joint.score(X, Z) == pytest.approx(np.mean(expected))


def test_a_source_after_several_responses_has_one():
    X, Y = responses()
    settings = {"alpha": 0.05, "random_state": 0}
    model = GraphGuidedRegressor("chain", **settings).fit(X, Y).fit(sources.arrays(X, Y[:, 0]))
    alone = GraphGuidedRegressor("chain", **settings).fit(sources.arrays(X, Y[:, 0]))
    assert model.coef_.shape == alone.coef_.shape == (6,)
    assert model.predict(X).shape == (60,)


def test_held_out_rows_keep_their_offsets():
    X, Y = responses()
    offset = np.random.default_rng(0).normal(size=Y.shape)
    model = GraphGuidedRegressor("chain", alpha=0.05, validation_fraction=0.3).fit(X, Y, offset=offset)
    for column in range(3):
        one = GraphGuidedRegressor("chain", alpha=0.05, validation_fraction=0.3)
        one.fit(X, Y[:, column], offset=offset[:, column])
        assert model.validation_loss_[column] == pytest.approx(one.validation_loss_)


def test_bad_targets_are_named():
    X, Y = responses()
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"y contains NaN, first in row 3.*missing='ignore'"):
        GraphGuidedRegressor("chain").fit(X, Y)
    Y[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2 of y has no value"):
        GraphGuidedRegressor("chain", missing="ignore").fit(X, Y)
    with pytest.raises(ValueError, match="partial_fit takes one response"):
        GraphGuidedRegressor("chain").fit(X, responses()[1]).partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match=r"offset must have the shape of y, \(60, 3\)"):
        GraphGuidedRegressor("chain").fit(X, responses()[1], offset=np.zeros(60))


@pytest.mark.parametrize("joint", [False, True])
def test_offsets_weights_warm_starts_and_saved_models(joint, tmp_path):
    X, Y = responses()
    rng = np.random.default_rng(0)
    offset, weight = rng.normal(size=Y.shape), rng.uniform(0.5, 2.0, 60)
    model = GraphGuidedRegressor("chain", alpha=0.05, joint=joint, warm_start=True, tol=1e-6)
    model.fit(X, Y, sample_weight=weight, offset=offset)
    again = GraphGuidedRegressor("chain", alpha=0.05, joint=joint, tol=1e-6).fit(X, Y - offset, sample_weight=weight)
    assert_allclose(model.coef_, again.coef_, atol=1e-4)
    assert_allclose(model.predict(X, offset=offset), model.predict(X) + offset)
    first = model.n_iter_
    assert model.fit(X, Y, sample_weight=weight, offset=offset).n_iter_ <= first
    save_model(again, tmp_path / "model.skops")
    for other in (pickle.loads(pickle.dumps(again)), load_model(tmp_path / "model.skops")):
        assert (other.predict(X) == again.predict(X)).all()


@pytest.mark.slow
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("cls", [GraphGuidedRegressorCV, StructuredRegressorCV])
def test_a_search_scores_all_responses(cls, joint):
    X, Y = responses(2)
    Y[::7, 1] = np.nan
    model = cls("chain", alphas=5, joint=joint, missing="ignore", cv=3).fit(X, Y)
    assert model.coef_.shape == (3, 6) and model.coef_path_.shape == (3, 5, 6)
    assert model.score(X, Y) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("joint", [False, True])
def test_scikit_learns_checks_pass_with_several_responses(joint):
    check_estimator(GraphGuidedRegressor("chain", joint=joint), on_skip=None)
