"""The interface of all sources: rows in partitions, each of which can be read on its own."""

from __future__ import annotations

import contextlib
import functools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, NamedTuple, Protocol, TypedDict, TypeVar

import numpy as np

from .._core.threads import ahead
from ..rows import matrices, selections
from ..rows.matrices import WithIntercept
from ._calls import Memory, OnConvertedBlocks, OnSingleBlock, Remembered, Work
from ._faults import Faults, RawBlock, SourceError, SourceWarning
from ._observers import FIRST_ROWS, Head, Observer, first_rows
from ._summary import Labels, Scanned, Summary, Tally

__all__ = ["ConvertedSource", "Lanes", "Settings", "Source", "View", "ViewConverter"]

Found = TypeVar("Found")
NOT_ON_WORKERS = "the blocks of {!r} are not on the workers of a cluster: call adasadmm.distributed.spread first"


class OfTargets(Protocol):
    """A function of the targets of a block: new targets, or a factor for the weight of each row."""

    def __call__(self, y: np.ndarray, /) -> np.ndarray: ...


class Settings(TypedDict, total=False):
    """The settings that all sources share; see `Source`."""

    on_bad_row: str
    prefetch: bool


class Lanes(NamedTuple):
    """The schedule of blocks on workers: lanes, rounds of an epoch, and the rows of each partition."""

    number: int
    rounds: int
    partition_rows: tuple[int, ...]


class Source(ABC):
    """Rows in numbered partitions, each read as one block or several.

    A source describes where the rows are; it does not hold them. It can be pickled, and each partition can be read in
    any process and in any order.

    To support another file format, derive a class and define ``__len__`` (the number of partitions), ``__repr__`` (the
    name of the source in messages) and ``read_rows``. The class then works in `Problem`, in the estimators' ``fit`` and
    in `distributed.spread`.

    Parameters
    ----------
    n_features : int, optional
        The number of features; by default it is found by a first scan.
    on_bad_row : {"stop", "skip"}, default="stop"
        "stop" raises a `SourceError` at the first row that cannot be read; "skip" leaves such rows out, counts them in
        ``summary.skipped`` and warns.
    prefetch : bool, default=True
        Whether a thread reads the next block while the current one is in use.

    Attributes
    ----------
    feature_names : list of str or None
        The names of the columns, if the rows have names.
    lanes : Lanes or None
        How the blocks are distributed over the workers of a cluster; None if they are read in this process.
    has_offset : bool
        Whether its blocks have an offset.

    Examples
    --------
    A format of your own: each text file is a partition, each line a target followed by the features.

    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from adasadmm import sources
    >>> class TextFiles(sources.Source):
    ...     def __init__(self, paths, **settings):
    ...         super().__init__(**settings)
    ...         self.paths = [str(path) for path in paths]
    ...
    ...     def __len__(self):
    ...         return len(self.paths)
    ...
    ...     def __repr__(self):
    ...         return f"{len(self.paths)} text files"
    ...
    ...     def read_rows(self, partition, faults):
    ...         table = np.loadtxt(self.paths[partition], ndmin=2)
    ...         name = pathlib.Path(self.paths[partition]).name
    ...         block = sources.RawBlock(table[:, 1:], table[:, 0], None, name)
    ...         yield sources.check_block(block, self.n_features, faults)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("1 0.5 2\\n-1 0 1\\n")
    >>> _ = (folder / "b.txt").write_text("1 3 4\\n")
    >>> source = TextFiles(sorted(folder.glob("*.txt")))
    >>> len(source), source.shape
    (2, (3, 2))

    `check_block` finds rows that are not finite numbers.

    >>> _ = (folder / "b.txt").write_text("1 3 nan\\n")
    >>> TextFiles(sorted(folder.glob("*.txt"))).shape
    Traceback (most recent call last):
    adasadmm.sources._faults.BadRow: b.txt, row 1: the value of feature 1 is nan
    """

    lanes: Lanes | None = None
    has_offset: bool = False
    _observers: tuple[Observer, ...] = ()
    _head: list[RawBlock] | None = None

    def __init__(self, n_features: int | None = None, on_bad_row: str = "stop", prefetch: bool = True) -> None:
        Faults(on_bad_row)
        if n_features is not None and not (isinstance(n_features, (int, np.integer)) and n_features >= 1):
            raise ValueError(f"n_features must be a whole number >= 1, got {n_features!r}")
        self.n_features = None if n_features is None else int(n_features)
        self.on_bad_row, self.prefetch = on_bad_row, prefetch
        self.feature_names: list[str] | None = None

    @abstractmethod
    def __len__(self) -> int:
        """The number of partitions."""

    @abstractmethod
    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        """Yield the blocks of a partition in order, each of them passed through `check_block`.

        ``faults`` receives a message for each row that cannot be read, by its method ``report``.
        """

    @abstractmethod
    def __repr__(self) -> str: ...

    def origin(self) -> tuple[list[str], tuple] | None:
        """The files of the rows and the settings on which the rows depend, for `cached`; None if there are no files."""
        return None

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, partition: int) -> Iterator[RawBlock]:
        """The blocks of one partition, in order."""
        self._find_n_features()
        return self.read_rows(partition, Faults(self.on_bad_row))

    def raw_blocks(self, partitions: Iterable[int] | None = None) -> Generator[RawBlock, None, None]:
        """The blocks of some partitions, by default of all; a thread reads ahead if ``prefetch`` is True."""
        chosen = range(len(self)) if partitions is None else partitions
        self._find_n_features()
        blocks = (block for partition in chosen for block in self.read(partition))
        return ahead(blocks) if self.prefetch else blocks

    def blocks(self) -> Iterator[tuple[Any, np.ndarray | None]]:
        """The rows of each block as a NumPy array or SciPy matrix, and their targets, in order."""
        return ((matrices.plain(block.X), block.y) for block in self.raw_blocks())

    def each(
        self,
        function: Callable[Concatenate[RawBlock, Remembered, ...], Found],
        *common: object,
        memory: Memory | None = None,
        partitions: Iterable[int] | None = None,
    ) -> Generator[Found, None, None]:
        """Call ``function(block, remembered, *common)`` for each block, where the block is; results come in order.

        ``remembered`` is a dict that stays with the block if a memory is given. It is lost if its worker ends.
        """
        chosen = range(len(self)) if partitions is None else partitions
        if self.on_workers:
            work = [([partition], common) for partition in chosen]
            yield from self.map_partitions(OnSingleBlock(function), work, memory)
            return
        with contextlib.closing(self.raw_blocks(chosen)) as blocks:
            for k, block in enumerate(blocks):
                yield function(block, {} if memory is None else memory.of(k), *common)

    def _find_n_features(self) -> None:
        """Scan the rows if the number of features is not known: all blocks must be as wide as the widest."""
        if self.n_features is None:
            self.summary

    # --- blocks on workers -------------------------------------------------------------------------------------------

    @property
    def on_workers(self) -> bool:
        """Whether the blocks are in the memory of the workers of a cluster."""
        return self.lanes is not None

    def map_partitions(
        self, function: Callable[..., Found], work: Sequence[Work], memory: Memory | None = None, shared: object = None
    ) -> Iterator[Found]:
        """Call ``function(blocks, remembered, *common)`` for each ``(partitions, common)`` of the work, in parallel.

        Only for blocks on workers. ``shared``, a result of `share`, is passed before the common arguments.
        """
        raise NotImplementedError(NOT_ON_WORKERS.format(self))

    def share(self, value: object) -> object:
        """A handle for a value that many calls need, so that it is sent to the workers only once."""
        raise NotImplementedError(NOT_ON_WORKERS.format(self))

    # --- totals ------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def summary(self) -> Summary:
        """The numbers of rows, features and entries, and the labels, found by a first scan."""
        for observer in self._observers:
            observer.start()
        found = self._count()
        self._observers = ()  # a source that is kept or pickled holds nothing of what they have seen
        return found

    def _count(self) -> Summary:
        faults, tally = Faults(self.on_bad_row), Tally()
        scanned = self._scan(faults)
        for found in ahead(scanned) if self.prefetch else scanned:
            tally.add(*found)
        if tally.rows == 0:
            skipped = f": all {faults.count} were skipped, the first was {faults.messages[0]}" if faults.count else ""
            raise SourceError(f"{self!r} has no rows{skipped}")
        if faults.count:
            first = "; ".join(faults.messages[:3])
            warnings.warn(f"{self!r}: {faults.count} bad rows skipped: {first}", SourceWarning, stacklevel=4)
        self.n_features = self.n_features or tally.features
        totals = tally.rows, self.n_features, tally.entries, tally.weight, tally.labels
        return Summary(*totals, faults.count, tuple(faults.messages))

    def _scan(self, faults: Faults) -> Generator[Scanned, None, None]:
        """The counts, targets and weights of each block; observers of the scan receive the blocks as well."""
        head = Head()
        for partition in range(len(self)):
            for block in self.read_rows(partition, faults):
                for observer in (head, *self._observers):
                    observer.add(block, partition)
                yield (*block.X.shape, matrices.size(block.X), block.y, block.weight)
        self._head = head.blocks

    def observe(self, observer: Observer) -> bool:
        """Show the blocks of the first scan to an observer as well; False if the scan is over.

        The source forgets its observers after the scan: whoever needs one keeps it.
        """
        if "summary" in vars(self) or self.on_workers:
            return False
        self._observers = (*self._observers, observer)
        return True

    def head(self) -> list[RawBlock]:
        """The first `FIRST_ROWS` rows, in blocks: those that the scan has kept, or read again."""
        d = self.shape[1]
        if self._head is not None:
            return [block._replace(X=selections.widened(block.X, d)) for block in self._head]
        head = Head()
        for partition in range(len(self)):
            with contextlib.closing(self.each(first_rows, FIRST_ROWS, partitions=[partition])) as blocks:
                while head.missing > 0 and (block := next(blocks, None)) is not None:
                    head.add(block)
            if head.missing <= 0:
                break
        return head.blocks

    def describe_size(self, partition: int) -> str:
        """The size of a partition in words, as far as it is known before reading."""
        rows, size = getattr(self, "block_rows", None), getattr(self, "block_bytes", None)
        return f"{rows:,} rows" if rows else f"{size:,} bytes of text" if size else "of unknown size"

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of features."""
        return self.summary.rows, self.summary.features

    # --- views -------------------------------------------------------------------------------------------------------

    def view(
        self, targets: OfTargets | None = None, weights: OfTargets | None = None, intercept: bool = False
    ) -> Source:
        """The same rows with other targets, weights that depend on the targets, or a last column of ones."""
        return View(self, targets, weights, intercept)


@dataclass(frozen=True)
class ViewConverter:
    """The change that a view makes to each block."""

    targets: OfTargets | None
    weights: OfTargets | None
    intercept: bool

    def __call__(self, block: RawBlock) -> RawBlock:
        y, weight = block.y, block.weight
        if y is None and (self.weights or self.targets):
            raise SourceError(f"{block.place} has no targets")
        if self.weights is not None:
            factor = self.weights(y)  # type: ignore[arg-type]
            weight = factor if weight is None else weight * factor
        if self.targets is not None:
            y = self.targets(y)  # type: ignore[arg-type]
        return block._replace(X=WithIntercept(block.X) if self.intercept else block.X, y=y, weight=weight)


class ConvertedSource(Source):
    """A source whose blocks are changed as they are read; ``convert`` changes one, here or on a worker."""

    convert: Callable[[RawBlock], RawBlock]

    def __init__(self, inner: Source) -> None:
        super().__init__(None, inner.on_bad_row, inner.prefetch)
        self.inner, self.lanes = inner, inner.lanes
        self.feature_names, self.has_offset = inner.feature_names, inner.has_offset

    def __len__(self) -> int:
        return len(self.inner)

    def __repr__(self) -> str:
        return repr(self.inner)

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        return (self.convert(block) for block in self.inner.read_rows(partition, faults))

    def observe(self, observer: Observer) -> bool:
        return False  # the blocks of the inner scan are not yet converted

    def head(self) -> list[RawBlock]:
        return [self.convert(block) for block in self.inner.head()]

    def map_partitions(
        self, function: Callable[..., Found], work: Sequence[Work], memory: Memory | None = None, shared: object = None
    ) -> Iterator[Found]:
        return self.inner.map_partitions(OnConvertedBlocks(self.convert, function), work, memory, shared)

    def share(self, value: object) -> object:
        return self.inner.share(value)


class View(ConvertedSource):
    """A source with other targets, weights that depend on the targets, or a last column of ones."""

    convert: ViewConverter

    def __init__(self, inner: Source, targets: OfTargets | None, weights: OfTargets | None, intercept: bool) -> None:
        super().__init__(inner)
        self.convert = ViewConverter(targets, weights, intercept)

    @functools.cached_property
    def summary(self) -> Summary:
        """Computed from the summary of the inner source, without a second scan."""
        found = self.inner.summary
        targets, weights = self.convert.targets, self.convert.weights
        self.n_features = found.features + self.convert.intercept
        labels, weight = found.labels, found.weight
        if labels is not None:
            before = np.array(list(labels))
            factors = np.ones(len(before)) if weights is None else weights(before)
            after = before if targets is None else targets(before)
            converted: Labels = {}
            for label, factor, (rows, total) in zip(after.tolist(), factors, labels.values(), strict=True):
                known = converted.get(label, (0, 0.0))
                converted[label] = known[0] + rows, known[1] + factor * total
            labels, weight = converted, sum(total for _, total in converted.values())
        return found._replace(features=self.n_features, labels=labels, weight=weight)
