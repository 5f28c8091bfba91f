"""Files of the user: options that say which rows to read, the source built from them, and tables that are written."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from .._core.files import MOST_EXPANSION, check_writable, written_whole
from .command import Failed, Parser, Run, Wrong, count, refuse

if TYPE_CHECKING:
    from ..sources import Source

__all__ = [
    "OF_COLUMNS",
    "TableWriter",
    "add_reading",
    "add_scale",
    "check_file",
    "check_folder",
    "guarded",
    "open_table",
    "rows",
    "source_of",
]

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a text begins that a spreadsheet takes for a formula
REMEDIES = {
    "drop": "--drop A,B to ignore columns",
    "n_features": "--n-features N to set the number of features",
    "zero_based": "--zero-based if indices start at 0",
}
FILES = (
    "svmlight text (plain, .gz or .bz2), .csv, .parquet or .arrow: files, globs or folders, or - for svmlight lines "
    "from standard input"
)
OFFSETS = ("offset", "exposure")
NO_NAMES = "svmlight files have none; use CSV, Parquet or Arrow files"
OF_COLUMNS = {  # why an option does not apply to svmlight text
    **dict.fromkeys(("target", "offset", "exposure"), f"names a column: {NO_NAMES}"),
    **dict.fromkeys(("columns", "drop", "keep"), f"names columns: {NO_NAMES}"),
}
OF_SVMLIGHT = dict.fromkeys(("n_features", "zero_based"), "is for svmlight files: those of other formats say it")


# --- rows to read ----------------------------------------------------------------------------------------------------


def add_reading(parser: Parser, fitted: bool = False) -> None:
    """Add the options that say which rows to read; a fitted model already knows its features."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=FILES)
    group = parser.add_argument_group("rows")
    group.add_argument("--target", metavar="NAME", help="target column (default: target, label or y)")
    group.add_argument("--offset", metavar="NAME", help="column that is added to the linear predictions")
    group.add_argument("--exposure", metavar="NAME", help="column whose logarithm is the offset, for counts")
    group.add_argument("--columns", metavar="A,B", help="feature columns (default: all other columns)")
    if not fitted:
        group.add_argument("--drop", metavar="A,B", help="columns to ignore")
        cache = "keep the rows in a binary file, which later passes and runs read much faster than text"
        group.add_argument("--cache", metavar="FILE", help=cache)
        features = "svmlight: number of features (default: determined by a scan)"
        group.add_argument("--n-features", type=count, metavar="N", help=features)
    group.add_argument("--zero-based", action="store_true", help="svmlight: indices start at 0 instead of 1")
    group.add_argument(
        "--on-bad-row", choices=("stop", "skip"), default="stop", help="what to do with unreadable rows (default: stop)"
    )
    group.add_argument(
        "--most-expansion", type=float, default=MOST_EXPANSION, metavar="N",
        help=f"reject compressed files that expand more than N-fold (default: {MOST_EXPANSION})",
    )  # fmt: skip


def add_scale(group: Any) -> None:
    """Add the option that standardises the columns."""
    group.add_argument("--scale", action="store_true", help="standardise the columns first, if their units differ")


def guarded(command: Run) -> Run:
    """Turn errors in the user's files and options into one-line messages with a remedy."""

    def run(options: argparse.Namespace) -> int:
        from ..checkpoints import CheckpointError
        from ..models import ModelError
        from ..sources import BadRow
        from ..sources._faults import SourceChanged

        warnings.filterwarnings("ignore", "X does not have valid feature names")  # the source has checked them
        try:
            return command(options)
        except ValueError as error:
            if options.debug:
                raise
            if isinstance(error, BadRow):
                remedies = [REMEDIES[error.remedy]] if error.remedy and hasattr(options, error.remedy) else []
                if error.remedy == "drop" and hasattr(options, "terms"):
                    remedies.append("--terms FILE to describe columns with levels")
                remedies.append("--on-bad-row skip to skip such rows")
                raise Failed(f"{error}; use {' or '.join(remedies)}") from None
            cannot_write = isinstance(error, CheckpointError) and isinstance(error.__cause__, OSError)
            failed = cannot_write or isinstance(error, (ModelError, SourceChanged))
            raise (Failed if failed else Wrong)(str(error)) from None

    return run


def source_of(
    files: list[str],
    options: argparse.Namespace,
    features: int | None = None,
    names: Sequence[str] | None = None,
    target: str | Literal[False] | None = None,
    scan: bool = True,
) -> Source:
    """Open the files as one source, with the options that apply to their format."""
    from .. import sources
    from ..sources._paths import kind_of

    if "-" in files:
        raise Wrong("- (standard input) must be the only file, and is accepted only for the rows of fit and predict")
    settings: dict[str, Any] = {"on_bad_row": options.on_bad_row}
    kind = kind_of(files)
    if kind in ("svmlight", "csv", "tsv"):
        settings["most_expansion"] = options.most_expansion
    if kind == "svmlight":
        refuse(options, OF_COLUMNS if files is options.files else {name: OF_COLUMNS[name] for name in OFFSETS})
        settings |= {"n_features": features or options.n_features, "zero_based": options.zero_based}
    else:
        if files is options.files and not getattr(options, "valid", None):
            refuse(options, OF_SVMLIGHT)
        settings |= {name: getattr(options, name) for name in OFFSETS}
        settings |= {"columns": names or _columns(options), "target": options.target if target is None else target}
    source = sources.open(files, **settings)
    if features is not None and source.n_features != features:
        raise Wrong(f"{source!r} has {source.n_features} features, but the model has {features}")
    if files is options.files and getattr(options, "cache", None) is not None:
        check_file(Path(options.cache), "--cache")
        source = sources.cached(source, options.cache)
    if options.on_bad_row != "stop" and scan:
        source.summary  # a scan counts the rows that will be skipped, and warns
    return source


@contextlib.contextmanager
def rows(options: argparse.Namespace) -> Iterator[Source]:
    """Open the files of a fit as a source; with --scheduler, on the workers of a cluster."""
    if options.scheduler is None:
        yield source_of(options.files, options)
        return
    from .. import distributed

    try:
        with distributed.connected(options.scheduler) as client:
            yield distributed.spread(source_of(options.files, options, scan=False), client=client)
    except distributed.ClusterError as error:
        raise Failed(str(error)) from None


def _columns(options: argparse.Namespace) -> Sequence[str] | None:
    """Combine --columns and --drop; `AllBut` is resolved later, when the columns of the table are known."""
    from ..sources._arrow import AllBut

    dropped = AllBut(options.drop.split(",")) if getattr(options, "drop", None) is not None else None
    if options.columns is None:
        return dropped
    return [name for name in options.columns.split(",") if name not in (dropped or ())]


# --- files to write --------------------------------------------------------------------------------------------------


def check_folder(folder: Path, option: str) -> None:
    """Raise `Wrong` before any work starts if a folder cannot be created or written to."""
    try:
        check_writable(folder)
    except OSError as error:
        raise Wrong(f"cannot write to {folder}: {error.strerror}; choose another folder with {option}") from None


def check_file(path: Path, option: str) -> None:
    """Raise `Wrong` before any work starts if a file cannot be written."""
    if not path.parent.is_dir():
        raise Wrong(f"the folder of {path} does not exist: create it, or choose another file with {option}")
    if path.is_dir():
        raise Wrong(f"{path} is a folder: give a file name with {option}")
    check_folder(path.parent, option)


class TableWriter:
    """Writes lines of CSV; a text that a spreadsheet would run as a formula gets an apostrophe in front."""

    def __init__(self, file: TextIO, escaped: bool = True) -> None:
        self._lines, self._escaped = csv.writer(file, lineterminator="\n"), escaped

    def line(self, cells: Iterable[Any]) -> None:
        self._lines.writerow([_safe(cell) if self._escaped and isinstance(cell, str) else cell for cell in cells])

    def lines(self, rows: Iterable[Iterable[Any]]) -> None:
        for cells in rows:
            self.line(cells)


@contextlib.contextmanager
def open_table(path: str | Path, escaped: bool = True) -> Iterator[TableWriter]:
    """Open a CSV file that replaces ``path`` only when it is complete; - is standard output."""
    if path == "-":
        yield TableWriter(sys.stdout, escaped)
        return
    check_file(Path(path), "--out")
    with written_whole(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield TableWriter(text, escaped)
        text.detach()  # flushes, and leaves the file open for `written_whole`


def _safe(text: str) -> str:
    """The text, with an apostrophe in front if it is a formula; a number stays as it is."""
    if not text.startswith(FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
