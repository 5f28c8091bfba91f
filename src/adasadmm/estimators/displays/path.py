"""Plot of a cross-validated search: coefficients and scores along the strengths, or a heat map of two strengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from ._figures import GREY, INK, axes_or_new, divided, figure_of, model_of, names_of, plain, width_in_inches
from ._heatmap import drawn_alphas, plot_heatmap
from ._labels import label_column, width_of
from ._lines import colours_of, drawn_lines, labels_of
from ._search import Grid, one_standard_error, searched

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PathDisplay"]

LEGEND_INCHES = 1.45
CURVES = 5  # of a trend, from the strongest penalty to the weakest
TICKS = 7


class PathDisplay:
    """Plot of coefficients and cross-validation scores against alpha.

    The upper panel shows the coefficients, from the strongest penalty on the left to the weakest on the right. Lines
    of one colour form a cluster at the chosen alpha; coefficients that are 0 there, and all but the seven clusters of
    largest weight, are grey. The lines that end farthest from 0 are labelled. The lower panel shows the mean score of
    the folds, with a band of one standard error, and the alphas of both rules: the best mean, and the strongest
    penalty within one standard error of it.

    If there are more than 200 coefficients, 200 of them are drawn: some of each coloured cluster, and the largest
    others. For a trend (``times``), the upper panel shows the fitted curves at some of the alphas.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Values of alpha, in decreasing order.
    coefs : ndarray of shape (n_alphas, d)
        Coefficients at each alpha.
    scores : ndarray of shape (n_alphas, n_folds)
        Scores at each alpha. The plot shows their mean with the standard error.
    alpha : float
        The chosen alpha, marked by a vertical line.
    names : sequence of str, default=None
        Names of the features. None means x0, x1 and so on.
    clusters : ndarray of shape (d,), default=None
        The cluster of each coefficient at the chosen alpha. None: equal coefficients form a cluster.
    df : ndarray of shape (n_alphas,), default=None
        Degrees of freedom at each alpha, shown on the upper axis.
    times : ndarray of shape (d,), default=None
        The times of a trend, whose values are the coefficients.
    grid : Grid, default=None
        Mean scores for a second strength, which `from_estimator` finds in ``cv_results_``.
    score_name : str, default="score"
        What the scores are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the coefficients, or of the heat map, after `plot`.
    score_ax_ : matplotlib Axes
        The axes of the scores, after ``plot(kind="path")``.
    figure_ : matplotlib Figure
        The figure that contains the axes.
    labels_ : list of matplotlib Text
        The labels at the ends of the lines.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> from adasadmm import GraphGuidedRegressorCV, PathDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GraphGuidedRegressorCV("chain", alphas=5, l2s=[1e-4, 1e-2], cv=3).fit(X, y)
    >>> display = PathDisplay.from_estimator(model)
    >>> display.ax_.get_ylabel(), display.score_ax_.get_xlabel()
    ('coefficient', 'alpha')
    >>> PathDisplay.from_estimator(model, kind="heatmap").ax_.get_ylabel()
    'l2'
    """

    def __init__(
        self,
        alphas: np.ndarray,
        coefs: np.ndarray,
        scores: np.ndarray,
        alpha: float,
        *,
        names: Sequence[str] | np.ndarray | None = None,
        clusters: np.ndarray | None = None,
        df: np.ndarray | None = None,
        times: np.ndarray | None = None,
        grid: Grid | None = None,
        score_name: str = "score",
    ) -> None:
        self.alphas, self.coefs, self.scores, self.alpha = alphas, coefs, scores, alpha
        self.names, self.clusters, self.df, self.times = names, clusters, df, times
        self.grid, self.score_name = grid, score_name

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, index: int = 0, kind: str = "path", ax: Axes | None = None
    ) -> PathDisplay:
        """Plot the search of a fitted estimator with cross-validation.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator whose name ends in ``CV``.
        index : int, default=0
            Row of ``coef_path_`` to draw, if there are more than two classes.
        kind : {"path", "heatmap"}, default="path"
            ``"heatmap"`` shows the mean score for alpha and a second strength, where two were searched.
        ax : matplotlib Axes, default=None
            Axes to draw on; two panels share their place. None creates a new figure.

        Returns
        -------
        PathDisplay
        """
        names, estimator = names_of(estimator), model_of(estimator)
        check_is_fitted(estimator, "coef_path_")
        search, coefs = searched(estimator), np.atleast_2d(estimator.coef_path_[index])
        scoring = getattr(estimator, "scoring", None)
        graph = getattr(estimator, "graph_", None)
        return cls(
            search.alphas,
            coefs,
            search.scores,
            estimator.alpha_,
            names=names,
            clusters=None if graph is None else np.atleast_2d(estimator.clusters_)[index],
            df=getattr(estimator, "df_path_", None),
            times=_times_of(estimator, coefs.shape[1]),
            grid=search.grid,
            score_name=scoring if isinstance(scoring, str) else "accuracy" if is_classifier(estimator) else "score",
        ).plot(ax=ax, kind=kind)

    def plot(self, ax: Axes | None = None, *, kind: str = "path") -> PathDisplay:
        """Draw the plot in the place of the given axes, or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        kind : {"path", "heatmap"}, default="path"

        Returns
        -------
        PathDisplay
        """
        if kind not in ("path", "heatmap"):
            raise ValueError(f'kind must be "path" or "heatmap", got {kind!r}')
        if kind == "heatmap" and self.grid is None:
            raise ValueError('kind="heatmap" needs two strengths: search over several l1_ratios or l2s')
        ax = self.ax_ = axes_or_new(ax, (7.4, 5.4) if kind == "path" else (6.4, 3.8))
        self.figure_ = figure_of(ax)
        if self.grid is not None and kind == "heatmap":
            plot_heatmap(ax, self.grid, self.alpha, self.score_name)
            return self
        self._x = drawn_alphas(np.asarray(self.alphas))
        if self.times is None:
            self._plot_lines(ax)
        else:
            self._plot_curves(ax, self.times)
        return self

    @property
    def _chosen(self) -> int:
        """The position of the chosen alpha."""
        return int(np.argmin(np.abs(self.alphas - self.alpha)))

    # --- the upper panel ---------------------------------------------------------------------------------------------

    def _plot_lines(self, ax: Axes) -> None:
        """The coefficients against alpha, with labels in a column beside them, above the scores."""
        values = self.coefs[self._chosen]
        clusters = np.unique(values, return_inverse=True)[1] if self.clusters is None else self.clusters
        colours = colours_of(values, clusters)
        labels = labels_of(self.coefs[-1], self.names, clusters, colours)
        total = width_in_inches(ax)
        beside = min(0.45 * total, max(LEGEND_INCHES, 0.25 + width_of(ax, [label.text for label in labels])))
        panels = divided(ax, (3.0, 2.0), (total - beside, beside))
        drawn = drawn_lines(self.coefs, clusters, colours)
        marker = "o" if len(self.alphas) == 1 else None
        for k in drawn[::-1]:
            grey = colours[k] == GREY
            look: dict[str, Any] = {"linewidth": 0.7 if grey else 1.3, "zorder": 2 if grey else 3, "marker": marker}
            ax.plot(self._x, self.coefs[:, k], color=colours[k], label=self._name(k), **look)
        plain(ax)
        ax.axhline(0.0, color="0.55", linewidth=0.6, zorder=1)
        some = f" ({len(drawn)} of {len(colours):,})" if len(drawn) < len(colours) else ""
        ax.set(xscale="log", ylabel=f"coefficient{some}")
        ax.tick_params(labelbottom=False)
        self.score_ax_ = panels[1, 0]
        self._plot_scores(panels[1, 0], panels[1, 1])
        panels[1, 0].sharex(ax)
        self._mark(ax)
        self._frame(ax)
        self._top_axis(ax)
        self.labels_ = label_column(ax, panels[0, 1], self._x[-1], labels)

    def _plot_curves(self, ax: Axes, times: np.ndarray) -> None:
        """The fitted curve at some alphas, the chosen one on top, above the scores."""
        from matplotlib import colormaps

        total = width_in_inches(ax)
        panels = divided(ax, (3.0, 2.0), (total - LEGEND_INCHES, LEGEND_INCHES), space=0.5)
        some = np.unique(np.linspace(0, len(self.alphas) - 1, CURVES).round().astype(int))
        for k in some[some != self._chosen]:
            color = colormaps["viridis_r"](0.15 + 0.75 * k / max(1, len(self.alphas) - 1))
            ax.plot(times, self.coefs[k], color=color, linewidth=1.0, label=f"alpha = {self.alphas[k]:.2g}")
        ax.plot(times, self.coefs[self._chosen], color=INK, linewidth=2.0, label=f"chosen: {self.alpha:.2g}")
        plain(ax)
        ax.set(xlabel="time", ylabel="fitted value")
        panels[0, 1].set_axis_off()
        panels[0, 1].legend(*ax.get_legend_handles_labels(), loc="upper left", fontsize=8, frameon=False)
        self.score_ax_ = panels[1, 0]
        self._plot_scores(panels[1, 0], panels[1, 1])
        self._frame(panels[1, 0])
        self._top_axis(panels[1, 0])

    def _name(self, k: int) -> str:
        return f"x{k}" if self.names is None else str(self.names[k])

    # --- the lower panel, and what both have -------------------------------------------------------------------------

    def _plot_scores(self, ax: Axes, beside: Axes) -> None:
        """The mean score with its standard error, and what the two rules choose; the legend is beside it."""
        best, simplest, mean, error = one_standard_error(self.scores)
        if self.grid is not None:
            rest = zip(self.grid.values, self.grid.alphas, self.grid.means, strict=True)
            for value, alphas, means in rest:
                if value != self.grid.chosen:
                    ax.plot(drawn_alphas(alphas), means, color="0.8", linewidth=0.8, zorder=1)
            ax.lines[-1].set_label(f"other {self.grid.name}")
            low, high = np.nanmin(mean - error), np.nanmax(np.concatenate([*self.grid.means, mean + error]))
            ax.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))  # bad ones may be far below
        if self.scores.shape[1] > 1:
            ax.fill_between(self._x, mean - error, mean + error, color=INK, alpha=0.13, linewidth=0, label="± 1 s.e.")
        ax.plot(self._x, mean, color=INK, linewidth=1.4, marker="o", markersize=2.5, label=f"mean of {self._folds}")
        marks: dict[str, Any] = {"linestyle": "none", "color": "#D55E00", "markersize": 6, "zorder": 4}
        ax.plot(self._x[best], mean[best], marker="o", label="best mean", **marks)
        if self.scores.shape[1] > 1:
            around = {**marks, "marker": "s", "markersize": 9, "markerfacecolor": "none"}  # it may be the best one
            ax.plot(self._x[simplest], mean[simplest], label="1 s.e. rule", **around)
        self._mark(ax)
        zero = f" (0 is drawn at {self._x[-1]:.1g})" if np.min(self.alphas) == 0.0 else ""
        ax.set(xscale="log", xlabel=f"alpha{zero}", ylabel=self.score_name)
        plain(ax)
        beside.set_axis_off()
        beside.legend(*ax.get_legend_handles_labels(), loc="upper left", fontsize=8, frameon=False, borderaxespad=0.2)

    @property
    def _folds(self) -> str:
        count = self.scores.shape[1]
        return f"{count} folds" if count > 1 else "one fold"

    def _mark(self, ax: Axes) -> None:
        """A vertical line at the chosen alpha."""
        ax.axvline(
            self._x[self._chosen], color=INK, linestyle="--", linewidth=1.0, zorder=1, label=f"chosen: {self.alpha:.3g}"
        )

    def _frame(self, ax: Axes) -> None:
        """From the largest alpha, on the left, to the smallest."""
        if len(self._x) > 1:
            margin = (self._x[0] / self._x[-1]) ** 0.012  # markers at the ends stay inside
            ax.set_xlim(self._x[0] * margin, self._x[-1] / margin)

    def _top_axis(self, ax: Axes) -> None:
        """The degrees of freedom at some of the alphas."""
        if self.df is None or np.isnan(self.df).all():  # the loss is no likelihood
            return
        from matplotlib.ticker import NullLocator

        top = ax.secondary_xaxis("top")
        some = np.unique(np.linspace(0, len(self._x) - 1, TICKS).round().astype(int))
        top.xaxis.set_minor_locator(NullLocator())
        top.set_xticks(self._x[some], [f"{self.df[k]:.3g}" for k in some])
        top.set_xlabel("degrees of freedom", fontsize=8, color=INK)
        top.tick_params(labelsize=8, colors=INK)


def _times_of(estimator: BaseEstimator, values: int) -> np.ndarray | None:
    """The times at which the curves of a trend have so many values; None for other models.

    Models saved by 0.2 have values at the times with a target only, which are the knots.
    """
    curve = getattr(estimator, "_curve", None)
    known = [] if curve is None else [estimator.times_, curve.knots]
    return next((times for times in known if len(times) == values), None)
