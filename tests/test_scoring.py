"""Accuracy and R^2: the numbers and the errors of scikit-learn, with and without its checks."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from adasadmm.estimators._scoring import accuracy, r2

LABELS = {
    "whole numbers": np.array([0, 3]),
    "floats": np.array([-1.0, 1.0]),
    "booleans": np.array([False, True]),
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", LABELS)
def test_accuracy_is_that_of_scikit_learn(kind, weighted):
    rng = np.random.default_rng(0)
    y, predicted = (rng.choice(LABELS[kind], 57) for _ in range(2))
    weight = rng.uniform(0.1, 3.0, 57) if weighted else None
    expected = accuracy_score(y, predicted, sample_weight=weight)
    assert accuracy(y, predicted, weight) == expected
    assert accuracy(y.tolist(), predicted, weight) == expected


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("level", [0.0, 1e6])
def test_r2_is_that_of_scikit_learn(level, weighted):
    rng = np.random.default_rng(0)
    y = level + rng.normal(size=101)
    predicted, weight = y + 0.3 * rng.normal(size=101), rng.uniform(0.1, 3.0, 101) if weighted else None
    expected = r2_score(y, predicted, sample_weight=weight)
    assert r2(y, predicted, weight) == pytest.approx(expected, abs=1e-12)
    assert r2(y.reshape(-1, 1), predicted, weight) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("predicted", [np.full(4, 2.0), np.array([2.0, 2.0, 2.0, 3.0])], ids=["equal", "apart"])
def test_r2_of_equal_targets_is_1_or_0(predicted):
    y = np.full(4, 2.0)
    assert r2(y, predicted, None) == r2_score(y, predicted)


def test_r2_of_one_target_warns_as_scikit_learn_does():
    with pytest.warns(match="less than two samples"):
        assert np.isnan(r2(np.ones(1), np.ones(1), None))


@pytest.mark.parametrize(
    ("y", "weight"),
    [
        (np.array([1.0, np.nan, -1.0]), None),
        (np.array([1.0, np.inf, -1.0]), None),
        (np.array([1.0, -1.0]), None),
        (np.array([1.0, -1.0, 1.0]), np.array([1.0, np.nan, 1.0])),
        (np.array([1.0, -1.0, 1.0]), np.ones(2)),
    ],
    ids=["nan", "inf", "too short", "nan weight", "few weights"],
)
@pytest.mark.parametrize("score", [accuracy, r2])
def test_wrong_targets_raise_as_in_scikit_learn(score, y, weight):
    theirs = accuracy_score if score is accuracy else r2_score
    predicted = np.array([1.0, 1.0, -1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn converts NaN to whole numbers before it raises
        with pytest.raises(ValueError) as expected:
            theirs(y, predicted, sample_weight=weight)
        with pytest.raises(ValueError) as found:
            score(y, predicted, weight)
    assert str(found.value) == str(expected.value)


def test_targets_that_are_no_labels_have_no_accuracy():
    with pytest.raises(ValueError, match="continuous"):
        accuracy(np.array([0.5, 1.0]), np.array([1.0, 1.0]), None)
