"""SVRG-ADMM and ASVRG-ADMM: stochastic ADMM with variance reduction, without and with momentum."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, ClassVar

from ..problem import Problem
from ._checks import check_batch_size, check_beta
from .accurate import AccurateRun, variance_reduced
from .base import Point, Run, Solver

__all__ = ["ASVRGADMM", "SVRGADMM"]


class _VarianceReduced(Solver):
    """The facts that both methods share."""

    takes_streams: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = True
    takes_vector_losses: ClassVar[bool] = True
    loss_functions: ClassVar[tuple[str, ...]] = ("curvature",)
    alternative: ClassVar[str] = "SPDHG()"
    default_epochs: ClassVar[float] = 200.0
    fit_epochs: ClassVar[int] = 200
    separable_w_step: ClassVar[bool] = True  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True)
class SVRGADMM(_VarianceReduced):
    """Stochastic ADMM with variance reduction: high accuracy with smooth losses, at any number of features.

    The loss needs a `losses.curvature`. An epoch is a pass over batches, and one more over all rows for the gradient at
    the mean of its iterates.

    Parameters
    ----------
    beta, batch_size
        As for `SPDHG`.

    References
    ----------
    Zheng, Kwok: Fast-and-Light Stochastic ADMM. IJCAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Logistic, Problem, SVRGADMM, solve
    >>> problem = Problem(np.eye(2), [1, -1], loss=Logistic(), penalty=L1(0.1), A=[[1.0, -1.0]], gamma=0.1)
    >>> solve(problem, SVRGADMM(), tol=1e-6).status.name
    'converged'
    """

    beta: float | str = "auto"
    batch_size: int | str = "auto"

    momentum: ClassVar[float] = 1.0  # none

    def __post_init__(self) -> None:
        check_beta(self.beta)
        check_batch_size(self.batch_size)

    def begin(self, problem: Problem, start: Point) -> Run:
        return _begin(self, problem, start)


@dataclasses.dataclass(frozen=True)
class ASVRGADMM(_VarianceReduced):
    """`SVRGADMM` with momentum: gradients are taken halfway between the last mean and the current iterate.

    Parameters
    ----------
    beta, batch_size
        As for `SPDHG`.

    References
    ----------
    Liu, Shang, Cheng: Accelerated Variance Reduced Stochastic ADMM. AAAI 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ASVRGADMM, L1, Logistic, Problem, solve
    >>> problem = Problem(np.eye(2), [1, -1], loss=Logistic(), penalty=L1(0.1), A=[[1.0, -1.0]], gamma=0.1)
    >>> solve(problem, ASVRGADMM(), tol=1e-6).status.name
    'converged'
    """

    beta: float | str = "auto"
    batch_size: int | str = "auto"

    momentum: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        check_beta(self.beta)
        check_batch_size(self.batch_size)

    def begin(self, problem: Problem, start: Point) -> Run:
        return _begin(self, problem, start)


def _begin(solver: SVRGADMM | ASVRGADMM, problem: Problem, start: Point) -> Run:
    settings: dict[str, Any] = {"beta": solver.beta, "batch_size": solver.batch_size, "momentum": solver.momentum}
    parts = functools.partial(variance_reduced, **settings)
    return AccurateRun(problem, solver, parts, start)
