"""What a source is: rows in parts that can be read by themselves, scanned once, visited in any order of the parts."""

from __future__ import annotations

import contextlib
import copy
import functools
import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.threads import ahead
from ..linalg import matrices
from ..linalg.matrices import WithIntercept

__all__ = [
    "BadRow",
    "Faults",
    "Gapped",
    "Lanes",
    "Memory",
    "OnOne",
    "Piece",
    "Source",
    "SourceError",
    "SourceWarning",
    "Summary",
    "Tally",
    "Through",
]

MOST_LABELS = 1000  # distinct targets beyond this are numbers, not classes
TOLD_FAULTS = 10

Work = tuple[Sequence[int], tuple]  # parts, and what a function of their blocks is told


class SourceError(ValueError):
    """Rows cannot be read; the message names the file, the line or row group, and the value."""


class BadRow(SourceError):
    """A row cannot be read; ``on_bad_row="skip"`` would leave it out, and the setting ``remedy`` may help more."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy


class SourceWarning(UserWarning):
    """Rows were skipped."""


class Piece(NamedTuple):
    """A block of rows as it was read, its targets and weights (None where there are none), and its place in words."""

    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None
    place: str


class Gapped(Piece):
    """A block that lacks bad rows, where these are marked; a gap is the number of good rows before a bad one."""

    gaps: Sequence[int] = ()


class Summary(NamedTuple):
    """What a scan of a source found. ``labels`` has rows and weight of each, or is None where they are too many."""

    rows: int
    features: int
    entries: int
    weight: float
    labels: dict[Any, tuple[int, float]] | None
    skipped: int
    faults: tuple[str, ...]


class Lanes(NamedTuple):
    """Blocks on workers: how many lanes work side by side, rounds of an epoch, and the rows of each part."""

    number: int
    rounds: int
    part_rows: tuple[int, ...]


class Faults:
    """What to do with rows that cannot be read: stop at the first, or skip and count them.

    "mark" is for predictions, one for each row: skip, and remember where; a block may then have gaps and no rows.
    """

    def __init__(self, on_bad_row: str) -> None:
        if on_bad_row not in ("stop", "skip", "mark"):
            raise ValueError(f"on_bad_row must be 'stop' or 'skip', got {on_bad_row!r}")
        self.stop, self.mark, self.count = on_bad_row == "stop", on_bad_row == "mark", 0
        self.told: list[str] = []
        self.gaps: list[int] = []  # of the block that is read

    def found(self, message: str, remedy: str | None = None) -> None:
        if self.stop:
            raise BadRow(message, remedy)
        self.count += 1
        if len(self.told) < TOLD_FAULTS:
            self.told.append(message)

    def marked(self, piece: Piece) -> Piece:
        """A block with its gaps; the next one begins without."""
        if not self.gaps:
            return piece
        piece = Gapped(*piece)
        piece.gaps, self.gaps = self.gaps, []
        return piece


class Source(ABC):
    """Rows in parts, each of which is one block or several that follow each other.

    A source is a description, not the rows: it can be pickled, and any part of it read anywhere by its number.
    """

    lanes: Lanes | None = None  # how the blocks are spread over the workers of a cluster; None: they are read here

    def __init__(self, n_features: int | None = None, on_bad_row: str = "stop", prefetch: bool = True) -> None:
        Faults(on_bad_row)
        if n_features is not None and not (isinstance(n_features, (int, np.integer)) and n_features >= 1):
            raise ValueError(f"n_features must be a whole number >= 1, got {n_features!r}")
        self.n_features = None if n_features is None else int(n_features)
        self.on_bad_row, self.prefetch = on_bad_row, prefetch
        self.feature_names: list[str] | None = None

    @abstractmethod
    def __len__(self) -> int:
        """The number of parts."""

    @abstractmethod
    def _read(self, part: int, faults: Faults) -> Iterator[Piece]:
        """The blocks of a part, whose X has passed `as_rows`."""

    @abstractmethod
    def __repr__(self) -> str: ...

    # --- the rows ----------------------------------------------------------------------------------------------------

    def read(self, part: int) -> Iterator[Piece]:
        """The blocks of one part, in order."""
        if self.n_features is None:
            self.summary  # blocks are as wide as the widest
        return self._read(part, Faults(self.on_bad_row))

    def pieces(self, parts: Iterable[int] | None = None) -> Generator[Piece, None, None]:
        """The blocks of some parts, by default of all; the next one is read while this one is used."""
        chosen = range(len(self)) if parts is None else parts
        if self.n_features is None:
            self.summary
        blocks = (piece for part in chosen for piece in self.read(part))
        return ahead(blocks) if self.prefetch else blocks

    def blocks(self) -> Iterator[tuple[Any, Any]]:
        """The rows of each block, in order, as NumPy or SciPy know them, and their targets."""
        return ((matrices.plain(piece.X), piece.y) for piece in self.pieces())

    def each(
        self, function: Any, *common: Any, memory: Memory | None = None, parts: Iterable[int] | None = None
    ) -> Generator[Any, None, None]:
        """``function(piece, remembered, *common)`` for each block, in order, where the block is.

        ``remembered`` is a dict that stays with the block, if a memory is given; a worker that ends takes it along.
        """
        chosen = range(len(self)) if parts is None else parts
        if self.lanes is not None:
            yield from self.at(OnOne(function), [([part], common) for part in chosen], memory)
            return
        with contextlib.closing(self.pieces(chosen)) as pieces:
            for k, piece in enumerate(pieces):
                yield function(piece, {} if memory is None else memory.of(k), *common)

    def at(
        self, function: Any, work: Sequence[Work], memory: Memory | None = None, shared: Any = None
    ) -> Iterator[Any]:
        """``function(pieces, remembered, *common)`` for each ``(parts, common)`` of the work, side by side, in order.

        Only where the blocks are spread. ``shared`` is what `share` gave, and comes before the common arguments.
        """
        raise NotImplementedError(f"the blocks of {self!r} are not spread over workers")

    def share(self, value: Any) -> Any:
        """Something that all calls need, sent once."""
        raise NotImplementedError(f"the blocks of {self!r} are not spread over workers")

    # --- what is known of them ---------------------------------------------------------------------------------------

    @functools.cached_property
    def summary(self) -> Summary:
        """Rows, features and labels, found in a first scan."""
        faults, tally = Faults(self.on_bad_row), Tally()
        scanned = self._scan(faults)
        for found in ahead(scanned) if self.prefetch else scanned:
            tally.add(*found)
        if tally.rows == 0:
            skipped = f": all {faults.count} were skipped, the first was {faults.told[0]}" if faults.count else ""
            raise SourceError(f"{self!r} has no rows{skipped}")
        if faults.count:
            told = "; ".join(faults.told[:3])
            warnings.warn(f"{self!r}: {faults.count} bad rows skipped: {told}", SourceWarning, stacklevel=3)
        self.n_features = self.n_features or tally.features
        found = tally.rows, self.n_features, tally.entries, tally.weight, tally.labels
        return Summary(*found, faults.count, tuple(faults.told))

    def _scan(self, faults: Faults) -> Generator[tuple[int, int, int, Any, Any], None, None]:
        """Rows, features, entries, targets and weights of block after block."""
        for part in range(len(self)):
            for piece in self._read(part, faults):
                yield (*piece.X.shape, matrices.size(piece.X), piece.y, piece.weight)

    def size_of(self, part: int) -> str:
        """How large a part is, in words, as far as that is known before it is read."""
        rows, size = getattr(self, "block_rows", None), getattr(self, "block_bytes", None)
        return f"{rows:,} rows" if rows else f"{size:,} bytes of text" if size else "of unknown size"

    @property
    def shape(self) -> tuple[int, int]:
        return self.summary.rows, self.summary.features

    # --- the same rows, seen otherwise -------------------------------------------------------------------------------

    def view(self, targets: Any = None, weights: Any = None, intercept: bool = False) -> Source:
        """The same rows with other targets, weights that depend on the targets, or a 1 behind each row."""
        return View(self, targets, weights, intercept)


class Memory:
    """What is remembered with each block from one call of `Source.each` to the next; on workers under a name."""

    def __init__(self) -> None:
        self.name, self.here = uuid.uuid4().hex, []  # type: ignore[var-annotated]

    def of(self, block: int) -> dict[str, Any]:
        """What is remembered here with a block, by its number."""
        while len(self.here) <= block:
            self.here.append({})
        return self.here[block]

    def copied(self) -> Memory:
        """What is here, under another name."""
        other = Memory()
        other.here = copy.deepcopy(self.here)
        return other


class OnOne(NamedTuple):
    """A function of one block, for a piece of work that has one."""

    function: Any

    def __call__(self, pieces: list[Any], remembered: list[dict], *common: Any) -> Any:
        return self.function(pieces[0], remembered[0], *common)


class Through(NamedTuple):
    """A function of blocks that are changed before."""

    change: Any
    function: Any

    def __call__(self, pieces: list[Any], *rest: Any) -> Any:
        return self.function([self.change(piece) for piece in pieces], *rest)


class Change(NamedTuple):
    """What a view makes of a block."""

    targets: Any
    weights: Any
    intercept: bool

    def __call__(self, piece: Piece) -> Piece:
        X, y, weight, place = piece
        if self.weights is not None:
            factor = self.weights(y)
            weight = factor if weight is None else weight * factor
        if self.targets is not None:
            y = self.targets(y)
        return Piece(WithIntercept(X) if self.intercept else X, y, weight, place)


class View(Source):
    """A source whose blocks are changed as they are read."""

    def __init__(self, inner: Source, targets: Any, weights: Any, intercept: bool) -> None:
        super().__init__(None, inner.on_bad_row, inner.prefetch)
        self.inner, self.change, self.lanes = inner, Change(targets, weights, intercept), inner.lanes
        self.feature_names = inner.feature_names

    def __len__(self) -> int:
        return len(self.inner)

    def __repr__(self) -> str:
        return repr(self.inner)

    def _read(self, part: int, faults: Faults) -> Iterator[Piece]:
        return (self.change(piece) for piece in self.inner._read(part, faults))

    def at(
        self, function: Any, work: Sequence[Work], memory: Memory | None = None, shared: Any = None
    ) -> Iterator[Any]:
        return self.inner.at(Through(self.change, function), work, memory, shared)

    def share(self, value: Any) -> Any:
        return self.inner.share(value)

    @functools.cached_property
    def summary(self) -> Summary:
        """From that of the source itself: no second scan."""
        found = self.inner.summary
        targets, weights, intercept = self.change
        self.n_features = found.features + intercept
        labels, weight = found.labels, found.weight
        if labels is not None:
            before = np.array(list(labels))
            factor = np.ones(len(before)) if weights is None else weights(before)
            after = before if targets is None else targets(before)
            made: dict[Any, tuple[int, float]] = {}
            for label, times, (rows, share) in zip(after.tolist(), factor, labels.values(), strict=True):
                had = made.get(label, (0, 0.0))
                made[label] = had[0] + rows, had[1] + times * share
            labels, weight = made, sum(share for _, share in made.values())
        return found._replace(features=self.n_features, labels=labels, weight=weight)


class Tally:
    """Sums over the blocks of a scan."""

    def __init__(self) -> None:
        self.rows, self.features, self.entries, self.weight = 0, 0, 0, 0.0
        self.labels: dict[Any, tuple[int, float]] | None = {}

    def add(self, rows: int, features: int, entries: int, y: Any, weight: Any) -> None:
        self.rows += rows
        self.features = max(self.features, features)
        self.entries += entries
        self.weight += float(rows if weight is None else weight.sum())
        if self.labels is None or y is None:
            return
        values, places, counts = np.unique(y, return_inverse=True, return_counts=True)
        shares = counts if weight is None else np.bincount(places, weight, len(values))
        self._add_labels(zip(values.tolist(), counts, shares, strict=True))

    def _add_labels(self, found: Iterable[tuple[Any, int, float]]) -> None:
        assert self.labels is not None
        for value, count, share in found:
            had = self.labels.get(value, (0, 0.0))
            self.labels[value] = had[0] + int(count), had[1] + float(share)
        if len(self.labels) > MOST_LABELS:
            self.labels = None

    def join(self, other: Tally) -> None:
        """Add what was counted elsewhere."""
        self.rows += other.rows
        self.features = max(self.features, other.features)
        self.entries += other.entries
        self.weight += other.weight
        if self.labels is None or other.labels is None:
            self.labels = None
        else:
            self._add_labels((value, *had) for value, had in other.labels.items())
