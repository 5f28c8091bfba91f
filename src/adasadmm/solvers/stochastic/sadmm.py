"""SADMM: Algorithm 1 with the identity as metric, the baseline of the paper."""

from __future__ import annotations

import dataclasses

from .settings import Algorithm1Solver, Settings

__all__ = ["SADMM"]


@dataclasses.dataclass(frozen=True)
class SADMM(Algorithm1Solver):
    """Stochastic ADMM: Algorithm 1 with H = I and a decreasing step size.

    With ``w_step="linearized"`` and a number for ``eta`` it is OPG-ADMM (Suzuki 2013).

    Parameters
    ----------
    eta : "1/(gamma t)", "auto", float or a step size of `adasadmm.stepsizes`, default="1/(gamma t)"
        A number c means ``c / sqrt(t)``; "auto" is the distance travelled over the norm of all gradients so far.
    beta, w_step, batch_size
        As for `AdaSADMM`; ``w_step`` is "exact" by default, as in the paper.

    References
    ----------
    Ouyang, He, Tran, Gray: Stochastic Alternating Direction Method of Multipliers. ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Problem, SADMM, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(10.0), A=[[1.0, -1.0]], gamma=0.1)
    >>> solve(problem, SADMM(), epochs=500).w_mean.round(1)
    array([1.7, 1.7])
    """

    eta: float | str | tuple = "1/(gamma t)"
    beta: float | str = 1.0
    w_step: str = "exact"
    batch_size: int | str = 1

    eta_words = ("1/(gamma t)", "auto")

    @property
    def settings(self) -> Settings:
        return Settings(self.eta, self.beta, w_step=self.w_step, batch_size=self.batch_size, falling=True)
