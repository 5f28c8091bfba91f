"""What a kind of term consists of: its record, which `Term` describes, and its columns in a design, a `Block`.

A new kind is a frozen dataclass that derives from `Term`. It says what two passes over the rows collect, and makes a
block from that; nothing else in the package asks which kind a term is.
"""

from __future__ import annotations

import dataclasses
import os
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from .table import Measures, Table, plain_value

__all__ = ["Block", "Encoded", "Labels", "Slot", "Statistics", "Term", "plain_columns", "plain_edges", "plain_weights"]

_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = 100


class Statistics(Protocol):
    """What a pass over the rows collects."""

    def add(self, table: Table, measures: Measures) -> None: ...


class Term(ABC):
    """Which columns of a table a part of a model uses, and how their coefficients are related."""

    name: str | None
    strength: float
    drawing = "bars"  # how `TermsDisplay` draws it

    def __post_init__(self) -> None:
        if not isinstance(self.strength, Real) or not 0.0 <= float(self.strength) < np.inf:
            raise ValueError(f"strength of terms.{self.kind} must be a finite number >= 0, got {self.strength!r}")

    def __repr__(self) -> str:
        """The call that makes the term, without the arguments that are defaults; those of its own kind come first."""
        own, shown = type(self).__annotations__, []
        for field in sorted(self.fields(), key=lambda field: field.kw_only and field.name not in own):
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING:
                shown.append(_shortened.repr(value))
            elif value is not field.default and value != field.default:
                shown.append(f"{field.name}={_shortened.repr(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def fields(self) -> tuple[dataclasses.Field, ...]:
        """The arguments; each kind of term is a dataclass."""
        return dataclasses.fields(self)  # type: ignore[arg-type]

    # --- names -------------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return type(self).__name__

    @property
    def label(self) -> str:
        """The term in messages."""
        return f"terms.{self.kind}"

    @property
    def title(self) -> str:
        """The given name of the term, or that of what it uses."""
        return self.default_title if self.name is None else str(self.name)

    @property
    def default_title(self) -> str:
        return "+".join(self.reads)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the table that the term itself reads."""
        return ()

    @property
    def factors(self) -> tuple[str, ...]:
        """The names of other terms on which this one is built."""
        return ()

    # --- learning: two passes over the rows, then a block ------------------------------------------------------------

    def check_table(self, table: Table) -> None:
        """Raise ``ValueError`` unless the table has the columns of the term, with values that it can use."""
        table.check_columns(self.reads, self.label)

    def first_pass(self) -> Statistics | None:
        """What the first pass collects."""
        return None

    def second_pass(self, first: Any, others: Mapping[str, Any]) -> Statistics | None:
        """What the second pass collects; ``others`` are the collections of this pass of earlier terms, by name."""
        return None

    @abstractmethod
    def block(self, first: Any, second: Any, others: Mapping[str, Block]) -> Block:
        """The columns of the term in the design, from what was collected, and the blocks of earlier terms."""

    # --- arguments ---------------------------------------------------------------------------------------------------

    def _set(self, **fields: Any) -> None:
        """Replace arguments by plain values; the records are frozen for everyone else."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _check_choice(self, field: str, *choices: Any) -> None:
        if getattr(self, field) not in choices:
            listed = ", ".join(map(repr, choices))
            raise ValueError(f"{field} of terms.{self.kind} must be one of {listed}, got {getattr(self, field)!r}")

    def _check_count(self, field: str, least: int) -> None:
        value = getattr(self, field)
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise ValueError(f"{field} of terms.{self.kind} must be an integer >= {least}, got {value!r}")


class Slot(NamedTuple):
    """For each row the column of an entry in the block, -1 for none, and its value; None if all values are 1."""

    columns: np.ndarray
    values: np.ndarray | None = None


class Encoded(NamedTuple):
    """The rows of a table in a block: slots, and rows that have the same entry in each column."""

    slots: list[Slot]
    average_rows: np.ndarray = np.empty(0, dtype=np.intp)
    average: np.ndarray = np.empty(0)


class Labels(NamedTuple):
    """What the coefficients of a term belong to, with the number of rows of each and their exposure.

    ``edges`` are pairs of labels that may be fused, ``places`` coordinates on a map, ``sides`` the labels along each
    axis of an image.
    """

    names: list
    rows: np.ndarray
    exposure: np.ndarray
    edges: np.ndarray = np.empty((0, 2), dtype=np.intp)
    places: np.ndarray | None = None
    sides: tuple[list, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Block(ABC):
    """The columns of a term in a design: how a table is encoded, what is penalised, and how results are shown.

    ``penalty`` is "l1", "l2", "group" or "none". ``weights`` are given weights of the rows of A.
    """

    kind: str
    name: str
    strength: float = 1.0
    penalty: str = "l1"
    weights: np.ndarray | None = None

    is_factor = False  # whether it has levels, which interactions can join

    # --- X and A -----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The name of each column."""

    @property
    def width(self) -> int:
        return len(self.names)

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The columns of the table."""

    @abstractmethod
    def encode(self, table: Table, units: tuple[np.ndarray, np.ndarray] | None) -> Encoded:
        """The rows of a table, in its own units or in others (centre and scale of each column)."""

    def units(self, centred: bool) -> tuple[np.ndarray, np.ndarray]:
        """The centre and the scale of each column in the units of the penalty."""
        return np.zeros(self.width), np.ones(self.width)

    @property
    @abstractmethod
    def A(self) -> sp.csr_array:
        """The differences and columns that are penalised."""

    def standard_weights(self) -> np.ndarray:
        """The weight of each row of A for which one strength serves all terms."""
        return np.ones(self.A.shape[0])

    def row_weights(self, standard: bool) -> np.ndarray:
        """The given weight of each row of A; if there are none, the strength times the standard weight or 1."""
        if self.weights is not None:
            return self.weights
        return float(self.strength) * (self.standard_weights() if standard else np.ones(self.A.shape[0]))

    def constraints(self) -> sp.csr_array:
        """The rows C of ``C w >= 0``."""
        return sp.csr_array((0, self.width))

    @abstractmethod
    def is_consistent(self) -> bool:
        """Whether the fields belong together: those of a file may not."""

    # --- tables and pictures -----------------------------------------------------------------------------------------

    @abstractmethod
    def labels(self) -> Labels:
        """What the coefficients belong to."""

    def coefficients(self, coef: np.ndarray) -> np.ndarray:
        """The coefficient of each label, from those of the columns."""
        return coef

    def describe(self, coefs: np.ndarray, groups: np.ndarray) -> str:
        """The result in words, from the coefficients and the groups of labels, a row for each linear function."""
        used = int((coefs != 0.0).any(axis=0).sum())
        return f"{self.width} column{'s' if self.width > 1 else ''}, {used} non-zero"


# --- arguments as plain tuples, so that terms can be copied and saved ------------------------------------------------


def plain_columns(given: Any, term: str) -> tuple[str, ...]:
    """One or several names of columns as a tuple."""
    columns = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if not columns or not all(isinstance(column, str) for column in columns):
        raise ValueError(f"{term} needs the name of a column, or several of them, got {given!r}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"{term} names a column twice: {columns!r}")
    return columns


def plain_edges(given: Any, term: str) -> str | tuple | None:
    """Pairs of levels from a frame or a sequence; a path stays as it is."""
    if given is None or isinstance(given, (str, os.PathLike)):
        return None if given is None else os.fspath(given)
    pairs = tuple(tuple(map(plain_value, row[:2])) for row in _rows(given) if len(row) >= 2)
    if not pairs:
        raise ValueError(f"edges of {term} must be pairs of levels, a frame or a file with them, got {given!r}")
    return pairs


def plain_weights(given: Any, term: str) -> tuple[tuple[Any, Any, float], ...] | None:
    """Triples (level_a, level_b, weight) from a frame with these columns or a sequence of triples."""
    if given is None:
        return None
    triples = []
    for row in _rows(given, ("level_a", "level_b", "weight")):
        try:
            one, other, weight = row
            weight = float(weight)
        except (TypeError, ValueError):
            raise ValueError(
                f"weights of {term} must be a frame with the columns level_a, level_b and weight, or such triples, got "
                f"the row {row!r}"
            ) from None
        if not 0.0 <= weight < np.inf:
            raise ValueError(f"weights of {term} must be finite numbers >= 0, got {weight!r} in {row!r}")
        is_missing = other is None or other == "" or other != other
        triples.append((plain_value(one), None if is_missing else plain_value(other), weight))
    if not triples:
        raise ValueError(f"weights of {term} must not be empty")
    return tuple(triples)


def _rows(given: Any, names: Sequence[str] = ()) -> list[tuple]:
    """The rows of a frame, of its columns of these names if it has them, or of a sequence."""
    try:
        frame = nw.from_native(given, eager_only=True)
    except TypeError:
        return [tuple(row) for row in given]
    if names and set(names) <= set(frame.columns):
        frame = frame.select(*names)
    return list(frame.iter_rows())
