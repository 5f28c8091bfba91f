"""Rows in memory, in NumPy's files, or produced by Python code."""

from __future__ import annotations

import functools
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..rows.matrices import check_entries
from ._base import Settings, Source
from ._faults import Faults, RawBlock, SourceError
from ._gate import Matrix, check_block, resolve_block_rows

__all__ = ["ArraySource", "IteratorSource", "Mapped", "arrays", "iterator", "memmap"]

Path = str | os.PathLike[str]
Blocks = Callable[[], Iterable[tuple]] | Sequence[tuple]


def arrays(
    X: Matrix,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    *,
    offset: ArrayLike | None = None,
    block_rows: int | None = None,
    **settings: Unpack[Settings],
) -> Source:
    """Read rows in memory block by block.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    y : array of shape (n,) or None
        The targets; None for rows to predict.
    sample_weight : array of shape (n,), optional
        The sample weights; by default all rows count the same.
    offset : array of shape (n,), optional
        A known part of each prediction; by default 0.
    block_rows : int, optional
        The number of rows of a block, which is also a partition; by default as many as make 32 MiB.
    **settings
        ``on_bad_row`` and ``prefetch``; see `Source`.

    Returns
    -------
    Source

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import sources
    >>> source = sources.arrays(np.eye(5), [1, 1, -1, -1, 1], block_rows=2)
    >>> len(source), source.shape
    (3, (5, 5))
    >>> [len(y) for X, y in source.blocks()]
    [2, 2, 1]
    """
    check_entries(X, "X")
    X = X if hasattr(X, "tocsr") else np.asarray(X)
    y, weight, offset = (None if values is None else np.asarray(values) for values in (y, sample_weight, offset))
    return ArraySource(X, y, weight, offset, block_rows, **settings)


def memmap(
    X: Path | np.memmap,
    y: Path | np.memmap | None,
    sample_weight: Path | np.memmap | None = None,
    *,
    offset: Path | np.memmap | None = None,
    block_rows: int | None = None,
    **settings: Unpack[Settings],
) -> Source:
    """Read rows from ``.npy`` files or memory maps; only the block in use is in memory.

    Parameters
    ----------
    X : path or np.memmap of shape (n, d)
        The features: the path of a ``.npy`` file, or an array mapped from a file.
    y : path or np.memmap of shape (n,), or None
        The targets; None for rows to predict.
    sample_weight : path or np.memmap of shape (n,), optional
        The sample weights.
    offset : path or np.memmap of shape (n,), optional
        A known part of each prediction; by default 0.
    block_rows : int, optional
        The number of rows of a block, which is also a partition; by default as many as make 32 MiB.
    **settings
        ``on_bad_row`` and ``prefetch``; see `Source`.

    Returns
    -------
    Source

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from adasadmm import sources
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "X.npy", np.ones((6, 3)))
    >>> np.save(folder / "y.npy", np.array([1, -1, 1, -1, 1, -1]))
    >>> sources.memmap(folder / "X.npy", folder / "y.npy").shape
    (6, 3)
    """
    targets, weights, offsets = (None if a is None else Mapped.of(a) for a in (y, sample_weight, offset))
    return ArraySource(Mapped.of(X), targets, weights, offsets, block_rows, **settings)


def iterator(blocks: Blocks, *, n_features: int | None = None, **settings: Unpack[Settings]) -> Source:
    """Read blocks ``(X, y)``, ``(X, y, sample_weight)`` or ``(X, y, sample_weight, offset)`` that Python code produces.

    Parameters
    ----------
    blocks : callable or list of tuples
        A function without arguments, such as a generator function, that returns a new iterator for each pass; its
        blocks are one partition and keep their order. Or a list of blocks, each of which is a partition. An iterator
        can be read only once: pass its blocks to ``partial_fit``.
    n_features : int, optional
        The number of features; by default that of the first block.
    **settings
        ``on_bad_row`` and ``prefetch``; see `Source`.

    Returns
    -------
    Source

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import sources
    >>> def blocks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(3):
    ...         X = rng.normal(size=(100, 4))
    ...         yield X, np.sign(X[:, 0])
    >>> sources.iterator(blocks).shape
    (300, 4)
    """
    return IteratorSource(blocks, n_features=n_features, **settings)


class Mapped(NamedTuple):
    """The place of an array on disk. (A pickled memmap would contain all its numbers.)"""

    path: str
    dtype: str | None = None  # None for a .npy file, whose header holds type and shape
    shape: tuple[int, ...] = ()
    offset: int = 0
    order: Literal["C", "F"] = "C"

    def array(self) -> np.ndarray:
        try:
            if self.dtype is None:
                return np.load(self.path, mmap_mode="r")
            return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)
        except (ValueError, EOFError) as error:
            raise SourceError(f"{self.path} is not an array that can be mapped: {error}") from None

    @classmethod
    def of(cls, array: Path | np.memmap) -> Mapped:
        """The place of a memmap, or of the array in a file."""
        if isinstance(array, (str, os.PathLike)):
            return cls(os.fspath(array))
        if not isinstance(array, np.memmap) or array.filename is None or not isinstance(array.base, mmap.mmap):
            raise TypeError(f"memmap takes paths of .npy files and whole np.memmap arrays, got {type(array).__name__}")
        order: Literal["C", "F"] = "C" if array.flags.c_contiguous else "F"
        return cls(str(array.filename), array.dtype.str, array.shape, array.offset, order)


Stored: TypeAlias = np.ndarray | sp.spmatrix | sp.sparray | Mapped


class ArraySource(Source):
    """Slices of arrays, in memory or mapped."""

    def __init__(
        self,
        X: Stored,
        y: np.ndarray | Mapped | None,
        sample_weight: np.ndarray | Mapped | None,
        offset: np.ndarray | Mapped | None,
        block_rows: int | None,
        **settings: Unpack[Settings],
    ) -> None:
        self.X: Stored = X.tocsr() if sp.issparse(X) else X  # type: ignore[union-attr]  # once, not for each block
        self.y, self.sample_weight, self.offset = y, sample_weight, offset
        self.has_offset = offset is not None
        opened = _opened(self.X)
        if len(opened.shape) != 2:
            raise ValueError(f"X must be two-dimensional, got shape {opened.shape}")
        self.rows, features = (int(length) for length in opened.shape)
        for name, values in (("y", y), ("sample_weight", sample_weight), ("offset", offset)):
            if values is not None and _opened(values).shape != (self.rows,):
                raise ValueError(f"{name} must have shape ({self.rows},), got {_opened(values).shape}")
        super().__init__(features, **settings)
        self.block_rows = resolve_block_rows(block_rows, _width(opened) if sp.issparse(opened) else features)

    def __len__(self) -> int:
        return -(-self.rows // self.block_rows)

    def __repr__(self) -> str:
        name = self.X.path if isinstance(self.X, Mapped) else "arrays"
        return f"{name} of shape ({self.rows}, {self.n_features})"

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        rows = slice(partition * self.block_rows, min((partition + 1) * self.block_rows, self.rows))
        y, *others = (None if a is None else _opened(a)[rows] for a in (self.y, self.sample_weight, self.offset))
        weight, offset = (None if a is None else np.asarray(a, dtype=np.float64) for a in others)
        y = None if y is None else np.asarray(y)
        block = RawBlock(_opened(self.X)[rows], y, weight, f"{self!r}", offset=offset)
        yield check_block(block, self.n_features, faults, rows.start)


class IteratorSource(Source):
    """Blocks from a function that returns a new iterator for each pass, or from a list."""

    def __init__(self, blocks: Blocks, n_features: int | None = None, **settings: Unpack[Settings]) -> None:
        super().__init__(n_features, **settings)
        if not callable(blocks) and not isinstance(blocks, Sequence):
            raise SourceError(
                f"an iterator ({type(blocks).__name__}) can be read only once, and a fit reads its rows several times: "
                "give a function that returns a new iterator, or call partial_fit with each block"
            )
        self.given = blocks

    @functools.cached_property
    def has_offset(self) -> bool:  # type: ignore[override]
        """Whether the first block has an offset."""
        first = next(iter(self.given() if callable(self.given) else self.given), ())
        return len(first) == 4 and first[3] is not None

    def __len__(self) -> int:
        """The length of a list; 1 for a function, whose blocks can be read from the beginning only."""
        return 1 if callable(self.given) else len(self.given)

    def __repr__(self) -> str:
        name = getattr(self.given, "__name__", type(self.given).__name__)
        return f"blocks of {name}"

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        numbered: Iterable[tuple[int, Any]] = (
            enumerate(self.given()) if callable(self.given) else [(partition, self.given[partition])]
        )
        for number, given in numbered:
            place = f"{self!r}, block {number}"
            if not isinstance(given, tuple) or len(given) not in (2, 3, 4):
                raise SourceError(
                    f"{place}: must be a tuple (X, y), (X, y, sample_weight) or (X, y, sample_weight, offset), "
                    f"got {given!r:.60}"
                )
            X, y, *others = (*given, None, None)[:4]
            weight, offset = (None if values is None else np.asarray(values, dtype=np.float64) for values in others)
            raw = RawBlock(X, None if y is None else np.asarray(y), weight, place, offset=offset)
            block = check_block(raw, self.n_features, faults)
            if self.n_features is None:
                self.n_features = block.X.shape[1]  # all blocks must be as wide as the first
            yield block


def _opened(array: Stored) -> Any:
    return array.array() if isinstance(array, Mapped) else array


def _width(X: sp.csr_array) -> int:
    """The mean number of entries in a row, rounded up."""
    return -(-X.nnz // max(1, X.shape[0]))
