"""Tables of typed columns: Parquet and Arrow files, read by pyarrow, columns by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._base import Faults, Piece, Source, SourceError
from ._gate import checked, rows_of_a_block

__all__ = ["AllBut", "ArrowSource", "ParquetSource"]

TARGETS = ("target", "label", "y")  # looked for where no target is named


def pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError('tables are read by pyarrow: pip install "adasadmm[arrow]"') from None
    return pyarrow


class AllBut(tuple):
    """In the place of the names of features: all columns but these, and but target and weight."""


class Chosen(NamedTuple):
    """Which columns of a table are what."""

    features: list[str]
    target: str | None
    weight: str | None

    @property
    def all(self) -> list[str]:
        return [*self.features, *(name for name in (self.target, self.weight) if name is not None)]


def choose(names: list[str], columns: Sequence[str] | None, target: Any, weight: str | None, place: str) -> Chosen:
    """The columns asked for; without a word, the target by its usual names, and all others as features.

    ``target=False`` means that none is wanted; columns of the usual names are then no features either.
    """
    if target is None:
        found = [name for name in TARGETS if name in names and name not in (columns or ())]
        if len(found) != 1:
            said = f"has {' and '.join(map(repr, found))}" if found else f"has none of {', '.join(map(repr, TARGETS))}"
            raise SourceError(f"{place} {said}: name the target column; it has {_some(names)}")
        target = found[0]
    others = (*TARGETS, weight) if target is False else (target, weight)
    target = None if target is False else target
    if columns is None or isinstance(columns, AllBut):
        features = _others(names, [name for name in others if name], columns or (), place)
    else:
        features = list(columns)
    if not features:
        raise SourceError(f"{place} has no columns of features")
    chosen = Chosen(features, target, weight)
    check_names(names, chosen, place)
    return chosen


def _others(names: list[str], taken: Sequence[str], dropped: Sequence[str], place: str) -> list[str]:
    """The columns that are neither taken for something else nor dropped, which must be there."""
    unknown = [name for name in dropped if name not in names]
    if unknown:
        raise SourceError(f"{place} has no column {unknown[0]!r} to drop; it has {_some(names)}")
    others = [name for name in names if name not in taken and name not in dropped]
    if "" in others:
        raise SourceError(
            f"{place}: column {names.index('') + 1} has no name (to_csv of a frame writes its index so, unless "
            "index=False); give it one, or name the features with columns= (on the command line: --drop '')"
        )
    return others


def check_names(names: list[str], chosen: Chosen, place: str) -> None:
    """Each column that is used must be there, once."""
    missing = [name for name in chosen.all if name not in names]
    if missing:
        raise SourceError(f"{place} has no column {_some(missing)}; it has {_some(names)}")
    twice = [name for name in chosen.all if names.count(name) > 1]
    if twice:
        raise SourceError(f"{place} has two columns {twice[0]!r}: rename one, or leave both out")


def _some(names: list[str]) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown if len(names) <= 8 else [*shown[:4], f"{len(names) - 6} more", *shown[-2:]])


def to_piece(batch: Any, chosen: Chosen, place: str) -> Piece:
    """A table or record batch as rows: columns become rows of one array, in float64."""
    X = np.empty((batch.num_rows, len(chosen.features)))
    columns = [_numbers(batch.column(name)) for name in chosen.features]
    step = max(1024, 2**17 // max(1, len(columns)))  # rows whose turning round stays in the cache: twice as fast
    for first in range(0, len(X), step):
        some = slice(first, first + step)
        for j, column in enumerate(columns):
            X[some, j] = column[some]
    y = None if chosen.target is None else _numbers(batch.column(chosen.target))
    return Piece(X, y, None if chosen.weight is None else _numbers(batch.column(chosen.weight)), place)


def _numbers(column: Any) -> np.ndarray:
    """A column as NumPy has it; what is missing is NaN, or None among texts."""
    return column.to_numpy(zero_copy_only=False) if hasattr(column, "buffers") else column.to_numpy()


class TableSource(Source):
    """Files of typed columns; leaves say how their blocks are read."""

    def __init__(
        self,
        paths: list[str],
        columns: Sequence[str] | None,
        target: Any,
        weight: str | None,
        block_rows: int | None,
        **settings: Any,
    ) -> None:
        pyarrow()
        self.paths = paths
        schema = self._schema(paths[0])
        self.chosen = choose(schema.names, columns, target, weight, paths[0])
        super().__init__(len(self.chosen.features), **settings)
        self.feature_names = self.chosen.features
        self.block_rows = rows_of_a_block(block_rows, len(self.chosen.features))
        self.text_target = self.chosen.target is not None and _is_text(schema.field(self.chosen.target).type)
        self.parts = [(path, k) for path in paths for k in range(self._groups(path))]

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return self.paths[0] if len(self.paths) == 1 else f"{self.paths[0]} and {len(self.paths) - 1} more files"

    def _read(self, part: int, faults: Faults) -> Iterator[Piece]:
        path, group = self.parts[part]
        place, first = f"{path}, {self.group_name} {group}", 0
        try:
            for batch in self._batches(path, group, self.chosen.all):
                piece = to_piece(batch, self.chosen, place)
                yield checked(piece, self.n_features, first, faults, self.chosen.features)
                first += batch.num_rows
        except SourceError:
            raise
        except (OSError, pyarrow().ArrowException) as error:  # truncated, or damaged
            faults.found(f"{place}: {error}")

    def _scan(self, faults: Faults) -> Generator[tuple[int, int, int, Any, Any], None, None]:
        """Without rows to skip the columns of targets and weights suffice."""
        if self.on_bad_row != "stop" or not self.chosen.all[len(self.chosen.features) :]:
            yield from super()._scan(faults)
            return
        d, only = len(self.chosen.features), self.chosen._replace(features=[])
        for path, group in self.parts:
            place = f"{path}, {self.group_name} {group}"
            try:
                for batch in self._batches(path, group, only.all):
                    piece = to_piece(batch, only, place)._replace(X=np.zeros((batch.num_rows, 1)))
                    piece = checked(piece, 1, 0, faults)
                    yield batch.num_rows, d, d * batch.num_rows, piece.y, piece.weight
            except SourceError:
                raise
            except (OSError, pyarrow().ArrowException) as error:
                faults.found(f"{place}: {error}")

    def _checked_schema(self, schema: Any, path: str) -> None:
        """Every file must have the columns of the first, as numbers; a target may be a text if it is so in all."""
        check_names(schema.names, self.chosen, path)
        for name in self.chosen.all:
            kind = schema.field(name).type
            number = _is_number(kind)
            if name == self.chosen.target:
                if (self.text_target and _is_text(kind)) or (not self.text_target and number):
                    continue
                wanted = "a text as in the first file" if self.text_target else "a number"
                raise SourceError(f"{path}: the target {name!r} must be {wanted}, its type is {kind}")
            if not number:
                raise SourceError(
                    f"{path}: column {name!r} must hold numbers, its type is {kind}; columns= names the features "
                    f"(on the command line --columns A,B, or --drop {name})"
                )

    group_name: str

    @abstractmethod
    def _schema(self, path: str) -> Any:
        """The names and types of a file's columns."""

    @abstractmethod
    def _groups(self, path: str) -> int:
        """How many parts a file has, once its columns were found right."""

    @abstractmethod
    def _batches(self, path: str, group: int, names: list[str]) -> Iterator[Any]:
        """The rows of a part in blocks, the columns of these names."""


def _is_number(kind: Any) -> bool:
    types = pyarrow().types
    return types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)


def _is_text(kind: Any) -> bool:
    types = pyarrow().types
    return types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)


class ParquetSource(TableSource):
    """Parquet files; a part is a row group, read in blocks."""

    group_name = "row group"

    def _schema(self, path: str) -> Any:
        return self._file(path).schema_arrow

    def _groups(self, path: str) -> int:
        file = self._file(path)
        self._checked_schema(file.schema_arrow, path)
        return file.num_row_groups

    def _batches(self, path: str, group: int, names: list[str]) -> Iterator[Any]:
        with self._file(path) as file:
            yield from file.iter_batches(self.block_rows, row_groups=[group], columns=names, use_threads=False)

    def _file(self, path: str) -> Any:
        import pyarrow.parquet

        try:
            file = pyarrow.parquet.ParquetFile(path)
            file.schema_arrow.names
            return file
        except (OSError, pyarrow.ArrowException, UnicodeDecodeError) as error:
            raise SourceError(f"{path} is no Parquet file: {error}") from None


class ArrowSource(TableSource):
    """Arrow (Feather) files; a part is a record batch."""

    group_name = "record batch"

    def _schema(self, path: str) -> Any:
        return self._file(path).schema

    def _groups(self, path: str) -> int:
        file = self._file(path)
        self._checked_schema(file.schema, path)
        return file.num_record_batches

    def _batches(self, path: str, group: int, names: list[str]) -> Iterator[Any]:
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
            raise SourceError(f"{path} is no Arrow file: {error}") from None
