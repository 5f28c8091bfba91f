"""The rows of tables in files as a source: each block is encoded as it is read."""

from __future__ import annotations

from collections.abc import Iterator

from ..sources import Faults, RawBlock, Source, check_block
from ..sources._tables import Tables
from ._design import Design
from ._table import Table

__all__ = ["EncodedSource"]


class EncodedSource(Source):
    """The encoded, standardised rows of tables."""

    def __init__(self, tables: Tables, design: Design) -> None:
        super().__init__(design.width)
        self.tables, self.design = tables, design
        self.has_offset = tables.chosen.has_offset

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        return repr(self.tables)

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        first = 0
        for block in self.tables.read(partition, self.design.columns):
            X = self.design.encode(Table(block.table), standardised=True)
            encoded = RawBlock(X, block.y, block.weight, block.place, offset=block.offset)
            yield check_block(encoded, self.n_features, faults, first, self.design.names)
            first += len(block.table)
