"""One rule for rows: what fits in memory is loaded and solved to tol with a proof; what does not is streamed."""

import numpy as np
import pytest

from adasadmm import GraphGuidedClassifier, GraphGuidedRegressor, sources
from adasadmm._core import machine
from adasadmm.estimators import _rows

pytestmark = pytest.mark.compiled  # too slow without the compiler

N, D = 500, 5


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=N) > 0.0, "yes", "no")


def source_of(X, y, **more):
    return sources.arrays(X, y, block_rows=100, **more)


def test_rows_that_fit_are_loaded_and_solved_as_arrays(data):
    X, y = data
    weight, offset = np.random.default_rng(1).uniform(size=(2, N))
    known = {"sample_weight": weight, "offset": offset}
    for estimator, target in ((GraphGuidedClassifier("chain"), y), (GraphGuidedRegressor("chain"), X[:, 0])):
        loaded = estimator.fit(source_of(X, target, **known))
        coef, gap, said = loaded.coef_.copy(), loaded.dual_gap_, loaded.summary()
        assert gap <= 1e-3 and "rows: loaded into memory (29.3 KiB of at most" in said
        arrays = estimator.fit(X, target, **known)
        np.testing.assert_array_equal(coef, arrays.coef_)
        assert "rows: " not in arrays.summary()


def test_class_weights_count_in_both_places(data):
    X, y = data
    settings = {"loss": "logistic", "class_weight": "balanced", "tol": 1e-9, "l2": 0.1}
    loaded = GraphGuidedClassifier("chain", **settings).fit(source_of(X, y))
    streamed = GraphGuidedClassifier("chain", solver="admm", **settings).fit(source_of(X, y))
    np.testing.assert_allclose(loaded.coef_, streamed.coef_, atol=1e-4)


def test_rows_that_do_not_fit_are_streamed_for_two_epochs_without_a_warning(data, limits):
    limits(share_of_memory=1e-12)
    model = GraphGuidedClassifier("chain", random_state=0).fit(source_of(*data))
    assert model.n_iter_ == 2 and type(model.solver_).__name__ == "AdaSADMM"
    assert "rows: streamed, because they would take 29.3 KiB, more than" in model.summary()
    same = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=2, random_state=0).fit(source_of(*data))
    np.testing.assert_array_equal(model.coef_, same.coef_)


def test_a_solver_that_was_given_decides(data):
    model = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=1).fit(source_of(*data))
    assert "rows: streamed, because solver='ada-diag' was given" in model.summary()
    model = GraphGuidedClassifier("chain", solver="ipm").fit(source_of(*data))  # cannot stream
    assert "rows: loaded into memory" in model.summary() and model.dual_gap_ <= 1e-3


def test_what_needs_all_rows_works_with_a_source_that_fits(data):
    model = GraphGuidedClassifier("chain", weights="adaptive", refit="clusters").fit(source_of(*data))
    assert model.coef_penalized_.shape == (1, D)


@pytest.mark.parametrize("solver", ["auto", "ada-diag"])  # loaded, and streamed
def test_targets_of_a_regression_that_are_text_are_named_with_their_source(data, solver):
    with pytest.raises(sources.SourceError, match=r"the targets must hold numbers: .*'(yes|no)'"):
        GraphGuidedRegressor("chain", solver=solver).fit(source_of(*data))


def test_partial_fit_forgets_where_the_rows_were(data):
    model = GraphGuidedClassifier("chain").fit(source_of(*data))
    model.set_params(solver="ada-diag").partial_fit(*data)
    assert "rows: " not in model.summary()


def test_the_memory_of_a_container_is_what_counts(tmp_path, monkeypatch):
    physical = machine.memory()
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(machine, "LIMITS", (str(limit), str(tmp_path / "none")))
    limit.write_text("1048576\n")
    assert machine.memory() == 2**20 and _rows.most_bytes() == 2**18
    limit.write_text("max\n")
    assert machine.memory() >= physical
