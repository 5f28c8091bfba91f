"""Observers of the first scan of a source, which save further passes."""

from __future__ import annotations

from typing import Protocol

from ..rows import selections
from ._calls import Remembered
from ._faults import RawBlock

__all__ = ["FIRST_ROWS", "Head", "Observer", "first_rows"]

FIRST_ROWS = 1000  # the rows of a source that are inspected before a run


class Observer(Protocol):
    """Sees each block of a scan, in order. A scan that has failed is made again, and starts the observer again.

    Rows of svmlight text may be narrower than the source: its number of features is known only after the scan.
    """

    def start(self) -> None: ...

    def add(self, block: RawBlock, partition: int, /) -> None: ...


class Head:
    """Keeps copies of the first rows."""

    blocks: list[RawBlock]
    missing: int

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.blocks, self.missing = [], FIRST_ROWS

    def add(self, block: RawBlock, partition: int = 0) -> None:
        if self.missing > 0 and block.X.shape[0]:
            self.blocks.append(first_rows(block, {}, self.missing))
            self.missing -= block.X.shape[0]


def first_rows(raw: RawBlock, remembered: Remembered, count: int) -> RawBlock:
    """The first rows of a block, copied so that the others can be freed."""
    y, weight, offset = (None if of is None else of[:count].copy() for of in (raw.y, raw.weight, raw.offset))
    gaps = tuple(gap for gap in raw.gaps if gap <= count)
    return RawBlock(selections.head(raw.X, count), y, weight, raw.place, gaps, offset)
