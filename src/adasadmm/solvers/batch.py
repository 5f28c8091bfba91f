"""Batch ADMM: the paper's ``argmin_w L_beta`` made cheap.

X is stacked onto A, so that ``z = X w`` is one more block of v whose prox is each row's loss. Then w solves

    (diag(gamma) + beta_z/n X'CX + beta A'A) w = beta_z/n X'C(z - u) + A'(theta - beta (B v - b)),

one matrix for all iterations, and an iteration is one pass over X. C holds the sample weights, so a weight is a
repetition. The scaled dual u gives ``s = beta_z u``, a slope of each row's loss: a dual point, so the gap is known.

What is done with rows, wherever they are, is `batch_rows`.
"""

from __future__ import annotations

import copy
import functools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg

from .._core.jit import compiled
from .._core.machine import memory
from ..algorithm import B_row_dot, argmin_v, ascend_theta, first_state, model_of
from ..certificates import duality, streamed as duality_source
from ..certificates.trace import Certificate
from ..linalg import products
from ..linalg.matrices import row_dot
from ..problem import Problem
from ..sources._base import Memory
from ._records import ALM
from .batch_rows import (
    SlopesOfDuals,
    at_version,
    gram_of_rows,
    made_again,
    pass_over_rows,
    pass_rows,
    pull_of_rows,
    scale_rows,
    squares_of_rows,
    start_rows,
)

__all__ = ["BatchRun"]

FIRST_BETA = 0.01
BALANCED_AT = (10, 17, 28, 46, 75, 122, 198, 321)
SLICE = 10  # iterations between two returns to Python's loop, where the iterates are looked at
BALANCE_LIMITS = 0.1, 10.0  # one change of beta at the most
BALANCE_DEADBAND = 1.5
TINY = 1e-30
HOLD = 1e-12  # a proximal term, relative to the diagonal: what nothing determines stays where it started


@compiled
def constraint_steps(model, beta, relax, state):
    """The v-step and the theta-step of Algorithm 1, with ``A w`` over-relaxed."""
    for k in range(len(state.Aw)):
        before = B_row_dot(model.B, k, state.v) - model.b[k]
        state.Aw[k] = relax * row_dot(model.A, k, state.w) - (1.0 - relax) * before
    argmin_v(model.B, model, beta, state)
    ascend_theta(model.B, model, beta, state)


class BatchRun:
    """The state of batch ADMM and its iteration."""

    def __init__(self, problem: Problem, solver: Any, w: np.ndarray, v: np.ndarray, theta: np.ndarray) -> None:
        self.problem, self.solver, self.model = problem, solver, model_of(problem, edgewise=False)
        self.beta_z = FIRST_BETA
        self.beta = FIRST_BETA if isinstance(solver, ALM) or solver.beta == "auto" else float(solver.beta)
        self.state = first_state(problem, w, v, theta, self.beta)
        self.memory, self.version = Memory(), 0  # of z and u, and how often these were changed
        self.history = [np.append(w, [0.0, 1.0])]  # of blocks on workers: w, beta_z, by what u was divided then
        self._change_rows(start_rows, w)
        self.rows_pull = np.zeros(problem.d)  # X'C(z - u)
        self.iteration, self.seconds = 0, 0.0
        self.begun = 0  # the iteration from which balancing counts
        self.v_before = v.copy()
        self.best_dual = -math.inf
        self.certificate: Certificate | None = None  # of the iteration below
        self.certified_at = -1
        self._prepare()

    def _prepare(self) -> None:
        need, have = 4 * 8 * self.problem.d**2, memory()
        if need > 0.8 * have:
            raise ValueError(
                f"batch ADMM with {self.problem.d} features factors a matrix and needs {need / 2**30:.1f} GiB, this "
                f"machine has {have / 2**30:.1f} GiB; use AdaSADMM()"
            )
        self.data_gram = np.zeros((self.problem.d, self.problem.d))
        for found in self.problem.each(gram_of_rows, self.problem.n):
            self.data_gram += found
        self.constraint_gram = products.gram(self.problem.A, np.ones(self.problem.m))
        self.rows_pull[:] = _total(self._rows(pull_of_rows))
        self._factorise()
        nothing = np.empty((3, self.problem.d))  # compile outside the clock
        pass_over_rows(self.problem.loss, self.problem.first_rows, *nothing[:1], 1.0, 1.0, *nothing, 0, 0)
        constraint_steps(self.model, self.beta, 1.0, copy.deepcopy(self.state))

    # --- one iteration -----------------------------------------------------------------------------------------------

    def take(self, block: Any) -> None:
        """Nothing to take: an iteration goes over all blocks."""

    def advance(self, iterations: int) -> None:
        """Do some iterations, balancing beta_z and beta at the appointed ones."""
        start = time.perf_counter()
        for _ in range(iterations):
            self.iteration += 1
            self.v_before[:] = self.state.v
            self.state.w_sum[:] += self.state.w
            self._argmin_w()
            self._pass()
            constraint_steps(self.model, self.beta, self.solver.relax, self.state)
            if self.problem.B is None:
                self.state.v_sum[:] += self.state.v
            if self.iteration - self.begun in BALANCED_AT:
                self._balance()
        self.seconds += time.perf_counter() - start

    def _argmin_w(self) -> None:
        state, problem = self.state, self.problem
        dual = state.theta - self.beta * (problem.times_B(state.v) - problem.b)
        rhs = self.beta_z / problem.n * self.rows_pull + problem.times_A_transposed(dual) + self.hold * state.w
        state.w[:] = scipy.linalg.cho_solve(self.factor, rhs * self.scale, check_finite=False) * self.scale

    def _pass(self) -> None:
        """The pass over all rows; their pull at w is added up in the order of the blocks."""
        w = self.state.w
        if self.problem.spread:
            self.history.append(np.append(w, [self.beta_z, 1.0]))
        pulls = self._change_rows(pass_rows, self.problem.loss, self.solver.relax, w, self.beta_z)
        self.rows_pull[:] = _total(pulls)

    # --- the rows, wherever they are ---------------------------------------------------------------------------------

    def _rows(self, function: Any, *common: Any) -> list[Any]:
        """A function of each block and of its z and u; where a worker took these along, they are made again."""
        asked = self.version, function, *common
        found = list(self.problem.each(at_version, *asked, memory=self.memory))
        lost = [k for k, value in enumerate(found) if value is None]
        if lost:
            past = self.history[: len(self.history) - (function is pass_rows)]
            asked = self.problem.loss, self.solver.relax, np.array(past), function, *common
            again = self.problem.each(made_again, *asked, memory=self.memory, parts=lost)
            for k, value in zip(lost, again, strict=True):
                found[k] = value
        return found

    def _change_rows(self, function: Any, *common: Any) -> list[Any]:
        found = self._rows(function, *common)
        self.version += 1
        return found

    def _factorise(self) -> None:
        """Factor the matrix of the w-step, scaled to a diagonal of ones: features may differ by many decades."""
        matrix = self.beta_z * self.data_gram + self.beta * self.constraint_gram
        matrix[np.diag_indices_from(matrix)] += self.problem.gamma
        size = np.diag(matrix).copy()
        size[size == 0.0] = 1.0
        self.hold = HOLD * size
        self.scale = 1.0 / np.sqrt(size)
        matrix *= np.outer(self.scale, self.scale)
        matrix[np.diag_indices_from(matrix)] += HOLD
        self.factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    # --- balancing ---------------------------------------------------------------------------------------------------

    def _balance(self) -> None:
        """Bring the relative residuals of each block together by its own beta.

        They are measured where the prox works, on z and on v. OSQP looks at X'(z - z_before) over X'u instead; here X'u
        nearly vanishes at the optimum (it equals gamma w), and that rule ends with a beta_z tenfold too small.
        """
        problem, state = self.problem, self.state
        apart, of_Xw, of_z, of_turn, of_u = np.sqrt(_total(self._rows(squares_of_rows, state.w)))
        rows_factor = _factor(apart, (of_Xw, of_z), of_turn, of_u)
        Aw, Bv = problem.times_A(state.w), problem.times_B(state.v)
        turn = self.beta * problem.times_B(state.v - self.v_before)
        constraint_factor = _factor(
            _norm(Aw + Bv - problem.b), tuple(map(_norm, (Aw, Bv, problem.b))), _norm(turn), _norm(state.theta)
        )
        if self.solver.beta != "auto":
            constraint_factor = 1.0
        if rows_factor != 1.0:
            self.beta_z *= rows_factor
            self.rows_pull[:] = _total(self._change_rows(scale_rows, rows_factor))
            self.history[-1][-1] = rows_factor
        self.beta *= constraint_factor
        if rows_factor != 1.0 or constraint_factor != 1.0:
            self._factorise()

    # --- what is known of the point ----------------------------------------------------------------------------------

    def certify(self) -> Certificate:
        """The certificate of the present point, with the best dual value so far."""
        if self.certificate is not None and self.certified_at == self.iteration:
            return self.certificate
        point = self.problem, self.state.w, self.state.v
        if self.problem.source is None:
            found = duality.certify(*point, self.beta_z * self.memory.of(0)["u"], self.state.theta)
        else:
            found = duality_source.certify(*point, SlopesOfDuals(self.beta_z), self.state.theta, self._rows)
        self.best_dual = max(found.dual, self.best_dual)
        self.certificate = duality.with_dual(self.problem, found, self.best_dual)
        self.certified_at = self.iteration
        return self.certificate

    eta = math.nan  # there is no step size
    numbers: tuple[str, ...] = (
        "beta_z",
        "beta",
        "iteration",
        "begun",
        "best_dual",
        "version",
        "seconds",
    )  # that change, beside the arrays

    @property
    def position(self) -> int:
        return self.iteration

    @property
    def epoch(self) -> float:
        return float(self.iteration)

    @property
    def w_mean(self) -> np.ndarray:
        return self.state.w_sum / self.iteration if self.iteration else self.state.w.copy()

    @property
    def v_mean(self) -> np.ndarray:
        return self.state.v_sum / self.iteration if self.iteration else self.state.v.copy()

    @property
    def w_average(self) -> np.ndarray:
        return self.state.w.copy()

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.state.w).all() and np.isfinite(self.state.theta).all())

    # --- save, and go on ---------------------------------------------------------------------------------------------

    def slices(self, iterations: int) -> Iterator[int]:
        yield from [SLICE] * (iterations // SLICE)
        if iterations % SLICE:
            yield iterations % SLICE

    def halves(self, iterations: int) -> list[int]:
        return [iterations // 2, iterations - iterations // 2] if iterations > 1 else []

    def save(self) -> Any:
        arrays = [array.copy() for array in self._arrays()]
        if self.problem.spread:
            arrays.append(np.array(self.history))
        return arrays, [getattr(self, name) for name in self.numbers]

    def load(self, saved: Any) -> None:
        arrays, numbers = saved
        for name, number in zip(self.numbers, numbers, strict=True):
            setattr(self, name, number)
        self.certified_at = -1
        if self.problem.spread:
            *arrays, history = arrays
            self.history = list(history.copy())
        for array, kept in zip(self._arrays(), arrays, strict=True):
            array[...] = kept
        for rows in self.memory.here:
            rows["version"] = self.version
        self._restore()

    def _restore(self) -> None:
        """What follows from the arrays and is not kept with them."""
        self._factorise()

    def _arrays(self) -> list[np.ndarray]:
        rows = [held[name] for held in self.memory.here for name in ("z", "u")]
        return [*self.state, *rows, self.rows_pull, self.v_before]

    def fork(self, problem: Problem) -> BatchRun:
        """A copy that goes on; on other rows a new run from the same point."""
        if problem.rows is not self.problem.rows or problem.source is not self.problem.source:
            return BatchRun(problem, self.solver, self.state.w, self.state.v, self.state.theta)
        fork = copy.copy(self)
        fork.problem, fork.model, fork.certificate = problem, model_of(problem, edgewise=False), None
        fork.best_dual = -math.inf
        if problem is not self.problem:  # another penalty wants another balance
            fork.begun = self.iteration
        fork.state = copy.deepcopy(self.state)
        fork.memory, fork.history = self.memory.copied(), [entry.copy() for entry in self.history]
        fork.rows_pull, fork.v_before = self.rows_pull.copy(), self.v_before.copy()
        return fork


def _factor(primal: float, sizes: tuple[float, ...], dual: float, dual_size: float) -> float:
    """By how much to multiply a beta: the square root of the ratio of the relative residuals, within limits."""
    relative_primal = primal / max(*sizes, TINY)
    relative_dual = dual / max(dual_size, TINY)
    factor = math.sqrt(max(relative_primal, TINY) / max(relative_dual, TINY))
    factor = min(max(factor, BALANCE_LIMITS[0]), BALANCE_LIMITS[1])
    return factor if max(factor, 1.0 / factor) > BALANCE_DEADBAND else 1.0


def _total(found: list[np.ndarray]) -> np.ndarray:
    """The sum, in order."""
    return functools.reduce(np.add, found)


def _norm(x: np.ndarray) -> float:
    return float(np.linalg.norm(x))
