"""Moments of the columns of a source, added up block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import matrices
from .._threads import one_blas_thread
from ..sources import Source

__all__ = ["moments"]

MOST_COLUMNS = 8000  # a covariance of so many takes 512 MiB


def moments(source: Source) -> tuple[Any, ...]:
    """The fields of `Columns`, in one pass: without rows and their weights, but with the covariances.

    Sums of products are taken about the mean of the first block, so that a large mean costs no digits.
    """
    d = source.shape[1]
    if d > MOST_COLUMNS:
        raise ValueError(
            f"a graph over {d:,} columns cannot be learnt from a source, which takes the covariance of all of them (at "
            f"most {MOST_COLUMNS:,}): give the graph, or learn it from some rows in memory"
        )
    total, first, second = 0.0, np.zeros(d), np.zeros((d, d))
    centre: np.ndarray | None = None
    least, most = np.full(d, np.inf), np.full(d, -np.inf)
    with np.errstate(all="ignore"), one_blas_thread():
        for piece in source.pieces():
            n = piece.X.shape[0]
            weight = np.ones(n) if piece.weight is None else piece.weight
            for rows in _slices(n, d):
                block, c = matrices.dense_block(piece.X, rows), weight[rows]
                block, c = (block, c) if c.all() else (block[c > 0.0], c[c > 0.0])
                if not len(c):
                    continue
                least, most = np.minimum(least, block.min(axis=0)), np.maximum(most, block.max(axis=0))
                centre = block.mean(axis=0) if centre is None else centre
                block = block - centre
                total += float(c.sum())
                first += c @ block
                second += (block * c[:, None]).T @ block
        if centre is None:
            raise ValueError(f"a graph cannot be learnt from {source!r}: all rows have weight 0")
        off = first / total
        covariance = second / total - np.outer(off, off)
        covariance = (covariance + covariance.T) / 2.0
        variance = np.diag(covariance).copy()
        usable = (most > least) & (variance > 1e-13 * np.diag(second) / total) & np.isfinite(variance)
    return None, None, centre + off, variance, most == least, usable, covariance


def _slices(n: int, d: int) -> list[slice]:
    """Pieces of a block that are made dense: 16 MiB each."""
    step = max(1, 2**21 // d)
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]
