"""The proximal Newton method: quadratic models of the loss, each minimised with the penalty in the space of w.

At w_0 the loss is replaced by its quadratic model, whose matrix is ``X' diag(h) X``. The model with the penalty,

    <g, w - w_0> + 1/2 |w - w_0|^2_H + 1/2 sum_j gamma_j w_j^2 + phi(A w - b),

is minimised by the augmented Lagrangian method with Newton steps. These need no pass over the rows once H is formed:
for the squared loss once, for others whenever the curvature of the rows has changed. Warm starts, for example along a
path of penalties, keep w, theta, beta and H.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Self

import numpy as np
import scipy.linalg.blas

from ... import losses, penalties
from ..._core.jit import unwrapped
from ...certificates import duality
from ...certificates.domains import into_domain
from ...linalg.dense_systems import DenseSystem
from ...linalg.line_search import halved
from ...linalg.system import System
from ...problem import Problem
from ...rows import products
from ..all_rows import AllRowsSolver, Method
from ..base import NamedState, Point, Slopes, Unfit, beyond
from ..units import even_beta
from .lagrangian import AugmentedLagrangian, PenaltyEnvelope, balanced_beta, growth

__all__ = ["ProximalNewton"]

CHANGED = 0.1  # relative change of the rows' curvature beyond which H is formed again
INNER = 0.01  # of the decrease of the model: the error that its minimum may have
TIGHTER = 0.1  # of that error: what Newton's method may leave of it
ROUNDING = 1e-14  # relative error of the objective
MOST_ROUNDS = 40  # steps of the multipliers for one model
HOLD = 1e-9  # of the diagonal: keeps Newton's matrix positive definite where a coordinate has no ridge
WARM = 100.0  # times the beta in balance with the penalty, for the first one: w is not far from the solution
LEAST_BETA, MOST_BETA = 1e-6, 1e8  # times the one with which model and constraint have equal curvature
LOOSER = 0.3  # times the last beta, with another penalty
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
    >>> from adasadmm import L1, Problem, Squared, solve
    >>> from adasadmm.solvers import ProximalNewton
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
    """`lagrangian.Smooth` for the quadratic model of the loss with the matrix ``H = X' diag(h) X``, and the ridge.

    Newton's systems with the same h form H only once.
    """

    def __init__(self, problem: Problem, h: np.ndarray) -> None:
        self.problem, self.system, self.h = problem, problem.system, h
        self.h.flags.writeable = False
        self.diagonal = products.gram_diagonal(self.system.X, h)
        self.even = even_beta(problem, self.diagonal)
        size = np.where(self.diagonal > 0.0, self.diagonal, self.diagonal.max(initial=0.0) or 1.0)
        self.ridge = np.where(problem.gamma > 0.0, problem.gamma, HOLD * size)

    def begin(self, w: np.ndarray, gradient: np.ndarray) -> None:
        """The model at w, with the gradient of the loss there."""
        self.start, self.first, self.turn = w.copy(), gradient, np.zeros_like(w)  # the last one is H (w - w_0)

    def value(self, w: np.ndarray) -> float:
        """The model at w, up to a constant."""
        return float((self.first + 0.5 * self.turn) @ (w - self.start)) + self.problem.ridge_value(w)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self.first + self.turn + self.problem.gamma * w

    def cost(self, gradient: np.ndarray, w: np.ndarray) -> float:
        return float(np.sum(gradient * gradient / (self.diagonal + self.ridge)))

    def factored(self, edges: np.ndarray, bends: np.ndarray | None, step: int) -> System:
        self.system.factor(self.h, edges, self.ridge, bends)
        return self.system

    def product(self, p: np.ndarray) -> np.ndarray:
        """``H p``."""
        if isinstance(self.system, DenseSystem) and self.system.last_rows is self.h:
            return scipy.linalg.blas.dsymv(1.0, self.system.of_X.T, p)
        return products.gram_product(self.system.X, self.h, p)

    def slope(self, w: np.ndarray, p: np.ndarray, product: np.ndarray, length: float) -> float:
        gamma = self.problem.gamma
        return float(self.gradient(w) @ p) + length * (float(p @ product) + float(gamma @ (p * p)))

    def move(self, length: float, product: np.ndarray) -> None:
        self.turn += length * product

    def complete(self, w: np.ndarray) -> bool:
        return False


class ProximalNewtonMethod(Method):
    """The method on one problem. Its v is that of the model, whose zeros are exact.

    Attributes
    ----------
    h : ndarray
        The curvature of the rows in H.
    beta : float
        0 before the first model.
    shortened : bool
        Whether the last step was shortened.
    """

    arrays = (*Method.arrays, "h")
    numbers = ("beta", "shortened")

    def __init__(self, problem: Problem, start: Point) -> None:
        super().__init__(problem)
        self.w, self.v, self.theta = (array.copy() for array in start)
        k = losses.width(problem.loss)
        self.h = np.zeros(problem.n) if k == 1 else np.zeros((problem.terms, k, k))
        self.beta, self.shortened = 0.0, False
        self.model: QuadraticModel | None = None
        self.z: np.ndarray | None = None  # X w, if it is known
        self.envelope = PenaltyEnvelope(problem)
        self.is_quadratic = isinstance(unwrapped(problem.loss), losses.Squared)

    def advance(self) -> None:
        """The model at w, its minimum, and a step there that lowers the objective."""
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
        model = self._model(seconds)
        model.begin(self.w, gradient)
        move = self._minimise(model) - self.w
        products.product(problem.rows.X, move, Xp := np.empty(n))
        length = 1.0 if self.is_quadratic else self._length(z, move, Xp)
        self.shortened = length < 1.0
        self.w += length * move
        if self.is_quadratic:
            problem.last_products.remember(self.w, z + Xp)
        self.z = problem.last_products.of(self.w)

    def predictions(self) -> np.ndarray:
        """``X w``."""
        if self.z is None:
            self.z = self.problem.last_products.of(self.w)
        return self.z

    def _model(self, seconds: np.ndarray) -> QuadraticModel:
        """The last one, unless the curvature of the rows has changed, or the last model led too far."""
        total = float(np.sum(self.h))
        changed = float(np.sum(np.abs(seconds - self.h))) > CHANGED * total or self.shortened or total == 0.0
        if self.model is None or changed:
            self.h = seconds if changed else self.h
            self.model = QuadraticModel(self.problem, self.h)
        return self.model

    def _length(self, z: np.ndarray, move: np.ndarray, Xp: np.ndarray) -> float:
        """The longest step that does not raise the objective."""
        problem = self.problem

        def objective(w: np.ndarray) -> float:
            of_penalty = problem.penalty_value(problem.times_A(w) - problem.b)
            return problem.loss_at(w)[0] + (problem.ridge_value(w) + of_penalty)

        def is_lower(length: float) -> bool:
            w = self.w + length * move
            problem.last_products.remember(w, z + length * Xp)  # the certificate asks for the same point
            return objective(w) <= before + ROUNDING * abs(before)

        before = objective(self.w)
        return halved(is_lower)

    def _minimise(self, model: QuadraticModel) -> np.ndarray:
        """The minimiser of the model with the penalty; sets v, theta and beta."""
        problem, w, Aw = self.problem, self.w.copy(), self.problem.times_A(self.w)
        beta = self.beta or WARM * balanced_beta(problem, Aw) or model.even
        inner = AugmentedLagrangian(self.envelope, model, w, Aw, self.v, self.theta, beta)

        def value() -> float:
            return model.value(w) + problem.penalty_value(Aw - problem.b)

        before, allowed, part = value(), math.inf, INNER
        for _ in range(MOST_ROUNDS):
            steps = inner.minimise(allowed, part)
            inner.multiply()
            wanted, apart = max(INNER * (before - value()), ROUNDING * abs(before)), self._apart(Aw)
            if not apart + inner.cost > wanted:
                break
            inner.beta = min(max(inner.beta * growth(steps), LEAST_BETA * model.even), MOST_BETA * model.even)
            allowed, part = TIGHTER * max(wanted, TIGHTER * apart), math.inf
        self.beta = inner.beta
        return w

    def _apart(self, Aw: np.ndarray) -> float:
        """Return the cost of the difference of v and ``A w - b``: with it, theta is optimal for v alone."""
        own, value = Aw - self.problem.b, self.problem.penalty_value
        return value(own) - value(self.v) + float(self.theta @ (own - self.v))

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        return duality.slopes(self.problem, self.predictions()), self.theta

    # --- starts from the solution of a similar problem ---------------------------------------------------------------

    def restore(self, state: NamedState) -> None:
        self.h, self.model, self.z = np.empty_like(self.h), None, None  # the last h is not written to
        super().restore(state)

    def moved_to(self, problem: Problem, solver: AllRowsSolver) -> Method:
        """With another penalty on the same rows it keeps H, and a smaller beta, with which theta can move."""
        other = super().moved_to(problem, solver)
        assert isinstance(other, ProximalNewtonMethod)
        if problem.rows is not self.problem.rows:
            return other
        other.z, other.h = self.z, self.h
        if problem.system is self.problem.system and np.array_equal(problem.gamma, self.problem.gamma):
            other.model = self.model
        if problem is not self.problem:
            other.beta, other.shortened = LOOSER * self.beta, self.shortened
            other.theta[:] = into_domain(problem, other.theta)
        return other

    def extrapolate(self, last: Self, before: Self, times: float) -> None:
        self.w[:] = beyond(last.w, before.w, times)
        self.problem.last_products.remember(self.w, beyond(last.predictions(), before.predictions(), times))
        self.z = self.problem.last_products.of(self.w)
        self.theta[:] = into_domain(self.problem, beyond(last.theta, before.theta, times))
