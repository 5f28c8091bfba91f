"""The block of a factor in a design: its columns, the differences that are penalised, its constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._edges import edges_of, levels_of_edges, mean_places, weights_of
from ._given import term_name
from ._levels import AVERAGE, Levels, find_level, learn_levels
from ._slots import Slot
from ._table import Table

__all__ = ["Counts", "Factor", "Measures", "learn_factor", "learn_product"]


class Measures(NamedTuple):
    """How much each row of a table counts: its weight in the fit, and its exposure."""

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

    penalty = "l1"

    @property
    def width(self) -> int:
        return int((self.place >= 0).sum())

    @property
    def names(self) -> list[str]:
        return [f"{self.name}={level}" for level, place in zip(self.levels, self.place, strict=True) if place >= 0]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for part in self.parts for column in part.columns))

    def codes(self, table: Table) -> np.ndarray:
        """The number of the level of each row, or AVERAGE."""
        found = self.parts[0].codes(table)
        for part in self.parts[1:]:
            other = part.codes(table)
            found = np.where((found == AVERAGE) | (other == AVERAGE), AVERAGE, found * len(part) + other)
        return found

    def slots(self, table: Table, units: Any = None) -> tuple[list[Slot], tuple[np.ndarray, np.ndarray] | None]:
        """One slot; and, for rows with the mean effect of all levels, which they are and the entries of each."""
        codes = self.codes(table)
        columns = np.where(codes == AVERAGE, -1, self.place[codes])
        average = np.flatnonzero(codes == AVERAGE)
        entries = np.zeros(self.width)
        entries[self.place[self.place >= 0]] = self.counts.share[self.place >= 0]
        return [Slot(columns)], (average, entries) if len(average) else None

    @property
    def A(self) -> sp.csr_array:
        """The differences along the edges."""
        return _differences(self.place, self.edges, self.width)

    def standard_weights(self) -> np.ndarray:
        """Weights for which one strength serves all terms (Devriendt et al. 2021).

        An edge has the root of the share of the rows of its levels, times the number of free levels by the number of
        edges. Levels without rows count as one row.
        """
        share = self.counts.share[self.edges].sum(axis=1)
        least = 1.0 / max(self.counts.rows.sum(), 1.0)
        return np.sqrt(np.maximum(share, least)) * (self.width / max(len(self.edges), 1))

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


def learn_factor(term: Any, table: Table, per_row: Measures) -> Factor:
    """The block of an ordered, nominal or spatial term."""
    label, kind = f"terms.{type(term).__name__}({term.column!r})", type(term).__name__
    more = levels_of_edges(term, label) if getattr(term, "edges", None) is not None else None
    levels = learn_levels(term, label, table, more)
    base = 0 if term.base is None else find_level(levels.levels, term.base, f"base of {label}")
    codes, places, coordinates = levels.codes(table), None, getattr(term, "coordinates", None) or ()
    if coordinates:
        places = mean_places(term, label, table, codes, levels.levels)
    coder = replace(levels, base=base, coordinates=coordinates, places=places)
    counts = _counts(codes, per_row, len(coder))
    if np.count_nonzero(counts.rows) < 2:
        raise ValueError(f"{label} has one level only, {coder.levels[int(counts.rows.argmax())]!r}: leave the term out")
    if more and not set(more) & {level for level, count in zip(coder.levels, counts.rows, strict=True) if count}:
        raise ValueError(
            f"{label}: none of the levels that the edges name, such as {more[0]!r}, is a value of the column, such "
            f"as {coder.levels[int(counts.rows.argmax())]!r}; check names and types"
        )
    edges = edges_of(term, label, coder.levels, base, places)
    place = np.arange(len(coder)) - (np.arange(len(coder)) > base)
    place[base] = -1
    direction = {None: 0, "increasing": 1, "decreasing": -1}[getattr(term, "monotone", None)]
    given = weights_of(term.weights, label, coder.levels, edges)
    return Factor(kind, term_name(term), (coder,), coder.levels, place, edges, counts, given, direction, term.strength)


def learn_product(term: Any, factors: dict[str, Factor], table: Table, per_row: Measures) -> Factor:
    """The block of an interaction of two factors of the model."""
    chosen = []
    for name in term.factors:
        if name not in factors:
            known = ", ".join(map(repr, factors)) or "none"
            raise ValueError(
                f"terms.interaction names {name!r}, which is not a factor of the model; its factors are {known}: add "
                f"terms.ordered, terms.nominal or terms.spatial of {name!r} before it"
            )
        chosen.append(factors[name])
    first, second = chosen
    m, n = len(first.levels), len(second.levels)
    levels = [f"{one}:{other}" for one in first.levels for other in second.levels]
    free = (first.place >= 0)[:, None] & (second.place >= 0)[None, :]
    place = np.where(free, np.cumsum(free).reshape(m, n) - 1, -1).reshape(-1)
    along_first = (first.edges[:, None, :] * n + np.arange(n)[None, :, None]).reshape(-1, 2)
    along_second = (np.arange(m)[:, None, None] * n + second.edges[None, :, :]).reshape(-1, 2)
    edges = np.vstack([along_first, along_second])
    edges = edges[(place[edges] >= 0).any(axis=1)]  # between two cells with coefficient 0 there is nothing to fuse
    block = Factor("interaction", term_name(term), (*first.parts, *second.parts), levels, place, edges, Counts())
    counts = _counts(block.codes(table), per_row, m * n)
    return replace(block, counts=counts, strength=term.strength)


def _counts(codes: np.ndarray, per_row: Measures, count: int) -> Counts:
    """What the rows of each level add up to."""
    known = codes >= 0
    codes = codes[known]
    weight, exposure = (np.bincount(codes, weights=each[known], minlength=count) for each in per_row)
    share = weight / max(weight.sum(), np.finfo(float).tiny)
    return Counts(np.bincount(codes, minlength=count), share, exposure)
