"""CSV files: text in chunks of whole lines, parsed by pyarrow, columns by name."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..matrices import Dense
from ._arrow import check_names, choose, pyarrow, to_piece
from ._base import Faults, Piece, SourceError
from ._gate import checked
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
        self.text_target = self.chosen.target is not None and self._target_is_text(paths[0])

    def _body(self, chunk: Chunk) -> bytes:
        """Without the header; its line stays, empty."""
        return b"".join(chunk.data.partition(b"\n")[1:]) if chunk.is_first else chunk.data

    def _parse(self, data: bytes, path: str) -> tuple[Any, Any, Any]:
        from pyarrow import csv

        pa = pyarrow()
        if not data.strip():
            return Dense(np.empty((0, len(self.chosen.features)))), np.empty(0), None
        kinds: dict[str, Any] = dict.fromkeys(self.chosen.all, pa.float64())
        if self.text_target:
            kinds[self.chosen.target] = pa.string()  # type: ignore[index]
        try:
            table = csv.read_csv(
                io.BytesIO(data),
                csv.ReadOptions(use_threads=False, column_names=self.headers[path]),
                csv.ParseOptions(delimiter=self.delimiter),
                csv.ConvertOptions(column_types=kinds, include_columns=self.chosen.all, strings_can_be_null=True),
            )
        except ValueError as error:
            raise ValueError(self._in_words(str(error), path)) from None
        X, y, weight, _ = to_piece(table, self.chosen, path)
        for name, column in zip(self.chosen.features, X.T, strict=True):
            if not np.isfinite(column).all():
                value = column[~np.isfinite(column)][0]
                raise ValueError(f"column {name!r} is {'empty' if np.isnan(value) else value}")
        return checked(Piece(X, y, weight, path), self.n_features, 0, Faults("stop"))[:3]

    def _in_words(self, message: str, path: str) -> str:
        """What pyarrow says of a cell, with the name of its column."""
        found = re.search(r"CSV column #(\d+):.*invalid value '(.*)'", message, flags=re.DOTALL)
        if found is None:
            return message
        return f"column {self.headers[path][int(found[1])]!r} holds {found[2]!r}, which is no number"

    def _header(self, path: str) -> list[str]:
        """The names in the first line."""
        from pyarrow import csv

        line = _first_lines(path, 1)[0].strip()
        if not line:
            raise SourceError(f"{path} has no header: its first line must name the columns")
        options = csv.ReadOptions(autogenerate_column_names=True, use_threads=False)
        try:
            parsed = csv.read_csv(io.BytesIO(line + b"\n"), options, csv.ParseOptions(delimiter=self.delimiter))
        except ValueError as error:
            raise SourceError(f"{path}: its first line must name the columns: {error}: {line[:80]!r}") from None
        return [str(column[0]) for column in parsed.columns]

    def _target_is_text(self, path: str) -> bool:
        """Whether the first target is no number."""
        lines = _first_lines(path, 2)
        place = self.headers[path].index(self.chosen.target)  # type: ignore[arg-type]
        cells = lines[1].decode("utf-8", "replace").strip().split(self.delimiter)
        try:
            float(cells[place] if place < len(cells) else "nan")
        except ValueError:
            return cells[place] != ""
        return False


def _first_lines(path: str, count: int) -> list[bytes]:
    try:
        with opened(path) as stream:
            return [rest_of_line(stream, path) for _ in range(count)]
    except BROKEN_STREAM as error:  # a damaged archive
        raise SourceError(f"{path} cannot be read: {error}") from None
