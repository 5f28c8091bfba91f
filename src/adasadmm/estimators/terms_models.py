"""Models of tables whose columns are described by terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ._base import keep_parameters
from ._classifier import LinearClassifier
from ._regressor import LinearRegressor
from ._terms import TermsModel
from ._types import LossLike, RandomState, SolverLike

__all__ = ["TermsClassifier", "TermsRegressor"]


class TermsRegressor(TermsModel, LinearRegressor):
    """Linear regression on a table whose columns are described by terms.

    The model minimises::

        mean loss + l2/2 |w|^2 + alpha (sum of the penalties of the terms),

    where a factor has a coefficient for each level but its base, and its penalty is the weighted sum of the absolute
    differences of levels that may be fused. The intercept is not penalised. All terms are fitted together, as one
    convex problem with one duality gap.

    Parameters
    ----------
    terms : list of terms
        From `adasadmm.terms`: `linear`, `ordered`, `nominal`, `spatial`, `group`, `interaction`.
    loss : {"squared", "huber", "epsilon_insensitive", "quantile", "poisson", "gamma", "tweedie", \
"negative_binomial"} or loss, default="squared"
        As for `GraphGuidedRegressor`.
    alpha : float, default=None
        Strength of all penalties. None means 1 divided by the sum of the weights.
    l2 : float, default=0.0
        Strength of a ridge on the coefficients, of standardised columns for numbers. None means 1 divided by the sum of
        the weights.
    weights : {"standard", "adaptive"} or None, default="standard"
        Weights of the edges and columns of terms that have none. With ``"standard"`` weights one ``alpha`` suits all
        terms: 1 for a number, in units of its standard deviation, and for all edges of a factor the root mean square
        of the flow along them that absorbs white noise in the rows; for an ordered factor the root of the mean of
        ``P (1 - P)`` over its edges, where P is the share of the rows on one side of an edge. ``"adaptive"`` divides
        them by the differences of a ridge fit, scaled to a mean of 1. None means weights of 1.
    weights_power : float, default=1.0
        Power of the differences of the ridge fit.
    refit : {"none", "clusters"}, default="none"
        ``"clusters"`` estimates the coefficients again on the fused, selected design, without the penalty.
    solver, max_iter, tol, fit_intercept, warm_start, random_state, n_jobs, verbose
        As for `GraphGuidedClassifier`. ``n_jobs`` has no effect, since there is one linear function.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients, in the units of the columns; `get_feature_names_out` names them.
    levels_ : dict of str to list
        The levels of each factor, by the name of its term.
    groups_ : dict of str to ndarray
        The group of each level: fused levels have the same number.
    intercept_, n_iter_, dual_gap_, status_, solver_, solver_reason_, trace_, coef_penalized_, intercept_penalized_
        As for `GraphGuidedRegressor`.
    n_features_in_, feature_names_in_
        The columns of the table that the terms use.

    See Also
    --------
    TermsClassifier : The same for classes.
    StructuredRegressor : Columns and matrix A of your own.

    References
    ----------
    Devriendt, Antonio, Reynkens, Verbelen: Sparse regression with multi-type regularized feature modeling. Insurance:
    Mathematics and Economics 96, 2021.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from adasadmm import TermsRegressor, terms
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.integers(18, 80, 500), "brand": rng.choice(list("abcd"), 500)})
    >>> claims = rng.poisson(np.where(table["age"] < 30, 2.0, 1.0) * np.where(table["brand"] == "c", 2.0, 1.0))
    >>> model = TermsRegressor([terms.ordered("age"), terms.nominal("brand")], loss="poisson", alpha=0.1)
    >>> model.fit(table, claims).groups_["brand"]
    array([0, 0, 1, 0], dtype=int32)
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **TermsModel._parameter_constraints,
    }

    def __init__(
        self,
        terms: Sequence[Any],
        *,
        loss: LossLike = "squared",
        alpha: float | None = None,
        l2: float | None = 0.0,
        weights: str | None = "standard",
        weights_power: float = 1.0,
        refit: str = "none",
        solver: SolverLike = "auto",
        max_iter: int | None = None,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())


class TermsClassifier(TermsModel, LinearClassifier):
    """Linear classification on a table whose columns are described by terms.

    More than two classes are fitted by one softmax; with a loss other than the logistic one, each against the rest.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "logistic", "multinomial"} or loss, default="logistic"
        As for `GraphGuidedClassifier`.
    class_weight : dict or "balanced", default=None
        As for `GraphGuidedClassifier`.
    terms, alpha, l2, weights, weights_power, refit
        As for `TermsRegressor`.
    solver, max_iter, tol, fit_intercept, warm_start, random_state, n_jobs, verbose
        As for `GraphGuidedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, d)
        Coefficients, in the units of the columns; `get_feature_names_out` names them.
    levels_, groups_, n_features_in_, feature_names_in_
        As for `TermsRegressor`; with several classes an array of ``groups_`` has a row for each class.
    intercept_, classes_, n_iter_, dual_gap_, status_, solver_, solver_reason_, trace_, coef_penalized_, \
intercept_penalized_
        As for `GraphGuidedClassifier`.

    See Also
    --------
    TermsRegressor : The same for numbers and counts.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from adasadmm import TermsClassifier, terms
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"hour": rng.integers(0, 24, 1000), "distance": rng.normal(size=1000)})
    >>> late = (table["hour"] >= 16) & (rng.random(1000) < 0.7)
    >>> model = TermsClassifier([terms.ordered("hour", cyclic=True), terms.linear("distance")], alpha=0.02)
    >>> model.fit(table, late).score(table, late) > 0.8
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        **TermsModel._parameter_constraints,
    }

    def __init__(
        self,
        terms: Sequence[Any],
        *,
        loss: LossLike = "logistic",
        alpha: float | None = None,
        l2: float | None = 0.0,
        weights: str | None = "standard",
        weights_power: float = 1.0,
        refit: str = "none",
        solver: SolverLike = "auto",
        max_iter: int | None = None,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        class_weight: dict | str | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())
