"""The design of a list of terms: the sparse matrix X, the matrix A, the penalty, constraints and names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..penalties import L1, GroupL2, L2Squared, Stack
from ._factor_terms import interaction, nominal, ordered, spatial
from ._factors import Factor
from ._given import columns_of, term_name
from ._number_terms import group, linear
from ._numbers import Numbers
from ._slots import Slot, matrix_of
from ._table import Table

__all__ = ["FACTORS", "TERMS", "Block", "Design", "check_terms", "used_columns"]

FACTORS = (ordered, nominal, spatial)
TERMS = (*FACTORS, linear, group, interaction)
Block = Factor | Numbers


def check_terms(terms: Any) -> list:
    """The terms as a list; raises ``ValueError`` unless all are terms with different names."""
    listed = list(terms) if isinstance(terms, Sequence) and not isinstance(terms, str) else [terms]
    for term in listed:
        if not isinstance(term, TERMS):
            raise ValueError(f"terms must be a list of terms such as terms.ordered('age'), got {term!r}")
    if not listed:
        raise ValueError("terms must contain at least one term, got an empty list")
    names = [term_name(term) for term in listed]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two terms have the name {name!r}: give one of them another by name=")
    return listed


def used_columns(terms: list) -> list[str]:
    """The columns that the terms name."""
    plain = [term for term in terms if not isinstance(term, interaction)]
    return [name for term in plain for name in (*columns_of(term), *(getattr(term, "coordinates", None) or ()))]


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
        return list(dict.fromkeys(column for block in self.blocks for column in block.columns))

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
            own, average = block.slots(table, self.units_of(block) if standardised else None)
            for slot in own:
                slot.columns[slot.columns >= 0] += place.start
            slots += own
            if average is not None:
                averages.append(_averages(*average, place.start, (len(table), self.width)))
        table.codes.clear()  # they are not needed any more, and as large as a third of the matrix
        return sum(averages, start=matrix_of(slots, len(table), self.width))

    def units_of(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The centre and the scale of each column of a block."""
        if isinstance(block, Numbers):
            return block.mean * self.centred, block.scale
        return np.zeros(block.width), np.ones(block.width)

    def in_own_units(self, coef: np.ndarray, intercept: Any) -> tuple[np.ndarray, Any]:
        """Coefficients and intercepts of one function or several in the columns' own units, from the standardised."""
        centre, scale = (np.concatenate(part) for part in zip(*map(self.units_of, self.blocks), strict=True))
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

    def given_weights(self) -> np.ndarray:
        """The given weight of each row of A; NaN where there is none."""
        found = [
            np.full(len(rows), np.nan) if block.weights is None else block.weights for block, rows in self.penalised()
        ]
        return np.concatenate(found)

    def standard_weights(self) -> np.ndarray:
        """The weight of each row of A for which one strength serves all terms."""
        return np.concatenate([block.standard_weights() for block in self.blocks])

    def strengths(self) -> np.ndarray:
        """The strength of the term of each row of A."""
        return np.concatenate([np.full(len(rows), float(block.strength)) for block, rows in self.penalised()])

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
        C = sp.csr_array(sp.block_diag([block.constraint_rows() for block in self.blocks], format="csr"))
        return (C, 0.0, None) if C.shape[0] else None


def _averages(rows: np.ndarray, entries: np.ndarray, start: int, shape: tuple[int, int]) -> sp.csr_array:
    """The same entries in each of the rows."""
    columns = np.flatnonzero(entries)
    where = (np.repeat(rows, len(columns)), np.tile(columns + start, len(rows)))
    return sp.csr_array(sp.coo_array((np.tile(entries[columns], len(rows)), where), shape=shape))
