"""Text in chunks of whole lines, plain or compressed, and the hunt for the lines that cannot be read."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import math
import os
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from .._core.files import MOST_EXPANSION, most_unpacked
from ._base import Faults, Piece, Source, SourceError

__all__ = ["BLOCK_BYTES", "Chunk", "TextSource", "chunks", "chunks_of_lines", "opened", "rest_of_line"]

BLOCK_BYTES = 2**24
LONGEST_LINE = 2**26  # with what is made of it, less than 1 GiB
_OPENERS: dict[bytes, Any] = {b"BZh": bz2.open, b"\x1f\x8b": gzip.open}  # by the first bytes of a file
BROKEN_STREAM = (EOFError, OSError, zlib.error)
BAD_LINES = (ValueError, OverflowError, TypeError)


class Chunk(NamedTuple):
    """Whole lines; ``line`` tells the number of the first, which is counted only when somebody asks."""

    data: bytes
    line: Callable[[], int]
    is_first: bool


def opener(path: str) -> Any:
    """The function that opens a file: what it holds counts, not what it is called."""
    with open(path, "rb") as file:
        begin = file.read(3)
    return next((function for mark, function in _OPENERS.items() if begin.startswith(mark)), None)


def opened(path: str) -> BinaryIO:
    """A file to read from, decompressed on the way."""
    return (opener(path) or open)(path, "rb")


def chunks(stream: BinaryIO, size: int, place: str, faults: Faults, most: float = math.inf) -> Iterator[Chunk]:
    """A stream from where it stands to its end, which must come within so many bytes."""
    lines, left = 1, most
    while True:
        try:
            data = stream.read(size)
            if data and not data.endswith(b"\n"):
                data += rest_of_line(stream, place)
        except SourceError:
            raise
        except BROKEN_STREAM as error:  # a truncated or damaged archive
            faults.found(f"{place}, after line {lines - 1}: {error}")
            return
        if not data:
            return
        left -= len(data)
        if left < 0:
            raise SourceError(
                f"{place} unpacks to more than {most:,.0f} bytes, far more than rows do; if that is right, give a "
                "larger most_expansion"
            )
        yield Chunk(data, lambda first=lines: first, lines == 1)  # type: ignore[misc]
        lines += data.count(b"\n")


def chunks_of_lines(stream: BinaryIO, count: int, place: str) -> Iterator[Chunk]:
    """So many lines at a time, fewer where they are long, as they come: for streams that do not end."""
    first, endless = 1, iter(lambda: rest_of_line(stream, place), b"")
    while lines := list(_within(BLOCK_BYTES, itertools.islice(endless, count))):
        yield Chunk(b"".join(lines), lambda first=first: first, first == 1)  # type: ignore[misc]
        first += len(lines)


def _within(size: int, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines until they have so many bytes together."""
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
            rest_of_line(file, path)  # that line began before
        begin = file.tell()
        data = file.read(start + size - begin) if begin < start + size else b""
        if data and not data.endswith(b"\n"):
            data += rest_of_line(file, path)
    return Chunk(data, lambda: _line_at(path, begin), begin == 0)


def rest_of_line(stream: BinaryIO, place: str) -> bytes:
    rest = stream.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
        raise SourceError(f"{place} has a line of more than {LONGEST_LINE // 2**20} MiB: {rest[:40]!r}...")
    return rest


def _line_at(path: str, position: int) -> int:
    """The number of the line that begins at a position."""
    lines = 1
    with open(path, "rb") as file:
        while position > 0 and (data := file.read(min(position, BLOCK_BYTES))):
            lines += data.count(b"\n")
            position -= len(data)
    return lines


class TextSource(Source):
    """Text files: a plain one is cut into parts by its bytes, a compressed one is one part that is read in order."""

    def __init__(
        self,
        paths: list[str],
        block_bytes: int | None = None,
        most_expansion: float = MOST_EXPANSION,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        if not most_expansion > 0:
            raise ValueError(f"most_expansion must be > 0, got {most_expansion}")
        self.most_expansion = most_expansion
        self.paths, self.block_bytes = paths, block_bytes or BLOCK_BYTES
        if self.block_bytes < 1:
            raise ValueError(f"block_bytes must be at least 1, got {block_bytes}")
        self.parts: list[tuple[str, int]] = []  # a file, and the byte where a part begins; -1: compressed
        for path in paths:
            if opener(path) is None:
                self.parts += [(path, start) for start in range(0, os.path.getsize(path), self.block_bytes)]
            else:
                self.parts.append((path, -1))

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return self.paths[0] if len(self.paths) == 1 else f"{self.paths[0]} and {len(self.paths) - 1} more files"

    @abstractmethod
    def _parse(self, data: bytes, path: str) -> tuple[Any, Any, Any]:
        """X, y and weights of some lines; raises one of BAD_LINES where that cannot be."""

    def _read(self, part: int, faults: Faults) -> Iterator[Piece]:
        path, start = self.parts[part]
        if start >= 0:
            yield from self.parsed([chunk_at(path, start, self.block_bytes)], path, faults)
            return
        with opened(path) as stream:
            most = most_unpacked(os.path.getsize(path), self.most_expansion)
            yield from self.parsed(chunks(stream, self.block_bytes, path, faults, most), path, faults)

    def parsed(self, lines: Any, place: str, faults: Faults) -> Iterator[Piece]:
        """Chunks of lines made blocks of rows."""
        for chunk in lines:
            data = self._body(chunk)
            try:
                X, y, weight = self._parse(data, place)
            except BAD_LINES:
                X, y, weight = self._parse_good(data, chunk, place, faults)
            if X.shape[0] or faults.gaps:
                yield faults.marked(Piece(X, y, weight, place))

    def _body(self, chunk: Chunk) -> bytes:
        """What is to be parsed; a header is not, but keeps its line."""
        return chunk.data

    def _parse_good(self, data: bytes, chunk: Chunk, place: str, faults: Faults) -> tuple[Any, Any, Any]:
        """The rows of the lines that can be read; the others are faults."""
        lines = io.BytesIO(data).readlines()  # those who parse know no other line end than \n
        bad = self._bad_lines(lines, place, 0, faults.stop)
        for number, error in bad.items():
            text = lines[number].decode("utf-8", "replace").strip()
            said = f"{place}, line {chunk.line() + number}: {error}: {text[:80]!r}"
            faults.found(said, getattr(error, "remedy", None))
        if faults.mark:
            runs = (lines[last + 1 : number] for last, number in itertools.pairwise([-1, *bad]))
            faults.gaps = list(itertools.accumulate(self._parse(b"".join(run), place)[0].shape[0] for run in runs))
        try:
            return self._parse(b"".join(line for number, line in enumerate(lines) if number not in bad), place)
        except BAD_LINES as error:  # each line by itself is right: a quotation that spans some, perhaps
            first = chunk.line()
            raise SourceError(f"{place}, lines {first} to {first + len(lines) - 1}: {error}") from None

    def _bad_lines(self, lines: list[bytes], path: str, first: int, only_one: bool) -> dict[int, Exception]:
        """Numbers of the lines that cannot be parsed and why, by halving."""
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
