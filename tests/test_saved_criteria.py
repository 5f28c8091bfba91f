"""Pickling a fitted model neither fails nor takes long: its criteria are inside, or the reason why they are not."""

import copy
import pickle

import numpy as np
import pytest

from adasadmm import GraphGuidedRegressor, GraphGuidedRegressorCV, TrendFilter, load_model, save_model
from adasadmm.estimators import _judged

CRITERIA = ("df_", "aic_", "bic_", "df_reason_")


def fitted(model=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    y = X @ np.repeat([1.0, -1.0, 0.5], 4) + 0.3 * rng.normal(size=60)
    return (GraphGuidedRegressor("chain", alpha=0.05) if model is None else model).fit(X, y)


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


def assert_same_criteria(model, other):
    for name in CRITERIA:
        assert getattr(model, name) == getattr(other, name), name


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_a_copy_has_the_criteria_and_not_the_rows(copied):
    model = fitted()
    other = copied(model)
    assert other._judgements is None and model._judgements is not None  # the model itself stays as it was
    assert other.df_ > 0.0
    assert_same_criteria(model, other)


def test_a_saved_model_has_the_criteria(tmp_path):
    model = fitted()
    save_model(model, tmp_path / "model.skops")
    assert_same_criteria(model, load_model(tmp_path / "model.skops"))


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_criteria_that_take_long_are_not_computed_for_a_copy(copied, limits):
    limits(size_of_easy_criteria=2)  # rows and columns of a matrix
    model, search = fitted(), fitted(GraphGuidedRegressorCV("chain", alphas=3, cv=2))
    other = copied(model)
    assert other.df_ is other.aic_ is other.bic_ is None
    assert "read df_ before" in other.df_reason_
    assert np.isnan(copied(search).df_path_).any()
    assert model.df_ > 2.0 and not np.isnan(search.df_path_).any()  # known to those that have the rows
    assert_same_criteria(model, copied(model))  # once read, they are part of the model
    np.testing.assert_array_equal(search.df_path_, copied(search).df_path_)


def test_a_signal_with_many_pieces_keeps_its_criteria(limits):
    """The pieces are counted: no matrix limits their number."""
    limits(size_of_easy_criteria=2)
    model = TrendFilter(0, alpha=1e-9).fit(np.arange(50.0), np.random.default_rng(0).normal(size=50))
    assert through_pickle(model).df_ == model.df_ == 50


def test_a_model_whose_criteria_fail_can_be_pickled_and_saved(monkeypatch, tmp_path):
    def fail(*args, **kwargs):
        raise np.linalg.LinAlgError("eigenvalues did not converge")

    model, search = fitted(), fitted(GraphGuidedRegressorCV("chain", alphas=3, cv=2))
    monkeypatch.setattr(_judged, "criteria", fail)
    save_model(model, tmp_path / "model.skops")
    for other in (through_pickle(model), load_model(tmp_path / "model.skops")):
        assert other.df_ is None and "eigenvalues did not converge" in other.df_reason_
        np.testing.assert_array_equal(other.coef_, model.coef_)
    assert np.isnan(through_pickle(search).df_path_).all()
    with pytest.raises(np.linalg.LinAlgError):  # whoever asks is told
        model.df_


def test_a_fit_does_not_fail_with_its_criteria(monkeypatch, limits):
    def fail(*args, **kwargs):
        raise np.linalg.LinAlgError("eigenvalues did not converge")

    monkeypatch.setattr(_judged, "criteria", fail)
    limits(size_of_rows_kept_for_criteria=0)  # the rows are not kept, so that the criteria are computed in fit
    assert "eigenvalues did not converge" in fitted().df_reason_
    assert np.isnan(fitted(GraphGuidedRegressorCV("chain", alphas=3, cv=2)).df_path_).all()
