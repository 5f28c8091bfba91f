"""Plot of a fit against time: how far the objective is from the optimum, and what is proved about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ...certificates.trace import Trace
from ._figures import INK, PALETTE, axes_or_new, figure_of, model_of, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ConvergenceDisplay"]

STYLES: dict[str, Any] = {"objective": "-", "relative duality gap": (0, (3, 1.5))}
ONE_POINT = (
    "The search started this fit at its solution. PathDisplay shows the search,\n"
    "and a fit with alpha={:.3g} outside of a search shows its course."
)
FLOOR = 1e-16  # smaller distances are rounding, and a logarithmic axis has no 0


class ConvergenceDisplay:
    """Plot of a fit: the distance of the objective to its lower bound, and the relative duality gap.

    The distance is ``(objective - bound) / |last objective|``, where the bound is the best lower bound of the optimum
    that the run has proved. The distance to the optimum is not larger. For stochastic solvers, whose iterates keep
    moving, the objective is that of the mean of the iterates. If no bound is known, the plot shows the objective
    itself. The relative duality gap is shown where the run computed it: with a ``tol``, at each point of the trace.

    Create it with `from_estimator`, or from traces, for example those of several results of `solve`.

    Parameters
    ----------
    traces : list of Trace
        Traces to plot, such as ``result.trace`` or ``estimator.trace_``.
    labels : list of str
        Label of each trace, shown in the legend if there are several traces.
    x : {"epoch", "seconds", "iteration"}, default="epoch"
        Column of the trace on the horizontal axis.
    lower_bounds : list of float, default=None
        Lower bounds of the optimum of each trace, such as ``result.certificate.dual``, in addition to those in the
        traces.
    all_rows : bool, default=False
        Whether the solver uses all rows in each iteration (``solver.uses_all_rows``). An epoch is then an iteration,
        the axis is called so, and the objective is that of the iterate instead of the mean.
    note : str, default=""
        A sentence above the plot.

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
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'iteration'
    """

    def __init__(
        self,
        traces: list[Trace],
        labels: list[str],
        x: str = "epoch",
        *,
        lower_bounds: Sequence[float] | None = None,
        all_rows: bool = False,
        note: str = "",
    ) -> None:
        self.traces, self.labels, self.x = traces, labels, x
        self.lower_bounds, self.all_rows, self.note = lower_bounds, all_rows, note

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, x: str = "epoch", ax: Axes | None = None
    ) -> ConvergenceDisplay:
        """Plot the course of a fit, with a colour for each class or channel if there are several.

        The last fit of a search starts from the path and may end at once. A note above the plot then says how to see
        the search, or the course of a fit with the chosen strength.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator of this package.
        x : {"epoch", "seconds", "iteration"}, default="epoch"
            Column of the trace on the horizontal axis.
        ax : matplotlib Axes, default=None
            Axes to draw on. None creates a new figure.

        Returns
        -------
        ConvergenceDisplay
        """
        estimator = model_of(estimator)
        check_is_fitted(estimator, "trace_")
        traces = estimator.trace_ if isinstance(estimator.trace_, list) else [estimator.trace_]
        solvers = estimator.solver_ if isinstance(estimator.solver_, list) else [estimator.solver_]
        classes = getattr(estimator, "classes_", ())
        kind = "class" if len(classes) == len(traces) else "output"
        labels = [f"{kind} {name}" for name in (classes if kind == "class" else range(len(traces)))]
        bounds = [_proved(result) for result in getattr(estimator, "_results", [])]
        all_rows = all(solver.uses_all_rows for solver in solvers)
        found = bounds if len(bounds) == len(traces) else None
        note = ONE_POINT.format(estimator.alpha_) if _ends_at_once(estimator, traces) else ""
        return cls(traces, labels, x, lower_bounds=found, all_rows=all_rows, note=note).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw the plot on the given axes, or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        ConvergenceDisplay
        """
        if self.x not in ("epoch", "seconds", "iteration"):
            raise ValueError(f'x must be "epoch", "seconds" or "iteration", got {self.x!r}')
        ax = self.ax_ = axes_or_new(ax, (6.4, 4.0))
        self.figure_ = figure_of(ax)
        bounds = [self._bound(k) for k in range(len(self.traces))]
        proved = all(np.isfinite(bounds))
        for k, (trace, label) in enumerate(zip(self.traces, self.labels, strict=True)):
            self._plot_trace(ax, trace, bounds[k] if proved else None, self._colour(k), label)
        if all(np.min(np.asarray(line.get_ydata(), dtype=float), initial=1.0) > 0.0 for line in ax.lines):
            ax.set_yscale("log")
        name = "iteration" if self.x == "epoch" and self.all_rows else self.x
        ax.set(xlabel=name, ylabel="relative to the objective" if proved else self._column.replace("_", " of the "))
        if self.note:
            ax.set_title(self.note, fontsize=8, color=INK)
        plain(ax)
        self._legend(ax, proved)
        return self

    def _bound(self, k: int) -> float:
        """The best lower bound that is known for a trace; minus infinity if there is none."""
        known = [-np.inf if self.lower_bounds is None else self.lower_bounds[k]]
        if "lower_bound" in self.traces[k]:
            known += list(self.traces[k]["lower_bound"])
        return max((bound for bound in known if not np.isnan(bound)), default=-np.inf)

    @property
    def _column(self) -> str:
        return "objective" if self.all_rows else "objective_mean"

    def _colour(self, k: int) -> Any:
        """A colour for a trace: of the palette, or of a scale if there are more traces than colours."""
        if len(self.traces) <= len(PALETTE):
            return PALETTE[k]
        from matplotlib import colormaps

        return colormaps["viridis"](0.9 * k / (len(self.traces) - 1))

    def _plot_trace(self, ax: Axes, trace: Trace, bound: float | None, color: Any, label: str) -> None:
        """Draw the objective, less the bound if there is one, and the gap where it is known."""
        x, objective = trace[self.x], np.asarray(trace[self._column], dtype=float)
        marks: dict[str, Any] = {"marker": "o", "markersize": 3.5} if len(x) <= 40 else {}
        if bound is not None:
            scale = abs(objective[-1]) or 1.0
            objective = np.maximum((objective - bound) / scale, FLOOR)
        ax.plot(x, objective, color=color, linestyle=STYLES["objective"], linewidth=1.6, label=label, **marks)
        gap = np.asarray(trace["relative_gap"], dtype=float) if "relative_gap" in trace else np.array([np.nan])
        known = np.isfinite(gap)
        if bound is None or not known.any():
            return
        marks = marks | {"markerfacecolor": "white"} if marks else {}
        style = STYLES["relative duality gap"]
        gap = np.maximum(gap[known], FLOOR)
        ax.plot(x[known], gap, color=color, linestyle=style, linewidth=1.2, label=f"_{label}, gap", **marks)

    def _legend(self, ax: Axes, proved: bool) -> None:
        """Name the kinds of lines, where there are two, and the traces, where there are several."""
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        if self.x != "seconds":
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if max(len(trace[self.x]) for trace in self.traces) == 1:  # a direct method, or a start at the optimum
            ax.set_xlim(0.0, 2.0 * max(float(trace[self.x][0]) for trace in self.traces))
        several = len(self.traces) > 1
        color = INK if several else PALETTE[0]
        objective = self._column.replace("_", " of the ")
        names = {"objective": f"{objective} - lower bound", "relative duality gap": "relative duality gap"}
        shown = [name for name in names if name == "objective" or len(ax.lines) > len(self.traces)]
        kinds = [Line2D([], [], color=color, linestyle=STYLES[name], label=names[name]) for name in shown]
        if proved:
            ax.add_artist(ax.legend(handles=kinds, loc="upper right", fontsize=8, frameon=False))
        if several:
            lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
            rows = {"fontsize": 8, "frameon": False, "ncols": 1 + (len(lines) - 1) // 12}
            ax.legend(handles=lines, loc="upper left", bbox_to_anchor=(1.01, 1.0), **rows)


def _ends_at_once(estimator: BaseEstimator, traces: list[Trace]) -> bool:
    """Whether the last fit of a search has nothing but its start to show."""
    return hasattr(estimator, "cv_results_") and max(len(trace["iteration"]) for trace in traces) == 1


def _proved(result: Any) -> float:
    """The lower bound in the certificate of a result; minus infinity if it has none."""
    return -np.inf if result.certificate is None else float(result.certificate.dual)
