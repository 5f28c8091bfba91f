"""Models that version 0.1.0 saved still load, predict the same, and continue their streams."""

import pathlib

import numpy as np
import pytest

from adasadmm import ALM, GroupL2, Stack, load_model, save_model

pytest.importorskip("skops", reason="models are saved with skops")
pd = pytest.importorskip("pandas", reason="one of the models was fitted on a data frame")

FOLDER = pathlib.Path(__file__).parent / "models_0_1"
NAMES = ("classifier", "stream", "structured", "cv")


@pytest.fixture(scope="module")
def expected():
    with np.load(FOLDER / "expected.npz") as stored:
        return {name: stored[name] for name in stored.files}


def rows_of(name, expected):
    X = expected[f"{name}_X"]
    return pd.DataFrame(X, columns=expected["classifier_columns"]) if name == "classifier" else X


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_0_1_predicts_as_it_did(name, expected, tmp_path):
    model = load_model(FOLDER / f"{name}.skops")
    X = rows_of(name, expected)
    np.testing.assert_array_equal(np.asarray(model.predict(X)).astype(str), expected[f"{name}_predict"].astype(str))
    np.testing.assert_array_equal(model.coef_, expected[f"{name}_coef"])
    assert model.summary()
    save_model(model, tmp_path / "again.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "again.skops").coef_, model.coef_)


def test_a_stream_of_0_1_goes_on(expected, tmp_path):
    model = load_model(FOLDER / "stream.skops")
    model.partial_fit(expected["stream_next_X"], expected["stream_next_y"])
    np.testing.assert_allclose(model.coef_, expected["stream_next_coef"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, expected["stream_next_intercept"], rtol=1e-9, atol=1e-12)


def test_penalty_solver_and_loss_objects_come_back_whole(expected):
    model = load_model(FOLDER / "structured.skops")
    assert isinstance(model.solver, ALM) and isinstance(model.penalty, Stack)
    group = model.penalty.parts[0][0]
    assert isinstance(group, GroupL2) and len(group.groups) == len(group.starts) - 1


def test_a_group_penalty_survives_saving(tmp_path, expected):
    model = load_model(FOLDER / "structured.skops")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, model.n_features_in_))
    model.fit(X, X[:, 0])
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.fit(X, X[:, 0]).coef_, model.coef_)
