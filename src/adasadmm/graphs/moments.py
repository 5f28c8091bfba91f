"""Moments of the columns of a source, accumulated block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.threads import one_blas_thread
from ..linalg import matrices
from ..sources import RawBlock, Source

__all__ = ["moments"]

MOST_COLUMNS = 8000  # their covariance matrix takes 512 MiB


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
    with np.errstate(all="ignore"), one_blas_thread():
        found = (centre for k in range(len(source)) for centre in source.each(centre_of, partitions=[k]))
        centre = next((centre for centre in found if centre is not None), None)
        if centre is None:
            raise ValueError(f"a graph cannot be learnt from {source!r}: all rows have weight 0")
        total, first, second = 0.0, np.zeros(d), np.zeros((d, d))
        least, most = np.full(d, np.inf), np.full(d, -np.inf)
        for share, of_first, of_second, low, high in source.each(sums_about, centre):
            total += share
            first += of_first
            second += of_second
            least, most = np.minimum(least, low), np.maximum(most, high)
        off = first / total
        covariance = second / total - np.outer(off, off)
        covariance = (covariance + covariance.T) / 2.0
        variance = np.diag(covariance).copy()
        usable = (most > least) & (variance > 1e-13 * np.diag(second) / total) & np.isfinite(variance)
    return None, None, centre + off, variance, most == least, usable, covariance


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
