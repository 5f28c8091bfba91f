"""Parquet and Arrow files, read by pyarrow, with columns chosen by name."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np

from ._base import Settings, Source
from ._faults import Faults, RawBlock, SourceError
from ._gate import check_block, resolve_block_rows
from ._states import FileStates
from ._summary import Scanned

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AllBut", "ArrowSource", "Columns", "ParquetSource", "Target"]

TARGETS = ("target", "label", "y")  # the usual names of the target column

Target = str | Literal[False] | None  # a column; False for no target; None for the column with one of the usual names


def pyarrow() -> Any:
    """The module pyarrow, which is an optional dependency."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError('reading tables needs pyarrow: pip install "adasadmm[arrow]"') from None
    return pyarrow


class AllBut(tuple):
    """A value for ``columns``: all columns except these and except target, weight and offset."""


class Columns(NamedTuple):
    """The columns of a table that a user asks for, by name; see `parquet`."""

    features: Sequence[str] | None = None
    target: Target = None
    weight: str | None = None
    offset: str | None = None
    exposure: str | None = None


class Chosen(NamedTuple):
    """The columns of a table that are used. The offset is the logarithm of the exposure, if that is given."""

    features: list[str]
    target: str | None
    weight: str | None
    offset: str | None
    exposure: str | None

    @property
    def all(self) -> list[str]:
        return [*self.features, *(name for name in self[1:] if name is not None)]

    @property
    def read(self) -> list[str]:
        """Each of them once: the exposure, for example, may also be a feature."""
        return list(dict.fromkeys(self.all))

    @property
    def has_offset(self) -> bool:
        return self.offset is not None or self.exposure is not None


def choose(names: list[str], asked: Columns, place: str) -> Chosen:
    """The columns to use; by default the target is the column with a usual name, and all others are features.

    With ``target=False`` there is no target, and columns with one of the usual names are not features either.
    """
    columns, target, weight, offset, exposure = asked
    if offset is not None and exposure is not None:
        raise ValueError(f"offset={offset!r} and exposure={exposure!r}: give one of them, not both")
    if target is None:
        found = [name for name in TARGETS if name in names and name not in (columns or ())]
        if len(found) != 1:
            has = f"has {' and '.join(map(repr, found))}" if found else f"has none of {', '.join(map(repr, TARGETS))}"
            raise SourceError(f"{place} {has}: name the target column; it has {_some(names)}")
        target = found[0]
    others = (*(TARGETS if target is False else (target,)), weight, offset, exposure)
    target = None if target is False else target
    if columns is None or isinstance(columns, AllBut):
        features = _others(names, [name for name in others if name], columns or (), place)
    else:
        features = list(columns)
        repeated = [name for name, times in Counter(features).items() if times > 1 or name == target]
        if repeated:
            what = "the target, which is not a feature" if repeated[0] == target else "among the features twice"
            raise SourceError(f"column {repeated[0]!r} of {place} is {what}: leave it out of the feature columns")
    if not features:
        raise SourceError(f"{place} has no feature columns")
    chosen = Chosen(features, target, weight, offset, exposure)
    check_names(names, chosen, place)
    return chosen


def _others(names: list[str], taken: Sequence[str], dropped: Sequence[str], place: str) -> list[str]:
    """The columns that are neither used otherwise nor dropped; dropped columns must exist."""
    known, left_out = set(names), {*taken, *dropped}
    unknown = [name for name in dropped if name not in known]
    if unknown:
        raise SourceError(f"{place} has no column {unknown[0]!r} to drop; it has {_some(names)}")
    others = [name for name in names if name not in left_out]
    if "" in others:
        raise SourceError(
            f"{place}: column {names.index('') + 1} has no name (DataFrame.to_csv writes its index like this, unless "
            "index=False); give it one, or name the features with columns= (on the command line: --drop '')"
        )
    return others


def check_names(names: list[str], chosen: Chosen, place: str) -> None:
    """Each column that is used must occur exactly once."""
    times = Counter(names)
    missing = [name for name in chosen.all if not times[name]]
    if missing:
        raise SourceError(f"{place} has no column {_some(missing)}; it has {_some(names)}")
    twice = [name for name in chosen.all if times[name] > 1]
    if twice:
        raise SourceError(f"{place} has two columns {twice[0]!r}: rename one, or leave both out")


def _some(names: list[str]) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown if len(names) <= 8 else [*shown[:4], f"{len(names) - 6} more", *shown[-2:]])


def check_kept(names: list[str], kept: Sequence[str], place: str) -> None:
    """Each column that is passed on must exist."""
    missing = [name for name in kept if name not in names]
    if missing:
        raise SourceError(f"{place} has no column {_some(missing)} to keep; it has {_some(names)}")


def to_raw_block(batch: pa.Table | pa.RecordBatch, chosen: Chosen, place: str, kept: Sequence[str] = ()) -> RawBlock:
    """The rows of a table or record batch as one float64 array, C-ordered."""
    X = np.empty((batch.num_rows, len(chosen.features)))
    columns = [_numbers(batch.column(name)) for name in chosen.features]
    step = max(1024, 2**17 // max(1, len(columns)))  # rows whose transposition stays in the cache: twice as fast
    for first in range(0, len(X), step):
        rows = slice(first, first + step)
        for j, column in enumerate(columns):
            X[rows, j] = column[rows]
    y, weight, offset, exposure = (None if name is None else _numbers(batch.column(name)) for name in chosen[1:])
    if exposure is not None:
        with np.errstate(divide="ignore", invalid="ignore"):  # an exposure that is not positive is a bad row
            offset = np.log(exposure.astype(np.float64))
    values = tuple(objects_of(batch.column(name)) for name in kept)
    return RawBlock(X, y, weight, place, offset=offset, kept=values)


def objects_of(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """A column of any type as Python objects."""
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def _numbers(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """A column as a NumPy array; missing values are NaN, or None among strings."""
    return column.to_numpy(zero_copy_only=False) if hasattr(column, "buffers") else column.to_numpy()


class TableSource(Source):
    """Files of typed columns. A partition is a group of rows; subclasses read its batches."""

    def __init__(
        self,
        paths: list[str],
        columns: Columns,
        block_rows: int | None,
        **settings: Unpack[Settings],
    ) -> None:
        pyarrow()
        self.paths, self.kept = paths, tuple[str, ...]()
        self._states = FileStates(paths)
        schema = self._schema(paths[0])
        self.chosen = choose(schema.names, columns, paths[0])
        self.has_offset = self.chosen.has_offset
        super().__init__(len(self.chosen.features), **settings)
        self.feature_names = self.chosen.features
        self.block_rows = resolve_block_rows(block_rows, len(self.chosen.features))
        self.text_target = self.chosen.target is not None and _is_text(schema.field(self.chosen.target).type)
        self.partitions = [(path, k) for path in paths for k in range(self._groups(path))]

    def __len__(self) -> int:
        return len(self.partitions)

    def __repr__(self) -> str:
        return self.paths[0] if len(self.paths) == 1 else f"{self.paths[0]} and {len(self.paths) - 1} more files"

    def keep(self, names: Sequence[str]) -> None:
        """Pass these columns on with each block."""
        for path in self.paths:
            check_kept(self._schema(path).names, names, path)
        self.kept = tuple(names)

    def origin(self) -> tuple[list[str], tuple]:
        return self.paths, (type(self).__name__, self.block_rows, self.chosen, self.kept)

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        path, group = self.partitions[partition]
        return self._states.watched(path, self._read_group(path, group, faults))

    def _read_group(self, path: str, group: int, faults: Faults) -> Iterator[RawBlock]:
        place, first = f"{path}, {self.group_name} {group}", 0
        try:
            for batch in self._batches(path, group, list(dict.fromkeys([*self.chosen.all, *self.kept]))):
                block = to_raw_block(batch, self.chosen, place, self.kept)
                yield check_block(block, self.n_features, faults, first, self.chosen.features)
                first += batch.num_rows
        except SourceError:
            raise
        except (OSError, pyarrow().ArrowException) as error:  # a truncated or damaged file
            faults.report(f"{place}: {error}")

    def _scan(self, faults: Faults) -> Generator[Scanned, None, None]:
        """If no rows are skipped and there is no observer, only targets and weights are read."""
        if self._observers or self.on_bad_row != "stop" or not self.chosen.all[len(self.chosen.features) :]:
            yield from super()._scan(faults)
            return
        for path, group in self.partitions:
            yield from self._states.watched(path, self._scan_group(path, group, faults))

    def _scan_group(self, path: str, group: int, faults: Faults) -> Iterator[Scanned]:
        d, only = len(self.chosen.features), self.chosen._replace(features=[])
        place = f"{path}, {self.group_name} {group}"
        try:
            for batch in self._batches(path, group, only.read):
                block = to_raw_block(batch, only, place)._replace(X=np.zeros((batch.num_rows, 1)))
                block = check_block(block, 1, faults)
                yield batch.num_rows, d, d * batch.num_rows, block.y, block.weight
        except SourceError:
            raise
        except (OSError, pyarrow().ArrowException) as error:
            faults.report(f"{place}: {error}")

    def _check_schema(self, schema: pa.Schema, path: str) -> None:
        """Every file must have the columns of the first file, as numbers; the target may be a string in all files."""
        check_names(schema.names, self.chosen, path)
        for name in self.chosen.all:
            kind = schema.field(name).type
            number = _is_number(kind)
            if name == self.chosen.target:
                if (self.text_target and _is_text(kind)) or (not self.text_target and number):
                    continue
                expected = "a string as in the first file" if self.text_target else "a number"
                raise SourceError(f"{path}: the target {name!r} must be {expected}, its type is {kind}")
            if not number:
                raise SourceError(
                    f"{path}: column {name!r} must hold numbers, its type is {kind}; columns= names the features "
                    f"(on the command line --columns A,B, or --drop {name})"
                )

    group_name: str

    @abstractmethod
    def _schema(self, path: str) -> pa.Schema:
        """The names and types of the columns of a file."""

    @abstractmethod
    def _groups(self, path: str) -> int:
        """Check the columns of a file, and return its number of partitions."""

    @abstractmethod
    def _batches(self, path: str, group: int, names: list[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of a partition, in batches of at most ``block_rows`` rows."""


def _is_number(kind: pa.DataType) -> bool:
    types = pyarrow().types
    return types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)


def _is_text(kind: pa.DataType) -> bool:
    types = pyarrow().types
    return types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)


class ParquetSource(TableSource):
    """Parquet files; a partition is a row group, read in blocks."""

    group_name = "row group"

    def _schema(self, path: str) -> pa.Schema:
        return self._file(path).schema_arrow

    def _groups(self, path: str) -> int:
        file = self._file(path)
        self._check_schema(file.schema_arrow, path)
        return file.num_row_groups

    def _batches(self, path: str, group: int, names: list[str]) -> Iterator[pa.RecordBatch]:
        with self._file(path) as file:
            yield from file.iter_batches(self.block_rows, row_groups=[group], columns=names, use_threads=False)

    def _file(self, path: str) -> Any:
        import pyarrow.parquet

        try:
            file = pyarrow.parquet.ParquetFile(path)
            file.schema_arrow.names
            return file
        except (OSError, pyarrow.ArrowException, UnicodeDecodeError) as error:
            raise SourceError(f"{path} is not a Parquet file: {error}") from None


class ArrowSource(TableSource):
    """Arrow (Feather) files; a partition is a record batch."""

    group_name = "record batch"

    def _schema(self, path: str) -> pa.Schema:
        return self._file(path).schema

    def _groups(self, path: str) -> int:
        file = self._file(path)
        self._check_schema(file.schema, path)
        return file.num_record_batches

    def _batches(self, path: str, group: int, names: list[str]) -> Iterator[pa.RecordBatch]:
        batch = self._file(path).get_batch(group).select(names)
        for first in range(0, batch.num_rows, self.block_rows):
            yield batch.slice(first, self.block_rows)

    def _file(self, path: str) -> Any:
        import pyarrow.ipc

        try:
            file = pyarrow.ipc.open_file(pyarrow.memory_map(path))
            file.schema.names
            return file
        except (OSError, pyarrow.ArrowException, UnicodeDecodeError) as error:
            raise SourceError(f"{path} is not an Arrow file: {error}") from None
