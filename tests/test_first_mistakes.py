"""What a newcomer gets wrong first: the error names the value at fault and says what to do."""

import datetime

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone

from adasadmm import (
    L1,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    NetworkLassoClassifier,
    NetworkLassoRegressor,
    Problem,
    Quantile,
    Squared,
    StructuredRegressor,
    TermsRegressor,
    TrendFilter,
    sources,
    terms,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 4))
NUMBERS = X[:, 0] + X[:, 1]
LABELS = np.where(NUMBERS > 0, "yes", "no")
TABLE = pd.DataFrame(X, columns=list("abcd"))
CLASSIFIER, REGRESSOR = GraphGuidedClassifier("chain"), GraphGuidedRegressor("chain")


def name_of(model):
    return type(model).__name__


def fit(model, y):
    if name_of(model).startswith("NetworkLasso"):
        return model.fit(X, y, groups=np.arange(20) % 2)
    return model.fit(X, y)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (["low", "high"] * 10, "'low'"),
        (pd.Categorical(["low", "high"] * 10), "'low'"),
        (["1", "two"] * 10, "'two'"),
        (pd.date_range("2024-01-01", periods=20), "'2024-01-01"),
        ([datetime.date(2024, 1, 1)] * 20, "'2024-01-01'"),
    ],
    ids=["text", "categories", "some numbers", "dates", "objects"],
)
@pytest.mark.parametrize("model", [CLASSIFIER, REGRESSOR, StructuredRegressor()], ids=name_of)
def test_a_column_that_does_not_hold_numbers_is_named(model, column, shown):
    y = LABELS if model is CLASSIFIER else NUMBERS
    with pytest.raises(ValueError, match=f"column 'income' of X holds {shown}.* OneHotEncoder.* TermsRegressor"):
        model.fit(TABLE.assign(income=column), y)


def test_a_column_of_a_list_of_lists_is_named_by_its_number():
    rows = [[1.0, "low"], [2.0, "high"]]
    with pytest.raises(ValueError, match="column 1 of X holds 'low', which is not a number"):
        CLASSIFIER.fit(rows, [0, 1])


@pytest.mark.parametrize(
    "use",
    [
        REGRESSOR.fit,
        lambda X, y: CLASSIFIER.fit(X, y > 0),
        GraphGuidedRegressorCV("chain").fit,
        lambda X, y: NetworkLassoRegressor([[0, 1]]).fit(X, y, groups=np.arange(20) % 2),
        lambda X, y: GraphGuidedRegressor("chain", solver="ada-diag").partial_fit(X, y),
        lambda operator, y: clone(REGRESSOR).fit(X, y).predict(operator),
        lambda X, y: Problem(X, y, loss=Squared(), penalty=L1(1.0), A=np.eye(4)),
        sources.arrays,
        lambda A, y: StructuredRegressor(A).fit(X, y),
    ],
    ids=["regressor", "classifier", "search", "network", "partial_fit", "predict", "Problem", "source", "A"],
)
def test_an_operator_without_entries_says_what_to_pass(use):
    with pytest.raises(ValueError, match=r"[XA] is a LinearOperator of shape \(20, 4\).* [XA] @ np.eye\(4\)"):
        use(aslinearoperator(X), NUMBERS)


@pytest.mark.parametrize("model", [REGRESSOR, NetworkLassoRegressor([[0, 1]])], ids=name_of)
def test_labels_are_not_the_targets_of_a_regressor(model):
    with pytest.raises(
        ValueError, match=r"y holds '(yes|no)', which is not a number; for class labels use a classifier"
    ):
        fit(model, LABELS)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (np.nan, "Input y contains NaN, first in row 3: leave these rows out"),
        (None, "Input y contains None, first in row 3: leave these rows out"),
    ],
    ids=["NaN", "None"],
)
@pytest.mark.parametrize("model", [CLASSIFIER, NetworkLassoClassifier([[0, 1]])], ids=name_of)
def test_the_first_row_without_a_label_is_named(model, missing, message):
    labels = np.where(NUMBERS > 0, 1.0, 0.0).astype(object if missing is None else float)
    labels[3] = missing
    with pytest.raises(ValueError, match=message):
        fit(model, labels)


@pytest.mark.parametrize("model", [CLASSIFIER, NetworkLassoClassifier([[0, 1]])], ids=name_of)
def test_one_class_is_too_few(model):
    with pytest.raises(ValueError, match="needs at least 2 classes, y has one class only: yes"):
        fit(model, np.full(20, "yes"))
    with pytest.raises(ValueError, match="needs at least 2 classes, classes has one class only: yes"):
        GraphGuidedClassifier("chain").partial_fit(X, np.full(20, "yes"), classes=["yes"])


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (GraphGuidedClassifier("chain", loss="squared"), "'hinge', 'logistic', 'multinomial', 'squared_hinge'"),
        (NetworkLassoClassifier([[0, 1]], loss="multinomial"), "'hinge', 'logistic', 'squared_hinge'"),
        (GraphGuidedRegressor("chain", loss="hinge"), "'epsilon_insensitive', 'gamma', 'huber', .*'tweedie'"),
        (TermsRegressor([terms.linear("a")], loss="mse"), "'epsilon_insensitive', 'gamma', 'huber', .*'tweedie'"),
    ],
    ids=["classifier", "network", "regressor", "terms"],
)
def test_an_unknown_loss_lists_the_names_in_order(model, names):
    with pytest.raises(ValueError, match=f"'loss' .* must be one of {names}, or an instance of a loss"):
        model.fit(TABLE, NUMBERS)


def test_a_loss_is_an_instance_and_not_its_class():
    with pytest.raises(
        ValueError, match=r"or an instance of a loss \(adasadmm.losses\). Got <class .*Quantile'> instead"
    ):
        TrendFilter(loss=Quantile).fit(np.arange(20.0), NUMBERS)


def test_rows_of_integers_and_lists_of_lists_are_not_mistakes():
    whole = (X > 0).astype(int)
    dense = GraphGuidedRegressor("chain").fit(whole.astype(float), NUMBERS)
    for rows in (sp.csr_array(whole), sp.coo_matrix(whole), whole.tolist(), TABLE.gt(0).astype(object)):
        assert np.allclose(GraphGuidedRegressor("chain").fit(rows, NUMBERS).coef_, dense.coef_, atol=1e-3)
