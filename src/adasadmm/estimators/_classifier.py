"""Linear classifiers: labels, weights of classes, scores, probabilities."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import distributed
from ..losses import Logistic
from ..registry import CLASSIFICATION_LOSSES
from ..sources import Source, SourceError
from . import _fitting, _predicting
from ._base import LinearModel, all_or_nothing
from ._callbacks import with_callbacks

__all__ = ["LinearClassifier"]


class SignOf(NamedTuple):
    """+1 for a label, -1 for all others."""

    label: Any

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return np.where(y == self.label, 1.0, -1.0)


class WeightOfClass(NamedTuple):
    """The weight of each row's class."""

    classes: np.ndarray
    weights: np.ndarray

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return self.weights[np.searchsorted(self.classes, y)]


class LinearClassifier(ClassifierMixin, LinearModel):
    """Two classes by one linear function, several by one against the rest."""

    class_weight: Any

    _parameter_constraints: ClassVar[dict] = {
        **LinearModel._parameter_constraints,
        "loss": [StrOptions(set(CLASSIFICATION_LOSSES)), tuple],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None, resume: bool = False
    ) -> LinearClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a source
            A source (`adasadmm.sources`) has its own targets and weights. A Dask array or data frame, with y of the
            same kind, is fitted on the workers of the current client (`adasadmm.distributed`).
        y : array of shape (n,)
            Labels of any kind.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row that stands twice.
        checkpoint : Checkpoint, optional
            Where the fit is kept on disk as it goes, and when it is interrupted; then ``random_state=None`` means 0.
        resume : bool
            Go on from the checkpoint, where there is one, to the same model as if nothing had happened.

        Returns
        -------
        self
        """
        if distributed.is_dask(X):
            X, y, sample_weight = distributed.source_of(X, y, sample_weight), None, None
        if isinstance(X, Source):
            if y is not None or sample_weight is not None:
                raise ValueError("y and sample_weight must be None beside a source, which has its own")
            return self._fit_source(X, checkpoint, resume)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier needs at least 2 classes, y has one class only: {self.classes_[0]}")
        weight = self._weights(X, y, sample_weight)
        self._fit(X, self._targets(y), weight, checkpoint, resume)
        return self

    def _fit_source(self, source: Source, checkpoint: Any, resume: bool) -> LinearClassifier:
        found = source.summary.labels
        if not found:
            what = "no targets" if found is not None else "more than 1000 different targets: these are no classes"
            raise SourceError(f"{source!r} has {what}")
        self.classes_ = np.unique(list(found))
        check_classification_targets(self.classes_)
        if len(self.classes_) < 2:
            raise SourceError(f"a classifier needs at least 2 classes, {source!r} has one only: {self.classes_[0]}")
        weights = None
        if self.class_weight is not None:
            share = np.array([found[label][1] for label in self.classes_.tolist()])
            classes = {"classes": self.classes_, "y": self.classes_, "sample_weight": share}
            weights = WeightOfClass(self.classes_, compute_class_weight(self.class_weight, **classes))
        self._know_features(source)
        self._fit(source, [source.view(SignOf(label), weights) for label in self._positive()], None, checkpoint, resume)
        return self

    def _weights(self, X: Any, y: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        if sample_weight is None and self.class_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=weight)
            weight = weight * of_class[np.searchsorted(self.classes_, y)]
            if not weight.any():
                raise ValueError(f"class_weight leaves no row with a weight above 0: {self.class_weight!r}")
        return weight

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        """Labels -1 and +1 of each linear function."""
        return [SignOf(label)(y) for label in self._positive()]

    def _positive(self) -> np.ndarray:
        """The classes that have a linear function: the second of two, else all."""
        return self.classes_[1:] if len(self.classes_) == 2 else self.classes_

    def _labels(self, targets: list[np.ndarray]) -> np.ndarray:
        chosen = (targets[0] > 0.0).astype(int) if len(targets) == 1 else np.argmax(targets, axis=0)
        return self.classes_[chosen]

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> LinearClassifier:
        """Take up a block of rows, in the order given; the state of the run goes on.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of shape (n,)
        classes : array, optional
            All labels that can occur; needed in the first call.
        sample_weight : array of shape (n,), optional
            Taken as they are: in a stream their mean is not known.

        Returns
        -------
        self
        """
        first = not hasattr(self, "coef_")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C", reset=first)
        check_classification_targets(y)
        if self.class_weight == "balanced":
            raise ValueError('class_weight="balanced" is not known in a stream: give the weights as a dict')
        if first:
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit")
            self.classes_ = np.unique(classes)
            if len(self.classes_) < 2:
                raise ValueError(f"a classifier needs at least 2 classes, got one: {self.classes_[0]}")
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes differ from those of the first call, {self.classes_}: got {classes!r}")
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(f"y has a label that is not in classes: {unknown[0]}")
        self._partial_fit(X, self._targets(y), self._weights(X, y, sample_weight))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row: (n,) for two classes, (n, classes) for more."""
        scores = _predicting.scores(self, X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; with two classes a score of 0 counts as the second, as in the paper."""
        scores = self.decision_function(X)
        return self.classes_[(scores >= 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(lambda self: _has_probabilities(self))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class (logistic loss only), one against the rest where there are several."""
        scores = self.decision_function(X)
        positive = 1.0 / (1.0 + np.exp(-np.clip(scores, -700.0, 700.0)))
        if scores.ndim == 1:
            return np.column_stack([1.0 - positive, positive])
        return positive / positive.sum(axis=1, keepdims=True)

    @available_if(lambda self: _has_probabilities(self))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted. A source has its own targets and weights."""
        return super().score(X, *_predicting.targets(X, y, sample_weight))

    def to_sklearn(self) -> Any:
        """A plain scikit-learn model with the same predictions, to be served or exported without this package.

        `LinearSVC` for the hinge losses; for the logistic one `LogisticRegression`, or with several classes
        `SGDClassifier`, whose probabilities are one against the rest, too.
        """
        check_is_fitted(self)
        if not isinstance(_fitting.as_loss(self.loss), Logistic):
            plain: Any = LinearSVC()
        elif len(self.classes_) == 2:
            plain = LogisticRegression()
        else:
            plain = SGDClassifier(loss="log_loss")
        intercept = self.intercept_.copy()
        if len(self.classes_) == 2 and intercept[0] == 0.0:
            # There a score of 0, which an empty row has, counts as the first class.
            intercept[0] = np.finfo(np.float32).tiny
        plain.classes_ = self.classes_
        return self._told_to(plain, self._dense_coef().copy(), intercept)


def _has_probabilities(estimator: Any) -> bool:
    if isinstance(_fitting.as_loss(estimator.loss), Logistic):
        return True
    raise AttributeError(f'predict_proba needs loss="logistic", this model has loss={estimator.loss!r}')
