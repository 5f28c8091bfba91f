"""The base class of the classifiers: labels, class weights, scores, probabilities."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .. import losses
from ..checkpoints import Checkpoint
from ..losses import Logistic, Multinomial
from ..registry import CLASSIFICATION_LOSSES
from ..sources import Source, SourceError
from ..sources._base import OfTargets
from ..sources._held_out import split
from . import _fitting, _predicting
from ._base import LinearModel
from ._callbacks import with_callbacks
from ._fitted_state import all_or_nothing, from_scratch
from ._gate import rows_and_labels, two_classes
from ._parameters import LossAmong
from ._rows import is_loaded, load, source_of
from ._scoring import accuracy
from ._targets import CodeOf, SignOf, SignsOf, WeightOfClass
from ._types import MatrixLike, PerRow, RowsLike, ValidRows
from ._validation import HeldOutSource

__all__ = ["LinearClassifier"]


class LinearClassifier(ClassifierMixin, LinearModel):
    """One linear function for two classes; for more, one for each class, against the rest or in one softmax."""

    class_weight: dict | str | None
    joint: bool = False

    _parameter_constraints: ClassVar[dict] = {
        **LinearModel._parameter_constraints,
        "loss": [LossAmong(CLASSIFICATION_LOSSES)],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "joint": ["boolean"],
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    @from_scratch
    def fit(
        self,
        X: RowsLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        checkpoint: Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
            Features. A source (`adasadmm.sources`) includes the targets and the weights. A Dask array or data frame,
            with y of the same kind, is distributed over the workers of the current client (`adasadmm.distributed`).
            Rows of either kind are loaded if they fit in a quarter of the memory, unless ``solver`` names a solver that
            can stream; otherwise they stay where they are, and are read block by block.
        y : array-like of shape (n,), default=None
            Class labels: numbers, strings or booleans. None only if X is a source.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, not negative. A weight of 2 is the same as repeating the row. None gives all rows the
            same weight.
        offset : array-like of shape (n,) or (n, n_classes), default=None
            A known part of each prediction: the model is ``X coef + intercept + offset``. None means 0. For counts with
            an exposure it is the logarithm of the exposure.
        checkpoint : Checkpoint, default=None
            Folder in which the fit is saved periodically and when it is interrupted. With a checkpoint,
            ``random_state=None`` means a seed of 0.
        resume : bool, default=False
            Continue from the checkpoint if it holds a saved fit. The model is the same as without the interruption.

        Returns
        -------
        self : estimator
            The fitted estimator. If fitting fails or is interrupted, the estimator stays as it was before.
        """
        source = source_of(X, y, sample_weight, offset)
        if source is not None:
            return self._fit_source(source, checkpoint, resume)
        rows, labels = rows_and_labels(self, X, y)
        self.classes_ = two_classes(labels, "y")
        per_row = self._per_row(rows, labels, sample_weight, offset)
        self._fit(rows, self._targets(labels), per_row, checkpoint, resume)
        return self

    def _fit_source(self, source: Source, checkpoint: Checkpoint | None, resume: bool) -> Self:
        learnt, held_out = split(source, self.validation_fraction)
        self._watch(learnt)
        found = source.summary.labels
        if not found:
            what = "no targets" if found is not None else "more than 1000 different targets, too many for classes"
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
        if is_loaded(self, source):
            X, y, weight, offset, _ = load(source)
            self._fit(X, self._targets(y), self._per_row(X, y, weight, offset), checkpoint, resume)
            return self
        if self._joins_signs():
            raise ValueError(
                f"joint=True with loss={self.loss!r} needs rows in memory: set joint=False, or "
                "loss='multinomial', whose rows may be anywhere"
            )
        makers: list[OfTargets] = [*self._makers()]
        views = [learnt.view(made, weights) for made in makers]
        judged = None if held_out is None else HeldOutSource(held_out.view(None, weights), makers)
        self._fit(learnt, views, PerRow(), checkpoint, resume, judged)
        return self

    def _per_row(
        self, X: ValidRows, y: np.ndarray, sample_weight: npt.ArrayLike | None, offset: npt.ArrayLike | None
    ) -> PerRow:
        shape = X.shape[0], losses.width(self._fitted_loss())
        return PerRow(self._weights(X, y, sample_weight), _predicting.as_offset(offset, *shape))

    def _weights(self, X: ValidRows, y: np.ndarray, sample_weight: npt.ArrayLike | None) -> np.ndarray | None:
        """The product of sample and class weights; None if neither is given."""
        if sample_weight is None and self.class_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=weight)
            weight = weight * of_class[np.searchsorted(self.classes_, y)]
            if not weight.any():
                raise ValueError(f"class_weight gives every row a weight of 0: {self.class_weight!r}")
        return weight

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        """The targets of each linear function, or of the one problem for all classes."""
        return [made(y) for made in self._makers()]

    def _makers(self) -> list[SignOf] | list[SignsOf] | list[CodeOf]:
        """Return the encoder of labels: -1 and +1 for each linear function, or one number for each class."""
        if losses.width(self._fitted_loss()) > 1:
            return [CodeOf(self.classes_)]
        if self._joins_signs():
            return [SignsOf(self.classes_)]
        return [SignOf(label) for label in self._positive()]

    def _joins_signs(self) -> bool:
        """Whether functions of one class against the rest are fitted in one problem, since their penalty is joint."""
        return self.joint and len(self.classes_) > 2 and losses.width(self._fitted_loss()) == 1

    def _fitted_loss(self) -> tuple:
        """The loss; the logistic one becomes the multinomial one if there are more than two classes."""
        loss = _fitting.as_loss(self.loss)
        classes = len(self.classes_)
        if isinstance(loss, Logistic) and classes > 2:
            return Multinomial(classes)
        if isinstance(loss, Multinomial) and loss.classes not in (0, classes):
            raise ValueError(f"y has {classes} classes, but loss={loss!r}: Multinomial() counts them")
        return Multinomial(classes) if isinstance(loss, Multinomial) else loss

    def _positive(self) -> np.ndarray:
        """The classes with a linear function: the second of two, otherwise all."""
        return self.classes_[1:] if len(self.classes_) == 2 else self.classes_

    def _labels(self, targets: list[np.ndarray]) -> np.ndarray:
        if losses.width(self._fitted_loss()) > 1:
            return self.classes_[targets[0].astype(int)]
        targets = [*targets[0].T] if targets[0].ndim == 2 else targets
        chosen = (targets[0] > 0.0).astype(int) if len(targets) == 1 else np.argmax(targets, axis=0)
        return self.classes_[chosen]

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(
        self,
        X: MatrixLike,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> Self:
        """Update the model with a block of rows: one pass over them, in the order given.

        The first call starts from zero, or from the result of an earlier `fit`. The graph is that of the first block.
        Only the stochastic solvers can be used.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Features of the block.
        y : array-like of shape (n,)
            Class labels of the block.
        classes : array-like of shape (n_classes,), default=None
            All labels that can occur in the stream; required in the first call.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. They are not divided by their mean, as in `fit`: the mean over the stream is unknown.
        offset : array-like of shape (n,), default=None
            As in `fit`.

        Returns
        -------
        self : estimator
            The updated estimator. If the update fails, the estimator stays as it was before.
        """
        from ._partial import partial_fit

        first = not hasattr(self, "coef_")
        rows, labels = rows_and_labels(self, X, y, reset=first)
        if self.class_weight == "balanced":
            raise ValueError('partial_fit cannot compute class_weight="balanced": give the class weights as a dict')
        self._set_classes(classes, first)
        unknown = np.setdiff1d(labels, self.classes_)
        if unknown.size:
            raise ValueError(f"y has a label that is not in classes: {unknown[0]}")
        partial_fit(self, rows, self._targets(labels), self._per_row(rows, labels, sample_weight, offset))
        return self

    def _set_classes(self, classes: npt.ArrayLike | None, first: bool) -> None:
        """Set ``classes_`` in the first call of `partial_fit`, and check that later calls agree."""
        if first:
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit")
            self.classes_ = two_classes(classes, "classes")
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes differ from those of the first call, {self.classes_}: got {classes!r}")

    def decision_function(self, X: RowsLike, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Compute the scores ``X coef' + intercept + offset``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
        offset : array-like of shape (n,) or (n, n_classes), default=None
            A known part of each score. None means 0, or the offsets of the source.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            For two classes the score of the second one, less that of the first if it has one, as with the multinomial
            loss; otherwise a column for each class.
        """
        scores = _predicting.scores(self, X, offset)
        if len(self.classes_) > 2:
            return scores
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]

    def predict(self, X: RowsLike, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
        offset : array-like of shape (n,), default=None
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n,)
            The class with the highest score. With two classes a score of 0 gives the second one, as in the paper.
        """
        scores = self.decision_function(X, offset)
        return self.classes_[(scores >= 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(lambda self: _has_probabilities(self))
    def predict_proba(self, X: RowsLike, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Predict the probability of each class; only for the logistic and the multinomial loss.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
        offset : array-like of shape (n,), default=None
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            The softmax of the scores; for two classes, the logistic function of their score.
        """
        scores = self.decision_function(X, offset)
        if scores.ndim == 2:
            return softmax(scores, axis=1)
        return expit(np.column_stack([-scores, scores]))

    @available_if(lambda self: _has_probabilities(self))
    def predict_log_proba(self, X: RowsLike, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Predict the logarithm of `predict_proba`; only for the logistic and the multinomial loss."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset))

    def score(
        self,
        X: RowsLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> float:
        """Compute the accuracy.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or Source
        y : array-like of shape (n,), default=None
            True labels. None only if X is a source, which then provides labels and weights.
        sample_weight : array-like of shape (n,), default=None
        offset : array-like of shape (n,), default=None
            As in `decision_function`.

        Returns
        -------
        float
            The (weighted) share of rows whose class is predicted correctly.
        """
        y, sample_weight = _predicting.targets(self, X, y, sample_weight)
        return accuracy(y, self.predict(X, offset), sample_weight)

    def to_sklearn(self) -> BaseEstimator:
        """Convert to a scikit-learn model that makes the same predictions without this package.

        Returns
        -------
        LinearSVC or LogisticRegression
            `LogisticRegression` for the logistic and the multinomial loss, `LinearSVC` for every other loss.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        check_is_fitted(self)
        has_probabilities = isinstance(self._fitted_loss(), (Logistic, Multinomial))
        plain: BaseEstimator = LogisticRegression() if has_probabilities else LinearSVC()
        coef, intercept = self._dense_coef().copy(), self.intercept_.copy()
        if len(self.classes_) == 2 and len(coef) == 2:  # scikit-learn has one function for two classes
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        if len(self.classes_) == 2 and intercept[0] == 0.0:
            # scikit-learn predicts the first class for a score of 0, which an empty row has.
            intercept[0] = np.finfo(np.float32).tiny
        plain.classes_ = self.classes_
        return self._copied_to(plain, coef, intercept)


def _has_probabilities(estimator: LinearClassifier) -> bool:
    if isinstance(_fitting.as_loss(estimator.loss), (Logistic, Multinomial)):
        return True
    raise AttributeError(
        f'predict_proba needs loss="logistic" or "multinomial", but this model has loss={estimator.loss!r}'
    )
