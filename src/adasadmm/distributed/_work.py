"""What workers hold and do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..linalg import matrices
from ..sources import Piece, Source
from ..sources._base import Faults, Tally
from ._collections import piece_of

__all__ = ["Held", "Told", "done", "held_of_arrays", "held_of_source", "name_of", "tally_of", "widest"]

MOST_RUNS = 8  # at the same time, whose memory is kept with a block


class Held:
    """A block on a worker, what it counts, and what is remembered with it."""

    def __init__(self, pieces: Sequence[Piece], faults: Faults) -> None:
        Xs, ys, weights, places = zip(*pieces, strict=True)
        y, weight = (None if part[0] is None else np.concatenate(part) for part in (ys, weights))
        self.piece = Piece(matrices.stacked(Xs), y, weight, places[0])
        self.skipped, self.told = faults.count, tuple(faults.told)
        self.remembered: dict[str, dict] = {}

    def memory(self, name: str) -> dict:
        """What is remembered for a run; the oldest of many runs is forgotten."""
        if name not in self.remembered and len(self.remembered) >= MOST_RUNS:
            self.remembered.pop(next(iter(self.remembered)), None)
        return self.remembered.setdefault(name, {})

    def __sizeof__(self) -> int:
        """So that Dask knows what it has in memory."""
        return int(8 * 1.5 * matrices.size(self.piece.X) + 16 * self.piece.X.shape[0])


class Told:
    """What a worker is told to do; one object, into which Dask does not look."""

    def __init__(self, function: Any, memory: str | None, common: tuple) -> None:
        self.function, self.memory, self.common = function, memory, common


def held_of_source(source: Source, part: int) -> Held:
    faults = Faults(source.on_bad_row)
    return Held(list(source._read(part, faults)), faults)


def held_of_arrays(X: Any, y: Any, weight: Any, features: int, place: str) -> Held:
    faults = Faults("stop")
    return Held([piece_of(X, y, weight, features, place, faults)], faults)


def widest(source: Source, part: int) -> int:
    return max((piece.X.shape[1] for piece in source._read(part, Faults(source.on_bad_row))), default=0)


def tally_of(held: Held) -> tuple[Tally, int, tuple[str, ...]]:
    """What a block holds, and the rows that were skipped before."""
    tally, (X, y, weight, _) = Tally(), held.piece
    rows, features = X.shape
    tally.add(rows, features, matrices.size(X), y, weight)
    return tally, held.skipped, held.told


def first_piece(pieces: list[Piece], remembered: list[dict]) -> Piece:
    return pieces[0]


def done(told: Told, shared: Any, *helds: Held) -> Any:
    """Do what is told with some blocks."""
    remembered = [{} if told.memory is None else held.memory(told.memory) for held in helds]
    first = () if shared is None else (shared,)
    return told.function([held.piece for held in helds], remembered, *first, *told.common)


def same(value: Any) -> Any:
    return value


def name_of(function: Any) -> str:
    """The name of what is done in the end, as the dashboard shows it."""
    while hasattr(function, "function"):
        function = function.function
    return function.__name__.strip("_").replace("_", "-")
