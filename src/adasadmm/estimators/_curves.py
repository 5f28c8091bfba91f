"""Piecewise polynomials through values at knots, as trend filtering fits them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.states import is_indices, is_numbers

__all__ = ["Curve", "places"]


class Curve(NamedTuple):
    """A piecewise polynomial: its values at the knots, and where one piece ends and the next begins.

    Row r of the matrix of differences of order ``degree + 1`` involves the knots r to r + degree + 1. Where ``breaks``
    does not contain r, these knots lie on one polynomial. So the piece after break r begins at knot r + 1, the piece
    before it ends at knot r + degree, and both pass through the knots between. Of these, the last is where the curve
    changes from one piece to the other: this is the interpolation by falling factorial functions (Wang, Smola and
    Tibshirani, The falling factorial basis and its statistical applications, 2014).
    """

    knots: np.ndarray  # strictly increasing, more than ``degree`` of them
    values: np.ndarray
    breaks: np.ndarray  # the rows whose difference is not 0
    degree: int

    @property
    def change_points(self) -> np.ndarray:
        """Where each piece but the first begins."""
        return self.knots[self.breaks + max(self.degree, 1)]

    def is_consistent(self) -> bool:
        """Whether the arrays belong together, as those of a damaged file may not."""
        n, breaks = len(self.knots), self.breaks
        return (
            type(self.degree) is int
            and n > self.degree >= 0
            and is_numbers(self.knots, (n,))
            and is_numbers(self.values, (n,))
            and bool((np.diff(self.knots) > 0.0).all())
            and is_indices(breaks, (len(breaks),), n - self.degree - 1)
            and bool((np.diff(breaks) > 0).all())
        )

    def on(self, times: np.ndarray) -> np.ndarray:
        """The values at times that contain all knots; if there are no others, a copy of those at the knots."""
        return self.at(times) if len(times) > len(self.knots) else self.values.copy()

    def at(self, t: np.ndarray, place: np.ndarray | None = None) -> np.ndarray:
        """The values at any points; outside the knots those of the first and of the last polynomial.

        ``place`` are the `places` of these points, if they are known.
        """
        place = places(self.knots, t) if place is None else place
        if self.degree == 0:  # a piece has one value
            return self.values[place]
        nodes = self._nodes(t, place)
        out = _interpolated(self.knots[nodes], self.values[nodes], t)
        return np.where(self.knots[place] == t, self.values[place], out)  # at a knot without rounding

    def _nodes(self, t: np.ndarray, place: np.ndarray) -> np.ndarray:
        """For each point, ``degree + 1`` knots of its piece: neighbours, or outside all knots the most distant ones."""
        k, breaks = self.degree, self.breaks
        piece = np.searchsorted(self.change_points, t, side="right")
        first = np.append(0, breaks + 1)[piece]
        last = np.append(breaks + k, len(self.knots) - 1)[piece]
        start = np.clip(place - max(k - 1, 0) // 2, first, last - k)
        step = np.arange(k + 1)
        outside = (t < self.knots[0]) | (t > self.knots[-1])
        # Close knots would magnify rounding errors when the polynomial is continued far beyond them.
        spread = first[:, None] + step * (last - first)[:, None] // max(k, 1)
        return np.where(outside[:, None], spread, start[:, None] + step)


def places(knots: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The last knot that is not behind each point; the first one for points before all knots."""
    return np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 1)


def _interpolated(x: np.ndarray, values: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The polynomial through the points of each row at t, by Neville's scheme."""
    found = values.copy()
    for level in range(1, x.shape[1]):
        left, right = x[:, :-level], x[:, level:]
        at = t[:, None]
        found = ((at - right) * found[:, :-1] + (left - at) * found[:, 1:]) / (left - right)
    return found[:, 0]
