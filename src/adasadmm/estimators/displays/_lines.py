"""Lines of coefficients: which to draw, their colours by cluster, and their labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._figures import GREY, INK, PALETTE
from ._labels import Label, shared

__all__ = ["colours_of", "drawn_lines", "labels_of"]

MOST_LINES = 200
MOST_LABELS = 12
MOST_NAMED = 30  # lines; of more, the clusters are labelled

Names = Sequence[str] | np.ndarray | None


def drawn_lines(coefs: np.ndarray, clusters: np.ndarray, colours: list[str]) -> np.ndarray:
    """The coefficients to draw: all, or some of each coloured cluster, evenly by their ends, and the largest others."""
    size = np.max(np.abs(coefs), axis=0, initial=0.0)
    order = np.argsort(-size, kind="stable")
    if len(order) <= MOST_LINES:
        return order
    kept = []
    for k in np.unique(clusters[[color != GREY for color in colours]]):
        part = np.flatnonzero(clusters == k)
        part = part[np.argsort(coefs[-1, part], kind="stable")]
        kept.append(part[_evenly(len(part), MOST_LINES // len(PALETTE))])
    first = np.concatenate([np.empty(0, dtype=int), *kept])
    others = order[~np.isin(order, first)][: MOST_LINES - len(first)]
    return np.concatenate([first, others])


def _evenly(n: int, most: int) -> np.ndarray:
    """At most ``most`` of n positions, including the first and the last."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def colours_of(values: np.ndarray, clusters: np.ndarray) -> list[str]:
    """A colour for each coefficient: those of the clusters that weigh most, and grey for all others and for zeros.

    Parameters
    ----------
    values : ndarray of shape (d,)
        The coefficients at the chosen strength.
    clusters : ndarray of shape (d,)
        The cluster of each, a whole number.
    """
    weight = np.bincount(clusters, weights=np.abs(values))
    heaviest = np.argsort(-weight, kind="stable")[: len(PALETTE)]
    colours = {int(k): PALETTE[rank] for rank, k in enumerate(heaviest) if weight[k] > 0.0}
    return [colours.get(int(k), GREY) for k in clusters]


def labels_of(ends: np.ndarray, names: Names, clusters: np.ndarray, colours: list[str]) -> list[Label]:
    """Labels at the ends of lines, the farthest from 0 first.

    Lines that end together share a label. Of many lines, each cluster of a colour has one label, at its mean height.
    """
    if len(ends) > MOST_NAMED:
        coloured = [np.flatnonzero(clusters == k) for k in np.unique(clusters[[c != GREY for c in colours]])]
        labels = [(float(ends[part].mean()), part) for part in coloured]
    else:
        labels = [(float(end), np.flatnonzero(ends == end)) for end in np.unique(ends) if end != 0.0]
    labels.sort(key=lambda label: -abs(label[0]))
    found = []
    for height, part in labels[:MOST_LABELS]:
        first = int(part[np.argmax(np.abs(ends[part]))])
        color = INK if colours[first] == GREY else colours[first]
        found.append(Label(height, shared(part, first, names), color))
    return found
