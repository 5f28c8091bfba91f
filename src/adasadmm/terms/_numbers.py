"""The block of numbers in a design: columns that are penalised in units of their standard deviation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._columns import Moments
from ._given import term_name
from ._slots import Slot
from ._table import Table

__all__ = ["Numbers", "add_moments", "indicator", "numbers_of"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """The block of a linear or group term: columns of numbers, then indicators of missing values.

    ``known`` is the number of rows in which a column has a number.
    """

    kind: str
    name: str
    columns: tuple[str, ...]
    penalty: str
    missing: str
    mean: np.ndarray
    scale: np.ndarray
    indicated: tuple[int, ...]
    known: np.ndarray
    strength: float = 1.0
    weights: np.ndarray | None = None

    @property
    def label(self) -> str:
        return f"terms.{self.kind}"

    @property
    def width(self) -> int:
        return len(self.columns) + len(self.indicated)

    @property
    def names(self) -> list[str]:
        return [*self.columns, *(indicator(self.columns[k]) for k in self.indicated)]

    def slots(self, table: Table, units: tuple[np.ndarray, np.ndarray] | None = None) -> tuple[list[Slot], None]:
        """A slot for each column, in the units of the table or in others (centre and scale)."""
        table.check_columns(self.columns, self.label)
        read = [table.numbers(column, self.label) for column in self.columns]
        missing = [np.isnan(values) for values in read]
        if self.missing == "error":
            for column, lost in zip(self.columns, missing, strict=True):
                if lost.any():
                    raise ValueError(
                        f"{self.label}: column {column!r} has {int(lost.sum())} missing values, the first in row "
                        f'{int(lost.argmax())}; set missing="indicator" or missing="ignore", or fill them'
                    )
        filled = [
            np.where(lost, self.mean[k], values) for k, (values, lost) in enumerate(zip(read, missing, strict=True))
        ]
        filled += [missing[k].astype(float) for k in self.indicated]
        if units is not None:
            filled = [(values - centre) / scale for values, centre, scale in zip(filled, *units, strict=True)]
        kept = (np.where(values != 0.0, k, -1).astype(np.int32) for k, values in enumerate(filled))
        return [Slot(columns, values) for columns, values in zip(kept, filled, strict=True)], None

    @property
    def A(self) -> sp.csr_array:
        """A row for each penalised column, in units of its standard deviation."""
        count = 0 if self.penalty == "none" else self.width
        return sp.csr_array(sp.eye_array(count, self.width, format="csr"))

    def standard_weights(self) -> np.ndarray:
        """1 for each column; for a group the root of its size."""
        count = self.A.shape[0]
        return np.full(count, np.sqrt(count) if self.penalty == "group" else 1.0)

    def constraint_rows(self) -> sp.csr_array:
        return sp.csr_array((0, self.width))


def numbers_of(term: Any, moments: dict[str, Moments]) -> Numbers:
    """The block of a linear or group term, from the moments of its columns."""
    kind, columns, known = type(term).__name__, term.columns, [moments[column] for column in term.columns]
    for found in known:
        if found.weight <= 0.0:
            raise ValueError(f"terms.{kind}: column {found.column!r} has no number in a row with a weight")
    indicated = tuple(k for k, found in enumerate(known) if term.missing == "indicator" and found.missing)
    flags = [moments[indicator(columns[k])] for k in indicated]
    scale = np.array([_spread(found) for found in (*known, *flags)])
    mean, rows = (np.array([getattr(found, name) for found in (*known, *flags)]) for name in ("mean", "rows"))
    penalty = getattr(term, "penalty", "group")
    block = Numbers(kind, term_name(term), columns, penalty, term.missing, mean, scale, indicated, rows, term.strength)
    return block if getattr(term, "weights", None) is None else _with_weights(block, term.weights)


def indicator(column: str) -> str:
    """The name of the column that is 1 where a value is missing."""
    return f"{column}=(missing)"


def add_moments(term: Any, column: str, moments: dict[str, Moments], table: Table, weight: np.ndarray) -> None:
    """Add the rows of a table to the moments of a column of a term, and of the indicator of its missing values."""
    label = f"terms.{type(term).__name__}"
    table.check_columns((column,), label)
    values = table.numbers(column, label)
    moments[column].add(values, weight)
    moments[indicator(column)].add(np.isnan(values).astype(float), weight)


def _spread(found: Moments) -> float:
    """The standard deviation; 1 for a constant column, which keeps its coefficient of 0."""
    spread = np.sqrt(found.squares / found.weight)
    return float(spread) if spread > 1e-12 * abs(found.mean) else 1.0


def _with_weights(block: Numbers, given: tuple) -> Numbers:
    weights = np.full(block.width, np.nan)
    names = block.names
    for one, other, weight in given:
        if other is not None or one not in names:
            raise ValueError(
                f"weights of terms.linear must name a column in level_a and nothing in level_b, got {one!r} and "
                f"{other!r}; the columns are {', '.join(names)}"
            )
        weights[names.index(one)] = weight
    if np.isnan(weights).any():
        raise ValueError(f"weights of terms.linear lacks the column {names[int(np.isnan(weights).argmax())]!r}: add it")
    return replace(block, weights=weights)
