"""Moments of the columns of a source, accumulated block by block."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .._core.threads import one_blas_thread
from ..rows import matrices, selections
from ..sources import RawBlock, Source
from ..sources._base import View

__all__ = ["moments", "share_scan"]

MOST_COLUMNS = 8000  # their covariance matrix takes 512 MiB
OF_SCANS: WeakKeyDictionary[Source, ScanMoments] = WeakKeyDictionary()  # beside the sources: they are pickled without


def moments(source: Source) -> tuple[Any, ...]:
    """The fields of `Columns` in one pass over the rows: covariances instead of rows and weights.

    Products are summed about the mean of the first block, so a large mean causes no cancellation.
    """
    d = source.shape[1]
    if d > MOST_COLUMNS:
        raise ValueError(
            f"a graph over {d:,} columns cannot be learnt from a source: it needs the covariance matrix of all columns "
            f"(at most {MOST_COLUMNS:,}). Pass a graph, or learn one from a sample of the rows in memory"
        )
    observed = _observed(source)
    if observed is not None:
        return observed.finished(d)
    with np.errstate(all="ignore"), one_blas_thread():
        found = (centre for k in range(len(source)) for centre in source.each(centre_of, partitions=[k]))
        centre = next((centre for centre in found if centre is not None), None)
        if centre is None:
            raise ValueError(f"a graph cannot be learnt from {source!r}: all rows have weight 0")
        sums = Sums(centre)
        for of_block in source.each(sums_about, centre):
            sums.add(*of_block)
        return sums.fields()


def share_scan(source: Source) -> None:
    """Let the first scan of a source find the moments, so that they take no pass of their own."""
    observer = ScanMoments()
    if isinstance(source, Hashable) and source.observe(observer):
        OF_SCANS[source] = observer


def _observed(source: Source) -> ScanMoments | None:
    """The moments that the scan of a source has found; those of a view only if it has the same rows and weights."""
    while isinstance(source, View) and source.convert.weights is None and not source.convert.intercept:
        source = source.inner
    found = OF_SCANS.get(source) if isinstance(source, Hashable) else None
    return found if found is not None and found.sums is not None else None


class Sums:
    """The moments of some rows about a centre, and the minimum and maximum of each column."""

    def __init__(self, centre: np.ndarray) -> None:
        d = len(centre)
        self.centre, self.total = centre, 0.0
        self.first, self.second = np.zeros(d), np.zeros((d, d))
        self.least, self.most = np.full(d, np.inf), np.full(d, -np.inf)

    def add(self, share: float, first: np.ndarray, second: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        self.total += share
        self.first += first
        self.second += second
        self.least, self.most = np.minimum(self.least, low), np.maximum(self.most, high)

    def widen(self, d: int) -> None:
        """Further columns, which were 0 in all rows so far."""
        more = d - len(self.centre)
        self.centre, self.first, self.least, self.most = (
            np.pad(values, (0, more)) for values in (self.centre, self.first, self.least, self.most)
        )
        self.second = np.pad(self.second, (0, more))

    def fields(self) -> tuple[Any, ...]:
        """The fields of `Columns`."""
        off = self.first / self.total
        covariance = self.second / self.total - np.outer(off, off)
        covariance = (covariance + covariance.T) / 2.0
        variance = np.diag(covariance).copy()
        varies = variance > 1e-13 * np.diag(self.second) / self.total
        usable = (self.most > self.least) & varies & np.isfinite(variance)
        return None, None, self.centre + off, variance, self.most == self.least, usable, covariance


class ScanMoments:
    """Sums the moments of the blocks of a scan; ``sums`` is None if there are too many columns, or no weight."""

    sums: Sums | None
    too_wide: bool

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.sums, self.too_wide = None, False

    def add(self, block: RawBlock, partition: int = 0) -> None:
        d = max(block.X.shape[1], 0 if self.sums is None else len(self.sums.centre))
        if self.too_wide or d > MOST_COLUMNS:
            self.too_wide, self.sums = True, None
            return
        block = block._replace(X=selections.widened(block.X, d))
        if self.sums is None:
            centre = centre_of(block, {})
            if centre is None:
                return
            self.sums = Sums(centre)
        if d > len(self.sums.centre):
            self.sums.widen(d)
        with np.errstate(all="ignore"):
            self.sums.add(*sums_about(block, {}, self.sums.centre))

    def finished(self, d: int) -> tuple[Any, ...]:
        """The fields of `Columns`, for a source of d columns."""
        assert self.sums is not None
        if d > len(self.sums.centre):
            self.sums.widen(d)
        with np.errstate(all="ignore"):
            return self.sums.fields()


def centre_of(piece: RawBlock, remembered: dict) -> np.ndarray | None:
    """The mean of the first rows of positive weight in a block; None if all weights are zero."""
    return next((block.mean(axis=0) for block, _ in _weighted(piece)), None)


def sums_about(piece: RawBlock, remembered: dict, centre: np.ndarray) -> tuple[Any, ...]:
    """The total weight of a block, its moments about a centre, and the minimum and maximum of each column."""
    d = len(centre)
    total, first, second = 0.0, np.zeros(d), np.zeros((d, d))
    least, most = np.full(d, np.inf), np.full(d, -np.inf)
    with np.errstate(all="ignore"), one_blas_thread():
        for block, c in _weighted(piece):
            least, most = np.minimum(least, block.min(axis=0)), np.maximum(most, block.max(axis=0))
            block = block - centre
            total += float(c.sum())
            first += c @ block
            second += (block * c[:, None]).T @ block
    return total, first, second, least, most


def _weighted(piece: RawBlock) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Dense arrays of the rows of positive weight in a block, a slice at a time, with their weights."""
    n, d = piece.X.shape
    weight = np.ones(n) if piece.weight is None else piece.weight
    for rows in _slices(n, d):
        block, c = matrices.dense_block(piece.X, rows), weight[rows]
        block, c = (block, c) if c.all() else (block[c > 0.0], c[c > 0.0])
        if len(c):
            yield block, c


def _slices(n: int, d: int) -> list[slice]:
    """Slices of a block, each 16 MiB as a dense array."""
    step = max(1, 2**21 // d)
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]
