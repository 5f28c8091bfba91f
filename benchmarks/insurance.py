"""Belgian motor insurance: claim frequencies by terms, on the six published folds, beside ridge and boosting.

The model is the natural one with all defaults: a term for each column, no strengths, no bands. For each test fold,
``alpha`` is chosen by the fold after it, which belongs to the training rows, along a path of 30 strengths. The default
weights themselves were chosen among eight kinds on the Munich rents, on King County's houses and on a quarter of the
rows of folds 3 to 6, drawn at random; no test fold was used as such. A second line has strengths of the terms that were
found by some sixty trials which looked at folds 1 and 2. The data are those of
the case study "insurance".
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import page
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from adasadmm import TermsRegressor, TermsRegressorCV, terms

FOLDS = range(1, 7)
STRENGTHS, LEAST = 30, 3e-3  # of the path, whose last alpha is this part of the first
TUNED_ALPHAS, TUNED_PLACES = (2.2e-4, 1.4e-4), (0.1, 0.2)
NAMES = {
    "terms": "terms, defaults",
    "tuned": "terms, strengths by trials on folds 1 and 2",
    "ridge": "ridge, one-hot (glum)",
    "boosting": "HistGradientBoosting, here",
}
RIDGES = (1e-4, 3e-4, 1e-3)
NUMBERS, FLAGS = ("ageph", "bm", "power", "agec"), ("coverage", "sex", "fuel", "use", "fleet")
PUBLISHED = {
    "constant rate (baseline of the case)": (0.55066, 0.54984, 0.55225, 0.55068, 0.54914, 0.55161),
    "GLM, hand bins and district, 156 columns (baseline of the case)": (
        0.53056,
        0.53232,
        0.53223,
        0.53262,
        0.52915,
        0.53014,
    ),
    "gradient boosting, hardly tuned (baseline of the case)": (0.52998, 0.53239, 0.53147, 0.53040, 0.52928, 0.53019),
}


class Outcome(NamedTuple):
    """The deviance of a test fold, the seconds of the last fit and of a path, and the strengths that were chosen."""

    deviance: float
    seconds: float
    chosen: str
    path: float | None = None


def deviance(rows: Any, predicted: np.ndarray) -> float:
    """The mean unit deviance of Poisson counts."""
    y = rows["nclaims"].to_numpy(float)
    logs = np.where(y > 0.0, y * np.log(np.maximum(y, 1.0) / predicted), 0.0)
    return float(2.0 * np.mean(logs - (y - predicted)))


# --- terms -----------------------------------------------------------------------------------------------------------


def listed_terms(tuned: float | None = None) -> list:
    """Ordered columns, postcodes by their neighbours, and flags; every level of every column.

    ``tuned`` is the strength of the postcodes where those of all terms were found by trials.
    """
    strength = {"power": 3.0, "coverage": 0.5, "postcode": tuned} | dict.fromkeys(FLAGS, 0.5) if tuned else {}
    near: dict[str, Any] = {"unknown": "nearest"}
    places = {"coordinates": ("east", "lat"), "neighbours": 4 if tuned else 5}

    def own(name: str) -> dict[str, Any]:
        return {"strength": strength.get(name, 1.0)}

    return [
        *(terms.ordered(name, **near, **own(name)) for name in NUMBERS),
        terms.ordered("coverage", levels=["TPL", "TPL+", "TPL++"], **own("coverage")),
        terms.spatial("postcode", **places, **near, **own("postcode")),
        *(terms.nominal(name, **own(name)) for name in FLAGS[1:]),
    ]


def fitted(model: Any, rows: Any) -> Any:
    return model.fit(rows, rows["nclaims"], offset=np.log(rows["expo"]))


def scored(model: Any, rows: Any) -> float:
    return deviance(rows, model.predict(rows, offset=np.log(rows["expo"])))


def by_terms(train: Any, inner: int, test: Any) -> Outcome:
    """The defaults: a path on the training rows without the inner fold, and one on all of them."""
    held = (train["fold"] == inner).to_numpy()
    split = [(np.flatnonzero(~held), np.flatnonzero(held))]
    search = TermsRegressorCV(listed_terms(), loss="poisson", alphas=STRENGTHS, eps=LEAST, cv=split, tol=1e-4)
    begin = time.perf_counter()
    fitted(search, train)
    path = (time.perf_counter() - begin) / 2.0
    begin = time.perf_counter()
    single = fitted(TermsRegressor(listed_terms(), loss="poisson", alpha=search.alpha_, tol=1e-4), train)
    seconds = time.perf_counter() - begin
    assert max(single.dual_gap_, *search.dual_gap_path_) <= 1e-4
    return Outcome(scored(single, test), seconds, f"alpha {search.alpha_:.1e}", path)


def by_tuned_terms(train: Any, inner: int, test: Any) -> Outcome:
    """Strengths of the terms found by trials; ``alpha`` and that of the postcodes out of two values each."""
    held = (train["fold"] == inner).to_numpy()

    def made(alpha: float, places: float, tol: float) -> TermsRegressor:
        return TermsRegressor(listed_terms(places), loss="poisson", alpha=alpha, weights=None, tol=tol)

    pairs = list(itertools.product(TUNED_ALPHAS, TUNED_PLACES))
    best = min(pairs, key=lambda pair: scored(fitted(made(*pair, 1e-3), train[~held]), train[held]))
    begin = time.perf_counter()
    single = fitted(made(*best, 1e-4), train)
    seconds = time.perf_counter() - begin
    return Outcome(scored(single, test), seconds, f"alpha {best[0]:.1e}, postcodes {best[1]:g}")


# --- others ----------------------------------------------------------------------------------------------------------


def by_glum(train: Any, inner: int, test: Any) -> Outcome:
    """Ridge on the same one-hot columns; the strength is chosen by the same inner fold."""
    from glum import GeneralizedLinearRegressor

    columns = [*NUMBERS, *FLAGS, "postcode"]
    encoder = OneHotEncoder(handle_unknown="ignore").fit(train[columns])
    X, held = encoder.transform(train[columns]), (train["fold"] == inner).to_numpy()

    def ridge(alpha: float, chosen: np.ndarray) -> Any:
        rate = (train["nclaims"] / train["expo"]).to_numpy()[chosen]
        made = GeneralizedLinearRegressor(family="poisson", alpha=alpha, l1_ratio=0.0)
        return made.fit(X[chosen], rate, sample_weight=train["expo"].to_numpy()[chosen])

    def of_ridge(model: Any, rows: Any, encoded: Any) -> float:
        return deviance(rows, model.predict(encoded) * rows["expo"].to_numpy())

    best = min(RIDGES, key=lambda alpha: of_ridge(ridge(alpha, ~held), train[held], X[held]))
    begin = time.perf_counter()
    found = ridge(best, np.ones(len(train), dtype=bool))
    seconds = time.perf_counter() - begin
    return Outcome(of_ridge(found, test, encoder.transform(test[columns])), seconds, f"alpha {best:.0e}")


def by_boosting(train: Any, inner: int, test: Any) -> Outcome:
    """HistGradientBoosting with coordinates in place of postcodes, and early stopping."""
    columns = [*NUMBERS, "long", "lat"]
    encoder = make_column_transformer((OrdinalEncoder(), list(FLAGS)), ("passthrough", columns)).fit(train)
    made = HistGradientBoostingRegressor(
        loss="poisson", learning_rate=0.05, max_iter=500, early_stopping=True, random_state=0
    )
    begin = time.perf_counter()
    made.fit(encoder.transform(train), train["nclaims"] / train["expo"], sample_weight=train["expo"])
    seconds = time.perf_counter() - begin
    predicted = made.predict(encoder.transform(test)) * test["expo"].to_numpy()
    return Outcome(deviance(test, predicted), seconds, f"{made.n_iter_} trees")


# --- the table -------------------------------------------------------------------------------------------------------


def text() -> str:
    policies = page.case("insurance").tables["policies"]
    degree = np.cos(np.radians(50.5))  # of longitude in Belgium, in degrees of latitude
    policies = policies.assign(east=policies["long"] * degree)
    methods = {"terms": by_terms, "tuned": by_tuned_terms, "ridge": by_glum, "boosting": by_boosting}
    methods = {name: methods[name] for name in page.named() or methods}
    fitted(TermsRegressor(listed_terms(), loss="poisson", alpha=1e-3), policies.iloc[:20_000])  # compile
    head = ["model", *(f"fold {fold}" for fold in FOLDS), "mean", "seconds of a fit", f"of a path of {STRENGTHS}"]
    lines, notes = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in methods.items():
            outcomes = page.attempted(_of_folds, name, method, policies)
            if outcomes == page.NOT_INSTALLED:
                lines.append([NAMES[name], *[page.NOT_INSTALLED] * (len(head) - 1)])
                continue
            lines.append(_line(NAMES[name], outcomes))
            notes.append(f"{NAMES[name]}: " + "; ".join(one.chosen for one in outcomes) + ".")
    lines += [_line(name, [Outcome(value, np.nan, "") for value in values]) for name, values in PUBLISHED.items()]
    return f"{page.table(head, lines)}\n\nChosen for each fold. " + " ".join(notes)


def _of_folds(name: str, method: Any, policies: Any) -> list[Outcome]:
    outcomes = []
    for fold in FOLDS:
        is_test = policies["fold"] == fold
        outcomes.append(method(policies[~is_test], fold % 6 + 1, policies[is_test]))
        print(f"{name}, fold {fold}: {outcomes[-1]}", file=sys.stderr, flush=True)
    return outcomes


def _line(name: str, outcomes: list[Outcome]) -> list[str]:
    values = [one.deviance for one in outcomes]
    seconds = np.median([[one.seconds, np.nan if one.path is None else one.path] for one in outcomes], axis=0)
    shown = [f"{value:.5f}" for value in [*values, float(np.mean(values))]]
    return [name, *shown, *("" if np.isnan(value) else f"{value:.1f}" for value in seconds)]


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
