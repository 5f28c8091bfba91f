"""The rows that a command reads: its options for them, and the source that these describe."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import Any

from .._core.files import MOST_EXPANSION
from .common import Failed, Wrong, count

__all__ = ["add_reading", "names_of", "rows", "source_of"]

FILES = (
    "svmlight text (plain, .gz, .bz2), .parquet, .arrow or .csv; files, globs, folders, or - for svmlight lines from "
)


def add_reading(parser: Any, fitted: bool = False) -> None:
    """Options for rows; a fitted model knows its features already."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=FILES + "standard input")
    parser.add_argument("--target", metavar="NAME", help="column of targets (default: target, label or y)")
    parser.add_argument("--columns", metavar="A,B", help="columns of features (default: all others)")
    if not fitted:
        parser.add_argument("--drop", metavar="A,B", help="columns that are neither: identifiers, texts")
        features = "svmlight: features (default: found in a scan)"
        parser.add_argument("--n-features", type=count, metavar="N", help=features)
    parser.add_argument("--zero-based", action="store_true", help="svmlight: indices begin with 0, not 1")
    parser.add_argument("--on-bad-row", choices=("stop", "skip"), default="stop", help="default: stop")
    parser.add_argument(
        "--most-expansion", type=float, default=MOST_EXPANSION, metavar="N",
        help=f"refuse what unpacks to more than N times its size (default: {MOST_EXPANSION})",
    )  # fmt: skip


def source_of(
    files: list[str],
    options: argparse.Namespace,
    features: int | None = None,
    names: Any = None,
    target: Any = None,
    scan: bool = True,
) -> Any:
    """The files as one source; what a kind of file has no use for is not asked of it."""
    from .. import sources
    from ..sources._paths import kind_of

    if "-" in files:
        raise Wrong("- for standard input stands alone, and only for the rows of fit and predict")
    settings: dict[str, Any] = {"on_bad_row": options.on_bad_row}
    kind = kind_of(files)
    if kind in ("svmlight", "csv", "tsv"):
        settings["most_expansion"] = options.most_expansion
    if kind == "svmlight":
        settings |= {"n_features": features or options.n_features, "zero_based": options.zero_based}
    else:
        settings |= {"columns": names or _columns(options), "target": options.target if target is None else target}
    source = sources.open(files, **settings)
    if features is not None and source.n_features != features:
        raise Wrong(f"{source!r} has {source.n_features} features, the model {features}")
    if options.on_bad_row != "stop" and scan:
        source.summary  # a scan tells how many will be skipped
    return source


@contextlib.contextmanager
def rows(options: argparse.Namespace) -> Iterator[Any]:
    """The files of a fit as a source; with --scheduler on the workers of a cluster."""
    if options.scheduler is None:
        yield source_of(options.files, options)
        return
    from .. import distributed

    try:
        with distributed.connected(options.scheduler) as client:
            yield distributed.spread(source_of(options.files, options, scan=False), client=client)
    except distributed.ClusterError as error:
        raise Failed(str(error)) from None


def _columns(options: argparse.Namespace) -> Any:
    """What --columns and --drop say of a table, which is asked for only when its columns are known."""
    from ..sources._arrow import AllBut

    dropped = AllBut(options.drop.split(",")) if getattr(options, "drop", None) is not None else None
    if options.columns is None:
        return dropped
    return [name for name in options.columns.split(",") if name not in (dropped or ())]


def names_of(model: Any) -> list[str] | None:
    from .memory import last_step

    names = getattr(last_step(model), "feature_names_in_", None)
    return None if names is None else list(names)
