"""Statistics of the columns from one pass over the rows: distinct values of factors, moments of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._table import Table

__all__ = ["Moments", "Values"]


class Values:
    """The distinct values of a column in order, with the number of rows of each, and the categories of its type."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.categories: list | None = None
        self._numbers, self._rows = np.empty(0), np.empty(0, dtype=np.int64)
        self._others: dict[Any, int] = {}

    def add(self, table: Table) -> None:
        values, missing = table.values(self.column)
        values = values[~missing]
        if values.dtype == object:
            for value in values.tolist():
                self._others[value] = self._others.get(value, 0) + 1
        else:
            self._add_numbers(*np.unique(values, return_counts=True))
        declared = table.categories(self.column)
        if declared is not None:
            self.categories = list(dict.fromkeys([*(self.categories or []), *declared]))

    def _add_numbers(self, numbers: np.ndarray, rows: np.ndarray) -> None:
        if not len(self._numbers):
            self._numbers, self._rows = numbers, rows
            return
        self._numbers, place = np.unique(np.append(self._numbers, numbers), return_inverse=True)
        self._rows = np.bincount(place, weights=np.append(self._rows, rows)).astype(np.int64)

    def counts(self) -> dict[Any, int]:
        """The number of rows of each value; numbers without a fraction are integers."""
        levels = [int(number) if float(number).is_integer() else float(number) for number in self._numbers]
        return dict(zip(levels, self._rows.tolist(), strict=True)) | self._others

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """The smallest numbers with at least these shares of the rows up to them."""
        upto = np.cumsum(self._rows)
        return self._numbers[np.searchsorted(upto, shares * upto[-1] * (1.0 - 1e-14))]

    def span(self, label: str) -> tuple[float, float]:
        """The smallest and the largest number."""
        if not len(self._numbers):
            raise ValueError(f"{label}: column {self.column!r} has no numbers")
        return float(self._numbers[0]), float(self._numbers[-1])


class Moments:
    """Of a column of numbers the rows with a number, their weight, mean and sum of squares about it; and missing rows.

    Blocks of rows are added by Chan's formula.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self.rows, self.missing, self.weight, self.mean, self.squares = 0, 0, 0.0, 0.0, 0.0

    def add(self, values: np.ndarray, weight: np.ndarray) -> None:
        known = ~np.isnan(values)
        if not known.all():
            values, weight = values[known], weight[known]
        self.rows, self.missing = self.rows + len(values), self.missing + int((~known).sum())
        total = float(weight.sum())
        if total > 0.0:
            mean = float(weight @ values) / total
            apart, joint = mean - self.mean, self.weight + total
            self.squares += float(weight @ (values - mean) ** 2) + apart**2 * (self.weight * total / joint)
            self.mean += apart * (total / joint)
            self.weight = joint
