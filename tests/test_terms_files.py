"""Terms of tables in files: the model is that of the data frame, whether the rows are loaded or streamed."""

import numpy as np
import pytest

pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pandas as pd

from adasadmm import ALM, TermsClassifier, TermsRegressor, TermsRegressorCV, sources, terms
from adasadmm.terms.design import Design
from adasadmm.terms.factor import noise_of_edges

TERMS = [
    terms.ordered("age", bins=6),
    terms.nominal("brand", min_count=20),
    terms.spatial("town", coordinates=("x", "y"), neighbours=2),
    terms.linear(["mileage"], missing="indicator"),
    terms.interaction("age", "brand"),
]
SETTINGS = {"loss": "poisson", "alpha": 0.01, "tol": 1e-8}


@pytest.fixture(scope="module")
def policies():
    rng, n = np.random.default_rng(3), 900
    town = rng.integers(12, size=n)
    table = pd.DataFrame({"age": rng.integers(18, 80, n), "brand": rng.choice(list("aaabbcd"), n), "town": town})
    table["x"], table["y"] = town % 4 + 0.0, town // 4 + 0.0
    table["mileage"] = np.where(rng.random(n) < 0.1, np.nan, rng.gamma(2.0, size=n))
    table["years"], table["weight"] = rng.uniform(0.2, 1.0, n), rng.integers(1, 4, n)
    table["claims"] = rng.poisson(np.exp(0.5 * (table["age"] < 30) + 0.3 * (town < 4)) * table["years"])
    return table


@pytest.fixture(scope="module", params=["parquet", "csv"])
def rows(policies, tmp_path_factory, request):
    path = tmp_path_factory.mktemp("files") / f"policies.{request.param}"
    if request.param == "csv":
        policies.to_csv(path, index=False)
    else:
        policies.to_parquet(path, row_group_size=250)
    return sources.tables(path, target="claims", exposure="years", weight="weight", block_rows=100)


def fitted(policies, **settings):
    model = TermsRegressor(TERMS, **SETTINGS, **settings)
    weight, offset = policies["weight"], np.log(policies["years"])
    return model.fit(policies, policies["claims"], sample_weight=weight, offset=offset)


def test_loaded_rows_give_the_model_of_the_frame(policies, rows):
    frame, files = fitted(policies), TermsRegressor(TERMS, **SETTINGS).fit(rows)
    assert files.levels_ == frame.levels_
    np.testing.assert_allclose(files.coef_, frame.coef_, atol=1e-9)
    np.testing.assert_allclose(files.coef_table()["exposure"].to_numpy(), frame.coef_table()["exposure"])
    np.testing.assert_allclose(files.predict(policies), frame.predict(policies))


def test_streamed_rows_give_the_model_of_the_frame(policies, rows):
    files = TermsRegressor(TERMS, solver=ALM(), **SETTINGS).fit(rows)
    assert files._place[0] == "stream"
    np.testing.assert_allclose(files.coef_, fitted(policies, solver=ALM()).coef_, atol=1e-6)


@pytest.mark.parametrize(("listed", "passes"), [(TERMS[3:4], 2), (TERMS[:1], 3)], ids=["numbers", "a factor"])
def test_how_often_files_are_read(rows, listed, passes, monkeypatch):
    """Once for values and moments, once for counts of levels if there are any, and once to encode the rows."""
    seen, read = [], type(rows).read
    monkeypatch.setattr(type(rows), "read", lambda *given: seen.append(given[1]) or read(*given))
    TermsRegressor(listed, **SETTINGS).fit(rows)
    assert len(seen) == passes * len(rows)


def test_a_search_loads_the_rows(rows):
    assert TermsRegressorCV(TERMS[:2], loss="poisson", alphas=[0.1, 0.01], cv=2).fit(rows).alpha_ in (0.1, 0.01)


def test_labels_as_text(policies, tmp_path):
    policies.assign(label=np.where(policies["claims"] > 0, "yes", "no")).to_csv(tmp_path / "t.csv", index=False)
    model = TermsClassifier(TERMS[:2], alpha=0.01).fit(sources.tables(tmp_path / "t.csv", target="label"))
    assert model.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_an_empty_text_is_missing(policies, tmp_path, kind):
    path, some = tmp_path / f"brands.{kind}", policies[["brand", "mileage", "claims"]].copy()
    some.loc[::5, "brand"] = None
    some.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    rows = sources.tables(path, target="claims")
    with pytest.raises(ValueError, match="column 'brand' has 180 missing values"):
        TermsRegressor([terms.nominal("brand")], alpha=0.01).fit(rows)
    model = TermsRegressor([terms.nominal("brand", missing="level")], alpha=0.01).fit(rows)
    assert model.levels_ == {"brand": ["a", "b", "c", "d", "(missing)"]}


def test_adaptive_weights_need_loaded_rows(policies, rows):
    model = TermsRegressor(TERMS[:2], loss="poisson", weights="adaptive", solver="ada-diag")
    with pytest.raises(ValueError, match='weights="adaptive" needs all rows in memory'):
        model.fit(rows)


def test_adaptive_weights_need_one_prediction(policies):
    model = TermsClassifier(TERMS[:1], loss="logistic", weights="adaptive")
    with pytest.raises(ValueError, match='weights="adaptive" needs a loss of one prediction, got Multinomial'):
        model.fit(policies, policies["claims"].clip(upper=2))


@pytest.mark.parametrize("kind", ["frame", "parquet", "csv"])
def test_whole_numbers_that_floats_round_are_no_levels(tmp_path, kind):
    table = pd.DataFrame({"id": 2**60 + np.arange(40) % 3, "y": np.arange(40.0)})
    table.to_parquet(tmp_path / "ids.parquet")
    table.to_csv(tmp_path / "ids.csv", index=False)
    given = (table, table["y"]) if kind == "frame" else (sources.tables(tmp_path / f"ids.{kind}", target="y"),)
    with pytest.raises(ValueError, match=r"'id'.* 1152921504606846976.* convert the column to text"):
        TermsRegressor([terms.nominal("id")]).fit(*given)


def test_what_files_cannot_be(policies, rows, tmp_path):
    with pytest.raises(ValueError, match=r"names 'agge', which is not a column of X: .* Did you mean 'age'"):
        TermsRegressor([terms.ordered("agge")]).fit(rows)
    with pytest.raises(ValueError, match="must be None if X is Tables"):
        TermsRegressor(TERMS).fit(rows, policies["claims"])
    with pytest.raises(ValueError, match="y must be given if X is a data frame"):
        TermsRegressor(TERMS).fit(policies)
    with pytest.raises(sources.SourceError, match=r"\.csv, \.tsv, \.parquet or \.arrow"):
        (tmp_path / "rows.txt").write_text("1 1:2\n")
        sources.tables(tmp_path / "rows.txt")
    bad = policies.assign(years=np.where(np.arange(len(policies)) == 7, 0.0, policies["years"]))
    bad.to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(sources.SourceError, match=r"bad\.parquet.*without exposure"):
        TermsRegressor(TERMS[:2], loss="poisson").fit(
            sources.tables(tmp_path / "bad.parquet", target="claims", exposure="years")
        )


def test_standard_weight_of_a_chain_and_of_a_flag():
    share = np.array([0.5, 0.2, 0.2, 0.1])
    before = np.cumsum(share)[:-1]
    chain = np.column_stack([np.arange(3), np.arange(1, 4)])
    np.testing.assert_allclose(noise_of_edges(chain, share), np.sqrt(np.mean(before * (1.0 - before))))
    np.testing.assert_allclose(noise_of_edges(np.array([[0, 1]]), np.array([0.3, 0.7])), np.sqrt(0.21))


def test_standard_weight_of_many_levels_is_estimated():
    n = 3000
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    np.testing.assert_allclose(noise_of_edges(chain, np.full(n, 1.0 / n)), np.sqrt(1.0 / 6.0), rtol=0.1)


# --- predictions -----------------------------------------------------------------------------------------------------


def test_predictions_of_files_are_those_of_the_frame(policies, rows):
    model, offset = fitted(policies), np.log(policies["years"])
    np.testing.assert_allclose(model.predict(rows), model.predict(policies, offset=offset), rtol=1e-12)
    expected = model.score(policies, policies["claims"], sample_weight=policies["weight"], offset=offset)
    assert model.score(rows) == pytest.approx(expected, rel=1e-12)


def test_classes_of_files_are_those_of_the_frame(policies, tmp_path):
    labels = np.array(["none", "one", "some"])[np.minimum(policies["claims"], 2)]
    policies.assign(label=labels).to_parquet(tmp_path / "t.parquet", row_group_size=200)
    rows = sources.tables(tmp_path / "t.parquet", target="label", block_rows=90)
    model = TermsClassifier(TERMS[:4], alpha=0.01).fit(policies, labels)
    np.testing.assert_array_equal(model.predict(rows), model.predict(policies))
    np.testing.assert_allclose(model.predict_proba(rows), model.predict_proba(policies), rtol=1e-12)
    assert model.score(rows) == model.score(policies, labels)


def test_files_are_predicted_block_by_block(policies, rows, monkeypatch):
    seen, encode = [], Design.encode
    monkeypatch.setattr(Design, "encode", lambda *given, **how: seen.append(encode(*given, **how)) or seen[-1])
    model = TermsRegressor(TERMS[:2], **SETTINGS).fit(policies, policies["claims"])
    seen.clear()
    assert len(model.predict(rows)) == sum(part.shape[0] for part in seen) == len(policies)
    assert max(part.shape[0] for part in seen) <= 100


def test_what_files_cannot_be_predicted(policies, rows, tmp_path):
    model = fitted(policies)
    with pytest.raises(ValueError, match=r"offset must be None, because .* has its own"):
        model.predict(rows, offset=np.zeros(len(policies)))
    policies.drop(columns="brand").to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="brand"):
        model.predict(sources.tables(tmp_path / "t.parquet"))
    with pytest.raises(sources.SourceError, match="has no targets to score against"):
        policies.to_parquet(tmp_path / "all.parquet")
        model.score(sources.tables(tmp_path / "all.parquet", target=False))
