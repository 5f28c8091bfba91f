"""The block of a factor in a design: its columns, the differences that are penalised, its constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._columns import Values
from ._edges import check_places, edges_of, weights_of
from ._given import term_name
from ._levels import AVERAGE, Levels, find_level, learn_levels
from ._slots import Slot
from ._standard import noise_of_edges
from ._table import Table

__all__ = ["Counts", "Factor", "Measures", "Tally", "factor_of", "levels_of", "parts_of", "product_of"]


class Measures(NamedTuple):
    """The weight of each row of a table in the fit, and its exposure."""

    weight: np.ndarray
    exposure: np.ndarray


class Counts(NamedTuple):
    """Of each level the number of rows, the share of the weight, and the exposure."""

    rows: np.ndarray = np.zeros(0)
    share: np.ndarray = np.zeros(0)
    exposure: np.ndarray = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Factor:
    """The block of a factor, or of the pairs of levels of two factors.

    ``place`` is the column of each level, -1 for a level with coefficient 0. ``weights`` are given weights of the
    edges. ``direction`` is 1 or -1 for coefficients that must increase or decrease.
    """

    kind: str
    name: str
    parts: tuple[Levels, ...]
    levels: list
    place: np.ndarray
    edges: np.ndarray
    counts: Counts
    weights: np.ndarray | None = None
    direction: int = 0
    strength: float = 1.0
    penalty: str = "l1"

    @property
    def width(self) -> int:
        return int((self.place >= 0).sum())

    @property
    def names(self) -> list[str]:
        return [f"{self.name}={level}" for level, place in zip(self.levels, self.place, strict=True) if place >= 0]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for part in self.parts for column in part.columns))

    def slots(self, table: Table, units: Any = None) -> tuple[list[Slot], tuple[np.ndarray, np.ndarray] | None]:
        """One slot; and, for rows with the mean effect of all levels, which they are and the entries of each."""
        codes = joint_codes(self.parts, table)
        columns = np.append(self.place, -1).astype(np.int32)[codes]  # AVERAGE, -1, is the last
        average = np.flatnonzero(codes == AVERAGE)
        entries = np.zeros(self.width)
        entries[self.place[self.place >= 0]] = self.counts.share[self.place >= 0]
        return [Slot(columns)], (average, entries) if len(average) else None

    @property
    def A(self) -> sp.csr_array:
        """The differences along the edges."""
        return _differences(self.place, self.edges, self.width)

    def standard_weights(self) -> np.ndarray:
        """The same weight for each edge; levels without a column, of which there may be several, are one node."""
        nodes = self.place + 1
        share = np.bincount(nodes, weights=self.counts.share, minlength=self.width + 1)
        least = 1.0 / max(self.counts.rows.sum(), 1.0)  # where no row can tell two levels apart
        return np.full(len(self.edges), max(noise_of_edges(nodes[self.edges], share), least))

    def constraint_rows(self) -> sp.csr_array:
        """Differences of consecutive levels, to be >= 0; none without a direction."""
        if not self.direction:
            return sp.csr_array((0, self.width))
        proper = [edge for edge in self.edges.tolist() if edge[1] - edge[0] == 1]
        consecutive = np.array([edge[::-1] for edge in proper])  # the later level minus the earlier one
        return _differences(self.place, consecutive, self.width) * float(self.direction)

    def coefficients(self, coef: np.ndarray) -> np.ndarray:
        """The coefficient of each level, from those of the block's columns."""
        return np.where(self.place >= 0, np.append(coef, 0.0)[self.place], 0.0)


def _differences(place: np.ndarray, edges: np.ndarray, width: int) -> sp.csr_array:
    """A row for each edge: 1 at its first level, -1 at its second; nothing at levels without a column."""
    columns = place[edges].reshape(-1)
    rows = np.repeat(np.arange(len(edges)), 2)
    signs = np.tile([1.0, -1.0], len(edges))
    kept = columns >= 0
    entries = (signs[kept], (rows[kept], columns[kept]))
    return sp.csr_array(sp.coo_array(entries, shape=(len(edges), width)))


def joint_codes(parts: tuple[Levels, ...], table: Table) -> np.ndarray:
    """The number of the level of each row, or of the pair of its levels, or AVERAGE."""
    found = parts[0].codes(table)
    for part in parts[1:]:
        other = part.codes(table)
        found = np.where((found == AVERAGE) | (other == AVERAGE), AVERAGE, found * len(part) + other)
    return found


class Tally:
    """Sums over the rows of each level, block by block; with the coordinates of a spatial term."""

    def __init__(self, parts: tuple[Levels, ...], coordinates: tuple[str, ...] = ()) -> None:
        self.parts, self.coordinates = parts, coordinates
        self.levels = math.prod(len(part) for part in parts)
        self.rows = np.zeros(self.levels, dtype=np.int64)
        self.weight, self.exposure, self.placed = (np.zeros(self.levels) for _ in range(3))
        self.sums = np.zeros((self.levels, len(coordinates)))

    def add(self, table: Table, per_row: Measures) -> None:
        codes, label = joint_codes(self.parts, table), self.parts[0].term
        known = codes >= 0
        chosen: Any = slice(None) if known.all() else known
        self.rows += np.bincount(codes[chosen], minlength=self.levels)
        self.weight += np.bincount(codes[chosen], weights=per_row.weight[chosen], minlength=self.levels)
        self.exposure += np.bincount(codes[chosen], weights=per_row.exposure[chosen], minlength=self.levels)
        if self.coordinates:
            table.check_columns(self.coordinates, label)
            points = np.column_stack([table.numbers(name, label) for name in self.coordinates])
            use = np.isfinite(points).all(axis=1) & known
            self.placed += np.bincount(codes[use], minlength=self.levels)
            for axis in range(points.shape[1]):
                self.sums[:, axis] += np.bincount(codes[use], weights=points[use, axis], minlength=self.levels)

    def counts(self) -> Counts:
        return Counts(self.rows, self.weight / max(self.weight.sum(), np.finfo(float).tiny), self.exposure)

    def places(self) -> np.ndarray | None:
        """The mean coordinates of the rows of each level; NaN without a row."""
        if not self.coordinates:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.sums / self.placed[:, None]


def label_of(term: Any) -> str:
    return f"terms.{type(term).__name__}({term.column!r})"


def levels_of(term: Any, found: Values | None, pairs: list[tuple]) -> Levels:
    """The levels of an ordered, nominal or spatial term, from the values of its column and the pairs of its edges."""
    label = label_of(term)
    levels = learn_levels(term, label, found, _named(pairs))
    base = 0 if term.base is None else find_level(levels.levels, term.base, f"base of {label}")
    return replace(levels, base=base, coordinates=getattr(term, "coordinates", None) or ())


def _named(pairs: list[tuple]) -> list:
    return list(dict.fromkeys(level for pair in pairs for level in pair))


def factor_of(term: Any, levels: Levels, tally: Tally, pairs: list[tuple]) -> Factor:
    """The block of an ordered, nominal or spatial term."""
    label, counts, places = label_of(term), tally.counts(), tally.places()
    coder = replace(levels, places=places)
    if places is not None:
        check_places(term, label, coder.levels, places)
    if np.count_nonzero(counts.rows) < 2:
        raise ValueError(f"{label} has one level only, {coder.levels[int(counts.rows.argmax())]!r}: leave the term out")
    if pairs:
        _check_named(_named(pairs), label, coder.levels, counts)
    edges = edges_of(term, label, coder.levels, coder.base, places, pairs)
    place = np.arange(len(coder)) - (np.arange(len(coder)) > coder.base)
    place[coder.base] = -1
    direction = {None: 0, "increasing": 1, "decreasing": -1}[getattr(term, "monotone", None)]
    fixed = (weights_of(term.weights, label, coder.levels, edges), direction, term.strength, term.penalty)
    return Factor(type(term).__name__, term_name(term), (coder,), coder.levels, place, edges, counts, *fixed)


def _check_named(named: list, label: str, levels: list, counts: Counts) -> None:
    """Raise ``ValueError`` if no level of the edges has a row."""
    if not set(named) & {level for level, count in zip(levels, counts.rows, strict=True) if count}:
        raise ValueError(
            f"{label}: none of the levels that the edges name, such as {named[0]!r}, is a value of the column, such "
            f"as {levels[int(counts.rows.argmax())]!r}; check names and types"
        )


def parts_of(term: Any, known: dict[str, Levels]) -> tuple[Levels, ...]:
    """The levels of the two factors of an interaction."""
    for name in term.factors:
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise ValueError(
                f"terms.interaction names {name!r}, which is not a factor of the model; its factors are {listed}: add "
                f"terms.ordered, terms.nominal or terms.spatial of {name!r} before it"
            )
    return tuple(known[name] for name in term.factors)


def product_of(term: Any, factors: dict[str, Factor], tally: Tally) -> Factor:
    """The block of an interaction of two factors of the model."""
    first, second = (factors[name] for name in term.factors)
    m, n = len(first.levels), len(second.levels)
    levels = [f"{one}:{other}" for one in first.levels for other in second.levels]
    free = (first.place >= 0)[:, None] & (second.place >= 0)[None, :]
    place = np.where(free, np.cumsum(free).reshape(m, n) - 1, -1).reshape(-1)
    along_first = (first.edges[:, None, :] * n + np.arange(n)[None, :, None]).reshape(-1, 2)
    along_second = (np.arange(m)[:, None, None] * n + second.edges[None, :, :]).reshape(-1, 2)
    edges = np.vstack([along_first, along_second])
    edges = edges[(place[edges] >= 0).any(axis=1)]  # between two cells with coefficient 0 there is nothing to fuse
    parts, counts = (*first.parts, *second.parts), tally.counts()
    return Factor("interaction", term_name(term), parts, levels, place, edges, counts, strength=term.strength)
