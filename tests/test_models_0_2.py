"""Models that version 0.2.0 saved with solvers that have another name now still load, and can be fitted again."""

import pathlib

import numpy as np
import pytest

from adasadmm import TotalVariation, load_model, save_model

pytest.importorskip("skops", reason="models are saved with skops")

FOLDER = pathlib.Path(__file__).parent / "models_0_2"
IMAGE = np.kron([[0.0, 1.0], [2.0, -1.0]], np.ones((2, 3)))
SERIES = np.eye(6), [0.0, 0.0, 3.0, 3.0, -1.0, -1.0]


@pytest.mark.parametrize(("name", "data"), [("image", (IMAGE,)), ("series", SERIES)])
def test_a_solver_of_0_2_is_the_one_that_took_its_place(name, data, tmp_path):
    model = load_model(FOLDER / f"{name}.skops")
    assert model.solver_ == TotalVariation() and model.get_params()["solver"] in ("auto", TotalVariation())
    assert "TotalVariation" in model.summary()
    before = model.coef_.copy()
    save_model(model, tmp_path / "again.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "again.skops").coef_, before)
    np.testing.assert_allclose(model.fit(*data).coef_, before, atol=1e-6)
