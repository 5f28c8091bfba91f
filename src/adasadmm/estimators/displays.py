"""Plots of fitted models, in the style of scikit-learn's displays. They need matplotlib (extra ``report``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..certificates.trace import Trace
from ._base import LinearModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ConvergenceDisplay", "GraphWeightsDisplay", "PathDisplay"]


def _axes(ax: Axes | None) -> Axes:
    """The given axes, or new ones; raises a helpful error if matplotlib is not installed."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('displays need matplotlib: pip install "adasadmm[report]"') from None
    return plt.subplots()[1]


class ConvergenceDisplay:
    """Plot of the objective during a fit.

    Create it with `from_estimator`, or from traces, for example those of several results of `solve`.

    Parameters
    ----------
    traces : list of Trace
        Traces to plot, such as ``result.trace`` or ``estimator.trace_``.
    labels : list of str
        Label of each trace, shown in the legend if there are several traces.
    x : {"epoch", "seconds", "iteration"}, default="epoch"
        Column of the trace on the horizontal axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure that contains the axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from adasadmm import ConvergenceDisplay, GraphGuidedRegressor
    >>> model = GraphGuidedRegressor("chain").fit(*load_diabetes(return_X_y=True))
    >>> display = ConvergenceDisplay.from_estimator(model, x="iteration")
    >>> display.ax_.get_xlabel()
    'iteration'
    """

    def __init__(self, traces: list[Trace], labels: list[str], x: str = "epoch") -> None:
        self.traces, self.labels, self.x = traces, labels, x

    @classmethod
    def from_estimator(cls, estimator: LinearModel, *, x: str = "epoch", ax: Axes | None = None) -> ConvergenceDisplay:
        """Plot the objective of a fitted estimator, with a line for each class if there are several.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator of this package.
        x : {"epoch", "seconds", "iteration"}, default="epoch"
            Column of the trace on the horizontal axis.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a new figure.

        Returns
        -------
        ConvergenceDisplay
        """
        check_is_fitted(estimator, "trace_")
        trace = estimator.trace_
        if isinstance(trace, list):
            return cls(trace, [str(label) for label in estimator.classes_], x).plot(ax=ax)
        return cls([trace], ["objective"], x).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw the plot on the given axes, or in a new figure."""
        self.ax_ = _axes(ax)
        for trace, label in zip(self.traces, self.labels, strict=True):
            self.ax_.plot(trace[self.x], trace["objective"], label=label)
        self.ax_.set(xlabel=self.x, ylabel="objective", yscale="log")
        if len(self.traces) > 1:
            self.ax_.legend(title="class")
        self.figure_ = self.ax_.figure
        return self


class GraphWeightsDisplay:
    """Plot of the coefficients on their graph, with colours for their values.

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

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from adasadmm import GraphGuidedRegressor, GraphWeightsDisplay
    >>> model = GraphGuidedRegressor("knn").fit(*load_diabetes(return_X_y=True))
    >>> display = GraphWeightsDisplay.from_estimator(model)
    >>> len(display.ax_.lines) == len(model.graph_)
    True
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
    def from_estimator(cls, estimator: LinearModel, *, index: int = 0, ax: Axes | None = None) -> GraphWeightsDisplay:
        """Plot the coefficients of a fitted estimator; as an image if its graph is a two-dimensional grid.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with a graph.
        index : int, default=0
            Row of ``coef_`` to draw, if there are more than two classes.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a new figure.

        Returns
        -------
        GraphWeightsDisplay
        """
        check_is_fitted(estimator)
        coef = np.atleast_2d(estimator._dense_coef())[index]
        graph = getattr(estimator, "graph", None)
        shape = graph[1:] if isinstance(graph, tuple) and len(graph) == 3 and graph[0] == "grid" else None
        names = getattr(estimator, "feature_names_in_", None)
        return cls(coef, estimator.graph_, shape, names).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> GraphWeightsDisplay:
        """Draw the plot on the given axes, or in a new figure."""
        self.ax_ = _axes(ax)
        most = float(np.max(np.abs(self.coef), initial=0.0)) or 1.0
        if self.shape is not None:
            drawn = self.ax_.imshow(self.coef.reshape(self.shape), cmap="RdBu_r", vmin=-most, vmax=most)
            self.ax_.figure.colorbar(drawn, ax=self.ax_, label="coefficient")
        else:
            self._plot_nodes(self.ax_, most)
        self.ax_.set(xticks=[], yticks=[])
        self.figure_ = self.ax_.figure
        return self

    def _plot_nodes(self, ax: Axes, most: float) -> None:
        positions = _positions(self.edges, len(self.coef))
        for i, j in self.edges:
            ax.plot(*positions[[i, j]].T, color="0.8", linewidth=0.8, zorder=1)
        drawn = ax.scatter(
            positions[:, 0],
            positions[:, 1],
            c=self.coef,
            s=40,
            cmap="RdBu_r",
            vmin=-most,
            vmax=most,
            edgecolors="0.4",
            linewidths=0.4,
            zorder=2,
        )
        for position, name in zip(positions, self.names if self.names is not None else (), strict=False):
            ax.annotate(str(name), position, fontsize=6, xytext=(3, 3), textcoords="offset points")
        ax.figure.colorbar(drawn, ax=ax, label="coefficient")


class PathDisplay:
    """Plot of coefficients and cross-validation scores against alpha.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Values of alpha.
    coefs : ndarray of shape (n_alphas, d)
        Coefficients at each alpha.
    scores : ndarray of shape (n_alphas, n_folds)
        Scores at each alpha. The plot shows their mean with the standard error.
    alpha : float
        The chosen alpha, marked by a vertical line.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the coefficients, after `plot`.
    figure_ : matplotlib Figure
        The figure that contains the axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from adasadmm import GraphGuidedRegressorCV, PathDisplay
    >>> model = GraphGuidedRegressorCV("chain", alphas=5, cv=3).fit(*load_diabetes(return_X_y=True))
    >>> PathDisplay.from_estimator(model).ax_.get_xlabel()
    'alpha'
    """

    def __init__(self, alphas: np.ndarray, coefs: np.ndarray, scores: np.ndarray, alpha: float) -> None:
        self.alphas, self.coefs, self.scores, self.alpha = alphas, coefs, scores, alpha

    @classmethod
    def from_estimator(cls, estimator: LinearModel, *, index: int = 0, ax: Axes | None = None) -> PathDisplay:
        """Plot the path of a fitted `GraphGuidedClassifierCV` or `GraphGuidedRegressorCV`.

        Parameters
        ----------
        estimator : GraphGuidedClassifierCV or GraphGuidedRegressorCV
            A fitted estimator.
        index : int, default=0
            Row of ``coef_path_`` to draw, if there are more than two classes.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a new figure.

        Returns
        -------
        PathDisplay
        """
        check_is_fitted(estimator, "coef_path_")
        row = int(np.argmax(estimator.cv_scores_.mean(axis=2).max(axis=1)))
        scores = estimator.cv_scores_[row]
        return cls(estimator.alphas_, estimator.coef_path_[index], scores, estimator.alpha_).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> PathDisplay:
        """Draw the plot on the given axes, or in a new figure."""
        self.ax_ = _axes(ax)
        self.ax_.plot(self.alphas, self.coefs, linewidth=0.8)
        self.ax_.axvline(self.alpha, color="0.4", linestyle="--")
        self.ax_.set(xscale="log", xlabel="alpha", ylabel="coefficients")
        self.ax_.invert_xaxis()
        twin = self.ax_.twinx()
        mean, error = self.scores.mean(axis=1), self.scores.std(axis=1, ddof=1) / np.sqrt(self.scores.shape[1])
        twin.errorbar(self.alphas, mean, yerr=error, color="black", linewidth=1.5, capsize=2)
        twin.set_ylabel("score (black)")
        self.figure_ = self.ax_.figure
        return self


def _positions(edges: np.ndarray, d: int) -> np.ndarray:
    """Positions of the nodes in the plane: two eigenvectors of the Laplacian with small eigenvalues, plus their ranks.

    The ranks spread nodes that the eigenvectors alone would put on top of each other.
    """
    adjacency = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(d, d)).toarray()
    adjacency = adjacency + adjacency.T
    degree = adjacency.sum(axis=1)
    laplacian = np.diag(degree + 1e-3) - adjacency
    vectors = np.linalg.eigh(laplacian)[1]
    slow = vectors[:, 1:3] if d > 2 else np.column_stack([np.arange(d), np.zeros(d)])
    ranks = slow.argsort(axis=0).argsort(axis=0) / max(1, d - 1)
    spread = slow / (np.abs(slow).max(axis=0) + 1e-12)
    return 0.5 * ranks + 0.5 * spread
