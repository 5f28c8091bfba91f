"""Rows held out for validation, chosen by a hash of their index: every pass, format and cluster chooses the same."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..rows import matrices, selections
from ._base import ConvertedSource, Found, Source
from ._calls import Memory, Remembered, Work
from ._faults import Faults, RawBlock, SourceError
from ._scaled import ScaledSource
from ._summary import Summary, Tally

__all__ = ["SplitSource", "is_held_out", "split"]


def is_held_out(first: int, count: int, fraction: float) -> np.ndarray:
    """Whether each of ``count`` rows from number ``first`` on is held out; the hash is that of SplitMix64."""
    z = (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53 < fraction


def split(source: Source, fraction: float) -> tuple[Source, Source | None]:
    """The rows to learn from, and those that are held out; for a fraction of 0 the source itself, and None.

    If the source has not been scanned, its first scan also counts the rows of both parts.
    """
    if fraction == 0.0:
        return source, None
    counts = SplitCounts(fraction)
    # Scaling changes neither rows nor targets, and a scaled source cannot show its blocks to an observer.
    inner = source.inner if isinstance(source, ScaledSource) else source
    counts.watches = inner.observe(counts)
    return SplitSource(source, counts, False), SplitSource(source, counts, True)


class SplitCounts:
    """An observer of the first scan: the totals of each part, and the number of the first row of each partition."""

    rows: int
    firsts: list[int]
    parts: tuple[Tally, Tally]

    def __init__(self, fraction: float) -> None:
        self.fraction, self.watches = fraction, False
        self.start()

    def start(self) -> None:
        self.rows, self.firsts, self.parts = 0, [], (Tally(), Tally())

    def add(self, block: RawBlock, partition: int) -> None:
        while len(self.firsts) <= partition:
            self.firsts.append(self.rows)
        for part in (False, True):
            chosen = ChosenRows(self.fraction, part).of(block, self.rows)
            if chosen.X.shape[0]:
                self.parts[part].join(_tally_of(chosen, {}))
        self.rows += block.X.shape[0]

    def find(self, source: Source) -> None:
        """Count in a pass of its own, unless the first scan did."""
        if self.watches:
            source.summary
        elif self.rows == 0:
            try:
                for partition in range(len(source)):
                    for block in source.raw_blocks([partition]):
                        self.add(block, partition)
            except BaseException:
                self.start()  # the next attempt counts all rows
                raise


class ChosenRows(NamedTuple):
    """The rows that are held out, or all others."""

    fraction: float
    held_out: bool

    def of(self, block: RawBlock, first: int) -> RawBlock:
        """These rows of a block whose first row has this number."""
        rows = np.flatnonzero(is_held_out(first, block.X.shape[0], self.fraction) == self.held_out)
        y, weight, offset = (None if of is None else of[rows] for of in (block.y, block.weight, block.offset))
        return block._replace(X=selections.taken(block.X, rows), y=y, weight=weight, offset=offset)


@dataclass(frozen=True)
class OnChosenRows:
    """Calls a function of the chosen rows of some blocks; the last argument also has their first row numbers."""

    chosen: ChosenRows
    function: Callable[..., Any]

    def __call__(self, blocks: Sequence[RawBlock], remembered: Sequence[Remembered], *rest: Any) -> Any:
        *shared, (firsts, common) = rest
        chosen = [self.chosen.of(block, first) for block, first in zip(blocks, firsts, strict=True)]
        return self.function(chosen, remembered, *shared, *common)


class SplitSource(ConvertedSource):
    """The held-out rows of another source, or all others."""

    def __init__(self, inner: Source, counts: SplitCounts, held_out: bool) -> None:
        super().__init__(inner)
        self.counts, self.chosen = counts, ChosenRows(counts.fraction, held_out)
        if inner.lanes is not None:
            ends = np.cumsum([0, *inner.lanes.partition_rows]).tolist()
            counts.firsts = ends[:-1]
            held = [
                int(np.sum(is_held_out(first, rows, counts.fraction) == held_out))
                for first, rows in zip(ends, inner.lanes.partition_rows, strict=False)
            ]
            if not held_out and 0 in held:
                raise SourceError(
                    f"validation_fraction={counts.fraction:g} leaves no row of partition {held.index(0)} of {inner!r} "
                    "to learn from: make larger partitions"
                )
            self.lanes = inner.lanes._replace(partition_rows=tuple(held))

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        self.summary
        first = self.counts.firsts[partition] if partition < len(self.counts.firsts) else 0
        for block in self.inner.read_rows(partition, faults):
            chosen = self.chosen.of(block, first)
            first += block.X.shape[0]
            if chosen.X.shape[0]:
                yield chosen

    def head(self) -> list[RawBlock]:
        first, heads = 0, []
        for block in self.inner.head():
            heads.append(self.chosen.of(block, first))
            first += block.X.shape[0]
        return [block for block in heads if block.X.shape[0]]

    def map_partitions(
        self, function: Callable[..., Found], work: Sequence[Work], memory: Memory | None = None, shared: object = None
    ) -> Iterator[Found]:
        firsts = self.counts.firsts
        numbered: list[Work] = [([*ks], (([firsts[k] for k in ks], common),)) for ks, common in work]
        return self.inner.map_partitions(OnChosenRows(self.chosen, function), numbered, memory, shared)

    @functools.cached_property
    def summary(self) -> Summary:
        """The totals of this part; those of both are found by the same scan."""
        whole = self.inner.summary
        if self.on_workers:
            tally = Tally()
            for of_block in self.each(_tally_of):
                tally.join(of_block)
        else:
            self.counts.find(self.inner)
            tally = self.counts.parts[self.chosen.held_out]
        if tally.rows in (0, whole.rows):
            what = "no row to learn from" if (tally.rows == 0) != self.chosen.held_out else "no row for validation"
            raise SourceError(
                f"validation_fraction={self.counts.fraction:g} of the {whole.rows:,} rows of {self!r} leaves {what}"
            )
        self.n_features = whole.features
        return whole._replace(rows=tally.rows, entries=tally.entries, weight=tally.weight, labels=tally.labels)


def _tally_of(block: RawBlock, remembered: Remembered) -> Tally:
    tally, (rows, features) = Tally(), block.X.shape
    tally.add(rows, features, matrices.size(block.X), block.y, block.weight)
    return tally
