"""Functions that are called where the blocks are: here, or on the workers of a cluster.

A caller passes a function of one block, ``function(block, remembered, *common)``, to `Problem.each` or `Source.each`.
If the blocks are in this process, the function is called directly. If they are on workers, it is wrapped on its way
down to the cluster, and the worker calls the wrappers from the outside in. For a problem whose source is a view of a
view of a `distributed.ClusterSource`, the wrapping is, in this order:

1. `Problem.each`: ``OnSingleBlock(function)``, because a work item may have several partitions and this one has one;
2. `Problem.map_partitions`: ``OnConvertedBlocks(BlockConverter, ...)``, from `RawBlock` to the `Block` of the problem;
3. `View.map_partitions`, the outer view and then the inner one: ``OnConvertedBlocks(ViewConverter, ...)``;
4. `ClusterSource.map_partitions`: a `Call` with the wrapped function, the name of the memory, and the common arguments.

The worker runs ``run_call(call, shared, *partitions)`` (`adasadmm.distributed._work`), which therefore

1. takes the raw block of each partition and the dict that this run keeps with it;
2. applies the converter of the inner view, then that of the outer view, then that of the problem;
3. unpacks the single block and the single dict;
4. calls ``function(block, remembered, *common)``; its result travels back to the client.

`Problem.map_partitions` and `Source.map_partitions` take a function of several blocks,
``function(blocks, remembered, [shared,] *common)``, and skip the steps for a single block. All wrappers are small
records, which can be pickled if the function inside can be imported.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Memory", "OnConvertedBlocks", "OnSingleBlock", "Remembered", "Work"]

Remembered = dict[str, Any]  # values that stay with a block between two calls
Work = tuple[Sequence[int], tuple]  # some partitions, and the common arguments of the function for them


class Memory:
    """The values remembered with each block between calls of `Source.each`.

    Blocks in this process keep them in ``here``; workers keep them beside the block, under ``name``.
    """

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex
        self.here: list[Remembered] = []

    def of(self, block: int) -> Remembered:
        """The values remembered here with the block of this number."""
        while len(self.here) <= block:
            self.here.append({})
        return self.here[block]

    def copied(self) -> Memory:
        """A copy of the values in this process, under another name."""
        other = Memory()
        other.here = copy.deepcopy(self.here)
        return other


@dataclass(frozen=True)
class OnSingleBlock:
    """Calls a function of one block for a work item that has one partition."""

    function: Callable[..., Any]

    def __call__(self, blocks: Sequence[object], remembered: Sequence[Remembered], *common: object) -> Any:
        return self.function(blocks[0], remembered[0], *common)


@dataclass(frozen=True)
class OnConvertedBlocks:
    """Converts each block, and calls a function of the converted blocks."""

    convert: Callable[[Any], object]
    function: Callable[..., Any]

    def __call__(self, blocks: Sequence[object], *rest: object) -> Any:
        return self.function([self.convert(block) for block in blocks], *rest)
