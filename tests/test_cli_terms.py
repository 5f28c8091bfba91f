"""`adasadmm fit --terms` and predictions of such models."""

import csv
import json

import numpy as np
import pytest

from adasadmm import TermsRegressor, load_model, terms
from adasadmm.cli import main

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
pytest.importorskip("skops", reason="skops is not installed")

pytestmark = pytest.mark.compiled  # fits are slow without the compiler

TOML = """
[[term]]
kind = "ordered"
column = "age"
bins = [30, 50]

[[term]]
kind = "spatial"
column = "region"
edges = "borders.csv"
"""
DATA = ("--target", "claims", "--exposure", "years", "--loss", "poisson", "--tol", "1e-6")
COMMON = (*DATA, "--alpha", "0.1")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    age, region = rng.integers(18, 80, 400), rng.choice(list("abc"), 400)
    years = rng.uniform(0.5, 1.0, 400)
    claims = rng.poisson(np.where(age <= 30, 3.0, 1.0) * years)
    pa.parquet.write_table(
        pa.table({"age": age, "region": region, "years": years, "claims": claims}), tmp_path / "policies.parquet"
    )
    (tmp_path / "terms.toml").write_text(TOML)
    (tmp_path / "borders.csv").write_text("one,other\na,b\nb,c\n")
    return tmp_path


def run(folder, *arguments):
    return main([str(each).replace("@", f"{folder}/") for each in arguments])


def test_a_tariff_from_files(folder):
    fit = ("fit", "@policies.parquet", "--terms", "@terms.toml", "--model", "@m.skops", "--table", "@tariff.csv")
    assert run(folder, *fit, *COMMON, "--json") == 0
    rows = list(csv.DictReader((folder / "tariff.csv").read_text().splitlines()))
    assert [row["level"] for row in rows] == ["<= 30", "(30, 50]", "> 50", "a", "b", "c"]
    assert float(rows[1]["relativity"]) < 0.6 and rows[1]["group"] == rows[2]["group"]
    table = pa.parquet.read_table(folder / "policies.parquet")
    listed = [terms.ordered("age", bins=[30, 50]), terms.spatial("region", edges=[("a", "b"), ("b", "c")])]
    model = TermsRegressor(listed, loss="poisson", alpha=0.1, tol=1e-6)
    offset = np.log(table.column("years").to_numpy())
    model.fit(table, table.column("claims").to_numpy(), offset=offset)
    np.testing.assert_array_equal(load_model(folder / "m.skops").coef_, model.coef_)
    assert run(folder, "predict", "@m.skops", "@policies.parquet", "--exposure", "years", "--out", "@p.csv") == 0
    found = np.loadtxt(folder / "p.csv", skiprows=1)
    np.testing.assert_allclose(found, model.predict(table, offset=offset), rtol=1e-8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[[term]]\nkind = 'round'\n", "has the kind 'round'; it must be one of"),
        ("[[term]]\nkind = 'ordered'\ncolumn = 'age'\nbin = 3\n", "unexpected keyword argument 'bin'"),
        ("[[term]]\nkind = 'ordered'\ncolumn = 'agee'\n", "Did you mean 'age'"),
        ("terms = 3\n", "needs entries such as"),
        ("[[term", "is not TOML"),
        (f"term = {'[' * 5000}{']' * 5000}\n", "its values are nested too deeply"),
        ("[[term]]\ncolumn = '\xe9'\n".encode("latin-1"), "is not TOML in UTF-8"),
    ],
    ids=range(7),
)
def test_wrong_terms(folder, capsys, content, message):
    (folder / "terms.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert run(folder, "fit", "@policies.parquet", "--terms", "@terms.toml", "--model", "@m.skops", *COMMON) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        *(["--scale"], ["--zero-based"], ["--graph", "glasso"], ["--columns", "age"], ["--drop", "age"]),
        *(["--on-bad-row", "skip"], ["--n-features", "3"], ["--most-expansion", "3"], ["--epochs", "2"]),
    ],
    ids=lambda options: options[0],
)
def test_options_that_terms_do_not_take(folder, capsys, options):
    fit = ("fit", "@policies.parquet", "--terms", "@terms.toml", "--model", "@m.skops", *options, *COMMON)
    assert run(folder, *fit) == 2 and f"{options[0]} does not work with --terms" in capsys.readouterr().err
    assert not (folder / "m.skops").exists()


def test_options_that_predictions_of_terms_do_not_take(folder, capsys):
    fit = ("fit", "@policies.parquet", "--terms", "@terms.toml", "--model", "@m.skops", *COMMON)
    assert run(folder, *fit, "--seed", "3", "--quiet") == 0 and load_model(folder / "m.skops").random_state == 3
    predict = ("predict", "@m.skops", "@policies.parquet", "--exposure", "years", "--out", "@p.csv")
    for options in (["--on-bad-row", "skip"], ["--columns", "age"], ["--zero-based"], ["--most-expansion", "3"]):
        assert run(folder, *predict, *options) == 2
        assert f"{options[0]} does not work with a model of terms" in capsys.readouterr().err
    assert run(folder, *predict, "--target", "claims") == 0


def test_terms_need_files_and_a_table_needs_terms(folder, capsys):
    assert run(folder, "fit", "@policies.parquet", "--table", "@t.csv", "--model", "@m.skops", *COMMON) == 2
    assert "--table needs --terms" in capsys.readouterr().err
    assert run(folder, "fit", "-", "--terms", "@terms.toml", "--model", "@m.skops", *COMMON) == 2
    assert "standard input has no column names" in capsys.readouterr().err


def test_the_strength_can_be_chosen_by_cross_validation(folder, capsys):
    fit = ("fit", "@policies.parquet", "--terms", "@terms.toml", "--model", "@m.skops", "--alpha", "cv", "--folds", "3")
    assert run(folder, *fit, "--json", *DATA) == 0
    figures = json.loads(capsys.readouterr().out)
    model = load_model(folder / "m.skops")
    assert figures["alpha"] == model.alpha_ and model.alpha_ in model.alphas_
    assert len([name for name in model.cv_results_ if name.startswith("split")]) == 3


def test_predictions_keep_columns_and_have_probabilities(folder):
    table = pa.parquet.read_table(folder / "policies.parquet")
    claimed = np.where(table.column("claims").to_numpy() > 0, "yes", "no")
    table = table.append_column("note", [["=1+2"] * 400]).append_column("claimed", [claimed])
    pa.parquet.write_table(table, folder / "claimed.parquet")
    fit = ("fit", "@claimed.parquet", "--terms", "@terms.toml", "--target", "claimed", "--loss", "logistic")
    assert run(folder, *fit, "--alpha", "0.01", "--model", "@m.skops", "--quiet") == 0
    predict = ("predict", "@m.skops", "@claimed.parquet", "--out", "@p.csv")
    assert run(folder, *predict, "--keep", "region,note", "--proba") == 0
    rows = list(csv.DictReader((folder / "p.csv").read_text().splitlines()))
    assert list(rows[0]) == ["region", "note", "prediction", "probability_no", "probability_yes"]
    assert [row["region"] for row in rows] == table.column("region").to_pylist() and rows[0]["note"] == "'=1+2"
    found = np.array([float(row["probability_yes"]) for row in rows])
    np.testing.assert_allclose(found, load_model(folder / "m.skops").predict_proba(table)[:, 1], rtol=1e-8)
    assert run(folder, *predict) == 0
    assert (folder / "p.csv").read_text().startswith("prediction,score_yes\n")


def test_a_kept_column_must_exist(folder, capsys):
    fit = ("fit", "@policies.parquet", "--terms", "@terms.toml", "--model", "@m.skops", "--quiet")
    assert run(folder, *fit, *COMMON) == 0
    assert run(folder, "predict", "@m.skops", "@policies.parquet", "--keep", "id") == 2
    assert "has no column 'id' to keep; it has 'age', 'region'" in capsys.readouterr().err


def test_terms_are_read_as_utf_8_and_their_table_runs_no_formula(folder):
    rng = np.random.default_rng(1)
    brand = rng.choice(["=1+2", "Škoda", "-5"], 300)
    table = pa.table({"@märke": brand, "y": (brand == "=1+2") + rng.normal(size=300)})
    pa.parquet.write_table(table, folder / "cars.parquet")
    (folder / "cars.toml").write_text('[[term]]\nkind = "nominal"\ncolumn = "@märke"\n', encoding="utf-8-sig")
    fit = ("fit", "@cars.parquet", "--loss", "squared", "--alpha", "0.01", "--terms", "@cars.toml")
    assert run(folder, *fit, "--model", "@m.skops", "--table", "@t.csv", "--quiet") == 0
    rows = list(csv.DictReader((folder / "t.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["term"], row["level"]) for row in rows] == [("'@märke", name) for name in ("-5", "'=1+2", "Škoda")]


def test_every_class_has_its_objective_gap_and_groups(folder, capsys):
    rng = np.random.default_rng(1)
    region = rng.choice(list("abc"), 300)
    kind = np.where(rng.random(300) < 0.8, np.array(["x", "y", "z"])[np.searchsorted(list("abc"), region)], "x")
    pa.parquet.write_table(pa.table({"region": region, "kind": kind}), folder / "kinds.parquet")
    (folder / "kinds.toml").write_text('[[term]]\nkind = "nominal"\ncolumn = "region"\n')
    fit = ("fit", "@kinds.parquet", "--target", "kind", "--loss", "hinge", "--terms", "@kinds.toml", "--json")
    assert run(folder, *fit, "--alpha", "0.01", "--model", "@m.skops") == 0
    figures, model = json.loads(capsys.readouterr().out), load_model(folder / "m.skops")
    assert figures["objective"] == pytest.approx(model._objectives) and len(figures["objective"]) == 3
    assert figures["relative_gap"] == pytest.approx(model.dual_gap_.tolist())
    assert figures["groups of region"] == [len(set(labels.tolist())) for labels in model.groups_["region"]]
