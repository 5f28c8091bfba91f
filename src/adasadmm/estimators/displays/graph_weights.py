"""Plot of the coefficients on their graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._fitting import fused_groups
from ._figures import INK, axes_or_new, diverging_limit, equal_units, figure_of, model_of, names_of, plain
from ._labels import label_points, shared
from ._layout import is_chain, positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PathCollection

__all__ = ["GraphWeightsDisplay"]

COLOURS = "RdBu_r"


class GraphWeightsDisplay:
    """Plot of the coefficients on their graph, with colours for their values.

    A grid is drawn as an image, a chain as a profile, with the coefficients over their positions, and any other graph
    by its nodes and edges: nodes are about as far from each other as along the edges, and edges between fused
    coefficients are dark. The largest coefficients are labelled as far as there is room; if there are more
    coefficients than labels, fused ones share a label.

    Parameters
    ----------
    coef : ndarray of shape (d,)
        Coefficients.
    edges : ndarray of shape (E, 2)
        Edges of the graph.
    shape : (rows, cols), default=None
        Draw an image of this shape. None draws the nodes and edges of the graph.
    names : sequence of str, default=None
        Labels of the nodes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure that contains the axes.
    positions_ : ndarray of shape (d, 2)
        Where the nodes are, after `plot`, if they are drawn.
    labels_ : list of matplotlib Text
        The labels that were written, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from adasadmm import GraphGuidedRegressor, GraphWeightsDisplay
    >>> model = GraphGuidedRegressor("knn").fit(*load_diabetes(return_X_y=True))
    >>> display = GraphWeightsDisplay.from_estimator(model)
    >>> display.positions_.shape
    (10, 2)
    """

    def __init__(
        self,
        coef: np.ndarray,
        edges: np.ndarray,
        shape: tuple[int, int] | None = None,
        names: Sequence[str] | np.ndarray | None = None,
    ) -> None:
        self.coef, self.edges, self.shape, self.names = coef, edges, shape, names

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, index: int = 0, max_labels: int = 30, ax: Axes | None = None
    ) -> GraphWeightsDisplay:
        """Plot the coefficients of a fitted estimator; as an image if its graph is a two-dimensional grid.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator with a graph.
        index : int, default=0
            Row of ``coef_`` to draw, if there are more than two classes.
        max_labels : int, default=30
            The most names to write. 0 writes none.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a new figure.

        Returns
        -------
        GraphWeightsDisplay
        """
        names, estimator = names_of(estimator), model_of(estimator)
        check_is_fitted(estimator)
        if getattr(estimator, "graph_", None) is None:
            raise ValueError(f"estimator must be a model with a graph, such as GraphGuidedRegressor, got {estimator!r}")
        coef = np.atleast_2d(estimator._dense_coef())[index]
        graph = getattr(estimator, "graph", None)
        shape = graph[1:] if isinstance(graph, tuple) and len(graph) == 3 and graph[0] == "grid" else None
        return cls(coef, estimator.graph_, shape, names).plot(ax=ax, max_labels=max_labels)

    def plot(self, ax: Axes | None = None, *, max_labels: int = 30) -> GraphWeightsDisplay:
        """Draw the plot on the given axes, or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        max_labels : int, default=30
            The most names to write. 0 writes none.

        Returns
        -------
        GraphWeightsDisplay
        """
        profile = self.shape is None and is_chain(self.edges, len(self.coef))
        ax = self.ax_ = axes_or_new(ax, (7.0, 3.6) if profile else (6.4, 5.2))
        self.figure_, self.labels_ = figure_of(ax), []
        if self.shape is not None:
            limit = diverging_limit(self.coef)
            self._colour_bar(ax.imshow(self.coef.reshape(self.shape), cmap=COLOURS, vmin=-limit, vmax=limit))
            ax.set(xticks=[], yticks=[])
            return self
        self.positions_ = (
            np.column_stack([np.arange(len(self.coef)), self.coef])
            if profile
            else positions(np.asarray(self.edges), len(self.coef), self._ratio(ax))
        )
        drawn = self._plot_nodes(ax, 15.0 if profile else 70.0)
        if profile:
            ax.axhline(0.0, color="0.6", linewidth=0.6, zorder=0)
            ax.set(xlabel="position in the chain", ylabel="coefficient")
            plain(ax)
        else:
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            self._colour_bar(drawn)
            equal_units(ax, self.positions_)
        radius = 0.5 * float(np.sqrt(drawn.get_sizes()[0]))
        self.labels_ = label_points(ax, self.positions_, self._chosen_names(max_labels), radius)
        return self

    @staticmethod
    def _ratio(ax: Axes) -> float:
        """The ratio of the width of the axes to their height, less the room for the colour bar."""
        box = ax.get_window_extent()
        return 0.9 * float(box.width / box.height)

    def _plot_nodes(self, ax: Axes, largest: float) -> PathCollection:
        """Draw edges, and nodes that shrink with their number, those of large coefficients above."""
        from matplotlib.collections import LineCollection

        d, limit = len(self.coef), diverging_limit(self.coef)
        fused = self.coef[self.edges[:, 0]] == self.coef[self.edges[:, 1]]
        size = float(np.clip(8000 / d, 6, largest))
        for chosen, color, width in ((~fused, "0.82", 0.6), (fused, "0.45", 1.0)):
            segments = self.positions_[self.edges[chosen]]
            ax.add_collection(LineCollection(list(segments), colors=color, linewidths=width, zorder=1))
        order = np.argsort(np.abs(self.coef), kind="stable")
        x, y = self.positions_[order].T
        colours: dict[str, Any] = {"c": self.coef[order], "cmap": COLOURS, "vmin": -limit, "vmax": limit}
        drawn = ax.scatter(x, y, s=size, edgecolors="0.3", linewidths=min(0.5, size / 60), zorder=2, **colours)
        ax.margins(0.05)
        ax.autoscale_view()
        return drawn

    def _colour_bar(self, drawn: ScalarMappable) -> None:
        bar = self.figure_.colorbar(drawn, ax=self.ax_, fraction=0.046, pad=0.02)
        bar.set_label("coefficient", color=INK)
        bar.ax.tick_params(labelsize=8, colors=INK)
        bar.outline.set_visible(False)  # type: ignore[operator]

    def _chosen_names(self, most: int) -> dict[int, str]:
        """The names to write, those of the largest coefficients first; a coefficient that is 0 needs none.

        If there are more coefficients than names to write, fused ones share the name of one of them.
        """
        if self.names is None:
            return {}
        if np.count_nonzero(self.coef) <= most:
            clusters = np.arange(len(self.coef))
        else:
            clusters = fused_groups(self.coef, self.edges, exactly=True)
        order = np.argsort(-np.abs(self.coef), kind="stable")
        heads = order[np.sort(np.unique(clusters[order], return_index=True)[1])][:most]
        members = {int(k): np.flatnonzero(clusters == clusters[k]) for k in heads if self.coef[k] != 0.0}
        return {k: shared(part, k, self.names) for k, part in members.items()}
