"""The terms of factors: columns with levels, of which any that an edge joins may be fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ._given import (
    Term,
    check_choice,
    check_count,
    check_strength,
    plain_columns,
    plain_edges,
    plain_value,
    plain_weights,
)

__all__ = ["interaction", "nominal", "ordered", "spatial"]

UNKNOWN = ("error", "nearest", "base", "ignore")
MISSING = ("error", "level", "ignore")


class _Factor(Term):
    """Checks that all terms of factors share. The records are frozen, so fields are set through ``object``."""

    column: str
    base: Any
    penalty: str
    weights: Any
    strength: float
    missing: str
    unknown: str

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if not isinstance(self.column, str):
            raise ValueError(f"terms.{kind} needs the name of a column, got {self.column!r}")
        check_strength(self)
        check_choice(self, "penalty", ("l1", "l2"))
        check_choice(self, "unknown", UNKNOWN)
        check_choice(self, "missing", MISSING)
        self._set(base=plain_value(self.base), weights=plain_weights(self.weights, kind))

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False, repr=False)
class ordered(_Factor):
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

    column: str
    _: KW_ONLY
    bins: int | Sequence[float] | None = None
    binning: str = "quantile"
    levels: Sequence[Any] | None = None
    monotone: str | None = None
    cyclic: bool = False
    base: Any = None
    penalty: str = "l1"
    weights: Any = None
    strength: float = 1.0
    missing: str = "error"
    unknown: str = "error"
    name: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "binning", ("quantile", "width"))
        check_choice(self, "monotone", (None, "increasing", "decreasing"))
        if self.cyclic and self.monotone is not None:
            raise ValueError(f"terms.ordered({self.column!r}) cannot be both cyclic and monotone: drop one of them")
        if self.levels is not None:
            if self.bins is not None:
                raise ValueError(f"terms.ordered({self.column!r}) takes levels or bins, not both")
            self._set(levels=tuple(map(plain_value, self.levels)))
        if isinstance(self.bins, Sequence | np.ndarray) and not isinstance(self.bins, str):
            cuts = tuple(float(cut) for cut in self.bins)
            if not cuts or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0.0).any():
                raise ValueError(f"bins of terms.ordered must be finite numbers in increasing order, got {self.bins!r}")
            self._set(bins=cuts)
        elif self.bins is not None:
            check_count(self, "bins", 2)


@dataclass(frozen=True, eq=False, repr=False)
class nominal(_Factor):
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

    column: str
    _: KW_ONLY
    min_count: int = 1
    base: Any = None
    penalty: str = "l1"
    weights: Any = None
    strength: float = 1.0
    missing: str = "error"
    unknown: str = "error"
    name: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "min_count", 1)


@dataclass(frozen=True, eq=False, repr=False)
class spatial(_Factor):
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

    column: str
    _: KW_ONLY
    edges: Any = None
    coordinates: tuple[str, str] | None = None
    neighbours: int = 5
    base: Any = None
    penalty: str = "l1"
    weights: Any = None
    strength: float = 1.0
    missing: str = "error"
    unknown: str = "error"
    name: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "neighbours", 1)
        if (self.edges is None) == (self.coordinates is None):
            raise ValueError(
                f"terms.spatial({self.column!r}) needs either edges between levels or coordinates=(column, column)"
            )
        self._set(edges=plain_edges(self.edges, "spatial"))
        if self.coordinates is not None:
            self._set(coordinates=plain_columns(self.coordinates, "spatial"))
            if len(self.coordinates) != 2:
                raise ValueError(
                    f"coordinates of terms.spatial must name two columns of the table, got {self.coordinates!r}"
                )
        if self.unknown == "nearest" and self.coordinates is None:
            raise ValueError(f'unknown="nearest" of terms.spatial({self.column!r}) needs coordinates')


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

    def __post_init__(self) -> None:
        check_strength(self)
        plain_columns((self.first, self.second), "interaction")

    @property
    def factors(self) -> tuple[str, str]:
        """The names of the two terms."""
        return self.first, self.second
