"""Time to accuracy of the package's solvers, and of CVXPY's if it is installed."""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import datasets, graphs, losses
from .._core.files import write_whole
from .._core.threads import one_blas_thread
from .._solve import solve
from ..certificates.trace import Certificate, Snapshot
from ..estimators import GraphGuidedClassifier
from ..metrics import Full
from ..penalties import L1
from ..problem import Problem
from ..solvers import ADMM, ALM, SADMM, AdaSADMM, Solver
from . import peers
from .cells import learnt_graph, scaled
from .report.compare import DASH
from .report.race import ACCURACIES, Lane, write_race
from .settings import POINTS_AN_EPOCH, SCALED

__all__ = [
    "LOSSES",
    "PRESET",
    "SOLVERS",
    "Course",
    "Limits",
    "course",
    "heading",
    "lanes",
    "line",
    "missing",
    "problem_of",
    "record",
    "rows_and_graph",
    "write",
]

PRESET = datasets.BUNDLED
LOSSES = {"hinge": losses.Hinge(), "logistic": losses.Logistic()}
SOLVERS: dict[str, tuple[str, Solver]] = {  # name: label and solver; nothing is tuned, and c = 1 as in the demo
    "alm": ("augmented Lagrangian", ALM()),
    "admm": ("batch ADMM", ADMM()),
    "ada-diag": ("Ada-SADMM, diagonal", AdaSADMM(average="auto", beta="auto")),
    "ada-full": ("Ada-SADMM, full", AdaSADMM(Full(refresh=0.05), average="auto", beta="auto")),
    "sadmm": ("SADMM, 1/(gamma t)", SADMM()),
    "sadmm-sqrt": ("SADMM, c/sqrt(t)", SADMM(eta=1.0)),
}
OPTIMUM_TOL, MOST_ITERATIONS = 1e-8, 20_000
TOLERANCES = tuple(10.0**-k for k in range(1, 9))
POINTS = 500  # maximum number of points on the curve of a stochastic solver
REPETITIONS, SECONDS_OF_REPETITIONS = 5, 0.5  # short runs are repeated, and the median time is taken


class Limits(NamedTuple):
    """Limits of a run that does not reach the accuracy: epochs of the stochastic solvers, seconds of all solvers."""

    epochs: float = 100.0
    seconds: float = 5.0


class Course(NamedTuple):
    """The problem that all solvers run on, with its certified optimum."""

    name: str
    X: Any
    y: np.ndarray
    edges: np.ndarray
    loss: str
    problem: Problem
    optimum: Certificate

    def above(self, w: np.ndarray) -> float:
        """Return the relative suboptimality of w, but at least the relative gap of the optimum."""
        above = self.problem.objective(w) / self.optimum.dual - 1.0
        return max(above, self.optimum.relative_gap)


def rows_and_graph(name: str, data_dir: str | None = None) -> tuple[Any, np.ndarray, np.ndarray]:
    """Load all rows of a data set with their labels, and learn its graph as in the paper's experiment."""
    data = datasets.load(name, data_dir)
    X = scaled(data.X, np.arange(len(data.y))) if name in SCALED else data.X
    return X, data.y, learnt_graph(name, X).edges


def problem_of(X: Any, y: np.ndarray, edges: np.ndarray, loss: str) -> Problem:
    """Build the graph-guided problem without intercept and with gamma = nu = 1/n."""
    n, d = X.shape
    A = graphs.incidence(edges, d=d)
    return Problem(X, y, loss=LOSSES[loss], penalty=L1(1.0 / n), A=A, gamma=1.0 / n)


def course(name: str, data_dir: str | None = None, loss: str = "hinge") -> Course:
    """Load a data set, learn its graph, and solve the problem to a relative gap of 1e-8."""
    X, y, edges = rows_and_graph(name, data_dir)
    problem = problem_of(X, y, edges, loss)
    optimum = solve(problem, ALM(), tol=OPTIMUM_TOL).certificate
    assert optimum is not None
    return Course(name, X, y, edges, loss, problem, optimum)


def lanes(course: Course, limits: Limits) -> Iterator[Lane]:
    """Run each solver and yield its lane as soon as it is finished."""
    yield _automatic(course)
    for label, solver in SOLVERS.values():
        yield _followed(course, label, solver, limits)
    found = peers.installed(course.loss)
    if found:
        by_cvxpy = peers.by_cvxpy(course.X, course.y, course.edges, course.loss)
        for name in found:
            yield _by_tolerance(course, f"CVXPY, {peers.CVXPY[name].label}", functools.partial(by_cvxpy, name), limits)


def _automatic(course: Course) -> Lane:
    """Time the whole ``fit`` of the estimator with default settings, except ``tol``."""
    lane = Lane(course.name, 'solver="auto"', "auto", [], [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        GraphGuidedClassifier(course.edges, loss=course.loss, fit_intercept=False, max_iter=1).fit(course.X, course.y)
        for tol in ACCURACIES:
            model = GraphGuidedClassifier(course.edges, loss=course.loss, fit_intercept=False, tol=tol)
            seconds, model = _timed(model.fit, course.X, course.y)
            _note(lane, seconds, course.above(model.coef_[0]))
    return lane


def _followed(course: Course, label: str, solver: Solver, limits: Limits) -> Lane:
    """Run one of the package's solvers and record its objective; the clock stops while it is evaluated."""
    lane = Lane(course.name, label, "ours", [], [])
    batch = solver.uses_all_rows

    def observe(snapshot: Snapshot) -> bool:
        _note(lane, snapshot.seconds, course.above(snapshot.w if batch else snapshot.w_average))
        return lane.above[-1] <= 0.1 * ACCURACIES[-1] or snapshot.seconds > limits.seconds

    solve(
        course.problem,
        solver,
        epochs=MOST_ITERATIONS if batch else limits.epochs,
        tol=0.01 * ACCURACIES[-1] if batch else None,
        trace_every=1.0 if batch else max(1.0 / POINTS_AN_EPOCH, limits.epochs / POINTS),
        callback=observe,
    )
    return lane


def _by_tolerance(course: Course, label: str, find: Callable[..., np.ndarray | None], limits: Limits) -> Lane:
    """Run a peer at decreasing tolerances, until it is accurate enough or reaches the time limit."""
    lane = Lane(course.name, label, "peer", [], [])
    find(TOLERANCES[0], limits.seconds)  # the first call loads libraries, which is not timed
    for tol in TOLERANCES:
        seconds, w = _timed(find, tol, limits.seconds)
        if w is not None:
            _note(lane, seconds, course.above(w))
        if (w is not None and lane.above[-1] <= ACCURACIES[-1]) or seconds > limits.seconds:
            break
    return lane


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the seconds, the median of several runs if they are short, and the outcome."""
    times: list[float] = []
    with one_blas_thread():
        while len(times) < REPETITIONS and sum(times) < SECONDS_OF_REPETITIONS:
            start = time.perf_counter()
            outcome = work(*arguments)
            times.append(time.perf_counter() - start)
    return statistics.median(times), outcome


def _note(lane: Lane, seconds: float, above: float) -> None:
    if math.isfinite(above):
        lane.seconds.append(seconds)
        lane.above.append(above)


def record(course: Course, found: list[Lane]) -> dict[str, Any]:
    """Return the entry of a data set in results.json."""
    n, d = course.X.shape
    return {
        "dataset": course.name,
        "rows": n,
        "features": d,
        "edges": len(course.edges),
        "loss": course.loss,
        "optimum": course.optimum.primal,
        "optimum_gap": course.optimum.relative_gap,
        "solvers": [
            {
                "solver": lane.solver,
                "seconds_to": {f"{100 * accuracy:g} %": lane.seconds_to(accuracy) for accuracy in ACCURACIES},
                "seconds": lane.seconds,
                "above": lane.above,
            }
            for lane in found
        ],
    }


def heading(course: Course) -> str:
    """Return a description of the problem and the header of its table."""
    n, d = course.X.shape
    head = "".join(f"{f'to {100 * accuracy:g} %':>12}" for accuracy in ACCURACIES)
    return (
        f"{course.name}: {n:,} rows, {d} features, {len(course.edges)} edges, {course.loss} loss; "
        f"optimum {course.optimum.primal:.6g}, certified to {course.optimum.relative_gap:.0e}\n{'seconds':<28}{head}"
    )


def line(lane: Lane) -> str:
    """Return the line of a solver in the table."""
    times = (lane.seconds_to(accuracy) for accuracy in ACCURACIES)
    return f"{lane.solver:<28}" + "".join(f"{DASH if found is None else f'{found:.3g}':>12}" for found in times)


def missing(loss: str) -> list[str]:
    """Return a hint for each missing package whose results are left out."""
    hints = []
    if not peers.installed(loss):
        hints.append('CVXPY is not installed, so the comparison omits its solvers: pip install "adasadmm[bench]"')
    if not importlib.util.find_spec("matplotlib"):
        hints.append('matplotlib is not installed, so no figure is drawn: pip install "adasadmm[report]"')
    return hints


def write(records: list[dict[str, Any]], found: list[Lane], out: Path) -> list[Path]:
    """Write results.json and, if matplotlib is installed, the figure."""
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "results.json", json.dumps(records, indent=1, allow_nan=False))
    drawn = write_race(found, out) if importlib.util.find_spec("matplotlib") else []
    return [out / "results.json", *drawn]
