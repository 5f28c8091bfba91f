"""Columns of a data frame as arrays, and what a pass over blocks of rows collects from them.

narwhals reads frames of pandas, polars and Arrow alike.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

__all__ = ["Measures", "Moments", "Table", "Values", "listed", "plain_value"]

MOST_NAMED = 5  # values in a message
MOST_COLUMNS = 10
EXACT = 2.0**53  # columns of numbers are read as floats; up to here whole numbers are exact


def plain_value(value: Any) -> Any:
    """A level as a number, a boolean or a string of Python."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, float)) or value is None else str(value)


def listed(values: Sequence[Any], most: int = MOST_NAMED) -> str:
    """The first of the values as text."""
    return ", ".join(map(repr, values[:most])) + (", ..." if len(values) > most else "")


class Table:
    """A data frame; its columns by name."""

    def __init__(self, frame: Any) -> None:
        try:
            self.frame = nw.from_native(frame, eager_only=True)
        except TypeError:
            raise TypeError(
                "X must be a data frame of pandas, polars or Arrow, because terms name its columns; "
                f"got {type(frame).__name__}"
            ) from None
        self.library = nw.get_native_namespace(frame).__name__
        self.codes: dict[int, tuple[list, np.ndarray]] = {}  # by the identity of a list of levels, which is kept

    def __len__(self) -> int:
        return len(self.frame)

    def check_columns(self, columns: tuple[str, ...], term: str) -> None:
        """Raise ``ValueError`` if the frame lacks a column of the term."""
        known = self.frame.columns
        for column in columns:
            if column in known:
                continue
            near = difflib.get_close_matches(column, [str(name) for name in known], 1)
            named = ", ".join(map(str, known[:MOST_COLUMNS])) + (", ..." if len(known) > MOST_COLUMNS else "")
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{term} names {column!r}, which is not a column of X: {named}.{hint}")

    def check_numbers(self, column: str, term: str) -> None:
        """Raise ``ValueError`` unless the column contains numbers or booleans."""
        kind = self.frame[column].dtype
        if not (kind.is_numeric() or kind == nw.Boolean):
            raise ValueError(
                f"{term} needs numbers, but column {column!r} has the type {kind}: convert it, or use terms.ordered or "
                "terms.nominal"
            )

    def numbers(self, column: str, term: str) -> np.ndarray:
        """The numbers of a column; NaN where one is missing."""
        self.check_numbers(column, term)
        found = self.frame[column].cast(nw.Float64).to_numpy().astype(np.float64)
        if np.isinf(found).any():
            raise ValueError(f"{term}: column {column!r} contains infinity, in row {int(np.isinf(found).argmax())}")
        return found

    def values(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        """The values of a column, and which of them are missing."""
        series = self.frame[column]
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            try:
                found = series.cast(nw.Float64).to_numpy().astype(np.float64)
            except ValueError as error:  # Arrow does not round large integers
                raise ValueError(f"column {column!r}: {error}; convert the column to text") from None
            return found, np.isnan(found)
        missing, values = series.is_null().to_numpy().astype(bool), series.to_list()
        if series.dtype != nw.String:
            values = [plain_value(value) for value in values]
        found = np.empty(len(values), dtype=object)
        found[:] = values
        return found, missing

    def categories(self, column: str) -> list | None:
        """The categories of a categorical column in their order; None for other columns."""
        series = self.frame[column]
        if series.dtype == nw.Categorical or series.dtype == nw.Enum:
            return [plain_value(value) for value in series.cat.get_categories().to_list()]
        return None


class Measures(NamedTuple):
    """The weight of each row of a table in the fit, and its exposure."""

    weight: np.ndarray
    exposure: np.ndarray


class Values:
    """The distinct values of a column, with the number of rows of each, and the categories of its type."""

    def __init__(self, column: str, label: str) -> None:
        self.column, self.label = column, label
        self.categories: list | None = None
        self._numbers, self._rows = np.empty(0), np.empty(0, dtype=np.int64)
        self._others: dict[Any, int] = {}

    def add(self, table: Table, measures: Measures) -> None:
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
        counts = dict(zip(levels, self._rows.tolist(), strict=True)) | self._others
        inexact = [value for value in counts if isinstance(value, (int, float)) and abs(value) >= EXACT]
        if inexact:
            raise ValueError(
                f"{self.label}: column {self.column!r} has numbers such as {inexact[0]}, and those from 2^53 on are "
                "rounded, which would merge levels: convert the column to text"
            )
        return counts

    def in_order(self, more: Iterable[Any] = ()) -> list:
        """The values, and others without a row, in the order of the categories if the column has them, or sorted."""
        if self.categories is not None:
            return list(dict.fromkeys([*self.categories, *more]))
        return sorted(dict.fromkeys([*self.counts(), *more]), key=_by_type_and_size)

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """The smallest numbers with at least these shares of the rows up to them."""
        upto = np.cumsum(self._rows)
        return self._numbers[np.searchsorted(upto, shares * upto[-1] * (1.0 - 1e-14))]

    def span(self) -> tuple[float, float]:
        """The smallest and the largest number."""
        if not len(self._numbers):
            raise ValueError(f"{self.label}: column {self.column!r} has no numbers")
        return float(self._numbers[0]), float(self._numbers[-1])


def _by_type_and_size(level: Any) -> tuple:
    """Numbers by value, then texts."""
    return (1, 0.0, level) if isinstance(level, str) else (0, float(level), "")


class Moments:
    """Of a column of numbers the rows with a number, their weight, mean and sum of squares about it; and missing rows.

    Blocks of rows are added by Chan's formula.
    """

    def __init__(self) -> None:
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

    def deviation(self) -> float:
        """The standard deviation; 1 for a constant column, which keeps its coefficient of 0."""
        spread = np.sqrt(self.squares / self.weight)
        return float(spread) if spread > 1e-12 * abs(self.mean) else 1.0
