"""From the settings of SADMM, Ada-SADMM and OADMM to the parts of Algorithm 1, on one problem."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ... import averages, losses, metrics, stepsizes
from ..._core import machine
from ..._core.jit import is_registered
from ...algorithm import Explicit, Implicit, Method, subgradient
from ...linalg import quadratics
from ...problem import Problem
from ...rows import matrices, products, selections
from ...rows.kernels import add_row, row_dot
from ...rows.matrices import as_part
from ..base import Point, Run, Solver, check_batch_size, check_beta, check_choice, check_eta, check_positive, is_number
from .lanes import rounds_of
from .run import StochasticRun

# --- subgradients of a batch -----------------------------------------------------------------------------------------

# A loss of k predictions has kinds of its own: its row i has the entries ``i k`` to ``(i + 1) k`` of flat arrays, and
# at each of them a weight that is k times its own.


class AtMean(NamedTuple):
    """g_t is taken between the mean of the iterates, of which there is ``share``, and w_t."""

    share: float


class OfVectors(NamedTuple):
    """`AtMean` for a loss of several predictions, `Explicit` if the ``share`` is 0; z and s are work space."""

    share: float
    z: np.ndarray
    s: np.ndarray


def explicit(loss: tuple, share: float = 0.0) -> Explicit | AtMean | OfVectors:
    """How the tangent of a loss is taken, with this share of the mean of the iterates."""
    k = losses.width(loss)
    if k > 1:
        return OfVectors(share, np.zeros(k), np.zeros(k))
    return AtMean(share) if share > 0.0 else Explicit()


@subgradient.register
def at_mean_subgradient(kind: AtMean, model, method, block, state, batch):
    for i in batch:
        z = kind.share * row_dot(block.X, i, state.w_average) + (1.0 - kind.share) * row_dot(block.X, i, state.w)
        slope = losses.slope(model.loss, z, block.y[i])
        if slope != 0.0:
            add_row(block.X, i, block.c[i] * slope / len(batch), state.g)


@subgradient.register
def subgradient_of_vectors(kind: OfVectors, model, method, block, state, batch):
    k = len(kind.z)
    for i in batch:
        for row in range(i * k, (i + 1) * k):
            kind.z[row - i * k] = row_dot(block.X, row, state.w)
            if kind.share > 0.0:
                of_mean = row_dot(block.X, row, state.w_average)
                kind.z[row - i * k] += kind.share * (of_mean - kind.z[row - i * k])
        losses.slope(model.loss, kind.z, block.y[i * k : (i + 1) * k], kind.s)
        weight = block.c[i * k] / (k * len(batch))
        for row in range(i * k, (i + 1) * k):
            add_row(block.X, row, weight * kind.s[row - i * k], state.g)


METRICS = {"identity": metrics.Identity(), "diagonal": metrics.Diagonal(), "full": metrics.Full()}
AVERAGES = ("auto", "uniform", "polynomial", "step-weighted", "schedule-free", "last")
W_STEPS = ("exact", "linearized")
FIRST_DISTANCE = 1e-2  # how far the first step of eta="auto" reaches, as a fraction of loss / gradient
INTERCEPT_SHARE = 0.01  # of an intercept's gradient in the unit of gradients
# beta="auto" as a share of slope^2 / loss. If the metric is diagonal, more of it slows the steps if the optimum is far.
# A root of gradients is small in all directions that they have not yet had: there only beta A'A limits the steps.
BETA_SHARE, BETA_SHARE_OF_ROOTS = 0.1, 1.0
AT_MEAN = 0.9  # how near to the mean "schedule-free" takes its subgradients
# What batch_size="auto" keeps in an epoch: iterations, those with a row of the rarer sign, and those of large batches.
MIN_ITERATIONS, MIN_ITERATIONS_OF_RARER, MIN_ITERATIONS_OF_LARGE = 6000, 1100, 30_000
LARGE_BATCH = 5  # rows: a batch of more is large
UNIT_ROWS = 1000  # from which the sizes of a gradient and of the loss are taken


class Settings(NamedTuple):
    """Which metric, step size, w-step and average a stochastic solver uses: Algorithm 1 needs no more of it."""

    eta: float | str | tuple
    beta: float | str
    metric: str | tuple = "identity"
    a: float = 1.0
    w_step: str = "exact"
    batch_size: int | str = 1
    average: str = "uniform"
    implicit: bool = False  # OADMM: the loss itself instead of its tangent
    falling: bool = False  # a number c for eta means c / sqrt(t)

    def check(self, eta_words: tuple[str, ...]) -> None:
        """Raise an error for impossible settings; a step size may also be one of some words."""
        if isinstance(self.metric, str):
            check_choice("metric", self.metric, tuple(METRICS))
        elif not is_registered(metrics.start, self.metric):
            raise TypeError(
                f"metric: {self.metric!r} has no metrics.start; use one of {', '.join(METRICS)}, "
                "or register metrics.start, metrics.observe and metrics.apply for your own"
            )
        elif isinstance(self.metric, metrics.Full):
            refresh = self.metric.refresh
            if not (is_number(refresh) and 0.0 <= refresh < math.inf):
                raise ValueError(f"refresh of Full must be >= 0, got {refresh!r}")
        check_eta(self.eta, eta_words)
        check_positive("a", self.a)
        check_beta(self.beta)
        check_choice("w_step", self.w_step, W_STEPS)
        check_batch_size(self.batch_size)
        check_choice("average", self.average, AVERAGES)

    def method(self, problem: Problem, w: np.ndarray) -> Method:
        """The parts of Algorithm 1, from the start w."""
        metric, rows = self.metric_record, self.rows_of_an_iteration(problem)
        slope, value = units(problem, w, rows) if "auto" in (self.eta, self.beta) else (1.0, 1.0)
        first = FIRST_DISTANCE * math.sqrt(rows) * value / slope  # the mean of a batch has that much less noise
        step = self._step(problem, metric, first, w)
        a = float(self.a) * (slope if isinstance(step, stepsizes.Auto) else 1.0)
        share = BETA_SHARE if self.is_diagonal else BETA_SHARE_OF_ROOTS
        beta = share * slope * slope / value if self.beta == "auto" else float(self.beta)
        H = self._metric_state(metric, problem.d)
        share_of_mean = AT_MEAN if self.mean == "schedule-free" else 0.0
        return Method(
            subgradient=Implicit(np.zeros(problem.d)) if self.implicit else explicit(problem.loss, share_of_mean),
            metric=H._replace(a=a) if isinstance(H, metrics.ROOTS) else H,
            a=a,
            step=step,
            Q=self._quadratic(problem, beta),
            beta=beta,
            average=self._average(),
        )

    @property
    def metric_record(self) -> Any:
        """The metric; with ``eta="auto"`` the identity becomes one that counts gradients."""
        metric = METRICS[self.metric] if isinstance(self.metric, str) else as_part(self.metric, "metric")
        return metrics.Isotropic() if isinstance(metric, metrics.Identity) and self.eta == "auto" else metric

    @property
    def is_diagonal(self) -> bool:
        """Whether the metric has one number for each coordinate."""
        return isinstance(self.metric_record, (metrics.Identity, metrics.Isotropic, metrics.Diagonal))

    @property
    def separable_w_step(self) -> bool:
        return self.w_step == "linearized" and self.is_diagonal

    def rows_of_an_iteration(self, problem: Problem) -> int:
        """The batch size; "auto" is the largest that keeps enough iterations in an epoch and still saves time.

        Enough are 6,000 in all, 30,000 for batches of more than five rows, and 1,100 with a row of the rarer sign if y
        has two values: on the paper's data sets the objective after 2 epochs is then within 0.5 % of that of single
        rows, and so it is after one epoch over many rows whose optimum is far from 0. A larger batch saves time while
        the work of an iteration over coordinates and edges is more than half of that over its rows.
        """
        if self.batch_size != "auto":
            return int(self.batch_size)
        large = max(LARGE_BATCH, problem.terms / MIN_ITERATIONS_OF_LARGE)
        rarer = _rarer(problem) / MIN_ITERATIONS_OF_RARER
        enough = min(problem.terms / MIN_ITERATIONS, large, rarer)
        entries = matrices.size(problem.rows.X) if problem.source is None else problem.source.summary.entries
        a_row = max(1.0, losses.width(problem.loss) * entries / problem.n)
        saving = 2.0 * (problem.d + matrices.size(problem.A) / 2.0) / a_row
        return max(1, int(min(enough, saving)))

    def _metric_state(self, metric: tuple, d: int) -> Any:
        if isinstance(metric, metrics.Full):
            need, have = 9 * 8 * d**2, machine.memory()
            if need > 0.8 * have:
                raise ValueError(
                    f"a full metric of {d} features needs {need / 2**30:.1f} GiB, this machine has "
                    f'{have / 2**30:.1f} GiB; use metric="diagonal"'
                )
        H = metrics.start(metric, d)
        for function in (metrics.observe, metrics.apply):
            if not is_registered(function, H):
                name, state = f"metrics.{function.__name__}", type(H).__name__
                raise TypeError(f"metric: {state}, its state, has no {name}; register one with @adasadmm.{name}")
        return H

    def _quadratic(self, problem: Problem, beta: float) -> Any:
        """The quadratic of the w-step: ``beta A'A``, or its diagonal majoriser; OADMM keeps the ridge there."""
        if self.w_step == "linearized":
            m = beta * quadratics.majoriser(problem.A)
            return quadratics.Separable(m) if self.is_diagonal else quadratics.Linearized(m)
        return quadratics.exact(problem.A, beta, problem.gamma.copy() if self.implicit else np.zeros(problem.d))

    @property
    def mean(self) -> str:
        """The name of the mean that is kept."""
        if self.average != "auto":
            return self.average
        return "schedule-free" if self.eta == "auto" else "polynomial"

    def _average(self) -> Any:
        known = {"uniform": averages.Uniform(), "polynomial": averages.Polynomial(), "last": averages.Last()}
        return known.get(self.mean, averages.StepWeighted(np.zeros(1)))

    def _step(self, problem: Problem, metric: tuple, reach: float, w: np.ndarray) -> Any:
        if is_registered(stepsizes.size, self.eta):
            return as_part(self.eta, "eta")
        if self.eta == "auto":
            share = 1.0 if isinstance(metric, metrics.Isotropic) else 0.5
            return stepsizes.Auto(w.copy(), np.array([reach]), isinstance(metric, metrics.Diagonal), share)
        if self.eta == "1/(gamma t)":
            positive = problem.gamma[problem.gamma > 0.0]
            if not positive.size:
                raise ValueError('eta="1/(gamma t)" needs gamma > 0; give a number c for the step c/sqrt(t)')
            return stepsizes.InverseTime(float(positive.min()))
        number = float(self.eta)  # type: ignore[arg-type]
        return stepsizes.InverseSqrt(number) if self.falling else stepsizes.Constant(number)


class Algorithm1Solver(Solver):
    """A solver whose run is Algorithm 1 with a subgradient of each batch; rows on workers are visited in rounds."""

    takes_vector_losses = True
    eta_words: ClassVar[tuple[str, ...]] = ()  # that may be given for a step size

    def __post_init__(self) -> None:
        self.settings.check(self.eta_words)

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The form that the settings of these solvers have in common."""

    @property
    def separable_w_step(self) -> bool:
        return self.settings.separable_w_step

    def begin(self, problem: Problem, start: Point) -> Run:
        settings = self.settings
        batch_size = settings.rows_of_an_iteration(problem)
        course = rounds_of(
            problem, self, needs_one_lane=settings.falling or settings.implicit or not settings.is_diagonal
        )
        if settings.batch_size == "auto" and course is not None:
            batch_size = max(1, batch_size // course.lanes)  # the iterations of a lane count, not those of all lanes
        return StochasticRun(problem, self, settings.method(problem, start.w), batch_size, start, course)


def units(problem: Problem, w: np.ndarray, batch_size: int = 1) -> tuple[float, float]:
    """The units of "auto": the largest entry of the first non-zero gradient of a batch at w, and a mean loss.

    With features c times as large and w as much smaller the first is c times as large; with a loss c times as large
    both are. So value / slope is a length of w, and slope^2 / value a beta.
    """
    k = losses.width(problem.loss)
    rows = min(len(problem.first_rows.y) // k, UNIT_ROWS) * k
    X, y, c = selections.head(problem.first_rows.X, rows), problem.first_rows.y[:rows], problem.first_rows.c[:rows]
    z, slopes, g = np.empty(rows), np.empty(rows), np.zeros(problem.d)
    products.product(X, w, z)
    losses.all_slopes(problem.loss, z, y, slopes)
    batch_size = min(batch_size * k, rows)
    for first in range(0, rows - batch_size + 1, batch_size):
        batch = slice(first, first + batch_size)
        products.transposed_product(
            selections.taken(X, np.arange(first, first + batch_size)), c[batch] * slopes[batch] / batch_size, g
        )
        if g.any():
            break
    sizes = np.abs(g)
    if isinstance(X, matrices.WithIntercept):
        # The gradient of an intercept is dense: that of a batch would set the unit for features that are much smaller.
        sizes[-1] *= INTERCEPT_SHARE
    value = losses.mean_value(problem.loss, z, y, c)
    return float(np.max(sizes)) or 1.0, value if 0.0 < value < math.inf else 1.0


def _rarer(problem: Problem) -> int:
    """The rows of the rarer of two targets; all rows if there are not two."""
    if losses.width(problem.loss) > 1:
        return problem.terms
    if problem.source is not None:
        labels = problem.source.summary.labels
        return min(rows for rows, _ in labels.values()) if labels and len(labels) <= 2 else problem.n
    y = losses.targets_alone(problem.rows.y)
    low, high = y == y.min(), y == y.max()
    return min(low.sum(), high.sum()) if (low | high).all() else problem.n
