"""Terms: tables of every library, levels, missing and unknown values, constraints, coefficients, bad input."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from adasadmm import (
    TermsClassifier,
    TermsClassifierCV,
    TermsDisplay,
    TermsRegressor,
    TermsRegressorCV,
    load_model,
    save_model,
    terms,
)

pd = pytest.importorskip("pandas", reason="pandas is not installed")

pytestmark = pytest.mark.compiled  # fits are slow without the compiler


@pytest.fixture(scope="module")
def table():
    """Policies: the rate is doubled below 30 and in region c, and does not depend on anything else."""
    rng = np.random.default_rng(0)
    n = 2000
    columns = {
        "age": rng.integers(18, 80, n),
        "region": rng.choice(list("abcdef"), n),
        "band": pd.Categorical(rng.choice(["low", "middle", "high"], n), ["low", "middle", "high"], ordered=True),
        "mileage": rng.gamma(2.0, 5000.0, n),
        "flag": rng.random(n) < 0.3,
        "east": rng.normal(size=n),
        "north": rng.normal(size=n),
        "years": rng.uniform(0.2, 1.0, n),
    }
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def claims(table):
    rate = np.where(table["age"] < 30, 2.0, 1.0) * np.where(table["region"] == "c", 2.0, 1.0) * table["years"]
    return np.random.default_rng(1).poisson(rate)


TERMS = (
    terms.ordered("age", bins=12),
    terms.nominal("region"),
    terms.ordered("band"),
    terms.linear(["mileage", "flag"]),
)


@pytest.fixture(scope="module")
def model(table, claims):
    return TermsRegressor(list(TERMS), loss="poisson", alpha=0.05).fit(table, claims, offset=np.log(table["years"]))


# --- what a user sees ------------------------------------------------------------------------------------------------


def test_levels_that_do_not_differ_are_fused(model):
    assert model.levels_["band"] == ["low", "middle", "high"]
    groups = model.groups_["region"]
    assert len(set(groups[[0, 1, 3, 4, 5]])) == 1 and groups[2] != groups[0]
    assert model.coef_[model.get_feature_names_out() == "mileage"] == 0.0


def test_the_table_of_coefficients(model, table):
    found = model.coef_table()
    assert not np.signbit(found["coefficient"][found["coefficient"] == 0.0]).any()  # a tariff has no -0
    assert list(found.columns) == ["term", "level", "group", "coefficient", "relativity", "rows", "exposure"]
    region = found[found["term"] == "region"]
    np.testing.assert_array_equal(region["rows"], table["region"].value_counts().sort_index())
    np.testing.assert_allclose(region["exposure"], table.groupby("region")["years"].sum())
    np.testing.assert_allclose(found["relativity"], np.exp(found["coefficient"]))
    one = found[(found["term"] == "region") & (found["level"] == "c")]["relativity"].item()
    assert 1.5 < one < 2.2


def test_predictions_are_those_of_the_table_of_coefficients(model, table):
    """Sum the coefficients of a policy's levels by hand."""
    found = model.coef_table().set_index(["term", "level"])["coefficient"]
    row = table.iloc[[5]]
    band = next(
        level
        for level in model.levels_["age"]
        if row["age"].item() <= float(level.split()[-1].rstrip("]")) or level.startswith(">")
    )
    score = model.intercept_ + found["age", band] + found["region", row["region"].item()]
    score += found["band", row["band"].item()]
    score += (
        found["mileage+flag", "mileage"] * row["mileage"].item() + found["mileage+flag", "flag"] * row["flag"].item()
    )
    assert model.predict(row).item() == pytest.approx(np.exp(score), rel=1e-12)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_give_the_same_model(model, table, claims, library):
    pytest.importorskip(library, reason=f"{library} is not installed")
    if library == "polars":
        import polars as pl

        other = pl.from_pandas(table.assign(band=table["band"].astype(str))).with_columns(
            pl.col("band").cast(pl.Enum(["low", "middle", "high"]))
        )
    else:
        import pyarrow as pa

        other = pa.Table.from_pandas(table)
    same = clone(model).fit(other, claims, offset=np.log(table["years"]))
    np.testing.assert_array_equal(same.coef_, model.coef_)
    np.testing.assert_array_equal(same.predict(other), model.predict(table))
    assert type(same.coef_table()).__module__.split(".")[0] == library


def test_summary_and_html(model):
    assert "region (nominal): 6 levels in 2 groups" in model.summary()
    assert "region (nominal)" in model._repr_html_()


def test_save_load_clone_and_pipeline(model, table, claims, tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.coef_table().equals(model.coef_table())
    steps = make_pipeline(FunctionTransformer(), clone(model)).fit(table, claims)
    assert steps.predict(table).shape == claims.shape


def test_conversion_to_scikit_learn_is_refused(model):
    with pytest.raises(ValueError, match="encodes its table itself"):
        model.to_sklearn()
    assert not hasattr(model, "partial_fit")


def test_parameters_of_terms(model):
    other = clone(model).set_params(age__bins=5, region__min_count=10, alpha=0.5)
    assert (other.terms[0].bins, other.terms[1].min_count, other.alpha) == (5, 10, 0.5)
    assert model.terms[0].bins == 12 and other.get_params()["age__bins"] == 5
    with pytest.raises(ValueError, match="no term 'brand'"):
        other.set_params(brand__base="x")
    with pytest.raises(ValueError, match=r"the term 'age' has no parameter 'nonsense'; its parameters are .*'bins'"):
        other.set_params(age__nonsense=1)
    assert other.terms[0].bins == 5


def test_classes(table):
    labels = np.where(table["region"].isin(["a", "b"]), "near", np.where(table["age"] < 40, "young", "old"))
    model = TermsClassifier(list(TERMS), alpha=1e-3).fit(table, labels)
    assert model.score(table, labels) > 0.95 and model.groups_["region"].shape == (3, 6)
    assert set(model.coef_table()["class"]) == {"near", "old", "young"}
    assert model.predict_proba(table).shape == (len(table), 3)


def test_the_display_has_a_panel_for_each_term(model, table, claims):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    shown = TermsDisplay.from_estimator(model)
    assert [ax.get_title() for ax in shown.axes_] == ["age", "region", "band", "mileage+flag"]
    place = terms.spatial("region", coordinates=("east", "north"))
    given = [place, terms.ordered("band"), terms.interaction("region", "band")]
    other = TermsRegressor(given, alpha=0.01).fit(table, claims)
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    for polygons in (None, {level: square + k for k, level in enumerate("abcdef")}):
        shown = TermsDisplay.from_estimator(other, terms=["region", "region:band"], polygons=polygons)
        assert len(shown.axes_) == 2 and len(shown.axes_[0].collections) == 1
    with pytest.raises(ValueError, match="'regions', which is not a term"):
        TermsDisplay.from_estimator(other, terms=["regions"])


def test_the_strength_is_chosen_on_folds(table, claims):
    """The search encodes the table once; scores and predictions are those of the plain model."""
    given, offset = list(TERMS), np.log(table["years"].to_numpy())
    fold = [(np.arange(0, 1500), np.arange(1500, 2000))]
    model = TermsRegressorCV(given, loss="poisson", alphas=[0.3, 0.05, 0.01], cv=fold, weights="standard", tol=1e-6)
    model.fit(table, claims, offset=offset)
    settings = {"loss": "poisson", "alpha": model.alpha_, "weights": "standard", "tol": 1e-6}
    plain = TermsRegressor(given, **settings).fit(table, claims, offset=offset)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.coef_path_[0, list(model.alphas_).index(model.alpha_)], model.coef_)
    np.testing.assert_allclose(model.predict(table), plain.predict(table), rtol=1e-2)
    train, test = fold[0]
    fits = TermsRegressor(given, **settings).fit(table.iloc[train], claims[train], offset=offset[train])
    score = fits.score(table.iloc[test], claims[test], offset=offset[test])
    assert model.cv_scores_.max() == pytest.approx(score, abs=2e-3)  # bands are those of all rows
    assert model.df_ <= plain.coef_.size + 1 and np.isfinite(model.bic_)


def test_classes_by_an_information_criterion(table):
    late = (table["age"] < 40) ^ (np.random.default_rng(3).random(len(table)) < 0.1)
    model = TermsClassifierCV([terms.ordered("age"), terms.nominal("region")], alphas=8, selection="bic")
    model.fit(table, late)
    assert len(set(model.groups_["region"])) == 1 and 2 <= len(set(model.groups_["age"])) <= 4
    assert (model.predict(table) == (table["age"] < 40)).mean() > 0.95


# --- the mathematics -------------------------------------------------------------------------------------------------


def test_numbers_do_not_depend_on_their_units(table, claims):
    given = [terms.linear(["mileage", "east"]), terms.linear("north", penalty="l2")]
    one = TermsRegressor(given, alpha=0.01, tol=1e-9).fit(table, claims)
    scaled = table.assign(mileage=table["mileage"] / 1000.0 + 7.0)
    other = TermsRegressor(given, alpha=0.01, tol=1e-9).fit(scaled, claims)
    np.testing.assert_allclose(other.coef_, one.coef_ * [1000.0, 1.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(other.predict(scaled), one.predict(table), rtol=1e-6)


def test_a_weight_is_a_repetition(table, claims):
    times = np.random.default_rng(2).integers(1, 4, len(table))
    settings = {"loss": "poisson", "alpha": 0.02, "weights": "standard", "tol": 1e-9}
    weighted = TermsRegressor(list(TERMS[1:]), **settings).fit(table, claims, sample_weight=times)
    repeated = TermsRegressor(list(TERMS[1:]), **settings).fit(
        table.loc[table.index.repeat(times)], claims.repeat(times)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
def test_monotone(table, claims, direction):
    term = terms.ordered("age", bins=12, monotone=direction, base="> 74")
    with pytest.raises(ValueError, match="not a level"):
        TermsRegressor([term]).fit(table, claims)
    model = TermsRegressor([terms.ordered("age", monotone=direction)], alpha=0.01).fit(table, claims)
    steps = np.diff(model.coef_table()["coefficient"])
    assert (steps >= 0.0).all() if direction == "increasing" else (steps <= 0.0).all()
    assert steps.any() == (direction == "decreasing")


def test_cyclic_joins_the_last_level_to_the_first():
    rng = np.random.default_rng(0)
    hours = np.arange(24).repeat(40)
    y = np.where((hours >= 22) | (hours <= 3), 1.0, 0.0) + 0.1 * rng.normal(size=len(hours))
    model = TermsRegressor([terms.ordered("hour", cyclic=True)], alpha=0.05).fit(pd.DataFrame({"hour": hours}), y)
    groups = model.groups_["hour"]
    assert groups[23] == groups[0] and len(set(groups)) == 2


def test_an_interaction_is_zero_at_the_base_levels(table, claims):
    y = 1.0 * ((table["region"] == "c") & (table["band"] == "high"))
    given = [terms.nominal("region"), terms.ordered("band"), terms.interaction("region", "band")]
    model = TermsRegressor(given, alpha=1e-3, tol=1e-8).fit(table, y)
    cells = model.coef_table().query("term == 'region:band'").set_index("level")["coefficient"]
    assert cells["a:high"] == cells["c:low"] == 0.0 and cells["c:high"] > 0.8


def test_places_are_fused_along_coordinates():
    rng = np.random.default_rng(0)
    places = pd.DataFrame({"place": np.arange(40), "x": rng.random(40), "y": rng.random(40)})
    rows = places.loc[places.index.repeat(30)]
    target = (rows["x"] > 0.5) + 0.3 * rng.normal(size=len(rows))
    term = terms.spatial("place", coordinates=("x", "y"), unknown="nearest")
    model = TermsRegressor([term], alpha=0.02).fit(rows, target)
    assert len(set(model.groups_["place"])) < 10
    new = pd.DataFrame({"place": [99], "x": [places["x"][3]], "y": [places["y"][3]]})
    known = pd.DataFrame({"place": [3], "x": [0.0], "y": [0.0]})
    assert model.predict(new) == model.predict(known)


def test_a_group_is_dropped_as_a_whole(table, claims):
    model = TermsRegressor([terms.group(["east", "north"]), terms.linear("years")], alpha=0.05).fit(table, claims)
    assert (model.coef_[:2] == 0.0).all() and model.coef_[2] != 0.0


# --- missing values, rare and unknown levels -------------------------------------------------------------------------


def test_missing_values_are_a_level(table, claims):
    lost = table.assign(region=table["region"].where(table["region"] != "c"))
    model = TermsRegressor([terms.nominal("region", missing="level")], alpha=0.01).fit(lost, claims)
    found = model.coef_table().set_index("level")["coefficient"]
    assert found["(missing)"] > 0.2
    with pytest.raises(ValueError, match=r"region.*missing values.*missing=\"level\""):
        TermsRegressor([terms.nominal("region")]).fit(lost, claims)


def test_missing_numbers_get_an_indicator_and_the_mean(table, claims):
    lost = table.assign(mileage=table["mileage"].where(claims == 0), east=table["east"].where(table["east"] < 2.0))
    model = TermsRegressor([terms.linear("mileage", missing="indicator")], alpha=0.01).fit(lost, claims)
    assert model.get_feature_names_out().tolist() == ["mileage", "mileage=(missing)"] and model.coef_[1] > 0.5
    ignoring = TermsRegressor([terms.linear("east", missing="ignore")], alpha=0.01).fit(lost, claims)
    assert ignoring.get_feature_names_out().tolist() == ["east"]
    with pytest.raises(ValueError, match=r"'east' has .* missing values, the first in row"):
        TermsRegressor([terms.linear("east")]).fit(lost, claims)


def test_unknown_levels(table, claims):
    new = table.iloc[:1].assign(region="z", age=200)
    fitted = {}
    for unknown in ("error", "base", "ignore"):
        fitted[unknown] = TermsRegressor([terms.nominal("region", unknown=unknown)], alpha=1e-3).fit(table, claims)
    with pytest.raises(ValueError, match="levels that the model does not know: 'z'"):
        fitted["error"].predict(new)
    assert fitted["base"].predict(new) == fitted["base"].intercept_
    mean = fitted["ignore"].predict(table).mean()
    assert fitted["ignore"].predict(new).item() == pytest.approx(mean, rel=1e-12)
    nearest = TermsRegressor([terms.ordered("age", unknown="nearest")], alpha=1e-3).fit(table, claims)
    assert nearest.predict(new) == nearest.predict(new.assign(age=table["age"].max()))


def test_rare_levels_are_gathered(table, claims):
    region = table["region"].where(np.arange(len(table)) > 8, [f"rare {k}" for k in range(len(table))])
    model = TermsRegressor([terms.nominal("region", min_count=5)], alpha=1e-3).fit(table.assign(region=region), claims)
    assert model.levels_["region"] == [*"abcdef", "(other)"]
    new = table.iloc[:1].assign(region="never seen")
    assert model.predict(new) == model.predict(new.assign(region="rare 3"))


def test_a_place_without_rows_has_the_value_of_its_neighbours():
    rows = pd.DataFrame({"place": ["a", "b"] * 50, "y": [0.0, 1.0] * 50})
    term = terms.spatial("place", edges=[("a", "b"), ("b", "c"), ("c", "d")])
    model = TermsRegressor([term], alpha=1e-3, tol=1e-9).fit(rows, rows["y"])
    found = model.coef_table().set_index("level")
    assert (
        found["rows"]["c"] == 0 and found["coefficient"]["d"] == found["coefficient"]["c"] == found["coefficient"]["b"]
    )


def test_edges_from_a_file(tmp_path):
    (tmp_path / "borders.csv").write_text("one,other\n1,2\n2,3\n")
    rows = pd.DataFrame({"zip": [1, 2, 3] * 30, "y": [0.0, 0.0, 1.0] * 30})
    model = TermsRegressor([terms.spatial("zip", edges=tmp_path / "borders.csv")], alpha=0.01).fit(rows, rows["y"])
    assert model.groups_["zip"].tolist() == [0, 0, 1]


@pytest.mark.parametrize("levels", [["01", "02", "1_000"], ["1", "01", "nan"], ["é", "ü", "1e3"]], ids=str)
def test_text_in_a_file_of_edges_stays_text_if_the_column_holds_text(levels, tmp_path):
    first, second, third = levels
    (tmp_path / "borders.csv").write_text(f"one,other\n{first},{second}\n{second}, {third}\n", encoding="utf-8-sig")
    rows = pd.DataFrame({"zip": levels * 30, "y": [0.0, 0.0, 1.0] * 30})
    model = TermsRegressor([terms.spatial("zip", edges=tmp_path / "borders.csv")], alpha=0.01).fit(rows, rows["y"])
    group = dict(zip(model.levels_["zip"], model.groups_["zip"], strict=True))
    assert set(group) == set(levels) and group[first] == group[second] != group[third]


def test_a_file_of_edges_is_read_once_per_fit_and_as_utf_8(tmp_path, monkeypatch):
    path, opened = tmp_path / "borders.csv", []
    path.write_text("one,other\nNîmes,Orléans\n", encoding="utf-8")
    rows = pd.DataFrame({"town": ["Nîmes", "Orléans"] * 30, "y": [0.0, 1.0] * 30})

    def spy(file, *arguments, **settings):
        if str(file) == str(path):
            opened.append(settings["encoding"])
        return open(file, *arguments, **settings)

    monkeypatch.setattr("adasadmm.terms.factor_terms.open", spy, raising=False)
    TermsRegressor([terms.spatial("town", edges=path)], alpha=0.01).fit(rows, rows["y"])
    assert opened == ["utf-8-sig"]
    path.write_bytes(b"one,other\nN\xeemes,Orl\xe9ans\n")
    with pytest.raises(ValueError, match=r"borders\.csv' is not CSV in UTF-8"):
        TermsRegressor([terms.spatial("town", edges=path)]).fit(rows, rows["y"])


# --- bad input -------------------------------------------------------------------------------------------------------


def fits(term, table, claims, **settings):
    return TermsRegressor([term] if not isinstance(term, list) else term, **settings).fit(table, claims)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (terms.ordered("agee"), "'agee', which is not a column of X: .* Did you mean 'age'"),
        (terms.linear("region"), "needs numbers, but column 'region' has the type String"),
        (terms.spatial("region", edges="absent.csv"), "absent.csv' cannot be read"),
        (terms.spatial("region", edges=[(1, 2)]), "none of the levels that the edges name, such as 1"),
        (terms.nominal("region", base="z"), "base of .* names 'z', which is not a level"),
        (terms.nominal("region", weights=[("a", "b", 1.0)]), "lacks the edge between 'a' and 'c'"),
        (terms.ordered("band", levels=["low", "high"]), "levels lacks 'middle'"),
        (terms.nominal("region", unknown="nearest"), "needs levels that are numbers, got 'a'"),
        (terms.interaction("age", "region"), "names 'age', which is not a factor of the model"),
        ([terms.ordered("age"), terms.nominal("age")], "two terms have the name 'age'"),
        ([], "at least one term"),
        (["age"], "must be a list of terms such as"),
    ],
    ids=str,
)
def test_wrong_terms_are_an_error_before_any_work(table, claims, term, message):
    with pytest.raises(ValueError, match=message):
        fits(term, table, claims)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: terms.ordered("age", monotone="up"), "monotone of terms.ordered must be one of"),
        (lambda: terms.ordered("age", bins=[3, 2]), "increasing order"),
        (lambda: terms.ordered("age", bins=1), "integer >= 2"),
        (lambda: terms.ordered("age", cyclic=True, monotone="increasing"), "both cyclic and monotone"),
        (lambda: terms.spatial("zip"), "needs either edges between levels or coordinates"),
        (lambda: terms.linear([]), "needs the name of a column"),
        (lambda: terms.linear(["a", "a"]), "names a column twice"),
        (lambda: terms.nominal("a", weights=[("x", "y", -1.0)]), "finite numbers >= 0"),
        (lambda: terms.nominal("a", missing="drop"), "missing of terms.nominal must be one of"),
    ],
    ids=range(9),
)
def test_wrong_settings_of_a_term(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_table_must_be_a_frame(claims):
    with pytest.raises(TypeError, match=r"data frame of pandas, polars or Arrow.*got ndarray"):
        fits(terms.linear("a"), np.zeros((len(claims), 2)), claims)


def test_a_factor_with_one_level(table, claims):
    with pytest.raises(ValueError, match="one level only, 'a': leave the term out"):
        fits(terms.nominal("region"), table.assign(region="a"), claims)
    with pytest.raises(ValueError, match=r"terms.nominal\('region'\): column 'region' has no values"):
        fits(terms.nominal("region", missing="ignore"), table.assign(region=[None] * len(table)), claims)


def test_a_place_without_coordinates(table, claims):
    lost = table.assign(east=table["east"].where(table["region"] != "b"))
    with pytest.raises(ValueError, match="levels 'b' have no row with both coordinates"):
        fits(terms.spatial("region", coordinates=("east", "north")), lost, claims)
    with pytest.raises(ValueError, match="'west', which is not a column"):
        fits(terms.spatial("region", coordinates=("west", "north")), table, claims)
    some = table.assign(east=table["east"].where(np.arange(len(table)) % 2 == 0))
    assert fits(terms.spatial("region", coordinates=("east", "north")), some, claims).dual_gap_ <= 1e-3


def test_levels_that_no_edge_names_stay_alone(table, claims):
    with pytest.warns(UserWarning, match="do not name the levels 'e', 'f'"):
        model = fits(terms.spatial("region", edges=[("a", "b"), ("b", "c"), ("c", "d")]), table, claims, alpha=10.0)
    assert len(set(model.groups_["region"])) == 3


def test_more_levels_than_rows(claims):
    few = pd.DataFrame({"id": [f"id {k}" for k in range(30)], "place": np.arange(30)})
    model = fits(terms.nominal("id"), few, claims[:30], alpha=10.0, weights="standard")
    assert len(set(model.groups_["id"])) == 1
    edges = [(k, k + 1) for k in range(59)]
    assert len(fits(terms.spatial("place", edges=edges), few, claims[:30], alpha=0.1).levels_["place"]) == 60
    many = pd.DataFrame({"id": np.arange(2000)})
    with pytest.raises(ValueError, match=r"2,000 levels, which make 1,999,000 pairs: gather rare levels by min_count"):
        fits(terms.nominal("id"), many, claims)


def test_a_level_without_exposure_or_weight(table, claims):
    exposure = table["years"].where(table["region"] != "b", 0.0)
    with pytest.raises(ValueError, match=r"offset.*leave out rows without exposure"), np.errstate(divide="ignore"):
        TermsRegressor([TERMS[1]], loss="poisson").fit(table, claims, offset=np.log(exposure))
    model = TermsRegressor([TERMS[1]], loss="poisson", alpha=0.01, weights="standard")
    model.fit(table, claims, sample_weight=exposure)
    found = model.coef_table().set_index("level")
    assert model.dual_gap_ <= 1e-3 and found["exposure"]["b"] == 0.0 and np.isfinite(found["coefficient"]["b"])


@pytest.mark.parametrize(
    "term",
    [
        terms.ordered("age", bins=(10.0, 20.0), monotone="increasing"),
        terms.nominal("brand", base="b", name="make"),
        terms.linear(("x", "y"), penalty="l2"),
        terms.spatial("place", edges=(("a", "b"),)),
        terms.interaction("age", "brand", strength=2.0),
        terms.group(("x", "y")),
    ],
    ids=lambda term: type(term).__name__,
)
def test_the_text_of_a_term_is_its_call_without_defaults(term):
    again = eval(f"terms.{term}")
    assert vars(again) == vars(term) and "None" not in repr(term) and "error" not in repr(term)
