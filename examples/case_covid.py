"""The reproduction number in Canada: Poisson trend filtering with the past cases as an offset.

New cases of a day are Poisson counts with mean R_t times the weighted cases of the days before, so log R_t is the curve
of a trend filter whose offset is the logarithm of these cases (rtestim's model). The curve is piecewise quadratic in
log R_t. Every tenth day is held out in turn; the strength is chosen on the other days, by holding out every fifth of
them. Daily counts follow the weekday of the report, so weekly sums are filtered as well.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import casebook
import numpy as np
from scipy.interpolate import BSpline

from adasadmm import TrendFilter, TrendFilterCV

HOLD_OUT = 10  # every tenth observation
KNOTS = (10, 20, 40, 80)  # of the regression splines


def deviance(y: np.ndarray, mean: np.ndarray) -> float:
    """The mean unit deviance of Poisson counts."""
    logs = np.where(y > 0.0, y * np.log(np.maximum(y, 1.0) / mean), 0.0)
    return float(2.0 * np.mean(logs - y + mean))


def by_trend(order: int) -> Any:
    def predicted(t: np.ndarray, y: np.ndarray, past: np.ndarray, seen: np.ndarray) -> np.ndarray:
        model = TrendFilterCV(order, alphas=12, eps=1e-5, loss="poisson", cv=5)
        model.fit(t[seen], y[seen], offset=np.log(past[seen]))
        return model.predict(t, offset=np.log(past))

    return predicted


def by_spline(t: np.ndarray, y: np.ndarray, past: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """A cubic regression spline by statsmodels; the number of knots is chosen on every fifth observation."""
    held = seen & (np.cumsum(seen) % 5 == 0)

    def error(knots: int) -> float:
        return deviance(y[held], spline(t, y, past, seen & ~held, knots)[held])

    return spline(t, y, past, seen, min(KNOTS, key=error))


def spline(t: np.ndarray, y: np.ndarray, past: np.ndarray, seen: np.ndarray, knots: int) -> np.ndarray:
    import statsmodels.api as sm

    inner = np.linspace(t[0], t[-1], knots + 2)
    basis = BSpline.design_matrix(t, np.r_[[t[0]] * 3, inner, [t[-1]] * 3], 3).toarray()
    model = sm.GLM(y[seen], basis[seen], family=sm.families.Poisson(), offset=np.log(past[seen])).fit()
    return np.exp(basis @ model.params) * past


def constant(t: np.ndarray, y: np.ndarray, past: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return y[seen].sum() / past[seen].sum() * past


def held_out(predicted: Any, t: np.ndarray, y: np.ndarray, past: np.ndarray) -> float:
    found = np.empty(len(y))
    for fold in range(HOLD_OUT):
        held = np.arange(len(y)) % HOLD_OUT == fold
        found[held] = predicted(t, y, past, ~held)[held]
    return deviance(y, found)


def weekly(days: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of whole weeks: the week as time, cases, and weighted past cases."""
    rows = days.iloc[: len(days) // 7 * 7]
    week = np.arange(len(rows)) // 7
    sums = rows.groupby(week)[["incident_cases", "weighted_past_strict"]].sum()
    sums = sums[sums["weighted_past_strict"] > 0.0]
    return (
        7.0 * sums.index.to_numpy(float) + 3.0,
        sums["incident_cases"].to_numpy(float),
        sums["weighted_past_strict"].to_numpy(float),
    )


def study(case: Any) -> casebook.Outcome:
    days = case.tables["days"]
    kept = days[days["weighted_past_strict"] > 0.0]
    daily = (
        kept.index.to_numpy(float),
        kept["incident_cases"].to_numpy(float),
        kept["weighted_past_strict"].to_numpy(float),
    )
    methods = {
        "trend filter, order 0": by_trend(0),
        "trend filter, order 1": by_trend(1),
        "trend filter, order 2": by_trend(2),
        "regression spline (statsmodels)": by_spline,
        "constant reproduction number": constant,
    }
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in methods.items():
            casebook.progress(name)
            rows.append(
                {
                    "model": name,
                    "held-out deviance, days": casebook.attempted(held_out, method, *daily),
                    "held-out deviance, weeks": casebook.attempted(held_out, method, *weekly(days)),
                }
            )
        by_week = TrendFilterCV(1, alphas=20, eps=1e-5, loss="poisson", rule="1se", tol=1e-6)
        t, y, past = weekly(days)
        by_week.fit(t, y, offset=np.log(past))
        facts = casebook.facts_of(beside_clarabel, days)
    facts |= {
        "order1_days": rows[1]["held-out deviance, days"],
        "order1_weeks": rows[1]["held-out deviance, weeks"],
        "spline_days": rows[3]["held-out deviance, days"],
        "spline_weeks": rows[3]["held-out deviance, weeks"],
        "kinks": len(by_week.change_points_),
        "weeks": len(t),
        "gap": max(float(by_week.dual_gap_), 0.0),
        "largest": float(by_week.predict(t).max()),
    }
    return casebook.Outcome(facts, {"main": rows}, {"": picture(days, by_week)})


def beside_clarabel(days: Any) -> dict[str, float]:
    """rtestim's own problem (order 2, today's cases in the past) at one strength, here and by CVXPY with Clarabel."""
    import cvxpy as cp

    y, past = days["incident_cases"].to_numpy(float), days["weighted_past"].to_numpy(float)
    n, strength = len(y), 1e4
    model = TrendFilter(2, alpha=strength, loss="poisson", tol=1e-8)
    model.fit(np.arange(n), y, offset=np.log(past))
    begin = time.perf_counter()
    model.fit(np.arange(n), y, offset=np.log(past))
    seconds = time.perf_counter() - begin
    theta, unit = cp.Variable(n), 1e4  # in units of 10,000 cases Clarabel reaches its tolerance
    # TrendFilter penalises the changes of the second derivative: third differences of values one day apart.
    loss = (past / unit @ cp.exp(theta) - y / unit @ (theta + np.log(past))) / n
    problem = cp.Problem(cp.Minimize(loss + strength / unit * cp.norm1(cp.diff(theta, k=3))))
    theirs = unit * problem.solve(solver=cp.CLARABEL)
    return {
        "rtestim_objective": float(model.objective_),
        "clarabel_objective": float(theirs),
        "relative_difference": abs(float(model.objective_) / float(theirs) - 1.0),
        "rtestim_gap": float(model.dual_gap_),
        "rtestim_seconds": seconds,
        "clarabel_seconds": float(problem.solver_stats.solve_time),
    }


def picture(days: Any, model: TrendFilterCV) -> Any:
    figure, (top, bottom) = casebook.new_figure(2, 1, size=(9.0, 5.0), sharex=True)
    dates = days["date"].to_numpy()
    top.plot(dates, days["incident_cases"], ".", color="0.6", markersize=2, label="cases of a day")
    top.set(ylabel="new cases", yscale="symlog")
    place = np.arange(model.times_[0], model.times_[-1] + 1)
    bottom.plot(dates[place.astype(int)], model.predict(place), color="C0", linewidth=2)
    kinks = np.asarray(model.change_points_)
    bottom.plot(dates[kinks.astype(int)], model.predict(kinks), "o", color="C1", markersize=4, label="change of slope")
    bottom.axhline(1.0, color="0.4", linewidth=0.6)
    bottom.set(ylabel="reproduction number", ylim=(0.0, 2.5))
    bottom.legend()
    top.legend()
    return figure


if __name__ == "__main__":
    casebook.main("covid", study)
