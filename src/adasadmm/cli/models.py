"""Models as `adasadmm fit` makes them: a linear model, or a pipeline that scales first."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline, make_pipeline

from ..checkpoints import Checkpoint
from ..estimators import GraphGuidedClassifier, GraphGuidedRegressor
from ..estimators._summary import NO_BOUND
from ..estimators._terms import TermsModel
from ..sources import Source, SourceError, scaled

__all__ = [
    "Fitted",
    "Matrix",
    "Model",
    "certified",
    "check_targets",
    "feature_names",
    "fitted",
    "last_step",
    "scaled_rows",
]

Model: TypeAlias = GraphGuidedClassifier | GraphGuidedRegressor
Fitted: TypeAlias = Model | Pipeline  # a pipeline if the rows are scaled first
Matrix: TypeAlias = np.ndarray | sp.csr_array

MOST_CLASSES = 20  # targets with more distinct values than this, not all integers, are not classes


def fitted(model: Model, source: Source, scale: bool, checkpoint: Checkpoint | None, resume: bool) -> Fitted:
    """Fit a model to a source; with ``scale`` the result is a pipeline that scales first."""
    rows = scaled(source) if scale else source
    model._watch(rows)
    check_targets(model, rows)
    model.fit(rows, checkpoint=checkpoint, resume=resume)
    if not scale:
        return model
    # The scaler has the names, and passes on an array without: a model with names would warn of that.
    model.__dict__.pop("feature_names_in_", None)
    return make_pipeline(rows.scaler, model)  # type: ignore[attr-defined]


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


def feature_names(model: Fitted) -> list[str] | None:
    """Return the feature names that a model was fitted with, or None if they had no names."""
    for step in (model[0], model[-1]) if isinstance(model, Pipeline) else (model,):
        names = getattr(step, "feature_names_in_", None)
        if names is not None:
            return list(names)
    return None


def certified(model: Model | TermsModel) -> dict[str, Any]:
    """The objective of the saved coefficients and its relative gap; one each per class if there are several.

    None stands for a gap that proves nothing.
    """
    objectives, gaps = model._objectives, np.atleast_1d(model.dual_gap_)
    useful = [max(float(gap), 0.0) if gap < NO_BOUND else None for gap in gaps]
    return {
        "objective": objectives[0] if len(objectives) == 1 else objectives,
        "relative_gap": useful[0] if len(useful) == 1 else useful,
    }


def last_step(model: Fitted) -> Model:
    """Return the linear model, which is the last step if the model is a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def scaled_rows(model: Fitted, X: Matrix) -> Matrix:
    """Apply the scaler of a pipeline, if there is one."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) else X
