"""Axes and colours that all displays share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "GREY",
    "INK",
    "PALETTE",
    "axes_or_new",
    "diverging_limit",
    "divided",
    "figure_of",
    "laid_out",
    "plain",
    "width_in_inches",
]

# The colours of Okabe and Ito, which differ for every kind of colour vision; without yellow, too light for a line.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7B3294")
INK, GREY = "0.15", "0.68"


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given axes, or those of a new figure; raises a helpful error if matplotlib is not installed."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('displays need matplotlib: pip install "adasadmm[report]"') from None
    return plt.subplots(figsize=size, layout="constrained")[1]


def model_of(estimator: Any) -> Any:
    """The model to draw: the last step of a pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def names_of(estimator: Any) -> np.ndarray | None:
    """The names of the features of a model, also if they are known to the steps before it alone."""
    names = getattr(model_of(estimator), "feature_names_in_", None)
    if names is None and isinstance(estimator, Pipeline) and hasattr(estimator[:-1], "get_feature_names_out"):
        return estimator[:-1].get_feature_names_out()
    return names


def figure_of(ax: Axes) -> Figure | SubFigure:
    """The figure of axes that are in one."""
    figure = ax.figure
    assert figure is not None
    return figure


def laid_out(ax: Axes) -> None:
    """Apply the layout of the figure, so that positions in pixels are those of the finished picture."""
    figure_of(ax).canvas.figure.draw_without_rendering()


def width_in_inches(ax: Axes) -> float:
    """The width of axes, in the layout of the finished picture."""
    laid_out(ax)
    return float(ax.get_window_extent().width / figure_of(ax).dpi)


def equal_units(ax: Axes, points: np.ndarray) -> None:
    """Limits of axes around some points, with units of the same length on both axes and no change of the axes.

    An aspect of matplotlib would change the axes, or their limits in each drawing until they settle.
    """
    laid_out(ax)
    box = ax.get_window_extent()
    unit = max(np.ptp(points[:, 0]) / box.width, np.ptp(points[:, 1]) / box.height, 1e-3) / 0.88  # the rest is margin
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    reach = unit * np.array([box.width, box.height]) / 2
    ax.set(xlim=(middle[0] - reach[0], middle[0] + reach[0]), ylim=(middle[1] - reach[1], middle[1] + reach[1]))


def divided(
    ax: Axes, heights: tuple[float, ...], widths: tuple[float, ...], space: float = 0.08
) -> dict[tuple[int, int], Axes]:
    """Divide the place of some axes into a table of panels; the axes move to its first one."""
    from matplotlib.gridspec import GridSpec

    figure, spec, shape = figure_of(ax), ax.get_subplotspec(), (len(heights), len(widths))
    if figure.canvas.figure.get_layout_engine() is not None:
        space = 0.05  # the engine itself makes room for labels
    look: dict[str, Any] = {"height_ratios": heights, "width_ratios": widths, "wspace": 0.02, "hspace": space}
    if spec is None:
        box = ax.get_position()
        spec = GridSpec(1, 1, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[0]
    cells = spec.subgridspec(*shape, **look)
    ax.set_subplotspec(cells[0, 0])
    others = [(i, j) for i in range(shape[0]) for j in range(shape[1]) if (i, j) != (0, 0)]
    return {(0, 0): ax} | {place: figure.add_subplot(cells[place]) for place in others}


def plain(ax: Axes) -> None:
    """A light frame: no box, a faint grid behind the lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="0.92", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8, colors=INK)


def diverging_limit(values: np.ndarray) -> float:
    """The largest absolute value, at which a colour bar around 0 ends; 1 if all are 0."""
    return float(np.max(np.abs(values), initial=0.0)) or 1.0
