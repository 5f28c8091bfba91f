"""The primal-dual interior-point method: few iterations, each with one Newton system, whatever the penalty's strength.

`general` has the iteration for any X and A, and `banded` the one for trends. Both know losses and penalties with kinks,
and bounds, as box terms (`box_terms`), and all other losses by their second derivatives; norms of groups are cones
(`cone_terms`), for which only the general iteration is made.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from ... import losses, penalties
from ..._core.jit import is_registered, unwrapped
from ...certificates.trace import Certificate
from ...problem import Problem
from ...rows import products
from ..all_rows import AllRowsSolver, Method
from ..base import Monitor, Point, Slopes, Unfit
from . import steps as steps
from .banded import BandedMethod, is_trend
from .box_terms import curvature_of, loss_pieces, penalty_pieces, terms_of
from .steps import FIRST_GAP, units_of

# --- any X and A -----------------------------------------------------------------------------------------------------

# Losses and penalties with kinks, and bounds, are box terms (`box_terms`), norms of groups are cones (`cone_terms`),
# and all other losses enter by their second derivatives. Newton's matrix is ``X' diag X + A' diag A + diag``, with a
# rank-one term less for each cone, so it is solved by whichever factorisation is the cheapest for the shapes at hand
# (`linalg.systems`). Each iteration takes Mehrotra's predictor and corrector.

MOST = 1e300
FINAL = 1e-18  # of the first complementarity: steps below this are nothing but rounding errors
FINAL_OF_CONES = 1e-14  # of the norms of groups: the same for cones, whose complementarity is a difference
SMALL = 1e-3  # of its reach: a coordinate below this counts as of this size
HARDEST, SOFTEST, SOFTER, HARDER = 1e-18, 1e-6, 100.0, 0.3  # the least J, in units of the row's softness
REFINED, HARMFUL = 1e-3, 0.1  # of complementarity: what rounding errors may cost, and what makes the rows softer
REFINEMENTS, ATTEMPTS = 3, 5


class Smooth(NamedTuple):
    """The second derivatives and the slopes of the smooth parts of the objective, for each entry of u."""

    curved: np.ndarray
    slopes: np.ndarray


class Direction(NamedTuple):
    """A direction of w and of u, what it leaves of the residual, what that costs, and the length to the boundary."""

    dw: np.ndarray
    du: np.ndarray
    left: np.ndarray
    cost: float
    most: float


class InteriorPointMethod(Method):
    """The interior-point method on one problem. ``u`` holds ``X w`` and after it ``A w - b``.

    ``duals`` holds the multiplier of each entry of u: a slope of the row's weighted loss, or an entry of ``-theta``.
    ``residual`` is the gradient of the Lagrangian, for slopes as Newton's step foresaw them (``slopes``).
    """

    arrays = ("w", "v", "u", "duals", "slopes", "residual")
    numbers = ("gap", "length", "soft", "damping", "careful")

    def __init__(self, problem: Problem, start: Point) -> None:
        super().__init__(problem)
        self.w, self.v = start.w.copy(), start.v.copy()
        self.weight = problem.rows.c / problem.n
        self.terms, self.curvature = terms_of(problem), curvature_of(problem)
        self.smooth = not loss_pieces(problem.loss, problem.rows.y[:0])
        self.x, self.step = steps.Variables.zeros(self.terms), steps.Step.zeros(self.terms)
        # The number of finite ends, each with its share; a cone counts as two.
        self.ends = float(self.terms.shares.sum()) + 2.0 * len(self.terms.cones.radius)
        self.system = problem.system
        self.careful = False  # if not, solutions are only refined together with dt
        self.units = units_of(problem)
        self.length, self.soft, self.damping = 1.0, HARDEST, 0.0
        self._begin()

    def _begin(self) -> None:
        """The first u, t, p and q, and the multipliers that belong to them."""
        problem, n = self.problem, self.problem.n
        self.u = self._along(self.w)
        self.u[n:] -= problem.b
        penalty = problem.penalty_value(-problem.b)
        self.gap = (1.0 if self.smooth else FIRST_GAP) * (self.units.depth or 1.0) + min(penalty, MOST)
        self.rounding = FINAL * self.gap
        at_zero = not self.w.any() and not problem.b.any() and penalties.violation(problem.penalty, self.u[n:]) == 0.0
        self.solved = at_zero and self.units.depth == 0.0  # neither the loss nor the penalty can be smaller
        steps.start(self.terms, self.x, self.u, self.units.reach, self.gap / (self.ends or 1.0))
        self.slopes, self.duals = self._smooth().slopes[:n], np.empty_like(self.u)
        self._set_duals()
        if self.solved:
            self.duals[:] = 0.0
        self.residual = self._back(self.duals) + problem.gamma * self.w

    # --- iterations --------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        if not self.solved and (self.gap > self._rounding() or not self.ends):
            self._iterate()

    def _rounding(self) -> float:
        """The complementarity below which steps are nothing but rounding errors."""
        return self.rounding + FINAL_OF_CONES * float(self.terms.cones.radius @ self.x.cones.head)

    @np.errstate(all="ignore")
    def _iterate(self) -> None:
        """A step along Newton's direction; its matrix is softened if rounding errors would be large."""
        smooth = self._smooth()
        residual = self._residual(smooth)
        for _ in range(ATTEMPTS):
            way = self._direction(residual, smooth)
            if way.cost <= HARMFUL * self._error(residual):
                self.soft = max(HARDER * self.soft, HARDEST)
                break
            if self.careful:
                self.soft = min(SOFTER * self.soft, SOFTEST)
            self.careful = True
        most = min(1.0, steps.TO_BOUNDARY * way.most)
        self.length = self._safe_length(way.du, smooth, most)
        self.residual[:] = residual + self.length * (way.left - residual - self.held * way.dw)
        self.damping = steps.damped(self.damping, self.length, most)
        self._move(way, smooth)

    def _move(self, way: Direction, smooth: Smooth) -> None:
        """Take the step, and show the pattern of zeros in v."""
        n = self.problem.n
        self.w += self.length * way.dw
        self.u += self.length * way.du
        self.slopes[:] = smooth.slopes[:n] + self.length * smooth.curved[:n] * way.du[:n]
        self.gap = steps.move(self.terms, self.x, self.step, self.length)
        self._set_duals()
        settled = self.u.copy()
        steps.settle(self.terms, self.x, settled)
        self.v[:] = settled[n:]

    def _set_duals(self) -> None:
        """The multipliers of the rows: slopes of the smooth parts, and the t of all terms."""
        n = self.problem.n
        self.duals[:n], self.duals[n:] = self.slopes, self.curvature * self.u[n:]
        steps.add_duals(self.terms, self.x.t, self.x.cones.t, self.duals)

    # --- Newton's direction ------------------------------------------------------------------------------------------

    def _direction(self, residual: np.ndarray, smooth: Smooth) -> Direction:
        """Mehrotra's predictor and corrector, with one matrix."""
        n, curved, weight, bends = self.problem.n, smooth.curved, smooth.curved.copy(), np.zeros_like(self.u)
        self.step.forget_products()
        steps.scale(self.terms, self.x, self.step, self.soft * self.units.softness, weight, bends)
        # The proximal term of each coordinate changes the steps, but not where they lead to.
        self.held = math.sqrt(self.soft / HARDEST) * self.units.hold + self.damping * self.units.curvature
        self.system.factor(weight[:n], weight[n:], self.problem.gamma + self.held, bends[n:])
        dw, du = self._aimed_at(0.0, residual)
        if self.ends:
            dw, du = self._aimed_at(self._centre(), residual)
        dw, du, left = self._refined(residual, curved, dw, du)
        return Direction(dw, du, left, self._cost(left), steps.to_boundary(self.terms, self.x, self.step))

    def _aimed_at(self, mean: float, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The direction of w and u that aims at this mean complementarity, and the dt that belongs to it."""
        pull = np.zeros_like(self.u)
        steps.aim(self.terms, self.x, self.u, self.step, mean, pull)
        dw, du = self._solution(residual + self._back(pull))
        steps.turn(self.terms, du, self.step)
        return dw, du

    def _centre(self) -> float:
        """The sigma of the corrector, from the predictor's step."""
        length = min(1.0, steps.to_boundary(self.terms, self.x, self.step))
        after = steps.complementarity(self.terms, self.x, self.step, length)
        others = self._cost(self.residual) + steps.cost_of_gaps(self.terms, self.x, self.u)
        return steps.sum_aimed_at(self.gap, after, length, others) / self.ends

    def _solution(self, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        dw = -(self.system.solve(rhs) if self.careful else self.system.roughly(rhs))
        return dw, self._along(dw)

    def _refined(
        self, residual: np.ndarray, curved: np.ndarray, dw: np.ndarray, du: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Iterative refinement of dw together with dt: dt alone would lose digits where J is small."""
        left = self._left(residual, curved, dw, du)
        for _ in range(REFINEMENTS):
            if self._cost(left) <= REFINED * self._error(residual):
                break
            more, change = self._solution(left)
            dw, du = dw + more, du + change
            steps.amend(self.terms, change, self.step)
            left = self._left(residual, curved, dw, du)
        return dw, du, left

    def _left(self, residual: np.ndarray, curved: np.ndarray, dw: np.ndarray, du: np.ndarray) -> np.ndarray:
        """Return the residual that remains after a direction: 0 up to rounding errors."""
        pull = curved * du
        steps.add_duals(self.terms, self.step.dt, self.step.cones.dt, pull)
        return residual + self._back(pull) + (self.problem.gamma + self.held) * dw

    def _residual(self, smooth: Smooth) -> np.ndarray:
        """The gradient of the Lagrangian: what the last step left, and the change of slopes that it did not foresee."""
        if not self.smooth:
            return self.residual.copy()
        moved = np.empty(self.problem.d)
        products.transposed_product(self.problem.rows.X, smooth.slopes[: self.problem.n] - self.slopes, moved)
        return self.residual + moved

    def _cost(self, residual: np.ndarray) -> float:
        """Bound the cost of a residual in the dual value."""
        return steps.cost_of_residual(residual, self.w, SMALL * self.units.reach_of_w, self.problem.gamma)

    def _error(self, residual: np.ndarray) -> float:
        """The quantity that a step reduces: complementarity, or the residual if no term has ends."""
        return self.gap if self.ends else self._cost(residual)

    def _safe_length(self, du: np.ndarray, smooth: Smooth, length: float) -> float:
        """A length at which the second derivatives of the loss still describe it."""
        if not self.smooth:
            return length
        n, rows = self.problem.n, (self.problem.loss, self.problem.rows.y, self.weight)
        return steps.safe_length(rows, self.u[:n], du[:n], smooth.slopes[:n], smooth.curved[:n], self.gap, length)

    def _smooth(self) -> Smooth:
        n = self.problem.n
        curved, slopes = np.zeros_like(self.u), np.zeros_like(self.u)
        if self.smooth:
            losses.derivatives(self.problem.loss, self.u[:n], self.problem.rows.y, self.weight, slopes[:n], curved[:n])
        curved[n:] = self.curvature
        slopes[n:] = self.curvature * self.u[n:]
        return Smooth(curved, slopes)

    def _along(self, w: np.ndarray) -> np.ndarray:
        """``X w`` and after it ``A w``."""
        out = np.empty(self.problem.n + self.problem.m)
        products.product(self.problem.rows.X, w, out[: self.problem.n])
        products.product(self.problem.A, w, out[self.problem.n :])
        return out

    def _back(self, pull: np.ndarray) -> np.ndarray:
        """``X' pull`` of the rows of X, plus ``A' pull`` of those of A."""
        out = np.empty(self.problem.d)
        products.transposed_product(self.problem.rows.X, pull[: self.problem.n], out)
        return out + self.problem.times_A_transposed(pull[self.problem.n :])

    # --- the point ---------------------------------------------------------------------------------------------------

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.w).all() and np.isfinite(self.duals).all())

    @property
    def point(self) -> Point:
        return Point(self.w, self.v, -self.duals[self.problem.n :])

    def monitor(self) -> Monitor:
        return Monitor(self.iteration, dual_residual=float(np.linalg.norm(self.residual)))

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        slopes = np.zeros(self.problem.n)
        np.divide(self.duals[: self.problem.n], self.weight, out=slopes, where=self.weight > 0.0)
        return slopes, -self.duals[self.problem.n :]

    def certificate(self) -> Certificate:
        self.problem.last_products.remember(self.w, self.u[: self.problem.n])
        return super().certificate()

    def saved(self) -> dict[str, np.ndarray]:
        return super().saved() | self.x.named()


@dataclasses.dataclass(frozen=True)
class IPM(AllRowsSolver):
    """A primal-dual interior-point method, for small and medium problems, to any accuracy.

    It takes about 5 to 20 iterations, each with one Newton system, however strong the penalty is. Use it for as many
    features as rows, or more; for many more rows than features, `ALM` is faster. It has no settings, and needs B = -I.

    The loss must be `Hinge`, `SquaredHinge`, `Huber`, `Quantile` or `EpsilonInsensitive`, or have a ``losses.second``.
    The penalty must be `L1`, `ElasticNet`, `GroupL2`, `L2Squared`, `Zero`, `NonNegative`, `Box`, or a `Stack` of these.

    Trends are solved in one iteration, which takes 10 to 30 steps of linear time: each row of X has one entry, each row
    of A entries in a few neighbouring columns, in the order of the columns, as `graphs.difference` makes them for any
    order and at uneven positions, and the penalty is `L1`.

    References
    ----------
    Mehrotra: On the Implementation of a Primal-Dual Interior Point Method. SIAM Journal on Optimization 2, 1992.

    S.-J. Kim, K. Koh, S. Boyd, D. Gorinevsky, l1 trend filtering, SIAM Review 51, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import IPM, L1, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.25), A=[[1.0, -1.0]])
    >>> result = solve(problem, IPM(), tol=1e-9)
    >>> result.w.round(6), result.status.name
    (array([1.5, 2.5]), 'converged')

    A trend, which bends where v is not 0:

    >>> from adasadmm import graphs
    >>> y = [0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0]
    >>> problem = Problem(np.eye(7), y, loss=Squared(), penalty=L1(0.01), A=graphs.difference(7, order=2))
    >>> solve(problem, IPM()).v.round(2)
    array([ 0.  ,  0.  , -1.96,  0.  ,  0.  ])
    """

    pattern_lags = True
    default_epochs = 100.0

    def check(self, problem: Problem) -> None:
        loss = type(unwrapped(problem.loss)).__name__
        if not loss_pieces(problem.loss, problem.rows.y[:0]) and not is_registered(losses.second, problem.loss):
            raise Unfit(
                f"IPM needs losses.second for {loss}; register one with @adasadmm.losses.second.register({loss}), "
                "or use ALM() or ADMM()"
            )
        sets = [] if problem.w_set is None else penalties.parts_of(problem.w_set, problem.d)
        for part, _ in (*penalties.parts_of(problem.penalty, problem.p), *sets):
            if penalty_pieces(part) is None:
                raise Unfit(
                    "IPM takes the penalties L1, ElasticNet, GroupL2, L2Squared and Zero and the sets NonNegative and "
                    f"Box, got {type(part).__name__}; use ALM() or ADMM()"
                )

    def method(self, problem: Problem, start: Point) -> Method:
        return BandedMethod(problem, start) if is_trend(problem) else InteriorPointMethod(problem, start)
