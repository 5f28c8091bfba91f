"""The network lasso for classes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, softmax
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.metaestimators import available_if

from ..losses import Logistic
from ..registry import CLASSIFICATION_LOSSES
from ._base import keep_parameters
from ._fitted_state import from_scratch
from ._fitting import as_loss
from ._gate import rows_and_labels, two_classes
from ._network_model import NetworkModel
from ._parameters import LossAmong
from ._scoring import accuracy
from ._types import GraphLike, LossLike, MatrixLike, SolverLike

__all__ = ["NetworkLassoClassifier"]


class NetworkLassoClassifier(ClassifierMixin, NetworkModel):
    """The network lasso: a linear classifier for each node of a graph, in which neighbours have similar coefficients.

    The objective is that of `NetworkLassoRegressor`, with a loss for classes. More than two classes are fitted one
    against the rest. The Notes of `NetworkLassoRegressor` say how to choose alpha by cross-validation.

    Parameters
    ----------
    graph, alpha, coordinates, l2, norm, n_neighbors, unseen, fit_intercept, solver, max_iter, tol, verbose
        As for `NetworkLassoRegressor`.
    loss : {"hinge", "squared_hinge", "logistic"} or loss, default="hinge"
        The loss. Probabilities need ``"logistic"``.

    Attributes
    ----------
    coef_ : ndarray of shape (nodes, d) or (n_classes, nodes, d)
        The coefficients of each node.
    intercept_ : ndarray of shape (nodes,) or (n_classes, nodes)
        The intercept of each node.
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    clusters_ : ndarray of shape (nodes,) or (n_classes, nodes)
        Nodes that edges connect and whose models are equal share a number.
    nodes_, graph_, graph_weights_, alpha_, l2_, dual_gap_, objective_, status_, solver_, solver_reason_, trace_, \
n_iter_, df_, aic_, bic_
        As for `NetworkLassoRegressor`; the gap is the largest over the classes, the objective the sum.

    References
    ----------
    D. Hallac, J. Leskovec, S. Boyd: Network Lasso: Clustering and Optimization in Large Graphs. KDD 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import NetworkLassoClassifier
    >>> rng = np.random.default_rng(0)
    >>> node = np.repeat(np.arange(6), 30)
    >>> X = rng.normal(size=(180, 2))
    >>> y = np.where(X[:, 0] * np.where(node < 3, 1, -1) > 0, "yes", "no")
    >>> model = NetworkLassoClassifier("chain", alpha=0.05).fit(X, y, groups=node)
    >>> model.clusters_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[2.0, 0.0], [2.0, 0.0]], groups=[0, 5])
    array(['yes', 'no'], dtype='<U3')
    """

    _parameter_constraints: ClassVar[dict] = {
        **NetworkModel._parameter_constraints,
        "loss": [LossAmong(set(CLASSIFICATION_LOSSES) - {"multinomial"})],
    }

    def __init__(
        self,
        graph: GraphLike,
        alpha: float | None = None,
        loss: LossLike = "hinge",
        *,
        coordinates: Any = None,
        l2: float | None = None,
        norm: str = "l2",
        n_neighbors: int = 5,
        unseen: str = "median",
        fit_intercept: bool = True,
        solver: SolverLike = "auto",
        max_iter: int | None = None,
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    @from_scratch
    def fit(
        self,
        X: MatrixLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit a model for each node.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Class labels: numbers, strings or booleans.
        groups : array-like of shape (n,)
            The node of each row. Nodes may have any number of rows, also none.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, not negative.
        offset : array-like of shape (n,), default=None
            A known part of each score. None means 0.

        Returns
        -------
        self : NetworkLassoClassifier
            The fitted estimator. If fitting fails or is interrupted, the estimator stays as it was before.
        """
        rows, labels = rows_and_labels(self, X, y)
        self.classes_ = two_classes(labels, "y")
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        targets = [np.where(labels == label, 1.0, -1.0) for label in positive]
        self._fit_nodes(rows, targets, groups, sample_weight, offset)
        return self

    def decision_function(
        self,
        X: MatrixLike,
        groups: npt.ArrayLike | None = None,
        coordinates: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Compute the score of each row, by the model of its node or of its place.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        groups : array-like of shape (n,), default=None
            The node of each row.
        coordinates : array-like of shape (n, k), default=None
            The place of each row, instead of its node; see ``unseen``.
        offset : array-like of shape (n,), default=None
            A known part of each score. None means 0.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            For two classes the score of the second one, otherwise a column for each class.
        """
        return self._scores(X, groups, coordinates, offset)

    def predict(
        self,
        X: MatrixLike,
        groups: npt.ArrayLike | None = None,
        coordinates: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Predict the class of each row: the one with the highest score.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        groups, coordinates, offset
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self._scores(X, groups, coordinates, offset)
        return self.classes_[(scores >= 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(lambda self: _has_probabilities(self))
    def predict_proba(
        self,
        X: MatrixLike,
        groups: npt.ArrayLike | None = None,
        coordinates: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Predict the probability of each class; only for the logistic loss.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        groups, coordinates, offset
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            For more than two classes, the probabilities of each class against the rest, scaled to sum to 1.
        """
        scores = self._scores(X, groups, coordinates, offset)
        if scores.ndim == 1:
            return expit(np.column_stack([-scores, scores]))
        return softmax(
            log_expit(scores), axis=1
        )  # by logarithms: far from all classes, each probability may round to 0

    def score(
        self,
        X: MatrixLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        coordinates: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> float:
        """Compute the accuracy.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array-like of shape (n,)
            True labels.
        groups, coordinates, offset
            As in `decision_function`.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        float
        """
        return accuracy(y, self.predict(X, groups, coordinates, offset), sample_weight)


def _has_probabilities(estimator: NetworkLassoClassifier) -> bool:
    if isinstance(as_loss(estimator.loss), Logistic):
        return True
    raise AttributeError(f'predict_proba needs loss="logistic", but this model has loss={estimator.loss!r}')
