"""Text files, plain or compressed, in chunks of whole lines; lines that cannot be parsed are found by bisection."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import math
import os
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple, Unpack

import numpy as np

from .._core.files import MOST_EXPANSION, most_unpacked
from ..rows.matrices import Rows
from ._base import Settings, Source
from ._faults import Faults, RawBlock, SourceError
from ._states import FileStates

__all__ = [
    "BLOCK_BYTES",
    "Chunk",
    "Parsed",
    "TextSettings",
    "TextSource",
    "chunks",
    "chunks_of_lines",
    "opened",
    "rest_of_line",
]

BLOCK_BYTES = 2**22  # two blocks, with what is made of them, are small beside the program itself
LONGEST_LINE = 2**26  # parsing such a line takes less than 1 GiB
_OPENERS: dict[bytes, Callable[..., Any]] = {b"BZh": bz2.open, b"\x1f\x8b": gzip.open}  # by a file's first bytes
BROKEN_STREAM = (EOFError, OSError, zlib.error)
BAD_LINES = (ValueError, OverflowError, TypeError)


class Parsed(NamedTuple):
    """The content of some lines."""

    X: Rows
    y: np.ndarray | None
    weight: np.ndarray | None
    offset: np.ndarray | None = None
    kept: tuple[np.ndarray, ...] = ()


class TextSettings(Settings, total=False):
    """The settings that all text files share."""

    n_features: int | None
    block_bytes: int | None
    most_expansion: float


class Chunk(NamedTuple):
    """Whole lines. ``line()`` returns the number of the first one, for messages; it may count through the file."""

    data: bytes
    line: Callable[[], int]
    is_first: bool


def opener(path: str) -> Callable[..., Any] | None:
    """The function that decompresses a file, chosen by its content, not by its name; None for a plain file."""
    with open(path, "rb") as file:
        start = file.read(3)
    return next((function for magic, function in _OPENERS.items() if start.startswith(magic)), None)


def opened(path: str) -> BinaryIO:
    """A file opened for reading, decompressed if need be."""
    return (opener(path) or open)(path, "rb")


def chunks(stream: BinaryIO, size: int, place: str, faults: Faults, most: float = math.inf) -> Iterator[Chunk]:
    """The rest of a stream, in chunks of about ``size`` bytes; more than ``most`` bytes in all are an error."""
    lines, left = 1, most
    while True:
        try:
            data = stream.read(size)
            if data and not data.endswith(b"\n"):
                data += rest_of_line(stream, place)
        except SourceError:
            raise
        except BROKEN_STREAM as error:  # a truncated or damaged archive
            faults.report(f"{place}, after line {lines - 1}: {error}")
            return
        if not data:
            return
        left -= len(data)
        if left < 0:
            raise SourceError(
                f"{place} unpacks to more than {most:,.0f} bytes, far more than is usual for rows; if the file is "
                "right, give a larger most_expansion"
            )
        yield Chunk(data, lambda first=lines: first, lines == 1)  # type: ignore[misc]
        lines += data.count(b"\n")


def chunks_of_lines(stream: BinaryIO, count: int, place: str) -> Iterator[Chunk]:
    """Chunks of ``count`` lines, or fewer if the lines are long, as soon as they arrive: for streams without an end."""
    first, arriving = 1, iter(lambda: rest_of_line(stream, place), b"")
    while lines := list(_within(BLOCK_BYTES, itertools.islice(arriving, count))):
        yield Chunk(b"".join(lines), lambda first=first: first, first == 1)  # type: ignore[misc]
        first += len(lines)


def _within(size: int, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines up to a total of ``size`` bytes."""
    for line in lines:
        yield line
        size -= len(line)
        if size <= 0:
            return


def chunk_at(path: str, start: int, size: int) -> Chunk:
    """The lines of a plain file that begin within ``size`` bytes from ``start``."""
    with open(path, "rb") as file:
        if start:
            file.seek(start - 1)
            rest_of_line(file, path)  # this line belongs to the chunk before
        begin = file.tell()
        data = file.read(start + size - begin) if begin < start + size else b""
        if data and not data.endswith(b"\n"):
            data += rest_of_line(file, path)
    return Chunk(data, lambda: _line_at(path, begin), begin == 0)


def rest_of_line(stream: BinaryIO, place: str) -> bytes:
    """The stream up to the end of its line; lines of more than 64 MiB raise an error, lest they fill the memory."""
    rest = stream.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
        raise SourceError(f"{place} has a line of more than {LONGEST_LINE // 2**20} MiB: {rest[:40]!r}...")
    return rest


def _line_at(path: str, position: int) -> int:
    """The number of the line that starts at a byte position."""
    lines = 1
    with open(path, "rb") as file:
        while position > 0 and (data := file.read(min(position, BLOCK_BYTES))):
            lines += data.count(b"\n")
            position -= len(data)
    return lines


class TextSource(Source):
    """Text files. A plain file is cut into partitions of ``block_bytes``; a compressed file is a single partition."""

    def __init__(
        self,
        paths: list[str],
        block_bytes: int | None = None,
        most_expansion: float = MOST_EXPANSION,
        n_features: int | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(n_features, **settings)
        if not most_expansion > 0:
            raise ValueError(f"most_expansion must be > 0, got {most_expansion}")
        self.most_expansion, self._given_features = most_expansion, n_features
        self.paths, self.block_bytes = paths, block_bytes or BLOCK_BYTES
        if self.block_bytes < 1:
            raise ValueError(f"block_bytes must be at least 1, got {block_bytes}")
        self._states = FileStates(paths)
        self.partitions: list[tuple[str, int]] = []  # a file, and the first byte; -1 for a compressed file
        for path in paths:
            if opener(path) is None:
                self.partitions += [(path, start) for start in range(0, os.path.getsize(path), self.block_bytes)]
            else:
                self.partitions.append((path, -1))

    def __len__(self) -> int:
        return len(self.partitions)

    def __repr__(self) -> str:
        return self.paths[0] if len(self.paths) == 1 else f"{self.paths[0]} and {len(self.paths) - 1} more files"

    def origin(self) -> tuple[list[str], tuple]:
        return self.paths, (type(self).__name__, self.block_bytes, self._given_features, *self._format())

    def _format(self) -> tuple:
        """The settings of this kind of text on which the rows depend."""
        return ()

    @abstractmethod
    def _parse(self, data: bytes, path: str) -> Parsed:
        """The contents of some lines; raises one of BAD_LINES if a line cannot be parsed."""

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        path, start = self.partitions[partition]
        return self._states.watched(path, self._read_from(path, start, faults))

    def _read_from(self, path: str, start: int, faults: Faults) -> Iterator[RawBlock]:
        if start >= 0:
            yield from self.parse_chunks([chunk_at(path, start, self.block_bytes)], path, faults)
            return
        with opened(path) as stream:
            most = most_unpacked(os.path.getsize(path), self.most_expansion)
            yield from self.parse_chunks(chunks(stream, self.block_bytes, path, faults, most), path, faults)

    def parse_chunks(self, chunks: Iterable[Chunk], place: str, faults: Faults) -> Iterator[RawBlock]:
        """The blocks of rows that chunks of lines contain."""
        for chunk in chunks:
            data = self._body(chunk)
            try:
                parsed = self._parse(data, place)
            except BAD_LINES:
                parsed = self._parse_good(data, chunk, place, faults)
            X, y, weight, offset, kept = Parsed(*parsed)
            if X.shape[0] or faults.gaps:
                yield faults.with_gaps(RawBlock(X, y, weight, place, offset=offset, kept=kept))

    def _body(self, chunk: Chunk) -> bytes:
        """The lines to parse; a header becomes an empty line, so that lines keep their numbers."""
        return chunk.data

    def _parse_good(self, data: bytes, chunk: Chunk, place: str, faults: Faults) -> Parsed:
        """The rows of the lines that can be parsed; the other lines are reported."""
        lines = io.BytesIO(data).readlines()  # the parsers end lines at \n only
        bad = self._bad_lines(lines, place, 0, faults.stop)
        for number, error in bad.items():
            text = lines[number].decode("utf-8", "replace").strip()
            message = f"{place}, line {chunk.line() + number}: {error}: {text[:80]!r}"
            faults.report(message, getattr(error, "remedy", None))
        if faults.mark:
            runs = (lines[last + 1 : number] for last, number in itertools.pairwise([-1, *bad]))
            counts = (self._parse(b"".join(run), place)[0].shape[0] for run in runs)
            faults.gaps = tuple(itertools.accumulate(counts))
        try:
            return self._parse(b"".join(line for number, line in enumerate(lines) if number not in bad), place)
        except BAD_LINES as error:  # each line alone can be parsed: perhaps a quoted field spans several lines
            first = chunk.line()
            raise SourceError(f"{place}, lines {first} to {first + len(lines) - 1}: {error}") from None

    def _bad_lines(self, lines: list[bytes], path: str, first: int, only_one: bool) -> dict[int, Exception]:
        """The numbers of the lines that cannot be parsed, with the errors, found by bisection."""
        try:
            self._parse(b"".join(lines), path)
            return {}
        except BAD_LINES as error:
            if len(lines) == 1:
                return {first: error}
        middle = len(lines) // 2
        bad = self._bad_lines(lines[:middle], path, first, only_one)
        if not (bad and only_one):
            bad |= self._bad_lines(lines[middle:], path, first + middle, only_one)
        return bad
