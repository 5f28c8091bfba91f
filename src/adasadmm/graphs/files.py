"""Read edges from a CSV file: detect the header and the role of each column, and name the line in errors."""

from __future__ import annotations

import csv
import errno
import math
import os
from collections.abc import Iterator
from typing import NamedTuple

from .columns import Names
from .labels import nearest_name, no_feature, places_of

__all__ = ["read_edges"]

FIRST = {"source", "from", "src", "node1", "node_1", "feature1", "u", "i", "first", "start"}
SECOND = {"target", "to", "dst", "node2", "node_2", "feature2", "v", "j", "second", "end"}


class Line(NamedTuple):
    """The cells of a line, and its place in the file as text."""

    place: str
    cells: list[str]


def read_edges(path: str | os.PathLike[str], d: int, names: Names) -> tuple[list[list[int]], list[float] | None]:
    """Pairs of coefficients, and their weights if the file has any."""
    lines = list(_lines(path))
    head = lines[0].cells if lines else []
    for place, cells in lines:
        if len(cells) != len(head) or len(cells) < 2:
            raise ValueError(
                f"{place}: must be source,target[,weight], with commas and as many cells as line 1: {','.join(cells)!r}"
            )
    first, second, weight = 0, 1, 2 if len(head) > 2 else None
    if _is_head(lines, names):
        first, second, weight = _columns(head)
        lines = lines[1:]
        if weight is not None and not any(_is_number(line.cells[weight]) for line in lines):
            weight = None  # the third column holds comments
    pairs = _pairs(lines, first, second, d, names)
    return pairs, None if weight is None else [_weight(place, cells[weight]) for place, cells in lines]


def _lines(path: str | os.PathLike[str]) -> Iterator[Line]:
    """The lines that are not empty."""
    name = os.fspath(path)
    if not os.path.exists(name):
        said = f"no such file of edges in {os.path.dirname(name) or 'this folder'}; check its name"
        raise FileNotFoundError(errno.ENOENT, said, name)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, skipinitialspace=True)
            for cells in reader:
                if "".join(cells).strip():
                    yield Line(f"{name}, line {reader.line_num}", [cell.strip() for cell in cells])
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} is not a CSV file of edges in UTF-8: {error}") from None


def _is_head(lines: list[Line], names: Names) -> bool:
    """Whether the first line is a header.

    It is if it contains known column names such as "source" and "target", or strings that resemble no feature while all
    other lines are valid edges. Anything else is an edge: a misspelt edge must not pass for a header.
    """
    if not lines or any(_is_number(cell) for cell in lines[0].cells):
        return False
    head = lines[0].cells
    words = {cell.lower() for cell in head}
    if words & FIRST and words & SECOND:
        return not set(head[:2]) <= set(names or ())
    if len(lines) < 2 or any(nearest_name(cell, names) for cell in head[:2]):
        return False
    ends = {cell for line in lines[1:] for cell in line.cells[:2]}
    return ends <= set(names or ()) or all(map(_is_number, ends))


def _columns(head: list[str]) -> tuple[int, int, int | None]:
    """The columns of the two ends and of the weight: by name, otherwise in this order."""
    words = [cell.lower() for cell in head]
    first = next((k for k, word in enumerate(words) if word in FIRST), 0)
    second = next((k for k, word in enumerate(words) if word in SECOND), 1)
    others = [k for k in range(len(head)) if k not in (first, second)]
    return first, second, words.index("weight") if "weight" in words else next(iter(others), None)


def _pairs(lines: list[Line], first: int, second: int, d: int, names: Names) -> list[list[int]]:
    """The edges as pairs of numbers."""
    ends = [[cells[first], cells[second]] for _, cells in lines]
    places, strangers = places_of([end for pair in ends for end in pair], d, names)
    pairs = []
    for (place, _), pair in zip(lines, ends, strict=True):
        for end in pair:
            if end in strangers:
                raise ValueError(f"{place}: {no_feature(end, d, names)}")
        if pair[0] == pair[1]:
            raise ValueError(f"{place}: {pair[0]!r} is joined to itself; an edge joins two different features")
        pairs.append([places[end] for end in pair])
    return pairs


def _weight(place: str, cell: str) -> float:
    if not _is_number(cell):
        raise ValueError(f"{place}: weight {cell!r} is not a number")
    if not 0.0 < float(cell) < math.inf:
        raise ValueError(f"{place}: weight {cell} must be finite and > 0")
    return float(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
