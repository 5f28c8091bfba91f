"""House prices in King County: a zip code with few sales, and a price map.

Two tasks, by benchmarks/housing.py. First that of glum's tutorial on regularisation: the prices of zip code 98022 from
all others and from its 15 dearest houses, where the strength is chosen by leaving out other zip codes in the same way.
Then log prices in five folds, with zip codes that are fused along their borders and a map of bands of latitude and
longitude; the strength is chosen on a fifth of the training rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import casebook
import numpy as np

from adasadmm import TermsRegressor, terms

PUBLISHED = {"glum_without_graph": 72.6562, "glum_best": 19.5111}  # the strength was read off the test rows
SHOWN = 1e-4  # the strength of the map in the picture


def price_map(case: Any) -> tuple[TermsRegressor, Any]:
    """A model of the log price: numbers, zip codes along their borders, and the place of each zip code."""
    sales, edges = case.tables["sales"], case.tables["zip_edges"]
    borders = edges[edges["gabriel"] == 1][["zip_a", "zip_b"]].astype(int)
    listed = [
        terms.spatial("zipcode", edges=borders),
        terms.ordered("grade", unknown="nearest"),
        terms.ordered("yr_built", bins=30),
        terms.linear(["log_living", "log_lot", "bathrooms", "view", "waterfront", "condition"], penalty="none"),
    ]
    sales = sales.assign(log_living=np.log(sales["sqft_living"]), log_lot=np.log(sales["sqft_lot"]))
    model = TermsRegressor(listed, alpha=SHOWN, weights=None, tol=1e-5).fit(sales, np.log(sales["price"]))
    return model, sales.groupby("zipcode")[["long", "lat"]].median()


def study(case: Any) -> casebook.Outcome:
    import housing

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        casebook.progress("one zip code from the others")
        (left_out,) = casebook.rows_of(housing.tutorial_task(case))
        casebook.progress("log prices in five folds")
        (prices,) = casebook.rows_of(housing.log_prices(case))
        model, places = price_map(case)
    (column,) = [head for head in left_out[0] if head.startswith("RMSPE of")]
    errors = [row["RMSE of log price, 5 folds"] for row in prices]
    facts = {
        **{f"rmspe{kind}": row[column] for kind, row in zip(("", "_squared", "_glum"), left_out, strict=True)},
        **PUBLISHED,
        "rmse": min(row["RMSE of log price, 5 folds"] for row in prices if row["model"].startswith("terms")),
        "rmse_ridge": errors[-2],
        "rmse_boosting": errors[-1],
        "groups": len(np.unique(model.groups_["zipcode"])),
        "zip_codes": len(model.levels_["zipcode"]),
        "gap": float(model.dual_gap_),
    }
    return casebook.Outcome(facts, {"main": prices, "left_out": left_out}, {"": picture(model, places)})


def picture(model: TermsRegressor, places: Any) -> Any:
    figure, (left, right) = casebook.new_figure(1, 2, size=(9.5, 4.4), width_ratios=[1.3, 1.0])
    table = model.coef_table()
    zips = table[table["term"] == "zipcode"]
    values = np.exp(zips["coefficient"] - zips["coefficient"].mean())
    at = places.loc[[int(level) for level in zips["level"]]]
    drawn = left.scatter(at["long"], at["lat"], c=values, s=110, cmap="viridis", norm="log", edgecolor="0.3", lw=0.4)
    left.set(title="price of the same house, by zip code", aspect=1.0 / np.cos(np.radians(47.5)))
    left.set_axis_off()
    figure.colorbar(drawn, ax=left, shrink=0.8, format="%.1f", label="relative to the mean", ticks=[0.7, 1.0, 1.5, 2.0])
    grades = table[table["term"] == "grade"]
    right.step(grades["level"].astype(int), np.exp(grades["coefficient"]), where="mid", color="C0", linewidth=2)
    right.set(title="by grade of the building", xlabel="grade", ylabel="price relative to the lowest")
    return figure


if __name__ == "__main__":
    casebook.main("housing", study)
