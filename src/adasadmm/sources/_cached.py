"""A source whose rows are kept in a binary file, so that text is parsed once."""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from collections.abc import Generator, Iterator
from typing import Any

from .._core.files import written_whole
from ..rows import matrices
from ._base import Source
from ._faults import Faults, RawBlock, SourceChanged, SourceWarning
from ._observers import Head
from ._states import state_of
from ._store import CacheFault, Store, Writer
from ._summary import Scanned, Summary

__all__ = ["CachedSource", "cached"]

SAMPLES, SAMPLE_BYTES = 64, 4096  # pieces of each file that its digest includes


def cached(source: Source, path: str | os.PathLike[str]) -> Source:
    """Keep the rows of a source in a binary file, from which later passes and later runs read them.

    The first pass over the rows, which counts them, also writes the file. From then on blocks are mapped into memory:
    no parsing, no copy. The blocks, their order and all results are those of the source itself.

    Parameters
    ----------
    source : Source
        Rows from files. Sources of other kinds (arrays, iterators, your own classes) can be cached as well, but nothing
        shows whether they are the same as in an earlier run: for these the file is written again in each run.
    path : path
        The file. It is written again if the files of the source have changed (size, time of the last change, or a
        digest of 64 samples of each), if a setting of the source that matters has changed, or if the file is cut off or
        damaged (a checksum for each block, compared once in each process). It appears under its name only when it is
        complete.

    Returns
    -------
    Source

    Notes
    -----
    A dense row takes 8 bytes for each feature, a sparse row 12 bytes for each entry. Compressed text is smaller.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from adasadmm import sources
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "train.svm").write_text("1 1:0.5 3:2\\n-1 2:1\\n")
    >>> source = sources.cached(sources.svmlight(folder / "train.svm"), folder / "train.cache")
    >>> source.shape
    (2, 3)
    >>> sorted(path.name for path in folder.iterdir())
    ['train.cache', 'train.svm']
    """
    if not isinstance(source, Source):
        raise TypeError(f"source must be a Source, such as sources.open(path), got {type(source).__name__}")
    if source.on_workers:
        raise ValueError("a source on the workers of a cluster is in their memory already: cache it before spread")
    return CachedSource(source, os.fspath(path))


class CachedSource(Source):
    """The rows of another source, read from a cache."""

    def __init__(self, inner: Source, path: str) -> None:
        super().__init__(inner.n_features, inner.on_bad_row, inner.prefetch)
        if os.path.isdir(path):
            raise IsADirectoryError(21, "the cache must be a file, this is a folder", path)
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder):
            raise FileNotFoundError(2, "the folder of the cache does not exist: create it", folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "the folder of the cache cannot be written to: choose another one", folder)
        self.inner, self.path = inner, os.path.abspath(path)
        self.feature_names, self.has_offset = inner.feature_names, inner.has_offset
        self._store: Store | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_store", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _store=None, _lock=threading.RLock())

    def __len__(self) -> int:
        return len(self.inner)

    def __repr__(self) -> str:
        return repr(self.inner)

    def origin(self) -> tuple[list[str], tuple] | None:
        return self.inner.origin()

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        store = self._opened()
        for number in store.partitions[partition]:
            try:
                block = store.block(number)
            except CacheFault as fault:
                store = self._written_again(store, str(fault))
                block = store.block(number)
            yield block

    # --- opening and writing -----------------------------------------------------------------------------------------

    def _count(self) -> Summary:
        """The totals that the cache holds; if there is none, those of the scan that writes it."""
        store = self._opened()
        if self._observers:  # observers receive the rows of this run, also if they come from the cache
            head = Head()
            for partition in range(len(self)):
                for block in self.read_rows(partition, Faults(self.on_bad_row)):
                    for observer in (head, *self._observers):
                        observer.add(block, partition)
            self._head = head.blocks
        self.n_features = store.summary.features
        return store.summary

    def _opened(self) -> Store:
        with self._lock:
            if self._store is None:
                key = key_of(self.inner)
                try:
                    if key is None:
                        raise CacheFault("its rows are not from files")
                    self._store = self._found(key)
                    self._warn_of_skipped(self._store.summary)
                except CacheFault:
                    self._store = self._write()
            return self._store

    def _found(self, key: str) -> Store:
        """The cache on disk, if its rows are divided as those of the source."""
        store = Store(self.path, key)
        if len(store.partitions) != len(self.inner) or self.n_features not in (None, store.summary.features):
            raise CacheFault("its index is damaged: it has other partitions or features than the source")
        return store

    def _written_again(self, old: Store, fault: str) -> Store:
        """A new cache in place of a damaged one; the blocks have the same numbers."""
        with self._lock:
            if self._store is old:
                warnings.warn(f"the cache {self.path} is damaged ({fault}) and is written again", SourceWarning, 3)
                self.n_features = self.inner.n_features  # the old index may be wrong as well
                self._store = self._write()
            assert self._store is not None
            if self._store.summary != old.summary:
                raise SourceChanged(f"{self!r} was changed while it was read")
            return self._store

    def _write(self) -> Store:
        """Read the source once: count its rows, and write them."""
        key = key_of(self.inner)
        with written_whole(self.path) as file:
            self._writer = Writer(file)
            try:
                summary = super()._count()
                if key_of(self.inner) != key:
                    raise SourceChanged(f"{self!r} was changed while its cache was written")
                # Rows that are not from files have a key that no other run can have.
                key = key if key is not None else hashlib.sha256(os.urandom(32)).hexdigest()
                self._writer.finish(key, summary)
            finally:
                del self._writer
        return Store(self.path, key)

    def _scan(self, faults: Faults) -> Generator[Scanned, None, None]:
        head = Head()
        for partition in range(len(self.inner)):
            self._writer.start_partition()
            for block in self.inner.read_rows(partition, faults):
                if block.X.shape[0]:
                    self._writer.add(block)
                head.add(block)
                yield (*block.X.shape, matrices.size(block.X), block.y, block.weight)
        self._head = head.blocks

    def _warn_of_skipped(self, summary: Summary) -> None:
        if summary.skipped:
            first = "; ".join(summary.faults[:3])
            warnings.warn(f"{self!r}: {summary.skipped} bad rows skipped: {first}", SourceWarning, stacklevel=5)


def key_of(source: Source) -> str | None:
    """A digest of all that the rows depend on: files and settings. None if the rows are not from files."""
    found = source.origin()
    if found is None:
        return None
    paths, settings = found
    digest = hashlib.sha256(repr((source.on_bad_row, settings)).encode())
    for path in paths:
        size, _ = state = state_of(path)
        digest.update(repr((os.path.abspath(path), *state)).encode())
        with open(path, "rb") as file:
            for k in range(SAMPLES):
                file.seek(max(0, size - SAMPLE_BYTES) * k // max(1, SAMPLES - 1))
                digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()
