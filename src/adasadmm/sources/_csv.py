"""CSV files: chunks of whole lines, parsed by pyarrow, with columns chosen by name."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from ..rows.matrices import Dense, as_rows
from ._arrow import Columns, check_kept, check_names, choose, pyarrow, to_raw_block
from ._faults import BadRow, SourceError
from ._gate import describe_bad_value, is_valid
from ._text import BROKEN_STREAM, Chunk, Parsed, TextSettings, TextSource, opened, rest_of_line

__all__ = ["CsvSource"]


class CsvSource(TextSource):
    """CSV files with a header. They are cut into chunks of whole lines, so no field may contain a line break."""

    def __init__(
        self,
        paths: list[str],
        columns: Columns,
        delimiter: str,
        **settings: Unpack[TextSettings],
    ) -> None:
        pyarrow()
        super().__init__(paths, **settings)
        self.delimiter = delimiter
        self.headers = {path: self._header(path) for path in paths}
        self.chosen = choose(self.headers[paths[0]], columns, paths[0])
        self.has_offset = self.chosen.has_offset
        for path in paths:
            check_names(self.headers[path], self.chosen, path)
        if self.n_features not in (None, len(self.chosen.features)):
            raise SourceError(f"{self!r} has {len(self.chosen.features)} features, expected {self.n_features}")
        self.n_features, self.feature_names = len(self.chosen.features), self.chosen.features
        row = self._first_row(paths[0])
        self.kept: tuple[str, ...] = ()
        self.text_target = self.chosen.target is not None and _is_text(row.get(self.chosen.target, ""))
        self.boolean = [name for name in self.chosen.features if row.get(name, "").lower() in ("true", "false")]

    def _format(self) -> tuple:
        return self.delimiter, self.chosen, self.kept

    def keep(self, names: Sequence[str]) -> None:
        """Pass these columns on with each block."""
        for path in self.paths:
            check_kept(self.headers[path], names, path)
        self.kept = tuple(names)

    def _body(self, chunk: Chunk) -> bytes:
        """The lines without the header, whose line stays as an empty one."""
        return b"".join(chunk.data.partition(b"\n")[1:]) if chunk.is_first else chunk.data

    def _parse(self, data: bytes, path: str) -> Parsed:
        from pyarrow import csv as tables

        pa = pyarrow()
        if not data.strip():
            offset = np.empty(0) if self.has_offset else None
            return Parsed(
                Dense(np.empty((0, len(self.chosen.features)))),
                np.empty(0),
                None,
                offset,
                (np.empty(0),) * len(self.kept),
            )
        types: dict[str, Any] = dict.fromkeys(self.chosen.all, pa.float64())
        types |= dict.fromkeys(self.boolean, pa.bool_())  # become 1 and 0
        if self.text_target:
            types[self.chosen.target] = pa.string()  # type: ignore[index]
        kept = [name for name in self.kept if name not in types]  # others are numbers, and are read as such
        types |= dict.fromkeys(kept, pa.string())
        try:
            table = tables.read_csv(
                io.BytesIO(data),
                # One block: each costs time in proportion to the columns, however few rows it has.
                tables.ReadOptions(use_threads=False, column_names=self.headers[path], block_size=len(data) + 1),
                tables.ParseOptions(delimiter=self.delimiter),
                tables.ConvertOptions(
                    column_types=types, include_columns=[*self.chosen.read, *kept], strings_can_be_null=True
                ),
            )
        except ValueError as error:
            raise self._with_column_name(error, path) from None
        X, y, weight, _, _, offset, kept_values = to_raw_block(table, self.chosen, path, self.kept)
        others = [values for values in (y, weight, offset) if values is not None]
        for name, column in zip(self.chosen.all, [*X.T, *others], strict=True):
            if not (good := is_valid(column)).all():
                hint = "; its exposure must be > 0" if name == self.chosen.exposure else ""
                raise ValueError(describe_bad_value(name, column[~good][0]) + hint)
        if weight is not None and weight.min(initial=0.0) < 0.0:
            raise ValueError(f"column {self.chosen.weight!r} is {weight.min()}; a weight must be >= 0")
        return Parsed(as_rows(X), y, weight, offset, kept_values)

    def _with_column_name(self, error: ValueError, path: str) -> ValueError:
        """The error of pyarrow about a cell, with the name of its column instead of the number."""
        found = re.search(r"CSV column #(\d+):.*invalid value '(.*)'", str(error), flags=re.DOTALL)
        if found is None:
            return error
        name = self.headers[path][int(found[1])]
        remedy = "drop" if name in self.chosen.features else None
        return BadRow(f"column {name!r} holds {found[2]!r}, which is not a number", remedy)

    def _header(self, path: str) -> list[str]:
        """The column names in the first line."""
        try:
            names = self._cells(_first_lines(path, 1)[0].decode("utf-8-sig"))
        except (UnicodeDecodeError, csv.Error) as error:
            raise SourceError(f"{path}: the first line cannot be read: {error}; save it as CSV UTF-8") from None
        if not names:
            raise SourceError(f"{path} has no header: the first line must name the columns")
        if len(names) == 1 and self.delimiter == "," and (";" in names[0] or "\t" in names[0]):
            raise SourceError(f"{path}: the columns must be separated by commas, got {names[0][:80]!r}")
        return names

    def _cells(self, line: str) -> list[str]:
        return next(csv.reader([line.strip(" \r\n")], delimiter=self.delimiter), [])

    def _first_row(self, path: str) -> dict[str, str]:
        """The cells of the second line by column name; they show which columns hold strings or booleans."""
        line = _first_lines(path, 2)[1].decode("utf-8", "replace")
        try:
            return dict(zip(self.headers[path], self._cells(line), strict=False))
        except csv.Error:  # a bad row, reported or skipped when it is read
            return {}


def _is_text(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return True
    return False


def _first_lines(path: str, count: int) -> list[bytes]:
    try:
        with opened(path) as stream:
            return [rest_of_line(stream, path) for _ in range(count)]
    except BROKEN_STREAM as error:  # a damaged archive
        raise SourceError(f"{path} cannot be read: {error}") from None
