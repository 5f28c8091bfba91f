"""Labels that do not overlap: in a column beside the ends of lines, or around points in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from ._figures import GREY, INK, figure_of, laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

__all__ = ["Label", "label_column", "label_points", "shared", "shortened", "spread", "width_of"]

FONT_SIZE = 7.5
LONGEST = 28  # characters of a label
AWAY, NEAR = (2, 6, 12, 22), 6  # distances of labels from their points in pixels; a line leads to far ones
APART = np.array([5.0, 1.0])  # pixels between labels
SIDES = (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)
ROUNDING = 1.06  # letters are rounded to pixels, so that a text may be wider at another resolution
LINE = 1.3  # height of a line of text, in units of the font size


class Label(NamedTuple):
    """A label at the end of one line, or of several lines."""

    height: float
    text: str
    color: str


class Place(NamedTuple):
    """A place for a label beside a point."""

    side: tuple[int, int]  # to the right and up: -1, 0 or 1
    shift: float  # pixels
    is_far: bool
    box: np.ndarray  # two corners, in pixels


def shortened(name: object) -> str:
    """A name that is not too long for a label."""
    text = str(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def shared(members: np.ndarray, first: int, names: Sequence[str] | np.ndarray | None) -> str:
    """One label for several features: the first and the last of a run of neighbours, or one and how many others."""

    def name(k: int) -> str:
        return shortened(f"x{k}" if names is None else names[k])

    if len(members) == 1:
        return name(first)
    if names is None and len(members) > 2 and np.array_equal(members, np.arange(members[0], members[-1] + 1)):
        return f"{name(members[0])} to {name(members[-1])}"
    return f"{name(first)} +{len(members) - 1}"


def width_of(ax: Axes, texts: Sequence[str]) -> float:
    """The width of the widest text, in inches."""
    return max((_size(ax, text)[0] for text in texts), default=0.0) / figure_of(ax).dpi


def spread(wanted: np.ndarray, least: float, low: float, high: float) -> np.ndarray:
    """The positions closest to the wanted ones, in the least squares sense, at this distance from each other.

    Subtracting k times the distance from the k-th position turns the distances into an order: isotonic regression.
    """
    order = np.argsort(wanted, kind="stable")
    steps = least * np.arange(len(wanted))
    found = isotonic_regression(wanted[order] - steps, y_min=low, y_max=max(low, high - steps[-1])) + steps
    positions = np.empty(len(wanted))
    positions[order] = found
    return positions


def label_column(ax: Axes, beside: Axes, x: float, labels: Sequence[Label]) -> list[Text]:
    """Write labels of lines that end at x in the axes ``beside``, at their heights or as near as there is room.

    A thin line leads from each height to its label. If there are more labels than room, the first ones are written.
    """
    beside.set_axis_off()
    beside.set(xlim=(0, 1), ylim=(0, 1))
    laid_out(ax)
    box, inch = beside.get_window_extent(), figure_of(ax).dpi
    line = LINE * FONT_SIZE * inch / 72 / box.height
    labels = labels[: max(1, int(1.0 / line))]
    if not labels:
        return []
    ends = ax.transData.transform([(x, label.height) for label in labels])
    left, at_line = (ends[0, 0] - box.x0) / box.width, (ends[:, 1] - box.y0) / box.height
    at_text = spread(at_line, line, line / 2, 1.0 - line / 2)
    start = 0.12 * inch / box.width
    written = []
    for label, y, y_text in zip(labels, at_line, at_text, strict=True):
        beside.plot([left, 0.8 * start], [y, y_text], color=GREY, linewidth=0.6, clip_on=False)
        written.append(beside.text(start, y_text, label.text, color=label.color, fontsize=FONT_SIZE, va="center"))
    return written


def label_points(ax: Axes, points: np.ndarray, texts: dict[int, str], radius: float) -> list[Text]:
    """Write the labels of some points beside them, where they cover neither a point nor another label.

    A label without a free place nearby is left out. Labels come in the order of ``texts``, the most important first.

    Parameters
    ----------
    ax : Axes
    points : ndarray of shape (d, 2)
    texts : dict
        The label of some of the points.
    radius : float
        The radius of all points, in points of type.
    """
    from matplotlib.patheffects import withStroke

    laid_out(ax)
    dots, pixel = ax.transData.transform(points), 72 / figure_of(ax).dpi
    lead = {"arrowstyle": "-", "color": "0.5", "linewidth": 0.5, "shrinkA": 0.0, "shrinkB": radius}
    taken: list[np.ndarray] = []
    written: list[Text] = []
    for index, text in texts.items():
        size = _size(ax, text)
        found = _free_place(dots, dots[index], size, (radius + 1.0) / pixel, [_corners(ax), *taken])
        if found is None:
            continue
        taken.append(found.box)
        right, up = found.side
        look: dict[str, Any] = {"textcoords": "offset points", "fontsize": FONT_SIZE}
        look |= {"ha": ("center", "left", "right")[right], "va": ("center", "bottom", "top")[up]}
        shift = (found.shift * right * pixel, found.shift * up * pixel)
        label = ax.annotate(text, tuple(points[index]), shift, arrowprops=lead if found.is_far else None, **look)
        label.set(color=INK, in_layout=False, zorder=4, path_effects=[withStroke(linewidth=1.5, foreground="white")])
        written.append(label)
    return written


def _size(ax: Axes, text: str) -> np.ndarray:
    """Width and height of a text, in pixels, at any resolution."""
    probe = ax.text(0, 0, text, fontsize=FONT_SIZE)
    box = probe.get_window_extent()
    probe.remove()
    return ROUNDING * np.array([box.width, box.height])


def _corners(ax: Axes) -> np.ndarray:
    """The lower left and the upper right corner of axes, in pixels."""
    return np.asarray(ax.get_window_extent().get_points()).reshape(-1)


def _free_place(
    dots: np.ndarray, dot: np.ndarray, size: np.ndarray, clear: float, boxes: list[np.ndarray]
) -> Place | None:
    """The first free place around a point, None if there is none.

    A place is free if it is inside the first box, the axes, overlaps none of the others, and is clear of all points.
    """
    frame, taken = boxes[0], np.reshape(boxes[1:], (-1, 4))
    for away in AWAY:
        for side in SIDES:
            shift = clear + away if 0 in side else 0.7 * clear + away
            corner = dot + shift * np.array(side) + (np.array(side) - 1) / 2 * size
            ends = corner + size
            inside = (corner >= frame[:2]).all() and (ends <= frame[2:]).all()
            covered = ((dots > corner - clear) & (dots < ends + clear)).all(axis=1)
            meets = ((taken[:, :2] < ends + APART) & (taken[:, 2:] > corner - APART)).all(axis=1)
            if inside and not covered.any() and not meets.any():
                return Place(side, shift, away > NEAR, np.concatenate([corner, ends]))
    return None
