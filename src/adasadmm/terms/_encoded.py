"""The rows of tables in files as a source: each block is encoded as it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..sources import Faults, RawBlock, Source, check_block
from ..sources._arrow import check_kept, objects_of
from ..sources._tables import Tables
from ._design import Design
from ._table import Table

__all__ = ["EncodedSource"]


class EncodedSource(Source):
    """The encoded rows of tables, whose numbers are standardised or in their own units."""

    def __init__(self, tables: Tables, design: Design, standardised: bool = True) -> None:
        super().__init__(design.width)
        self.tables, self.design, self.standardised = tables, design, standardised
        self.kept: tuple[str, ...] = ()
        self.has_offset = tables.chosen.has_offset

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        return repr(self.tables)

    def keep(self, names: Sequence[str]) -> None:
        """Pass on these columns of the tables with each block."""
        check_kept(self.tables.names, names, repr(self))
        self.kept = tuple(names)

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        first = 0
        known = set(self.design.columns) <= set(self.tables.names)
        columns = [*self.design.columns, *self.kept] if known else None  # `encode` says which column is missing
        for block in self.tables.read(partition, columns):
            X = self.design.encode(Table(block.table), standardised=self.standardised)
            kept = tuple(objects_of(block.table.column(name)) for name in self.kept)
            encoded = RawBlock(X, block.y, block.weight, block.place, offset=block.offset, kept=kept)
            yield check_block(encoded, self.n_features, faults, first, self.design.names)
            first += len(block.table)
