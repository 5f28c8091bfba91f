"""`adasadmm fit --terms` and predictions of such models: tables of any size, read by pyarrow."""

from __future__ import annotations

import argparse
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from .. import TermsClassifier, TermsClassifierCV, TermsRegressor, TermsRegressorCV, save_model, sources, terms
from ..estimators._terms import TermsModel
from ..registry import CLASSIFICATION_LOSSES
from .command import Wrong, print_figures, refuse
from .files import check_file, open_table
from .stream import Predictions, certified

__all__ = ["fit_terms", "predict_terms", "terms_of"]

KINDS = {name: getattr(terms, name) for name in terms.__all__}
TAKEN = {"command", "files", "target", "offset", "exposure", "model", "json", "quiet", "debug"}
FIT = TAKEN | {"terms", "table", "loss", "alpha", "l2", "folds", "rule", "solver", "tol", "seed"}
PREDICT = TAKEN | {"proba", "keep", "out"}
INSTEAD = {  # what takes the place of an option
    "on_bad_row": ": the parameters missing and unknown of a term say what happens to such values",
    "graph": ": each term has edges of its own",
    **dict.fromkeys(("columns", "drop"), ": the terms name their columns, and others are ignored"),
}


def fit_terms(options: argparse.Namespace) -> int:
    """Fit a model of terms to the files, save it, and write the table of its coefficients."""
    _check_taken(options, FIT, "--terms")
    listed = terms_of(options.terms)
    check_file(options.model, "--model")
    if options.table is not None:
        check_file(options.table, "--table")
    rows, model = opened(options, options.target), model_of(listed, options)
    begin = time.perf_counter()
    model.fit(rows)
    figures: dict[str, Any] = {
        "rows": model._design.rows,
        "columns": len(model.feature_names_in_),
        "coefficients": int(model.coef_.size),
    }
    figures |= {"alpha": model.alpha_} if options.alpha == "cv" else {}
    figures |= {f"groups of {name}": _count(groups) for name, groups in model.groups_.items()}
    figures |= {**certified(model), "seconds": time.perf_counter() - begin, "model": str(options.model)}
    save_model(model, options.model)
    if options.table is not None:
        found = model.coef_table()
        with open_table(options.table) as table:
            table.line(found.column_names)
            table.lines(zip(*(map(_cell, column.to_pylist()) for column in found.columns), strict=True))
        figures["table"] = str(options.table)
    print_figures(figures, options.json)
    return 0


def model_of(listed: list, options: argparse.Namespace) -> Any:
    """The model of these terms that the options describe; with ``--alpha cv`` its search."""
    classifies, common = options.loss in CLASSIFICATION_LOSSES, {"loss": options.loss, "solver": options.solver}
    common |= {"tol": options.tol, "random_state": options.seed}
    if options.alpha != "cv":
        strengths = {name: value for name in ("alpha", "l2") if (value := getattr(options, name)) is not None}
        return (TermsClassifier if classifies else TermsRegressor)(listed, **common, **strengths)
    search: dict[str, Any] = {"cv": options.folds, "rule": options.rule or "best"}
    if options.l2 is not None:
        search["l2s"] = [options.l2]
    return (TermsClassifierCV if classifies else TermsRegressorCV)(listed, **common, **search)


def predict_terms(model: TermsModel, options: argparse.Namespace) -> int:
    """Write one line for each row of the files, block by block, as for other models."""
    _check_taken(options, PREDICT, "a model of terms")
    kept = [] if options.keep is None else options.keep.split(",")
    writer, rows = Predictions(model, options.proba, kept), model._opened(opened(options, options.target or False))
    rows.keep(kept)
    model._encoded = True  # the blocks have been encoded
    with open_table(options.out) as table:
        writer.write(rows.raw_blocks(), table)
    return 0


def _check_taken(options: argparse.Namespace, taken: set[str], what: str) -> None:
    """Reject options that would be ignored."""
    others = [name for name in vars(options) if name not in taken]
    refuse(options, {name: f"does not work with {what}{INSTEAD.get(name, '')}" for name in others})


# --- reading ---------------------------------------------------------------------------------------------------------


def terms_of(path: Path) -> list:
    """The terms of a TOML file: tables ``[[term]]`` with ``kind`` and the parameters of the term."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Wrong(f"--terms: {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Wrong(f"--terms: {path} is not TOML in UTF-8: {error}") from None
    except RecursionError:
        raise Wrong(f"--terms: {path} is not a list of terms: its values are nested too deeply") from None
    entries = content.get("term")
    if not isinstance(entries, list) or not entries:
        raise Wrong(f'--terms: {path} needs entries such as [[term]] with kind = "ordered" and column = "age"')
    return [_term(dict(entry), path, number) for number, entry in enumerate(entries, 1)]


def _term(entry: dict[str, Any], path: Path, number: int) -> Any:
    kind = entry.pop("kind", None)
    if kind not in KINDS:
        raise Wrong(f"--terms: term {number} of {path} has the kind {kind!r}; it must be one of {', '.join(KINDS)}")
    if isinstance(entry.get("edges"), str):
        entry["edges"] = str(path.parent / entry["edges"])
    try:
        return KINDS[kind](**entry)
    except TypeError as error:
        raise Wrong(f"--terms: term {number} of {path}: {str(error).replace('__init__()', kind)}") from None
    except ValueError as error:
        raise Wrong(f"--terms: term {number} of {path}: {error}") from None


def opened(options: argparse.Namespace, target: Any) -> sources.Tables:
    """The rows of the files, block by block."""
    if options.files == ["-"]:
        raise Wrong("a model of terms needs files: standard input has no column names")
    if options.offset is not None and options.exposure is not None:
        raise Wrong("--offset and --exposure: give one of them, not both")
    return sources.tables(options.files, target=target, offset=options.offset, exposure=options.exposure)


# --- writing ---------------------------------------------------------------------------------------------------------


def _count(groups: np.ndarray) -> int | list[int]:
    """The number of groups; one per class if there are several."""
    counts = [len(np.unique(labels)) for labels in np.atleast_2d(groups)]
    return counts[0] if len(counts) == 1 else counts


def _cell(value: Any) -> Any:
    return value if not isinstance(value, float) else "" if np.isnan(value) else f"{value:.9g}"
