"""Dask arrays and data frames as a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..sources import Piece, Source
from ..sources._base import Faults
from ..sources._gate import checked

__all__ = ["Collection", "is_dask", "piece_of"]


def is_dask(X: Any) -> bool:
    """Whether something is a Dask collection; asked without Dask."""
    return hasattr(X, "__dask_graph__")


class Collection(Source):
    """Dask arrays or data frames; a part is a partition."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        frame = hasattr(X, "columns")
        if not frame and X.ndim != 2:
            raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
        super().__init__(len(X.columns) if frame else int(X.shape[1]))
        if frame:
            self.feature_names = [str(name) for name in X.columns]
        elif X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        self.parts = [_partitions(X)]
        known = not frame and not np.isnan(X.shape[0])
        self.chunk_bytes = [8 * int(rows) * int(X.shape[1]) for rows in X.chunks[0]] if known else None
        for name, part in (("y", y), ("sample_weight", sample_weight)):
            self.parts.append([None] * len(self) if part is None else _aligned(X, part, name))
        self.named = f"Dask {'data frame' if frame else 'array'} of {self.n_features} features"

    def __len__(self) -> int:
        return len(self.parts[0])

    def __repr__(self) -> str:
        return self.named

    def size_of(self, part: int) -> str:
        if self.chunk_bytes is None:
            return super().size_of(part)
        size = self.chunk_bytes[part]
        return f"{size // (8 * (self.n_features or 1)):,} rows, {size / 2**20:,.0f} MiB"

    def lazy(self, part: int) -> list[Any]:
        """X, y and weights of a partition, not computed."""
        return [column[part] for column in self.parts]

    def _read(self, part: int, faults: Faults) -> Iterator[Piece]:
        import dask

        X, y, weight = dask.compute(*self.lazy(part))
        yield piece_of(X, y, weight, self.n_features, f"{self!r}, partition {part}", faults)


def _partitions(X: Any) -> list[Any]:
    return list(np.asarray(X.to_delayed(), dtype=object).reshape(-1))


def _aligned(X: Any, part: Any, name: str) -> list[Any]:
    """The partitions of y that belong to those of X."""
    if not is_dask(part):
        raise TypeError(f"{name} must be a Dask collection, as X is, got {type(part).__name__}")
    known = (
        hasattr(X, "chunks") and hasattr(part, "chunks") and not any(np.isnan(X.chunks[0]) | np.isnan(part.shape[0]))
    )
    if known and part.shape[0] == X.shape[0] and part.ndim == 1:
        part = part.rechunk((X.chunks[0],))
    found = _partitions(part)
    if len(found) != len(_partitions(X)):
        raise ValueError(
            f"{name} must be partitioned as X: X has {len(_partitions(X))} partitions, {name} {len(found)}"
        )
    return found


def piece_of(X: Any, y: Any, weight: Any, features: int | None, place: str, faults: Faults) -> Piece:
    X = X if sp.issparse(X) else np.asarray(X)
    y = None if y is None else np.asarray(y).reshape(-1)
    weight = None if weight is None else np.asarray(weight, dtype=np.float64).reshape(-1)
    return checked(Piece(X, y, weight, place), features, 0, faults)
