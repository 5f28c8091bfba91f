"""`adasadmm fit --terms` and predictions of such models: tables of any size, read by pyarrow."""

from __future__ import annotations

import argparse
import csv
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .. import TermsClassifier, TermsClassifierCV, TermsRegressor, TermsRegressorCV, save_model, sources, terms
from ..estimators._terms import TermsModel
from ..registry import CLASSIFICATION_LOSSES
from .common import Wrong, check_file, open_output, print_figures
from .predict import Predictions

__all__ = ["fit_terms", "predict_terms", "terms_of"]

KINDS = {name: getattr(terms, name) for name in terms.__all__}
NOT_TAKEN = (
    *("valid", "checkpoint", "checkpoint_every", "resume", "scheduler", "scale", "cache"),
    *("positive", "l1_ratio", "epochs", "classes", "validation_fraction"),
)


def fit_terms(options: argparse.Namespace) -> int:
    """Fit a model of terms to the files, save it, and write the table of its coefficients."""
    for name in NOT_TAKEN:
        if getattr(options, name, None):
            raise Wrong(f"--{name.replace('_', '-')} does not work with --terms")
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
    figures |= {name: len(np.unique(groups)) for name, groups in _named(model)}
    figures |= {
        "objective": model._objectives[0],
        "relative_gap": float(np.max(model.dual_gap_)),
        "seconds": time.perf_counter() - begin,
        "model": str(options.model),
    }
    save_model(model, options.model)
    if options.table is not None:
        with open_output(str(options.table)) as file:
            _write_table(model, file)
        figures["table"] = str(options.table)
    print_figures(figures, options.json)
    return 0


def model_of(listed: list, options: argparse.Namespace) -> Any:
    """The model of these terms that the options describe; with ``--alpha cv`` its search."""
    classifies, common = options.loss in CLASSIFICATION_LOSSES, {"loss": options.loss, "solver": options.solver}
    common["tol"] = options.tol
    if options.alpha != "cv":
        strengths = {name: value for name in ("alpha", "l2") if (value := getattr(options, name)) is not None}
        return (TermsClassifier if classifies else TermsRegressor)(listed, **common, **strengths)
    search: dict[str, Any] = {"cv": options.folds, "rule": options.rule or "best"}
    if options.l2 is not None:
        search["l2s"] = [options.l2]
    return (TermsClassifierCV if classifies else TermsRegressorCV)(listed, **common, **search)


def predict_terms(model: TermsModel, options: argparse.Namespace) -> int:
    """Write one line for each row of the files, block by block, as for other models."""
    kept = [] if options.keep is None else options.keep.split(",")
    writer, rows = Predictions(model, options.proba, kept), model._opened(opened(options, False))
    rows.keep(kept)
    model._encoded = True  # the blocks have been encoded
    with open_output(options.out) as file:
        writer.write(rows.raw_blocks(), file)
    return 0


# --- reading ---------------------------------------------------------------------------------------------------------


def terms_of(path: Path) -> list:
    """The terms of a TOML file: tables ``[[term]]`` with ``kind`` and the parameters of the term."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise Wrong(f"--terms: {path} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise Wrong(f"--terms: {path} is not TOML: {error}") from None
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
        raise Wrong("--terms needs files: standard input has no column names")
    if options.offset is not None and options.exposure is not None:
        raise Wrong("--offset and --exposure: give one of them, not both")
    return sources.tables(options.files, target=target, offset=options.offset, exposure=options.exposure)


# --- writing ---------------------------------------------------------------------------------------------------------


def _named(model: TermsModel) -> Iterable[tuple[str, np.ndarray]]:
    return ((f"groups of {name}", groups) for name, groups in model.groups_.items())


def _write_table(model: TermsModel, file: TextIO) -> None:
    found = model.coef_table()
    _write({name: found.column(name).to_numpy() for name in found.column_names}, file)


def _write(columns: dict[str, Any], file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_text(value) for value in row] for row in zip(*columns.values(), strict=True))


def _text(value: Any) -> Any:
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else f"{value:.9g}"
    return value
