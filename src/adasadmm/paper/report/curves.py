"""Curves over seeds and the colours of the algorithms, shared by the figure and the page."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .study import Study

__all__ = ["DARK", "LIGHT", "MEASURES", "Curve", "curves", "horizon"]

MEASURES = ("objective", "test_error", "seconds")

# Distinguishable with colour blindness (after Okabe and Ito); the same order of hues in both colour schemes.
LIGHT = ("#d55e00", "#0072b2", "#009e73", "#b0579a", "#6b7280", "#b8860b", "#4b3fa8", "#2b9cc4", "#7a1f3d", "#5f7a12")
DARK = ("#ff8a3d", "#4aa8ff", "#2fd0a0", "#e08fca", "#a3abb8", "#e6b422", "#9b8cff", "#6fd3f2", "#ff9fb8", "#b5d35a")


class Curve(NamedTuple):
    """The mean over seeds by epoch, with a band of one standard deviation."""

    epoch: np.ndarray
    mean: dict[str, np.ndarray]
    low: dict[str, np.ndarray]
    high: dict[str, np.ndarray]


def curves(study: Study, dataset: str) -> dict[str, Curve]:
    """Return the curve of each algorithm that was run on a data set."""
    found = {}
    for name in study.algorithms:
        traces = [run["trace"] for run in study.cell(dataset, name) if len(run["trace"]["epoch"])]
        if traces:
            found[name] = _curve(traces)
    return found


def horizon(study: Study, drawn: dict[str, Curve]) -> float:
    """Return the last epoch to show: that of the paper's algorithms, since batch ADMM may run for hundreds."""
    papers = [curve for name, curve in drawn.items() if name in study.papers]
    return max((float(curve.epoch[-1]) for curve in papers or drawn.values()), default=0.0)


def _curve(traces: list[dict[str, Any]]) -> Curve:
    """Average runs on the epochs of the longest one; a shorter run keeps its last figure."""
    epoch = np.asarray(max(traces, key=lambda trace: trace["epoch"][-1])["epoch"], float)
    curve = Curve(epoch, {}, {}, {})
    for name in MEASURES:
        runs = np.array([np.interp(epoch, trace["epoch"], np.asarray(trace[name], float)) for trace in traces])
        with np.errstate(invalid="ignore", over="ignore"):  # a run that diverged
            mean = runs.mean(axis=0)
            sd = runs.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(len(epoch))
            curve.mean[name], curve.high[name] = mean, mean + sd
            # Not below the lowest run: mean minus deviation may be negative, which a log axis cannot show.
            curve.low[name] = np.maximum(mean - sd, runs.min(axis=0))
    return curve
