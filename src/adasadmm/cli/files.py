"""The commands that read files: fit, predict, graph. Nothing heavy is imported before one of them runs."""

from __future__ import annotations

import argparse
import math
import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .common import Failed, Registered, Wrong, add_command, add_output, check_file, count, not_negative, tell, written
from .rows import add_reading, names_of, rows, source_of

__all__ = ["add_commands"]

REMEDIES = {"drop": "--drop A,B leaves out columns, ", "n_features": "--n-features N tells how many there are, "}
GRAPHS = ("glasso", "knn", "chain", "grid:ROWSxCOLS")


# --- what can be asked for -------------------------------------------------------------------------------------------


def add_commands(commands: Any) -> None:
    _add_fit(commands)
    _add_predict(commands)
    _add_graph(commands)


def _add_fit(commands: Any) -> None:
    parser = add_command(
        commands,
        "fit",
        _guarded(_fit),
        help="fit a model to files of any size, or to a stream",
        about="Reads the rows block by block, so that they need not fit in memory, fits a classifier (or with "
        "--loss squared and the like a regressor) whose coefficients follow a graph, and saves it.",
        examples=[
            "adasadmm fit rows.csv --target price --loss squared --graph edges.csv --model m.skops",
            "adasadmm fit rows.csv --target y --drop id,name --scale --model m.skops     # the graph is learnt",
            "adasadmm fit train.svm.bz2 --valid valid.svm --graph chain --epochs 3 --model m.skops",
            "zcat log.svm.gz | adasadmm fit - --n-features 1000 --graph chain --model m.skops",
        ],
    )
    add_reading(parser)
    parser.add_argument("--model", required=True, type=Path, metavar="OUT", help="where the model is saved")
    parser.add_argument("--valid", nargs="+", metavar="FILE", help="rows to judge the model by")
    parser.add_argument(
        "--graph",
        default="glasso",
        metavar="G",
        help="learnt: glasso (default), knn; given: chain, grid:ROWSxCOLS, or a CSV file of edges, two features "
        "(names or numbers from 0) and perhaps a weight on each line, with or without a header",
    )
    parser.add_argument(
        "--loss", default="hinge", choices=Registered("LOSSES"), metavar="LOSS", help="%(choices)s (default: hinge)"
    )
    parser.add_argument("--alpha", type=not_negative, help="strength of the graph (default: 1/rows)")
    parser.add_argument("--l2", type=not_negative, help="strength of the ridge (default: 1/rows)")
    _add_scale(parser)
    parser.add_argument(
        "--solver",
        default="auto",
        choices=Registered("SOLVERS", "auto"),
        metavar="SOLVER",
        help="%(choices)s; default: auto, which in memory goes on until a duality gap of --tol is proved, and is "
        "ada-diag where rows do not fit there, come from a stream, or --epochs is given",
    )
    parser.add_argument(
        "--tol", type=not_negative, default=1e-3, help="relative duality gap for --solver auto (default: 1e-3)"
    )
    parser.add_argument("--epochs", type=count, metavar="N", help="passes over the files (default of ada-diag: 2)")
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
    add_output(parser)


def _add_predict(commands: Any) -> None:
    parser = add_command(
        commands,
        "predict",
        _guarded(_predict),
        help="predictions of a saved model for files of any size, or a stream",
        about="Writes a line for each row: the prediction and, of a classifier, its score. With --on-bad-row skip the "
        "line of a row that cannot be read is empty.",
        examples=[
            "adasadmm predict m.skops new.csv --out predictions.csv",
            "adasadmm predict m.skops 'parts/*.parquet' | head",
        ],
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="file that adasadmm fit --model wrote")
    add_reading(parser, fitted=True)
    parser.add_argument("--out", default="-", metavar="OUT", help="CSV file of predictions (default: standard output)")


def _add_graph(commands: Any) -> None:
    parser = add_command(
        commands,
        "graph",
        _guarded(_graph),
        help="learn the graph over the features of files of any size",
        about="Writes the edges as a CSV file: to look at, to mend by hand, and to give to fit --graph.",
        examples=[
            "adasadmm graph rows.csv --target y --out edges.csv",
            "adasadmm graph 'parts/*.parquet' --graph glasso --edges 200 --out edges.csv",
        ],
    )
    add_reading(parser)
    parser.add_argument("--out", required=True, metavar="OUT", help="CSV file of edges, as --graph of fit takes it")
    _add_scale(parser)
    parser.add_argument("--graph", default="glasso", choices=("glasso", "knn"), help="default: glasso")
    parser.add_argument("--edges", type=count, metavar="N", help="about so many (glasso; default: 2 for each feature)")
    parser.add_argument("--penalty", type=not_negative, help="of the graphical lasso, instead of --edges")
    add_output(parser)


def _add_scale(parser: Any) -> None:
    parser.add_argument(
        "--scale", action="store_true", help="bring all columns to one scale first: for features of different units"
    )


def _guarded(command: Any) -> Any:
    """Errors of a user's files and wishes in one sentence."""

    def run(options: argparse.Namespace) -> int:
        from ..models import ModelError
        from ..sources import BadRow

        warnings.filterwarnings("ignore", "X does not have valid feature names")  # the source saw to them
        try:
            return command(options)
        except ValueError as error:
            if options.debug:
                raise
            if isinstance(error, BadRow):
                remedy = REMEDIES[error.remedy] if error.remedy and hasattr(options, error.remedy) else ""
                raise Failed(f"{error}; {remedy}--on-bad-row skip leaves out such rows") from None
            raise (Failed if isinstance(error, ModelError) else Wrong)(str(error)) from None

    return run


# --- what is done ----------------------------------------------------------------------------------------------------


def _fit(options: argparse.Namespace) -> int:
    from .. import Checkpoint
    from ..models import save_model
    from . import stream as cli_stream

    if options.files == ["-"] and (options.checkpoint or options.scheduler or options.scale):
        raise Wrong("a stream cannot be read again: --checkpoint, --scheduler and --scale are for files")
    if find_spec("skops") is None:
        raise Failed('models are saved by skops: pip install "adasadmm[cli]"')
    check_file(options.model, "--model")
    model = _model(options)
    if options.files == ["-"]:
        fitted, figures = model, cli_stream.learn(model, sys.stdin.buffer, options)
    else:
        keeping = None if options.checkpoint is None else Checkpoint(options.checkpoint)
        with rows(options) as source:
            fitted = _fitted(model, source, options, checkpoint=keeping, resume=options.resume)
            found = source.summary
        figures = {
            "rows": found.rows,
            "features": found.features,
            "skipped": found.skipped,
            "iterations" if model.solver in ("auto", "admm") else "epochs": int(model.n_iter_),
            "objective": _last_objective(model),
            "relative_gap": _as_json(model.dual_gap_),
            "seconds": _seconds(model),
        }
    figures |= {"edges": len(model.graph_), "model": str(options.model)}
    if options.valid:
        valid = source_of(options.valid, options, features=model.n_features_in_, names=names_of(model))
        figures["valid"] = cli_stream.judge(fitted, valid)
    save_model(fitted, options.model)
    tell(figures, options.json)
    return 0


def _fitted(model: Any, source: Any, options: argparse.Namespace, **keeping: Any) -> Any:
    """The model fitted to a source: in memory where that is possible and nothing else was asked for."""
    from . import memory as cli_memory

    cli_memory.check_targets(model, source)
    if options.scheduler is not None:
        if options.scale:
            raise Wrong("--scale is for rows in the memory of one machine, not for --scheduler: scale the files first")
        return model.fit(source, **keeping)
    if options.scale:
        _check_scale(source)
    if options.scale or (model.solver == "auto" and cli_memory.fits_in_memory(source)):
        return cli_memory.fit_in_memory(model, source, options.scale, **keeping)
    if model.solver == "auto":
        model.set_params(solver="ada-diag", max_iter=2)
    return model.fit(source, **keeping)


def _check_scale(source: Any) -> None:
    from . import memory as cli_memory

    if not cli_memory.fits_in_memory(source):
        most = f"{cli_memory.MOST_ENTRIES:,} numbers"
        raise Wrong(f"--scale is for rows that fit in memory, {most}: scale the files first")


def _predict(options: argparse.Namespace) -> int:
    from ..models import load_model
    from . import stream as cli_stream

    model = load_model(options.model, most_expansion=options.most_expansion)
    if options.on_bad_row == "skip":
        options.on_bad_row = "mark"  # a line for each row: empty where there is no prediction
    if options.files == ["-"]:
        pieces = cli_stream.pieces(sys.stdin.buffer, options, model.n_features_in_)
    else:
        names = names_of(model) if options.columns is None else options.columns.split(",")
        source = source_of(
            options.files, options, features=model.n_features_in_, names=names, target=options.target or False
        )
        pieces = source.raw_blocks()
    with written(options.out) as file:
        cli_stream.predictions(model, pieces, file)
    return 0


def _graph(options: argparse.Namespace) -> int:
    from .. import graphs
    from . import memory as cli_memory

    if options.graph == "knn" and (options.edges or options.penalty):
        raise Wrong("--edges and --penalty belong to --graph glasso")
    if options.out != "-":
        check_file(Path(options.out), "--out")
    source = source_of(options.files, options, target=options.target or False)
    wish = {} if options.graph == "knn" else {"edges": options.edges, "penalty": options.penalty}
    if options.scale:
        _check_scale(source)
    graph = getattr(graphs, options.graph)(cli_memory.scaled(source) if options.scale else source, **wish)
    names = source.feature_names or range(source.shape[1])
    with written(options.out) as file:
        file.write("source,target\n")
        file.writelines(f"{names[i]},{names[j]}\n" for i, j in graph.edges.tolist())
    tell({"rows": source.shape[0], "features": source.shape[1], "edges": graph.n_edges}, options.json)
    for note in () if options.quiet else graph.notes:
        print(note, file=sys.stderr)
    return 0


def _model(options: argparse.Namespace) -> Any:
    from .. import GraphGuidedClassifier, GraphGuidedRegressor
    from ..registry import CLASSIFICATION_LOSSES, SOLVERS, Tuning

    classifies = options.loss in CLASSIFICATION_LOSSES
    solver, epochs = options.solver, options.epochs
    if solver == "auto" and (epochs is not None or options.files == ["-"]):
        solver = "ada-diag"
    if epochs is None and solver != "auto" and not SOLVERS[solver](Tuning()).knows_gap:
        epochs = 2
    return (GraphGuidedClassifier if classifies else GraphGuidedRegressor)(
        _graph_of(options.graph),
        loss=options.loss,
        alpha=options.alpha,
        l2=options.l2,
        solver=solver,
        tol=options.tol,
        max_iter=epochs,
        random_state=options.seed,
        verbose=0 if options.quiet or not sys.stderr.isatty() else 1,
    )


def _graph_of(text: str) -> Any:
    """``grid:8x8`` is a tuple; all else is a name or a path already."""
    from ..datasets import check_name

    if text.startswith("grid:"):
        try:
            return ("grid", *(int(side) for side in text[5:].split("x")))
        except ValueError:
            raise Wrong(f"--graph: a grid is grid:ROWSxCOLS, got {text}") from None
    if not text.endswith(".csv") and not os.path.isfile(text):
        check_name(text, GRAPHS, "file or graph")
    return text


# --- what is told ----------------------------------------------------------------------------------------------------


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
