"""Rows that are in memory, mapped from NumPy's files, or made by Python."""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._base import Faults, Piece, Source, SourceError
from ._gate import checked, rows_of_a_block

__all__ = ["ArraySource", "IteratorSource", "Mapped"]


class Mapped(NamedTuple):
    """Where an array lies on disk. (A pickled memmap would hold all its numbers.)"""

    path: str
    dtype: str | None = None  # None: a .npy file, which tells itself
    shape: tuple[int, ...] = ()
    offset: int = 0
    order: Any = "C"

    def array(self) -> np.ndarray:
        try:
            if self.dtype is None:
                return np.load(self.path, mmap_mode="r")
            return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)
        except (ValueError, EOFError) as error:
            raise SourceError(f"{self.path} is no array that can be mapped: {error}") from None

    @classmethod
    def of(cls, array: Any) -> Mapped:
        """The place of a memmap, or of the file of a path."""
        if isinstance(array, (str, os.PathLike)):
            return cls(os.fspath(array))
        if not isinstance(array, np.memmap) or array.filename is None or not isinstance(array.base, mmap.mmap):
            raise TypeError(f"memmap takes paths of .npy files and whole np.memmap arrays, got {type(array).__name__}")
        order = "C" if array.flags.c_contiguous else "F"
        return cls(str(array.filename), array.dtype.str, array.shape, array.offset, order)


class ArraySource(Source):
    """Slices of arrays, in memory or mapped."""

    def __init__(self, X: Any, y: Any, sample_weight: Any, block_rows: int | None, **settings: Any) -> None:
        self.X, self.y, self.sample_weight = X, y, sample_weight
        opened = _opened(X)
        if len(opened.shape) != 2:
            raise ValueError(f"X must be two-dimensional, got shape {opened.shape}")
        self.rows, features = (int(length) for length in opened.shape)
        for name, part in (("y", y), ("sample_weight", sample_weight)):
            if part is not None and _opened(part).shape != (self.rows,):
                raise ValueError(f"{name} must have shape ({self.rows},), got {_opened(part).shape}")
        super().__init__(features, **settings)
        self.block_rows = rows_of_a_block(block_rows, features if not sp.issparse(opened) else _width(opened))

    def __len__(self) -> int:
        return -(-self.rows // self.block_rows)

    def __repr__(self) -> str:
        where = self.X.path if isinstance(self.X, Mapped) else "arrays"
        return f"{where} of shape ({self.rows}, {self.n_features})"

    def _read(self, part: int, faults: Faults) -> Iterator[Piece]:
        chosen = slice(part * self.block_rows, min((part + 1) * self.block_rows, self.rows))
        X, y, weight = (None if a is None else _opened(a)[chosen] for a in (self.X, self.y, self.sample_weight))
        if weight is not None:
            weight = np.asarray(weight, dtype=np.float64)
        piece = Piece(X, None if y is None else np.asarray(y), weight, f"{self!r}")
        yield checked(piece, self.n_features, chosen.start, faults)


class IteratorSource(Source):
    """Blocks (X, y) or (X, y, sample_weight) that a function makes anew for each pass, or that stand in a list."""

    def __init__(self, blocks: Callable | Sequence, **settings: Any) -> None:
        super().__init__(**settings)
        if not callable(blocks) and not isinstance(blocks, Sequence):
            raise SourceError(
                f"an iterator ({type(blocks).__name__}) can be read only once, and a fit reads its rows several times: "
                "give a function that returns a new iterator, or call partial_fit with each block"
            )
        self.given = blocks

    def __len__(self) -> int:
        """A list can be read from any place, what a function makes only from the beginning."""
        return 1 if callable(self.given) else len(self.given)

    def __repr__(self) -> str:
        name = getattr(self.given, "__name__", type(self.given).__name__)
        return f"blocks of {name}"

    def _read(self, part: int, faults: Faults) -> Iterator[Piece]:
        numbered: Any = enumerate(self.given()) if callable(self.given) else [(part, self.given[part])]
        for number, block in numbered:
            place = f"{self!r}, block {number}"
            if not isinstance(block, tuple) or len(block) not in (2, 3):
                raise SourceError(f"{place}: must be a tuple (X, y) or (X, y, sample_weight), got {block!r:.60}")
            X, y, weight = itertools.islice(itertools.chain(block, [None]), 3)
            weight = None if weight is None else np.asarray(weight, dtype=np.float64)
            piece = Piece(X, None if y is None else np.asarray(y), weight, place)
            piece = checked(piece, self.n_features, 0, faults)
            if self.n_features is None:
                self.n_features = piece.X.shape[1]  # the first block says how wide all are
            yield piece


def _opened(array: Any) -> Any:
    if isinstance(array, Mapped):
        return array.array()
    return array.tocsr() if sp.issparse(array) else array


def _width(X: Any) -> int:
    """The mean number of entries in a row."""
    return -(-X.nnz // max(1, X.shape[0]))
