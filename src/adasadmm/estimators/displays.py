"""Pictures of a fitted model, in the manner of scikit-learn's displays. They need matplotlib (extra ``report``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

__all__ = ["ConvergenceDisplay", "GraphWeightsDisplay", "PathDisplay"]


def _axes(ax: Any) -> Any:
    """The axes given, or new ones; a clear message where matplotlib is missing."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('displays need matplotlib: pip install "adasadmm[report]"') from None
    return plt.subplots()[1]


class ConvergenceDisplay:
    """The objective of a fit along its course.

    Parameters
    ----------
    traces : list of Trace
    labels : list of str
    x : {"epoch", "seconds", "iteration"}
    """

    def __init__(self, traces: list[Any], labels: list[str], x: str = "epoch") -> None:
        self.traces, self.labels, self.x = traces, labels, x

    @classmethod
    def from_estimator(cls, estimator: Any, *, x: str = "epoch", ax: Any = None) -> ConvergenceDisplay:
        """Draw the course of a fitted estimator, a line for each class."""
        check_is_fitted(estimator, "trace_")
        several = isinstance(estimator.trace_, list)
        traces = estimator.trace_ if several else [estimator.trace_]
        labels = [str(label) for label in estimator.classes_] if several else ["objective"]
        return cls(traces, labels, x).plot(ax=ax)

    def plot(self, ax: Any = None) -> ConvergenceDisplay:
        self.ax_ = _axes(ax)
        for trace, label in zip(self.traces, self.labels, strict=True):
            self.ax_.plot(trace[self.x], trace["objective"], label=label)
        self.ax_.set(xlabel=self.x, ylabel="objective", yscale="log")
        if len(self.traces) > 1:
            self.ax_.legend(title="class")
        self.figure_ = self.ax_.figure
        return self


class GraphWeightsDisplay:
    """The coefficients on their graph: an image for a grid, else nodes and edges, colours for coefficients.

    Parameters
    ----------
    coef : ndarray of shape (d,)
    edges : ndarray of shape (E, 2)
    shape : (rows, cols), optional
        Draw an image of this shape instead of nodes.
    names : list of str, optional
    """

    def __init__(self, coef: np.ndarray, edges: np.ndarray, shape: Any = None, names: Any = None) -> None:
        self.coef, self.edges, self.shape, self.names = coef, edges, shape, names

    @classmethod
    def from_estimator(cls, estimator: Any, *, index: int = 0, ax: Any = None) -> GraphWeightsDisplay:
        """Draw the coefficients of a fitted estimator; ``index`` chooses the class where there are several."""
        check_is_fitted(estimator)
        coef = np.atleast_2d(estimator._dense_coef())[index]
        graph = getattr(estimator, "graph", None)
        shape = graph[1:] if isinstance(graph, tuple) and len(graph) == 3 and graph[0] == "grid" else None
        names = getattr(estimator, "feature_names_in_", None)
        return cls(coef, estimator.graph_, shape, names).plot(ax=ax)

    def plot(self, ax: Any = None) -> GraphWeightsDisplay:
        self.ax_ = _axes(ax)
        most = float(np.max(np.abs(self.coef), initial=0.0)) or 1.0
        colours = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
        if self.shape is not None:
            drawn = self.ax_.imshow(self.coef.reshape(self.shape), **colours)
        else:
            places = _places(self.edges, len(self.coef))
            for i, j in self.edges:
                self.ax_.plot(*places[[i, j]].T, color="0.8", linewidth=0.8, zorder=1)
            drawn = self.ax_.scatter(
                *places.T, c=self.coef, s=40, edgecolors="0.4", linewidths=0.4, zorder=2, **colours
            )
            for place, name in zip(places, self.names if self.names is not None else (), strict=False):
                self.ax_.annotate(str(name), place, fontsize=6, xytext=(3, 3), textcoords="offset points")
        self.ax_.set(xticks=[], yticks=[])
        self.ax_.figure.colorbar(drawn, ax=self.ax_, label="coefficient")
        self.figure_ = self.ax_.figure
        return self


class PathDisplay:
    """Coefficients and scores along the strengths of a cross-validated model.

    Parameters
    ----------
    alphas : ndarray of shape (k,)
    coefs : ndarray of shape (k, d)
    scores : ndarray of shape (k, folds)
    alpha : float
        The strength chosen.
    """

    def __init__(self, alphas: np.ndarray, coefs: np.ndarray, scores: np.ndarray, alpha: float) -> None:
        self.alphas, self.coefs, self.scores, self.alpha = alphas, coefs, scores, alpha

    @classmethod
    def from_estimator(cls, estimator: Any, *, index: int = 0, ax: Any = None) -> PathDisplay:
        """Draw the path of a fitted `GraphGuidedClassifierCV` or `GraphGuidedRegressorCV`."""
        check_is_fitted(estimator, "coef_path_")
        row = int(np.argmax(estimator.cv_scores_.mean(axis=2).max(axis=1)))
        scores = estimator.cv_scores_[row]
        return cls(estimator.alphas_, estimator.coef_path_[index], scores, estimator.alpha_).plot(ax=ax)

    def plot(self, ax: Any = None) -> PathDisplay:
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


def _places(edges: np.ndarray, d: int) -> np.ndarray:
    """Places in the plane for the nodes of a graph: two slow eigenvectors of its Laplacian, spread by their ranks."""
    import scipy.sparse as sp

    adjacency = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(d, d)).toarray()
    adjacency = adjacency + adjacency.T
    degree = adjacency.sum(axis=1)
    laplacian = np.diag(degree + 1e-3) - adjacency
    vectors = np.linalg.eigh(laplacian)[1]
    slow = vectors[:, 1:3] if d > 2 else np.column_stack([np.arange(d), np.zeros(d)])
    ranks = slow.argsort(axis=0).argsort(axis=0) / max(1, d - 1)
    spread = slow / (np.abs(slow).max(axis=0) + 1e-12)
    return 0.5 * ranks + 0.5 * spread
