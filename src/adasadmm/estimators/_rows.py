"""Where the rows of a source are solved: loaded into memory if they fit there, otherwise block by block."""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from .. import distributed
from .._core import machine
from ..auto import is_auto
from ..registry import as_solver
from ..rows.matrices import plain
from ..sources import RawBlock, Source, SourceError
from ._types import SolverLike, ValidRows

__all__ = ["Loaded", "Place", "always_streams", "is_loaded", "load", "load_for_search", "place_of", "source_of"]

SHARE = 0.25  # of the machine's memory: X, and as much again for each of the few arrays that a solver makes from it
UNKNOWN = 2.0**29  # bytes, where the system does not say how much memory it has
ENTRY = 12  # bytes of an entry of sparse rows; dense rows take fewer


class Place(NamedTuple):
    """Where rows are solved ("memory", "stream" or "cluster"), and why, in words that follow "rows: "."""

    name: str
    reason: str


class LinearFunction(Protocol):
    """A model that is fitted to a source."""

    solver: SolverLike
    _place: tuple[str, ...]


class Loaded(NamedTuple):
    """All rows of a source, and the group of each: its partition, or its value in a column."""

    X: ValidRows
    y: np.ndarray
    weight: np.ndarray | None
    offset: np.ndarray | None
    group: np.ndarray


def source_of(X: Any, y: Any, sample_weight: Any, offset: Any) -> Source | None:
    """The source of rows that are not given as arrays: X itself, or Dask collections; None for arrays."""
    if distributed.is_dask(X):
        return distributed.source_of(X, y, sample_weight, offset)
    if not isinstance(X, Source):
        return None
    if any(given is not None for given in (y, sample_weight, offset)):
        raise ValueError("y, sample_weight and offset must be None if X is a source, which contains them")
    return X


def is_loaded(model: LinearFunction, source: Source) -> bool:
    """Decide where the rows of a source are solved, and keep the reason in the model; whether they are to be loaded."""
    model._place = tuple(place_of(source, model.solver))  # a plain tuple, which skops can save
    return model._place[0] == "memory"


def place_of(source: Source, solver: SolverLike) -> Place:
    """Rows are loaded if the solver is chosen for the rows at hand, or cannot stream, and if they fit in memory."""
    stay = "cluster" if source.on_workers else "stream"
    where = "on the workers of a cluster" if source.on_workers else "streamed"
    if always_streams(solver):
        name = repr(solver) if isinstance(solver, str) else type(solver).__name__
        return Place(stay, f"{where}, because solver={name} was given")
    size, most = ENTRY * source.summary.entries, most_bytes()
    if size <= most:
        return Place("memory", f"loaded into memory ({_shown(size)} of at most {_shown(most)})")
    return Place(stay, f"{where}, because they would take {_shown(size)}, more than {_shown(most)}")


def most_bytes() -> float:
    """The largest size of rows that are loaded."""
    memory = machine.memory()
    return SHARE * memory if math.isfinite(memory) else UNKNOWN


def always_streams(solver: SolverLike) -> bool:
    """Whether rows of a source are streamed whatever their size."""
    return not is_auto(solver) and bool(as_solver(solver).takes_streams)


def _shown(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024.0 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024.0
    raise AssertionError


def load(source: Source, column: str | None = None) -> Loaded:
    """Read all rows of a source, wherever they are; ``column`` is the name of one that holds the groups."""
    if column is not None:
        source = _with_column(source, column)
    if source.on_workers:
        found = list(enumerate(source.each(_itself)))
    else:
        found = [(k, piece) for k in range(len(source)) for piece in source.raw_blocks([k])]
    numbers, pieces = zip(*found, strict=True)
    if any(piece.y is None for piece in pieces):
        raise SourceError(f"{source!r} has no targets")
    blocks = [plain(piece.X) for piece in pieces]
    X = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
    y, weight, offset = (_joined(list(of)) for of in zip(*((p.y, p.weight, p.offset) for p in pieces), strict=True))
    assert y is not None
    if column is not None:
        return Loaded(X, y, weight, offset, np.concatenate([piece.kept[0] for piece in pieces]).astype(str))
    return Loaded(X, y, weight, offset, np.repeat(numbers, [block.shape[0] for block in blocks]))


def _with_column(source: Source, column: str) -> Source:
    """A copy of the source that passes on a column that is no feature."""
    if not hasattr(source, "keep"):
        raise ValueError(f"groups={column!r} names a column, and {source!r} has none: use CSV, Parquet or Arrow files")
    if column in (source.feature_names or ()):
        raise ValueError(
            f"groups={column!r} is a feature of {source!r}: give the names of the features in columns, without it"
        )
    found: Any = copy.copy(source)
    found.keep([column])
    return found


def load_for_search(source: Source, column: str | None = None) -> Loaded:
    """The same, if the rows fit in memory: a search needs all of them."""
    size, most = ENTRY * source.summary.entries, most_bytes()
    if size > most:
        raise ValueError(
            f"the rows of {source!r} take {_shown(size)}, and cross-validation keeps them in memory, at most "
            f"{_shown(most)}: choose alpha on a sample of the rows"
        )
    return load(source, column)


def _itself(block: RawBlock, remembered: dict) -> RawBlock:
    return block


def _joined(values: list[np.ndarray | None]) -> np.ndarray | None:
    given = [value for value in values if value is not None]
    return np.concatenate(given) if given else None
