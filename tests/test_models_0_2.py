"""Models that version 0.2.0 saved, with classes that have other names or modules now, load and can be fitted again."""

import pathlib
import zipfile

import numpy as np
import pytest

from adasadmm import IPM, RDASADMM, GraphGuidedClassifier, TotalVariation, load_model, save_model
from adasadmm._core.states import ModelError

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


def test_the_state_of_rda_admm_is_refused_with_a_sentence(tmp_path):
    model = GraphGuidedClassifier("chain", solver=RDASADMM()).partial_fit(np.eye(4), [0, 1, 0, 1], classes=[0, 1])
    save_model(model, tmp_path / "now.skops")
    load_model(tmp_path / "now.skops").partial_fit(np.eye(4), [0, 1, 0, 1])
    with zipfile.ZipFile(tmp_path / "now.skops") as now, zipfile.ZipFile(tmp_path / "old.skops", "w") as old:
        for name in now.namelist():
            content = now.read(name)
            if name == "schema.json":
                content = content.replace(b'"StochasticRun"', b'"DualAveragingRun"')
            old.writestr(name, content)
    with pytest.raises(ModelError, match=r"partial_fit of RDASADMM as version 0\.2 saved it.*: fit it again"):
        load_model(tmp_path / "old.skops")


def test_a_model_of_terms_of_0_2_is_whole(tmp_path):
    """Its table of coefficients, predictions of known and of unknown levels, and another fit."""
    pd = pytest.importorskip("pandas", reason="the table is a frame of pandas")
    k = np.arange(120)
    table = pd.DataFrame({"age": 20 + k % 50, "brand": np.array(list("abcb"))[k % 4], "town": k % 6})
    table["east"], table["north"], table["size"] = table["town"] % 3 + 0.0, table["town"] // 3 + 0.0, np.sin(k)
    table["weight"], table["height"] = np.cos(k), np.where(k % 10 == 3, np.nan, np.sqrt(k))
    y = 1.0 * (table["age"] > 40) + (table["brand"] == "c") * (table["town"] < 3) + table["size"]
    model = load_model(FOLDER / "terms.skops")
    before, coefficients = model.predict(table), model.coef_table()
    assert before[table["age"] > 40].mean() > before[table["age"] <= 40].mean() + 0.5
    new = table.iloc[:1].assign(town=99, east=2.0, north=1.0)
    assert model.predict(new) == model.predict(table.iloc[:1].assign(town=5))
    assert "town (spatial): 6 levels in" in model.summary()
    save_model(model, tmp_path / "again.skops")
    assert load_model(tmp_path / "again.skops").coef_table().equals(coefficients)
    np.testing.assert_allclose(model.fit(table, y).predict(table), before, atol=1e-3)
    assert model.coef_table()[["term", "level", "rows"]].equals(coefficients[["term", "level", "rows"]])


def test_a_trend_of_0_2_was_found_by_the_interior_point_method():
    model = load_model(FOLDER / "trend.skops")
    assert model.solver_ == IPM() and "IPM" in model.summary()
    before = model.predict(np.arange(12.0))
    np.testing.assert_allclose(
        model.fit(np.arange(12.0), np.abs(np.arange(12.0) - 5.0)).predict(np.arange(12.0)), before, atol=1e-6
    )
