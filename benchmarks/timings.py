"""The figure of the benchmark: suboptimality against time, one panel per data set, one line per solver."""

from __future__ import annotations

import pathlib
from typing import Any, NamedTuple

from adasadmm.paper.report.figure import LIGHT, STYLE, save

ACCURACIES = (1e-2, 1e-3, 1e-4)  # relative suboptimality
LEAST, MOST = 0.05 * ACCURACIES[-1], 10.0  # limits of the axis
PANELS_A_ROW, LEGEND_COLUMNS = 2, {1: 2, 2: 5}
PEER_MARKS = ("o", "s", "^", "D")


class Timing(NamedTuple):
    """The accuracy of a solver on a data set over time. ``kind`` is "auto", "ours" or "peer"."""

    dataset: str
    solver: str
    kind: str
    seconds: list[float]
    above: list[float]

    def seconds_to(self, accuracy: float) -> float | None:
        """Return the shortest time to an accuracy, or None if it was not reached."""
        times = [seconds for seconds, above in zip(self.seconds, self.above, strict=True) if above <= accuracy]
        return min(times, default=None)


def write_timings(timings: list[Timing], folder: str | pathlib.Path) -> list[pathlib.Path]:
    """Write ``bench.svg`` and ``bench.png`` into a folder."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        return save(_draw(timings), pathlib.Path(folder), "bench")


def _draw(timings: list[Timing]) -> Any:
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(timing.dataset for timing in timings))
    styles = _styles(timings)
    columns = min(PANELS_A_ROW, len(names))
    rows = -(-len(names) // columns)
    entries = -(-len(styles) // LEGEND_COLUMNS[columns])  # rows of the legend
    figure = Figure(figsize=(5.2 * columns, 0.3 + 0.2 * entries + 3.4 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    for name, ax in zip(names, axes.flat, strict=False):
        _panel(ax, [timing for timing in timings if timing.dataset == name], styles)
        ax.set_title(name, loc="left", fontweight="bold", parse_math=False)
    for ax in axes[:, 0]:
        ax.set_ylabel("objective above the optimum")
    _legend(figure, styles, LEGEND_COLUMNS[columns])
    return figure


def _panel(ax: Any, timings: list[Timing], styles: dict[str, dict[str, Any]]) -> None:
    for timing in timings:
        ax.plot(timing.seconds, [100 * above for above in timing.above], **styles[timing.solver])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(100 * LEAST, 100 * MOST)  # in percent
    ax.yaxis.set_major_formatter(lambda percent, _: f"{percent:g} %")
    ax.xaxis.set_major_formatter(lambda seconds, _: f"{seconds:g} s")
    for accuracy in ACCURACIES:
        ax.axhline(100 * accuracy, color="0.85", linewidth=0.8, zorder=0)


def _styles(timings: list[Timing]) -> dict[str, dict[str, Any]]:
    """Choose the colour of each solver; solvers run at several tolerances get a marker per tolerance."""
    kinds = {timing.solver: timing.kind for timing in timings}
    peers = [solver for solver, kind in kinds.items() if kind == "peer"]
    styles: dict[str, dict[str, Any]] = {}
    for number, solver in enumerate(kinds):
        styles[solver] = {"color": LIGHT[number % len(LIGHT)], "linewidth": 1.8}
        if kinds[solver] == "auto":
            styles[solver] |= {"marker": "*", "markersize": 8, "zorder": 3}
        if solver in peers:
            mark = PEER_MARKS[peers.index(solver) % len(PEER_MARKS)]
            styles[solver] |= {"linewidth": 1.0, "linestyle": "--", "marker": mark, "markersize": 4}
    return styles


def _legend(figure: Any, styles: dict[str, dict[str, Any]], columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **style) for style in styles.values()]
    legend = figure.legend(handles, list(styles), frameon=False, loc="outside upper center", ncols=columns)
    for text in legend.get_texts():
        text.set_parse_math(False)
