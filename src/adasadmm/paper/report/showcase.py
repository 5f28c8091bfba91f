"""The page of the demo and its figures: curves of the algorithms, weights with and without a graph."""

from __future__ import annotations

import base64
import importlib.resources
import pathlib
from typing import Any, NamedTuple

import numpy as np

from ..._core.files import write_whole
from .drawing import draw
from .figure import LIGHT, STYLE, save
from .study import LearntGraph

__all__ = ["Line", "Recovery", "Showcase", "WeightMap", "write_showcase"]

LEAST = 1e-3  # smallest relative suboptimality shown
NAMES = ("without the graph", "with the graph")


class Line(NamedTuple):
    """The result of an algorithm on a data set, and its curve (empty for methods that use all rows at once)."""

    dataset: str
    algorithm: str
    objective: float
    above_optimum: float
    test_error: float
    seconds: float
    epoch: list[float]
    above: list[float]


class WeightMap(NamedTuple):
    """Weights of a linear model without and with a graph: the number of distinct ones, and the mean test errors."""

    dataset: str
    title: str
    names: list[str]
    edges: list[list[int]]
    shape: tuple[int, int] | None  # of an image
    weights: list[list[float]]
    groups: list[int]
    test_errors: list[float]


class Recovery(NamedTuple):
    """Planted weights of an image, what models make of them, and the mean accuracy of each model on fresh rows."""

    shape: tuple[int, int]
    truth: list[float]
    weights: dict[str, list[float]]
    accuracies: dict[str, float]


class Showcase(NamedTuple):
    """The content of the page. ``titles`` has a title and a description of the graph of each data set."""

    titles: dict[str, tuple[str, str]]
    recovery: Recovery
    lines: list[Line]
    maps: list[WeightMap]
    about: dict[str, str]


def write_showcase(show: Showcase, folder: pathlib.Path) -> list[pathlib.Path]:
    """Write report.html, which embeds its figures, and the figures as .svg and .png."""
    import matplotlib
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
    from matplotlib.figure import Figure

    drawn: dict[str, list[pathlib.Path]] = {}
    with matplotlib.rc_context({**STYLE, "figure.figsize": (5.2, 3.6), "figure.constrained_layout.use": True}):
        for name in show.titles:
            figure = Figure()
            _draw_curves(figure.subplots(), [line for line in show.lines if line.dataset == name])
            drawn[f"curves_{name}"] = save(figure, folder, f"curves_{name}")
        for one in show.maps:
            figure = Figure()
            _draw_map(figure.subplots(1, 2), one)
            drawn[f"weights_{one.dataset}"] = save(figure, folder, f"weights_{one.dataset}")
        drawn["overview"] = save(_overview(show.recovery), folder, "overview")
    jinja = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = jinja.from_string(_part("showcase.html.jinja")).render(
        show=show,
        style=Markup(_part("page.css")),
        pictures={name: _embedded(files[0]) for name, files in drawn.items()},
    )
    write_whole(folder / "report.html", text)
    return [folder / "report.html", *(file for files in drawn.values() for file in files)]


def _part(name: str) -> str:
    return (importlib.resources.files(__package__) / name).read_text(encoding="utf-8")


def _embedded(picture: pathlib.Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.read_bytes()).decode()}"


PANELS = {"L1": "L1", "ridge": "ridge", "grid": "adasadmm, pixel grid"}


def _overview(recovery: Recovery) -> Any:
    """Draw the planted weights, and those of each model on the same colour scale relative to its largest weight."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 2.9))
    captions = ["300 images to learn from", *(f"accuracy {value:.0%}" for value in recovery.accuracies.values())]
    titles = ["true weights", *(PANELS.get(name, name) for name in recovery.weights)]
    for ax, title, caption, weights in zip(
        figure.subplots(1, len(titles)), titles, captions, [recovery.truth, *recovery.weights.values()], strict=True
    ):
        most = float(np.max(np.abs(weights))) or 1.0
        ax.imshow(np.reshape(weights, recovery.shape), cmap="RdBu_r", vmin=-most, vmax=most)
        ax.set_title(title, loc="left")
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(caption, loc="left")
        ax.spines[:].set_visible(False)
    return figure


def _draw_curves(ax: Any, lines: list[Line]) -> None:
    """Draw the suboptimality of each stochastic algorithm by epoch."""
    for number, line in enumerate(line for line in lines if line.epoch):
        above = [100.0 * max(value, LEAST) for value in line.above]
        ax.plot(line.epoch, above, color=LIGHT[number], linewidth=1.8, label=line.algorithm)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda percent, _: f"{percent:g} %")
    ax.set(xlabel="epochs")
    ax.set_title("objective above the optimum", loc="left")
    ax.grid(axis="y", color="0.9", linewidth=0.6)
    ax.legend(frameon=False, fontsize=8)


def _draw_map(axes: Any, one: WeightMap) -> None:
    for ax, name, weights, groups, error in zip(axes, NAMES, one.weights, one.groups, one.test_errors, strict=True):
        most = float(np.max(np.abs(weights))) or 1.0
        colours = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
        if one.shape is not None:
            ax.imshow(np.reshape(weights, one.shape), **colours)
        else:
            _draw_graph(ax, one, weights, colours)
        ax.set_title(name, loc="left")
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{groups} distinct weights\ntest error {100 * error:.1f} %", loc="left")
        ax.spines[:].set_visible(False)


def _draw_graph(ax: Any, one: WeightMap, weights: list[float], colours: dict[str, Any]) -> None:
    drawing = draw(LearntGraph(one.dataset, "", one.names, one.edges, weights))
    for x, y, u, v in drawing.lines:
        ax.plot([x, u], [y, v], color="0.8", linewidth=0.8, zorder=1)
    places = np.array([(node.x, node.y) for node in drawing.nodes])
    ax.scatter(*places.T, c=weights, s=46, edgecolors="0.4", linewidths=0.4, zorder=2, **colours)
    ax.invert_yaxis()
