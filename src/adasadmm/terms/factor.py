"""Factors: the levels of a column, the counts of their rows, and their block in a design."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu
from scipy.spatial import cKDTree

from .._core.states import is_graph, is_indices, is_numbers
from .._core.threads import one_blas_thread
from .table import Measures, Table, listed, plain_value
from .term import Block, Encoded, Labels, Slot

__all__ = ["AVERAGE", "MISSING", "OTHER", "Counts", "Factor", "Levels", "Tally", "noise_of_edges"]

AVERAGE = -1  # the code of a row that takes the mean effect of all levels
MISSING, OTHER = "(missing)", "(other)"
MOST_EXACT = 600  # nodes; beyond them the trace is a mean over random noise
PROBES = 100


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a factor, and how a value gets the number of its level.

    ``term`` is its label in messages. ``cuts`` are the upper ends of bands. ``places`` are the coordinates of the
    levels, by the columns ``coordinates``.
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
    def proper(self) -> list[int]:
        """The numbers of the levels that are values of the column."""
        return [k for k, level in enumerate(self.levels) if level not in (MISSING, OTHER)]

    def find(self, given: Any, what: str) -> int:
        """The number of a level that a user wrote, as it is or as text."""
        if given in self.levels:
            return self.levels.index(given)
        texts = [str(level) for level in self.levels]
        if str(given) in texts:
            return texts.index(str(given))
        raise ValueError(f"{what} names {given!r}, which is not a level; the levels are {listed(self.levels)}")

    # --- from values to numbers of levels ----------------------------------------------------------------------------

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
            codes = np.searchsorted(self.cuts, values, side="left")
            unknown = np.zeros(len(values), dtype=bool)
        else:
            values, missing = table.values(self.column)
            codes = _positions(values, {level: k for k, level in enumerate(self.levels)})
            unknown = (codes < 0) & ~missing
        if missing.any():
            codes[missing] = self._code_of_missing(missing)
        if unknown.any():
            codes[unknown] = self._codes_of_unknown(table, values, unknown)
        return codes

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
        raise ValueError(
            f"{self.term}: column {self.column!r} has levels that the model does not know: {listed(strange)}; set "
            'unknown to "base", "ignore" or, for numbers and coordinates that are not missing, "nearest"'
        )

    def _nearest_number(self, values: np.ndarray) -> np.ndarray:
        numbers = np.array([level if isinstance(level, (int, float)) else np.nan for level in self.levels], dtype=float)
        known = np.flatnonzero(np.isfinite(numbers))
        order = known[np.argsort(numbers[known])]
        middles = (numbers[order][1:] + numbers[order][:-1]) / 2.0
        return order[np.searchsorted(middles, values.astype(float))]

    def are_consistent(self) -> bool:
        """Whether each value has one of the levels."""
        count, cuts, places = len(self), self.cuts, self.places
        return (
            0 <= operator.index(self.base) < count
            and (cuts is None or (is_numbers(cuts, (np.size(cuts),)) and np.size(cuts) < count))
            and (places is None or np.shape(places) == (count, len(self.coordinates)))
        )


def _positions(values: np.ndarray, number: dict) -> np.ndarray:
    """The number of each value, -1 if it has none."""
    if values.dtype == object:
        return np.fromiter((number.get(value, -1) for value in values.tolist()), np.int64, len(values))
    distinct, inverse = np.unique(values, return_inverse=True)
    return np.array([number.get(value, -1) for value in distinct.tolist()], dtype=np.int64)[inverse]


def joint_codes(parts: Sequence[Levels], table: Table) -> np.ndarray:
    """The number of the level of each row, or of the pair of its levels, or AVERAGE."""
    codes = parts[0].codes(table)
    for part in parts[1:]:
        other = part.codes(table)
        codes = np.where((codes == AVERAGE) | (other == AVERAGE), AVERAGE, codes * len(part) + other)
    return codes


# --- the second pass -------------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """Of each level the number of rows, the share of the weight, and the exposure."""

    rows: np.ndarray = np.zeros(0)
    share: np.ndarray = np.zeros(0)
    exposure: np.ndarray = np.zeros(0)


class Tally:
    """The rows, weight and exposure of each level, or of each pair of levels; and the coordinates of places.

    ``edges`` are the pairs of levels that may be fused, if they do not depend on the rows.
    """

    def __init__(self, parts: tuple[Levels, ...], edges: np.ndarray | None = None) -> None:
        self.parts, self.edges = parts, edges
        self.levels = math.prod(len(part) for part in parts)
        self.coordinates = parts[0].coordinates if len(parts) == 1 else ()
        self.rows = np.zeros(self.levels, dtype=np.int64)
        self.weight, self.exposure, self.placed = (np.zeros(self.levels) for _ in range(3))
        self.sums = np.zeros((self.levels, len(self.coordinates)))

    def add(self, table: Table, measures: Measures) -> None:
        codes = joint_codes(self.parts, table)
        known = codes >= 0
        chosen: Any = slice(None) if known.all() else known
        self.rows += np.bincount(codes[chosen], minlength=self.levels)
        self.weight += np.bincount(codes[chosen], weights=measures.weight[chosen], minlength=self.levels)
        self.exposure += np.bincount(codes[chosen], weights=measures.exposure[chosen], minlength=self.levels)
        if self.coordinates:
            points = np.column_stack([table.numbers(name, self.parts[0].term) for name in self.coordinates])
            use = np.isfinite(points).all(axis=1) & known
            self.placed += np.bincount(codes[use], minlength=self.levels)
            for axis in range(points.shape[1]):
                self.sums[:, axis] += np.bincount(codes[use], weights=points[use, axis], minlength=self.levels)

    def counts(self) -> Counts:
        return Counts(self.rows, self.weight / max(self.weight.sum(), np.finfo(float).tiny), self.exposure)

    def places(self) -> np.ndarray:
        """The mean coordinates of the rows of each level; NaN without a row."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.sums / self.placed[:, None]


# --- the block -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Factor(Block):
    """The block of a factor, or of the pairs of levels of two factors.

    ``place`` is the column of each level, -1 for a level with coefficient 0. ``direction`` is 1 or -1 for coefficients
    that must increase or decrease.
    """

    parts: tuple[Levels, ...]
    levels: list
    place: np.ndarray
    edges: np.ndarray
    counts: Counts
    direction: int = 0

    is_factor = True

    @property
    def width(self) -> int:
        return int((self.place >= 0).sum())

    @property
    def names(self) -> list[str]:
        return [f"{self.name}={level}" for level, place in zip(self.levels, self.place, strict=True) if place >= 0]

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for part in self.parts for column in (part.column, *part.coordinates)))

    def encode(self, table: Table, units: Any = None) -> Encoded:
        """One slot; rows without a level have the mean effect of all levels."""
        codes = joint_codes(self.parts, table)
        columns = np.append(self.place, -1).astype(np.int32)[codes]  # AVERAGE, -1, is the last
        entries = np.zeros(self.width)
        entries[self.place[self.place >= 0]] = self.counts.share[self.place >= 0]
        return Encoded([Slot(columns)], np.flatnonzero(codes == AVERAGE), entries)

    @property
    def A(self) -> sp.csr_array:
        """The differences along the edges."""
        return self._differences(self.edges)

    def standard_weights(self) -> np.ndarray:
        """The same weight for each edge; levels without a column, of which there may be several, are one node."""
        nodes = self.place + 1
        share = np.bincount(nodes, weights=self.counts.share, minlength=self.width + 1)
        least = 1.0 / max(self.counts.rows.sum(), 1.0)  # where no row can tell two levels apart
        return np.full(len(self.edges), max(noise_of_edges(nodes[self.edges], share), least))

    def constraints(self) -> sp.csr_array:
        """Differences of consecutive levels, to be >= 0; none without a direction."""
        if not self.direction:
            return super().constraints()
        consecutive = self.edges[self.edges[:, 1] - self.edges[:, 0] == 1]
        return self._differences(consecutive[:, ::-1]) * float(self.direction)  # the later level minus the earlier one

    def _differences(self, edges: np.ndarray) -> sp.csr_array:
        """A row for each edge: 1 at its first level, -1 at its second; nothing at levels without a column."""
        columns = self.place[edges].reshape(-1)
        rows = np.repeat(np.arange(len(edges)), 2)
        signs = np.tile([1.0, -1.0], len(edges))
        kept = columns >= 0
        entries = (signs[kept], (rows[kept], columns[kept]))
        return sp.csr_array(sp.coo_array(entries, shape=(len(edges), self.width)))

    def is_consistent(self) -> bool:
        """Whether the columns are numbered through, and levels, edges and counts belong together."""
        levels, width = len(self.levels), self.width
        return (
            math.prod(len(part) for part in self.parts) == levels
            and all(part.are_consistent() for part in self.parts)
            and is_indices(self.place, (levels,), width, least=-1)
            and np.array_equal(np.sort(self.place[self.place >= 0]), np.arange(width))
            and is_graph(self.edges, self.weights, levels)
            and all(np.shape(count) == (levels,) and np.isfinite(count).all() for count in self.counts)
        )

    # --- tables and pictures -----------------------------------------------------------------------------------------

    def labels(self) -> Labels:
        sides = tuple(part.levels for part in self.parts)
        return Labels(self.levels, self.counts.rows, self.counts.exposure, self.edges, self.parts[0].places, sides)

    def coefficients(self, coef: np.ndarray) -> np.ndarray:
        return np.where(self.place >= 0, np.append(coef, 0.0)[self.place], 0.0)

    def describe(self, coefs: np.ndarray, groups: np.ndarray) -> str:
        counts, values = [len(np.unique(labels)) for labels in groups], np.append(coefs, 0.0)
        fused = f"{counts[0]} group{'s' if counts[0] > 1 else ''}"
        if len(counts) > 1:
            fused = f"{min(counts)} to {max(counts)} groups"
        return f"{len(self.levels)} levels in {fused}, coefficients from {values.min():.3g} to {values.max():.3g}"


# --- the standard weight of edges ------------------------------------------------------------------------------------
#
# At the strength at which a penalty removes pure noise, the noise of the levels must fit into the edges as a flow. So
# the weight of a factor is the root mean square over its edges of the least-squares flow of white noise. A number in
# units of its standard deviation has the weight 1 by the same rule, and a factor with two levels that of its
# standardised column.


@one_blas_thread()
def noise_of_edges(edges: np.ndarray, share: np.ndarray) -> float:
    """The root mean square of the least-squares flow of noise with variances ``share`` and the sum 0.

    With the Laplacian L of the graph and p the shares it is the root of ``trace(L^+ (diag(p) - p p')) / edges``. For a
    chain that is the root of the mean of ``P (1 - P)``, where P is the share of the rows on one side of an edge.
    """
    nodes = len(share)
    if not len(edges) or not share.any():
        return 1.0
    ends = (np.ones(2 * len(edges)), (edges.reshape(-1), edges[:, ::-1].reshape(-1)))
    joined = sp.csr_array(sp.coo_array(ends, shape=(nodes, nodes)))  # parallel edges add up
    laplacian = sp.csc_array(sp.diags_array(joined.sum(axis=1)) - joined)
    part = connected_components(joined, directed=False)[1]
    noise = _balanced(_noise(share), part)
    kept = np.ones(nodes, dtype=bool)
    kept[np.unique(part, return_index=True)[1]] = False  # one node of each component holds the level of all others
    inner = np.flatnonzero(kept)
    potential = _solve(laplacian[inner][:, inner], noise[inner])
    return float(np.sqrt(max((potential * noise[inner]).sum(), 0.0) / len(edges)))


def _noise(share: np.ndarray) -> np.ndarray:
    """Columns z whose ``z z'`` add up to ``diag(p) - p p'``, exactly or in expectation."""
    p, count = share / share.sum(), len(share)
    if count <= MOST_EXACT:
        white = np.eye(count)
    else:
        white = np.random.default_rng(0).standard_normal((count, PROBES)) / np.sqrt(PROBES)
    scaled = np.sqrt(p)[:, None] * white
    return scaled - p[:, None] * scaled.sum(axis=0)


def _balanced(noise: np.ndarray, part: np.ndarray) -> np.ndarray:
    """The noise minus its mean over each component, which no flow can carry."""
    of_part = sp.csr_array((np.ones(len(part)), (part, np.arange(len(part)))))
    return noise - ((of_part @ noise) / np.bincount(part)[:, None])[part]


def _solve(laplacian: sp.csc_array, noise: np.ndarray) -> np.ndarray:
    if len(noise) <= MOST_EXACT:
        return scipy.linalg.solve(laplacian.toarray(), noise, assume_a="pos")
    return splu(sp.csc_array(laplacian)).solve(noise)
