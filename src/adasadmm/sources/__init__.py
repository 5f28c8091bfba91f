"""Where rows come from: arrays, svmlight files, Parquet, Arrow and CSV tables, memory maps, any Python iterator.

A source stands where X stands, in `Problem` and in the estimators' ``fit``, and is read block by block: memory does not
grow with the number of rows. Rows that cannot be read stop the run with a `SourceError` that names the place, or are
skipped and counted (``on_bad_row="skip"``).

Examples
--------
>>> import numpy as np
>>> from adasadmm import GraphGuidedClassifier, sources
>>> X = np.random.default_rng(0).normal(size=(300, 3))
>>> source = sources.arrays(X, X[:, 0] > 0, block_rows=100)
>>> len(source), source.shape
(3, (300, 3))
>>> model = GraphGuidedClassifier("chain", random_state=0, max_iter=5, solver="ada-diag")
>>> model.fit(source).score(X, X[:, 0] > 0) > 0.9
True
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ._arrays import ArraySource, IteratorSource, Mapped
from ._base import Piece, Source, SourceError, SourceWarning, Summary
from ._paths import kind_of, resolved

__all__ = [
    "Piece",
    "Source",
    "SourceError",
    "SourceWarning",
    "Summary",
    "arrays",
    "arrow",
    "csv",
    "iterator",
    "memmap",
    "open",
    "parquet",
    "svmlight",
]

Paths = str | os.PathLike[str] | Sequence[Any]


def arrays(X: Any, y: Any, sample_weight: Any = None, *, block_rows: int | None = None, **settings: Any) -> Source:
    """Rows in memory, in blocks.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
    sample_weight : array of shape (n,), optional
    block_rows : int, optional
        Rows of a block; by default as many as make 32 MiB.
    **settings
        ``on_bad_row``, "stop" (default) or "skip"; ``prefetch``, whether a thread reads the next block while this one
        is used (default: True).
    """
    import numpy as np

    X = X if hasattr(X, "tocsr") else np.asarray(X)
    y, sample_weight = (None if part is None else np.asarray(part) for part in (y, sample_weight))
    return ArraySource(X, y, sample_weight, block_rows, **settings)


def memmap(X: Any, y: Any, sample_weight: Any = None, *, block_rows: int | None = None, **settings: Any) -> Source:
    """Rows of ``.npy`` files (by path) or of ``np.memmap`` arrays, as `arrays`; in memory is only what is used."""
    X, y, sample_weight = (None if part is None else Mapped.of(part) for part in (X, y, sample_weight))
    return ArraySource(X, y, sample_weight, block_rows, **settings)


def iterator(blocks: Callable | Sequence, *, n_features: int | None = None, **settings: Any) -> Source:
    """Blocks ``(X, y)`` or ``(X, y, sample_weight)`` from Python.

    Parameters
    ----------
    blocks : callable or list
        A function without arguments that returns a new iterator each time: a generator function. Its blocks come in
        their order, those of a list in any. An iterator itself can be read only once: give it to ``partial_fit``.
    n_features : int, optional
    **settings
        As for `arrays`.
    """
    return IteratorSource(blocks, n_features=n_features, **settings)


def svmlight(
    paths: Paths,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    block_bytes: int | None = None,
    **settings: Any,
) -> Source:
    """svmlight files, plain, gz or bz2.

    Parameters
    ----------
    paths : path, glob, folder, or a list of these
    n_features : int, optional
        By default the largest index of a first scan, at the most 2^24.
    zero_based : bool
        Whether indices begin with 0; by default with 1.
    block_bytes : int, optional
        Text of a block, by default 16 MiB. A plain file is visited in any order of its blocks. A compressed one can
        only be read from its beginning: its blocks come in their order; of several files the order is shuffled.
    **settings
        As for `arrays`; and ``most_expansion``, 200: a compressed file that unpacks to more than 64 MiB and more than
        so many times its size is refused.
    """
    from ._svmlight import SvmlightSource

    found = resolved(paths, "svmlight")
    return SvmlightSource(found, zero_based, n_features=n_features, block_bytes=block_bytes, **settings)


def parquet(
    paths: Paths,
    *,
    target: Any = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    block_rows: int | None = None,
    **settings: Any,
) -> Source:
    """Parquet files (needs pyarrow).

    Parameters
    ----------
    paths : path, glob, folder, or a list of these
    target : str or False, optional
        The column of targets; by default the one called target, label or y. False: none is wanted.
    columns : list of str, optional
        The features, in this order; by default all other columns.
    weight : str, optional
        The column of sample weights.
    block_rows : int, optional
        Rows of a block at the most, by default 32 MiB of numbers. Row groups are visited in any order, the blocks of
        one in theirs.
    **settings
        As for `arrays`.
    """
    from ._arrow import ParquetSource

    return ParquetSource(resolved(paths, "parquet"), columns, target, weight, block_rows, **settings)


def arrow(
    paths: Paths,
    *,
    target: Any = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    block_rows: int | None = None,
    **settings: Any,
) -> Source:
    """Arrow (Feather) files, as `parquet`; they are mapped, not read whole."""
    from ._arrow import ArrowSource

    return ArrowSource(resolved(paths, "arrow"), columns, target, weight, block_rows, **settings)


def csv(
    paths: Paths,
    *,
    target: Any = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    delimiter: str = ",",
    block_bytes: int | None = None,
    **settings: Any,
) -> Source:
    """CSV files, plain, gz or bz2, whose first line names the columns (needs pyarrow); else as `parquet`.

    ``most_expansion`` is that of `svmlight`.
    """
    from ._csv import CsvSource

    found = resolved(paths, "csv")
    return CsvSource(found, columns, target, weight, delimiter, block_bytes=block_bytes, **settings)


def open(paths: Paths, **settings: Any) -> Source:
    """The source that the file names ask for.

    ``.parquet``, ``.pq``; ``.arrow``, ``.feather``; ``.csv``, ``.tsv``; any other name is svmlight text. A ``.gz`` or
    ``.bz2`` behind it does not matter.

    Parameters
    ----------
    paths : path, glob, folder, or a list of these
        All of one kind.
    **settings
        Those of `svmlight`, `parquet`, `arrow` or `csv`; what a kind has no use for is an error.
    """
    kind = kind_of(paths)
    if kind == "tsv":
        return csv(paths, delimiter="\t", **settings)
    maker: Any = {"svmlight": svmlight, "parquet": parquet, "arrow": arrow, "csv": csv}[kind]
    return maker(paths, **settings)
