"""The mean loss over rows, wherever they are: in memory, in a source that is read block by block, or on workers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import losses
from ..losses.offsets import WithOffset
from ..rows import matrices, products
from ..rows.last_products import LastProducts, LastTransposedProduct, kept
from . import blocks
from ._calls import Memory, OnConvertedBlocks, OnSingleBlock, Work
from ._faults import RawBlock
from ._sums import StreamedLosses, levels_of_labels, loss_levels, requested_losses
from .blocks import Block, BlockConverter

__all__ = ["LossOverRows"]


class LossOverRows:
    """The part of a problem that reads the rows: ``1/n sum_i c_i loss(<x_i, w> + o_i, y_i)``."""

    source: Any  # Source, or None if the rows are in memory
    rows: Block  # None if the rows come from a source
    n: int
    d: int
    loss: Any
    _last_loss: tuple[np.ndarray, float] | None = None  # the last predictions, and their mean loss

    # --- products and losses -----------------------------------------------------------------------------------------

    def predictions(self, w: np.ndarray) -> np.ndarray:
        """``X w``."""
        if self.source is None:
            return self.last_products.of(w).copy()
        z = np.empty(self.n)
        for rows, block in self.blocks():
            products.product(block.X, w, z[rows])
        return z

    @functools.cached_property
    def last_products(self) -> LastProducts:
        """The last products of rows in memory."""
        x = None if isinstance(self.rows.X, matrices.WithIntercept) else self.diagonal
        if self.is_identity:
            return LastProducts(self.rows.X, kept)
        return LastProducts(self.rows.X, None if x is None else lambda w: x * w)

    @functools.cached_property
    def last_X_transposed(self) -> LastTransposedProduct:
        """``X's`` for the last s: the certificates of a point and of its exact structure have the same dual point."""
        return LastTransposedProduct(self.rows.X)

    def loss_at(self, *points: np.ndarray) -> list[float]:
        """``1/n sum_i c_i loss(<x_i, w>, y_i)`` at each w, in one pass; for a source they are kept."""
        if self.source is None:
            return [self._mean_loss(self.last_products.of(w)) for w in points]
        known = self.streamed_losses
        known.want(*points)
        if known.request.points:
            self._pass_for_losses()
        return [found for w in points if (found := known.at(w)) is not None]

    def remember(self, w: np.ndarray, z: np.ndarray, loss: float) -> None:
        """Keep the predictions and the mean loss of a caller that has computed them anyway; rows are in memory."""
        self.last_products.remember(w, z)
        self._last_loss = self.last_products.of(w), loss

    def _mean_loss(self, z: np.ndarray) -> float:
        """The mean loss for predictions of `last_products`, which trace and certificate ask for in turn."""
        known = self._last_loss
        if known is None or known[0] is not z:
            known = self._last_loss = z, float(losses.mean_value(self.loss, z, *self.rows[1:]))
        return known[1]

    def _pass_for_losses(self) -> None:
        request = self.streamed_losses.request
        found = sum(self.each(requested_losses, request), np.zeros(len(request.points) + 2))
        self.streamed_losses.receive(found)

    @functools.cached_property
    def streamed_losses(self) -> StreamedLosses:
        """The mean losses of the rows of a source that are known, and those that the next pass should find."""
        levels = None if self.source.has_offset else levels_of_labels(self.source.summary, self.loss)
        return StreamedLosses(self.loss, self.n, levels)

    @property
    def loss_at_zero(self) -> float:
        """The mean loss at w = 0."""
        return float(self._loss_levels[0])

    @property
    def least_loss(self) -> float:
        """The least possible mean loss, whatever the predictions: 0 for most losses, not for likelihoods."""
        return float(self._loss_levels[1])

    @functools.cached_property
    def loss_at_mean_target(self) -> float:
        """The mean loss of rows in memory if each prediction is the mean target, up to the distances of the offsets.

        Of a loss with a log link it is the logarithm of the mean target. At w = 0 instead, without the mean offset, if
        all targets with a weight are equal, so that nothing remains to be explained.
        """
        y, c = losses.targets_alone(self.rows.y), self.rows.c
        counted, mean = y[c > 0.0], float(np.average(y, weights=c))
        if (counted == counted[0]).all():
            mean = 0.0
        elif mean > 0.0 and losses.has_log_link(self.loss):
            mean = math.log(mean)
        if isinstance(self.loss, WithOffset):
            mean -= float(np.average(self.rows.y["offset"], weights=c))
        return float(losses.mean_value(self.loss, np.full(self.n, mean), *self.rows[1:]))

    @functools.cached_property
    def _loss_levels(self) -> np.ndarray:
        """The mean loss at w = 0, and the least possible one; both in one pass."""
        if self.source is not None:
            if self.streamed_losses.levels is None:
                self._pass_for_losses()
            return self.streamed_losses.levels  # type: ignore[return-value]
        return sum(self.each(loss_levels, self.loss, self.n), np.zeros(2))

    # --- the rows ----------------------------------------------------------------------------------------------------

    @property
    def outputs(self) -> int:
        """The number of predictions for each row, k: the coefficients are a d x k matrix, flat and row by row."""
        X = None if self.rows is None else self.rows.X
        return X.times if isinstance(X, matrices.Repeated) else losses.width(self.loss)

    @property
    def terms(self) -> int:
        """The number of loss terms, from which stochastic methods draw: a vector loss has one for all its outputs."""
        return self.n // losses.width(self.loss)

    @property
    def on_workers(self) -> bool:
        """Whether the rows are on the workers of a cluster."""
        return self.source is not None and self.source.on_workers

    def blocks(self) -> Iterator[tuple[slice, Block]]:
        """All rows, block by block, each with its slice of the n rows: one block in memory, many from a source."""
        if self.source is None:
            yield slice(0, self.n), self.rows
        else:
            yield from blocks.of_source(self.source, self.loss)

    def block_of(self, raw: RawBlock) -> Block:
        """The block of this problem for a block that the source has read."""
        return blocks.of_raw_block(raw, self.source.summary, self.loss)

    def each(
        self, function: Any, *common: Any, memory: Memory | None = None, partitions: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """``function(block, remembered, *common)`` for each block, in order, on the worker that has it (`Source.each`).

        ``partitions`` restricts the call to some blocks; it is for blocks on workers only.
        """
        if self.on_workers:
            chosen = range(len(self.source)) if partitions is None else partitions
            yield from self.map_partitions(OnSingleBlock(function), [([k], common) for k in chosen], memory)
            return
        for k, (_, block) in enumerate(self.blocks()):
            yield function(block, {} if memory is None else memory.of(k), *common)

    def map_partitions(
        self, function: Callable[..., Any], work: Sequence[Work], memory: Memory | None, shared: object = None
    ) -> Iterator[Any]:
        """``function(blocks, remembered, *common)`` for each work item, on the workers (`Source.map_partitions`)."""
        convert = BlockConverter.of(self.source, self.loss)
        return self.source.map_partitions(OnConvertedBlocks(convert, function), work, memory, shared)

    @functools.cached_property
    def _block_by_passes(self) -> Block:
        return blocks.by_passes(self.source, self.loss)

    @property
    def first_rows(self) -> Block:
        """Enough rows to see their form and scale: all rows in memory, or the first ones of a source."""
        return self.rows if self.source is None else self._first_of_source

    @functools.cached_property
    def _first_of_source(self) -> Block:
        return blocks.first_of_source(self.source, self.loss)

    @functools.cached_property
    def rates(self) -> np.ndarray:
        """``c / n``, the weight of each loss of rows in memory in the mean."""
        return self.rows.c / self.n

    @functools.cached_property
    def diagonal(self) -> np.ndarray | None:
        """The diagonal of X (without its intercept) if X is square and diagonal, else None."""
        return None if self.source is not None else matrices.diagonal_of(self.rows.X)

    @functools.cached_property
    def is_identity(self) -> bool:
        """Whether X = I, without an intercept."""
        x = None if isinstance(self.rows.X, matrices.WithIntercept) else self.diagonal
        return x is not None and bool(x.min() == x.max() == 1.0)
