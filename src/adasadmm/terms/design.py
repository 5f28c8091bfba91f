"""The design of a list of terms: the sparse matrix X, the matrix A, the penalty, constraints and names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..penalties import L1, GroupL2, L2Squared, Stack
from ..sources import Faults, RawBlock, Source, check_block
from ..sources._arrow import check_kept, objects_of
from ..sources._tables import Tables
from .table import Measures, Table
from .term import Block, Slot, Statistics, Term

__all__ = ["Design", "EncodedSource", "check_terms", "learn"]

ROWS = 65_536  # that are encoded at a time

Blocks = Callable[[], Iterable[tuple[Table, Measures]]]  # each call is a pass over the rows


def check_terms(terms: Any) -> list[Term]:
    """The terms as a list; raises ``ValueError`` unless all are terms with different names."""
    listed = list(terms) if isinstance(terms, Sequence) and not isinstance(terms, str) else [terms]
    for term in listed:
        if not isinstance(term, Term):
            raise ValueError(f"terms must be a list of terms such as terms.ordered('age'), got {term!r}")
    if not listed:
        raise ValueError("terms must contain at least one term, got an empty list")
    names = [term.title for term in listed]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two terms have the name {name!r}: give one of them another by name=")
    return listed


def learn(terms: list[Term], blocks: Blocks, centred: bool) -> Design:
    """The design of the terms, from two passes over the rows of a fit."""
    in_order = sorted(terms, key=lambda term: bool(term.factors))  # after those on which they are built
    first = {term.title: term.first_pass() for term in in_order}
    rows, collected = 0, _collected(first)
    for table, measures in blocks():
        rows += len(table)
        for term in in_order:
            term.check_table(table)
        for statistics in collected:
            statistics.add(table, measures)
    second: dict[str, Any] = {}
    for term in in_order:
        second[term.title] = term.second_pass(first[term.title], second)
    collected = _collected(second)
    for table, measures in blocks() if collected else ():
        for statistics in collected:
            statistics.add(table, measures)
    made: dict[str, Block] = {}
    for term in in_order:
        made[term.title] = term.block(first[term.title], second[term.title], made)
    return Design(tuple(made[term.title] for term in terms), centred, rows)


def _collected(by_term: dict[str, Statistics | None]) -> list[Statistics]:
    return [statistics for statistics in by_term.values() if statistics is not None]


@dataclass(frozen=True, eq=False)
class Design:
    """The blocks of all terms, side by side. Without an intercept, numbers are scaled but not centred."""

    blocks: tuple[Block, ...]
    centred: bool = True
    rows: int = 0  # of the fit

    @property
    def width(self) -> int:
        return sum(block.width for block in self.blocks)

    @property
    def names(self) -> list[str]:
        return [name for block in self.blocks for name in block.names]

    @property
    def columns(self) -> list[str]:
        """The columns of the table that the terms use."""
        return list(dict.fromkeys(column for block in self.blocks for column in block.reads))

    def placed(self) -> Iterator[tuple[Block, slice]]:
        """Each block with its columns."""
        start = 0
        for block in self.blocks:
            yield block, slice(start, start + block.width)
            start += block.width

    # --- X -----------------------------------------------------------------------------------------------------------

    def encode(self, table: Table, standardised: bool = False) -> sp.csr_array:
        """The matrix X of a table, its numbers in their own units or standardised."""
        slots: list[Slot] = []
        averages = []
        for block, place in self.placed():
            own, rows, average = block.encode(table, block.units(self.centred) if standardised else None)
            for slot in own:
                slot.columns[slot.columns >= 0] += place.start
            slots += own
            if len(rows):
                averages.append(_averages(rows, average, place.start, (len(table), self.width)))
        table.codes.clear()  # they are not needed any more, and as large as a third of the matrix
        return sum(averages, start=matrix_of(slots, len(table), self.width))

    def in_own_units(self, coef: np.ndarray, intercept: Any) -> tuple[np.ndarray, Any]:
        """Coefficients and intercepts of one function or several in the columns' own units, from the standardised."""
        units = (block.units(self.centred) for block in self.blocks)
        centre, scale = (np.concatenate(part) for part in zip(*units, strict=True))
        return coef / scale, intercept - coef @ (centre / scale)

    # --- the penalty -------------------------------------------------------------------------------------------------

    @property
    def A(self) -> sp.csr_array:
        """The differences and columns that are penalised, block by block."""
        return sp.csr_array(sp.block_diag([block.A for block in self.blocks], format="csr"))

    def penalised(self) -> Iterator[tuple[Block, np.ndarray]]:
        """Each block with its rows of A."""
        start = 0
        for block in self.blocks:
            count = block.A.shape[0]
            yield block, np.arange(start, start + count)
            start += count

    def rows_with(self, *penalties: str) -> np.ndarray:
        """The rows of A with one of these penalties."""
        chosen = [rows for block, rows in self.penalised() if block.penalty in penalties]
        return np.concatenate([np.empty(0, dtype=int), *chosen])

    def groups(self) -> list[np.ndarray]:
        """The rows of A of each group term."""
        return [rows for block, rows in self.penalised() if block.penalty == "group"]

    def weights(self, standard: bool) -> np.ndarray:
        """The weight of each row of A: the given one, or the strength of its term times the standard weight or 1."""
        return np.concatenate([block.row_weights(standard) for block in self.blocks])

    def has_given_weight(self) -> np.ndarray:
        """Which rows of A have a given weight."""
        return np.concatenate([np.full(len(rows), block.weights is not None) for block, rows in self.penalised()])

    def penalty(self, alpha: float, weights: np.ndarray) -> Any:
        """The penalty of ``A w`` with these weights of its rows, of which those with a ridge are part of A."""
        lasso, ridge, groups = self.rows_with("l1"), self.rows_with("l2"), self.groups()
        parts: list[tuple[Any, np.ndarray]] = []
        if len(lasso):
            parts.append((L1(alpha, weights[lasso]), lasso))
        if groups:
            rows = np.concatenate(groups)
            ends = np.cumsum([len(members) for members in groups])
            of_rows = np.split(np.arange(len(rows)), ends[:-1])
            parts.append((GroupL2(alpha, of_rows, np.array([weights[members[0]] for members in groups])), rows))
        if len(ridge):
            parts.append((L2Squared(alpha), ridge))
        if len(parts) == 1:
            return parts[0][0]
        return Stack(parts) if parts else L1(alpha)

    def constraints(self) -> tuple[sp.csr_array, float, None] | None:
        """``C w >= 0`` for monotone terms; None if there are none."""
        C = sp.csr_array(sp.block_diag([block.constraints() for block in self.blocks], format="csr"))
        return (C, 0.0, None) if C.shape[0] else None


def _averages(rows: np.ndarray, entries: np.ndarray, start: int, shape: tuple[int, int]) -> sp.csr_array:
    """The same entries in each of the rows."""
    columns = np.flatnonzero(entries)
    where = (np.repeat(rows, len(columns)), np.tile(columns + start, len(rows)))
    return sp.csr_array(sp.coo_array((np.tile(entries[columns], len(rows)), where), shape=shape))


def matrix_of(slots: list[Slot], n: int, width: int) -> sp.csr_array:
    """The sparse matrix of slots whose columns are numbered through, in increasing order from slot to slot.

    It is filled by some rows at a time, so that nothing but the matrix is as large as the slots.
    """
    starts = np.zeros(n + 1, dtype=np.int64)
    for slot in slots:
        starts[1:] += slot.columns >= 0
    np.cumsum(starts, out=starts)
    if starts[-1] < 2**31:
        starts = starts.astype(np.int32)
    indices, data = np.empty(starts[-1], dtype=starts.dtype), np.ones(starts[-1])
    for first in range(0, n, ROWS):
        rows = slice(first, min(first + ROWS, n))
        entries = slice(starts[rows.start], starts[rows.stop])
        columns = np.column_stack([slot.columns[rows] for slot in slots])
        present = columns >= 0
        indices[entries] = columns[present]
        if any(slot.values is not None for slot in slots):
            ones = np.ones(rows.stop - rows.start)
            values = np.column_stack([ones if slot.values is None else slot.values[rows] for slot in slots])
            data[entries] = values[present]
    return sp.csr_array((data, indices, starts), shape=(n, width))


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
