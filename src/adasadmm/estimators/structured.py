"""Models with a penalty of ``A w`` for a general matrix A."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .. import graphs
from ..penalties import L1, GroupL2
from ..problem import Problem
from ..rows.matrices import as_csr, check_entries, to_scipy
from ..sources import Source
from ._base import LinearModel, keep_parameters
from ._classifier import LinearClassifier
from ._regressor import OF_RESPONSES, LinearRegressor
from ._structure import Structure
from ._types import (
    BoundsLike,
    ConstraintsLike,
    Eta,
    LossLike,
    PenaltyLike,
    RandomState,
    SolverLike,
    StructureMatrix,
    ValidRows,
    WeightsLike,
)

__all__ = ["Structured", "StructuredClassifier", "StructuredRegressor"]

MATRICES = {"chain": lambda d: graphs.difference(d, 1), "trend": lambda d: graphs.difference(d, 2)}


class Structured(LinearModel):
    """The penalty ``alpha |A w|_1``, ``alpha`` times the norms of groups of rows of ``A w``, or a given penalty."""

    A: StructureMatrix
    penalty: PenaltyLike
    constraints: ConstraintsLike
    _latent: graphs.LatentGroups | None

    def _structure(self, X: ValidRows | Source, alpha: float, sample_weight: np.ndarray | None) -> Structure:
        A, groups = self._matrix(X.shape[1])
        self.graph_ = graphs.chain(X.shape[1]) if isinstance(self.A, str) and self.A == "chain" else None
        return Structure(A, self._own_penalty(alpha, groups), None if self._latent is None else self._latent.copies)

    def _own_penalty(self, alpha: float, groups: Sequence | None) -> Any:
        if not isinstance(self.penalty, str):
            return self.penalty
        if self.penalty == "l1":
            return L1(alpha)
        if self.penalty != "group":
            raise ValueError(f"penalty must be 'l1', 'group' or a penalty, got {self.penalty!r}")
        if groups is None:
            raise ValueError(
                'penalty="group" needs the groups of rows of A: give A=(matrix, groups), '
                "for example from graphs.overlapping_groups"
            )
        return GroupL2(alpha, groups)

    def _matrix(self, d: int) -> tuple[sp.csr_array, Sequence | None]:
        """A as a sparse matrix, and the groups of its rows if they are given."""
        given = self.A
        if isinstance(given, str):
            if given not in MATRICES:
                names = ", ".join(map(repr, MATRICES))
                raise ValueError(f"A must be one of {names}, a matrix or a callable, got {given!r}")
            given = MATRICES[given]
        check_entries(given, "A")
        made = given(d) if callable(given) else given
        self._latent = made if isinstance(made, graphs.LatentGroups) else None
        if self._latent is not None:
            features, copies = self._latent.copies.shape
            if features != d:
                raise ValueError(f"latent groups must be over the {d} features, got groups over {features}")
            return sp.eye_array(copies, format="csr"), self._latent.rows
        matrix, groups = made if isinstance(made, tuple) else (made, None)
        A = to_scipy(as_csr(matrix, "A"))
        if A.shape[1] != d:
            raise ValueError(f"A must have a column for each of the {d} features, got shape {A.shape}")
        return A, groups

    def _set_coefficients(self, coefs: list[np.ndarray], intercepts: list[float]) -> None:
        self.__dict__.pop("latent_coef_", None)
        coefs = list(np.vstack(coefs))
        if self._latent is not None:
            by_group = [self._latent.by_group(latent) for latent in coefs]
            self.latent_coef_ = by_group[0] if len(by_group) == 1 else by_group
            coefs = [self._latent.copies @ latent for latent in coefs]
        super()._set_coefficients(coefs, intercepts)

    def _fitted_at(self, problem: Problem, w: np.ndarray) -> dict:
        fitted = super()._fitted_at(problem, w)
        return fitted if self._latent is None else fitted | {"coef_": fitted["coef_"] @ self._latent.copies.T}

    def _penalty_is_given(self) -> bool:
        return not isinstance(self.penalty, str)


class StructuredClassifier(Structured, LinearClassifier):
    """Linear classifier with a penalty of ``A w`` for a general matrix A.

    The model minimises::

        mean loss + l2/2 |w|^2 + (1 - l1_ratio) penalty(A w) + l1_ratio alpha |w|_1.

    The intercept is not penalised. More than two classes are fitted as by `GraphGuidedClassifier`.

    Parameters
    ----------
    A : {"chain", "trend"}, matrix of shape (m, d), (matrix, groups), LatentGroups or callable, default="chain"
        The matrix A, dense or sparse. ``"chain"`` takes first differences of consecutive coefficients, which the L1
        penalty makes piecewise constant; ``"trend"`` takes second differences, for piecewise linear coefficients. A
        callable takes the number of features d and returns A. ``groups`` lists the rows of A in each group; see
        `adasadmm.graphs.overlapping_groups`. With `adasadmm.graphs.latent_groups` each group has coefficients of its
        own, to which the penalty, ``l2`` and ``l1_ratio`` apply; ``coef_`` is their sum.
    penalty : {"l1", "group"} or penalty, default="l1"
        ``"l1"`` is ``alpha |A w|_1``; ``"group"`` is ``alpha`` times the sum of the Euclidean norms of the groups of
        ``A w``. A penalty of `adasadmm.penalties`, or your own, is used as it is: ``alpha`` has no effect, and
        ``l1_ratio`` must be 0.
    constraints : (C, lower, upper) or scipy.optimize.LinearConstraint, default=None
        ``lower <= C w <= upper`` for a matrix C of shape (k, d), dense or sparse; the ends are numbers or arrays of
        shape (k,), None or infinite where there is none. Monotone coefficients, for example, are
        ``(graphs.difference(d), None, 0)`` or ``(graphs.difference(d), 0, None)``. The intercept is not constrained.
    weights : "adaptive" or array-like, default=None
        As for `GraphGuidedClassifier`, with an entry for each row of A, or for each group if ``penalty="group"``.
    loss, alpha, l2, l1_ratio, positive, bounds, weights_power, refit, solver, eta, beta, a, max_iter, tol, \
batch_size, average, shuffle, fit_intercept, class_weight, joint, validation_fraction, warm_start, random_state, \
n_jobs, verbose
        As for `GraphGuidedClassifier`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, dual_gap_, status_, solver_, solver_reason_, trace_, \
validation_loss_, n_features_in_, feature_names_in_
        As for `GraphGuidedClassifier`.
    graph_ : ndarray of shape (d - 1, 2) or None
        Edges of the chain if ``A="chain"``, otherwise None.
    clusters_ : ndarray of shape (d,) or (n_classes, d)
        Group of each feature, as for `GraphGuidedClassifier`; only if ``A="chain"``.
    latent_coef_ : csr_array of shape (n_groups, d), or a list with one for each class
        The coefficients of each latent group; only if A is from `adasadmm.graphs.latent_groups`.

    See Also
    --------
    GraphGuidedClassifier : Use a graph over the features.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from adasadmm import StructuredClassifier, graphs
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> groups = [range(0, 10), range(10, 20), range(20, 30)]  # means, standard errors, largest values
    >>> model = StructuredClassifier(graphs.overlapping_groups(groups, 30), penalty="group", alpha=0.1)
    >>> model.fit(scale(X), y).score(scale(X), y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        "A": "no_validation",
        "penalty": "no_validation",
        "constraints": "no_validation",
    }

    def __init__(
        self,
        A: StructureMatrix = "chain",
        *,
        penalty: PenaltyLike = "l1",
        loss: LossLike = "hinge",
        alpha: float | None = None,
        l2: float | None = None,
        l1_ratio: float = 0.0,
        positive: bool = False,
        bounds: BoundsLike = None,
        constraints: ConstraintsLike = None,
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


class StructuredRegressor(Structured, LinearRegressor):
    """Linear regression with a penalty of ``A w`` for a general matrix A.

    The model minimises::

        mean loss + l2/2 |w|^2 + (1 - l1_ratio) penalty(A w) + l1_ratio alpha |w|_1.

    The intercept is not penalised.

    Parameters
    ----------
    A, penalty, constraints, weights
        As for `StructuredClassifier`.
    loss : {"squared", "huber", "epsilon_insensitive", "quantile", "poisson", "gamma", "tweedie", \
"negative_binomial"} or loss, default="squared"
        As for `GraphGuidedRegressor`.
    alpha, l2, l1_ratio, positive, bounds, weights_power, refit, solver, eta, beta, a, max_iter, tol, batch_size, \
average, shuffle, fit_intercept, validation_fraction, warm_start, random_state, n_jobs, verbose
        As for `GraphGuidedClassifier`. ``n_jobs`` responses are fitted in parallel, if y has several columns.
    joint, missing
        As for `GraphGuidedRegressor`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_gap_, status_, solver_, solver_reason_, trace_, validation_loss_, n_features_in_, \
feature_names_in_
        As for `GraphGuidedRegressor`.
    graph_, clusters_, latent_coef_
        As for `StructuredClassifier`.

    See Also
    --------
    GraphGuidedRegressor : Use a graph over the features.

    Examples
    --------
    Coefficients that are piecewise linear in the position of the feature:

    >>> import numpy as np
    >>> from adasadmm import StructuredRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 7))
    >>> y = X @ [0, 1, 2, 3, 2, 1, 0]
    >>> model = StructuredRegressor("trend", alpha=0.01, l2=0, tol=1e-6).fit(X, y)
    >>> bool(np.allclose(model.coef_, [0, 1, 2, 3, 2, 1, 0], atol=0.05))
    True
    """

    _takes_responses: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        **OF_RESPONSES,
        "A": "no_validation",
        "penalty": "no_validation",
        "constraints": "no_validation",
    }

    def __init__(
        self,
        A: StructureMatrix = "chain",
        *,
        penalty: PenaltyLike = "l1",
        loss: LossLike = "squared",
        alpha: float | None = None,
        l2: float | None = None,
        l1_ratio: float = 0.0,
        positive: bool = False,
        bounds: BoundsLike = None,
        constraints: ConstraintsLike = None,
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
