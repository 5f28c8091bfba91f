"""`adasadmm fit`: the options, the model that they describe, and how it is fitted."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import (
    Commands,
    Failed,
    Parser,
    Registered,
    Wrong,
    add_command,
    add_output,
    check_file,
    count,
    not_negative,
    print_figures,
    share,
)
from .rows import add_reading, add_scale, guarded, rows, source_of
from .search import check_search, chosen, path_file, strength_or_cv

if TYPE_CHECKING:
    from .. import Checkpoint
    from ..sources import Source
    from .models import Model

__all__ = ["add_commands"]

GRAPHS = ("glasso", "knn", "chain", "grid:ROWSxCOLS")


# --- options ---------------------------------------------------------------------------------------------------------


def add_commands(commands: Commands) -> None:
    """Add the command ``fit``."""
    parser = add_command(
        commands,
        "fit",
        guarded(_fit),
        help="fit a model to files of any size or to standard input",
        about="Fit a model and save it: a classifier with a graph over the features, a regressor with --loss squared, "
        "huber, ..., or with --terms a model of a table with levels, places and numbers. The rows need not fit in "
        "memory.",
        examples=[
            "adasadmm fit rows.csv --target price --loss squared --graph edges.csv --model m.skops",
            "adasadmm fit rows.csv --target y --alpha cv --rule 1se --model m.skops     # also m.path.csv, m.path.png",
            "adasadmm fit rows.csv --target y --drop id,name --scale --model m.skops     # the graph is learnt",
            "adasadmm fit train.svm.bz2 --valid valid.svm --graph chain --epochs 3 --model m.skops",
            "adasadmm fit policies.parquet --target claims --exposure years --loss poisson --terms terms.toml "
            "--table tariff.csv --model m.skops",
            "zcat log.svm.gz | adasadmm fit - --n-features 1000 --graph chain --model m.skops",
        ],
    )
    add_reading(parser)
    _add_model_options(parser)
    _add_solver_options(parser)
    parser.add_argument("--classes", metavar="A,B", help="class labels of rows from standard input (default: -1,1)")
    add_output(parser)


def _add_model_options(parser: Parser) -> None:
    parser.add_argument("--model", required=True, type=Path, metavar="OUT", help="file for the fitted model")
    parser.add_argument("--valid", nargs="+", metavar="FILE", help="validation rows; their loss and error are printed")
    parser.add_argument(
        "--validation-fraction",
        type=share,
        default=0.0,
        metavar="F",
        help="fraction of the rows to hold out; their loss is printed (default: 0)",
    )
    parser.add_argument(
        "--graph",
        metavar="G",
        help="learnt from the rows: glasso (default) or knn; given: chain, grid:ROWSxCOLS, or a CSV file of edges: two "
        "features (names, or indices from 0) and optionally a weight per line, with or without a header",
    )
    parser.add_argument(
        "--loss",
        default="hinge",
        choices=Registered("LOSSES"),
        metavar="LOSS",
        help="%(choices)s (default: hinge); those for classes are hinge, logistic, squared_hinge and multinomial",
    )
    parser.add_argument(
        "--alpha",
        type=strength_or_cv,
        help="strength of the penalty (default: 1/rows); cv chooses it by cross-validation, and writes the path beside "
        "the model: OUT.path.csv, and OUT.path.png if matplotlib is installed",
    )
    parser.add_argument("--folds", type=count, metavar="K", help="folds of --alpha cv (default: 5)")
    parser.add_argument(
        "--rule",
        choices=("best", "1se"),
        help="with --alpha cv: the best mean score (default), or the largest alpha within one standard error of it",
    )
    parser.add_argument("--l2", type=not_negative, help="strength of the ridge penalty (default: 1/rows)")
    parser.add_argument(
        "--l1-ratio",
        type=share,
        default=0.0,
        metavar="R",
        help="share of the L1 norm of the coefficients in the penalty, from 0 to 1; the rest is the graph (default: 0)",
    )
    parser.add_argument("--positive", action="store_true", help="constrain the coefficients to be non-negative")
    add_scale(parser)
    parser.add_argument(
        "--terms",
        type=Path,
        metavar="FILE",
        help="TOML file that describes columns with levels, places and numbers, in place of --graph: tables [[term]] "
        "with kind, column and the parameters of adasadmm.terms",
    )
    parser.add_argument("--table", type=Path, metavar="OUT", help="with --terms: CSV file for coefficients by level")


def _add_solver_options(parser: Parser) -> None:
    parser.add_argument(
        "--solver",
        default="auto",
        choices=Registered("SOLVERS", "auto"),
        metavar="SOLVER",
        help="%(choices)s (default: auto). auto loads rows that take at most a quarter of the memory, and runs until "
        "the relative duality gap is at most --tol; for more rows, standard input, or with --epochs it is ada-diag",
    )
    parser.add_argument(
        "--tol",
        type=not_negative,
        default=1e-6,
        help="relative duality gap at which auto, admm and alm stop (default: 1e-6)",
    )
    parser.add_argument(
        "--epochs",
        type=count,
        metavar="N",
        help="passes over the rows; for admm and alm, iterations (default for ada-diag: 2)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed for the order of blocks and rows (default: 0)"
    )
    parser.add_argument("--checkpoint", type=Path, metavar="DIR", help="save to DIR every 60 s and on Ctrl-C")
    parser.add_argument(
        "--checkpoint-every", type=not_negative, metavar="SECONDS", help="seconds between two saves (default: 60)"
    )
    parser.add_argument("--resume", action="store_true", help="resume the run saved in --checkpoint, if there is one")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="Dask scheduler, tcp://host:port; workers read the files"
    )


# --- the command -----------------------------------------------------------------------------------------------------


def _fit(options: argparse.Namespace) -> int:
    from ..models import save_model
    from . import models, stream

    _check_fit(options)
    if options.terms is not None:
        from .tables import fit_terms

        return fit_terms(options)
    check_file(options.model, "--model")
    if options.alpha == "cv":
        check_file(path_file(options.model, "csv"), "--model")
    model = _model(options)
    if options.files == ["-"]:
        fitted, figures = model, stream.learn(model, sys.stdin.buffer, options)
    else:
        with rows(options) as source:
            fitted = models.fitted(model, source, options.scale, _checkpoint(options), options.resume)
            figures = _figures(model, source)
    figures |= {"edges": len(model.graph_), "model": str(options.model)}
    if options.valid:
        names = models.feature_names(fitted)
        valid = source_of(options.valid, options, features=model.n_features_in_, names=names)
        figures["valid"] = stream.judge(fitted, valid)
    if options.alpha == "cv":
        figures |= chosen(fitted, options.model)
    save_model(fitted, options.model)
    print_figures(figures, options.json)
    return 0


def _checkpoint(options: argparse.Namespace) -> Checkpoint | None:
    from .. import Checkpoint

    every = {} if options.checkpoint_every is None else {"every": options.checkpoint_every}
    return None if options.checkpoint is None else Checkpoint(options.checkpoint, **every)


def _check_fit(options: argparse.Namespace) -> None:
    """Reject options that contradict each other, and a missing package, before any row is read."""
    check_search(options)
    if options.files == ["-"] and (options.checkpoint or options.scheduler or options.scale or options.cache):
        raise Wrong("--checkpoint, --scheduler, --scale and --cache need files: standard input can be read only once")
    if options.validation_fraction == 1.0:
        raise Wrong("--validation-fraction must be below 1: a model needs rows to learn from")
    if options.files == ["-"] and options.validation_fraction:
        raise Wrong("--validation-fraction needs files: rows from standard input have a progressive loss")
    if options.resume and options.checkpoint is None:
        raise Wrong("--resume needs --checkpoint DIR, the folder of the run to resume")
    if options.checkpoint_every is not None and options.checkpoint is None:
        raise Wrong("--checkpoint-every needs --checkpoint DIR, the folder to save to")
    if options.scheduler is not None and options.cache is not None:
        raise Wrong("--cache does not work with --scheduler: the workers keep the rows in memory")
    if options.table is not None and options.terms is None:
        raise Wrong("--table needs --terms FILE: it writes the coefficients by level")
    if find_spec("skops") is None:
        raise Failed('models are saved by skops: pip install "adasadmm[cli]"')


def _model(options: argparse.Namespace) -> Model:
    """Create the estimator that the options describe."""
    from .. import GraphGuidedClassifier, GraphGuidedClassifierCV, GraphGuidedRegressor, GraphGuidedRegressorCV
    from ..registry import CLASSIFICATION_LOSSES, as_solver

    classifies = options.loss in CLASSIFICATION_LOSSES
    solver, epochs = options.solver, options.epochs
    if solver == "auto" and (epochs is not None or options.files == ["-"]):
        solver = "ada-diag"
    if epochs is None and solver != "auto" and not as_solver(solver).knows_gap:
        epochs = 2
    common = {
        "loss": options.loss,
        "l1_ratio": options.l1_ratio,
        "positive": options.positive,
        "solver": solver,
        "tol": options.tol,
        "max_iter": epochs,
        "random_state": options.seed,
        "verbose": 0 if options.quiet or not sys.stderr.isatty() else 1,
    }
    graph = _graph_of("glasso" if options.graph is None else options.graph)
    if options.alpha == "cv":
        search = {
            "cv": options.folds,
            "rule": options.rule or "best",
            "l2s": None if options.l2 is None else [options.l2],
        }
        return (GraphGuidedClassifierCV if classifies else GraphGuidedRegressorCV)(graph, **search, **common)
    plain = GraphGuidedClassifier if classifies else GraphGuidedRegressor
    held_out = options.validation_fraction
    return plain(graph, alpha=options.alpha, l2=options.l2, validation_fraction=held_out, **common)


def _graph_of(text: str) -> str | tuple[str | int, ...]:
    """Parse ``grid:8x8`` into a tuple; any other graph is a name or a path."""
    from ..datasets import check_name

    if text.startswith("grid:"):
        try:
            return ("grid", *(int(side) for side in text[5:].split("x")))
        except ValueError:
            raise Wrong(f"--graph: a grid must be written grid:ROWSxCOLS, got {text}") from None
    if not text.endswith(".csv") and not os.path.isfile(text):
        check_name(text, GRAPHS, "file or graph")
    return text


# --- figures ---------------------------------------------------------------------------------------------------------


def _figures(model: Model, source: Source) -> dict[str, Any]:
    """The figures of a fit; each of them belongs to the model that is saved."""
    from .models import certified

    found, (place, reason) = source.summary, model._place
    solvers = model.solver_ if isinstance(model.solver_, list) else [model.solver_]
    iterates = solvers[0].uses_all_rows
    return {
        "rows": found.rows,
        "features": found.features,
        "skipped": found.skipped,
        "place": place,
        "reason": reason,
        "solver": type(solvers[0]).__name__,
        "iterations" if iterates else "epochs": int(model.n_iter_),
        **certified(model),
        "seconds": _seconds(model),
        **_progressive(model),
        **_validation(model),
    }


def _progressive(model: Model) -> dict[str, Any]:
    """The mean loss of each row of the first pass before it was used; one per class if there are several."""
    found = model._progressive
    return {} if found is None else {"progressive_loss": found[0] if len(found) == 1 else found}


def _validation(model: Model) -> dict[str, Any]:
    """The mean loss of the rows that were held out, and their number."""
    found = getattr(model, "validation_loss_", None)
    if found is None:
        return {}
    return {
        "validation_loss": found if isinstance(found, float) else found.tolist(),
        "validation_rows": model._validation_rows,
    }


def _seconds(model: Model) -> float:
    traces = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    return sum(float(trace["seconds"][-1]) for trace in traces if len(trace["seconds"]))
