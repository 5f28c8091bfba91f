"""Rents in Munich: the published clusters and coefficients, from the stored weights of the penalty."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from adasadmm import StructuredRegressor, TermsRegressor, datasets, terms

pd = pytest.importorskip("pandas", reason="pandas is not installed")
casedata = pytest.importorskip("casedata", reason="installed without the repository")

try:
    FOLDER, ABSENT = casedata._folder(), ""
except datasets.DatasetError as error:
    FOLDER, ABSENT = None, str(error)

pytestmark = pytest.mark.skipif(FOLDER is None, reason=ABSENT or "the cases are here")

STRENGTH = 0.01404071
FACTORS = {"area": "area", "year": "year_decade", "rooms": "rooms", "quality": "quality", "size": "size_class"}
SELECTED = ("warm", "central", "tiles", "bathextra", "kitchen")


@pytest.fixture(scope="module")
def rent():
    return casedata.fetch_case("rent").tables


@pytest.fixture(scope="module")
def design(rent):
    """Dummies of all levels but the first of each factor, then both standardised dummies of the binary columns."""
    rows, weights = rent["flats"], rent["weights"]
    columns = {}
    for factor, column in FACTORS.items():
        of_factor = weights[weights["predictor"] == factor]
        levels = list(dict.fromkeys([*of_factor["level_a"].astype(str), *of_factor["level_b"].astype(str)]))
        if factor == "area":
            levels = sorted(levels, key=int)
        for level in levels[1:]:
            columns[factor, level] = (rows[column].astype(str) == level).to_numpy(float)
    for name in SELECTED:
        # 1 means that warm water, central heating and tiles are missing, but that bathroom and kitchen are there.
        has = rows[name].to_numpy(float) == (1.0 if name in ("bathextra", "kitchen") else 0.0)
        for level in weights["level_a"][weights["predictor"] == name]:
            columns[name, level] = has.astype(float) if level.endswith("yes") else 1.0 - has
    table = pd.DataFrame(columns)
    centre, scale = np.zeros(len(columns)), np.ones(len(columns))
    lasso = np.array([name in SELECTED for name, _ in columns])
    centre[lasso], scale[lasso] = table.loc[:, lasso].mean(), table.loc[:, lasso].std()
    return table, centre, scale


@pytest.fixture(scope="module")
def model(rent, design):
    table, centre, scale = design
    place, weights = {key: j for j, key in enumerate(table.columns)}, rent["weights"]
    A = sp.lil_array((len(weights), table.shape[1]))
    for k, (factor, one, other) in enumerate(
        weights[["predictor", "level_a", "level_b"]].astype(str).itertuples(index=False)
    ):
        for level, sign in ((one, 1.0), (other, -1.0)):
            if (factor, level) in place:  # the first level of a factor has no column: its coefficient is 0
                A[k, place[factor, level]] = sign
    found = StructuredRegressor(
        sp.csr_array(A), alpha=STRENGTH, weights=weights["weight"].to_numpy(), l2=0.0, tol=1e-10, refit="clusters"
    )
    rows = (table.to_numpy() - centre) / scale, rent["flats"]["rentm"]
    found.fit(*rows)
    found.rows = rows
    return found


def unscaled(design, coef, intercept):
    _, centre, scale = design
    return np.append(intercept - (centre / scale) @ coef, coef / scale)


def published(rent, design, column):
    answer = rent["answer"].set_index("term")[column]
    names = ["".join(key) if key[0] in FACTORS else key[1] for key in design[0].columns]
    return answer[["Intercept", *names]].to_numpy(float)


def test_coefficients_and_clusters_of_the_optimum(rent, design, model):
    optimum = published(rent, design, "optimum_with_stored_weights")
    found = unscaled(design, model.coef_penalized_, model.intercept_penalized_)
    np.testing.assert_allclose(found, optimum, rtol=0.0, atol=1e-4)
    assert model.dual_gap_ <= 1e-10
    again = published(rent, design, "re_estimated")[1:]
    factors = np.array([factor for factor, _ in design[0].columns])
    for factor in np.unique(factors):
        theirs, ours = again[factors == factor], model.coef_penalized_[factors == factor]
        np.testing.assert_array_equal(ours == 0.0, theirs == 0.0)
        np.testing.assert_array_equal(ours[:, None] == ours, theirs[:, None] == theirs)


def test_information_criteria(model):
    """smurf prints 29 degrees of freedom, and AIC 8645.579 and 8610.012 for both estimates."""
    assert model.df_ == 29.0
    assert model.aic_ == pytest.approx(8610.012, abs=1e-3)
    penalised = clone(model).set_params(refit="none").fit(*model.rows)
    assert penalised.df_ == 29.0
    # The stored weights are not quite those of smurf: its deviance is 7872.631, that of the optimum 7872.740.
    assert penalised.aic_ == pytest.approx(8645.579 + 2053 * np.log(7872.740 / 7872.631), abs=2e-3)
    assert penalised.bic_ - penalised.aic_ == pytest.approx((np.log(2053) - 2.0) * 30.0)


def test_coefficients_estimated_again(rent, design, model):
    found = unscaled(design, model.coef_, model.intercept_)
    np.testing.assert_allclose(found, published(rent, design, "re_estimated"), rtol=0.0, atol=5e-6)
    rest = rent["flats"]["rentm"] - design[0].to_numpy() @ found[1:] - found[0]
    assert rest @ rest == pytest.approx(7737.418230, abs=1e-6)


# --- the same model by terms -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_terms(rent):
    flats, weights = rent["flats"].copy(), dict(list(rent["weights"].groupby("predictor")))
    for name in SELECTED:
        has = flats[name] == (1 if name in ("bathextra", "kitchen") else 0)
        flats[f"{name}yes"], flats[f"{name}no"] = has, ~has
    listed = [
        terms.nominal("area", weights=weights["area"]),
        terms.ordered("year_decade", weights=weights["year"], name="year"),
        terms.ordered("rooms", weights=weights["rooms"]),
        terms.ordered("quality", levels=["fair", "good", "excellent"], weights=weights["quality"]),
        terms.ordered("size_class", weights=weights["size"], name="size"),
        *(terms.linear([f"{name}yes", f"{name}no"], weights=weights[name]) for name in SELECTED),
    ]
    return TermsRegressor(listed, alpha=STRENGTH, tol=1e-10, refit="clusters").fit(flats, flats["rentm"])


def test_terms_find_the_same_optimum_and_clusters(rent, by_terms):
    answer = rent["answer"].set_index("term")
    names = ["Intercept", *(name.replace("=", "") for name in by_terms.get_feature_names_out())]
    optimum = answer["optimum_with_stored_weights"][names].to_numpy(float)
    again = answer["re_estimated"][names].to_numpy(float)
    penalised = np.append(by_terms.intercept_penalized_, by_terms.coef_penalized_)
    np.testing.assert_allclose(penalised, optimum, rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(np.append(by_terms.intercept_, by_terms.coef_), again, rtol=0.0, atol=5e-6)
    places = dict(zip(names[1:], again[1:], strict=True))
    for term, levels in by_terms.levels_.items():
        theirs = np.array([places.get(f"{term}{level}", 0.0) for level in levels])
        groups = by_terms.groups_[term]
        np.testing.assert_array_equal(groups[:, None] == groups, theirs[:, None] == theirs)
    assert by_terms.dual_gap_ <= 1e-10
