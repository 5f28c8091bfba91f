"""The paper's figure: curves of objective, test error and seconds by epoch, means over seeds; one row per data set."""

from __future__ import annotations

import io
import pathlib
from typing import Any, NamedTuple

import numpy as np

from ..._core.files import write_whole
from .compare import optimum
from .study import Study

__all__ = ["DARK", "LIGHT", "MEASURES", "STYLE", "Curve", "curves", "horizon", "save", "write_figure"]

MEASURES = ("objective", "test_error", "seconds")

# Distinguishable with colour blindness (after Okabe and Ito); the same order of hues in both colour schemes.
LIGHT = ("#d55e00", "#0072b2", "#009e73", "#b0579a", "#6b7280", "#b8860b", "#4b3fa8", "#2b9cc4", "#7a1f3d", "#5f7a12")
DARK = ("#ff8a3d", "#4aa8ff", "#2fd0a0", "#e08fca", "#a3abb8", "#e6b422", "#9b8cff", "#6fd3f2", "#ff9fb8", "#b5d35a")

TITLES = {"objective": "objective", "test_error": "test error", "seconds": "seconds"}
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.edgecolor": "0.6",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": "0.3",
    "ytick.color": "0.3",
    "svg.hashsalt": "adasadmm",  # otherwise identifiers in the file differ from run to run
}
DASHES = ("--", "-.", (0, (1, 1)))
OPTIMUM: dict[str, Any] = {"color": "0.1", "linewidth": 0.8}


# --- curves ----------------------------------------------------------------------------------------------------------


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


# --- the figure ------------------------------------------------------------------------------------------------------


def write_figure(study: Study, folder: str | pathlib.Path) -> None:
    """Write ``figure.svg`` and ``figure.png`` into a folder."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError('the figure needs matplotlib: pip install "adasadmm[report]"') from None
    with matplotlib.rc_context(STYLE):
        save(_draw(study), pathlib.Path(folder), "figure")


def save(figure: Any, folder: pathlib.Path, name: str) -> list[pathlib.Path]:
    """Write a figure as .svg and .png; each file is replaced only when it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"svg": {"metadata": {"Date": None}}, "png": {"dpi": 150}}
    for kind, chosen in options.items():
        drawing = io.BytesIO()
        figure.savefig(drawing, format=kind, **chosen)
        write_whole(folder / f"{name}.{kind}", drawing.getvalue())
    return [folder / f"{name}.{kind}" for kind in options]


def _draw(study: Study) -> Any:
    from matplotlib.figure import Figure  # not pyplot, which would change the user's current figure

    datasets = study.datasets
    figure = Figure(figsize=(10.5, 0.6 + 2.1 * max(1, len(datasets))), layout="constrained")
    if not datasets:
        figure.text(0.5, 0.5, "no run has finished", ha="center", va="center")
        return figure
    axes = figure.subplots(len(datasets), len(MEASURES), squeeze=False)
    for dataset, row in zip(datasets, axes, strict=True):
        drawn = curves(study, dataset)
        for ax, measure in zip(row, MEASURES, strict=True):
            _panel(ax, study, drawn, measure)
        _mark_optimum(row[0], optimum(study, dataset))
        row[0].set_ylabel(dataset, fontsize=11, fontweight="bold", labelpad=8, parse_math=False)
    for ax, measure in zip(axes[0], MEASURES, strict=True):
        ax.set_title(TITLES[measure], loc="left")
    for ax in axes[-1]:
        ax.set_xlabel("epoch")
    _legend(figure, study)
    return figure


def _panel(ax: Any, study: Study, drawn: dict[str, Curve], measure: str) -> None:
    end = horizon(study, drawn)
    for name, curve in drawn.items():
        shown = curve.epoch <= end * (1 + 1e-9)
        epoch, mean = curve.epoch[shown], curve.mean[measure][shown]
        line = ax.plot(epoch, mean, **_line(study, name))[0]
        low, high = curve.low[measure][shown], curve.high[measure][shown]
        ax.fill_between(epoch, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    if measure == "objective" and _spans_a_decade(ax):
        ax.set_yscale("log")
    if end > 0:
        ax.set_xlim(0, end)
    ax.grid(axis="y", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


def _line(study: Study, name: str) -> dict[str, Any]:
    """Return the line style of an algorithm: solid for the paper's, dashed for the others."""
    colour = LIGHT[list(study.algorithms).index(name) % len(LIGHT)]
    if name in study.papers:
        return {"color": colour, "linewidth": 1.8}
    return {"color": colour, "linewidth": 1.3, "linestyle": DASHES[study.extras.index(name) % len(DASHES)]}


def _spans_a_decade(ax: Any) -> bool:
    values = np.concatenate([line.get_ydata() for line in ax.get_lines()] or [np.empty(0)])
    values = values[np.isfinite(values)]
    return len(values) > 0 and values.min() > 0 and values.max() > 10 * values.min()


def _mark_optimum(ax: Any, least: float | None) -> None:
    if least is not None:
        ax.axhline(least, zorder=1, **OPTIMUM)


def _legend(figure: Any, study: Study) -> None:
    from matplotlib.lines import Line2D

    used = [name for name in study.algorithms if any(record["algorithm"] == name for record in study.records)]
    handles = [Line2D([], [], **_line(study, name)) for name in used] + [Line2D([], [], **OPTIMUM)]
    labels = [study.algorithms[name] for name in used] + ["optimum"]
    columns = max(1, min(len(labels), 120 // (8 + max(len(label) for label in labels))))  # about 120 characters fit
    figure.set_figheight(figure.get_figheight() + 0.2 * (len(labels) // columns))  # room for each additional line
    legend = figure.legend(handles, labels, frameon=False, loc="outside upper center", ncols=columns)
    for text in legend.get_texts():
        text.set_parse_math(False)
