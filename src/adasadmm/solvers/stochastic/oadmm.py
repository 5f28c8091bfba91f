"""OADMM: online ADMM, which keeps the loss of a row instead of its tangent."""

from __future__ import annotations

import dataclasses

from ..checks import check_positive
from .settings import Algorithm1Solver, Settings

__all__ = ["OADMM"]


@dataclasses.dataclass(frozen=True)
class OADMM(Algorithm1Solver):
    """Online ADMM: each iteration keeps the loss of one row instead of its tangent at w_t.

    Parameters
    ----------
    eta : float or a step size of `adasadmm.stepsizes`
        A number is a constant step size.
    beta : float, default=1.0
        The weight of the constraint.

    References
    ----------
    Wang, Banerjee: Online Alternating Direction Method. ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, OADMM, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(10.0), A=[[1.0, -1.0]])
    >>> solve(problem, OADMM(eta=0.1), epochs=1000).w_mean.round(1)
    array([2., 2.])
    """

    eta: float | str | tuple
    beta: float = 1.0

    takes_vector_losses = False
    loss_functions = ("prox",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("beta", self.beta)  # "auto" is for a loss that is linearised

    @property
    def settings(self) -> Settings:
        return Settings(self.eta, self.beta, implicit=True)
