"""A run of Algorithm 1 to high accuracy: estimates of the gradient that become exact, and step sizes found on the way.

At the end of each epoch, that is of n rows, variance reduction looks at the whole gradient. After 1, 2, 4, 8, ...
epochs eta and beta are balanced anew. Both are ratios: how fast w moves against how fast the slopes s, or theta, move.
Best is the ratio of the distances that lie ahead, and the distances since the last balance stand for these.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from .. import averages, losses, metrics, stepsizes
from ..algorithm import Method
from ..certificates import duality
from ..certificates.scaling import scaling
from ..certificates.trace import Certificate
from ..linalg import quadratics
from ..linalg.quadratics import Separable
from ..problem import Problem
from . import parts
from ._records import SPDHG
from .gradients import DualCoordinates, VarianceReduced
from .stochastic import StochasticRun

__all__ = ["AccurateRun"]

MOST_CHANGE = 10.0  # of eta or beta, at once
ROUNDING = 1e-10


class Mark(NamedTuple):
    """Where a run stood once; copies."""

    iteration: int
    w: np.ndarray
    w_sum: np.ndarray
    theta: np.ndarray
    s: np.ndarray


class AccurateRun(StochasticRun):
    """The state of SPDHG, SVRG-ADMM or ASVRG-ADMM on one problem."""

    def __init__(self, problem: Problem, solver: Any, w: np.ndarray, v: np.ndarray, theta: np.ndarray) -> None:
        super().__init__(problem, solver, w, v, theta)
        self.since, self.epochs = 0, 0  # rows since the last epoch ended; epochs
        self.certificate: Certificate | None = None
        self.certified_at, self.best_dual = -1, -math.inf
        self.epoch_mark = self.balance_mark = self._mark()

    # --- its parts ---------------------------------------------------------------------------------------------------

    def _parts(self, w: np.ndarray) -> tuple[int, Method]:
        problem, dual = self.problem, isinstance(self.solver, SPDHG)
        batch_size = parts.rows_of_an_accurate_iteration(self.solver, problem)
        self.h, self.size = scaling(problem, batch_size, rare_is_fast=dual)
        self.majoriser = quadratics.majoriser(problem.A)
        z = problem.predictions(w)
        s = duality.slopes(problem, z)
        pull = duality.data_pull(problem, s)
        typical = float(np.mean(self.size)) or 1.0
        if dual:
            kind: Any = DualCoordinates(s, pull, np.zeros(problem.d), self.size, problem.n / batch_size)
            eta = _first_reach(problem, z, s) / typical
        else:
            kind = VarianceReduced(w.copy(), z, s, pull, self.solver.momentum)
            most = losses.curvature(problem.loss) * float(np.max(self.size))
            eta = 1.0 / (self.solver.momentum * (most or 1.0))
        beta = self.solver.beta
        if beta == "auto":  # the constraint slows w as much as the rows do
            beta = float(np.mean(self.h)) / eta / (float(np.mean(self.majoriser)) or 1.0)
        Q = self._quadratic(beta)
        step, metric = stepsizes.Constant(eta), metrics.Scaled(self.h)
        return batch_size, Method(kind, metric, 1.0, step, Q, float(beta), averages.Last())

    def _quadratic(self, beta: float) -> Separable:
        """The linearised constraint, and the ridge: with gamma here, ``gamma w`` is taken at w_{t+1}, not at w_t."""
        return Separable(beta * self.majoriser + self.problem.gamma)

    # --- epochs ------------------------------------------------------------------------------------------------------

    def advance(self, samples: np.ndarray) -> None:
        """Run over these rows, with what is due at the end of each epoch."""
        while len(samples):
            batches = -(-(self.problem.n - self.since) // self.batch_size)
            piece, samples = np.split(samples, [batches * self.batch_size])
            super().advance(piece)
            self.since += len(piece)
            if self.since >= self.problem.n:
                start = time.perf_counter()
                self._end_epoch()
                self.seconds += time.perf_counter() - start

    def _end_epoch(self) -> None:
        self.since, self.epochs = 0, self.epochs + 1
        kind = self.method.subgradient
        if isinstance(kind, VarianceReduced):
            kind.w[:] = self.w_average
            kind.predictions[:] = self.problem.predictions(kind.w)
            kind.slopes[:] = duality.slopes(self.problem, kind.predictions)
            kind.gradient[:] = duality.data_pull(self.problem, kind.slopes)
        self.epoch_mark = self._mark()
        if self.epochs.bit_count() == 1:  # 1, 2, 4, 8, ...
            self._balance(self.balance_mark, self.epoch_mark)
            self.balance_mark = self.epoch_mark

    def _mark(self) -> Mark:
        state, s = self.state, getattr(self.method.subgradient, "s", np.empty(0))
        return Mark(self.iteration, state.w.copy(), state.w_sum.copy(), state.theta.copy(), s.copy())

    def _balance(self, before: Mark, now: Mark) -> None:
        """Move eta and beta half of the way, in logarithms, to the ratios of the distances between two marks."""
        eta, beta = self.method.step.eta, self.beta
        if isinstance(self.method.subgradient, DualCoordinates):
            weight = self.problem.rows.c * self.size / self.batch_size
            eta = _halfway(eta, _distance(self.h, now.w, before.w), _distance(weight, now.s, before.s))
        if self.solver.beta == "auto":
            of_theta = _distance(np.ones(self.problem.m), now.theta, before.theta)
            beta = _halfway(beta, of_theta, _distance(self.majoriser, now.w, before.w))
        self.travelled = self.travelled + (now.theta - self.theta_first) / self.beta
        self.theta_first = now.theta.copy()
        self.method = self.method._replace(step=stepsizes.Constant(eta), Q=self._quadratic(beta), beta=beta)

    # --- what is known of the point ----------------------------------------------------------------------------------

    @property
    def w_average(self) -> np.ndarray:
        """The answer: w, or with variance reduction the mean of this epoch's, mixed with the earlier point."""
        kind = self.method.subgradient
        if isinstance(kind, DualCoordinates):
            return self.state.w.copy()
        mark = self.epoch_mark
        if self.iteration == mark.iteration:
            return kind.w.copy()
        mean = (self.state.w_sum - mark.w_sum + self.state.w - mark.w) / (self.iteration - mark.iteration)
        return kind.momentum * mean + (1.0 - kind.momentum) * kind.w

    def certify(self) -> Certificate:
        """The certificate of the answer, with the best dual value so far."""
        if self.certificate is not None and self.certified_at == self.iteration:
            return self.certificate
        w, kind = self.w_average, self.method.subgradient
        dual = isinstance(kind, DualCoordinates)
        s = kind.s if dual else duality.slopes(self.problem, self.problem.predictions(w))
        found = duality.certify(self.problem, w, self.state.v, s, self.state.theta)
        self.best_dual = max(found.dual, self.best_dual)
        self.certificate = duality.with_dual(self.problem, found, self.best_dual)
        self.certified_at = self.iteration
        return self.certificate

    # --- save, and go on ---------------------------------------------------------------------------------------------

    def _arrays(self) -> list[np.ndarray]:
        return super()._arrays() + [x for x in self.method.subgradient if isinstance(x, np.ndarray)]

    def save(self) -> Any:
        """Also the two marks, whose arrays are never written to, and what the last balance found."""
        arrays, numbers = super().save()
        (epoch, *at_epoch), (balance, *at_balance) = self.epoch_mark, self.balance_mark
        found = self.since, self.epochs, epoch, balance, float(self.method.step.eta), self.beta, self.best_dual
        return [*arrays, *at_epoch, *at_balance, self.travelled], (*numbers, *found)

    def load(self, saved: Any) -> None:
        arrays, (visits, seconds, self.since, self.epochs, epoch, balance, eta, beta, self.best_dual) = saved
        if not 0 <= self.since < self.problem.n:
            raise ValueError(f"{self.since} rows since the last epoch, and there are {self.problem.n}")
        *arrays, self.travelled = arrays
        own, marks = arrays[:-8], arrays[-8:]
        self.epoch_mark, self.balance_mark = Mark(epoch, *marks[:4]), Mark(balance, *marks[4:])
        self.method = self.method._replace(step=stepsizes.Constant(eta), Q=self._quadratic(beta), beta=beta)
        self.certified_at = -1
        super().load((own, (visits, seconds)))

    def fork(self, problem: Problem) -> StochasticRun:
        """A copy that goes on; on other rows a new run from the same point."""
        if problem.rows is not self.problem.rows:
            return AccurateRun(problem, self.solver, self.w_average, self.state.v, self.state.theta)
        fork = super().fork(problem)
        if problem is not self.problem:  # another penalty: another dual problem, another balance
            fork.certificate, fork.best_dual, fork.epochs = None, -math.inf, 0  # type: ignore[attr-defined]
        return fork


def _first_reach(problem: Problem, z: np.ndarray, s: np.ndarray) -> float:
    """How far a prediction may go at first: mean loss over mean squared slope, in the units of ``z^2 / loss``."""
    _, y, c = problem.rows
    value, squares = losses.mean_value(problem.loss, z, y, c), float(np.mean(c * s * s))
    return value / squares if 0.0 < value < math.inf and squares > 0.0 else 1.0


def _distance(weight: np.ndarray, now: np.ndarray, before: np.ndarray) -> float:
    """The weighted distance between two points; weights below 0 are only in forged checkpoints."""
    return math.sqrt(max(weight @ (now - before) ** 2, 0.0))


def _halfway(now: float, one: float, other: float) -> float:
    """The geometric mean of a number and the ratio of two distances; the number itself where one is but rounding."""
    if min(one, now * other) <= ROUNDING * max(one, now * other):
        return now
    factor = math.sqrt(one / (now * other))
    return now * min(max(factor, 1.0 / MOST_CHANGE), MOST_CHANGE)
