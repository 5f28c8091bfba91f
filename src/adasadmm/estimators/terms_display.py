"""A plot of the fitted terms of a model. It needs matplotlib (extra ``report``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from .. import terms as kinds
from ..terms.term import Block, Term
from ._terms import TermsModel, groups_of
from .displays._figures import model_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TermsDisplay"]

MOST_TICKS = 12
SHOWN = 0.98  # of the places on a map: others have the colours of the ends
PANEL = (4.0, 3.0)  # inches


class Panel(NamedTuple):
    """The data of one panel: ``places`` are the coordinates of the levels, ``sides`` the levels along each axis."""

    name: str
    drawing: str
    levels: list
    coefficients: np.ndarray
    groups: np.ndarray
    places: np.ndarray | None = None
    sides: tuple[list, ...] = ()


class TermsDisplay:
    """Plot of a fitted model of terms, with a panel for each term.

    Ordered factors are steps, with a line for each group of fused levels; nominal factors are bars, with a colour for
    each group; places are points or polygons on a map; interactions are images; numbers are bars.

    Parameters
    ----------
    panels : list of Panel
        What to draw. `from_estimator` makes them.
    polygons : mapping of level to array of shape (k, 2), default=None
        The outline of each place, for terms of `adasadmm.terms.spatial`.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The axes of the panels, after `plot`.
    figure_ : matplotlib Figure
        The figure that contains them.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np, pandas as pd
    >>> from adasadmm import TermsDisplay, TermsRegressor, terms
    >>> table = pd.DataFrame({"age": np.arange(60) % 20, "brand": list("abc") * 20})
    >>> model = TermsRegressor([terms.ordered("age"), terms.nominal("brand")]).fit(table, table["age"] > 9)
    >>> [ax.get_title() for ax in TermsDisplay.from_estimator(model).axes_]
    ['age', 'brand']
    """

    def __init__(self, panels: list[Panel], polygons: Mapping[Any, npt.ArrayLike] | None = None) -> None:
        self.panels, self.polygons = panels, polygons

    @classmethod
    def from_estimator(
        cls,
        estimator: TermsModel,
        *,
        terms: Sequence[str] | None = None,
        polygons: Mapping[Any, npt.ArrayLike] | None = None,
        index: int = 0,
        axes: Sequence[Axes] | None = None,
    ) -> TermsDisplay:
        """Plot the terms of a fitted estimator.

        Parameters
        ----------
        estimator : TermsRegressor, TermsClassifier or Pipeline that ends with one
            A fitted estimator.
        terms : sequence of str, default=None
            Names of the terms to draw. None draws all.
        polygons : mapping of level to array of shape (k, 2), default=None
            The outline of each place; places without one are not drawn. None draws points.
        index : int, default=0
            Row of ``coef_`` to draw, if there are more than two classes.
        axes : sequence of matplotlib Axes, default=None
            Axes to draw on, one for each term. None creates a new figure.

        Returns
        -------
        TermsDisplay
        """
        estimator = model_of(estimator)
        check_is_fitted(estimator)
        known = [block.name for block in estimator._design.blocks]
        for name in terms or ():
            if name not in known:
                raise ValueError(f"terms names {name!r}, which is not a term of the model: {', '.join(known)}")
        panels = [
            _panel(estimator, block, place, index)
            for block, place in estimator._design.placed()
            if terms is None or block.name in terms
        ]
        return cls(panels, polygons).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> TermsDisplay:
        """Draw the panels on the given axes, or in a new figure."""
        if axes is not None and len(axes) != len(self.panels):
            raise ValueError(f"axes must contain one for each of the {len(self.panels)} terms, got {len(axes)}")
        self.axes_ = np.array(_new_axes(len(self.panels)) if axes is None else list(axes), dtype=object)
        self.figure_ = self.axes_[0].figure
        for ax, panel in zip(self.axes_, self.panels, strict=True):
            self._draw(panel, ax)
            ax.set_title(panel.name)
        return self

    def _draw(self, panel: Panel, ax: Axes) -> None:
        if panel.drawing == "map" and (panel.places is not None or self.polygons is not None):
            _draw_map(panel, ax, self.polygons)
        else:
            DRAWN.get(panel.drawing, _draw_coloured_bars)(panel, ax)


def _panel(model: TermsModel, block: Block, place: slice, index: int) -> Panel:
    coef = np.atleast_2d(model._dense_coef())[index, place] * block.units(centred=True)[1]
    drawing, groups = getattr(kinds, block.kind, Term).drawing, groups_of(model, block, place)[index]
    labels, values = block.labels(), block.coefficients(coef)
    return Panel(block.name, drawing, labels.names, values, groups, labels.places, labels.sides)


def _new_axes(count: int) -> list[Axes]:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('displays need matplotlib: pip install "adasadmm[report]"') from None
    columns = min(count, 3)
    rows = -(-count // columns)
    size = (PANEL[0] * columns, PANEL[1] * rows)
    made = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")[1].reshape(-1)
    for unused in made[count:]:
        unused.set_visible(False)
    return list(made[:count])


def _draw_steps(panel: Panel, ax: Axes) -> None:
    """A horizontal line for each run of levels with the same group, joined by thin vertical lines."""
    numeric = all(isinstance(level, (int, float)) for level in panel.levels)
    x = np.array(panel.levels, dtype=float) if numeric else np.arange(len(panel.levels), dtype=float)
    middles = (x[1:] + x[:-1]) / 2.0
    edges = np.concatenate([[x[0] - 0.5], middles, [x[-1] + 0.5]])
    ax.stairs(panel.coefficients, edges, baseline=None, color="0.6", linewidth=0.8)
    starts = np.flatnonzero(np.append(True, np.diff(panel.groups) != 0))
    for start, end in zip(starts, [*starts[1:], len(x)], strict=True):
        ax.hlines(panel.coefficients[start], edges[start], edges[end], color="C0", linewidth=2.5)
    if not numeric:
        _label(ax, panel.levels)
    ax.set_ylabel("coefficient")


def _draw_coloured_bars(panel: Panel, ax: Axes) -> None:
    ax.bar(np.arange(len(panel.levels)), panel.coefficients, color=[f"C{int(group) % 10}" for group in panel.groups])
    _complete_bars(panel, ax, "coefficient")


def _draw_bars(panel: Panel, ax: Axes) -> None:
    ax.bar(np.arange(len(panel.levels)), panel.coefficients, color="C0")
    _complete_bars(panel, ax, "coefficient of a standard deviation")


def _complete_bars(panel: Panel, ax: Axes, quantity: str) -> None:
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    _label(ax, panel.levels)
    ax.set_ylabel(quantity)


def _draw_image(panel: Panel, ax: Axes) -> None:
    first, second = panel.sides
    most = float(np.abs(panel.coefficients).max()) or 1.0
    image = panel.coefficients.reshape(len(first), len(second))
    drawn = ax.imshow(image, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
    _label(ax, second)
    step = _step(first)
    ax.set_yticks(np.arange(0, len(first), step), [str(level) for level in first[::step]])
    ax.figure.colorbar(drawn, ax=ax, label="coefficient")


def _draw_map(panel: Panel, ax: Axes, polygons: Mapping[Any, npt.ArrayLike] | None) -> None:
    """Colours about the median of all places, because the base is one place among others."""
    middle = float(np.median(panel.coefficients))
    apart = np.abs(panel.coefficients - middle)
    most = float(np.quantile(apart, SHOWN) or apart.max() or 1.0)
    colours: dict[str, Any] = {"cmap": "RdBu_r", "clim": (middle - most, middle + most)}
    if polygons is None:
        assert panel.places is not None
        drawn: Any = ax.scatter(panel.places[:, 0], panel.places[:, 1], c=panel.coefficients, s=14, **colours)
    else:
        from matplotlib.collections import PolyCollection

        shown = [k for k, level in enumerate(panel.levels) if level in polygons]
        outlines = [np.asarray(polygons[panel.levels[k]], dtype=float) for k in shown]
        drawn = PolyCollection(outlines, array=panel.coefficients[shown], edgecolors="0.5", linewidths=0.4, **colours)
        ax.add_collection(drawn)
        ax.autoscale_view()
    ax.set_aspect("equal")
    ax.figure.colorbar(drawn, ax=ax, label="coefficient", extend="both" if apart.max() > most else "neither")


def _label(ax: Axes, levels: list) -> None:
    """Names of the levels below the axis; of some of them, if they are many."""
    step = _step(levels)
    ax.set_xticks(np.arange(0, len(levels), step))
    ax.set_xticklabels([str(level) for level in levels[::step]], rotation=45, ha="right")


def _step(levels: list) -> int:
    return max(1, -(-len(levels) // MOST_TICKS))


DRAWN: dict[str, Callable[[Panel, Any], None]] = {"steps": _draw_steps, "image": _draw_image, "bars": _draw_bars}
