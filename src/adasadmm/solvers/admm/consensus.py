"""ADMM for networks: each edge has its own copies of the coefficients at both of its ends.

The rows of A are differences ``a (w_i - w_j)``. With a copy of ``a w_i`` and one of ``a w_j`` for each of them, the
matrix of the w-step is ``X'CX``, if the loss is squared or ``beta_z/n X'CX`` if it is not, plus a diagonal: no edge
couples two coefficients. If X falls into blocks, one for each node of a network, so does the matrix (`block_systems`).
For a pair of copies u_i and u_j, the prox of ``phi(u_i - u_j)`` is that of phi at their difference with twice the step;
their mean stays. After it, their scaled duals are lambda and -lambda, so that ``theta = -beta lambda`` is a dual point.

This is the splitting of Hallac, Leskovec and Boyd (Network Lasso, KDD 2015), here with a duality gap.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ... import losses, penalties
from ..._core.jit import unwrapped
from ..._core.machine import memory
from ...certificates import duality
from ...linalg.block_systems import BlockSystem, entries_of_inverses
from ...problem import Problem
from ...rows import products
from ...rows.matrices import CSR, differences
from ..all_rows import AllRowsSolver, Method
from ..base import Monitor, Point, Slopes, Unfit, check_beta, check_relax
from ..units import measured
from .batch import balanced_by

__all__ = ["ConsensusADMM"]

BALANCED_AT = (5, 10, 17, 28, 46, 75, 122, 198, 321, 520)
HOLD = 1e-12  # relative: coordinates that nothing determines stay where they started


@dataclasses.dataclass(frozen=True)
class ConsensusADMM(AllRowsSolver):
    """ADMM with copies of the coefficients at both ends of each edge, for a model at each node of a network.

    The rows of A must be weighted differences of two coefficients, and X sparse. An iteration takes two passes over X
    and solves a system for each block of columns that rows of X connect; it is fast if these blocks are small, or have
    few rows each. The penalty can be any: with `GroupL2` over the rows of each edge the problem is the network lasso.

    Parameters
    ----------
    beta : "auto" or float, default="auto"
        The weight of the constraint. "auto" balances the residuals.
    relax : float, default=1.6
        Over-relaxation, between 0 and 2.

    References
    ----------
    D. Hallac, J. Leskovec, S. Boyd: Network Lasso: Clustering and Optimization in Large Graphs. KDD 2015.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from adasadmm import ConsensusADMM, GroupL2, Problem, Squared, graphs, solve
    >>> A = sp.kron(graphs.incidence([[0, 1]], d=2), sp.eye_array(2), format="csr")  # two nodes, two coefficients each
    >>> problem = Problem(sp.eye_array(4), [0.0, 0.0, 3.0, 4.0], loss=Squared(), penalty=GroupL2(0.25, [[0, 1]]), A=A)
    >>> solve(problem, ConsensusADMM(), tol=1e-9).w.round(4)
    array([0.6, 0.8, 2.4, 3.2])
    """

    beta: float | str = "auto"
    relax: float = 1.6

    loss_functions = ("prox",)
    default_epochs = 2000.0
    trace_iterations = 10

    def __post_init__(self) -> None:
        check_beta(self.beta)
        check_relax(self.relax)

    def check(self, problem: Problem) -> None:
        if differences(problem.A) is None or problem.b.any():
            raise Unfit("ConsensusADMM() needs rows of A that are differences of two coefficients, and b = 0")
        if not isinstance(problem.rows.X, CSR):
            raise Unfit("ConsensusADMM() needs a sparse X, whose rows fall into blocks of columns; use ALM()")
        need, have = 16.0 * entries_of_inverses(problem.rows.X), memory()
        if need > 0.5 * have:
            raise Unfit(
                f"ConsensusADMM() would need {need / 2**30:.1f} GiB for the inverses of the blocks of X, this machine "
                f"has {have / 2**30:.1f} GiB; use ALM()"
            )

    def method(self, problem: Problem, start: Point) -> ConsensusMethod:
        return ConsensusMethod(problem, self, start)


class ConsensusMethod(Method):
    """ADMM with copies on one problem.

    ``v`` and ``mean`` are the difference and the mean of the two copies of each row of A, ``dual`` is lambda. ``z`` and
    ``u`` are the split predictions and their scaled duals; the squared loss, whose own curvature is part of the matrix,
    does not need them.
    """

    arrays = ("w", "v", "mean", "dual", "z", "u", "Xw", "v_before", "mean_before", "z_before")
    numbers = ("begun", "beta", "beta_z")

    def __init__(self, problem: Problem, solver: ConsensusADMM, start: Point) -> None:
        super().__init__(problem)
        self.solver = solver
        pairs = differences(problem.A)
        assert pairs is not None and isinstance(problem.rows.X, CSR)
        self.pairs, self.penalty = pairs, problem.v_step[1]
        self.system = BlockSystem(problem.rows.X)
        self.squared = isinstance(unwrapped(problem.loss), losses.Squared)
        self.degree = products.gram_diagonal(problem.A, np.ones(problem.m))
        self.begun = 0  # balancing counts iterations from here
        units = measured(problem, problem, products.gram_diagonal(problem.rows.X, problem.rows.c / problem.n))
        self.beta_z = 1.0 if self.squared else units.beta_z
        self.beta = units.even / units.beta_z * self.beta_z if solver.beta == "auto" else float(solver.beta)
        self.w, self.v, self.dual = start.w.copy(), start.v.copy(), -start.theta / self.beta
        self.mean = 0.5 * self._ends()[1]
        self.Xw = problem.predictions(self.w)
        self.z, self.u = self.Xw.copy(), np.zeros(problem.n)
        if self.w.any():
            self.u[:] = duality.slopes(problem, self.z) / self.beta_z
        self.v_before, self.mean_before, self.z_before = self.v.copy(), self.mean.copy(), self.z.copy()
        # The squared loss is (z - y)^2 / 2, where y, which may have an offset, is minus the slope at 0.
        self.y = -duality.slopes(problem, np.zeros(problem.n)) if self.squared else np.empty(0)
        self._factorise()

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The differences, and the sums, of the coefficients at the two ends of each edge."""
        first, second, weight = self.pairs
        one, other = weight * self.w[first], weight * self.w[second]
        return one - other, one + other

    def _factorise(self) -> None:
        h = self.problem.gamma + self.beta * self.degree
        self.hold = HOLD * np.where(h > 0.0, h, 1.0)
        self.system.factor(self.beta_z / self.problem.n * self.problem.rows.c, h + self.hold)

    # --- iterations --------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        self.v_before[:], self.mean_before[:], self.z_before[:] = self.v, self.mean, self.z
        self._argmin_w()
        self._split_rows()
        self._split_edges()
        if self.iteration - self.begun in BALANCED_AT:
            self._balance()

    def _argmin_w(self) -> None:
        wanted = self.y if self.squared else self.z - self.u
        first, second, weight = self.pairs
        half, scale, d = 0.5 * self.v - self.dual, self.beta * weight, len(self.w)
        e = self.hold * self.w  # and what the copies, less their duals, pull at w
        e += np.bincount(first, scale * (self.mean + half), d) + np.bincount(second, scale * (self.mean - half), d)
        self.w[:], self.Xw[:] = self.system.solve(e, self.beta_z / self.problem.n * self.problem.rows.c * wanted)

    def _split_rows(self) -> None:
        """The prox of each row's loss."""
        if self.squared:
            self.z[:] = self.Xw
            self.u[:] = duality.slopes(self.problem, self.Xw)
            return
        target = self.solver.relax * self.Xw + (1.0 - self.solver.relax) * self.z + self.u
        self.z[:] = losses.each(losses.prox, self.problem.loss, target, 1.0 / self.beta_z, self.problem.rows.y)
        self.u[:] = target - self.z

    def _split_edges(self) -> None:
        """The prox of the penalty at the difference of each pair of copies."""
        (difference, total), relax = self._ends(), self.solver.relax
        target = relax * difference + (1.0 - relax) * self.v + 2.0 * self.dual
        self.mean[:] = 0.5 * relax * total + (1.0 - relax) * self.mean
        penalties.whole_prox(self.penalty, target, 2.0 / self.beta, self.v)
        np.subtract(target, self.v, out=self.dual)
        self.dual *= 0.5

    def _balance(self) -> None:
        """Bring the relative residuals of rows and edges together, each by its own beta."""
        c, of_rows = self.problem.rows.c, 1.0
        if not self.squared:
            of_rows = balanced_by(
                _norm(self.Xw - self.z, c),
                (_norm(self.Xw, c), _norm(self.z, c)),
                _norm(self.z - self.z_before, c),
                _norm(self.u, c),
            )
        of_edges = 1.0
        if self.solver.beta == "auto":
            difference, total = self._ends()
            of_edges = balanced_by(
                _pairs(difference - self.v, total - 2.0 * self.mean),
                (_pairs(difference, total), _pairs(self.v, 2.0 * self.mean)),
                _pairs(self.v - self.v_before, 2.0 * (self.mean - self.mean_before)),
                math.sqrt(2.0) * _norm(self.dual),
            )
        self.beta_z, self.beta = self.beta_z * of_rows, self.beta * of_edges
        self.u /= of_rows
        self.dual /= of_edges
        if of_rows != 1.0 or of_edges != 1.0:
            self._factorise()

    # --- the point ---------------------------------------------------------------------------------------------------

    @property
    def point(self) -> Point:
        return Point(self.w, self.v, -self.beta * self.dual)

    def monitor(self) -> Monitor:
        turn = self.problem.times_A_transposed(self.v - self.v_before)
        return Monitor(self.iteration, dual_residual=self.beta * _norm(turn))

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        return self.beta_z * self.u, -self.beta * self.dual

    def restored(self) -> None:
        self._factorise()

    def moved_to(self, problem: Problem, solver: AllRowsSolver) -> Method:
        other = super().moved_to(problem, solver)
        assert isinstance(other, ConsensusMethod)
        if problem is not self.problem and problem.rows is self.problem.rows:
            other.restore(self.state())
            other.best_dual.reset()
            other.begun = self.iteration  # another penalty needs another balance
        return other


def _norm(x: np.ndarray, weight: np.ndarray | float = 1.0) -> float:
    return math.sqrt(float(np.sum(weight * x * x)))


def _pairs(difference: np.ndarray, total: np.ndarray) -> float:
    """The norm of pairs of vectors from their differences and sums."""
    return math.sqrt(0.5 * (_norm(difference) ** 2 + _norm(total) ** 2))
