"""The mean score for pairs of strengths, as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._figures import INK, figure_of
from ._search import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["drawn_alphas", "plot_heatmap"]

MOST_TICKS = 12


def drawn_alphas(alphas: np.ndarray) -> np.ndarray:
    """Where alphas are on a logarithmic axis, which has no 0: an alpha of 0 is a tenth of the next one."""
    positive = alphas[alphas > 0]
    return np.where(alphas > 0, alphas, positive.min() / 10 if len(positive) else 1.0)


def plot_heatmap(ax: Axes, grid: Grid, alpha: float, score_name: str) -> None:
    """Draw one row of cells for each value of the second strength, and a frame around the chosen cell."""
    from matplotlib.patches import Rectangle

    everything = np.concatenate(grid.means)
    limits = {"vmin": np.nanmin(everything), "vmax": np.nanmax(everything)}
    drawn = None
    for k, (alphas, means, value) in enumerate(zip(grid.alphas, grid.means, grid.values, strict=True)):
        edges = _edges(drawn_alphas(alphas))
        drawn = ax.pcolormesh(edges, [k - 0.5, k + 0.5], means[None, :], cmap="viridis", **limits)
        if value == grid.chosen:
            column = int(np.argmin(np.abs(alphas - alpha)))
            corner, width = (edges[column], k - 0.5), edges[column + 1] - edges[column]
            for color, line in (("black", 3.6), ("white", 1.6)):
                look: dict[str, Any] = {"edgecolor": color, "linewidth": line, "zorder": 3, "clip_on": False}
                ax.add_patch(Rectangle(corner, width, 1.0, fill=False, **look))
    assert drawn is not None
    bar = figure_of(ax).colorbar(drawn, ax=ax, fraction=0.046, pad=0.02)
    bar.set_label(f"mean {score_name}", color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK)
    shown = np.unique(np.linspace(0, len(grid.values) - 1, min(len(grid.values), MOST_TICKS)).round().astype(int))
    ax.set(xscale="log", xlabel="alpha", ylabel=grid.name, ylim=(-0.5, len(grid.values) - 0.5))
    ax.set_yticks(shown, [f"{grid.values[k]:.3g}" for k in shown])
    ax.invert_xaxis()
    ax.tick_params(labelsize=8, colors=INK)
    ax.set_title(f"chosen: alpha = {alpha:.3g}, {grid.name} = {grid.chosen:.3g}", fontsize=9, color=INK)


def _edges(alphas: np.ndarray) -> np.ndarray:
    """The borders of the cells of decreasing alphas: halfway between neighbours, on a logarithmic axis."""
    logs = np.log(alphas)
    if len(logs) == 1:
        return np.exp([logs[0] + 0.5, logs[0] - 0.5])
    middles = (logs[:-1] + logs[1:]) / 2
    return np.exp(np.concatenate([[2 * logs[0] - middles[0]], middles, [2 * logs[-1] - middles[-1]]]))
