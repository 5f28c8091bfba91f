"""SVRG-ADMM and ASVRG-ADMM: stochastic ADMM with variance reduction, without and with momentum."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from ...problem import Problem
from .accurate import AccurateSolver, Parts, variance_reduced

__all__ = ["ASVRGADMM", "SVRGADMM"]


class _VarianceReduced(AccurateSolver):
    """Gradients are taken at ``momentum`` times the iterate and the rest of the earlier point."""

    momentum: ClassVar[float]
    loss_functions: ClassVar[tuple[str, ...]] = ("curvature",)
    alternative: ClassVar[str] = "SPDHG()"

    def parts(self, problem: Problem, w: np.ndarray) -> Parts:
        return variance_reduced(self, problem, w, self.momentum)


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

    momentum: ClassVar[float] = 1.0  # none


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

    momentum: ClassVar[float] = 0.5
