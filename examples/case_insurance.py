"""Belgian motor insurance: a tariff with fused bands and postcodes, beside hand-made bins, ridge and boosting.

Claim frequencies of 163,212 policies on the six folds of Henckaerts et al. (2021), by benchmarks/insurance.py: five
folds train, the strength is chosen by one of them, the sixth is the test fold. The tariff of the picture is fitted to
all policies.
"""

from __future__ import annotations

from typing import Any

import casebook
import numpy as np

from adasadmm import TermsRegressor, terms

# Holvoet, Antonio and Henckaerts (arXiv:2310.12671), test fold 1: a neural network on top of boosted trees, and a GLM
# of 51 coefficients whose bins follow the network.
PUBLISHED = {"cann_fold1": 0.5283687, "binned_glm_fold1": 0.530775}
SHOWN = 8e-4  # the strength of the tariff in the picture: about the one that was chosen on each of the six folds


def tariff(policies: Any) -> TermsRegressor:
    listed = [
        *(terms.ordered(name) for name in ("ageph", "bm", "power", "agec")),
        terms.ordered("coverage", levels=["TPL", "TPL+", "TPL++"]),
        terms.spatial("postcode", coordinates=("east", "lat")),
        *(terms.nominal(name) for name in ("sex", "fuel", "use", "fleet")),
    ]
    model = TermsRegressor(listed, loss="poisson", alpha=SHOWN, tol=1e-4)
    return model.fit(policies, policies["nclaims"], offset=np.log(policies["expo"]))


def mean_of(rows: list[dict[str, Any]], name: str) -> float:
    """The mean deviance of the first model whose name begins so."""
    return next(row["mean"] for row in rows if row["model"].startswith(name))


def study(case: Any) -> casebook.Outcome:
    import insurance

    (rows,) = casebook.rows_of(insurance.text())
    policies = case.tables["policies"]
    policies = policies.assign(east=policies["long"] * np.cos(np.radians(50.5)))
    model = tariff(policies)
    places = policies.groupby("postcode")[["east", "lat"]].first()
    facts = {
        "mean": mean_of(rows, "terms"),
        "fold1": rows[0]["fold 1"],
        "ridge": mean_of(rows, "ridge"),
        "boosting_here": mean_of(rows, "HistGradientBoosting"),
        "hand_bins": mean_of(rows, "GLM, hand bins"),
        "boosting": mean_of(rows, "gradient boosting"),
        **PUBLISHED,
        "gap": float(model.dual_gap_),
        **{f"groups_{name}": len(np.unique(model.groups_[name])) for name in model.levels_},
        **{f"levels_{name}": len(levels) for name, levels in model.levels_.items()},
    }
    return casebook.Outcome(facts, {"main": rows}, {"": picture(model), "map": draw_map(model, places)})


def picture(model: TermsRegressor) -> Any:
    figure, axes = casebook.new_figure(2, 2, size=(9.5, 5.4))
    names = {"ageph": "age of the driver", "bm": "bonus-malus class", "power": "power, kW", "agec": "age of the car"}
    table = model.coef_table()
    for ax, (term, title) in zip(axes.ravel(), names.items(), strict=True):
        rows = table[table["term"] == term]
        weight = rows["exposure"].to_numpy(float)
        values = rows["coefficient"].to_numpy(float)
        ax.step(rows["level"].astype(float), np.exp(values - np.average(values, weights=weight)), where="mid", lw=2)
        ax.axhline(1.0, color="0.5", linewidth=0.6)
        count = len(np.unique(model.groups_[term]))
        ax.set_title(f"{title}: {len(rows)} levels, {count} groups")
    figure.supylabel("relativity")
    return figure


def draw_map(model: TermsRegressor, places: Any) -> Any:
    figure, ax = casebook.new_figure(size=(7.5, 5.0))
    rows = model.coef_table()
    rows = rows[rows["term"] == "postcode"]
    values = rows["coefficient"] - np.average(rows["coefficient"], weights=rows["exposure"])
    at = places.loc[[int(level) for level in rows["level"]]]
    drawn = ax.scatter(at["east"], at["lat"], c=np.exp(values), s=26, cmap="RdYlBu_r", norm="log", linewidths=0)
    ax.set(aspect="equal", title=f"postcodes: {len(rows)}, in {len(np.unique(model.groups_['postcode']))} groups")
    ax.set_axis_off()
    ticks = [0.7, 0.8, 1.0, 1.25, 1.5]
    bar = figure.colorbar(drawn, ax=ax, shrink=0.8, label="relativity", ticks=ticks)
    bar.ax.set_yticklabels([f"{tick:g}" for tick in ticks])
    bar.ax.minorticks_off()
    return figure


if __name__ == "__main__":
    casebook.main("insurance", study)
