"""Models whose coefficients follow a graph: neighbours should have similar coefficients."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .. import graphs
from ..penalties import L1
from ._base import LinearModel, keep_parameters
from ._classifier import LinearClassifier
from ._fitting import Structure
from ._regressor import LinearRegressor

__all__ = ["GraphGuidedClassifier", "GraphGuidedRegressor"]


class GraphGuided(LinearModel):
    """The penalty ``alpha sum_edges weight_ij |w_i - w_j|``."""

    graph: Any

    def _structure(self, X: Any, alpha: float, sample_weight: np.ndarray | None) -> Structure:
        names = getattr(self, "feature_names_in_", None)
        graph = graphs.as_graph(self.graph, X.shape[1], X=X, feature_names=names, sample_weight=sample_weight)
        self.graph_, self.graph_weights_, self.graph_notes_ = graph.edges, graph.weights, graph.notes
        return Structure(graphs.incidence(graph.edges, graph.weights, X.shape[1]), L1(alpha))


class GraphGuidedClassifier(GraphGuided, LinearClassifier):
    """A linear classifier whose coefficients follow a graph.

    Minimises ``mean loss + l2/2 |w|^2 + alpha sum_edges weight_ij |w_i - w_j|``: neighbours in the graph are drawn
    together, and many end equal (`clusters_`).

    Parameters
    ----------
    graph : "glasso", "chain", "knn", ("grid", rows, cols), edges, adjacency, networkx graph or callable
        "glasso" learns it from X by sparse inverse covariance, as the paper does: about two edges for each feature.
        Edges are an array (E, 2) of feature numbers or names, or the path of a CSV file of them (source, target and
        perhaps weight, with or without a header); an adjacency is sparse, its entries are weights; a callable gets X
        and returns edges. An edge given twice counts twice. From a source it is learnt from the covariance of all rows.
    loss : {"hinge", "squared_hinge", "logistic"} or a loss
    alpha : float, optional
        Strength of the graph penalty; by default 1 over the sum of the weights (1/n).
    l2 : float, optional
        Strength of the ridge; by default as alpha. The intercept is free.
    solver : {"auto", "ada-diag", "ada-full", "sadmm", "admm", "alm"} or a solver
        "auto" runs until the relative duality gap is below ``tol``, by the augmented Lagrangian method up to 2,000
        features, beyond first by `ASVRGADMM` or `SPDHG`; it warns where the gap is missed. The others run ``max_iter``
        epochs.
    eta : "auto" or float
        Step size of the stochastic solvers.
    beta : "auto" or float
        Weight of the constraint inside ADMM.
    a : float
        The metric is a I + what it learns.
    max_iter : int, optional
        Epochs; by default 1000 iterations for the solvers over all rows, 200 epochs for `ASVRGADMM` and `SPDHG`, 20
        for the other solvers.
    tol : float
        Relative duality gap.
    batch_size : "auto" or int
    average : {"auto", "uniform", "polynomial", "step-weighted", "schedule-free", "last"}
    shuffle : bool
        Visit the rows of each epoch in a random order.
    fit_intercept : bool
    class_weight : dict, "balanced" or None
    warm_start : bool
        Begin where the last fit ended.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Classes fitted at the same time.
    verbose : int
        Above 0: show progress.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or classes, d)
    intercept_ : ndarray of shape (1 or classes,)
    classes_ : ndarray
    graph_ : ndarray of shape (E, 2)
        The edges.
    graph_weights_ : ndarray of shape (E,)
    clusters_ : ndarray of shape (d,) or (classes, d)
        A number for each feature; features that edges join and whose coefficients are equal share it: to a thousandth
        of the largest, or exactly where ``solver="auto"`` has a ``tol`` below 1e-4.
    n_iter_ : int
    dual_gap_ : float, or one for each class
        The relative duality gap: how far from the optimum the model can be at the most.
    status_, trace_
        How the run ended, and its course.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from adasadmm import GraphGuidedClassifier
    >>> X, digit = load_digits(return_X_y=True)
    >>> model = GraphGuidedClassifier(("grid", 8, 8), alpha=0.01).fit(X / 16, digit % 2)
    >>> model.score(X / 16, digit % 2) > 0.85
    True
    """

    _parameter_constraints: ClassVar[dict] = {**LinearClassifier._parameter_constraints, "graph": "no_validation"}

    def __init__(
        self,
        graph: Any = "glasso",
        *,
        loss: Any = "hinge",
        alpha: float | None = None,
        l2: float | None = None,
        solver: Any = "auto",
        eta: Any = "auto",
        beta: Any = "auto",
        a: float = 1.0,
        max_iter: int | None = None,
        tol: float = 1e-3,
        batch_size: Any = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())


class GraphGuidedRegressor(GraphGuided, LinearRegressor):
    """A linear regression whose coefficients follow a graph.

    Minimises ``mean loss + l2/2 |w|^2 + alpha sum_edges weight_ij |w_i - w_j|``.

    Parameters
    ----------
    graph : "glasso", "chain", "knn", ("grid", rows, cols), edges, adjacency, networkx graph or callable
    loss : {"squared", "huber", "epsilon_insensitive", "quantile", "poisson"} or a loss
    alpha, l2, solver, eta, beta, a, max_iter, tol, batch_size, average, shuffle, fit_intercept, warm_start, \
random_state, n_jobs, verbose
        As for `GraphGuidedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    intercept_ : float
    graph_, graph_weights_, clusters_, n_iter_, dual_gap_, status_, trace_
        As for `GraphGuidedClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import GraphGuidedRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 6))
    >>> y = X @ [1, 1, 1, -2, -2, -2]
    >>> model = GraphGuidedRegressor("chain", alpha=0.05, l2=0, tol=1e-6).fit(X, y)
    >>> model.clusters_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    _parameter_constraints: ClassVar[dict] = {**LinearRegressor._parameter_constraints, "graph": "no_validation"}

    def __init__(
        self,
        graph: Any = "glasso",
        *,
        loss: Any = "squared",
        alpha: float | None = None,
        l2: float | None = None,
        solver: Any = "auto",
        eta: Any = "auto",
        beta: Any = "auto",
        a: float = 1.0,
        max_iter: int | None = None,
        tol: float = 1e-3,
        batch_size: Any = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())
