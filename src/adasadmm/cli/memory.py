"""`adasadmm fit` for rows that fit in memory: read once, scaled on request, fitted until a gap is proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline, make_pipeline

from .. import graphs
from ..linalg.matrices import plain
from ..sources import Source, SourceError

__all__ = ["check_targets", "fit_in_memory", "fits_in_memory", "gathered", "last_step", "scaled", "scaled_rows"]

NAMED = ("glasso", "knn", "chain")
MOST_CLASSES = 20  # more different targets than these, and not whole: numbers
MOST_ENTRIES = 2**26  # numbers that are kept in memory: half a gigabyte


def fits_in_memory(source: Source) -> bool:
    return source.summary.entries <= MOST_ENTRIES


def fit_in_memory(model: Any, source: Source, scale: bool, **keeping: Any) -> BaseEstimator:
    """Fit to all rows at once; with ``scale`` it becomes a pipeline that scales first."""
    X, y = gathered(source)
    if y is None:
        raise SourceError(f"{source!r} has no targets")
    if isinstance(model.graph, str) and model.graph not in NAMED:  # a file, whose names become numbers: X has none
        given = graphs.as_graph(model.graph, X.shape[1], feature_names=source.feature_names)
        model.set_params(graph=(given.edges, given.weights))
    steps: list[Any] = [_scaler(X)] if scale else []
    for step in steps:
        X = step.transform(X)
    model.fit(X, y, **keeping)
    model._know_features(source)
    return make_pipeline(*steps, model) if steps else model


def check_targets(model: Any, source: Source) -> None:
    """Refuse numbers for classes and texts for numbers: another loss was meant."""
    labels = source.summary.labels
    texts = [label for label in labels or () if isinstance(label, str)]
    if is_classifier(model):
        whole = labels is not None and (texts or all(float(label).is_integer() for label in labels))
        if not whole and (labels is None or len(labels) > MOST_CLASSES):
            many = "too many to be" if labels is None else f"{len(labels)} numbers, no"
            raise SourceError(f"the targets of {source!r} are {many} classes: --loss squared fits numbers")
    elif texts:
        raise SourceError(
            f"the targets of {source!r} are texts such as {texts[0]!r}: --loss hinge or logistic fits classes"
        )


def gathered(source: Source) -> tuple[Any, np.ndarray | None]:
    """All rows of a source, and their targets where it has any."""
    pieces = list(source.raw_blocks())
    blocks = [plain(piece.X) for piece in pieces]
    X = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
    targets = [piece.y for piece in pieces if piece.y is not None]
    return X, np.concatenate(targets) if targets else None


def scaled(source: Source) -> Any:
    """All rows of a source on one scale."""
    X, _ = gathered(source)
    return _scaler(X).transform(X)


def _scaler(X: Any) -> Any:
    """Columns of standard deviation 1 and, unless that would fill a sparse matrix, of mean 0."""
    from sklearn.preprocessing import StandardScaler

    return StandardScaler(with_mean=not sp.issparse(X)).fit(X)


def last_step(model: Any) -> Any:
    """The linear model itself, behind a scaler where there is one."""
    return model[-1] if isinstance(model, Pipeline) else model


def scaled_rows(model: Any, X: Any) -> Any:
    """Rows as the linear model wants them."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) else X
