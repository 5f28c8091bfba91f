"""Our figures beside the paper's, and a summary of the claims, as shown in the table and on the page."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .study import Study

__all__ = ["DASH", "Compared", "Row", "conclusion", "optimum", "rows", "spell"]

DASH = "—"
WHERE = {"holds": "on all of them", "partly": "on some", "fails": "on none"}


class Compared(NamedTuple):
    """One figure of a cell, ours and the paper's; None if it is not known."""

    name: str
    ours: float | None
    ours_sd: float | None
    paper: float | None
    paper_sd: float | None

    @property
    def ours_text(self) -> str:
        return spell(self.name, self.ours, self.ours_sd)

    @property
    def paper_text(self) -> str:
        return spell(self.name, self.paper, self.paper_sd)

    @property
    def difference(self) -> float | None:
        """Return the relative difference of objectives, the absolute one of test errors, the ratio of seconds."""
        if self.ours is None or self.paper is None or not math.isfinite(self.ours):
            return None
        if self.name == "test_error":
            return self.ours - self.paper
        if self.paper == 0.0:
            return None
        ratio = self.ours / self.paper
        return ratio if self.name == "seconds" else ratio - 1.0

    @property
    def difference_text(self) -> str:
        change = self.difference
        if change is None:
            return DASH
        if self.name == "seconds":
            return _spell_ratio(change)
        return f"{change:+.4f}" if self.name == "test_error" else f"{100 * change:+,.1f} %"


class Row(NamedTuple):
    """An algorithm on a data set."""

    dataset: str
    algorithm: str
    label: str
    figures: list[Compared]


def rows(study: Study, dataset: str, algorithms: list[str] | tuple[str, ...]) -> list[Row]:
    """Return the rows of a data set, for the algorithms with figures of ours or of the paper."""
    return [
        Row(dataset, name, study.algorithms[name] + _chosen(study, dataset, name), _figures(study, dataset, name))
        for name in study.algorithms
        if name in algorithms and (study.cell(dataset, name) or name in study.known.get(dataset, {}))
    ]


def _chosen(study: Study, dataset: str, algorithm: str) -> str:
    """Return the step size that was chosen for a data set, if it was tuned."""
    etas = {run.get("eta") for run in study.cell(dataset, algorithm)}
    return "".join(f", eta = {eta:g}" for eta in etas if isinstance(eta, float))


def optimum(study: Study, dataset: str) -> float | None:
    """Return the optimal objective: the mean over the seeds of a data set for which it is known."""
    found = {
        record["seed"]: record["optimum"]
        for record in study.records
        if record["dataset"] == dataset and record.get("optimum") is not None
    }
    return float(np.mean(list(found.values()))) if found else None


def conclusion(study: Study) -> str:
    """Summarise the claims in one sentence."""
    states = [claim.state for claim in study.claims if claim.state != "open"]
    if not states:
        return "No claim could be checked."
    places = len({dataset for claim in study.claims for dataset in claim.holds})
    counts = [(states.count(state), where) for state, where in WHERE.items() if state in states]
    (first, where), *others = counts
    counted = [f"{first} {'holds' if first == 1 else 'hold'} {where}", *(f"{count} {where}" for count, where in others)]
    checked = f"{len(states)} claim{'s' * (len(states) > 1)} checked on {places} data set{'s' * (places > 1)}"
    return f"{checked}: {', '.join(counted)}."


def spell(name: str, mean: float | None, sd: float | None = None) -> str:
    """Format a figure as the paper does: four decimals, or three digits for seconds, with its deviation if known."""
    if mean is None:
        return DASH
    if not math.isfinite(mean):
        return "diverged"
    if name == "seconds":
        return f"{mean:,.0f}" if mean >= 100 else f"{mean:.3g}"
    return _decimals(mean) if sd is None or math.isnan(sd) else f"{_decimals(mean)} ± {_decimals(sd)}"


def _decimals(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:,.0f}"


def _spell_ratio(ratio: float) -> str:
    """Describe the ratio of our seconds to the paper's."""
    if ratio <= 0.0:
        return DASH
    times, word = (1 / ratio, "faster") if ratio < 1.0 else (ratio, "slower")
    return f"{times:,.0f}x {word}" if times >= 10 else f"{times:.1f}x {word}"


def _figures(study: Study, dataset: str, algorithm: str) -> list[Compared]:
    runs = study.cell(dataset, algorithm)
    known = study.known.get(dataset, {}).get(algorithm)
    figures = []
    for name in ("objective", "test_error", "seconds"):
        mean, sd = _mean_and_deviation([run[name] for run in runs])
        paper, paper_sd = getattr(known, name, None), getattr(known, f"{name}_sd", None)
        figures.append(Compared(name, mean, sd, paper, paper_sd))
    return figures


def _mean_and_deviation(values: list[float]) -> tuple[float | None, float | None]:
    """Return the mean and the standard deviation over seeds; a single seed has no deviation."""
    if not values:
        return None, None
    with np.errstate(invalid="ignore", over="ignore"):  # a run that diverged has no finite figure
        return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None
