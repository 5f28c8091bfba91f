"""`adasadmm fit` for rows that fit in memory: read once, optionally standardised, fitted until `tol` is reached."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from .. import graphs
from ..checkpoints import Checkpoint
from ..estimators import GraphGuidedClassifier, GraphGuidedRegressor
from ..linalg.matrices import plain
from ..sources import Source, SourceError

__all__ = [
    "Fitted",
    "Matrix",
    "Model",
    "check_targets",
    "fit_in_memory",
    "fits_in_memory",
    "gathered",
    "last_step",
    "scaled",
    "scaled_rows",
]

Model: TypeAlias = GraphGuidedClassifier | GraphGuidedRegressor
Fitted: TypeAlias = Model | Pipeline  # a pipeline if the rows are scaled first
Matrix: TypeAlias = np.ndarray | sp.csr_array

NAMED = ("glasso", "knn", "chain")
MOST_CLASSES = 20  # targets with more distinct values than this, not all integers, are not classes
MOST_ENTRIES = 2**26  # numbers that are held in memory: half a gigabyte


def fits_in_memory(source: Source) -> bool:
    """Whether the rows of a source have at most `MOST_ENTRIES` numbers."""
    return source.summary.entries <= MOST_ENTRIES


def fit_in_memory(
    model: Model, source: Source, scale: bool, checkpoint: Checkpoint | None = None, resume: bool = False
) -> Fitted:
    """Fit to all rows at once; with ``scale`` the result is a pipeline that standardises first."""
    X, y, offset = gathered(source)
    if y is None:
        raise SourceError(f"{source!r} has no targets")
    if (
        isinstance(model.graph, str) and model.graph not in NAMED
    ):  # a file of edges: resolve its feature names here, since X has none
        given = graphs.as_graph(model.graph, X.shape[1], feature_names=source.feature_names)
        model.set_params(graph=(given.edges, given.weights))
    scaler = _scaler(X) if scale else None
    X = X if scaler is None else scaler.transform(X)
    model.fit(X, y, offset=offset, checkpoint=checkpoint, resume=resume)
    model._know_features(source)
    return model if scaler is None else make_pipeline(scaler, model)


def check_targets(model: Model, source: Source) -> None:
    """Reject fractional targets for a classifier and text for a regressor: the wrong --loss was given."""
    labels = source.summary.labels
    texts = [label for label in labels or () if isinstance(label, str)]
    if is_classifier(model):
        whole = labels is not None and (texts or all(float(label).is_integer() for label in labels))
        if not whole and (labels is None or len(labels) > MOST_CLASSES):
            many = "too many" if labels is None else f"{len(labels)}"
            raise SourceError(
                f"the targets of {source!r} have {many} distinct values, so they are not classes: "
                "use --loss squared for a regression"
            )
    elif texts:
        raise SourceError(
            f"the targets of {source!r} are text, such as {texts[0]!r}: use --loss hinge or logistic for classes"
        )


def gathered(source: Source) -> tuple[Matrix, np.ndarray | None, np.ndarray | None]:
    """Read all rows of a source, and its targets and offsets if it has any."""
    pieces = list(source.raw_blocks())
    blocks = [plain(piece.X) for piece in pieces]
    X = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
    targets, offsets = ([values for piece in pieces if (values := piece[k]) is not None] for k in (1, 5))
    return X, *(np.concatenate(values) if values else None for values in (targets, offsets))  # type: ignore[return-value]


def scaled(source: Source) -> Matrix:
    """Read all rows of a source and standardise them."""
    X, *_ = gathered(source)
    return _scaler(X).transform(X)


def _scaler(X: Matrix) -> StandardScaler:
    """Fit a scaler to unit variance and, unless X is sparse, to zero mean."""
    return StandardScaler(with_mean=not sp.issparse(X)).fit(X)


def last_step(model: Fitted) -> Model:
    """Return the linear model, which is the last step if the model is a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def scaled_rows(model: Fitted, X: Matrix) -> Matrix:
    """Apply the scaler of a pipeline, if there is one."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) else X
