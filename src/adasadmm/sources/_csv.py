"""CSV files: text in chunks of whole lines, parsed by pyarrow, columns by name."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..linalg.matrices import Dense, as_rows
from ._arrow import check_names, choose, pyarrow, to_piece
from ._base import BadRow, SourceError
from ._gate import finite, in_words
from ._text import BROKEN_STREAM, Chunk, TextSource, opened, rest_of_line

__all__ = ["CsvSource"]


class CsvSource(TextSource):
    """CSV files with a header; chunks of whole lines, so no field may hold a line end."""

    def __init__(
        self,
        paths: list[str],
        columns: Sequence[str] | None,
        target: Any,
        weight: str | None,
        delimiter: str,
        **settings: Any,
    ) -> None:
        pyarrow()
        super().__init__(paths, **settings)
        self.delimiter = delimiter
        self.headers = {path: self._header(path) for path in paths}
        self.chosen = choose(self.headers[paths[0]], columns, target, weight, paths[0])
        for path in paths:
            check_names(self.headers[path], self.chosen, path)
        if self.n_features not in (None, len(self.chosen.features)):
            raise SourceError(f"{self!r} has {len(self.chosen.features)} features, expected {self.n_features}")
        self.n_features, self.feature_names = len(self.chosen.features), self.chosen.features
        row = self._first_row(paths[0])
        self.text_target = self.chosen.target is not None and _is_text(row.get(self.chosen.target, ""))
        self.true_or_false = [name for name in self.chosen.features if row.get(name, "").lower() in ("true", "false")]

    def _body(self, chunk: Chunk) -> bytes:
        """Without the header; its line stays, empty."""
        return b"".join(chunk.data.partition(b"\n")[1:]) if chunk.is_first else chunk.data

    def _parse(self, data: bytes, path: str) -> tuple[Any, Any, Any]:
        from pyarrow import csv as tables

        pa = pyarrow()
        if not data.strip():
            return Dense(np.empty((0, len(self.chosen.features)))), np.empty(0), None
        kinds: dict[str, Any] = dict.fromkeys(self.chosen.all, pa.float64())
        kinds |= dict.fromkeys(self.true_or_false, pa.bool_())  # 1 and 0
        if self.text_target:
            kinds[self.chosen.target] = pa.string()  # type: ignore[index]
        try:
            table = tables.read_csv(
                io.BytesIO(data),
                tables.ReadOptions(use_threads=False, column_names=self.headers[path]),
                tables.ParseOptions(delimiter=self.delimiter),
                tables.ConvertOptions(column_types=kinds, include_columns=self.chosen.all, strings_can_be_null=True),
            )
        except ValueError as error:
            raise self._in_words(error, path) from None
        X, y, weight, _ = to_piece(table, self.chosen, path)
        others = [part for part in (y, weight) if part is not None]
        for name, column in zip(self.chosen.all, [*X.T, *others], strict=True):
            if not (good := finite(column)).all():
                raise ValueError(in_words(name, column[~good][0]))
        if weight is not None and weight.min(initial=0.0) < 0.0:
            raise ValueError(f"column {self.chosen.weight!r} is {weight.min()}; a weight must be >= 0")
        return as_rows(X), y, weight

    def _in_words(self, error: ValueError, path: str) -> ValueError:
        """What pyarrow says of a cell, with the name of its column."""
        found = re.search(r"CSV column #(\d+):.*invalid value '(.*)'", str(error), flags=re.DOTALL)
        if found is None:
            return error
        name = self.headers[path][int(found[1])]
        remedy = "drop" if name in self.chosen.features else None
        return BadRow(f"column {name!r} holds {found[2]!r}, which is no number", remedy)

    def _header(self, path: str) -> list[str]:
        """The names in the first line."""
        try:
            names = self._cells(_first_lines(path, 1)[0].decode("utf-8-sig"))
        except (UnicodeDecodeError, csv.Error) as error:
            raise SourceError(f"{path}: its first line cannot be read: {error}; save it as CSV UTF-8") from None
        if not names:
            raise SourceError(f"{path} has no header: its first line must name the columns")
        if len(names) == 1 and self.delimiter == "," and (";" in names[0] or "\t" in names[0]):
            raise SourceError(f"{path}: its columns must be separated by commas, got {names[0][:80]!r}")
        return names

    def _cells(self, line: str) -> list[str]:
        return next(csv.reader([line.strip(" \r\n")], delimiter=self.delimiter), [])

    def _first_row(self, path: str) -> dict[str, str]:
        """The cells of the second line by their columns, which tell what is a text and what true or false."""
        line = _first_lines(path, 2)[1].decode("utf-8", "replace")
        try:
            return dict(zip(self.headers[path], self._cells(line), strict=False))
        except csv.Error:  # a bad row like any other, told or skipped when it is read
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
