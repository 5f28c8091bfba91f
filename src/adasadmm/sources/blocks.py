"""Blocks of rows in the form that the solvers use: rows in memory are one block, a source gives many."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import losses
from ..losses.offsets import WithOffset
from ..rows import selections
from ..rows.matrices import Repeated, Rows, Streamed, WithIntercept, as_rows, as_vector
from ._base import Source
from ._calls import OnConvertedBlocks, OnSingleBlock, Remembered
from ._faults import RawBlock, SourceChanged, SourceError
from ._gate import Matrix
from ._summary import Summary

__all__ = ["Block", "BlockConverter", "as_block", "first_of_source", "of_raw_block", "of_source", "sampled"]

Loss = tuple  # a loss is an instance of a NamedTuple class


class Block(NamedTuple):
    """Rows in memory, their targets, and their weights, which have mean 1 over all rows of the problem.

    If the problem has an offset, the targets include it (`losses.targets_with_offset`). With k outputs X is `Repeated`,
    each row stands for k predictions with a target each, and the weights have mean k: ``1/(n k)`` of their sum is the
    mean over rows of the sum over outputs.
    """

    X: Rows
    y: np.ndarray
    c: np.ndarray


def as_block(
    X: Matrix, y: ArrayLike | None, sample_weight: ArrayLike | None, offset: ArrayLike | None, loss: Loss
) -> Block:
    """Check the arrays that a user passed, and make them one block for this loss."""
    rows = as_rows(X, "X")
    n, d = rows.shape
    if n == 0 or d == 0:
        raise ValueError(f"X must have at least one row and one column, got shape {rows.shape}")
    if y is None:
        raise ValueError("y is missing: give one target for each row of X")
    outputs = outputs_of(loss, y)
    if losses.width(loss) > 1 and np.ndim(y) == 1:
        y = losses.targets(loss, as_vector(y, n, "y"))
    both = _flat(y, n, outputs, "y")
    if offset is not None:
        both = losses.targets_with_offset(loss, both, _flat(offset, n, outputs, "offset"))
    return Block(repeated(rows, outputs), both, _as_weights(sample_weight, n, outputs))


def _as_weights(sample_weight: ArrayLike | None, n: int, outputs: int) -> np.ndarray:
    """Checked weights of all predictions, with the number of outputs as their mean."""
    if sample_weight is None:
        return np.full(n * outputs, float(outputs))
    weight = _flat(sample_weight, n, outputs, "sample_weight")
    if (weight < 0.0).any():
        raise ValueError(f"sample_weight must be >= 0, got {weight.min()}")
    if not weight.any():
        raise ValueError("sample_weight must not be 0 for all rows")
    return weight * (outputs / weight.mean())


def outputs_of(loss: Loss, y: ArrayLike) -> int:
    """The number of predictions for each row: that of a vector loss, or the number of columns of y."""
    width, columns = losses.width(loss), np.shape(y)[1] if np.ndim(y) == 2 else 1
    if width > 1 and columns not in (1, width):
        raise ValueError(f"y must have 1 or {width} columns for {loss!r}, got {columns}")
    return max(width, columns)


def repeated(rows: Rows, outputs: int) -> Rows:
    """The rows for a number of outputs."""
    return rows if outputs == 1 else Repeated(rows, outputs)


def _flat(values: ArrayLike, n: int, outputs: int, name: str) -> np.ndarray:
    """One number for each prediction, from one for each row or for each row and output."""
    if outputs > 1 and np.shape(values) == (n, outputs):
        return as_vector(np.asarray(values).reshape(-1), n * outputs, name)
    of_rows = as_vector(values, n, name)
    return of_rows if outputs == 1 else np.repeat(of_rows, outputs)


def of_source(source: Source, loss: Loss) -> Iterator[tuple[slice, Block]]:
    """The blocks of a source in order, each with the slice of the n rows that it holds."""
    first, n = 0, source.shape[0] * losses.width(loss)
    with contextlib.closing(source.raw_blocks()) as raw_blocks:
        for raw in raw_blocks:
            block = of_raw_block(raw, source.summary, loss)
            rows = slice(first, first + len(block.y))
            first = rows.stop
            if first > n:
                break
            yield rows, block
    if first != n:
        had, now = (rows // losses.width(loss) for rows in (n, first))
        raise SourceChanged(f"{source!r} was changed: it had {had:,} rows, now {f'{now:,}' if first < n else 'more'}")


def of_raw_block(raw: RawBlock, summary: Summary, loss: Loss) -> Block:
    """Check a block of a source against the loss and the number of features, and scale its weights to mean 1."""
    rows, d = raw.X.shape
    if d != summary.features:
        raise SourceError(f"{raw.place} has {d} features, expected {summary.features}")
    if raw.y is None:
        raise SourceError(f"{raw.place} has no targets")
    if raw.offset is None and isinstance(loss, WithOffset):
        raise SourceError(f"{raw.place} has no offset, as other rows have")
    outputs = losses.width(loss)
    try:
        y = as_vector(raw.y, rows, "the targets")
        if outputs > 1:
            y = losses.targets(loss, y).reshape(-1)
        if raw.offset is not None:
            y = losses.targets_with_offset(loss, y, _flat(raw.offset, rows, outputs, "the offset"))
        losses.check(loss, y)
    except ValueError as error:
        raise SourceError(f"{raw.place}: {error}") from None
    weight = np.ones(rows) if raw.weight is None else raw.weight / (summary.weight / summary.rows)
    return Block(repeated(raw.X, outputs), y, weight if outputs == 1 else np.repeat(outputs * weight, outputs))


def by_passes(source: Source, loss: Loss) -> Block:
    """All targets and weights, read in one pass, beside rows that are read again in each product."""
    if source.on_workers:
        convert, each = BlockConverter.of(source, loss), [([k], ()) for k in range(len(source))]
        found = list(source.map_partitions(OnConvertedBlocks(convert, OnSingleBlock(_without_rows)), each))
    else:
        found = [_without_rows(block, {}) for _, block in of_source(source, loss)]
    with_intercept, ys, cs = zip(*found, strict=True)
    ends = np.cumsum([0, *map(len, ys)]).tolist()
    slices = [slice(*ends_of_block) for ends_of_block in itertools.pairwise(ends)]
    streamed = Streamed(partial(_call, source, loss), slices, source.shape[1] - with_intercept[0])
    return Block(WithIntercept(streamed) if with_intercept[0] else streamed, np.concatenate(ys), np.concatenate(cs))


def _without_rows(block: Block, remembered: Remembered) -> tuple[bool, np.ndarray, np.ndarray]:
    """Whether there is an intercept, the targets and the weights."""
    return isinstance(block.X, WithIntercept), block.y, block.c


def _call(source: Source, loss: Loss, function: Callable[..., Any], work: list[tuple]) -> Iterator[Any]:
    """``function(rows, *work[k])`` for each block k, where the block is; rows have no intercept."""
    on_rows = OnRows(function)
    if source.on_workers:
        convert, items = BlockConverter.of(source, loss), [([k], parts) for k, parts in enumerate(work)]
        yield from source.map_partitions(OnConvertedBlocks(convert, OnSingleBlock(on_rows)), items)
    else:
        for parts, (_, block) in zip(work, of_source(source, loss), strict=True):
            yield on_rows(block, {}, *parts)


@dataclass(frozen=True)
class OnRows:
    """Calls a function of the rows of a block, without their intercept."""

    function: Callable[..., Any]

    def __call__(self, block: Block, remembered: Remembered, *parts: np.ndarray) -> Any:
        return self.function(block.X.rows if isinstance(block.X, WithIntercept) else block.X, *parts)


@dataclass(frozen=True)
class BlockConverter:
    """`of_raw_block` as a function of the raw block alone, which can be sent to a worker."""

    summary: Summary
    loss: Loss

    def __call__(self, raw: RawBlock) -> Block:
        return of_raw_block(raw, self.summary, self.loss)

    @classmethod
    def of(cls, source: Source, loss: Loss) -> BlockConverter:
        return cls(source.summary._replace(labels=None, faults=()), loss)


def first_of_source(source: Source, loss: Loss) -> Block:
    """The first rows of a source, as one block."""
    if not source.summary.weight > 0.0:
        raise SourceError(f"{source!r}: sample_weight must not be 0 for all rows")
    heads = [of_raw_block(raw, source.summary, loss) for raw in source.head()]
    if not heads:
        raise SourceChanged(f"{source!r} was changed: it had {source.shape[0]:,} rows, now none")
    Xs, ys, cs = zip(*heads, strict=True)
    return Block(selections.stacked(Xs), np.concatenate(ys), np.concatenate(cs))


def sampled(block: Block, count: int) -> Block:
    """``count`` of the rows that have a weight, always the same ones; the block itself if it has no more."""
    outputs = block.X.times if isinstance(block.X, Repeated) else 1
    counted = np.flatnonzero(block.c.reshape(-1, outputs).any(axis=1))
    if count >= len(counted):
        return block
    chosen = np.sort(np.random.default_rng(len(block.c)).choice(counted, count, replace=False))
    if outputs > 1:
        chosen = (chosen[:, None] * outputs + np.arange(outputs)).reshape(-1)
    weight = block.c[chosen]
    return Block(selections.taken(block.X, chosen), block.y[chosen], weight * (outputs / weight.mean()))
