"""Options that say which rows to read, and the source built from them."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._core.files import MOST_EXPANSION
from .common import Failed, Parser, Run, Wrong, check_file, count

if TYPE_CHECKING:
    from ..sources import Source

__all__ = ["add_reading", "add_scale", "guarded", "rows", "source_of"]

REMEDIES = {
    "drop": "--drop A,B to ignore columns",
    "n_features": "--n-features N to set the number of features",
    "zero_based": "--zero-based if indices start at 0",
}
FILES = (
    "svmlight text (plain, .gz or .bz2), .csv, .parquet or .arrow: files, globs or folders, or - for svmlight lines "
    "from standard input"
)


def add_reading(parser: Parser, fitted: bool = False) -> None:
    """Add the options that say which rows to read; a fitted model already knows its features."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=FILES)
    parser.add_argument("--target", metavar="NAME", help="target column (default: target, label or y)")
    parser.add_argument("--offset", metavar="NAME", help="column that is added to the linear predictions")
    parser.add_argument("--exposure", metavar="NAME", help="column whose logarithm is the offset, for counts")
    parser.add_argument("--columns", metavar="A,B", help="feature columns (default: all other columns)")
    if not fitted:
        parser.add_argument("--drop", metavar="A,B", help="columns to ignore")
        cache = "keep the rows in a binary file, which later passes and runs read much faster than text"
        parser.add_argument("--cache", metavar="FILE", help=cache)
        features = "svmlight: number of features (default: determined by a scan)"
        parser.add_argument("--n-features", type=count, metavar="N", help=features)
    parser.add_argument("--zero-based", action="store_true", help="svmlight: indices start at 0 instead of 1")
    parser.add_argument(
        "--on-bad-row", choices=("stop", "skip"), default="stop", help="what to do with unreadable rows (default: stop)"
    )
    parser.add_argument(
        "--most-expansion", type=float, default=MOST_EXPANSION, metavar="N",
        help=f"reject compressed files that expand more than N-fold (default: {MOST_EXPANSION})",
    )  # fmt: skip


def add_scale(parser: Parser) -> None:
    """Add the option that standardises the columns."""
    parser.add_argument("--scale", action="store_true", help="standardise the columns first, if their units differ")


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
        if options.offset or options.exposure:
            raise Wrong("--offset and --exposure name a column: svmlight files have none; use CSV, Parquet or Arrow")
        settings |= {"n_features": features or options.n_features, "zero_based": options.zero_based}
    else:
        settings |= {"offset": options.offset, "exposure": options.exposure}
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
