"""Check the arguments of terms and convert them to plain tuples, so that terms can be copied and saved."""

from __future__ import annotations

import dataclasses
import os
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

__all__ = [
    "Term",
    "check_choice",
    "check_count",
    "check_strength",
    "columns_of",
    "plain_columns",
    "plain_edges",
    "plain_value",
    "plain_weights",
    "term_name",
]

Weights = tuple[tuple[Any, Any, float], ...]

_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = 100


class Term:
    """What the records of terms share: a text with the arguments that differ from their defaults, as one writes it."""

    def __repr__(self) -> str:
        shown = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING:
                shown.append(_shortened.repr(value))
            elif value is not field.default and value != field.default:
                shown.append(f"{field.name}={_shortened.repr(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def check_choice(term: Any, field: str, choices: Sequence[Any]) -> None:
    """Raise ``ValueError`` unless the field of the term is one of the choices."""
    if getattr(term, field) not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(
            f"{field} of terms.{type(term).__name__} must be one of {listed}, got {getattr(term, field)!r}"
        )


def check_count(term: Any, field: str, least: int) -> None:
    """Raise ``ValueError`` unless the field of the term is an integer that is large enough."""
    value = getattr(term, field)
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ValueError(f"{field} of terms.{type(term).__name__} must be an integer >= {least}, got {value!r}")


def check_strength(term: Any) -> None:
    """Raise ``ValueError`` unless the strength of the term is a finite number >= 0."""
    if not isinstance(term.strength, Real) or not 0.0 <= float(term.strength) < np.inf:
        raise ValueError(f"strength of terms.{type(term).__name__} must be a finite number >= 0, got {term.strength!r}")


def term_name(term: Any) -> str:
    """The name of a term: the given one, or its columns."""
    if term.name is not None:
        return str(term.name)
    return ":".join(term.factors) if hasattr(term, "factors") else "+".join(columns_of(term))


def columns_of(term: Any) -> tuple[str, ...]:
    return term.columns if hasattr(term, "columns") else (term.column,)


def plain_columns(given: Any, term: str) -> tuple[str, ...]:
    """One or several names of columns as a tuple."""
    columns = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if not columns or not all(isinstance(column, str) for column in columns):
        raise ValueError(f"terms.{term} needs the name of a column, or several of them, got {given!r}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"terms.{term} names a column twice: {columns!r}")
    return columns


def plain_value(value: Any) -> Any:
    """A level as a number, a boolean or a string of Python."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, float)) or value is None else str(value)


def plain_edges(given: Any, term: str) -> str | tuple | None:
    """Pairs of levels from a frame or a sequence; a path stays as it is."""
    if given is None or isinstance(given, (str, os.PathLike)):
        return None if given is None else os.fspath(given)
    pairs = tuple(tuple(map(plain_value, row[:2])) for row in _rows(given) if len(row) >= 2)
    if not pairs:
        raise ValueError(f"edges of terms.{term} must be pairs of levels, a frame or a file with them, got {given!r}")
    return pairs


def plain_weights(given: Any, term: str) -> Weights | None:
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
                f"weights of terms.{term} must be a frame with the columns level_a, level_b and weight, or such "
                f"triples, got the row {row!r}"
            ) from None
        if not 0.0 <= weight < np.inf:
            raise ValueError(f"weights of terms.{term} must be finite numbers >= 0, got {weight!r} in {row!r}")
        triples.append((plain_value(one), None if _is_missing(other) else plain_value(other), weight))
    if not triples:
        raise ValueError(f"weights of terms.{term} must not be empty")
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


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or value != value
