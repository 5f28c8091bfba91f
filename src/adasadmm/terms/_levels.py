"""The levels of a column: learnt from the rows of a fit, then numbers (codes) for the values of any rows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ._columns import Values
from ._given import plain_value
from ._table import Table

__all__ = ["AVERAGE", "MISSING", "OTHER", "Levels", "find_level", "learn_levels"]

AVERAGE = -1  # the code of a row that takes the mean effect of all levels
MISSING, OTHER = "(missing)", "(other)"
MOST_NAMED = 5
EXACT = 2.0**53  # columns of numbers are read as floats; up to here whole numbers are exact


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a factor, and how a value gets the number of its level.

    ``cuts`` are the upper ends of bands. ``places`` are the coordinates of the levels, by the columns ``coordinates``.
    """

    term: str
    column: str
    levels: list
    unknown: str
    missing: str
    base: int = 0
    cuts: np.ndarray | None = None
    coordinates: tuple[str, ...] = ()
    places: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.column, *self.coordinates

    def codes(self, table: Table) -> np.ndarray:
        """The number of the level of each row, or AVERAGE."""
        known = table.codes.get(id(self.levels))
        if known is None:
            known = table.codes[id(self.levels)] = self.levels, self._codes(table).astype(np.int32)
        return known[1]

    def _codes(self, table: Table) -> np.ndarray:
        table.check_columns((self.column,), self.term)
        if self.cuts is not None:
            values = table.numbers(self.column, self.term)
            missing = np.isnan(values)
            found = np.searchsorted(self.cuts, values, side="left")
            unknown = np.zeros(len(values), dtype=bool)
        else:
            values, missing = table.values(self.column)
            found = _positions(values, {level: k for k, level in enumerate(self.levels)})
            unknown = (found < 0) & ~missing
        if missing.any():
            found[missing] = self._code_of_missing(missing)
        if unknown.any():
            found[unknown] = self._codes_of_unknown(table, values, unknown)
        return found

    def _code_of_missing(self, missing: np.ndarray) -> int:
        if self.missing == "error":
            raise ValueError(
                f"{self.term}: column {self.column!r} has {int(missing.sum())} missing values, the first in row "
                f'{int(missing.argmax())}; set missing="level" or missing="ignore", or fill them'
            )
        return self.levels.index(MISSING) if self.missing == "level" else AVERAGE

    def _codes_of_unknown(self, table: Table, values: np.ndarray, unknown: np.ndarray) -> Any:
        """Codes for values that are no level, by the policy of the term."""
        if OTHER in self.levels:
            return self.levels.index(OTHER)
        if self.unknown == "base":
            return self.base
        if self.unknown == "ignore":
            return AVERAGE
        if self.unknown == "nearest" and self.places is not None:
            table.check_columns(self.coordinates, self.term)
            rows = np.column_stack([table.numbers(name, self.term)[unknown] for name in self.coordinates])
            known = np.flatnonzero(np.isfinite(self.places).all(axis=1))
            if np.isfinite(rows).all():
                return known[cKDTree(self.places[known]).query(rows)[1]]
        elif self.unknown == "nearest":
            return self._nearest_number(values[unknown])
        strange = list(dict.fromkeys(plain_value(value) for value in values[unknown]))
        listed = ", ".join(map(repr, strange[:MOST_NAMED])) + (", ..." if len(strange) > MOST_NAMED else "")
        raise ValueError(
            f"{self.term}: column {self.column!r} has levels that the model does not know: {listed}; set unknown to "
            '"base", "ignore" or, for numbers and coordinates that are not missing, "nearest"'
        )

    def _nearest_number(self, values: np.ndarray) -> np.ndarray:
        numbers = np.array([_as_number(level) for level in self.levels])
        known = np.flatnonzero(np.isfinite(numbers))
        order = known[np.argsort(numbers[known])]
        middles = (numbers[order][1:] + numbers[order][:-1]) / 2.0
        return order[np.searchsorted(middles, values.astype(float))]


def find_level(levels: list, given: Any, what: str) -> int:
    """The number of a level that a user wrote, as it is or as text."""
    if given in levels:
        return levels.index(given)
    texts = [str(level) for level in levels]
    if str(given) in texts:
        return texts.index(str(given))
    listed = ", ".join(map(repr, levels[:MOST_NAMED])) + (", ..." if len(levels) > MOST_NAMED else "")
    raise ValueError(f"{what} names {given!r}, which is not a level; the levels are {listed}")


# --- learning --------------------------------------------------------------------------------------------------------


def learn_levels(term: Any, label: str, found: Values | None, more: list) -> Levels:
    """The levels of a term's column, from its values; ``more`` are levels that need no row."""
    cuts = None
    if getattr(term, "bins", None) is not None:
        cuts = _cuts(term, found, label)
        levels = _bands(cuts)
    else:
        assert found is not None
        levels = _distinct(term, label, found, more)
    if term.missing == "level":
        levels = [*levels, MISSING]
    made = Levels(label, term.column, levels, term.unknown, term.missing, 0, cuts)
    if term.unknown == "nearest" and cuts is None and not hasattr(term, "coordinates"):
        strange = [level for level in levels if level not in (MISSING, OTHER) and not np.isfinite(_as_number(level))]
        if strange:
            raise ValueError(f'{label}: unknown="nearest" needs levels that are numbers, got {strange[0]!r}')
    return made


def _distinct(term: Any, label: str, found: Values, more: list) -> list:
    """Each value is a level: in the given order, that of the categories, or sorted."""
    counts, given = found.counts(), getattr(term, "levels", None)
    inexact = [value for value in counts if isinstance(value, (int, float)) and abs(value) >= EXACT]
    if inexact:
        raise ValueError(
            f"{label}: column {term.column!r} has numbers such as {inexact[0]}, and those from 2^53 on are rounded, "
            "which would merge levels: convert the column to text"
        )
    if given is not None:
        strange = [value for value in counts if value not in set(given)]
        if strange:
            raise ValueError(f"{label}: levels lacks {strange[0]!r}, a value of column {term.column!r}: add it")
        return list(given)
    rare = {value for value, count in counts.items() if count < getattr(term, "min_count", 1)}
    declared = found.categories
    if declared is None:
        declared = sorted([*counts, *(level for level in more if level not in counts)], key=_order)
    kept = [level for level in declared if level not in rare and (term_keeps_empty(term) or level in counts)]
    kept += [level for level in more if level not in set(kept) | rare]
    return [*kept, OTHER] if rare else kept


def term_keeps_empty(term: Any) -> bool:
    """Whether levels without a row stay: those of ordered factors and places have neighbours to learn from."""
    return not hasattr(term, "min_count")


def _order(level: Any) -> tuple:
    """Numbers by value, then texts."""
    return (1, 0.0, level) if isinstance(level, str) else (0, float(level), "")


def _positions(values: np.ndarray, number: dict) -> np.ndarray:
    """The number of each value, -1 if it has none."""
    if values.dtype == object:
        return np.fromiter((number.get(value, -1) for value in values.tolist()), np.int64, len(values))
    distinct, inverse = np.unique(values, return_inverse=True)
    return np.array([number.get(value, -1) for value in distinct.tolist()], dtype=np.int64)[inverse]


def _cuts(term: Any, found: Values | None, label: str) -> np.ndarray:
    """The inner ends of the bands."""
    if isinstance(term.bins, tuple):
        return np.array(term.bins)
    assert found is not None
    low, high = found.span(label)
    shares = np.linspace(0.0, 1.0, term.bins + 1)[1:-1]
    cuts = low + shares * (high - low)
    if term.binning == "quantile":
        cuts = np.unique(found.quantiles(shares))
    return cuts[(cuts >= low) & (cuts < high)]


def _bands(cuts: np.ndarray) -> list[str]:
    ends = [f"{cut:.6g}" for cut in cuts]
    if not ends:
        return ["all"]
    return [f"<= {ends[0]}", *(f"({a}, {b}]" for a, b in itertools.pairwise(ends)), f"> {ends[-1]}"]


def _as_number(level: Any) -> float:
    return float(level) if isinstance(level, (int, float)) else np.nan
