"""RDA-ADMM: stochastic ADMM by regularised dual averaging (Suzuki 2013).

Algorithm 1 moves from w_t along the last gradient; dual averaging always moves from w_1 along the mean of all gradients
and duals so far. With ``slack_t = theta_t - beta (A w_t + B v_t - b)``

    w_{t+1} = argmin_w <mean_{s<=t} g_s - A' mean_{s<=t} slack_s, w> + 1/2 |w - w_1|^2_{I/eta_t + beta M/t},

where the diagonal M majorises A'A and ``eta_t = eta sqrt(t)``. The v-step and the theta-step are those of Algorithm 1.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from ... import penalties
from ..._core.jit import compiled
from ...algorithm import argmin_v_and_ascend, first_state, model_of, subgradient
from ...certificates import certify
from ...certificates.trace import Certificate
from ...linalg import quadratics
from ...problem import Problem
from ...sources.blocks import Block
from ..base import Monitor, NamedState, Point, Run, Slopes, Solver
from ..checks import check_batch_size, check_positive
from ..work import Batches, Work
from .gradients import explicit
from .run import slopes_at

__all__ = ["RDASADMM"]


@dataclasses.dataclass(frozen=True)
class RDASADMM(Solver):
    """RDA-ADMM: every step starts at w_1 and follows the mean of all gradients so far.

    Parameters
    ----------
    eta : float, default=1.0
        The step size is ``eta sqrt(t)``, applied to the *mean* of the gradients.
    beta : float, default=1.0
        The weight of the constraint.
    batch_size : int, default=1
        Rows of an iteration.

    References
    ----------
    Suzuki: Dual Averaging and Proximal Gradient Descent for Online Alternating Direction Multiplier Method. ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Hinge, L1, Problem, RDASADMM, solve
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.sign(X @ [1.0, 1.0, 2.0])
    >>> problem = Problem(X, y, loss=Hinge(), penalty=L1(0.1), A=[[1.0, -1.0, 0.0]], gamma=0.1)
    >>> result = solve(problem, RDASADMM(), epochs=10)
    >>> bool(problem.objective(result.w_average) < 0.7 * problem.objective(np.zeros(3)))
    True
    """

    eta: float = 1.0
    beta: float = 1.0
    batch_size: int = 1

    takes_vector_losses: ClassVar[bool] = True
    separable_w_step: ClassVar[bool] = True  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_positive("eta", self.eta)
        check_positive("beta", self.beta)
        if self.batch_size == "auto":
            raise ValueError("batch_size of RDASADMM must be a whole number >= 1, got 'auto'")
        check_batch_size(self.batch_size)

    def begin(self, problem: Problem, start: Point) -> Run:
        return DualAveragingRun(problem, self, start)


class Sums(NamedTuple):
    """The start, the sums over all iterations of g_t and of A'slack_t, the diagonal M, and who adds up v."""

    w_first: np.ndarray
    g: np.ndarray
    pull: np.ndarray
    m: np.ndarray
    adds_v: bool


@compiled
def rda_admm(kind, model, eta, beta, block, state, sums, samples, batch_size):
    """Run RDA-ADMM over the rows in ``samples``, a batch of them for each iteration."""
    for first in range(0, len(samples), batch_size):
        state.t[0] += 1
        t = state.t[0]
        state.eta[0] = eta * np.sqrt(t)
        subgradient(kind, model, None, block, state, samples[first : first + batch_size])
        for j in range(len(state.w)):
            sums.g[j] += state.g[j]
            sums.pull[j] += state.pull[j]
            h = 1.0 / state.eta[0] + beta * sums.m[j] / t
            w = sums.w_first[j] - (sums.g[j] - sums.pull[j]) / (t * h)
            state.w_sum[j] += state.w[j]
            state.w[j] = penalties.prox_at(model.w_set, j, w, 1.0)
            state.g[j] = model.gamma[j] * state.w[j]
        argmin_v_and_ascend(model.B, model, beta, state)
        if sums.adds_v:  # the step of a general B adds it
            for k in range(len(state.v)):
                state.v_sum[k] += state.v[k]


class DualAveragingRun(Run):
    """RDA-ADMM on one problem."""

    solver: RDASADMM

    def __init__(self, problem: Problem, solver: RDASADMM, start: Point) -> None:
        self.problem, self.solver, self.batch_size = problem, solver, int(solver.batch_size)
        self.model = model_of(problem, edgewise=False)
        self.iterates = first_state(problem, *start, solver.beta)
        g, pull = np.zeros((2, problem.d))
        self.sums = Sums(start.w.copy(), g, pull, quadratics.majoriser(problem.A), adds_v=problem.B is None)
        self.v_before = start.v.copy()
        self._run(problem.first_rows, np.empty(0, np.int64))  # compile outside the clock

    def _run(self, block: Block, samples: np.ndarray) -> None:
        eta, beta = float(self.solver.eta), float(self.solver.beta)
        rda_admm(
            explicit(self.problem.loss),
            self.model,
            eta,
            beta,
            block,
            self.iterates,
            self.sums,
            samples,
            self.batch_size,
        )

    def advance(self, work: Work) -> None:
        """Run over rows of a block; v before the last iteration is kept for the dual residual."""
        assert isinstance(work, Batches)
        first, last = work.split(work.iterations - 1)
        self._run(work.block, first.samples)
        self.v_before[:] = self.iterates.v
        self._run(work.block, last.samples)

    def is_finite(self) -> bool:
        return all(np.isfinite(array).all() for array in (self.iterates.w, self.iterates.theta, self.iterates.w_sum))

    @property
    def point(self) -> Point:
        return Point(self.iterates.w, self.iterates.v, self.iterates.theta)

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        T = int(self.iterates.t[0])
        return (self.iterates.w_sum / T, self.iterates.v_sum / T) if T else (self.answer, self.iterates.v.copy())

    @property
    def answer(self) -> np.ndarray:
        """The mean of the iterates, of which the theorem speaks."""
        T = int(self.iterates.t[0])
        return self.iterates.w_sum / T if T else self.iterates.w.copy()

    def monitor(self) -> Monitor:
        turn = self.problem.times_A_transposed(self.problem.times_B(self.iterates.v - self.v_before))
        residual = self.solver.beta * float(np.linalg.norm(turn))
        return Monitor(int(self.iterates.t[0]), float(self.iterates.eta[0]), residual)

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        return slopes_at(self.problem, self.answer), self.iterates.theta

    def certify(self) -> Certificate:
        return certify(self.problem, self.answer, self.means[1], *self.dual_point())

    def arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        """All arrays that change, with their names."""
        yield from self.iterates._asdict().items()
        yield from ((f"sums.{name}", array) for name, array in self.sums._asdict().items() if name != "adds_v")
        yield "v_before", self.v_before

    def state(self) -> NamedState:
        return {name: array.copy() for name, array in self.arrays()}

    def restore(self, state: NamedState) -> None:
        for name, array in self.arrays():
            array[...] = state[name]

    def fork(self, problem: Problem | None) -> DualAveragingRun:
        fork = copy.copy(self)
        fork.iterates, fork.sums = copy.deepcopy(self.iterates), copy.deepcopy(self.sums)
        fork.v_before = self.v_before.copy()
        fork.problem, fork.model = problem, None if problem is None else model_of(problem, edgewise=False)  # type: ignore
        return fork
