"""Models and rows block by block: learning from standard input, validation, predictions."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from .. import losses
from ..estimators import GraphGuidedClassifier, GraphGuidedRegressor, _predicting
from ..estimators._fitting import as_loss
from ..estimators._summary import NO_BOUND
from ..estimators._terms import TermsModel
from ..rows.matrices import plain
from ..sources import Faults, RawBlock, Source, SourceError
from ..sources._svmlight import SvmlightSource
from ..sources._text import chunks_of_lines
from .command import Wrong, refuse
from .files import OF_COLUMNS, TableWriter

__all__ = [
    "Fitted",
    "Model",
    "Predictions",
    "certified",
    "feature_names",
    "figures_of",
    "judge",
    "last_step",
    "learn",
    "pieces",
]

Model: TypeAlias = GraphGuidedClassifier | GraphGuidedRegressor
Fitted: TypeAlias = Model | Pipeline  # a pipeline if the rows are scaled first
Matrix: TypeAlias = np.ndarray | sp.csr_array

BLOCK = 1000  # rows of a stream per call of partial_fit
STREAM = "standard input"


# --- models ----------------------------------------------------------------------------------------------------------


def feature_names(model: Fitted) -> list[str] | None:
    """Return the feature names that a model was fitted with, or None if they had no names."""
    for step in (model[0], model[-1]) if isinstance(model, Pipeline) else (model,):
        names = getattr(step, "feature_names_in_", None)
        if names is not None:
            return list(names)
    return None


def last_step(model: Fitted) -> Model:
    """Return the linear model, which is the last step if the model is a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def scaled_rows(model: Fitted, X: Matrix) -> Matrix:
    """Apply the scaler of a pipeline, if there is one."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) else X


def figures_of(model: Model, source: Source) -> dict[str, Any]:
    """The figures of a fit; each of them belongs to the model that is saved."""
    found, (place, reason) = source.summary, model._place
    solvers = model.solver_ if isinstance(model.solver_, list) else [model.solver_]
    traces = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    figures = {
        "rows": found.rows,
        "features": found.features,
        "skipped": found.skipped,
        "place": place,
        "reason": reason,
        "solver": type(solvers[0]).__name__,
        "iterations" if solvers[0].uses_all_rows else "epochs": int(model.n_iter_),
        **certified(model),
        "seconds": sum(float(trace["seconds"][-1]) for trace in traces if len(trace["seconds"])),
    }
    if model._progressive is not None:  # the loss of each row of the first pass before it was used
        figures["progressive_loss"] = _of_each_class(model._progressive)
    if getattr(model, "validation_loss_", None) is not None:  # of the rows that were held out
        figures["validation_loss"] = _of_each_class(np.atleast_1d(model.validation_loss_).tolist())
        figures["validation_rows"] = model._validation_rows
    return figures


def certified(model: Model | TermsModel) -> dict[str, Any]:
    """The objective of the saved coefficients and its relative gap; one each per class if there are several.

    None stands for a gap that proves nothing.
    """
    gaps = [max(float(gap), 0.0) if gap < NO_BOUND else None for gap in np.atleast_1d(model.dual_gap_)]
    return {"objective": _of_each_class(model._objectives), "relative_gap": _of_each_class(gaps)}


def _of_each_class(figures: list) -> Any:
    """The figures of the classes; a single one by itself."""
    return figures[0] if len(figures) == 1 else figures


# --- standard input --------------------------------------------------------------------------------------------------


def pieces(
    stream: BinaryIO, options: argparse.Namespace, features: int | None, faults: Faults | None = None
) -> Iterator[RawBlock]:
    """Parse svmlight lines from a stream as they arrive."""
    refuse(options, OF_COLUMNS)
    if features is None:
        raise SourceError("the number of features of a stream is not known in advance: give --n-features")
    parser = SvmlightSource([], options.zero_based, n_features=features)
    faults = Faults(options.on_bad_row) if faults is None else faults
    return parser.parse_chunks(chunks_of_lines(stream, BLOCK, STREAM), STREAM, faults)


def learn(model: Model, stream: BinaryIO, options: argparse.Namespace) -> dict[str, Any]:
    """Fit a model in one pass over a stream.

    Each block is predicted before the model is fitted to it, which gives the progressive validation loss.
    """
    faults, begin = Faults(options.on_bad_row), time.perf_counter()
    classes = _classes(options) if is_classifier(model) else None
    known = {} if classes is None else {"classes": classes}
    total, last, next_line = Score(model, classes), Score(model, classes), BLOCK
    verbose = not options.json and not options.quiet
    if verbose:
        print(Score.head, flush=True)
    try:
        for piece in pieces(stream, options, options.n_features, faults):
            X, y = plain(piece.X), np.asarray(piece.y)
            _check_labels(y, classes)
            scores = _predicting.scores(model, X) if hasattr(model, "coef_") else None
            total.add(scores, y)
            last.add(scores, y)
            model.partial_fit(X, y, **known)
            if verbose and total.rows >= next_line:
                print(total.line(last), flush=True)
                last, next_line = Score(model, classes), 2 * total.rows
    except KeyboardInterrupt:
        print("\nadasadmm: stopped; the model is fitted to the rows read so far", file=sys.stderr)
    if not total.rows:
        raise SourceError(f"{STREAM} has no rows")
    missing = [] if classes is None else [label for label in classes.tolist() if label not in total.seen]
    if missing:
        raise SourceError(f"{STREAM} has no row of class {missing[0]:g}: list only classes that occur with --classes")
    if faults.count:
        print(f"adasadmm: warning: {faults.count} bad rows skipped: {'; '.join(faults.messages[:3])}", file=sys.stderr)
    seconds = time.perf_counter() - begin
    figures = {"rows": total.rows, "features": options.n_features, "skipped": faults.count, "seconds": seconds}
    return {**figures, "progressive": total.figures()}


def _check_labels(y: np.ndarray, classes: np.ndarray | None) -> None:
    strange = [] if classes is None else np.setdiff1d(y, classes).tolist()
    if strange:
        known = ",".join(f"{label:g}" for label in classes)  # type: ignore[union-attr]
        raise SourceError(
            f"{STREAM} has the label {strange[0]:g}, which is not in --classes {known}: list all labels there"
        )


def _classes(options: argparse.Namespace) -> np.ndarray:
    try:
        return np.unique([float(label) for label in (options.classes or "-1,1").split(",")])
    except ValueError:
        raise SourceError(f"--classes must be comma-separated numbers such as -1,1, got {options.classes!r}") from None


# --- validation and predictions --------------------------------------------------------------------------------------


class Score:
    """Running sums of loss and errors; ``classes`` is None for a regression."""

    head = f"{'average loss':>14}{'since last':>14}{'error':>10}{'rows':>14}{'rows/s':>16}"

    def __init__(self, model: Model, classes: np.ndarray | None) -> None:
        self.loss, self.classes, self.begin = as_loss(model.loss), classes, time.perf_counter()
        self.rows, self.total, self.errors = 0, 0.0, 0.0
        self.seen: set[Any] = set()

    def add(self, scores: np.ndarray | None, y: np.ndarray) -> None:
        """Add rows by their scores, one column per linear function (None before the first fit), and their targets."""
        n, classes = len(y), self.classes
        columns = 1 if classes is None or len(classes) == 2 else len(classes)
        scores = np.zeros((n, columns)) if scores is None else scores
        if classes is None:
            targets = [np.asarray(y, dtype=float)]
            predicted = np.exp(scores[:, 0]) if losses.has_log_link(self.loss) else scores[:, 0]
            self.errors += float(np.sum((predicted - targets[0]) ** 2))
        else:
            targets = [np.where(y == label, 1.0, -1.0) for label in classes[-columns:]]
            best = (scores[:, 0] >= 0.0).astype(int) if columns == 1 else scores.argmax(axis=1)
            self.errors += float(np.sum(classes[best] != y))
            self.seen.update(np.unique(y).tolist())
        if classes is not None and columns > 1 and isinstance(self.loss, (losses.Logistic, losses.Multinomial)):
            together = losses.Multinomial(columns), np.searchsorted(classes, y).astype(float)
            flat = scores.reshape(-1), losses.targets(*together).reshape(-1), np.full(n * columns, float(columns))
            self.total += n * float(losses.mean_value(together[0], *flat))
            targets = []
        for k, target in enumerate(targets):
            z = np.ascontiguousarray(scores[:, k])
            self.total += n * float(losses.mean_value(self.loss, z, target, np.ones(n))) / columns
        self.rows += n

    def figures(self) -> dict[str, float]:
        """Return the mean loss, and the error rate or the root mean squared error."""
        share = self.errors / self.rows
        return {"loss": self.total / self.rows, **({"rmse": share**0.5} if self.classes is None else {"error": share})}

    def line(self, last: Score) -> str:
        """Format a line of the progress table; ``last`` has the rows since the previous line."""
        loss, rate = self.figures().values()
        speed = self.rows / max(time.perf_counter() - self.begin, 1e-9)
        return f"{loss:>14.6f}{last.total / last.rows:>14.6f}{rate:>10.4f}{self.rows:>14,}{speed:>16,.0f}"


def judge(model: Fitted, source: Source) -> dict[str, float]:
    """Return the mean loss, and the error rate or the root mean squared error, over a source."""
    linear = last_step(model)
    score = Score(linear, linear.classes_ if is_classifier(linear) else None)
    for piece in source.raw_blocks():
        if piece.y is None:
            raise SourceError(f"{piece.place} has no targets")
        score.add(_predicting.scores(linear, scaled_rows(model, plain(piece.X)), piece.offset), piece.y)
    return score.figures()


class Predictions:
    """Writes one line per row.

    Parameters
    ----------
    model : estimator or Pipeline
    proba : bool
        Whether to write the probability of each class instead of scores.
    kept : sequence of str
        The names of the columns that the blocks pass on.
    """

    def __init__(self, model: Fitted, proba: bool, kept: Sequence[str]) -> None:
        self.model, self.linear, self.proba, self.kept = model, last_step(model), proba, kept
        self.classifies = is_classifier(self.linear)
        if proba and not hasattr(self.linear, "predict_proba"):
            what = f"loss {self.linear.loss}" if self.classifies else "a regression"
            raise Wrong(
                f"--proba needs a model that was fitted with --loss logistic or multinomial; this one has {what}"
            )

    @property
    def header(self) -> list[str]:
        """The kept columns, the prediction, and a column for each score or probability, with the class it is of."""
        names = [*self.kept, "prediction"]
        if not self.classifies:
            return names
        classes = [_text(label) for label in self.linear.classes_.tolist()]
        if self.proba:
            return names + [f"probability_{label}" for label in classes]
        return names + [f"score_{label}" for label in (classes[1:] if len(classes) == 2 else classes)]

    def write(self, blocks: Iterable[RawBlock], out: TableWriter) -> None:
        """Write the header and all rows; the line of an unreadable row has empty fields."""
        header = self.header
        out.line(header)
        empty = [""] * len(header)
        for block in blocks:
            X = scaled_rows(self.model, plain(block.X))
            lines = list(self.lines(X, block.offset, block.kept)) if X.shape[0] else []
            written = 0
            for gap in block.gaps:
                out.lines([*lines[written:gap], empty])
                written = gap
            out.lines(lines[written:])

    def lines(self, X: Any, offset: np.ndarray | None, kept: Iterable[Any]) -> Iterator[list[str]]:
        """The fields of each row of X, which is scaled already."""
        known = {} if offset is None else {"offset": offset}
        columns: list[list[Any]] = [column.tolist() for column in kept]
        columns.append(self.linear.predict(X, **known).tolist())
        if self.classifies:
            compute = self.linear.predict_proba if self.proba else self.linear.decision_function
            columns += np.reshape(compute(X, **known), (len(columns[-1]), -1)).T.tolist()
        return ([_text(value) for value in line] for line in zip(*columns, strict=True))


def _text(value: object) -> str:
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)
