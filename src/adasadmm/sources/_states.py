"""Whether files stay as they are while their rows are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TypeVar

from ._faults import SourceChanged, SourceError

__all__ = ["FileStates", "state_of"]

Item = TypeVar("Item")


def state_of(path: str) -> tuple[int, int]:
    """The size of a file and the time of its last change."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


class FileStates:
    """The states of files as they were when a source was opened.

    They are not pickled: the copy of a file on another machine has another time. There, the first read finds them.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._known = {path: state_of(path) for path in paths}

    def __reduce__(self) -> tuple[type[FileStates], tuple[()]]:
        return FileStates, ()

    def watched(self, path: str, items: Iterable[Item]) -> Iterator[Item]:
        """Items that are read from a file; after the last one, the file must be as it was."""
        self._known.setdefault(path, state_of(path))
        try:
            yield from items
        except SourceError:
            self._check(path)  # a row in which the file was cut off is not the fault to report
            raise
        self._check(path)

    def _check(self, path: str) -> None:
        (had, _), (now, _) = known, found = self._known[path], state_of(path)
        if known != found:
            what = "its content is another" if had == now else f"it had {had:,} bytes, now {now:,}"
            raise SourceChanged(
                f"{path} was changed after it was opened: {what}; keep files as they are while they are read"
            )
