"""Learn a design in two passes over blocks of rows: first levels and moments, then counts by level."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._columns import Moments, Values
from ._design import FACTORS, Block, Design
from ._edges import pairs_of
from ._factor_terms import interaction
from ._factors import Factor, Measures, Tally, factor_of, label_of, levels_of, parts_of, product_of
from ._given import term_name
from ._levels import Levels
from ._numbers import add_moments, indicator, numbers_of
from ._table import Table

__all__ = ["Blocks", "learn"]

Blocks = Callable[[], Iterable[tuple[Table, Measures]]]  # each call is a pass over the rows


def learn(terms: list, blocks: Blocks, centred: bool) -> Design:
    """Levels, edges, means and scales from the rows of a fit."""
    factors = {term_name(term): term for term in terms if isinstance(term, FACTORS)}
    numbers = [term for term in terms if not isinstance(term, (*FACTORS, interaction))]
    values, moments, rows = _first_pass(list(factors.values()), numbers, blocks)
    pairs = {name: pairs_of(term, label_of(term), values.get(term.column)) for name, term in factors.items()}
    known = {name: levels_of(term, values.get(term.column), pairs[name]) for name, term in factors.items()}
    tallies = _second_pass(terms, known, blocks)
    made: dict[str, Factor] = {
        name: factor_of(term, known[name], tallies[name], pairs[name]) for name, term in factors.items()
    }

    def block_of(term: Any) -> Block:
        if isinstance(term, interaction):
            return product_of(term, made, tallies[term_name(term)])
        return made[term_name(term)] if isinstance(term, FACTORS) else numbers_of(term, moments)

    return Design(tuple(block_of(term) for term in terms), centred, rows)


def _first_pass(factors: list, numbers: list, blocks: Blocks) -> tuple[dict[str, Values], dict[str, Moments], int]:
    """The values of factors, unless their bands are given, the moments of numbers, and the number of rows."""
    values = {
        term.column: Values(term.column) for term in factors if not isinstance(getattr(term, "bins", None), tuple)
    }
    columns = [name for term in numbers for column in term.columns for name in (column, indicator(column))]
    moments = {name: Moments(name) for name in columns}
    rows = 0
    for table, per_row in blocks():
        rows += len(table)
        for term in factors:
            table.check_columns((term.column,), label_of(term))
            if getattr(term, "bins", None) is not None:
                table.check_numbers(term.column, label_of(term))
        for found in values.values():
            found.add(table)
        for name in dict.fromkeys(column for term in numbers for column in term.columns):
            term = next(term for term in numbers if name in term.columns)
            add_moments(term, name, moments, table, per_row.weight)
    return values, moments, rows


def _second_pass(terms: list, known: dict[str, Levels], blocks: Blocks) -> dict[str, Tally]:
    """The rows of each level, and of each pair of levels of an interaction."""
    tallies = {name: Tally((levels,), levels.coordinates) for name, levels in known.items()}
    tallies |= {term_name(term): Tally(parts_of(term, known)) for term in terms if isinstance(term, interaction)}
    for table, per_row in blocks():
        for tally in tallies.values():
            tally.add(table, per_row)
    return tallies
