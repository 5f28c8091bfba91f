"""Blocks of rows as they were read, and the handling of rows that cannot be read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["MAX_MESSAGES", "BadRow", "Faults", "RawBlock", "SourceChanged", "SourceError", "SourceWarning"]

MAX_MESSAGES = 10  # the number of faults whose messages are kept; all of them are counted


class SourceError(ValueError):
    """Rows cannot be read; the message names the file, the line or row group, and the value.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from adasadmm import sources
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.csv"
    >>> _ = path.write_text("age,height,bought\\n31,tall,yes\\n")
    >>> try:
    ...     list(sources.csv(path, target="bought").blocks())
    ... except sources.SourceError as error:
    ...     print(str(error)[-59:])
    'height' holds 'tall', which is not a number: '31,tall,yes'
    """


class BadRow(SourceError):
    """A single row cannot be read.

    ``on_bad_row="skip"`` would leave the row out; ``remedy`` names the setting, if any, that solves the problem better.

    Examples
    --------
    >>> from adasadmm import sources
    >>> sources.BadRow("rows.csv, line 3: 'n/a' is no number", remedy="missing").remedy
    'missing'
    """

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy


class SourceChanged(SourceError):
    """The rows are not those that were there when the source was opened."""


class SourceWarning(UserWarning):
    """Rows were skipped.

    Examples
    --------
    >>> from adasadmm import sources
    >>> issubclass(sources.SourceWarning, UserWarning)
    True
    """


class RawBlock(NamedTuple):
    """A block of rows as a source read it, before a problem checks its targets and rescales its weights.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features. `check_block` turns them into the form that the solvers use.
    y : array of shape (n,) or None
        The targets, if the source has any.
    weight : array of shape (n,) or None
        The sample weights, if the source has any.
    place : str
        The file, row group or partition of the block, for error messages.
    gaps : tuple of int, default=()
        With ``on_bad_row="mark"``, one entry for each bad row: the number of good rows of the block before it.
    offset : array of shape (n,), default=None
        The offsets, if the source has any (``has_offset``).
    kept : tuple of arrays, default=()
        Columns that are passed on as they are, for predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import sources
    >>> block = sources.RawBlock(np.eye(2), np.array([1.0, -1.0]), None, "an example")
    >>> block.y, block.gaps
    (array([ 1., -1.]), ())
    """

    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None
    place: str
    gaps: tuple[int, ...] = ()
    offset: np.ndarray | None = None
    kept: tuple[np.ndarray, ...] = ()


class Faults:
    """Collects the rows that cannot be read, or stops at the first of them.

    Parameters
    ----------
    on_bad_row : {"stop", "skip", "mark"}
        "stop" raises a `SourceError` at the first bad row. "skip" leaves bad rows out and counts them. "mark" also
        records their positions in `RawBlock.gaps`, for predictions that need one line for each row; a block may then
        have gaps and no rows.

    Attributes
    ----------
    count : int
        The number of bad rows so far.
    messages : list of str
        The descriptions of the first ten.

    Examples
    --------
    >>> from adasadmm import sources
    >>> faults = sources.Faults("skip")
    >>> faults.report("rows.txt, line 7: the target is empty")
    >>> faults.count, faults.messages
    (1, ['rows.txt, line 7: the target is empty'])
    """

    def __init__(self, on_bad_row: str) -> None:
        if on_bad_row not in ("stop", "skip", "mark"):
            raise ValueError(f"on_bad_row must be 'stop' or 'skip', got {on_bad_row!r}")
        self.stop, self.mark, self.count = on_bad_row == "stop", on_bad_row == "mark", 0
        self.messages: list[str] = []
        self.gaps: tuple[int, ...] = ()  # of the block that is being read

    def report(self, message: str, remedy: str | None = None) -> None:
        """Raise `BadRow` if reading stops at bad rows; otherwise count the row and keep the message."""
        if self.stop:
            raise BadRow(message, remedy)
        self.count += 1
        if len(self.messages) < MAX_MESSAGES:
            self.messages.append(message)

    def with_gaps(self, block: RawBlock) -> RawBlock:
        """The block with the gaps that were found in it; the next block starts without gaps."""
        gaps, self.gaps = self.gaps, ()
        return block._replace(gaps=gaps) if gaps else block
