"""SDCA: dual coordinate ascent over the rows, with the exact solution along chains after each pass.

For given slopes s of the losses, the best theta is that of a total-variation problem in w with the ridge as weights,
which one dynamic programme solves. So an epoch is a pass over the rows, each with the best slope while all others are
fixed, and one dynamic programme. Both raise the dual value. The w that belongs to the dual point is the iterate.

An intercept has no ridge. It gets one around its last value, of the size that suits the rows: the proximal point
method, whose steps are long because a single coordinate hardly slows the others down.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .. import losses, penalties
from .._core.jit import is_registered
from ..certificates import duality
from ..certificates.ascent import RowSide, move_slopes
from ..problem import Problem
from ..rows.kernels import weighted_squares
from ..rows.matrices import WithIntercept
from .all_rows import AllRowsSolver
from .base import Point, refuse
from .tv.chain import Chain, chain_of
from .tv.newton import ExactMethod

__all__ = ["SDCA"]


@dataclasses.dataclass(frozen=True)
class SDCA(AllRowsSolver):
    """Stochastic dual coordinate ascent, for large sparse data with a ridge and a penalty along chains.

    The rows of A must be weighted differences along disjoint paths and the penalty `L1`; or A = I and the penalty
    `ChainTV`. All coefficients but the intercept need a ridge, and the loss needs a prox. An epoch costs two products
    with X. If ``gamma n`` is about the squared length of a row, a smooth loss takes about ten epochs and the hinge loss
    about forty to a gap of 1e-3; with a tenth of that ridge the hinge loss may not get there in 200.

    References
    ----------
    S. Shalev-Shwartz, T. Zhang, Stochastic dual coordinate ascent methods for regularized loss minimization, Journal of
    Machine Learning Research 14, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, SDCA, Hinge, Problem, graphs, solve
    >>> X, y = np.array([[1.0, 0.9, 0.0], [0.0, 0.1, 1.0]]), [1, -1]
    >>> problem = Problem(X, y, loss=Hinge(), penalty=L1(0.1), A=graphs.difference(3), gamma=0.5)
    >>> result = solve(problem, SDCA(), tol=1e-6)
    >>> result.status.name, bool(result.w[0] == result.w[1])
    ('converged', True)
    """

    loss_functions = ("prox",)
    default_epochs = 200.0
    trace_iterations = 3

    @staticmethod
    def why_not(problem: Problem) -> str:
        """Why the method cannot solve a problem; empty if it can."""
        if problem.w_set is not None or problem.w_copy is not None or problem.b.any():
            return "w has a set, or b is not 0"
        if not isinstance(problem.penalty, (penalties.L1, penalties.ChainTV)) or chain_of(problem) is None:
            return "the penalty is not the total variation along disjoint paths"
        last = isinstance(problem.rows.X, WithIntercept) and problem.column_sizes[1][-1] == 0.0
        if not (problem.gamma[: problem.d - last] > 0.0).all():
            return "a coefficient has no ridge"
        return ""

    def check(self, problem: Problem) -> None:
        refuse(self, self.why_not(problem))

    def method(self, problem: Problem, start: Point) -> AscentMethod:
        return AscentMethod(problem, start)


class AscentMethod(ExactMethod):
    """The slopes s, ``pull = X'(c s)/n``, and the w that belongs to them and to theta."""

    arrays = (*ExactMethod.arrays, "s", "pull")
    s: np.ndarray

    def __init__(self, problem: Problem, start: Point) -> None:
        super().__init__(problem, start.w.copy(), start.theta.copy())
        self.chain = Chain(problem)
        self.ridge = ridge_of(problem)
        self.inverse = 1.0 / self.ridge
        share = problem.rows.c / problem.n
        size = share * weighted_squares(problem.rows.X, self.inverse)
        self.rows = RowSide(problem.loss, problem.rows, size, share, self.inverse, 1)
        self.s = duality.slopes(problem, problem.predictions(self.w)) if self.w.any() else np.zeros(problem.n)
        self.pull = duality.data_pull(problem, self.s)
        # Compile before the clock starts.
        move_slopes(self.rows, np.arange(0), 0, 0, 0, self.s, self.w)

    def improve(self) -> None:
        problem = self.problem
        centre = np.where(problem.gamma > 0.0, 0.0, self.w)  # only the intercept has one
        order = np.random.default_rng(self.iteration - 1).permutation(problem.n)
        of_A = problem.times_A_transposed(self.theta)
        w = centre - self.inverse * (self.pull - of_A)
        move_slopes(self.rows, order, 0, problem.n, 0, self.s, w)
        self.pull[:] = self.ridge * (centre - w) + of_A
        self.w[:], self.theta[:] = self.chain.solve(self.ridge, centre - self.inverse * self.pull)


def ridge_of(problem: Problem) -> np.ndarray:
    """gamma, and for an intercept without ridge one with which it moves as far as all other coefficients together."""
    return np.where(problem.gamma > 0.0, problem.gamma, 1.0 / (_mean_size(problem) or 1.0))


def difficulty(problem: Problem) -> float:
    """The ratio of the loss's curvature to the ridge; the number of epochs grows with it, for a smooth loss."""
    curved = is_registered(losses.curvature, problem.loss)
    curvature = float(np.mean(losses.curvatures(problem.loss, problem.rows.y))) if curved else 1.0
    return curvature * _mean_size(problem) / problem.n


def _mean_size(problem: Problem) -> float:
    """The mean over rows of ``sum_j x_ij^2 / gamma_j``, without coordinates that have no ridge."""
    inverse = np.zeros(problem.d)
    np.divide(1.0, problem.gamma, out=inverse, where=problem.gamma > 0.0)
    return float(np.mean(weighted_squares(problem.rows.X, inverse)))
