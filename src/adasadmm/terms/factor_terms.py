"""The terms of factors: columns with levels, of which any that an edge joins may be fused."""

from __future__ import annotations

import csv
import itertools
import re
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ..graphs import chain
from .factor import MISSING, OTHER, Factor, Levels, Tally
from .table import Table, Values, listed, plain_value
from .term import Block, Statistics, Term, plain_columns, plain_edges, plain_weights

__all__ = ["interaction", "nominal", "ordered", "spatial"]

MOST_PAIRS = 200_000
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DIRECTIONS = {None: 0, "increasing": 1, "decreasing": -1}


@dataclass(frozen=True, eq=False, repr=False)
class FactorTerm(Term):
    """A column with levels. A kind of factor says which levels there are, and which of them edges join."""

    column: str
    _: KW_ONLY
    base: Any = None
    penalty: str = "l1"
    weights: Any = None
    strength: float = 1.0
    missing: str = "error"
    unknown: str = "error"
    name: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise ValueError(f"terms.{self.kind} needs the name of a column, got {self.column!r}")
        super().__post_init__()
        self._check_choice("penalty", "l1", "l2")
        self._check_choice("unknown", "error", "nearest", "base", "ignore")
        self._check_choice("missing", "error", "level", "ignore")
        self._set(base=plain_value(self.base), weights=plain_weights(self.weights, f"terms.{self.kind}"))

    @property
    def label(self) -> str:
        return f"terms.{self.kind}({self.column!r})"

    @property
    def default_title(self) -> str:
        return self.column

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def direction(self) -> int:
        """1 or -1 for coefficients that must increase or decrease."""
        return 0

    # --- learning ----------------------------------------------------------------------------------------------------

    def first_pass(self) -> Statistics | None:
        return Values(self.column, self.label)

    @abstractmethod
    def second_pass(self, first: Any, others: Mapping[str, Any]) -> Tally:
        """The counts of the levels, which are those of the values of the first pass."""

    def _levels(self, levels: list, cuts: np.ndarray | None = None) -> Levels:
        """The levels with their policies for other values; missing values may be one more."""
        if not levels:
            raise ValueError(f"{self.label}: column {self.column!r} has no values")
        levels = [*levels, MISSING] if self.missing == "level" else levels
        made = Levels(self.label, self.column, levels, self.unknown, self.missing, cuts=cuts)
        return made if self.base is None else replace(made, base=made.find(self.base, f"base of {self.label}"))

    def _check_numbers(self, levels: Levels) -> None:
        """Raise ``ValueError`` if the nearest level is wanted, but levels are not numbers."""
        values = [levels.levels[k] for k in levels.proper]
        strange = [value for value in values if not (isinstance(value, (int, float)) and np.isfinite(value))]
        if self.unknown == "nearest" and strange:
            raise ValueError(f'{self.label}: unknown="nearest" needs levels that are numbers, got {strange[0]!r}')

    def block(self, first: Any, second: Tally, others: Mapping[str, Block]) -> Factor:
        levels, counts = second.parts[0], second.counts()
        if np.count_nonzero(counts.rows) < 2:
            only = levels.levels[int(counts.rows.argmax())]
            raise ValueError(f"{self.label} has one level only, {only!r}: leave the term out")
        levels, edges = self._joined(levels, second)
        place = np.arange(len(levels)) - (np.arange(len(levels)) > levels.base)
        place[levels.base] = -1
        return Factor(
            kind=self.kind,
            name=self.title,
            parts=(levels,),
            levels=levels.levels,
            place=place,
            edges=edges,
            counts=counts,
            weights=self._weights_of(edges, levels),
            direction=self.direction,
            strength=self.strength,
            penalty=self.penalty,
        )

    def _joined(self, levels: Levels, tally: Tally) -> tuple[Levels, np.ndarray]:
        """The levels, with their places if they have any, and their edges."""
        assert tally.edges is not None
        return levels, tally.edges

    def _weights_of(self, edges: np.ndarray, levels: Levels) -> np.ndarray | None:
        """The given weight of each edge."""
        if self.weights is None:
            return None
        label = f"weights of {self.label}"
        place = {tuple(sorted(edge)): k for k, edge in enumerate(edges.tolist())}
        weights = np.full(len(edges), np.nan)
        for one, other, weight in self.weights:
            if other is None:
                raise ValueError(f"{label} must name two levels in each row, got {one!r} alone")
            pair = tuple(sorted(levels.find(level, label) for level in (one, other)))
            if pair not in place:
                raise ValueError(f"{label} joins {one!r} and {other!r}, which no edge of the term joins")
            weights[place[pair]] = weight
        if np.isnan(weights).any():
            one, other = edges[int(np.isnan(weights).argmax())]
            lacking = f"{levels.levels[one]!r} and {levels.levels[other]!r}"
            raise ValueError(f"{label} lacks the edge between {lacking}: add it")
        return weights


def _with_base(edges: np.ndarray, levels: Levels) -> np.ndarray:
    """The edges, and one from each level that is no value of the column to the base."""
    apart = sorted(set(range(len(levels))) - {*levels.proper, levels.base})
    more = [[min(levels.base, k), max(levels.base, k)] for k in apart]
    return np.vstack([edges, np.array(more, dtype=int).reshape(-1, 2)])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ordered(FactorTerm):
    """A factor with levels in an order: neighbouring levels may be fused.

    The penalty is the sum of ``weight |coef[k + 1] - coef[k]|`` over the levels.

    Parameters
    ----------
    column : str
        Name of the column.
    bins : int or sequence of float, default=None
        Cut numbers into this number of bands, or at these cuts. A band contains its upper end; the first and the last
        band have no other end, so that every number has a band. None takes each value as a level.
    binning : {"quantile", "width"}, default="quantile"
        Bands with about the same number of rows, or of the same width, if ``bins`` is an integer.
    levels : sequence, default=None
        The levels in their order. None takes the order of a categorical column, otherwise the sorted values.
    monotone : {"increasing", "decreasing"}, default=None
        Constrain the coefficients to this order.
    cyclic : bool, default=False
        Join the last level to the first, as for hours and months.
    base : level, default=None
        The level with coefficient 0. None takes the first.
    penalty : {"l1", "l2"}, default="l1"
        ``"l1"`` fuses levels. ``"l2"`` penalises half the squared differences instead: coefficients that vary smoothly
        from level to level, none of them equal.
    weights : frame or sequence, default=None
        The weight of each edge: a frame with the columns ``level_a``, ``level_b`` and ``weight``, or such triples. They
        are used as they are. None takes the weights of the model.
    strength : float, default=1.0
        Factor of the weights of the model for this term: more than 1 fuses more levels.
    missing : {"error", "level", "ignore"}, default="error"
        Missing values raise ``ValueError``, are a level of their own, which may be fused with the base, or take the
        mean effect of the levels.
    unknown : {"error", "nearest", "base", "ignore"}, default="error"
        What `predict` does with a level that `fit` did not see: raise ``ValueError``, take the nearest level (of
        numbers), the base level, or the mean effect of the levels.
    name : str, default=None
        Name of the term in tables. None takes the name of the column.

    Examples
    --------
    >>> from adasadmm import terms
    >>> terms.ordered("age", bins=[25, 40, 65], monotone="decreasing").bins
    (25.0, 40.0, 65.0)
    """

    bins: int | Sequence[float] | None = None
    binning: str = "quantile"
    levels: Sequence[Any] | None = None
    monotone: str | None = None
    cyclic: bool = False

    drawing = "steps"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("binning", "quantile", "width")
        self._check_choice("monotone", *DIRECTIONS)
        if self.cyclic and self.monotone is not None:
            raise ValueError(f"{self.label} cannot be both cyclic and monotone: drop one of them")
        if self.levels is not None:
            if self.bins is not None:
                raise ValueError(f"{self.label} takes levels or bins, not both")
            self._set(levels=tuple(map(plain_value, self.levels)))
        if isinstance(self.bins, Sequence | np.ndarray) and not isinstance(self.bins, str):
            cuts = tuple(float(cut) for cut in self.bins)
            if not cuts or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0.0).any():
                raise ValueError(f"bins of terms.ordered must be finite numbers in increasing order, got {self.bins!r}")
            self._set(bins=cuts)
        elif self.bins is not None:
            self._check_count("bins", 2)

    @property
    def direction(self) -> int:
        return DIRECTIONS[self.monotone]

    def check_table(self, table: Table) -> None:
        super().check_table(table)
        if self.bins is not None:
            table.check_numbers(self.column, self.label)

    def first_pass(self) -> Statistics | None:
        return None if isinstance(self.bins, tuple) else super().first_pass()

    def second_pass(self, first: Values, others: Mapping[str, Any]) -> Tally:
        if self.bins is None:
            levels = self._levels(self._values_of(first))
            self._check_numbers(levels)
        else:
            cuts = np.array(self.bins) if isinstance(self.bins, tuple) else self._cuts(self.bins, first)
            levels = self._levels(_bands(cuts), cuts)
        own = np.array(levels.proper)
        edges = own[chain(len(own))] if len(own) > 1 else np.empty((0, 2), dtype=int)
        if self.cyclic and len(own) > 2:
            edges = np.vstack([edges, [own[0], own[-1]]])
        return Tally((levels,), _with_base(edges, levels))

    def _values_of(self, values: Values) -> list:
        if self.levels is None:
            return values.in_order()
        strange = [value for value in values.counts() if value not in set(self.levels)]
        if strange:
            raise ValueError(f"{self.label}: levels lacks {strange[0]!r}, a value of column {self.column!r}: add it")
        return list(self.levels)

    def _cuts(self, count: Any, values: Values) -> np.ndarray:
        """The inner ends of this number of bands."""
        low, high = values.span()
        shares = np.linspace(0.0, 1.0, count + 1)[1:-1]
        cuts = np.unique(values.quantiles(shares)) if self.binning == "quantile" else low + shares * (high - low)
        return cuts[(cuts >= low) & (cuts < high)]


def _bands(cuts: np.ndarray) -> list[str]:
    ends = [f"{cut:.6g}" for cut in cuts]
    if not ends:
        return ["all"]
    return [f"<= {ends[0]}", *(f"({a}, {b}]" for a, b in itertools.pairwise(ends)), f"> {ends[-1]}"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class nominal(FactorTerm):
    """A factor without an order: any two levels may be fused.

    The penalty is the sum of ``weight |coef[k] - coef[l]|`` over all pairs of levels.

    Parameters
    ----------
    column : str
        Name of the column.
    min_count : int, default=1
        Levels with fewer rows are gathered in one level, ``"(other)"``, to which unknown levels then belong.
    base, penalty, weights, strength, missing, unknown, name
        As for `ordered`. ``unknown="nearest"`` needs levels that are numbers.

    Examples
    --------
    >>> from adasadmm import terms
    >>> terms.nominal("brand", min_count=50).min_count
    50
    """

    min_count: int = 1

    drawing = "coloured bars"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_count("min_count", 1)

    def second_pass(self, first: Values, others: Mapping[str, Any]) -> Tally:
        counts = first.counts()
        kept = [level for level in first.in_order() if counts.get(level, 0) >= self.min_count]
        levels = self._levels([*kept, OTHER] if min(counts.values(), default=1) < self.min_count else kept)
        self._check_numbers(levels)
        pairs = len(levels) * (len(levels) - 1) // 2
        if pairs > MOST_PAIRS:
            raise ValueError(
                f"{self.label} has {len(levels):,} levels, which make {pairs:,} pairs: gather rare levels by "
                "min_count, or use terms.spatial with edges between similar levels"
            )
        return Tally((levels,), np.column_stack(np.triu_indices(len(levels), 1)))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class spatial(FactorTerm):
    """A factor whose levels are places: those that share a border, or are near each other, may be fused.

    The penalty is the sum of ``weight |coef[k] - coef[l]|`` over the edges of the graph.

    Parameters
    ----------
    column : str
        Name of the column with the places.
    edges : frame, sequence of pairs, or path of a CSV file, default=None
        Pairs of levels; the first two columns of a frame or a file in UTF-8, whose first line is a heading. A level in
        a file is a number if the column holds numbers, otherwise text: "01" is not "1". Levels of the edges without a
        row get the coefficient that the penalty gives them: that of their neighbours.
    coordinates : (str, str), default=None
        Two columns with the coordinates of the rows. A place is at the mean of its rows, and its edges lead to the
        ``neighbours`` nearest places. Either ``edges`` or ``coordinates`` is required.
    neighbours : int, default=5
        Number of nearest places.
    base, penalty, weights, strength, missing, unknown, name
        As for `ordered`. ``unknown="nearest"`` takes the nearest place by ``coordinates``.

    Examples
    --------
    >>> from adasadmm import terms
    >>> terms.spatial("region", edges=[("north", "middle"), ("middle", "south")]).edges
    (('north', 'middle'), ('middle', 'south'))
    """

    edges: Any = None
    coordinates: tuple[str, str] | None = None
    neighbours: int = 5

    drawing = "map"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_count("neighbours", 1)
        if (self.edges is None) == (self.coordinates is None):
            raise ValueError(f"{self.label} needs either edges between levels or coordinates=(column, column)")
        self._set(edges=plain_edges(self.edges, "terms.spatial"))
        if self.coordinates is not None:
            self._set(coordinates=plain_columns(self.coordinates, "terms.spatial"))
            if len(self.coordinates) != 2:
                raise ValueError(
                    f"coordinates of terms.spatial must name two columns of the table, got {self.coordinates!r}"
                )
        if self.unknown == "nearest" and self.coordinates is None:
            raise ValueError(f'unknown="nearest" of {self.label} needs coordinates')

    @property
    def reads(self) -> tuple[str, ...]:
        return self.column, *(self.coordinates or ())

    def second_pass(self, first: Values, others: Mapping[str, Any]) -> Tally:
        if self.coordinates is not None:
            return Tally((replace(self._levels(first.in_order()), coordinates=self.coordinates),))
        pairs = self._pairs(first)
        named = list(dict.fromkeys(level for pair in pairs for level in pair))
        counts = first.counts()
        if not set(named) & set(counts):
            raise ValueError(
                f"{self.label}: none of the levels that the edges name, such as {named[0]!r}, is a value of the "
                f"column, such as {max(first.in_order(), key=lambda level: counts.get(level, 0))!r}; check names and "
                "types"
            )
        levels = self._levels(first.in_order(named))
        return Tally((levels,), _with_base(self._given_edges(pairs, levels), levels))

    def _pairs(self, values: Values) -> list[tuple]:
        """The given pairs of levels, from the file if one is named."""
        if not isinstance(self.edges, str):
            return list(self.edges)
        file_of_edges = f"{self.label}: the file of edges {self.edges!r}"
        try:
            with open(self.edges, newline="", encoding="utf-8-sig") as file:
                rows = [row for row in csv.reader(file) if row]
        except OSError as error:
            raise ValueError(f"{file_of_edges} cannot be read: {error.strerror}") from None
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{file_of_edges} is not CSV in UTF-8: {error}") from None
        if len(rows) < 2 or any(len(row) < 2 for row in rows):
            raise ValueError(f"{file_of_edges} needs a heading and two columns of levels")
        known = set(values.in_order())
        has_numbers = any(isinstance(value, (int, float)) for value in known)
        return [tuple(_level(cell, known, has_numbers) for cell in row[:2]) for row in rows[1:]]

    def _given_edges(self, pairs: list[tuple], levels: Levels) -> np.ndarray:
        """The given edges as numbers of levels; levels that no edge names stay apart, with a warning."""
        number = {level: k for k, level in enumerate(levels.levels)}
        edges = np.array([[number[one], number[other]] for one, other in pairs])
        alone = [levels.levels[k] for k in sorted(set(levels.proper) - {*edges.ravel().tolist()})]
        if alone:
            message = f"{self.label}: the edges do not name the levels {listed(alone)}, which are fused with none"
            warnings.warn(message, stacklevel=2)
        return np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)

    def _joined(self, levels: Levels, tally: Tally) -> tuple[Levels, np.ndarray]:
        if self.coordinates is None:
            return super()._joined(levels, tally)
        places = tally.places()
        known = np.isfinite(places).all(axis=1)
        lost = [levels.levels[k] for k in levels.proper if not known[k]]
        if lost:
            raise ValueError(
                f"{self.label}: the levels {listed(lost)} have no row with both coordinates {self.coordinates}: fill "
                "them"
            )
        return replace(levels, places=places), _with_base(_nearest(places, self.neighbours), levels)


def _level(cell: str, known: set, has_numbers: bool) -> Any:
    """The level that a cell names: a number only if the column holds numbers, so that the text "01" stays as it is."""
    if cell in known:
        return cell
    cell = cell.strip()
    if not has_numbers or cell in known or not NUMBER.fullmatch(cell):
        return cell
    number = float(cell)
    return int(number) if number.is_integer() else number


def _nearest(places: np.ndarray, neighbours: int) -> np.ndarray:
    """The edges from each place to its nearest ones."""
    known = np.flatnonzero(np.isfinite(places).all(axis=1))
    k = min(neighbours, len(known) - 1)
    found = cKDTree(places[known]).query(places[known], k=k + 1)[1].reshape(len(known), -1)
    pairs = np.column_stack([np.repeat(np.arange(len(known)), found.shape[1]), found.reshape(-1)])
    pairs = known[pairs[pairs[:, 0] != pairs[:, 1]]]
    return np.unique(np.sort(pairs, axis=1), axis=0)


@dataclass(frozen=True, eq=False, repr=False)
class interaction(Term):
    """The joint effect of two factors beyond their own: the product of their graphs.

    A coefficient for each pair of levels, 0 if one of them is its base. Pairs with one level in common may be fused if
    the graph of the other factor joins their other levels.

    Parameters
    ----------
    first, second : str
        Names of two terms of the same model that are factors.
    strength : float, default=1.0
        Factor of the weights of the model for this term.
    name : str, default=None
        Name of the term in tables. None takes both names with a colon between them.

    Examples
    --------
    >>> from adasadmm import terms
    >>> terms.interaction("age_band", "region").factors
    ('age_band', 'region')
    """

    first: str
    second: str
    _: KW_ONLY
    strength: float = 1.0
    name: str | None = None

    drawing = "image"

    def __post_init__(self) -> None:
        super().__post_init__()
        plain_columns((self.first, self.second), "terms.interaction")

    @property
    def factors(self) -> tuple[str, str]:
        """The names of the two terms."""
        return self.first, self.second

    @property
    def default_title(self) -> str:
        return ":".join(self.factors)

    def second_pass(self, first: None, others: Mapping[str, Any]) -> Tally:
        known = {name: other for name, other in others.items() if isinstance(other, Tally) and len(other.parts) == 1}
        for name in self.factors:
            if name not in known:
                raise ValueError(
                    f"terms.interaction names {name!r}, which is not a factor of the model; its factors are "
                    f"{', '.join(map(repr, known)) or 'none'}: add terms.ordered, terms.nominal or terms.spatial of "
                    f"{name!r} before it"
                )
        return Tally(tuple(known[name].parts[0] for name in self.factors))

    def block(self, first: None, second: Tally, others: Mapping[str, Any]) -> Factor:
        """The product of two factors, which are joined where one of them is joined and the other has the same level."""
        one, other = (others[name] for name in self.factors)
        m, n = len(one.levels), len(other.levels)
        free = (one.place >= 0)[:, None] & (other.place >= 0)[None, :]
        place = np.where(free, np.cumsum(free).reshape(m, n) - 1, -1).reshape(-1)
        along_first = (one.edges[:, None, :] * n + np.arange(n)[None, :, None]).reshape(-1, 2)
        along_second = (np.arange(m)[:, None, None] * n + other.edges[None, :, :]).reshape(-1, 2)
        edges = np.vstack([along_first, along_second])
        return Factor(
            kind=self.kind,
            name=self.title,
            parts=(*one.parts, *other.parts),
            levels=[f"{level}:{beside}" for level in one.levels for beside in other.levels],
            place=place,
            edges=edges[(place[edges] >= 0).any(axis=1)],  # two cells with coefficient 0 need no edge
            counts=second.counts(),
            strength=self.strength,
        )
