"""The totals over all rows of a source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Scanned", "Summary", "Tally"]

MAX_LABELS = 1000  # more distinct targets than this are taken for numbers, not for classes

Labels = dict[Any, tuple[int, float]]
Scanned = tuple[int, int, int, np.ndarray | None, np.ndarray | None]  # rows, features, entries, targets, weights


class Summary(NamedTuple):
    """The totals over all rows of a source, found by its first scan.

    Parameters
    ----------
    rows, features : int
        The shape of X.
    entries : int
        The number of stored values: rows times features for dense rows, the non-zeros for sparse rows.
    weight : float
        The sum of the sample weights; the number of rows if there are no weights.
    labels : dict or None
        The number of rows and the total weight of each distinct target; None if there are more than 1,000.
    skipped : int
        The number of bad rows that were left out.
    faults : tuple of str
        The descriptions of the first ten bad rows.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import sources
    >>> summary = sources.arrays(np.ones((3, 2)), [1, -1, 1]).summary
    >>> summary.rows, summary.features, summary.labels
    (3, 2, {-1: (1, 1.0), 1: (2, 2.0)})
    """

    rows: int
    features: int
    entries: int
    weight: float
    labels: Labels | None
    skipped: int
    faults: tuple[str, ...]


class Tally:
    """Running totals over the blocks of a scan."""

    def __init__(self) -> None:
        self.rows, self.features, self.entries, self.weight = 0, 0, 0, 0.0
        self.labels: Labels | None = {}

    def add(self, rows: int, features: int, entries: int, y: np.ndarray | None, weight: np.ndarray | None) -> None:
        self.rows += rows
        self.features = max(self.features, features)
        self.entries += entries
        self.weight += float(rows if weight is None else weight.sum())
        if self.labels is None or y is None:
            return
        if weight is None:
            values, counts = np.unique(y, return_counts=True)
            totals = counts
        else:
            values, places, counts = np.unique(y, return_inverse=True, return_counts=True)
            totals = np.bincount(places, weight, len(values))
        self._add_labels(zip(values.tolist(), counts, totals, strict=True))

    def _add_labels(self, found: Iterable[tuple[Any, int, float]]) -> None:
        assert self.labels is not None
        for value, count, weight in found:
            known = self.labels.get(value, (0, 0.0))
            self.labels[value] = known[0] + int(count), known[1] + float(weight)
        if len(self.labels) > MAX_LABELS:
            self.labels = None

    def join(self, other: Tally) -> None:
        """Add the totals of another tally, computed on a worker."""
        self.rows += other.rows
        self.features = max(self.features, other.features)
        self.entries += other.entries
        self.weight += other.weight
        if self.labels is None or other.labels is None:
            self.labels = None
        else:
            self._add_labels((value, *known) for value, known in other.labels.items())
