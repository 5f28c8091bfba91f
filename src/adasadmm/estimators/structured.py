"""Models whose coefficients follow any linear structure: a penalty of ``A w``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .. import graphs
from ..linalg.matrices import as_csr, to_scipy
from ..penalties import L1, GroupL2
from ._base import LinearModel, keep_parameters
from ._classifier import LinearClassifier
from ._fitting import Structure
from ._regressor import LinearRegressor

__all__ = ["StructuredClassifier", "StructuredRegressor"]

MATRICES = {"chain": lambda d: graphs.difference(d, 1), "trend": lambda d: graphs.difference(d, 2)}


class _Structured(LinearModel):
    """The penalty ``alpha |A w|_1``, of groups of rows of A, or any other."""

    A: Any
    penalty: Any

    def _structure(self, X: Any, alpha: float, sample_weight: np.ndarray | None) -> Structure:
        A, groups = self._matrix(X.shape[1])
        self.graph_ = graphs.chain(X.shape[1]) if isinstance(self.A, str) and self.A == "chain" else None
        if not isinstance(self.penalty, str):
            return Structure(A, self.penalty)
        if self.penalty == "l1":
            return Structure(A, L1(alpha))
        if self.penalty != "group":
            raise ValueError(f"penalty must be 'l1', 'group' or a penalty, got {self.penalty!r}")
        if groups is None:
            raise ValueError(
                'penalty="group" needs to know which rows of A belong together: give A=(matrix, groups), '
                "as graphs.overlapping_groups returns it"
            )
        return Structure(A, GroupL2(alpha, groups))

    def _matrix(self, d: int) -> tuple[Any, Any]:
        """A as a sparse matrix, and the groups of its rows where they came with it."""
        A = self.A
        if isinstance(A, str):
            if A not in MATRICES:
                raise ValueError(
                    f"A must be one of {', '.join(map(repr, MATRICES))}, a matrix or a callable, got {A!r}"
                )
            A = MATRICES[A]
        A = A(d) if callable(A) else A
        A, groups = A if isinstance(A, tuple) else (A, None)
        A = to_scipy(as_csr(A, "A"))
        if A.shape[1] != d:
            raise ValueError(f"A must have a column for each of the {d} features, got shape {A.shape}")
        return A, groups

    def _penalty_is_given(self) -> bool:
        return not isinstance(self.penalty, str)


class StructuredClassifier(_Structured, LinearClassifier):
    """A linear classifier with a penalty of ``A w``.

    Parameters
    ----------
    A : "chain", "trend", matrix, callable d -> matrix, or (matrix, groups)
        "chain" holds first differences (piecewise constant coefficients), "trend" second ones (piecewise linear).
    penalty : {"l1", "group"} or a penalty
        "l1" is ``alpha |A w|_1``; "group" adds up the norms of groups of rows of A, which come with A. A penalty of
        `adasadmm.penalties` or your own is taken as it is, and alpha is not used.
    loss, alpha, l2, solver, eta, beta, a, max_iter, tol, batch_size, average, shuffle, fit_intercept, class_weight, \
warm_start, random_state, n_jobs, verbose
        As for `GraphGuidedClassifier`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, dual_gap_, status_, trace_
        As for `GraphGuidedClassifier`.
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        "A": "no_validation",
        "penalty": "no_validation",
    }

    def __init__(
        self,
        A: Any = "chain",
        *,
        penalty: Any = "l1",
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


class StructuredRegressor(_Structured, LinearRegressor):
    """A linear regression with a penalty of ``A w``.

    Parameters
    ----------
    A, penalty
        As for `StructuredClassifier`.
    loss : {"squared", "huber", "epsilon_insensitive", "quantile", "poisson"} or a loss
    alpha, l2, solver, eta, beta, a, max_iter, tol, batch_size, average, shuffle, fit_intercept, warm_start, \
random_state, n_jobs, verbose
        As for `GraphGuidedClassifier`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_gap_, status_, trace_
        As for `GraphGuidedRegressor`.
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearRegressor._parameter_constraints,
        "A": "no_validation",
        "penalty": "no_validation",
    }

    def __init__(
        self,
        A: Any = "chain",
        *,
        penalty: Any = "l1",
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
