"""The edges of a factor: which levels may be fused, and with which weights."""

from __future__ import annotations

import csv
import re
import warnings
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ..graphs import chain
from ._columns import Values
from ._given import plain_value
from ._levels import MISSING, OTHER, find_level

__all__ = ["check_places", "edges_of", "pairs_of", "weights_of"]

MOST_PAIRS = 200_000
MOST_NAMED = 5
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def edges_of(
    term: Any, label: str, levels: list, base: int, places: np.ndarray | None, pairs: list[tuple]
) -> np.ndarray:
    """Pairs of levels that may be fused; a level without neighbours of its own is joined to the base."""
    apart = [k for k, level in enumerate(levels) if level in (MISSING, OTHER)]
    proper = [k for k in range(len(levels)) if k not in apart]
    kind = type(term).__name__
    if kind == "nominal":
        count = len(levels) * (len(levels) - 1) // 2
        if count > MOST_PAIRS:
            raise ValueError(
                f"{label} has {len(levels):,} levels, which make {count:,} pairs: gather rare levels by min_count, or "
                "use terms.spatial with edges between similar levels"
            )
        return np.column_stack(np.triu_indices(len(levels), 1))
    if kind == "ordered":
        own = np.array(proper)[chain(len(proper))] if len(proper) > 1 else np.empty((0, 2), dtype=int)
        if term.cyclic and len(proper) > 2:
            own = np.vstack([own, [proper[0], proper[-1]]])
    elif term.edges is not None:
        own = _given_edges(pairs, label, levels)
    else:
        assert places is not None
        own = _nearest(places, term.neighbours)
    more = [[min(base, k), max(base, k)] for k in apart if k != base]
    return np.vstack([own, np.array(more, dtype=int).reshape(-1, 2)])


def pairs_of(term: Any, label: str, found: Values | None) -> list[tuple]:
    """The pairs of levels that a spatial term was given, from its file if it names one; other terms have none."""
    given = getattr(term, "edges", None)
    if not isinstance(given, str):
        return list(given or ())
    try:
        with open(given, newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        raise ValueError(f"{label}: the file of edges {given!r} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{label}: the file of edges {given!r} is not CSV in UTF-8: {error}") from None
    if len(rows) < 2 or any(len(row) < 2 for row in rows):
        raise ValueError(f"{label}: the file of edges {given!r} needs a heading and two columns of levels")
    assert found is not None
    known = {*found.counts(), *(found.categories or ())}
    has_numbers = any(isinstance(value, (int, float)) for value in known)
    return [tuple(_level(cell, known, has_numbers) for cell in row[:2]) for row in rows[1:]]


def _level(cell: str, known: set, has_numbers: bool) -> Any:
    """The level that a cell names: a number only if the column holds numbers, so that the text "01" stays as it is."""
    if cell in known:
        return cell
    cell = cell.strip()
    if not has_numbers or cell in known or not NUMBER.fullmatch(cell):
        return cell
    number = float(cell)
    return int(number) if number.is_integer() else number


def _given_edges(given: list[tuple], label: str, levels: list) -> np.ndarray:
    """The given edges as numbers of levels; levels that no edge names stay apart, with a warning."""
    number = {level: k for k, level in enumerate(levels)}
    pairs = np.array([[number[one], number[other]] for one, other in given])
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    named = {level for pair in given for level in pair}
    alone = [level for level in levels if level not in named and level not in (MISSING, OTHER)]
    if alone:
        listed = ", ".join(map(repr, alone[:MOST_NAMED])) + (", ..." if len(alone) > MOST_NAMED else "")
        warnings.warn(f"{label}: the edges do not name the levels {listed}, which are fused with none", stacklevel=2)
    return pairs


def check_places(term: Any, label: str, levels: list, places: np.ndarray) -> None:
    """Raise ``ValueError`` if a level has no row with both coordinates."""
    known = np.isfinite(places).all(axis=1)
    lost = [level for level, found in zip(levels, known, strict=True) if not found and level not in (MISSING, OTHER)]
    if lost:
        listed = ", ".join(map(repr, lost[:MOST_NAMED])) + (", ..." if len(lost) > MOST_NAMED else "")
        raise ValueError(
            f"{label}: the levels {listed} have no row with both coordinates {term.coordinates}: fill them"
        )


def _nearest(places: np.ndarray, neighbours: int) -> np.ndarray:
    """The edges from each place to its nearest ones."""
    known = np.flatnonzero(np.isfinite(places).all(axis=1))
    k = min(neighbours, len(known) - 1)
    found = cKDTree(places[known]).query(places[known], k=k + 1)[1].reshape(len(known), -1)
    pairs = np.column_stack([np.repeat(np.arange(len(known)), found.shape[1]), found.reshape(-1)])
    pairs = known[pairs[pairs[:, 0] != pairs[:, 1]]]
    return np.unique(np.sort(pairs, axis=1), axis=0)


def weights_of(given: Any, label: str, levels: list, edges: np.ndarray) -> np.ndarray | None:
    """The given weight of each edge; None if there are none."""
    if given is None:
        return None
    place = {tuple(sorted(edge)): k for k, edge in enumerate(edges.tolist())}
    weights = np.full(len(edges), np.nan)
    for one, other, weight in given:
        if other is None:
            raise ValueError(f"weights of {label} must name two levels in each row, got {one!r} alone")
        pair = sorted(find_level(levels, plain_value(level), f"weights of {label}") for level in (one, other))
        if tuple(pair) not in place:
            raise ValueError(f"weights of {label} joins {one!r} and {other!r}, which no edge of the term joins")
        weights[place[tuple(pair)]] = weight
    lacking = np.flatnonzero(np.isnan(weights))
    if len(lacking):
        one, other = edges[lacking[0]]
        raise ValueError(f"weights of {label} lacks the edge between {levels[one]!r} and {levels[other]!r}: add it")
    return weights
