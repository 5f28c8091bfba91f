"""From a solver's settings to the parts of the loop, on one problem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import averages, losses, metrics, stepsizes
from .._core import machine
from .._core.jit import is_registered
from ..algorithm import Explicit, Implicit, Method
from ..linalg import matrices, products, quadratics
from ..linalg.matrices import as_part
from ..penalties import SEPARABLE_SETS
from ..problem import Problem
from ._records import ACCURATE, ALL_ROWS, ALM, METRICS, OADMM, SADMM, SPDHG, SVRGADMM
from .gradients import AtMean

__all__ = [
    "check_fits",
    "is_diagonal",
    "keeps_w_set",
    "mean_of",
    "method",
    "rows_of_an_accurate_iteration",
    "rows_of_an_iteration",
    "units",
]

FIRST_DISTANCE = 1e-2  # how far the first step of eta="auto" reaches, as a fraction of loss / gradient
AT_MEAN = 0.9  # how near to the mean "schedule-free" takes its subgradients
ITERATIONS_AN_EPOCH, RARER_AN_EPOCH = 6000, 1100  # what batch_size="auto" leaves
LEAST_ITERATIONS = 100  # in an epoch of the solvers for high accuracy
UNIT_ROWS = 1000  # from which the sizes of a gradient and of the loss are taken


def method(solver: Any, problem: Problem, w: np.ndarray) -> Method:
    """The parts of Algorithm 1 that a solver stands for, on one problem and from one start."""
    metric = _metric(solver)
    rows = rows_of_an_iteration(solver, problem)
    slope, value = units(problem, w, rows) if "auto" in (solver.eta, solver.beta) else (1.0, 1.0)
    first = FIRST_DISTANCE * math.sqrt(rows) * value / slope  # the mean of a batch is so many times less noisy
    step = _step(solver, problem, metric, first, w)
    a = float(getattr(solver, "a", 1.0)) * (slope if isinstance(step, stepsizes.Auto) else 1.0)
    beta = slope * slope / value if solver.beta == "auto" else float(solver.beta)
    H = metrics.start(metric, problem.d)
    for function in (metrics.observe, metrics.apply):
        if not is_registered(function, H):
            name = f"metrics.{function.__name__}"
            raise TypeError(f"metric: {type(H).__name__}, its state, has no {name}; register one with @adasadmm.{name}")
    return Method(
        subgradient=_subgradient(solver, problem),
        metric=H._replace(a=a) if isinstance(H, metrics.ROOTS) else H,
        a=a,
        step=step,
        Q=quadratic(solver, problem, beta),
        beta=beta,
        average=_average(solver),
    )


def units(problem: Problem, w: np.ndarray, batch_size: int = 1) -> tuple[float, float]:
    """What makes "auto" scale-free: the largest entry of the first non-zero gradient of a batch at w, and a mean loss.

    With features c times as large and w as much smaller the first is c times as large; with a loss c times as large
    both are. So value / slope is a length of w, and slope^2 / value a beta.
    """
    rows = min(len(problem.first_rows.y), UNIT_ROWS)
    X, y, c = matrices.head(problem.first_rows.X, rows), problem.first_rows.y[:rows], problem.first_rows.c[:rows]
    z, slopes, g = np.empty(rows), np.empty(rows), np.zeros(problem.d)
    products.product(X, w, z)
    losses.all_slopes(problem.loss, z, y, slopes)
    batch_size = min(batch_size, rows)
    for first in range(0, rows - batch_size + 1, batch_size):
        batch = slice(first, first + batch_size)
        products.transposed_product(
            matrices.taken(X, np.arange(first, first + batch_size)), c[batch] * slopes[batch] / batch_size, g
        )
        if g.any():
            break
    value = losses.mean_value(problem.loss, z, y, c)
    return float(np.max(np.abs(g))) or 1.0, value if 0.0 < value < math.inf else 1.0


def rows_of_an_iteration(solver: Any, problem: Problem) -> int:
    """The batch size; "auto" is the largest that leaves enough iterations in an epoch and still saves time.

    Enough: 6,000 in all, and 1,100 with a row of the rarer sign where y has two values; on the paper's data sets the
    objective after 2 epochs is then within 0.5 % of that of single rows. Time is saved while an iteration's own work,
    over coordinates and edges, is more than half of that over its rows.
    """
    batch_size = getattr(solver, "batch_size", 1)
    if batch_size != "auto":
        return int(batch_size)
    enough = min(problem.n / ITERATIONS_AN_EPOCH, _rarer(problem) / RARER_AN_EPOCH)
    entries = matrices.size(problem.rows.X) if problem.source is None else problem.source.summary.entries
    a_row = max(1.0, entries / problem.n)
    saving = 2.0 * (problem.d + matrices.size(problem.A) / 2.0) / a_row
    return max(1, int(min(enough, saving)))


def rows_of_an_accurate_iteration(solver: Any, problem: Problem) -> int:
    """The batch size; "auto" makes the work over rows half of that over coordinates and edges, in 100 iterations."""
    if solver.batch_size != "auto":
        return int(solver.batch_size)
    a_row = max(1.0, matrices.size(problem.rows.X) / problem.n)
    even = (problem.d + matrices.size(problem.A) / 2.0) / a_row
    return max(1, int(min(0.5 * even, problem.n / LEAST_ITERATIONS)))


def _rarer(problem: Problem) -> int:
    """The rows of the rarer of two targets; all rows where there are not two."""
    if problem.source is not None:
        labels = problem.source.summary.labels
        return min(rows for rows, _ in labels.values()) if labels and len(labels) <= 2 else problem.n
    y = problem.rows.y
    low, high = y == y.min(), y == y.max()
    return min(low.sum(), high.sum()) if (low | high).all() else problem.n


def quadratic(solver: Any, problem: Problem, beta: float) -> Any:
    """The quadratic of the w-step: ``beta A'A``, or its diagonal majoriser; OADMM keeps the ridge there."""
    ridge = problem.gamma.copy() if isinstance(solver, OADMM) else np.zeros(problem.d)
    if getattr(solver, "w_step", "exact") == "linearized":
        m = beta * quadratics.majoriser(problem.A)
        return quadratics.Separable(m) if is_diagonal(solver) else quadratics.Linearized(m)
    return quadratics.exact(problem.A, beta, ridge)


def keeps_w_set(solver: Any, problem: Problem) -> bool:
    """Whether the w-step itself can stay inside w_set: separable sets with a diagonal quadratic are clipped exactly."""
    linearized = isinstance(solver, ACCURATE) or getattr(solver, "w_step", "exact") == "linearized"
    return linearized and is_diagonal(solver) and isinstance(problem.w_set, SEPARABLE_SETS)


def check_fits(solver: Any, problem: Problem) -> None:
    """Fail before any work where the solver cannot serve this problem."""
    if problem.source is not None and isinstance(solver, (ALM, *ACCURATE)):
        name = type(solver).__name__
        raise ValueError(f"{name} needs its rows in memory; from a source use a solver such as AdaSADMM(), or ADMM()")
    if isinstance(solver, ALM) and problem.B is not None:
        raise ValueError("ALM() needs B = None, which means -I; use ADMM()")
    needs_prox, needs_curvature = isinstance(solver, (OADMM, SPDHG, *ALL_ROWS)), isinstance(solver, SVRGADMM)
    if needs_prox and not is_registered(losses.prox, problem.loss):
        _lacks(solver, problem, "prox", "a stochastic solver such as AdaSADMM()")
    if needs_curvature and not is_registered(losses.curvature, problem.loss):
        _lacks(solver, problem, "curvature", "SPDHG()")
    if not isinstance(solver, ALL_ROWS) and isinstance(_metric(solver), metrics.Full):
        need, have = 9 * 8 * problem.d**2, machine.memory()
        if need > 0.8 * have:
            raise ValueError(
                f"a full metric of {problem.d} features needs {need / 2**30:.1f} GiB, this machine has "
                f'{have / 2**30:.1f} GiB; use metric="diagonal"'
            )


def _lacks(solver: Any, problem: Problem, function: str, otherwise: str) -> None:
    name, function = type(problem.loss).__name__, f"losses.{function}"
    raise TypeError(
        f"{type(solver).__name__} needs {function} for {name}; "
        f"register one with @adasadmm.{function}.register({name}), or use {otherwise}"
    )


def _metric(solver: Any) -> Any:
    metric = getattr(solver, "metric", "identity")
    metric = METRICS[metric] if isinstance(metric, str) else as_part(metric, "metric")
    scaled = isinstance(metric, metrics.Identity) and getattr(solver, "eta", None) == "auto"
    return metrics.Isotropic() if scaled else metric


def is_diagonal(solver: Any) -> bool:
    """Whether the metric of a solver has one number for each coordinate."""
    return isinstance(_metric(solver), (metrics.Identity, metrics.Isotropic, metrics.Diagonal))


def _subgradient(solver: Any, problem: Problem) -> Any:
    if isinstance(solver, OADMM):
        return Implicit(np.empty(problem.d))
    return AtMean(AT_MEAN) if mean_of(solver) == "schedule-free" else Explicit()


def mean_of(solver: Any) -> str:
    """The name of the mean that a solver keeps."""
    name = getattr(solver, "average", "uniform")
    if name != "auto":
        return name
    return "schedule-free" if solver.eta == "auto" else "polynomial"


def _average(solver: Any) -> Any:
    name = mean_of(solver)
    if name in ("step-weighted", "schedule-free"):
        return averages.StepWeighted(np.zeros(1))
    return {"uniform": averages.Uniform(), "polynomial": averages.Polynomial(), "last": averages.Last()}[name]


def _step(solver: Any, problem: Problem, metric: Any, reach: float, w: np.ndarray) -> Any:
    eta = solver.eta
    if is_registered(stepsizes.size, eta):
        return as_part(eta, "eta")
    if eta == "auto":
        share = 1.0 if isinstance(metric, metrics.Isotropic) else 0.5
        return stepsizes.Auto(w.copy(), np.array([reach]), isinstance(metric, metrics.Diagonal), share)
    if eta == "1/(gamma t)":
        positive = problem.gamma[problem.gamma > 0.0]
        if not positive.size:
            raise ValueError('eta="1/(gamma t)" needs gamma > 0; give a number c for the step c/sqrt(t)')
        return stepsizes.InverseTime(float(positive.min()))
    return stepsizes.InverseSqrt(float(eta)) if isinstance(solver, SADMM) else stepsizes.Constant(float(eta))
