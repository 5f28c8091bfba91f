"""Blocks of rows, as Algorithm 1 takes them: all rows in memory are one, a source is many."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import losses
from ..linalg import matrices
from ..linalg.matrices import Rows, as_rows, as_vector
from . import Piece, Source, SourceError, Summary

__all__ = ["Block", "ToBlock", "as_block", "first_of_source", "of_piece", "of_source"]

FIRST_ROWS = 1000  # of a source, that are looked at before a run


class Block(NamedTuple):
    """Some rows, their targets, and their weights, of mean 1 over all rows of the problem."""

    X: Rows
    y: np.ndarray
    c: np.ndarray


def as_block(X: Any, y: Any, sample_weight: Any) -> Block:
    rows = as_rows(X, "X")
    n, d = rows.shape
    if n == 0 or d == 0:
        raise ValueError(f"X must have at least one row and one column, got shape {rows.shape}")
    if y is None:
        raise ValueError("y is missing: give one target for each row of X")
    weight = np.ones(n) if sample_weight is None else as_vector(sample_weight, n, "sample_weight")
    if (weight < 0.0).any():
        raise ValueError(f"sample_weight must be >= 0, got {weight.min()}")
    if not weight.any():
        raise ValueError("sample_weight must not be 0 for all rows")
    return Block(rows, as_vector(y, n, "y"), weight / weight.mean())


def of_source(source: Source, loss: Any) -> Iterator[tuple[slice, Block]]:
    """All rows of a source, block after block, and which of the n they are."""
    first, n = 0, source.shape[0]
    with contextlib.closing(source.pieces()) as pieces:
        for piece in pieces:
            block = of_piece(piece, source.summary, loss)
            rows = slice(first, first + len(block.y))
            first = rows.stop
            if first > n:
                break
            yield rows, block
    if first != n:
        raise SourceError(f"{source!r} was changed: it had {n:,} rows, now {f'{first:,}' if first < n else 'more'}")


def of_piece(piece: Piece, summary: Summary, loss: Any) -> Block:
    """What a source gave, checked against the loss and the other blocks; weights have mean 1 over all of them."""
    rows, d = piece.X.shape
    if d != summary.features:
        raise SourceError(f"{piece.place} has {d} features, expected {summary.features}")
    if piece.y is None:
        raise SourceError(f"{piece.place} has no targets")
    try:
        y = as_vector(piece.y, rows, "the targets")
        losses.check(loss, y)
    except ValueError as error:
        raise SourceError(f"{piece.place}: {error}") from None
    return Block(piece.X, y, np.ones(rows) if piece.weight is None else piece.weight / (summary.weight / summary.rows))


class ToBlock(NamedTuple):
    """`of_piece` on a worker: it needs no more of a source than its summary."""

    summary: Summary
    loss: Any

    def __call__(self, piece: Piece) -> Block:
        return of_piece(piece, self.summary, self.loss)

    @classmethod
    def of(cls, source: Source, loss: Any) -> ToBlock:
        return cls(source.summary._replace(labels=None, faults=()), loss)


def first_of_source(source: Source, loss: Any) -> Block:
    """The first rows of a source, as one block."""
    if not source.summary.weight > 0.0:
        raise SourceError(f"{source!r}: sample_weight must not be 0 for all rows")
    heads: list[Block] = []
    left = FIRST_ROWS
    for part in range(len(source)):
        with contextlib.closing(source.each(_head, FIRST_ROWS, parts=[part])) as pieces:
            while left > 0 and (piece := next(pieces, None)) is not None:
                X, y, c = of_piece(piece, source.summary, loss)
                heads.append(Block(matrices.head(X, left), y[:left].copy(), c[:left].copy()))
                left -= len(y)
        if left <= 0:
            break
    if not heads:
        raise SourceError(f"{source!r} was changed: it had {source.shape[0]:,} rows, now none")
    Xs, ys, cs = zip(*heads, strict=True)
    return Block(matrices.stacked(Xs), np.concatenate(ys), np.concatenate(cs))


def _head(piece: Piece, remembered: dict, count: int) -> Piece:
    """The first rows of a block."""
    X, y, weight, place = piece
    y, weight = (None if part is None else part[:count].copy() for part in (y, weight))
    return Piece(matrices.head(X, count), y, weight, place)
