"""The partitions that workers hold, and the functions that run on workers.

`run_call` is the outermost function of a task; `adasadmm.sources._calls` describes the wrappers inside it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..rows import matrices, selections
from ..sources import Faults, RawBlock, Source
from ..sources._calls import Remembered
from ..sources._summary import Tally
from ._collections import raw_block_of

__all__ = [
    "Call",
    "LoadedPartition",
    "count_features",
    "first_block",
    "load_arrays",
    "load_from_source",
    "name_of",
    "returned",
    "run_call",
    "tally_of",
]

MAX_RUNS = 8  # the number of runs whose memory is kept with a partition


class LoadedPartition:
    """A partition in the memory of a worker, as one block, with the values that runs remember with it."""

    def __init__(self, blocks: Sequence[RawBlock], faults: Faults) -> None:
        self.block = _stacked(blocks)
        self.skipped, self.messages = faults.count, tuple(faults.messages)
        self.remembered: dict[str, Remembered] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without the remembered values: Dask pickles a partition to move or spill it, also while a task changes them.

        The copy would be a mixture of before and after. Without them, the run computes them again.
        """
        return {**vars(self), "remembered": {}}

    def memory(self, name: str) -> Remembered:
        """The values that a run remembers; if there are too many runs, the oldest is forgotten."""
        if name not in self.remembered and len(self.remembered) >= MAX_RUNS:
            self.remembered.pop(next(iter(self.remembered)), None)
        return self.remembered.setdefault(name, {})

    def __sizeof__(self) -> int:
        """The size in bytes, for Dask's accounting of memory."""
        return int(8 * 1.5 * matrices.size(self.block.X) + 16 * self.block.X.shape[0])


def _stacked(blocks: Sequence[RawBlock]) -> RawBlock:
    """The blocks of a partition as one block; a partition without rows is an empty block."""
    if not blocks:
        return RawBlock(matrices.as_rows(np.empty((0, 0))), None, None, "a partition without rows")
    Xs, ys, weights, places, gaps, offsets, _ = zip(*blocks, strict=True)
    y, weight, offset = (None if values[0] is None else np.concatenate(values) for values in (ys, weights, offsets))
    first_rows = np.cumsum([0, *(X.shape[0] for X in Xs[:-1])]).tolist()
    all_gaps = tuple(first + gap for first, own in zip(first_rows, gaps, strict=True) for gap in own)
    return RawBlock(selections.stacked(Xs), y, weight, places[0], all_gaps, offset)


class Call:
    """A function and its arguments, sent to a worker as one object that Dask does not look into."""

    def __init__(self, function: Callable[..., Any], memory: str | None, common: tuple) -> None:
        self.function, self.memory, self.common = function, memory, common


def run_call(call: Call, shared: object, *partitions: LoadedPartition) -> Any:
    """Call ``function(blocks, remembered, [shared,] *common)`` on the blocks of some partitions."""
    remembered = [{} if call.memory is None else partition.memory(call.memory) for partition in partitions]
    first = () if shared is None else (shared,)
    return call.function([partition.block for partition in partitions], remembered, *first, *call.common)


def load_from_source(source: Source, partition: int) -> LoadedPartition:
    faults = Faults(source.on_bad_row)
    return LoadedPartition(list(source.read_rows(partition, faults)), faults)


def load_arrays(features: int, place: str, *arrays: Any) -> LoadedPartition:
    faults = Faults("stop")
    return LoadedPartition([raw_block_of(arrays, features, place, faults)], faults)


def count_features(source: Source, partition: int) -> int:
    """The width of the widest block of a partition."""
    return max((block.X.shape[1] for block in source.read_rows(partition, Faults(source.on_bad_row))), default=0)


def tally_of(partition: LoadedPartition) -> tuple[Tally, int, tuple[str, ...]]:
    """The totals of a partition, the number of rows that were skipped, and their messages."""
    tally, block = Tally(), partition.block
    rows, features = block.X.shape
    tally.add(rows, features, matrices.size(block.X), block.y, block.weight)
    return tally, partition.skipped, partition.messages


def first_block(blocks: Sequence[RawBlock], remembered: Sequence[Remembered]) -> RawBlock:
    return blocks[0]


def returned(value: Any) -> Any:
    """The value itself: a task that puts it into the memory of a worker."""
    return value


def name_of(function: Callable[..., Any]) -> str:
    """The name of the innermost function, for the dashboard."""
    while hasattr(function, "function") or isinstance(function, functools.partial):
        function = function.func if isinstance(function, functools.partial) else function.function
    return function.__name__.strip("_").replace("_", "-")
