"""SPDHG: stochastic primal-dual hybrid gradients, a dual coordinate for each row."""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar

from ..problem import Problem
from ._checks import check_batch_size, check_beta
from .accurate import AccurateRun, dual_coordinates
from .base import Point, Run, Solver

__all__ = ["SPDHG"]


@dataclasses.dataclass(frozen=True)
class SPDHG(Solver):
    """Stochastic primal-dual hybrid gradients: high accuracy with any loss that has a prox, at any number of features.

    Parameters
    ----------
    beta : "auto" or float, default="auto"
        The weight of the constraint. "auto" balances how far w and theta move; the step size is balanced between w and
        the rows in the same way.
    batch_size : int or "auto", default="auto"
        Rows of an iteration. "auto" makes the work over them match that over coordinates and edges.

    References
    ----------
    Chambolle, Ehrhardt, Richtarik, Schönlieb: Stochastic Primal-Dual Hybrid Gradient Algorithm with Arbitrary Sampling
    and Imaging Applications. SIAM Journal on Optimization 28, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Hinge, L1, Problem, SPDHG, solve
    >>> problem = Problem(np.eye(2), [1, -1], loss=Hinge(), penalty=L1(0.1), A=[[1.0, -1.0]], gamma=0.1)
    >>> solve(problem, SPDHG(), tol=1e-6).status.name
    'converged'
    """

    beta: float | str = "auto"
    batch_size: int | str = "auto"

    takes_streams: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = True
    takes_vector_losses: ClassVar[bool] = True
    loss_functions: ClassVar[tuple[str, ...]] = ("prox",)
    default_epochs: ClassVar[float] = 200.0
    fit_epochs: ClassVar[int] = 200
    separable_w_step: ClassVar[bool] = True  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_beta(self.beta)
        check_batch_size(self.batch_size)

    def begin(self, problem: Problem, start: Point) -> Run:
        parts = functools.partial(dual_coordinates, beta=self.beta, batch_size=self.batch_size)
        return AccurateRun(problem, self, parts, start)
