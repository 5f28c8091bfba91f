"""A run of Algorithm 1: its parts put together, advanced over rows, saved and taken up again."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import losses
from ..algorithm import Edgewise, Method, State, algorithm1, first_state, model_of, next_gradient, show_v
from ..certificates import ascent, duality, streamed as duality_source
from ..certificates.trace import Certificate
from ..linalg import products, quadratics
from ..linalg.matrices import to_scipy
from ..problem import Block, Problem
from . import parts

__all__ = ["StochasticRun"]

DUAL_PASSES = 2, 10  # least and most for a certificate; between them as many as the run made epochs
SLICE_SECONDS = 0.1  # between two returns to Python, where Ctrl-C is heard and the iterates are looked at


class StochasticRun:
    """The state of Algorithm 1 on one problem."""

    def __init__(self, problem: Problem, solver: Any, w: np.ndarray, v: np.ndarray, theta: np.ndarray) -> None:
        parts.check_fits(solver, problem)
        self.problem, self.solver, self.model = problem, solver, model_of(problem)
        self.block = problem.first_rows
        self.batch_size, self.method = self._parts(w)
        self.state: State = first_state(problem, w, v, theta, self.beta)
        self.w_first, self.theta_first, self.v_before = w.copy(), theta.copy(), v.copy()
        self.travelled = np.zeros(problem.m)  # of theta over beta, with the betas before this one
        self.visits, self.seconds = 0, 0.0
        self.slice_iterations = 1
        self.certified: tuple[int, Certificate] | None = None
        self._run(np.empty(0, np.int64))  # compile outside the clock
        if isinstance(self.model.B, Edgewise):
            show_v(self.model, self.beta, copy.deepcopy(self.state))

    def _parts(self, w: np.ndarray) -> tuple[int, Method]:
        """The rows of an iteration, and the parts of Algorithm 1."""
        return parts.rows_of_an_iteration(self.solver, self.problem), parts.method(self.solver, self.problem, w)

    def _run(self, samples: np.ndarray) -> None:
        algorithm1(self.model, self.method, self.block, self.state, samples, self.batch_size)

    def take(self, block: Block) -> None:
        """The rows that samples speak of from now on."""
        self.block = block

    def advance(self, samples: np.ndarray) -> None:
        """Run over these rows of the block; the v before the last iteration is kept for the dual residual."""
        start = time.perf_counter()
        last = max(0, (len(samples) - 1) // self.batch_size * self.batch_size)
        before = max(0, last - self.batch_size)
        self._run(samples[:before])
        self._run_with_v(samples[before:last])
        self.v_before[:] = self.state.v
        self._run_with_v(samples[last:])
        self.visits += len(samples)
        spent = time.perf_counter() - start
        self.seconds += spent
        if spent < 0.5 * SLICE_SECONDS:
            self.slice_iterations = min(2 * self.slice_iterations, 2**20)
        elif spent > 2.0 * SLICE_SECONDS:
            self.slice_iterations = max(1, self.slice_iterations // 2)

    def _run_with_v(self, batch: np.ndarray) -> None:
        """One iteration, or none, after which v is known."""
        theta = self.state.theta.copy()
        self._run(batch)
        if len(batch) and isinstance(self.model.B, Edgewise):
            show_v(self.model, self.beta, self.state._replace(theta=theta))

    def gradient(self, batch: np.ndarray) -> np.ndarray:
        """The g_t that an iteration over this batch would take."""
        state = self.state._replace(g=self.state.g.copy())
        next_gradient(self.model, self.method, self.block, state, batch)
        return state.g

    def slices(self, samples: np.ndarray) -> Iterator[np.ndarray]:
        """The rows in pieces of whole batches, each of about a tenth of a second."""
        first = 0
        while first < len(samples):
            last = first + self.slice_iterations * self.batch_size
            yield samples[first:last]
            first = last

    def halves(self, samples: np.ndarray) -> list[np.ndarray]:
        """The rows in two pieces of whole batches; none where they are one batch."""
        batches = -(-len(samples) // self.batch_size)
        middle = batches // 2 * self.batch_size
        return [samples[:middle], samples[middle:]] if batches > 1 else []

    # --- where the run stands ----------------------------------------------------------------------------------------

    @property
    def iteration(self) -> int:
        return int(self.state.t[0])

    @property
    def position(self) -> int:
        """How far the run is in the order of its rows."""
        return self.visits

    @property
    def epoch(self) -> float:
        return self.visits / self.problem.n

    @property
    def beta(self) -> float:
        return float(self.method.beta)

    @property
    def eta(self) -> float:
        return float(self.state.eta[0])

    @property
    def w_mean(self) -> np.ndarray:
        """The mean of w_1..w_T."""
        return self.state.w_sum / self.iteration if self.iteration else self.state.w.copy()

    @property
    def v_mean(self) -> np.ndarray:
        """The mean of v_2..v_{T+1}; with B = -I from ``v_{t+1} = A w_{t+1} - b + (theta_{t+1} - theta_t) / beta``."""
        if not self.iteration:
            return self.state.v.copy()
        if self.problem.B is not None:
            return self.state.v_sum / self.iteration
        w_sum = self.state.w_sum - self.w_first + self.state.w
        travel = self.travelled + (self.state.theta - self.theta_first) / self.beta
        return (to_scipy(self.problem.A) @ w_sum + travel) / self.iteration - self.problem.b

    @property
    def w_average(self) -> np.ndarray:
        name = getattr(self.solver, "average", "uniform")
        return {"uniform": self.w_mean, "last": self.state.w}.get(name, self.state.w_average).copy()

    def is_finite(self) -> bool:
        arrays = (self.state.w, self.state.theta, *(x for x in self.method.metric if isinstance(x, np.ndarray)))
        return all(np.isfinite(array).all() for array in arrays)  # an infinite metric would freeze w in silence

    def certify(self) -> Certificate:
        """The certificate of the average, its dual point from the slopes there and a few dual steps."""
        w = self.w_average
        if self.problem.source is None:
            return self._certify_in_memory(w)
        if self.certified is None or self.certified[0] != self.iteration:  # passes over files: not twice
            slopes = SlopesAt(self.problem.loss, w)
            found = duality_source.certify(self.problem, w, self.v_mean, slopes, self.state.theta)
            self.certified = self.iteration, found
        return self.certified[1]

    def _certify_in_memory(self, w: np.ndarray) -> Certificate:
        problem, theta = self.problem, self.state.theta.copy()
        s = duality.slopes(problem, problem.predictions(w))
        found = duality.certify(problem, w, self.v_mean, s, theta)
        if ascent.is_possible(problem):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                ascent.ascend(problem, w, s, theta, int(np.clip(self.epoch, *DUAL_PASSES)))
            if np.isfinite(s).all() and np.isfinite(theta).all():
                found = max(found, duality.certify(problem, w, self.v_mean, s, theta), key=lambda one: one.dual)
        return found

    # --- save, and go on ---------------------------------------------------------------------------------------------

    def _arrays(self) -> list[np.ndarray]:
        own = (self.v_before, self.w_first, self.theta_first)
        parts = (self.state, self.method.metric, self.method.step, self.method.average, own)
        arrays = [array for part in parts for array in part if isinstance(array, np.ndarray)]
        return arrays + quadratics.changing(self.method.Q)

    def save(self) -> Any:
        return [array.copy() for array in self._arrays()], (self.visits, self.seconds)

    def load(self, saved: Any) -> None:
        arrays, (self.visits, self.seconds) = saved
        for array, kept in zip(self._arrays(), arrays, strict=True):
            array[...] = kept

    def fork(self, problem: Problem) -> StochasticRun:
        """A copy that goes on, on these rows."""
        fork = self.copied()
        fork.problem, fork.model, fork.certified = problem, model_of(problem), None
        fork.block = problem.first_rows
        return fork

    def copied(self) -> StochasticRun:
        """A copy with arrays of its own."""
        fork = copy.copy(self)
        fork.state = copy.deepcopy(self.state)
        fork.method = self.method._replace(
            subgradient=copy.deepcopy(self.method.subgradient),
            metric=copy.deepcopy(self.method.metric),
            step=copy.deepcopy(self.method.step),
            average=copy.deepcopy(self.method.average),
            Q=quadratics.fork(self.method.Q),
        )
        own = self.v_before, self.w_first, self.theta_first
        fork.v_before, fork.w_first, fork.theta_first = (array.copy() for array in own)
        return fork

    def without_rows(self) -> StochasticRun:
        """A copy that has let go of the problem, to be kept until more rows come (`fork`)."""
        light = copy.copy(self)
        light.problem = light.model = light.block = None  # type: ignore[assignment]
        return light


class SlopesAt(NamedTuple):
    """The slope of each row's loss at w."""

    loss: Any
    w: np.ndarray

    def __call__(self, block: Block, remembered: dict) -> np.ndarray:
        z, s = np.empty((2, len(block.y)))
        products.product(block.X, self.w, z)
        losses.all_slopes(self.loss, z, block.y, s)
        return s
