"""Predictions as CSV: kept columns, the prediction, and scores or probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import numpy as np
from sklearn.base import is_classifier

from ..rows.matrices import plain
from ..sources import RawBlock
from .common import CsvWriter, Wrong
from .models import Fitted, last_step, scaled_rows

__all__ = ["Predictions"]


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

    def write(self, blocks: Iterable[RawBlock], file: TextIO) -> None:
        """Write the header and all rows; the line of an unreadable row has empty fields."""
        out, header = CsvWriter(file), self.header
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
