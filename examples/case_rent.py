"""Rents in Munich: the published clusters and coefficients of the R package smurf, found again.

The model of smurf's vignette: the rent per square metre of 2,053 flats by area (any two of 25 areas may be fused),
year, rooms, quality and size (neighbouring levels may be fused) and five selected properties. The penalty weights are
those of smurf, which are stored with the data. Ten-fold cross-validation then compares the prediction error
with ridge and least squares; there the strength is chosen on the training rows, and the weights are computed from them.
"""

from __future__ import annotations

import warnings
from typing import Any

import casebook
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from adasadmm import TermsRegressor, TermsRegressorCV, terms

STRENGTH = 0.01404071  # smurf's choice in the vignette
PUBLISHED = {"deviance": 7872.631, "deviance_refitted": 7737.418, "aic": 8645.579, "aic_refitted": 8610.012}
FACTORS = ["area", "year_decade", "rooms", "quality", "size_class"]
SELECTED = ("warm", "central", "tiles", "bathextra", "kitchen")
QUALITIES = ["fair", "good", "excellent"]


def with_dummies(flats: Any) -> Any:
    """Both dummies of the binary columns; 1 means that warm water, central heating and tiles are missing."""
    found = flats.copy()
    for name in SELECTED:
        has = found[name] == (1 if name in ("bathextra", "kitchen") else 0)
        found[f"{name}yes"], found[f"{name}no"] = has, ~has
    return found


def published_model(flats: Any, weights: Any) -> TermsRegressor:
    given = dict(list(weights.groupby("predictor")))
    listed = [
        terms.nominal("area", weights=given["area"]),
        terms.ordered("year_decade", weights=given["year"], name="year"),
        terms.ordered("rooms", weights=given["rooms"]),
        terms.ordered("quality", levels=QUALITIES, weights=given["quality"]),
        terms.ordered("size_class", weights=given["size"], name="size"),
        *(terms.linear([f"{name}yes", f"{name}no"], weights=given[name]) for name in SELECTED),
    ]
    return TermsRegressor(listed, alpha=STRENGTH, tol=1e-10, refit="clusters").fit(flats, flats["rentm"])


def same_clusters(model: TermsRegressor, answer: Any) -> int:
    """In how many of the five factors are exactly the same levels equal?"""
    published, count = answer["re_estimated"], 0
    for term, levels in model.levels_.items():
        theirs = np.array([published.get(f"{term}{level}", 0.0) for level in levels])
        groups = model.groups_[term]
        count += np.array_equal(groups[:, None] == groups, theirs[:, None] == theirs)
    return count


# --- prediction ------------------------------------------------------------------------------------------------------


def by_terms() -> Any:
    listed = [
        terms.nominal("area", unknown="base"),
        *(terms.ordered(name, unknown="nearest") for name in ("year_decade", "rooms", "size_class")),
        terms.ordered("quality", levels=QUALITIES),
        terms.linear(list(SELECTED)),
    ]
    return TermsRegressorCV(listed, alphas=12, eps=0.003, cv=5)


def encoded(model: Any) -> Any:
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), FACTORS), ("passthrough", list(SELECTED))
    )
    return make_pipeline(columns, model)


def cross_validated(flats: Any) -> list[dict[str, Any]]:
    models = {
        "fused levels (`TermsRegressorCV`)": by_terms,
        "ridge, one-hot": lambda: encoded(RidgeCV(np.geomspace(0.1, 100.0, 13))),
        "least squares, one-hot": lambda: encoded(LinearRegression()),
    }
    errors: dict[str, list[float]] = {name: [] for name in models}
    for fold, (train, test) in enumerate(KFold(10, shuffle=True, random_state=0).split(flats)):
        casebook.progress(f"fold {fold + 1} of 10")
        for name, make in models.items():
            found = make().fit(flats.iloc[train], flats["rentm"].iloc[train]).predict(flats.iloc[test])
            errors[name].append(float(np.mean((found - flats["rentm"].iloc[test]) ** 2)))
    first = errors["fused levels (`TermsRegressorCV`)"]
    return [
        {
            "model": name,
            "mean squared error, 10 folds": np.mean(values),
            "folds in which fused levels are better": int(np.sum(np.array(first) < values))
            if values != first
            else None,
        }
        for name, values in errors.items()
    ]


def study(case: Any) -> casebook.Outcome:
    flats, answer = with_dummies(case.tables["flats"]), case.tables["answer"].set_index("term")
    model = published_model(flats, case.tables["weights"])
    names = ["Intercept", *(name.replace("=", "") for name in model.get_feature_names_out())]
    refitted = np.append(model.intercept_, model.coef_) - answer["re_estimated"][names]
    penalised = np.append(model.intercept_penalized_, model.coef_penalized_)
    rest = flats["rentm"] - model.predict(flats)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = cross_validated(flats)
    facts = {
        "same_clusters": same_clusters(model, answer),
        "factors": len(model.levels_),
        "levels": sum(len(levels) for levels in model.levels_.values()),
        "groups": sum(len(np.unique(groups)) for groups in model.groups_.values()),
        "largest_difference_refitted": float(np.abs(refitted).max()),
        "largest_difference_penalised": float(np.abs(penalised - answer["estimated"][names]).max()),
        "largest_difference_optimum": float(np.abs(penalised - answer["optimum_with_stored_weights"][names]).max()),
        "deviance_refitted": float(rest @ rest),
        "published_deviance_refitted": PUBLISHED["deviance_refitted"],
        "aic_refitted": float(model.aic_),
        "published_aic_refitted": PUBLISHED["aic_refitted"],
        "df": round(model.df_),
        "gap": float(model.dual_gap_),
        "error": rows[0]["mean squared error, 10 folds"],
        "ridge_error": rows[1]["mean squared error, 10 folds"],
    }
    comparison = [
        {"figure": "residual deviance after refitting", "here": facts["deviance_refitted"], "smurf": 7737.418},
        {"figure": "AIC after refitting", "here": facts["aic_refitted"], "smurf": PUBLISHED["aic_refitted"]},
        {"figure": "degrees of freedom", "here": facts["df"], "smurf": 29},
        {"figure": "factors with the same clusters, of 5", "here": facts["same_clusters"], "smurf": None},
    ]
    return casebook.Outcome(facts, {"published": comparison, "main": rows}, {"": picture(model, answer)})


def picture(model: TermsRegressor, answer: Any) -> Any:
    """Our coefficients as steps, smurf's as points."""
    figure, axes = casebook.new_figure(1, 3, size=(10.5, 3.4), sharey=True)
    for ax, term in zip(axes, ("area", "year", "size"), strict=True):
        levels, table = model.levels_[term], model.coef_table()
        ours = table[table["term"] == term]["coefficient"].to_numpy(float)
        theirs = np.array([answer["re_estimated"].get(f"{term}{level}", 0.0) for level in levels])
        order = np.argsort(ours, kind="stable") if term == "area" else np.arange(len(ours))
        ax.step(range(len(ours)), ours[order], where="mid", color="C0", linewidth=2, label="adasadmm")
        ax.plot(range(len(ours)), theirs[order], "o", color="C1", markersize=4, label="smurf, published")
        ax.set_xticks(range(len(ours)), [str(levels[k]) for k in order], rotation=90, fontsize=7)
        ax.set_title({"area": "area, sorted", "year": "decade", "size": "size, square metres"}[term])
    axes[0].set_ylabel("euro per square metre")
    axes[-1].legend(loc="upper right")
    return figure


if __name__ == "__main__":
    casebook.main("rent", study)
