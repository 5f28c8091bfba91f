"""Dask arrays and data frames as a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..sources import Faults, RawBlock, Source, check_block

__all__ = ["DaskCollection", "DaskSource", "is_dask", "raw_block_of"]

DaskCollection: TypeAlias = Any  # a Dask array, data frame or series; Dask is an optional dependency
Delayed: TypeAlias = Any  # a partition of a collection that is not computed


def is_dask(X: object) -> bool:
    """Whether an object is a Dask collection; Dask need not be installed.

    Parameters
    ----------
    X : object

    Returns
    -------
    bool

    Examples
    --------
    >>> import dask.array
    >>> import numpy as np
    >>> from adasadmm import distributed
    >>> distributed.is_dask(dask.array.ones((4, 2))), distributed.is_dask(np.ones((4, 2)))
    (True, False)
    """
    return hasattr(X, "__dask_graph__")


class DaskSource(Source):
    """A Dask array or data frame, with its own partitions, read in this process.

    Parameters
    ----------
    X : Dask array or data frame
        The features.
    y, sample_weight, offset : Dask array or series, or None
        Partitioned as X; one-dimensional arrays of known length are rechunked to match.

    Examples
    --------
    >>> import dask.array
    >>> from adasadmm import distributed
    >>> X, y = dask.array.ones((6, 2), chunks=(4, 2)), dask.array.ones(6, chunks=3)
    >>> source = distributed.DaskSource(X, y, None)
    >>> len(source), source.shape
    (2, (6, 2))
    """

    def __init__(
        self,
        X: DaskCollection,
        y: DaskCollection | None = None,
        sample_weight: DaskCollection | None = None,
        offset: DaskCollection | None = None,
    ) -> None:
        frame = hasattr(X, "columns")
        if not frame and X.ndim != 2:
            raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
        super().__init__(len(X.columns) if frame else int(X.shape[1]))
        if frame:
            self.feature_names = [str(name) for name in X.columns]
        elif X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        self.has_offset = offset is not None
        self.delayed = [_partitions(X)]  # the partitions of X, of y, of the sample weights and of the offsets
        known = not frame and not np.isnan(X.shape[0])
        self.partition_bytes = [8 * int(rows) * int(X.shape[1]) for rows in X.chunks[0]] if known else None
        for name, values in (("y", y), ("sample_weight", sample_weight), ("offset", offset)):
            self.delayed.append([None] * len(self) if values is None else _aligned(X, values, name))
        self.name = f"Dask {'data frame' if frame else 'array'} of {self.n_features} features"

    def __len__(self) -> int:
        return len(self.delayed[0])

    def __repr__(self) -> str:
        return self.name

    def describe_size(self, partition: int) -> str:
        if self.partition_bytes is None:
            return super().describe_size(partition)
        size = self.partition_bytes[partition]
        return f"{size // (8 * (self.n_features or 1)):,} rows, {size / 2**20:,.0f} MiB"

    def lazy(self, partition: int) -> list[Delayed]:
        """X, y, weights and offsets of a partition, not computed."""
        return [partitions[partition] for partitions in self.delayed]

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        import dask

        arrays = dask.compute(*self.lazy(partition))
        yield raw_block_of(arrays, self.n_features, f"{self!r}, partition {partition}", faults)


def _partitions(X: DaskCollection) -> list[Delayed]:
    return list(np.asarray(X.to_delayed(), dtype=object).reshape(-1))


def _aligned(X: DaskCollection, values: DaskCollection, name: str) -> list[Delayed]:
    """The partitions of y or of the weights that belong to the partitions of X."""
    if not is_dask(values):
        raise TypeError(f"{name} must be a Dask collection, as X is, got {type(values).__name__}")
    if values.ndim == 2:
        values = _only_column(values, name)
    arrays = hasattr(X, "chunks") and hasattr(values, "chunks")
    known = arrays and not any(np.isnan(X.chunks[0]) | np.isnan(values.shape[0]))
    if known and values.shape[0] == X.shape[0]:
        values = values.rechunk((X.chunks[0],))
    found = _partitions(values)
    if len(found) != len(_partitions(X)):
        raise ValueError(
            f"{name} must be partitioned as X: X has {len(_partitions(X))} partitions, {name} {len(found)}"
        )
    return found


def _only_column(values: DaskCollection, name: str) -> DaskCollection:
    """The column of a Dask collection that has one."""
    columns = len(values.columns) if hasattr(values, "columns") else int(values.shape[1])
    if columns != 1:
        raise ValueError(
            f"{name} must have one column if it is a Dask collection, got {columns}: fit one column at a time, or "
            "fit several responses to rows in memory, X.compute() and y.compute()"
        )
    return values[values.columns[0]] if hasattr(values, "columns") else values[:, 0]


def raw_block_of(arrays: Sequence[Any], features: int | None, place: str, faults: Faults) -> RawBlock:
    """The block of a computed partition: its X, y, weights and offsets."""
    X, y, *others = arrays
    X = X if sp.issparse(X) else np.asarray(X)
    y = None if y is None else np.asarray(y).reshape(-1)
    weight, offset = (None if a is None else np.asarray(a, dtype=np.float64).reshape(-1) for a in others)
    return check_block(RawBlock(X, y, weight, place, offset=offset), features, faults)
