"""SPDHG: stochastic primal-dual hybrid gradients, a dual coordinate for each row."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from ...problem import Problem
from .accurate import AccurateSolver, Parts, dual_coordinates

__all__ = ["SPDHG"]


@dataclasses.dataclass(frozen=True)
class SPDHG(AccurateSolver):
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

    loss_functions: ClassVar[tuple[str, ...]] = ("prox",)

    def parts(self, problem: Problem, w: np.ndarray) -> Parts:
        return dual_coordinates(self, problem, w)
