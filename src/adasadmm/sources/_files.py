"""Sources of files: svmlight, Parquet, Arrow and CSV. The readers are imported when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from .._core.files import MOST_EXPANSION
from ._base import Settings, Source
from ._paths import Paths, kind_of, resolved

if TYPE_CHECKING:
    from ._arrow import Target

__all__ = ["arrow", "csv", "open", "parquet", "svmlight"]


def svmlight(
    paths: Paths,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    block_bytes: int | None = None,
    most_expansion: float = MOST_EXPANSION,
    **settings: Unpack[Settings],
) -> Source:
    """Read svmlight files, plain or compressed by gzip or bzip2.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of these
        The files.
    n_features : int, optional
        The number of features; by default the largest index that a first scan finds, which may be at most 2^24.
    zero_based : bool, default=False
        Whether indices start at 0 instead of 1.
    block_bytes : int, optional
        The size of a block of text, by default 4 MiB. Each block of a plain file is a partition. A compressed file is
        one partition, because it can be read from its beginning only.
    most_expansion : float, default=200
        Reject a compressed file that expands to more than 64 MiB and more than this multiple of its size.
    **settings
        ``on_bad_row`` and ``prefetch``; see `Source`.

    Returns
    -------
    Source

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from adasadmm import sources
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.svm"
    >>> _ = path.write_text("1 1:0.5 3:2\\n-1 2:1\\n")
    >>> source = sources.svmlight(path)
    >>> source.shape, source.summary.labels
    ((2, 3), {-1.0: (1, 1.0), 1.0: (1, 1.0)})
    """
    from ._svmlight import SvmlightSource

    text: dict[str, Any] = {"block_bytes": block_bytes, "most_expansion": most_expansion}
    return SvmlightSource(resolved(paths, "svmlight"), zero_based, n_features=n_features, **text, **settings)


def parquet(
    paths: Paths,
    *,
    target: Target = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    block_rows: int | None = None,
    **settings: Unpack[Settings],
) -> Source:
    """Read Parquet files (needs pyarrow).

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of these
        The files.
    target : str or False, optional
        The column of targets, by default the one named "target", "label" or "y". False reads no targets.
    columns : list of str, optional
        The features, in this order; by default all columns that have no other use.
    weight : str, optional
        The column of sample weights.
    offset : str, optional
        The column of offsets, known parts of the predictions.
    exposure : str, optional
        The column of exposures, all > 0: their logarithms are the offsets.
    block_rows : int, optional
        The largest number of rows of a block, by default as many as make 32 MiB. A partition is a row group; its
        blocks are read in order.
    **settings
        ``on_bad_row`` and ``prefetch``; see `Source`.

    Returns
    -------
    Source

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow, pyarrow.parquet
    >>> from adasadmm import sources
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.parquet"
    >>> table = pyarrow.table({"age": [31.0, 45.0, 27.0], "height": [1.7, 1.8, 1.6], "label": [1, -1, 1]})
    >>> pyarrow.parquet.write_table(table, path, row_group_size=2)
    >>> source = sources.parquet(path)
    >>> len(source), source.shape, source.feature_names
    (2, (3, 2), ['age', 'height'])
    """
    from ._arrow import Columns, ParquetSource

    chosen = Columns(columns, target, weight, offset, exposure)
    return ParquetSource(resolved(paths, "parquet"), chosen, block_rows, **settings)


def arrow(
    paths: Paths,
    *,
    target: Target = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    block_rows: int | None = None,
    **settings: Unpack[Settings],
) -> Source:
    """Read Arrow (Feather) files through a memory map (needs pyarrow).

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of these
        The files.
    target, columns, weight, offset, exposure
        As for `parquet`.
    block_rows : int, optional
        The largest number of rows of a block, by default as many as make 32 MiB. A partition is a record batch.
    **settings
        ``on_bad_row`` and ``prefetch``; see `Source`.

    Returns
    -------
    Source

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow, pyarrow.feather
    >>> from adasadmm import sources
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.arrow"
    >>> table = pyarrow.table({"age": [31.0, 45.0, 27.0], "height": [1.7, 1.8, 1.6], "label": [1, -1, 1]})
    >>> pyarrow.feather.write_feather(table, str(path))
    >>> sources.arrow(path, columns=["height"]).shape
    (3, 1)
    """
    from ._arrow import ArrowSource, Columns

    chosen = Columns(columns, target, weight, offset, exposure)
    return ArrowSource(resolved(paths, "arrow"), chosen, block_rows, **settings)


def csv(
    paths: Paths,
    *,
    target: Target = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    delimiter: str = ",",
    block_bytes: int | None = None,
    most_expansion: float = MOST_EXPANSION,
    **settings: Unpack[Settings],
) -> Source:
    """Read CSV files, plain or compressed by gzip or bzip2, whose first line names the columns (needs pyarrow).

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of these
        The files.
    target, columns, weight, offset, exposure
        As for `parquet`.
    delimiter : str, default=","
        The character between two fields.
    block_bytes, most_expansion
        As for `svmlight`.
    **settings
        ``on_bad_row`` and ``prefetch``; see `Source`.

    Returns
    -------
    Source

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from adasadmm import sources
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.csv"
    >>> _ = path.write_text("age,height,bought\\n31,1.7,yes\\n45,1.8,no\\n")
    >>> source = sources.csv(path, target="bought")
    >>> source.feature_names, source.summary.labels
    (['age', 'height'], {'no': (1, 1.0), 'yes': (1, 1.0)})
    """
    from ._arrow import Columns
    from ._csv import CsvSource

    text: dict[str, Any] = {"block_bytes": block_bytes, "most_expansion": most_expansion}
    chosen = Columns(columns, target, weight, offset, exposure)
    return CsvSource(resolved(paths, "csv"), chosen, delimiter, **text, **settings)


def open(paths: Paths, **settings: Any) -> Source:
    """Read files in the format that their names indicate.

    The endings are ``.parquet`` and ``.pq``; ``.arrow`` and ``.feather``; ``.csv`` and ``.tsv``. Any other name is
    taken for svmlight text. A further ``.gz`` or ``.bz2`` is ignored: compression is detected by content.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of these
        The files, all of one format.
    **settings
        The settings of `svmlight`, `parquet`, `arrow` or `csv`. A setting that the format does not have raises
        `TypeError`.

    Returns
    -------
    Source

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from adasadmm import sources
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.tsv"
    >>> _ = path.write_text("age\\theight\\tlabel\\n31\\t1.7\\t1\\n45\\t1.8\\t-1\\n")
    >>> sources.open(path).shape
    (2, 2)
    """
    kind = kind_of(paths)
    if kind == "tsv":
        return csv(paths, delimiter="\t", **settings)
    readers: dict[str, Callable[..., Source]] = {"svmlight": svmlight, "parquet": parquet, "arrow": arrow, "csv": csv}
    return readers[kind](paths, **settings)
