"""Batch ADMM: the paper's ``argmin_w L_beta`` made cheap.

X is stacked onto A, so that ``z = X w`` is one more block of v whose prox is each row's loss. Then w solves

    (diag(gamma) + beta_z/n X'CX + beta A'A) w = beta_z/n X'C(z - u) + A'(theta - beta (B v - b)),

one matrix for all iterations, and an iteration is one pass over X. C holds the sample weights, so that a weight of 2
equals repeating the row. The scaled dual u gives ``s = beta_z u``, a subgradient of each row's loss: a dual point, from
which the duality gap is known.

The functions of a block serve rows in memory, read block by block, and on workers.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from ... import losses
from ..._core.jit import compiled
from ..._core.machine import memory
from ..._core.threads import side_by_side
from ...algorithm import B_row_dot, argmin_v, ascend_theta, first_state, model_of
from ...certificates import certify
from ...certificates.trace import Certificate
from ...problem import Block, Problem
from ...rows import matrices, products
from ...rows.kernels import row_dot
from ...rows.matrices import CSR, Repeated
from ...sources._calls import Memory
from ..all_rows import AllRowsSolver, Method
from ..base import Monitor, NamedState, Point, Slopes, check_beta, check_relax

# --- batch ADMM on a block of rows -----------------------------------------------------------------------------------

# Everything is a sum over blocks, in their order, so it can be computed where the blocks are. If a worker ends, its z
# and u are computed again from the history of the run: they depend on the w and the beta_z of each iteration alone.


def start_rows(block: Block, rows: dict, w: np.ndarray) -> bool:
    z = np.empty(len(block.y))
    products.product(block.X, w, z)
    rows.update(z=z, u=np.zeros_like(z), version=1)
    return True


def pass_rows(block: Block, rows: dict, loss: tuple, relax: float, w: np.ndarray, beta_z: float) -> np.ndarray:
    """The pass over a block; returns what it pulls at w."""
    rows["z_before"] = rows["z"].copy()
    rows["version"] += 1
    z, u = rows["z"], rows["u"]
    products.product(block.X, w, Xw := np.empty_like(z))
    side_by_side(partial(prox_of_rows, loss, beta_z, relax, block.y, Xw, z, u), products.pieces(block.X))
    return pull_of_rows(block, rows)


def prox_of_rows(
    loss: tuple, beta_z: float, relax: float, y: np.ndarray, Xw: np.ndarray, z: np.ndarray, u: np.ndarray, piece: slice
) -> None:
    """Over-relax the predictions of some rows, take each row's prox, and move its dual."""
    k = losses.width(loss)
    guess = relax * Xw[piece] + (1.0 - relax) * z[piece]
    target = guess + u[piece]
    arguments = [losses.by_row(target, k), 1.0 / beta_z, losses.by_row(y[piece], k)]
    if k > 1:
        arguments.append(losses.by_row(guess, k))
    z[piece] = losses.each(losses.prox, loss, *arguments).reshape(-1)
    np.subtract(target, z[piece], out=u[piece])


def scale_rows(block: Block, rows: dict, factor: float) -> np.ndarray:
    """The duals for another beta_z; returns ``X'C(z - u)``."""
    rows["u"] /= factor
    rows["version"] += 1
    return pull_of_rows(block, rows)


def pull_of_rows(block: Block, rows: dict) -> np.ndarray:
    pull = np.empty(block.X.shape[1])
    products.transposed_product(block.X, block.c * (rows["z"] - rows["u"]), pull)
    return pull


def gram_of_rows(block: Block, rows: dict, n: int, once: bool) -> np.ndarray:
    """``X'CX/n``, or that of a single output if all have the same: ``once``."""
    if once and isinstance(block.X, Repeated):
        return products.gram(block.X.rows, block.c[:: block.X.times] / n)
    return products.gram(block.X, block.c / n)


def has_equal_outputs(block: Block, rows: dict) -> bool:
    """Whether all outputs of a row have the same features and the same weight."""
    if not isinstance(block.X, Repeated):
        return False
    weights = block.c.reshape(-1, block.X.times)
    return bool((weights == weights[:, :1]).all())


def squares_of_rows(block: Block, rows: dict, w: np.ndarray) -> np.ndarray:
    """The squared norms that balancing compares: of ``X w - z``, ``X w``, z, the last change of z, and u."""
    Xw = np.empty(len(block.y))
    products.product(block.X, w, Xw)
    vectors = Xw - rows["z"], Xw, rows["z"], rows["z"] - rows["z_before"], rows["u"]
    return np.array([float(block.c @ (vector * vector)) for vector in vectors])


class SlopesOfDuals(NamedTuple):
    """A slope for each row, ``beta_z u``."""

    beta_z: float

    def __call__(self, block: Block, rows: dict) -> np.ndarray:
        return self.beta_z * rows["u"]


def at_version(block: Block, rows: dict, version: int, function: Callable[..., Any], *common: Any) -> Any:
    """A function of a block if its z and u are present and of this version; None if not."""
    return function(block, rows, *common) if rows.get("version", 0) == version else None


def replayed(
    block: Block, rows: dict, loss: tuple, relax: float, history: np.ndarray, function: Callable[..., Any], *common: Any
) -> Any:
    """A function of a block whose z and u are first computed again from the history."""
    start_rows(block, rows, history[0, :-2])
    for entry in history[1:]:
        pass_rows(block, rows, loss, relax, entry[:-2].copy(), float(entry[-2]))
        if entry[-1] != 1.0:
            scale_rows(block, rows, float(entry[-1]))
    return function(block, rows, *common)


FIRST_BETA = 0.01
BALANCED_AT = (10, 17, 28, 46, 75, 122, 198, 321)
BALANCE_LIMITS = 0.1, 10.0  # of one change of beta
BALANCE_DEADBAND = 1.5
TINY = 1e-30
HOLD = 1e-12  # a proximal term, relative to the diagonal: a coordinate that nothing determines stays where it started


@dataclasses.dataclass(frozen=True)
class ADMM(AllRowsSolver):
    """Batch ADMM: every iteration uses all rows, with any B.

    Parameters
    ----------
    beta : "auto" or float, default="auto"
        The weight of the constraint. "auto" balances the residuals, for the rows and for the constraint separately.
    relax : float, default=1.6
        Over-relaxation, between 0 and 2.

    References
    ----------
    Boyd, Parikh, Chu, Peleato, Eckstein: Distributed Optimization and Statistical Learning via the Alternating
    Direction Method of Multipliers. Foundations and Trends in Machine Learning 3, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ADMM, L1, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.25), A=[[1.0, -1.0]])
    >>> result = solve(problem, ADMM(), tol=1e-9)
    >>> result.w.round(4), result.certificate.relative_gap <= 1e-9
    (array([1.5, 2.5]), True)
    """

    beta: float | str = "auto"
    relax: float = 1.6

    takes_streams = True
    takes_any_B = True
    takes_vector_losses = True
    exact_v = False
    loss_functions = ("prox",)
    default_epochs = 1000.0
    trace_iterations = 10

    def __post_init__(self) -> None:
        check_beta(self.beta)
        check_relax(self.relax)

    def method(self, problem: Problem, start: Point) -> BatchMethod:
        return BatchMethod(problem, self, start)


@compiled
def constraint_steps(model, beta, relax, state):
    """The v-step and the theta-step of Algorithm 1, with ``A w`` over-relaxed."""
    for k in range(len(state.Aw)):
        before = B_row_dot(model.B, k, state.v) - model.b[k]
        state.Aw[k] = relax * row_dot(model.A, k, state.w) - (1.0 - relax) * before
    argmin_v(model.B, model, beta, state)
    ascend_theta(model.B, model, beta, state)


class BatchMethod(Method):
    """Batch ADMM on one problem."""

    numbers = ("beta_z", "beta", "begun", "version")

    def __init__(self, problem: Problem, solver: ADMM, start: Point) -> None:
        super().__init__(problem)
        self.solver, self.model = solver, model_of(problem, edgewise=False)
        self.beta_z = FIRST_BETA
        self.beta = FIRST_BETA if solver.beta == "auto" else float(solver.beta)
        self.iterates = first_state(problem, *start, self.beta)
        self.memory, self.version = Memory(), 0  # z and u of each block, and how often they have changed
        # For blocks on workers: w, beta_z and the factor that u was divided by, for each iteration.
        self.history = [np.append(start.w, [0.0, 1.0])]
        self._change_rows(start_rows, start.w)
        self.begun = 0  # balancing counts iterations from here
        self.v_before = start.v.copy()
        self._prepare()

    def _prepare(self) -> None:
        A, self.times = self._once()
        d = self.problem.d // self.times
        need, have = 4 * 8 * d**2, memory()
        if need > 0.8 * have:
            raise ValueError(
                f"batch ADMM with {d} features factors a matrix and needs {need / 2**30:.1f} GiB, this "
                f"machine has {have / 2**30:.1f} GiB; use AdaSADMM()"
            )
        self.data_gram = np.zeros((d, d))
        for found in self.problem.each(gram_of_rows, self.problem.n, self.times > 1):
            self.data_gram += found
        self.constraint_gram = products.gram(A, np.ones(A.shape[0]))
        self.rows_pull = np.zeros(self.problem.d)  # X'C(z - u)
        self.rows_pull[:] = _total(self._rows(pull_of_rows))
        self._factorise()
        self._compile()

    def _once(self) -> tuple[CSR, int]:
        """A for one output, and the number of outputs that share the matrix of the w-step."""
        problem, k = self.problem, self.problem.outputs
        once = matrices.not_repeated(problem.A, k) if k > 1 else None
        ridge = problem.gamma.reshape(-1, k)
        if once is None or (ridge != ridge[:, :1]).any() or not all(problem.each(has_equal_outputs)):
            return problem.A, 1
        return once, k

    def _compile(self) -> None:
        """Compile outside the clock."""
        constraint_steps(self.model, self.beta, 1.0, copy.deepcopy(self.iterates))

    # --- one iteration -----------------------------------------------------------------------------------------------

    def advance(self) -> None:
        iterates = self.iterates
        self.v_before[:] = iterates.v
        iterates.w_sum[:] += iterates.w
        self._argmin_w()
        self._pass()
        constraint_steps(self.model, self.beta, self.solver.relax, iterates)
        if self.problem.B is None:
            iterates.v_sum[:] += iterates.v
        if self.iteration - self.begun in BALANCED_AT:
            self._balance()

    def _argmin_w(self) -> None:
        iterates, problem = self.iterates, self.problem
        dual = iterates.theta - self.beta * (problem.times_B(iterates.v) - problem.b)
        rhs = self.beta_z / problem.n * self.rows_pull + problem.times_A_transposed(dual)
        rhs = rhs.reshape(-1, self.times) + self.hold * iterates.w.reshape(-1, self.times)
        solution = scipy.linalg.cho_solve(self.factor, rhs * self.scale, check_finite=False) * self.scale
        iterates.w[:] = solution.reshape(-1)

    def _pass(self) -> None:
        """The pass over all rows; ``X'C(z - u)`` is added up in the order of the blocks."""
        w = self.iterates.w
        if self.problem.on_workers:
            self.history.append(np.append(w, [self.beta_z, 1.0]))
        pulls = self._change_rows(pass_rows, self.problem.loss, self.solver.relax, w, self.beta_z)
        self.rows_pull[:] = _total(pulls)

    def _rows(self, function: Callable[..., Any], *common: Any) -> list[Any]:
        """A function of each block and of its z and u; what was lost with a worker is computed again."""
        asked = self.version, function, *common
        found = list(self.problem.each(at_version, *asked, memory=self.memory))
        lost = [k for k, value in enumerate(found) if value is None]
        if lost:
            past = self.history[: len(self.history) - (function is pass_rows)]
            asked = self.problem.loss, self.solver.relax, np.array(past), function, *common
            again = self.problem.each(replayed, *asked, memory=self.memory, partitions=lost)
            for k, value in zip(lost, again, strict=True):
                found[k] = value
        return found

    def _change_rows(self, function: Callable[..., Any], *common: Any) -> list[Any]:
        found = self._rows(function, *common)
        self.version += 1
        return found

    def _factorise(self) -> None:
        """Factor the matrix of the w-step, scaled to a unit diagonal: features may differ by many decades."""
        matrix = self.beta_z * self.data_gram + self.beta * self.constraint_gram
        matrix[np.diag_indices_from(matrix)] += self.problem.gamma[:: self.times]
        size = np.diag(matrix).copy()
        size[size == 0.0] = 1.0
        self.hold = HOLD * size[:, None]
        self.scale = 1.0 / np.sqrt(size)[:, None]
        matrix *= self.scale * self.scale.T
        matrix[np.diag_indices_from(matrix)] += HOLD
        self.factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def _balance(self) -> None:
        """Bring the relative residuals of rows and constraint together, each by its own beta.

        They are measured where the prox works, on z and on v. OSQP takes X'(z - z_before) over X'u instead; here X'u
        nearly vanishes at the optimum (it equals gamma w), and that rule ends with a beta_z tenfold too small.
        """
        problem, iterates = self.problem, self.iterates
        apart, of_Xw, of_z, of_turn, of_u = np.sqrt(_total(self._rows(squares_of_rows, iterates.w)))
        rows_factor = balanced_by(apart, (of_Xw, of_z), of_turn, of_u)
        Aw, Bv = problem.times_A(iterates.w), problem.times_B(iterates.v)
        turn = self.beta * problem.times_B(iterates.v - self.v_before)
        constraint_factor = balanced_by(
            _norm(Aw + Bv - problem.b), tuple(map(_norm, (Aw, Bv, problem.b))), _norm(turn), _norm(iterates.theta)
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

    # --- the point ---------------------------------------------------------------------------------------------------

    @property
    def point(self) -> Point:
        return Point(self.iterates.w, self.iterates.v, self.iterates.theta)

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        if self.iteration == 0:
            return self.iterates.w.copy(), self.iterates.v.copy()
        return self.iterates.w_sum / self.iteration, self.iterates.v_sum / self.iteration

    def monitor(self) -> Monitor:
        turn = self.problem.times_B(self.iterates.v - self.v_before)
        return Monitor(self.iteration, dual_residual=self.beta * _norm(self.problem.times_A_transposed(turn)))

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        if self.problem.source is None:
            return self.beta_z * self.memory.of(0)["u"], self.iterates.theta
        return SlopesOfDuals(self.beta_z), self.iterates.theta

    def certificate(self) -> Certificate:
        return certify(self.problem, self.iterates.w, self.iterates.v, *self.dual_point(), each=self._rows)

    # --- the state by name -------------------------------------------------------------------------------------------

    def saved(self) -> dict[str, np.ndarray]:
        rows = {f"{name}.{k}": held[name] for k, held in enumerate(self.memory.here) for name in ("z", "u")}
        return {**self.iterates._asdict(), **rows, "rows_pull": self.rows_pull, "v_before": self.v_before}

    def state(self) -> NamedState:
        return {**super().state(), **({"history": np.array(self.history)} if self.problem.on_workers else {})}

    def restore(self, state: NamedState) -> None:
        super().restore(state)
        if self.problem.on_workers:
            self.history = list(np.array(state["history"]))
        for rows in self.memory.here:
            rows["version"] = self.version
        self._factorise()

    def moved_to(self, problem: Problem, solver: AllRowsSolver) -> Method:
        if problem.rows is not self.problem.rows or problem.source is not self.problem.source:
            return super().moved_to(problem, solver)
        fork = copy.copy(self)
        fork.problem, fork.model, fork.best_dual = problem, model_of(problem, edgewise=False), copy.copy(self.best_dual)
        if problem is not self.problem:
            fork.best_dual.reset()
            fork.begun = self.iteration  # another penalty needs another balance
        fork.iterates = copy.deepcopy(self.iterates)
        fork.memory, fork.history = self.memory.copied(), [entry.copy() for entry in self.history]
        fork.rows_pull, fork.v_before = self.rows_pull.copy(), self.v_before.copy()
        return fork


def balanced_by(primal: float, sizes: tuple[float, ...], dual: float, dual_size: float) -> float:
    """The factor for a beta: the square root of the ratio of the relative residuals, within limits."""
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
