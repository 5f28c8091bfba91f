"""The network lasso for numbers: a linear model for each node of a graph, similar for neighbours."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin, _fit_context

from ..registry import REGRESSION_LOSSES
from ._base import keep_parameters
from ._fitted_state import from_scratch
from ._fitting import as_loss
from ._gate import rows_and_numbers
from ._network_model import NetworkModel
from ._parameters import LossAmong
from ._predicting import explained_deviance, has_deviance
from ._scoring import r2
from ._signals import response
from ._types import GraphLike, LossLike, MatrixLike, SolverLike

__all__ = ["NetworkLassoRegressor"]


class NetworkLassoRegressor(RegressorMixin, NetworkModel):
    """The network lasso: a linear regression for each node of a graph, in which neighbours have similar coefficients.

    Each row belongs to a node. With a vector ``w_i`` of coefficients and intercept for each node i, the model
    minimises::

        mean loss + l2/2 sum_i |w_i without intercept|^2 + alpha sum_edges weight_ij |w_i - w_j|.

    The Euclidean norm of the differences makes many of them exactly 0, so that whole groups of nodes share one model
    (`clusters_`). The intercept is part of the vector: it takes part in the differences, as in the reference, but not
    in the ridge. A node without rows has no ridge either, and gets the model that its neighbours imply.

    Parameters
    ----------
    graph : array-like, sparse matrix, Graph, networkx graph, "knn", "chain", ("grid", rows, cols), callable or path
        The graph over the nodes, in the forms of `GraphGuidedClassifier`. Nodes are labels (strings or numbers) if the
        edges, the networkx graph or ``coordinates`` name them so, else the numbers from 0. ``"knn"`` connects each node
        with its ``n_neighbors`` nearest ones by ``coordinates``; the weights are inverse to the distance plus a tenth
        of its median, and 1 on average. ``"chain"`` connects the sorted labels of the rows.
    alpha : float, default=None
        The strength of the penalty; larger values fuse more nodes. None means 1 divided by the sum of the weights of
        the rows.
    loss : str or loss, default="squared"
        The loss, as for `GraphGuidedRegressor`.
    coordinates : array-like of shape (nodes, k), data frame or dict, default=None
        The place of each node, for ``graph="knn"`` and for predictions at new places. The index of a data frame, or
        the keys of a dict, are the labels of the nodes. Distances are Euclidean: project longitude and latitude.
    l2 : float, default=None
        The strength of the ridge. None means the same default as for ``alpha``.
    norm : {"l2", "l1"}, default="l2"
        The norm of the differences. With ``"l1"`` the coefficients of neighbours are fused one by one.
    n_neighbors : int, default=5
        The neighbours of a node in ``graph="knn"``, and of a new place in `predict`.
    unseen : {"median", "nearest"}, default="median"
        The model at a new place: the weighted geometric median of those of the ``n_neighbors`` nearest nodes, which is
        what the penalty would give to a node there, or the model of the nearest node.
    fit_intercept : bool, default=True
        Fit an intercept for each node.
    solver : "auto", str or Solver, default="auto"
        ``"auto"`` is `IPM` for small networks and `ConsensusADMM`, which never couples two nodes in a system, for large
        ones.
    max_iter : int, default=None
        Maximum number of iterations; None means the default of the solver.
    tol : float, default=1e-6
        Relative duality gap at which the solver stops. Fused models are exactly equal if that keeps the gap below
        ``tol``.
    verbose : int, default=0
        Show a progress bar if greater than 0.

    Attributes
    ----------
    coef_ : ndarray of shape (nodes, d)
        The coefficients of each node.
    intercept_ : ndarray of shape (nodes,)
        The intercept of each node.
    nodes_ : ndarray of shape (nodes,)
        The labels of the nodes, in the order of ``coef_``.
    clusters_ : ndarray of shape (nodes,)
        Nodes that edges connect and whose models are equal share a number.
    graph_, graph_weights_ : ndarray of shape (E, 2) and (E,)
        The edges, as numbers of nodes, and their weights.
    alpha_, l2_ : float
        The strengths.
    dual_gap_ : float
        The relative duality gap ``(primal - dual) / (primal - least possible loss)``: the optimum lies below the
        objective by at most this fraction of the objective's excess over the least possible loss.
    objective_ : float
        The objective.
    status_, solver_, solver_reason_, trace_, n_iter_
        How the run ended, what ran and why, and its trace.
    df_, aic_, bic_ : float or None
        Degrees of freedom and information criteria; ``df_reason_`` says why they are None.

    See Also
    --------
    ConsensusADMM : The method for large networks.

    Notes
    -----
    To choose alpha by cross-validation, use `sklearn.model_selection.GridSearchCV`. It passes ``groups`` to ``fit`` and
    ``score`` only if metadata routing is enabled and both request them, as in the example.

    References
    ----------
    D. Hallac, J. Leskovec, S. Boyd: Network Lasso: Clustering and Optimization in Large Graphs. KDD 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import NetworkLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> town = np.repeat(["a", "b", "c", "d"], 25)
    >>> slope = np.where(np.isin(town, ["a", "b"]), 1.0, -2.0)
    >>> X = rng.normal(size=(100, 1))
    >>> y = slope * X[:, 0] + 0.1 * rng.normal(size=100)
    >>> model = NetworkLassoRegressor([["a", "b"], ["b", "c"], ["c", "d"]], alpha=0.05, l2=0.0).fit(X, y, groups=town)
    >>> model.clusters_
    array([0, 0, 1, 1], dtype=int32)
    >>> model.predict([[1.0], [1.0]], groups=["a", "d"]).round(1)
    array([ 0.9, -1.9])

    Choose alpha by cross-validation:

    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> folds = KFold(5, shuffle=True, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     requested = model.set_fit_request(groups=True).set_score_request(groups=True)
    ...     search = GridSearchCV(requested, {"alpha": [0.01, 0.1, 1.0]}, cv=folds).fit(X, y, groups=town)
    >>> search.best_params_
    {'alpha': 0.01}
    """

    _parameter_constraints: ClassVar[dict] = {
        **NetworkModel._parameter_constraints,
        "loss": [LossAmong(REGRESSION_LOSSES)],
    }

    def __init__(
        self,
        graph: GraphLike,
        alpha: float | None = None,
        loss: LossLike = "squared",
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
            Targets.
        groups : array-like of shape (n,)
            The node of each row. Nodes may have any number of rows, also none.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, not negative.
        offset : array-like of shape (n,), default=None
            A known part of each prediction. None means 0.

        Returns
        -------
        self : NetworkLassoRegressor
            The fitted estimator. If fitting fails or is interrupted, the estimator stays as it was before.
        """
        rows, target = rows_and_numbers(self, X, y)
        self._fit_nodes(rows, [target], groups, sample_weight, offset)
        return self

    def predict(
        self,
        X: MatrixLike,
        groups: npt.ArrayLike | None = None,
        coordinates: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Predict the target of each row, by the model of its node or of its place.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        groups : array-like of shape (n,), default=None
            The node of each row.
        coordinates : array-like of shape (n, k), default=None
            The place of each row, instead of its node; see ``unseen``.
        offset : array-like of shape (n,), default=None
            A known part of each prediction. None means 0.

        Returns
        -------
        ndarray of shape (n,)
            The linear function; its exponential, the expected target, for losses with a logarithmic link.
        """
        return response(as_loss(self.loss), self._scores(X, groups, coordinates, offset))

    def score(
        self,
        X: MatrixLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        coordinates: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> float:
        """Compute R^2, or D^2 for losses with a logarithmic link, of the predictions.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array-like of shape (n,)
        groups, coordinates, offset
            As in `predict`.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        float
        """
        loss = as_loss(self.loss)
        if has_deviance(loss):
            return explained_deviance(loss, self._scores(X, groups, coordinates, offset), y, sample_weight)
        return r2(y, self.predict(X, groups, coordinates, offset), sample_weight)
