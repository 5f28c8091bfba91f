"""The commands that read files: fit, predict, graph. Nothing heavy is imported before one of them runs."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["Wrong", "add_commands", "count"]

FILES = (
    "svmlight text (plain, .gz, .bz2), .parquet, .arrow or .csv; files, globs, folders, or - for svmlight lines from "
)
LOSSES = ("hinge", "squared_hinge", "logistic", "squared", "huber", "epsilon_insensitive", "quantile", "poisson")
SOLVERS = ("auto", "ada-diag", "ada-full", "sadmm", "admm")


class Wrong(Exception):
    """A command cannot do what it was asked for; the message says why, and what to do."""


# --- what can be asked for -------------------------------------------------------------------------------------------


def add_commands(commands: Any) -> None:
    _add_fit(commands)
    _add_predict(commands)
    _add_graph(commands)


def _add_fit(commands: Any) -> None:
    parser = commands.add_parser(
        "fit",
        help="fit a model to files of any size, or to a stream",
        description="Reads the rows block by block, so that they need not fit in memory, and saves the model.",
        epilog="Example: adasadmm fit train.svm.bz2 --valid valid.svm --model m.skops --graph chain --epochs 3",
    )
    _add_reading(parser)
    parser.add_argument("--model", required=True, type=Path, metavar="OUT", help="where the model is saved")
    parser.add_argument("--valid", nargs="+", metavar="FILE", help="rows to judge the model by")
    parser.add_argument(
        "--graph", default="glasso", metavar="G", help="glasso (default), knn, chain, grid:ROWSxCOLS or a CSV of edges"
    )
    parser.add_argument("--loss", default="hinge", choices=LOSSES, help="default: hinge, a classifier")
    parser.add_argument("--alpha", type=float, help="strength of the graph (default: 1/rows)")
    parser.add_argument("--l2", type=float, help="strength of the ridge (default: 1/rows)")
    parser.add_argument(
        "--solver", default="ada-diag", choices=SOLVERS, help="default: ada-diag; auto stops at a duality gap of --tol"
    )
    parser.add_argument(
        "--tol", type=float, default=1e-3, help="relative duality gap for --solver auto (default: 1e-3)"
    )
    parser.add_argument("--epochs", type=count, metavar="N", help="passes (default: 2; 1000 iterations of admm)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="order of blocks and rows (default: 0)")
    parser.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="keep the run there, every minute and when stopped"
    )
    parser.add_argument("--resume", action="store_true", help="go on from --checkpoint where it holds a run")
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="a Dask cluster, tcp://host:port, whose workers read the files themselves",
    )
    parser.add_argument("--classes", metavar="A,B", help="labels of a stream (default: -1,1)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.set_defaults(run=_guarded(_fit))


def _add_predict(commands: Any) -> None:
    parser = commands.add_parser("predict", help="predictions of a saved model for files of any size, or a stream")
    parser.add_argument("model", type=Path, metavar="MODEL")
    _add_reading(parser)
    parser.add_argument("--out", default="-", metavar="OUT", help="CSV file of predictions (default: standard output)")
    parser.set_defaults(run=_guarded(_predict))


def _add_graph(commands: Any) -> None:
    parser = commands.add_parser("graph", help="learn the graph over the features of files of any size")
    _add_reading(parser)
    parser.add_argument("--out", required=True, metavar="OUT", help="CSV file of edges, as --graph of fit takes it")
    parser.add_argument("--graph", default="glasso", choices=("glasso", "knn"), help="default: glasso")
    parser.add_argument("--edges", type=count, metavar="N", help="about so many (glasso; default: 2 for each feature)")
    parser.add_argument("--penalty", type=float, help="of the graphical lasso, instead of --edges")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.set_defaults(run=_guarded(_graph))


def _add_reading(parser: Any) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help=FILES + "standard input")
    parser.add_argument("--target", metavar="NAME", help="column of targets (default: target, label or y)")
    parser.add_argument("--columns", metavar="A,B", help="columns of features (default: all others)")
    parser.add_argument("--n-features", type=count, metavar="N", help="svmlight: features (default: found in a scan)")
    parser.add_argument("--zero-based", action="store_true", help="svmlight: indices begin with 0, not 1")
    parser.add_argument("--on-bad-row", choices=("stop", "skip"), default="stop", help="default: stop")


def count(text: str) -> int:
    with contextlib.suppress(ValueError):
        if (number := int(text)) >= 1:
            return number
    raise argparse.ArgumentTypeError(f"must be a whole number, at least 1, got {text}")


def _guarded(command: Any) -> Any:
    """Errors of a user's files and wishes in one line, and so are warnings."""

    def run(options: argparse.Namespace) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # the source saw to them
            warnings.showwarning = lambda message, *_: print(f"adasadmm: warning: {message}", file=sys.stderr)
            try:
                return command(options)
            except (ValueError, ImportError) as error:
                raise Wrong(str(error)) from None

    return run


# --- what is done ----------------------------------------------------------------------------------------------------


def _fit(options: argparse.Namespace) -> int:
    from . import Checkpoint, cli_stream
    from .models import save_model

    if options.files == ["-"] and (options.checkpoint is not None or options.scheduler is not None):
        raise Wrong("a stream cannot be read again, so --checkpoint and --scheduler are for files")
    _check_folder(options.model)
    model = _model(options)
    if options.files == ["-"]:
        figures = cli_stream.learn(model, sys.stdin.buffer, options)
    else:
        keeping = None if options.checkpoint is None else Checkpoint(options.checkpoint)
        with _rows(options) as source:
            model.fit(source, checkpoint=keeping, resume=options.resume)
            found = source.summary
        figures = {
            "rows": found.rows,
            "features": found.features,
            "skipped": found.skipped,
            "epochs": float(model.n_iter_),
            "objective": _last_objective(model),
            "relative_gap": _as_json(model.dual_gap_),
            "seconds": _seconds(model),
        }
    figures["edges"] = len(model.graph_)
    if options.valid:
        valid = _source(options.valid, options, features=model.n_features_in_, names=_names(model))
        figures["valid"] = cli_stream.judge(model, valid)
    save_model(model, options.model)
    _tell(figures, options.json)
    return 0


def _predict(options: argparse.Namespace) -> int:
    from . import cli_stream
    from .models import load_model

    model = load_model(options.model)
    if options.files == ["-"]:
        options.n_features = model.n_features_in_
        pieces = cli_stream.pieces(sys.stdin.buffer, options)
    else:
        names = _names(model) if options.columns is None else options.columns.split(",")
        source = _source(
            options.files, options, features=model.n_features_in_, names=names, target=options.target or False
        )
        pieces = source.pieces()
    with _written(options.out) as file:
        cli_stream.predictions(model, pieces, file)
    return 0


def _graph(options: argparse.Namespace) -> int:
    from . import graphs

    if options.graph == "knn" and (options.edges or options.penalty):
        raise Wrong("--edges and --penalty belong to --graph glasso")
    source = _source(options.files, options)
    wish = {} if options.graph == "knn" else {"edges": options.edges, "penalty": options.penalty}
    graph = getattr(graphs, options.graph)(source, **wish)
    names = source.feature_names or range(source.shape[1])
    with _written(options.out) as file:
        file.write("source,target\n")
        file.writelines(f"{names[i]},{names[j]}\n" for i, j in graph.edges.tolist())
    _tell({"rows": source.shape[0], "features": source.shape[1], "edges": graph.n_edges}, options.json)
    for note in graph.notes:
        print(note, file=sys.stderr)
    return 0


def _model(options: argparse.Namespace) -> Any:
    from . import GraphGuidedClassifier, GraphGuidedRegressor

    classifies = options.loss in ("hinge", "squared_hinge", "logistic")
    epochs = options.epochs
    if epochs is None and options.solver not in ("auto", "admm"):
        epochs = 2
    return (GraphGuidedClassifier if classifies else GraphGuidedRegressor)(
        _graph_of(options.graph),
        loss=options.loss,
        alpha=options.alpha,
        l2=options.l2,
        solver=options.solver,
        tol=options.tol,
        max_iter=epochs,
        random_state=options.seed,
        verbose=0 if options.quiet or not sys.stderr.isatty() else 1,
    )


def _graph_of(text: str) -> Any:
    """``grid:8x8`` is a tuple; all else is a name or a path already."""
    if not text.startswith("grid:"):
        return text
    try:
        return ("grid", *(int(side) for side in text[5:].split("x")))
    except ValueError:
        raise Wrong(f"--graph: a grid is grid:ROWSxCOLS, got {text}") from None


def _source(
    files: list[str],
    options: argparse.Namespace,
    features: int | None = None,
    names: Any = None,
    target: Any = None,
    scan: bool = True,
) -> Any:
    """The files as one source; what a kind of file has no use for is not asked of it."""
    from . import sources
    from .sources._paths import kind_of

    if "-" in files:
        raise Wrong("- for standard input stands alone, and only for the rows of fit and predict")
    settings: dict[str, Any] = {"on_bad_row": options.on_bad_row}
    if kind_of(files) == "svmlight":
        settings |= {"n_features": features or options.n_features, "zero_based": options.zero_based}
    else:
        columns = names or (options.columns and options.columns.split(","))
        settings |= {"columns": columns, "target": options.target if target is None else target}
    source = sources.open(files, **settings)
    if features is not None and source.n_features != features:
        raise Wrong(f"{source!r} has {source.n_features} features, the model {features}")
    if options.on_bad_row == "skip" and scan:
        source.summary  # a scan tells how many will be skipped
    return source


@contextlib.contextmanager
def _rows(options: argparse.Namespace) -> Iterator[Any]:
    """The files of a fit as a source; with --scheduler on the workers of a cluster."""
    if options.scheduler is None:
        yield _source(options.files, options)
        return
    from . import distributed

    with distributed.connected(options.scheduler) as client:
        try:
            yield distributed.spread(_source(options.files, options, scan=False), client=client)
        except distributed.ClusterError as error:
            raise Wrong(str(error)) from None


def _names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


# --- what is told ----------------------------------------------------------------------------------------------------


def _tell(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {number:,.6g}" for key, number in value.items())
        elif isinstance(value, float):
            value = f"{value:.6g}"
        print(
            f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name.replace('_', ' ')}: {value}"
        )


def _last_objective(model: Any) -> Any:
    traces = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    last = [float(trace["objective"][-1]) for trace in traces if len(trace["objective"])]
    return last[0] if len(last) == 1 else last


def _seconds(model: Any) -> float:
    traces = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    return sum(float(trace["seconds"][-1]) for trace in traces if len(trace["seconds"]))


def _as_json(gap: Any) -> Any:
    """A number or several; JSON knows no infinity."""
    if hasattr(gap, "tolist"):
        return [_as_json(one) for one in gap.tolist()]
    return gap if math.isfinite(gap) else None


def _check_folder(path: Path) -> None:
    """Fail before hours of work, not behind them."""
    if not path.parent.is_dir():
        raise Wrong(f"the folder of {path} does not exist")
    if path.is_dir():
        raise Wrong(f"{path} is a folder: name a file")


@contextlib.contextmanager
def _written(path: str) -> Iterator[Any]:
    """A text file that has its name only when it is whole; - is standard output."""
    if path == "-":
        yield sys.stdout
        return
    _check_folder(Path(path))
    part = f"{path}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            yield file
        os.replace(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
