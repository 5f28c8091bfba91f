"""Models with a graph over the features: the coefficients of neighbours are drawn towards each other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .. import graphs
from ..graphs.moments import share_scan
from ..penalties import L1
from ..sources import Source
from ._base import LinearModel, keep_parameters
from ._classifier import LinearClassifier
from ._regressor import OF_RESPONSES, LinearRegressor
from ._rows import always_streams
from ._structure import Structure
from ._types import BoundsLike, Eta, GraphLike, LossLike, RandomState, SolverLike, ValidRows, WeightsLike

__all__ = ["GraphGuidedClassifier", "GraphGuidedRegressor"]


class GraphGuided(LinearModel):
    """The penalty ``alpha sum_edges weight_ij |w_i - w_j|``."""

    graph: GraphLike

    def _watch(self, source: Source) -> None:
        learnt = isinstance(self.graph, str) and self.graph in ("glasso", "knn")
        if learnt and always_streams(self.solver) and getattr(self, "class_weight", None) is None:
            share_scan(source)

    def _structure(self, X: ValidRows | Source, alpha: float, sample_weight: np.ndarray | None) -> Structure:
        names = getattr(self, "feature_names_in_", None)
        graph = graphs.as_graph(
            self.graph,
            X.shape[1],
            X=X,
            sample_weight=sample_weight,
            feature_names=names,
            progress=self.verbose > 0,
        )
        self.graph_, self.graph_weights_, self.graph_notes_ = graph.edges, graph.weights, graph.notes
        return Structure(graphs.incidence(graph.edges, graph.weights, X.shape[1]), L1(alpha))


class GraphGuidedClassifier(GraphGuided, LinearClassifier):
    """Linear classifier with a graph over the features.

    The model minimises::

        mean loss + l2/2 |w|^2 + alpha ((1 - l1_ratio) sum_edges weight_ij |w_i - w_j| + l1_ratio |w|_1).

    The penalty draws the coefficients of neighbours towards each other and makes many of them equal (`clusters_`); with
    ``l1_ratio > 0``, many of them 0. The intercept is not penalised. More than two classes are fitted by one softmax
    (``loss="multinomial"``), or one against the rest.

    Parameters
    ----------
    graph : str, tuple, array-like, sparse matrix, Graph, networkx graph, callable or path, default="glasso"
        The graph over the features.

        - ``"glasso"`` learns it from X by sparse inverse covariance, as in the paper, with about two edges for each
          feature; with more than 2,000 features it uses nearest neighbours instead, with a warning.
        - ``"knn"`` connects each feature with the three features most correlated with it.
        - ``"chain"`` connects consecutive features; ``("grid", rows, cols)`` connects neighbours on a grid.
        - An array of shape (E, 2) lists the edges as pairs of feature numbers or names; ``(edges, weights)`` adds
          weights. If an edge is listed twice, its weights are added.
        - A sparse (d, d) adjacency matrix holds the weights. A networkx graph has features as nodes; the edge attribute
          ``weight`` holds the weights.
        - The path of a CSV file names a file with columns source, target and optionally weight.
        - A callable takes X and returns any of these.
    loss : {"hinge", "squared_hinge", "logistic", "multinomial"} or loss, default="hinge"
        The loss; `adasadmm.losses` has the formulas. Probabilities need ``"logistic"`` or ``"multinomial"``. With more
        than two classes these are the same, one softmax of all classes; the other losses fit each class against the
        rest. For logistic functions of each class against the rest, use `sklearn.multiclass.OneVsRestClassifier`.
    joint : bool, default=False
        With more than two classes, or a softmax, penalise the L2 norm over the classes of each difference, or
        coefficient, instead of each on its own: features are then fused, or dropped, for all classes or for none. The
        classes are then one problem; for losses of each class against the rest its rows must be in memory.
    alpha : float, default=None
        Strength of the penalty; larger values fuse more coefficients. None means 1 divided by the sum of the
        weights, which is 1/n without weights, as in the paper.
    l2 : float, default=None
        Strength of the ridge penalty. None means the same default as for ``alpha``.
    l1_ratio : float, default=0.0
        Share of the L1 norm of the coefficients in the penalty, between 0 and 1: 0 is the fused lasso, 1 the lasso, and
        between them is the sparse fused lasso. It is not scikit-learn's elastic net: ``ElasticNet(a, l1_ratio=r)`` is
        ``alpha=a*r, l2=a*(1 - r), l1_ratio=1`` here, and a lasso needs ``l2=0``.
    positive : bool, default=False
        Constrain the coefficients, but not the intercept, to be at least 0.
    bounds : pair of float or array-like, or dict, default=None
        ``(lower, upper)`` for all coefficients, as numbers or arrays of shape (d,); or a dict from feature name (from
        feature number, if X has no names) to such a pair of numbers. None, or infinite, is no bound. The fitted
        coefficients satisfy the bounds exactly, and ``dual_gap_`` is that of these coefficients.
    weights : "adaptive" or array-like, default=None
        Weights of the terms of the penalty: an entry for each edge, and optionally one for each feature after them, for
        the sparse part (with ``l1_ratio=1`` for each feature alone). They multiply the weights of the graph.
        ``"adaptive"`` penalises differences, or coefficients, that are small in a ridge fit more strongly: by
        ``1/max(|difference|, 1e-4 max |difference|)^weights_power``, scaled to a mean of 1. The strength of the ridge
        is chosen by generalised cross-validation.
    weights_power : float, default=1.0
        The exponent of adaptive weights.
    refit : {"none", "clusters"}, default="none"
        ``"clusters"`` estimates the coefficients again without the structural and the L1 penalty, with one
        coefficient for each group of fused features, and without the features that were dropped; ridge, bounds and
        constraints stay. The penalised coefficients are kept in ``coef_penalized_``, and ``dual_gap_`` is theirs.
    solver : {"auto", "alm", "ipm", "admm", "ada-diag", "ada-full", "sadmm"} or Solver, default="auto"
        ``"auto"`` chooses a method by the shape of the problem, runs it until the relative duality gap falls below
        ``tol``, tries another one if it does not, and warns if both fail; ``solver_`` and ``solver_reason_`` say what
        ran. Where few clusters of coefficients differ it is an active set of clusters, with many more rows than
        features `ALM`, otherwise `IPM`; with a diagonal X `TotalVariation`; with many sparse features `ASVRGADMM` or
        `SPDHG`; `ADMM` if ``beta`` is a number. For rows on Dask workers it is `ADMM`; for other sources and in
        `partial_fit` it is ``"ada-diag"``.
        ``"ada-diag"``, ``"ada-full"`` and ``"sadmm"``, the paper's methods, run for ``max_iter`` epochs.
    eta : "auto", float or step size, default="auto"
        Step size of ``"ada-diag"``, ``"ada-full"`` and ``"sadmm"``; an object of `adasadmm.stepsizes` sets a schedule.
        ``"auto"`` needs no tuning; for ``"sadmm"`` it is ``1/(l2 t)``.
    beta : "auto" or float, default="auto"
        Weight of the quadratic constraint term of ADMM. It affects the speed, not the solution. `ALM` ignores it.
    a : float, default=1.0
        Constant added to the diagonal of the adaptive metric; stochastic solvers only.
    max_iter : int, default=None
        Maximum number of epochs; for methods that use all rows in every iteration, of iterations. None means 1000
        iterations for `ALM` and `ADMM`, 100 for `IPM`, 200 epochs for `ASVRGADMM` and `SPDHG`, and 20 for the other
        stochastic solvers.
    tol : float, default=1e-6
        Relative duality gap at which the solver stops. Fused coefficients are exactly equal if that keeps the gap below
        ``tol``. With 1e-6 the clusters are nearly always those of the optimum; 1e-3 is enough for predictions.
    batch_size : "auto" or int, default="auto"
        Rows in each iteration of a stochastic solver. ``"auto"`` is 1 unless larger batches are faster at almost the
        same accuracy.
    average : {"auto", "uniform", "polynomial", "step-weighted", "schedule-free", "last"}, default="auto"
        Average of the iterates that becomes the model; ``"ada-diag"`` and ``"ada-full"`` only, see `AdaSADMM`.
    shuffle : bool, default=True
        Visit the rows in a new random order in each epoch; stochastic solvers only.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalised. False means an intercept of 0.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn: ``{label: weight}``, or ``"balanced"`` for weights inversely
        proportional to the class frequencies.
    validation_fraction : float, default=0.0
        Share of the rows that `fit` holds out: they are not learnt from, and ``validation_loss_`` is their mean loss. A
        hash of the number of the row decides, so that files, arrays and clusters hold out the same rows in each call.
        For rows that are streamed it costs one more pass. The default strengths are 1 divided by the weight of the
        rows that are learnt from.
    warm_start : bool, default=False
        Start from the result of the previous call of `fit`, if it has the same shape.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows; stochastic solvers only.
    n_jobs : int, default=None
        Number of classes fitted in parallel threads, as in scikit-learn: None means 1, -1 all cores.
    verbose : int, default=0
        Show a progress bar if greater than 0.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    graph_ : ndarray of shape (E, 2)
        Edges of the graph.
    graph_weights_ : ndarray of shape (E,)
        Weights of the edges.
    graph_notes_ : tuple of str
        Remarks on the graph, for example on constant columns, which a learnt graph leaves out.
    clusters_ : ndarray of shape (d,) or (n_classes, d)
        Group of each feature: features connected by edges with equal coefficients share a number. Coefficients count as
        equal if they differ by at most a thousandth of the largest one; if the structure was made exact (see ``tol``),
        only if they are identical.
    coef_penalized_, intercept_penalized_ : ndarray
        The penalised fit, if ``refit="clusters"``.
    n_iter_ : int
        Number of epochs, or of iterations of `ALM` and `ADMM`; the largest over the classes.
    dual_gap_ : float or ndarray of shape (n_classes,)
        The relative duality gap ``(primal - dual) / (primal - least possible loss)``: the optimum lies below the
        objective by at most this fraction of the objective's excess over the least possible loss. Infinite if no bound
        is known.
    status_ : Status or list of Status
        How the run ended, for each class if they are fitted one against the rest.
    solver_ : Solver or list of Solver
        The solver that ran, for each class if they are fitted one against the rest.
    solver_reason_ : str or list of str
        Why it was chosen.
    trace_ : Trace or list of Trace
        Objective, residuals and time during the run, for each class if there are more than two. They belong to the
        iterates; `summary` gives the objective of the model.
    validation_loss_ : float or ndarray of shape (n_classes,)
        The mean loss of the rows that were held out; only if ``validation_fraction`` is not 0.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X had string column names.

    See Also
    --------
    GraphGuidedClassifierCV : Choose ``alpha`` and ``l2`` by cross-validation.
    StructuredClassifier : Use a general matrix A instead of a graph.

    References
    ----------
    Zhao, Yang, Zhang, Li: Adaptive Stochastic Alternating Direction Method of Multipliers. ICML 2015.

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
        graph: GraphLike = "glasso",
        *,
        loss: LossLike = "hinge",
        alpha: float | None = None,
        l2: float | None = None,
        l1_ratio: float = 0.0,
        positive: bool = False,
        bounds: BoundsLike = None,
        weights: WeightsLike = None,
        weights_power: float = 1.0,
        refit: str = "none",
        solver: SolverLike = "auto",
        eta: Eta = "auto",
        beta: Eta = "auto",
        a: float = 1.0,
        max_iter: int | None = None,
        tol: float = 1e-6,
        batch_size: str | int = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        class_weight: dict | str | None = None,
        joint: bool = False,
        validation_fraction: float = 0.0,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())


class GraphGuidedRegressor(GraphGuided, LinearRegressor):
    """Linear regression with a graph over the features.

    The model minimises::

        mean loss + l2/2 |w|^2 + alpha ((1 - l1_ratio) sum_edges weight_ij |w_i - w_j| + l1_ratio |w|_1).

    The penalty draws the coefficients of neighbours towards each other and makes many of them equal (`clusters_`); with
    ``l1_ratio > 0``, many of them 0. The intercept is not penalised.

    Parameters
    ----------
    graph : str, tuple, array-like, sparse matrix, Graph, networkx graph, callable or path, default="glasso"
        The graph over the features, as for `GraphGuidedClassifier`.
    loss : {"squared", "huber", "epsilon_insensitive", "quantile", "poisson", "gamma", "tweedie", \
"negative_binomial"} or loss, default="squared"
        The loss; `adasadmm.losses` has the formulas. The last four have a logarithmic link: `predict` returns the
        exponential of the linear function. A name uses the default settings of the loss; to change them give the
        object, for example ``Huber(delta=2.0)`` or ``Tweedie(power=1.7)``.
    alpha, l2, l1_ratio, positive, bounds, weights, weights_power, refit, solver, eta, beta, a, max_iter, tol, \
batch_size, average, shuffle, fit_intercept, validation_fraction, warm_start, random_state, n_jobs, verbose
        As for `GraphGuidedClassifier`. ``n_jobs`` responses are fitted in parallel, if y has several columns.
    joint : bool, default=False
        Only for y with several columns: False fits each response on its own, with the same strengths. True takes the
        L2 norm over the responses of each difference and, with ``l1_ratio``, of each coefficient: an edge is fused, or
        a feature dropped, for all responses or for none.
    missing : {"error", "ignore"}, default="error"
        ``"ignore"`` gives targets that are NaN the weight 0.

    Attributes
    ----------
    coef_ : ndarray of shape (d,), or (k, d) for y with k columns
        Coefficients.
    intercept_ : float or ndarray of shape (k,)
        Intercept.
    clusters_ : ndarray of shape (d,) or (k, d)
        Group of each feature, as for `GraphGuidedClassifier`.
    dual_gap_ : float
        Relative duality gap, as for `GraphGuidedClassifier`.
    status_ : Status
        How the run ended.
    solver_ : Solver
        The solver that ran.
    solver_reason_ : str
        Why it was chosen.
    trace_ : Trace
        Objective, residuals and time during the run.
    graph_, graph_weights_, graph_notes_, n_iter_, validation_loss_, n_features_in_, feature_names_in_
        As for `GraphGuidedClassifier`.

    See Also
    --------
    GraphGuidedRegressorCV : Choose ``alpha`` and ``l2`` by cross-validation.
    StructuredRegressor : Use a general matrix A instead of a graph.

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

    _takes_responses: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **OF_RESPONSES,
        "graph": "no_validation",
    }

    def __init__(
        self,
        graph: GraphLike = "glasso",
        *,
        loss: LossLike = "squared",
        alpha: float | None = None,
        l2: float | None = None,
        l1_ratio: float = 0.0,
        positive: bool = False,
        bounds: BoundsLike = None,
        weights: WeightsLike = None,
        weights_power: float = 1.0,
        refit: str = "none",
        solver: SolverLike = "auto",
        eta: Eta = "auto",
        beta: Eta = "auto",
        a: float = 1.0,
        max_iter: int | None = None,
        tol: float = 1e-6,
        batch_size: str | int = "auto",
        average: str = "auto",
        shuffle: bool = True,
        fit_intercept: bool = True,
        joint: bool = False,
        missing: str = "error",
        validation_fraction: float = 0.0,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())
