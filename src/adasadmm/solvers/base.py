"""The interface of a solver: `Solver`, a record of settings, and `Run`, its state on one problem.

`adasadmm.solve` drives any solver through the members below and knows nothing else about it. To write a solver, derive
a frozen dataclass from `Solver` and a class from `Run`; `docs/tutorials/plot_6_own_solver.py` shows one. `Run` has
defaults for whatever most runs do alike, so that a new one needs no more than its mathematics.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeGuard

import numpy as np

from .. import losses, stepsizes
from .._core.jit import is_registered, unwrapped
from ..certificates import certify_after_ascent, slopes_at
from ..certificates.trace import Certificate
from ..problem import Problem
from ..rows.matrices import all_finite
from .work import Work

NamedState = Mapping[str, np.ndarray | int | float]  # a saved run: each array and number under its name
Slopes = Any  # an array for rows in memory, else a function of a block and of what the run remembers with it

NO_STATE = ("batch_size", "done", "seconds", "tol", "from_file")  # numbers of a run that its state does not contain
FARTHEST = 1.5  # times the distance of the last two strengths: beyond, a linear prediction says little


class Point(NamedTuple):
    """The iterates w, v and theta.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm.solvers import Point
    >>> Point(w=np.zeros(2), v=np.zeros(1), theta=np.zeros(1)).w
    array([0., 0.])
    """

    w: np.ndarray
    v: np.ndarray
    theta: np.ndarray


class Monitor(NamedTuple):
    """The numbers of a run that the trace records; NaN if a method has no such number.

    Objective and primal residual are computed from the run's point, unless the run knows them already.

    Examples
    --------
    >>> from adasadmm.solvers import Monitor
    >>> Monitor(iteration=10, eta=0.5)
    Monitor(iteration=10, eta=0.5, dual_residual=nan, objective=None, primal_residual=None)
    """

    iteration: int
    eta: float = math.nan
    dual_residual: float = math.nan
    objective: float | None = None
    primal_residual: float | None = None


class Unfit(TypeError, ValueError):
    """A solver cannot be used for a problem; the message says why, and what to use instead.

    Examples
    --------
    >>> from adasadmm.solvers import Unfit
    >>> issubclass(Unfit, TypeError) and issubclass(Unfit, ValueError)
    True
    """


class Solver(ABC):
    """The settings of a method, and facts about it. Subclasses are frozen dataclasses.

    Attributes
    ----------
    uses_all_rows : bool
        Every iteration uses all rows, so an epoch is an iteration and the run gets `Iterations`. Otherwise the run gets
        `Batches` of rows.
    takes_streams : bool
        The rows may come from a source, block after block.
    takes_any_B : bool
        The constraint may have any B; otherwise B must be -I.
    knows_gap : bool
        The run has a dual point that converges with it: ``tol`` is 1e-6 unless given, and every result is certified.
    takes_vector_losses : bool
        The loss of a row may take several predictions (`losses.width`).
    exact_v : bool
        ``v`` is the prox at the returned point, so its zeros tell which rows of ``A w = b`` hold exactly.
    pattern_lags : bool
        Near the optimum the gap falls so fast that the zeros of v are not yet those of the optimum when it reaches
        ``tol``. One more iteration shows them.
    extrapolates : bool
        Its runs have a `Run.extrapolate`, with which a path of penalties predicts the next solution.
    narrows : bool
        Its runs have a `Run.narrowed`, with which the fit of a fold starts from the solution for all rows.
    loss_functions : tuple of str
        What the method needs of a loss beside ``value`` and ``slope``: "prox", "curvature".
    alternative : str
        Which solver to use for a loss without these functions; part of the error message.
    default_epochs : float
        How long `solve` runs if nothing else ends the run.
    trace_iterations : int
        Iterations between two points of the trace, for a method that uses all rows.

    Examples
    --------
    >>> from adasadmm import ALM, AdaSADMM
    >>> ALM().uses_all_rows, ALM().knows_gap
    (True, True)
    >>> AdaSADMM().uses_all_rows, AdaSADMM().takes_streams
    (False, True)
    """

    uses_all_rows: ClassVar[bool] = False
    takes_streams: ClassVar[bool] = True
    takes_any_B: ClassVar[bool] = True
    takes_vector_losses: ClassVar[bool] = False
    knows_gap: ClassVar[bool] = False
    exact_v: ClassVar[bool] = False
    pattern_lags: ClassVar[bool] = False
    extrapolates: ClassVar[bool] = False
    narrows: ClassVar[bool] = False
    loss_functions: ClassVar[tuple[str, ...]] = ()
    alternative: ClassVar[str] = "a stochastic solver such as AdaSADMM()"
    default_epochs: ClassVar[float] = 2.0
    trace_iterations: ClassVar[int] = 1

    @property
    def fit_epochs(self) -> int:
        """How long the estimators run if nothing else ends the run; 20 epochs at least."""
        return max(20, int(self.default_epochs))

    @property
    def separable_w_step(self) -> bool:
        """Whether the w-step treats each coordinate alone, so that it can keep w inside a box.

        Where it does not, or where ``w_set`` is not a box, `solve` splits the set off: the problem that `begin` gets
        then has no ``w_set`` but a copy of w in v.
        """
        return False

    def check(self, problem: Problem) -> None:  # noqa: B027
        """Raise `Unfit` before any work if the method cannot be used for a problem."""

    def foresee(self, problem: Problem, strengths: Sequence[float]) -> None:  # noqa: B027
        """Learn all strengths of a path, of which this is the first problem, before it begins.

        What their solutions share can be computed here and kept in ``problem.of_coordinates``.
        """

    @abstractmethod
    def begin(self, problem: Problem, start: Point) -> Run:
        """A run on a problem, from a point, whose arrays it may keep. Whatever has to be compiled is compiled here."""


class Run(ABC):
    """The state of a method on one problem.

    Only `advance` is abstract. The other members have defaults for a run that keeps w, v, theta, ``iteration`` and
    ``eta`` as attributes, and whose state is made of its attributes.

    Attributes
    ----------
    problem : Problem
    solver : Solver
    w, v, theta : ndarray
        The last iterates, where `point` is not overridden.
    iteration : int
        Iterations so far, where `monitor` is not overridden.
    eta : float
        The last step size, where `monitor` is not overridden; NaN if the method has none.
    batch_size : int
        Rows of an iteration.
    done : int
        Rows visited so far, or iterations for a solver that uses all rows; counted by `solve`.
    seconds : float
        Time spent in `advance`, and waiting for rows; counted by `solve`.
    tol : float
        The relative gap at which `solve` ends the run, 0 if at none: a proof of a larger gap need not be sharp.
    from_file : bool
        It was read from a file that is not trusted, and must be compared with a new run before it continues.

    Examples
    --------
    A run can be driven by hand:

    >>> import numpy as np
    >>> from adasadmm import ADMM, L1, Problem, Squared
    >>> from adasadmm.solvers import Iterations, Point
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(10.0), A=[[1.0, -1.0]])
    >>> run = ADMM().begin(problem, Point(np.zeros(2), np.zeros(1), np.zeros(1)))
    >>> run.advance(Iterations(100))
    >>> run.answer.round(4)
    array([2., 2.])
    """

    problem: Problem
    solver: Solver
    w: np.ndarray
    v: np.ndarray
    theta: np.ndarray
    iteration: int = 0
    eta: float = math.nan
    batch_size: int = 1
    done: int = 0
    seconds: float = 0.0
    tol: float = 0.0
    from_file: bool = False

    def __init__(self, problem: Problem, solver: Solver, start: Point) -> None:
        self.problem, self.solver, self.iteration, self.eta = problem, solver, 0, math.nan
        self.w, self.v, self.theta = (part.copy() for part in start)
        rows = getattr(solver, "batch_size", 1)
        self.batch_size = 1 if rows == "auto" else int(rows)

    @abstractmethod
    def advance(self, work: Work) -> None:
        """Do a piece of work. It may leave infinite or NaN iterates: `solve` then restores the state before it."""

    def is_finite(self) -> bool:
        """Whether the iterates, and whatever they are computed from, are finite; w and theta unless overridden."""
        return all_finite(self.point.w) and all_finite(self.point.theta)

    @property
    def ended(self) -> bool:
        """Whether another iteration would change nothing."""
        return False

    @property
    def point(self) -> Point:
        """The last iterates; not copies."""
        return Point(self.w, self.v, self.theta)

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """The uniform means of w_1..w_T and of v_2..v_{T+1}, as in the theorems.

        A method that does not average returns the arrays of `point` themselves, which is the default.
        """
        return self.point.w, self.point.v

    @property
    def answer(self) -> np.ndarray:
        """The w that the method recommends (``result.w_average``), the last one unless overridden.

        The certificate is that of this point.
        """
        return self.point.w

    def monitor(self) -> Monitor:
        """Iterations so far, the last step size and the last dual residual."""
        return Monitor(self.iteration, self.eta)

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        """A subgradient of each row's loss, and theta: the dual point that `certify` starts from.

        The slopes are an array for rows in memory; for rows read block by block, or on workers, a function of a block
        and of what the run remembers with it. The default is the slopes at `answer`, and the last theta.
        """
        return slopes_at(self.problem, self.answer), self.point.theta

    def certify(self) -> Certificate:
        """Return the certificate of `answer`; unless overridden, a little dual ascent improves the dual point."""
        epochs = self.done / self.problem.terms
        return certify_after_ascent(self.problem, self.answer, self.means[1], *self.dual_point(), epochs)

    def state(self) -> NamedState:
        """Everything that the rest of the run depends on, by name: copies of arrays, whole numbers and floats.

        The default is all attributes that are arrays or numbers, except those of ``NO_STATE``; so a run must set them
        before its first iteration.
        """
        kinds = np.ndarray, int, float
        own = {name: value for name, value in vars(self).items() if isinstance(value, kinds) and name not in NO_STATE}
        return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in own.items()}

    def restore(self, state: NamedState) -> None:
        """Return to a state; names and shapes are those of `state`. Raise ``ValueError`` for impossible values."""
        for name, value in state.items():
            setattr(self, name, value.copy() if isinstance(value, np.ndarray) else value)

    def fork(self, problem: Problem | None) -> Run:
        """A copy that continues independently.

        On the same rows with another penalty or ridge, the iterates are kept and what depends on the penalty is not;
        on other rows, or with another loss, the run starts from this point. ``None`` gives a copy without rows, to be
        forked again later. By default all attributes are kept, and arrays are copied.
        """
        fork: Any = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(fork, name, value.copy())
        fork.problem = problem
        return fork

    def doubt(self) -> str:
        """Why the answer may be poor although the run did all its work, and what to do; empty if nothing is known.

        It is called after the run, and may read the rows.
        """
        return ""

    def extrapolate(self, last: Run, before: Run, times: float) -> None:  # noqa: B027
        """Move the iterates to ``last + times (last - before)``, from those of two runs of the same solver.

        Along a path of penalties, that is a better start than the last solution. It is called on a fork of the last
        run, and only if the solver ``extrapolates``.
        """

    def narrowed(self, problem: Problem, rows: np.ndarray) -> Run | None:
        """A start on a problem that has only these rows, and may have another penalty; None if it would be a poor one.

        It is called only if the solver ``narrows``.
        """
        return None


def times_farther(alpha: float, before: float, last: float) -> float:
    """The distance to the next strength, in units of that of the last two; 0 if a prediction would say little."""
    times = (alpha - last) / (last - before) if last != before else 0.0
    return times if 0.0 < times <= FARTHEST else 0.0


def beyond(last: np.ndarray, before: np.ndarray, times: float) -> np.ndarray:
    """``last + times (last - before)``."""
    return last + times * (last - before)


def check_fits(solver: Solver, problem: Problem) -> None:
    """Raise `Unfit` before any work if a solver cannot be used for a problem.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ALM, L1, Problem, Squared
    >>> from adasadmm.solvers import check_fits
    >>> check_fits(ALM(), Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.1), A=[[1.0, -1.0]]))
    """
    if not isinstance(solver, Solver):
        raise TypeError(f"solver must be a solver of adasadmm, such as AdaSADMM() or ALM(), got {solver!r}")
    name = type(solver).__name__
    if problem.source is not None and not solver.takes_streams:
        raise Unfit(f"{name} needs its rows in memory; from a source use a solver such as AdaSADMM(), or ADMM()")
    if problem.B is not None and not solver.takes_any_B:
        raise Unfit(f"{name}() needs B = None, which means -I; use ADMM()")
    if losses.width(problem.loss) > 1 and not solver.takes_vector_losses:
        loss = type(unwrapped(problem.loss)).__name__
        raise Unfit(f"{name} takes losses of one prediction, got {loss}; use ADMM() or AdaSADMM()")
    for function in solver.loss_functions:
        if not is_registered(getattr(losses, function), problem.loss):
            kind, function = type(unwrapped(problem.loss)), f"losses.{function}"
            loss = kind.__name__
            register = f"register one with @adasadmm.{function}.register({loss}), or "
            remedy = f"{'' if kind in losses.BUILT_IN else register}use {solver.alternative}"
            raise Unfit(f"{name} needs {function} for {loss}, which has none; {remedy}")
    solver.check(problem)


def refuse(solver: Solver, reason: str) -> None:
    """Raise `Unfit` if there is a reason why a solver cannot solve a problem."""
    if reason:
        raise Unfit(f"{solver} cannot solve this problem: {reason}; use ALM()")


def fits(solver: Solver, problem: Problem) -> bool:
    """Whether a solver can be used for a problem."""
    try:
        check_fits(solver, problem)
    except Unfit:
        return False
    return True


# --- checks of settings ----------------------------------------------------------------------------------------------


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def check_positive(name: str, value: object) -> None:
    if not is_number(value) or not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be a number > 0, got {value!r}")


def check_beta(beta: float | str) -> None:
    if beta != "auto":
        check_positive("beta", beta)


def check_relax(relax: float) -> None:
    if not (is_number(relax) and 0.0 < relax < 2.0):
        raise ValueError(f"relax must lie between 0 and 2, got {relax!r}")


def check_eta(eta: float | str | tuple, words: tuple[str, ...]) -> None:
    """A step size is one of some words, a number, or a record for which `stepsizes.size` is registered."""
    if isinstance(eta, str):
        check_choice("eta", eta, words)
    elif is_registered(stepsizes.size, eta):
        record: Any = eta
        for name, value in record._asdict().items():
            if is_number(value):
                check_positive(f"{name} of {type(eta).__name__}", value)
    else:
        check_positive("eta", eta)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices)) or 'numbers > 0'}, got {value!r}")


def check_batch_size(batch_size: int | str) -> None:
    if isinstance(batch_size, str) and batch_size == "auto":
        return
    if not isinstance(batch_size, (int, np.integer)) or isinstance(batch_size, bool) or batch_size < 1:
        raise ValueError(f'batch_size must be "auto" or a whole number >= 1, got {batch_size!r}')
