"""The terms of numbers: columns that are penalised in units of their standard deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._core.states import is_numbers
from .table import Measures, Moments, Table
from .term import Block, Encoded, Labels, Slot, Term, plain_columns, plain_weights

__all__ = ["Numbers", "group", "linear"]


@dataclass(frozen=True, eq=False, repr=False)
class NumberTerm(Term):
    """Columns of numbers with a coefficient each."""

    columns: str | Sequence[str]
    _: KW_ONLY
    strength: float = 1.0
    missing: str = "error"
    name: str | None = None

    penalty = "group"
    weights = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("missing", "error", "indicator", "ignore")
        self._set(columns=plain_columns(self.columns, self.label))

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def first_pass(self) -> ColumnMoments:
        return ColumnMoments(self.reads, self.label)

    def block(self, first: ColumnMoments, second: None, others: Mapping[str, Block]) -> Numbers:
        for column, found in first.columns.items():
            if found.weight <= 0.0:
                raise ValueError(f"{self.label}: column {column!r} has no number in a row with a weight")
        with_holes = [column for column, found in first.columns.items() if found.missing]
        indicated = with_holes if self.missing == "indicator" else []
        moments = [*first.columns.values(), *(first.indicators[column] for column in indicated)]
        return Numbers(
            kind=self.kind,
            name=self.title,
            columns=self.reads,
            missing=self.missing,
            mean=np.array([each.mean for each in moments]),
            scale=np.array([each.deviation() for each in moments]),
            indicated=tuple(map(self.reads.index, indicated)),
            known=np.array([each.rows for each in moments]),
            strength=self.strength,
            penalty=self.penalty,
            weights=self._weights_of([*self.reads, *map(indicator, indicated)], self.weights),
        )

    def _weights_of(self, names: list[str], given: Any) -> np.ndarray | None:
        """The given weight of each column."""
        if given is None:
            return None
        weights = np.full(len(names), np.nan)
        for column, other, weight in given:
            if other is not None or column not in names:
                raise ValueError(
                    f"weights of {self.label} must name a column in level_a and nothing in level_b, got {column!r} and "
                    f"{other!r}; the columns are {', '.join(names)}"
                )
            weights[names.index(column)] = weight
        if np.isnan(weights).any():
            lacking = names[int(np.isnan(weights).argmax())]
            raise ValueError(f"weights of {self.label} lacks the column {lacking!r}: add it")
        return weights


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class linear(NumberTerm):
    """Numbers and flags with a coefficient each.

    The penalty applies to the coefficients of the standardised columns; the model reports them in the units of the
    columns.

    Parameters
    ----------
    columns : str or sequence of str
        Names of the columns, with numbers or booleans.
    penalty : {"l1", "l2", "none"}, default="l1"
        ``"l1"`` drops columns that do not help, ``"l2"`` shrinks them, ``"none"`` leaves them free.
    weights : frame or sequence, default=None
        The weight of each column: a frame with the columns ``level_a`` (the name of the column), ``level_b`` (empty)
        and ``weight``, or such triples. None takes the weights of the model.
    strength : float, default=1.0
        Factor of the weights of the model for this term.
    missing : {"error", "indicator", "ignore"}, default="error"
        Missing values raise ``ValueError``, or are replaced by the mean; ``"indicator"`` adds a column that is 1 where
        a value is missing.
    name : str, default=None
        Name of the term in tables. None takes the names of the columns.

    Examples
    --------
    >>> from adasadmm import terms
    >>> terms.linear(["mileage", "price"]).columns
    ('mileage', 'price')
    """

    penalty: str = "l1"
    weights: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("penalty", "l1", "l2", "none")
        self._set(weights=plain_weights(self.weights, self.label))


@dataclass(frozen=True, eq=False, repr=False)
class group(NumberTerm):
    """Numbers that are selected together: their coefficients are all 0, or none of them is.

    The penalty is ``weight`` times the Euclidean norm of the coefficients of the standardised columns. The weight is
    the root of the number of columns, times the adaptive weight if the model has them.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    strength, missing, name
        As for `linear`.

    Examples
    --------
    >>> from adasadmm import terms
    >>> terms.group(["x1", "x2", "x3"]).columns
    ('x1', 'x2', 'x3')
    """


class ColumnMoments:
    """The moments of columns of numbers, and of the indicators of their missing values."""

    def __init__(self, columns: tuple[str, ...], label: str) -> None:
        self.label = label
        self.columns = {column: Moments() for column in columns}
        self.indicators = {column: Moments() for column in columns}

    def add(self, table: Table, measures: Measures) -> None:
        for column in self.columns:
            values = table.numbers(column, self.label)
            self.columns[column].add(values, measures.weight)
            self.indicators[column].add(np.isnan(values).astype(float), measures.weight)


def indicator(column: str) -> str:
    """The name of the column that is 1 where a value is missing."""
    return f"{column}=(missing)"


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbers(Block):
    """The block of a linear or group term: columns of numbers, then indicators of missing values.

    ``known`` is the number of rows in which a column has a number.
    """

    columns: tuple[str, ...]
    missing: str
    mean: np.ndarray
    scale: np.ndarray
    indicated: tuple[int, ...]
    known: np.ndarray

    @property
    def names(self) -> list[str]:
        return [*self.columns, *(indicator(self.columns[k]) for k in self.indicated)]

    @property
    def reads(self) -> tuple[str, ...]:
        return self.columns

    def encode(self, table: Table, units: tuple[np.ndarray, np.ndarray] | None = None) -> Encoded:
        """A slot for each column."""
        label = f"terms.{self.kind}"
        table.check_columns(self.columns, label)
        columns = [table.numbers(column, label) for column in self.columns]
        missing = [np.isnan(values) for values in columns]
        if self.missing == "error":
            for column, lost in zip(self.columns, missing, strict=True):
                if lost.any():
                    raise ValueError(
                        f"{label}: column {column!r} has {int(lost.sum())} missing values, the first in row "
                        f'{int(lost.argmax())}; set missing="indicator" or missing="ignore", or fill them'
                    )
        filled = [np.where(lost, mean, values) for lost, mean, values in zip(missing, self.mean, columns, strict=False)]
        filled += [missing[k].astype(float) for k in self.indicated]
        if units is not None:
            filled = [(values - centre) / scale for values, centre, scale in zip(filled, *units, strict=True)]
        places = (np.where(values != 0.0, k, -1).astype(np.int32) for k, values in enumerate(filled))
        return Encoded([Slot(place, values) for place, values in zip(places, filled, strict=True)])

    def units(self, centred: bool) -> tuple[np.ndarray, np.ndarray]:
        return self.mean * centred, self.scale

    @property
    def A(self) -> sp.csr_array:
        """A row for each penalised column, in units of its standard deviation."""
        count = 0 if self.penalty == "none" else self.width
        return sp.csr_array(sp.eye_array(count, self.width, format="csr"))

    def standard_weights(self) -> np.ndarray:
        """1 for each column; for a group the root of its size."""
        weights = super().standard_weights()
        return np.sqrt(len(weights)) * weights if self.penalty == "group" else weights

    def is_consistent(self) -> bool:
        """Whether there is a mean and a positive scale for each column."""
        return (
            set(self.indicated) <= set(range(len(self.columns)))
            and is_numbers(self.mean, (self.width,))
            and is_numbers(self.scale, (self.width,))
            and bool((self.scale > 0.0).all())
        )

    def labels(self) -> Labels:
        return Labels(self.names, self.known, np.full(self.width, np.nan))
