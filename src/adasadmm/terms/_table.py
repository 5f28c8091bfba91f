"""Columns of a data frame as arrays. narwhals reads frames of pandas, polars and Arrow alike."""

from __future__ import annotations

import difflib
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from ._given import plain_value

__all__ = ["Table"]

MOST_NAMED = 10


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
            listed = ", ".join(map(str, known[:MOST_NAMED])) + (", ..." if len(known) > MOST_NAMED else "")
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{term} names {column!r}, which is not a column of X: {listed}.{hint}")

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
        missing, listed = series.is_null().to_numpy().astype(bool), series.to_list()
        if series.dtype != nw.String:
            listed = [plain_value(value) for value in listed]
        found = np.empty(len(listed), dtype=object)
        found[:] = listed
        return found, missing

    def categories(self, column: str) -> list | None:
        """The categories of a categorical column in their order; None for other columns."""
        series = self.frame[column]
        if series.dtype == nw.Categorical or series.dtype == nw.Enum:
            return [plain_value(value) for value in series.cat.get_categories().to_list()]
        return None
