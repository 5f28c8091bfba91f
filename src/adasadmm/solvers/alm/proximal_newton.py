"""The proximal Newton method: quadratic models of the loss, each minimised with the penalty in the space of w.

At w_0 the loss is replaced by its quadratic model, whose matrix is ``X' diag(h) X``. The model with the penalty,

    <g, w - w_0> + 1/2 |w - w_0|^2_H + 1/2 sum_j gamma_j w_j^2 + phi(A w - b),

is minimised by the augmented Lagrangian method with Newton steps. These need no pass over the rows once H is formed:
for the squared loss once, for others whenever the curvature of the rows has changed. Warm starts, for example along a
path of penalties, keep w, theta, beta and H.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from functools import partial
from typing import Self

import numpy as np
import scipy.linalg.blas

from ... import losses, penalties
from ..._core.jit import unwrapped
from ...certificates import duality
from ...certificates.domains import into_domain
from ...linalg.dense_systems import DenseSystem
from ...linalg.system import System
from ...problem import Problem
from ...rows import products
from ..all_rows import AllRowsSolver, Method
from ..base import NamedState, Point, Slopes, Unfit, beyond
from ..units import even_beta
from .newton import PenaltyEnvelope, step_length

__all__ = ["ProximalNewton"]

CHANGED = 0.1  # relative change of the rows' curvature beyond which H is formed again
INNER = 0.01  # of the decrease of the model: the error that its minimum may have
ROUNDING = 1e-14
MOST_ROUNDS, MOST_STEPS = 40, 30
HOLD = 1e-9  # of the diagonal: keeps Newton's matrix positive definite where a coordinate has no ridge
DIRECTION = 1e-4  # the relative residual of a Newton direction: further steps correct its error
GROWTH = ((3, 4.0), (6, 2.0), (12, 1.2), (MOST_STEPS, 0.5))  # Newton steps of a round: the factor for beta
FIRST_BETA, LEAST_BETA, MOST_BETA = 0.5, 1e-6, 1e8  # the first in units of penalty / |A w|^2, others of the even one
WARM = 100.0  # times that for a start that is not 0, and so not far from the solution
LOOSER = 0.3  # times the last beta, with another penalty
HALVINGS = 30
MOST_OF_VECTORS = 2000  # coefficients with a loss that couples the outputs, for which H is dense
TAKEN = (penalties.L1, penalties.GroupL2, penalties.ElasticNet, penalties.L2Squared, penalties.Zero)


@dataclasses.dataclass(frozen=True)
class ProximalNewton(AllRowsSolver):
    """The proximal Newton method, for smooth losses and several strengths of a penalty.

    An iteration takes a few passes over the rows, and minimises a quadratic model of the loss with the penalty; it
    profits from a start near the solution. The loss needs a second derivative (``losses.second``), and the penalty must
    be `L1`, `GroupL2`, `ElasticNet`, `L2Squared`, `Zero`, or a `Stack` of these. It has no settings.

    References
    ----------
    J. D. Lee, Y. Sun, M. A. Saunders, Proximal Newton-type methods for minimizing composite functions, SIAM Journal on
    Optimization 24, 2014.

    X. Li, D. Sun, K.-C. Toh, On efficiently solving the subproblems of a level-set method for fused lasso problems,
    SIAM Journal on Optimization 28, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Problem, ProximalNewton, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.25), A=[[1.0, -1.0]])
    >>> result = solve(problem, ProximalNewton(), tol=1e-9)
    >>> result.w.round(6), result.status.name
    (array([1.5, 2.5]), 'converged')
    """

    takes_vector_losses = True
    extrapolates = True
    loss_functions = ("second",)
    alternative = "ALM() or IPM()"
    default_epochs = 100.0

    def check(self, problem: Problem) -> None:
        for part, _ in penalties.parts_of(problem.penalty, problem.p):
            if not isinstance(part, TAKEN):
                raise Unfit(
                    "ProximalNewton takes the penalties L1, GroupL2, ElasticNet, L2Squared and Zero, got "
                    f"{type(part).__name__}; use ALM() or IPM()"
                )
        if problem.w_set is not None:
            raise Unfit("ProximalNewton needs w_set = None; use ALM() or IPM()")
        if losses.width(problem.loss) > 1 and problem.d > MOST_OF_VECTORS:
            raise Unfit(
                f"ProximalNewton takes at most {MOST_OF_VECTORS} coefficients with a loss of several predictions, "
                f"got {problem.d}; use ADMM()"
            )

    def method(self, problem: Problem, start: Point) -> ProximalNewtonMethod:
        return ProximalNewtonMethod(problem, start)


class QuadraticModel:
    """``X' diag(h) X`` as an operator. Newton's systems with the same h form this matrix only once."""

    def __init__(self, system: System, h: np.ndarray, gamma: np.ndarray) -> None:
        self.system, self.h = system, h
        self.diagonal = products.gram_diagonal(system.X, h)
        size = np.where(self.diagonal > 0.0, self.diagonal, self.diagonal.max(initial=0.0) or 1.0)
        self.ridge = np.where(gamma > 0.0, gamma, HOLD * size)

    def times(self, x: np.ndarray) -> np.ndarray:
        """``X' diag(h) X x``."""
        system = self.system
        if isinstance(system, DenseSystem) and system.last_rows is self.h:
            return scipy.linalg.blas.dsymv(1.0, system.of_X.T, x)
        return products.gram_product(system.X, self.h, x)

    def solve(self, edges: np.ndarray, bends: np.ndarray | None, rhs: np.ndarray, tol: float) -> np.ndarray:
        """The solution of a system with this matrix, the ridge, and ``A' (diag(edges) - b b') A``."""
        self.system.factor(self.h, edges, self.ridge, bends)
        return self.system.solve(rhs, tol)


class ProximalNewtonMethod(Method):
    """The iterates, the curvature h of the rows in H, and beta. v is that of the model, whose zeros are exact."""

    arrays = (*Method.arrays, "h")
    numbers = ("beta", "shortened")

    def __init__(self, problem: Problem, start: Point) -> None:
        super().__init__(problem)
        self.w, self.v, self.theta = (array.copy() for array in start)
        k = losses.width(problem.loss)
        self.h = np.zeros(problem.n) if k == 1 else np.zeros((problem.terms, k, k))
        self.beta, self.shortened = 0.0, False  # no beta yet; whether the last step was shortened
        self.model: QuadraticModel | None = None
        self.even = 1.0  # the beta with which the model and the constraint have equal curvature
        self.z: np.ndarray | None = None  # X w and the mean loss there, if they are known
        self.loss: float | None = None
        self.envelope = PenaltyEnvelope(problem)
        self.is_quadratic = isinstance(unwrapped(problem.loss), losses.Squared)
        groups = penalties.groups_of(problem.penalty, problem.p)
        self.members = np.concatenate(groups) if groups else np.empty(0, np.int64)
        self.group = np.repeat(np.arange(len(groups)), [len(group) for group in groups])

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        return duality.slopes(self.problem, self.predictions()), self.theta

    def restore(self, state: NamedState) -> None:
        self.h = np.empty_like(self.h)  # the model of the last one is not written to
        self.model = self.z = self.loss = None
        super().restore(state)

    def moved_to(self, problem: Problem, solver: AllRowsSolver) -> Method:
        """With another penalty on the same rows it keeps H, and a smaller beta, with which theta can move."""
        other = super().moved_to(problem, solver)
        assert isinstance(other, ProximalNewtonMethod)
        if problem.rows is not self.problem.rows:
            return other
        if problem.loss is self.problem.loss:
            other.z, other.loss = self.z, self.loss
        other.h = self.h
        if problem.system is self.problem.system and np.array_equal(problem.gamma, self.problem.gamma):
            other.model, other.even = copy.copy(self.model), self.even
        if problem is not self.problem:
            other.beta, other.shortened = LOOSER * self.beta, self.shortened
            other.theta[:] = into_domain(problem, other.theta)
        return other

    def extrapolate(self, last: Self, before: Self, times: float) -> None:
        self.w[:] = beyond(last.w, before.w, times)
        self.z, self.loss = beyond(last.predictions(), before.predictions(), times), None
        self.theta[:] = into_domain(self.problem, beyond(last.theta, before.theta, times))

    def advance(self) -> None:
        """One iteration: the model at w, its minimum, and a step there that lowers the objective."""
        problem, n = self.problem, self.problem.n
        _, y, c = problem.rows
        z = self.predictions()
        slopes, seconds = np.empty(n), np.empty_like(self.h)
        if seconds.ndim == 1:
            losses.derivatives(problem.loss, z, y, c / n, slopes, seconds)
        else:
            losses.all_slopes(problem.loss, z, y, slopes)
            slopes *= c / n
            losses.second_derivatives(problem.loss, z, y, c / n, seconds)
        gradient = np.empty(problem.d)
        products.transposed_product(problem.rows.X, slopes, gradient)
        self._update_model(seconds)
        w = self._minimise(gradient)
        move = w - self.w
        Xp = np.empty(n)
        products.product(problem.rows.X, move, Xp)
        length = 1.0 if self.is_quadratic else self._length(z, move, Xp)
        self.shortened = length < 1.0
        self.w += length * move
        if self.is_quadratic:
            problem.last_products.remember(self.w, z + Xp)
        self.z = problem.last_products.of(self.w)
        self.loss = problem.loss_at(self.w)[0]

    def predictions(self) -> np.ndarray:
        """``X w``."""
        if self.z is None:
            self.z = self.problem.last_products.of(self.w)
        return self.z

    def _update_model(self, seconds: np.ndarray) -> None:
        """Form H again if the curvature of the rows has changed, or the last model led too far."""
        total = float(np.sum(self.h))
        changed = float(np.sum(np.abs(seconds - self.h))) > CHANGED * total or self.shortened
        if self.model is None or changed or total == 0.0:
            if changed or total == 0.0:
                self.h = seconds
            self.h.flags.writeable = False
            self.model = QuadraticModel(self.problem.system, self.h, self.problem.gamma)
            of_A = products.gram_diagonal(self.problem.A, np.ones(self.problem.m))
            self.even = even_beta(self.model.diagonal, of_A)

    def _length(self, z: np.ndarray, move: np.ndarray, Xp: np.ndarray) -> float:
        """The longest of the steps 1, 1/2, 1/4, ... that does not raise the objective."""
        problem = self.problem
        if self.loss is None:
            self.loss = float(losses.mean_value(problem.loss, z, *problem.rows[1:]))

        def others(w: np.ndarray) -> float:
            return problem.ridge_value(w) + problem.penalty_value(problem.times_A(w) - problem.b)

        before, length = self.loss + others(self.w), 1.0
        for _ in range(HALVINGS):
            w = self.w + length * move
            problem.last_products.remember(w, z + length * Xp)  # the certificate asks for the same point
            if problem.loss_at(w)[0] + others(w) <= before + ROUNDING * abs(before):
                return length
            length *= 0.5
        return 0.0

    # --- the minimum of the model ------------------------------------------------------------------------------------

    def _minimise(self, gradient: np.ndarray) -> np.ndarray:
        """The minimiser of the model with the penalty; sets v, theta and beta."""
        search = Search(self, gradient)
        if self.beta == 0.0:
            self.beta = self._first_beta()
        before, even = search.value(), self.even
        for _ in range(MOST_ROUNDS):
            steps = search.descend()
            self.theta[:], self.v[:] = search.theta, search.v
            decrease = before - search.value()
            error = search.infeasibility() + search.excess
            if not np.isfinite(error) or error <= max(INNER * decrease, ROUNDING * abs(before)):
                break
            growth = next(factor for most, factor in GROWTH if steps <= most)
            self.beta = min(max(self.beta * growth, LEAST_BETA * even), MOST_BETA * even)
            search.allowed = 0.1 * max(INNER * decrease, 0.1 * search.infeasibility())
        return search.w

    def _first_beta(self) -> float:
        """A beta with which penalty and constraint have equal weight; at w = 0, rows and constraint."""
        v = self.problem.times_A(self.w) - self.problem.b
        size, value = float(v @ v), self.problem.penalty_value(v)
        return WARM * FIRST_BETA * value / size if size > 0.0 and 0.0 < value < math.inf else self.even

    def curvature(self, x: np.ndarray, v: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray | None]:
        """The second derivative of the penalty's envelope: weights of the rows of A, and the bends of groups."""
        curved = self.envelope.curvature(x, v, beta)
        if not len(self.members):
            return curved, None
        of_group = x[self.members]
        length = np.sqrt(np.bincount(self.group, of_group * of_group))[self.group]
        shrunk = (curved[self.members] < 1.0) & (length > 0.0)
        bends = np.zeros_like(x)
        bends[self.members] = np.where(
            shrunk, np.sqrt(beta * curved[self.members]) * of_group / np.where(length > 0.0, length, 1.0), 0.0
        )
        return curved, bends


class Search:
    """The augmented Lagrangian of a model at a point w, and Newton steps on it."""

    def __init__(self, method: ProximalNewtonMethod, gradient: np.ndarray) -> None:
        self.method, self.problem, self.gradient = method, method.problem, gradient
        self.w, self.turn = method.w.copy(), np.zeros(method.problem.d)  # w, and H (w - w_0)
        self.Aw = self.problem.times_A(self.w) - self.problem.b
        self.theta, self.v = method.theta, method.v
        self.allowed, self.excess = math.inf, math.inf

    def value(self) -> float:
        """The model with the penalty, up to a constant."""
        move = self.w - self.method.w
        smooth = float((self.gradient + 0.5 * self.turn) @ move) + self.problem.ridge_value(self.w)
        return smooth + self.problem.penalty_value(self.Aw)

    def infeasibility(self) -> float:
        """Return the cost of the difference of v and ``A w - b``: with it, theta is optimal for v alone."""
        value = self.problem.penalty_value
        return value(self.Aw) - value(self.v) + float(self.theta @ (self.Aw - self.v))

    def constraint(self, Aw: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The argument of the prox, the best v, and the theta after it."""
        beta = self.method.beta
        x = Aw - self.method.theta / beta
        return x, *self.method.envelope.prox(x, beta)

    def descend(self) -> int:
        """Newton steps until the gradient costs little; returns their number."""
        method, problem, model = self.method, self.problem, self.method.model
        assert model is not None
        diagonal, beta = model.diagonal + model.ridge, method.beta
        for step in range(MOST_STEPS):
            x, self.v, self.theta = self.constraint(self.Aw)
            smooth = self.gradient + self.turn + problem.gamma * self.w
            gradient = smooth - problem.times_A_transposed(self.theta)
            self.excess = float(np.sum(gradient * gradient / diagonal))
            if step and self.excess <= self.allowed:
                return step
            curved, bends = method.curvature(x, self.v, beta)
            p = -model.solve(beta * curved, bends, gradient, DIRECTION)
            Hp, Ap, first = model.times(p), problem.times_A(p), float(gradient @ p)
            smooth_slope, bend = float(smooth @ p), float(p @ Hp) + float(problem.gamma @ (p * p))
            length = step_length(partial(self._slope, Ap, smooth_slope, bend), first)
            if length == 0.0:
                return step + 1
            decrease = -0.5 * length * first
            self.w, self.turn, self.Aw = self.w + length * p, self.turn + length * Hp, self.Aw + length * Ap
            if step == 0 and not math.isfinite(self.allowed):
                self.allowed = INNER * abs(decrease)
        _, self.v, self.theta = self.constraint(self.Aw)
        return MOST_STEPS

    def _slope(self, Ap: np.ndarray, smooth: float, bend: float, length: float) -> float:
        """The slope after a step of this length, from the first slope of the smooth part and its second derivative."""
        return smooth + length * bend - float(self.constraint(self.Aw + length * Ap)[2] @ Ap)
