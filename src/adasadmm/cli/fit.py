"""`adasadmm fit`: the options, the model that they describe, and how it is fitted."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .command import (
    Commands,
    Failed,
    Parser,
    Registered,
    Wrong,
    add_command,
    add_output,
    count,
    not_negative,
    print_figures,
    refuse,
    share,
)
from .files import OF_COLUMNS, add_reading, add_scale, check_file, guarded, open_table, rows, source_of

if TYPE_CHECKING:
    from .. import Checkpoint
    from ..estimators._path_cv import PathCV
    from ..sources import Source
    from .stream import Fitted, Model

__all__ = ["add_commands"]

GRAPHS = ("glasso", "knn", "chain", "grid:ROWSxCOLS")
ONCE = "needs files: standard input can be read only once"
MOST_CLASSES = 20  # targets with more distinct values than this, not all integers, are not classes


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
    _add_strength_options(parser)
    _add_solver_options(parser)
    _add_output_options(parser)


def _add_model_options(parser: Parser) -> None:
    group = parser.add_argument_group("model")
    group.add_argument(
        "--loss",
        default="hinge",
        choices=Registered("LOSSES"),
        metavar="LOSS",
        help="%(choices)s (default: hinge); those for classes are hinge, logistic, squared_hinge and multinomial",
    )
    group.add_argument("--classes", metavar="A,B", help="class labels of rows from standard input (default: -1,1)")
    group.add_argument(
        "--graph",
        metavar="G",
        help="learnt from the rows: glasso (default) or knn; given: chain, grid:ROWSxCOLS, or a CSV file of edges: two "
        "features (names, or indices from 0) and optionally a weight per line, with or without a header",
    )
    group.add_argument(
        "--terms",
        type=Path,
        metavar="FILE",
        help="TOML file that describes columns with levels, places and numbers, in place of --graph: tables [[term]] "
        "with kind, column and the parameters of adasadmm.terms",
    )
    group.add_argument("--positive", action="store_true", help="constrain the coefficients to be non-negative")
    add_scale(group)


def _add_strength_options(parser: Parser) -> None:
    group = parser.add_argument_group("strength of the penalty")
    group.add_argument(
        "--alpha",
        type=_strength_or_cv,
        help="strength of the penalty (default: 1/rows); cv chooses it by cross-validation, and writes the path beside "
        "the model: OUT.path.csv, and OUT.path.png if matplotlib is installed",
    )
    group.add_argument("--folds", type=count, metavar="K", help="folds of --alpha cv (default: 5)")
    group.add_argument(
        "--rule",
        choices=("best", "1se"),
        help="with --alpha cv: the best mean score (default), or the largest alpha within one standard error of it",
    )
    group.add_argument("--l2", type=not_negative, help="strength of the ridge penalty (default: 1/rows)")
    group.add_argument(
        "--l1-ratio",
        type=share,
        default=0.0,
        metavar="R",
        help="share of the L1 norm of the coefficients in the penalty, from 0 to 1; the rest is the graph (default: 0)",
    )


def _add_solver_options(parser: Parser) -> None:
    group = parser.add_argument_group("solver")
    group.add_argument(
        "--solver",
        default="auto",
        choices=Registered("SOLVERS", "auto"),
        metavar="SOLVER",
        help="%(choices)s (default: auto). auto loads rows that take at most a quarter of the memory, and runs until "
        "the relative duality gap is at most --tol; for more rows, standard input, or with --epochs it is ada-diag",
    )
    group.add_argument(
        "--tol",
        type=not_negative,
        default=1e-6,
        help="relative duality gap at which auto, admm and alm stop (default: 1e-6)",
    )
    group.add_argument(
        "--epochs",
        type=count,
        metavar="N",
        help="passes over the rows; for admm and alm, iterations (default for ada-diag: 2)",
    )
    group.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed for the order of blocks and rows (default: 0)"
    )
    group.add_argument("--checkpoint", type=Path, metavar="DIR", help="save to DIR every 60 s and on Ctrl-C")
    group.add_argument(
        "--checkpoint-every", type=not_negative, metavar="SECONDS", help="seconds between two saves (default: 60)"
    )
    group.add_argument("--resume", action="store_true", help="resume the run saved in --checkpoint, if there is one")
    group.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler, tcp://host:port; workers read the files")


def _add_output_options(parser: Parser) -> None:
    group = parser.add_argument_group("files and validation")
    group.add_argument("--model", required=True, type=Path, metavar="OUT", help="file for the fitted model")
    group.add_argument("--table", type=Path, metavar="OUT", help="with --terms: CSV file for coefficients by level")
    group.add_argument("--valid", nargs="+", metavar="FILE", help="validation rows; their loss and error are printed")
    group.add_argument(
        "--validation-fraction",
        type=share,
        default=0.0,
        metavar="F",
        help="fraction of the rows to hold out; their loss is printed (default: 0)",
    )
    add_output(parser)


def _strength_or_cv(text: str) -> float | str:
    return text if text == "cv" else not_negative(text)


# --- the command -----------------------------------------------------------------------------------------------------


def _fit(options: argparse.Namespace) -> int:
    from ..models import save_model
    from . import stream

    _check(options)
    if options.terms is not None:
        from .terms import fit_terms

        return fit_terms(options)
    check_file(options.model, "--model")
    if options.alpha == "cv":
        check_file(_path_file(options.model, "csv"), "--model")
    model = _model(options)
    if options.files == ["-"]:
        fitted, figures = model, stream.learn(model, sys.stdin.buffer, options)
    else:
        with rows(options) as source:
            fitted = _fitted(model, source, options)
            figures = stream.figures_of(model, source)
    figures |= {"edges": len(model.graph_), "model": str(options.model)}
    if options.valid:
        names = stream.feature_names(fitted)
        valid = source_of(options.valid, options, features=model.n_features_in_, names=names)
        figures["valid"] = stream.judge(fitted, valid)
    if options.alpha == "cv":
        figures |= _write_path(fitted, options.model)
    save_model(fitted, options.model)
    print_figures(figures, options.json)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Reject options that do not apply, and a missing package, before any row is read."""
    refuse(options, _reasons(options))
    if options.folds == 1:
        raise Wrong("--folds must be at least 2, got 1")
    if options.validation_fraction == 1.0:
        raise Wrong("--validation-fraction must be below 1: a model needs rows to learn from")
    if find_spec("skops") is None:
        raise Failed('models are saved by skops: pip install "adasadmm[cli]"')


def _reasons(options: argparse.Namespace) -> dict[str, str]:
    """The options that do not apply beside the others, with the reason for each."""
    reasons: dict[str, str] = {}
    if options.files == ["-"]:
        reasons["terms"] = "needs files: standard input has no column names"
        reasons |= {**OF_COLUMNS, **dict.fromkeys(("checkpoint", "scheduler", "scale", "cache"), ONCE)}
        reasons["validation_fraction"] = "needs files: rows from standard input have a progressive loss"
    else:
        reasons["classes"] = "is for rows from standard input: files are searched for their classes"
    if options.checkpoint is None:
        reasons["resume"] = "needs --checkpoint DIR, the folder of the run to resume"
        reasons["checkpoint_every"] = "needs --checkpoint DIR, the folder to save to"
    if options.scheduler is not None:
        reasons["cache"] = "does not work with --scheduler: the workers keep the rows in memory"
    if options.terms is None:
        reasons["table"] = "needs --terms FILE: it writes the coefficients by level"
    if options.alpha != "cv":
        return reasons | dict.fromkeys(("folds", "rule"), "needs --alpha cv")
    if options.files == ["-"]:
        reasons["alpha"] = f"cv {ONCE}"
    in_memory = "does not work with --alpha cv, which loads the rows and fits them several times"
    reasons |= dict.fromkeys(("scheduler", "checkpoint", "resume"), in_memory)
    reasons["validation_fraction"] = "does not work with --alpha cv, which holds out rows by itself: use --valid FILE"
    return reasons


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


def _fitted(model: Model, source: Source, options: argparse.Namespace) -> Fitted:
    """Fit a model to a source; with ``--scale`` the result is a pipeline that scales first."""
    from ..sources import scaled

    found = scaled(source) if options.scale else source
    model._watch(found)
    _check_targets(model, found)
    model.fit(found, checkpoint=_checkpoint(options), resume=options.resume)
    if not options.scale:
        return model
    from sklearn.pipeline import make_pipeline

    # The scaler has the names, and passes on an array without: a model with names would warn of that.
    model.__dict__.pop("feature_names_in_", None)
    return make_pipeline(found.scaler, model)  # type: ignore[attr-defined]


def _checkpoint(options: argparse.Namespace) -> Checkpoint | None:
    from .. import Checkpoint

    every = {} if options.checkpoint_every is None else {"every": options.checkpoint_every}
    return None if options.checkpoint is None else Checkpoint(options.checkpoint, **every)


def _check_targets(model: Model, source: Source) -> None:
    """Reject fractional targets for a classifier and text for a regressor: the wrong --loss was given."""
    from sklearn.base import is_classifier

    labels = source.summary.labels
    texts = [label for label in labels or () if isinstance(label, str)]
    if is_classifier(model):
        whole = labels is not None and (texts or all(float(label).is_integer() for label in labels))
        if not whole and (labels is None or len(labels) > MOST_CLASSES):
            many = "too many" if labels is None else f"{len(labels)}"
            raise Wrong(
                f"the targets of {source!r} have {many} distinct values, so they are not classes: "
                "use --loss squared for a regression"
            )
    elif texts:
        raise Wrong(
            f"the targets of {source!r} are text, such as {texts[0]!r}: use --loss hinge or logistic for classes"
        )


# --- the path of --alpha cv ------------------------------------------------------------------------------------------


def _path_file(model: Path, kind: str) -> Path:
    """The file beside the model, ``m.path.csv`` for ``m.skops``."""
    return model.with_name(f"{model.stem}.path.{kind}")


def _write_path(fitted: Fitted, file: Path) -> dict[str, Any]:
    """Write the path beside the model; returns the figures to print."""
    from .stream import feature_names, last_step

    model: PathCV = last_step(fitted)
    table = _path_file(file, "csv")
    _write_table(model, feature_names(fitted), table)
    figures = {"alpha": model.alpha_, "l2": model.l2_, "path": str(table)}
    if find_spec("matplotlib") is not None:
        figures["picture"] = str(_draw(fitted, _path_file(file, "png")))
    return figures


def _write_table(model: PathCV, names: list[str] | None, file: Path) -> None:
    """A line for each alpha: scores, degrees of freedom, gap, and the coefficients by name."""
    import numpy as np

    results, coefs = model.cv_results_, np.atleast_3d(model.coef_path_)
    features = [f"x{j}" for j in range(coefs.shape[2])] if names is None else list(names)
    classes = [""] if len(coefs) == 1 else [f"{label}:" for label in model.classes_]
    shown = [name for name in results if name.endswith("_test_score")]
    header = ["alpha", "chosen", *shown]
    header += [f"{of}{name}" for of in classes for name in ("df", "relative_gap")]
    header += [f"{of}{feature}" for of in classes for feature in features]
    df, gaps = np.atleast_2d(model.df_path_), np.atleast_2d(model.dual_gap_path_)
    with open_table(file) as table:
        table.line(header)
        for k, alpha in enumerate(model.alphas_):
            line: list[Any] = [float(alpha), int(alpha == model.alpha_), *(results[name][k] for name in shown)]
            line += [value for c in range(len(classes)) for value in (df[c, k], gaps[c, k])]
            table.line([*line, *coefs[:, k].ravel().tolist()])


def _draw(model: Fitted, file: Path) -> Path:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from .._core.files import written_whole
    from ..estimators import PathDisplay

    PathDisplay.from_estimator(model)
    figure = plt.gcf()
    with written_whole(file) as stream:
        figure.savefig(stream, format="png", dpi=150, bbox_inches="tight")
    plt.close(figure)
    return file
