"""Time against accuracy: our solvers, and CVXPY's where it is installed, on one problem after another."""

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
from ..certificates.trace import Certificate
from ..estimators import GraphGuidedClassifier
from ..metrics import Full
from ..penalties import L1
from ..problem import Problem
from ..solvers import ADMM, ALM, SADMM, AdaSADMM
from . import peers
from .cells import learnt_graph, scaled
from .report.compare import DASH
from .report.race import ACCURACIES, Lane, write_race
from .settings import POINTS_AN_EPOCH, SCALED

__all__ = [
    *("LOSSES", "PRESET", "SOLVERS", "Course", "Limits", "course", "lanes", "problem_of", "rows_and_graph"),
    *("heading", "line", "missing", "record", "write"),
]

PRESET = datasets.BUNDLED
LOSSES = {"hinge": losses.Hinge(), "logistic": losses.Logistic()}
SOLVERS = {  # with nothing tuned; c = 1 as in the demo
    "alm": ("augmented Lagrangian", ALM()),
    "admm": ("batch ADMM", ADMM()),
    "ada-diag": ("Ada-SADMM, diagonal", AdaSADMM(average="auto", beta="auto")),
    "ada-full": ("Ada-SADMM, full", AdaSADMM(Full(refresh=0.05), average="auto", beta="auto")),
    "sadmm": ("SADMM, 1/(gamma t)", SADMM()),
    "sadmm-sqrt": ("SADMM, c/sqrt(t)", SADMM(eta=1.0)),
}
OPTIMUM_TOL, MOST_ITERATIONS = 1e-8, 20_000
TOLERANCES = tuple(10.0**-k for k in range(1, 9))
POINTS = 500  # of a stochastic solver's curve, at most
REPETITIONS, SECONDS_OF_REPETITIONS = 5, 0.5  # the median of several runs, where they are short


class Limits(NamedTuple):
    """When a run ends that is not yet good enough: epochs of the stochastic solvers, seconds of any."""

    epochs: float = 100.0
    seconds: float = 5.0


class Course(NamedTuple):
    """What all run on."""

    name: str
    X: Any
    y: np.ndarray
    edges: np.ndarray
    loss: str
    problem: Problem
    optimum: Certificate

    def above(self, w: np.ndarray) -> float:
        """How far the objective lies above the optimum, relative to it; never less than is known of that."""
        above = self.problem.objective(w) / self.optimum.dual - 1.0
        return max(above, self.optimum.relative_gap)


def rows_and_graph(name: str, data_dir: str | None = None) -> tuple[Any, np.ndarray, np.ndarray]:
    """All rows of a data set, their labels, and the edges of its graph, as in the paper's experiment."""
    data = datasets.load(name, data_dir)
    X = scaled(data.X, np.arange(len(data.y))) if name in SCALED else data.X
    return X, data.y, learnt_graph(name, X).edges


def problem_of(X: Any, y: np.ndarray, edges: np.ndarray, loss: str) -> Problem:
    """The graph-guided problem without bias, gamma = nu = 1/n."""
    n, d = X.shape
    A = graphs.incidence(edges, d=d)
    return Problem(X, y, loss=LOSSES[loss], penalty=L1(1.0 / n), A=A, gamma=1.0 / n)


def course(name: str, data_dir: str | None = None, loss: str = "hinge") -> Course:
    """A data set with its graph and its optimum, proved to 1e-8."""
    X, y, edges = rows_and_graph(name, data_dir)
    problem = problem_of(X, y, edges, loss)
    optimum = solve(problem, ALM(), tol=OPTIMUM_TOL).certificate
    assert optimum is not None
    return Course(name, X, y, edges, loss, problem, optimum)


def lanes(course: Course, limits: Limits) -> Iterator[Lane]:
    """Each solver's lane, as soon as it is known."""
    yield _automatic(course)
    for label, solver in SOLVERS.values():
        yield _followed(course, label, solver, limits)
    found = peers.installed(course.loss)
    if found:
        by_cvxpy = peers.by_cvxpy(course.X, course.y, course.edges, course.loss)
        for name in found:
            yield _by_tolerance(course, f"CVXPY, {peers.CVXPY[name].label}", functools.partial(by_cvxpy, name), limits)


def _automatic(course: Course) -> Lane:
    """The estimator with nothing set but tol, the whole of ``fit``."""
    lane = Lane(course.name, 'solver="auto"', "auto", [], [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        GraphGuidedClassifier(course.edges, loss=course.loss, fit_intercept=False, max_iter=1).fit(course.X, course.y)
        for tol in ACCURACIES:
            model = GraphGuidedClassifier(course.edges, loss=course.loss, fit_intercept=False, tol=tol)
            seconds, model = _timed(model.fit, course.X, course.y)
            _note(lane, seconds, course.above(model.coef_[0]))
    return lane


def _followed(course: Course, label: str, solver: Any, limits: Limits) -> Lane:
    """A solver of ours, looked at on the way; its clock stands still meanwhile."""
    lane = Lane(course.name, label, "ours", [], [])
    batch = solver.uses_all_rows

    def look(snapshot: Any) -> bool:
        _note(lane, snapshot.seconds, course.above(snapshot.w if batch else snapshot.w_average))
        return lane.above[-1] <= 0.1 * ACCURACIES[-1] or snapshot.seconds > limits.seconds

    solve(
        course.problem,
        solver,
        epochs=MOST_ITERATIONS if batch else limits.epochs,
        tol=0.01 * ACCURACIES[-1] if batch else None,
        trace_every=1.0 if batch else max(1.0 / POINTS_AN_EPOCH, limits.epochs / POINTS),
        callback=look,
    )
    return lane


def _by_tolerance(course: Course, label: str, find: Callable[..., np.ndarray | None], limits: Limits) -> Lane:
    """A peer at one tolerance after the other, until it is good enough or takes too long."""
    lane = Lane(course.name, label, "peer", [], [])
    find(TOLERANCES[0], limits.seconds)  # what it loads at its first call is not in the times
    for tol in TOLERANCES:
        seconds, w = _timed(find, tol, limits.seconds)
        if w is not None:
            _note(lane, seconds, course.above(w))
        if (w is not None and lane.above[-1] <= ACCURACIES[-1]) or seconds > limits.seconds:
            break
    return lane


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Seconds, the median of several runs where they are short, and what came out."""
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
    """A data set as results.json has it."""
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
    """What is solved, and the head of its table."""
    n, d = course.X.shape
    head = "".join(f"{f'to {100 * accuracy:g} %':>12}" for accuracy in ACCURACIES)
    return (
        f"{course.name}: {n:,} rows, {d} features, {len(course.edges)} edges, {course.loss} loss; "
        f"optimum {course.optimum.primal:.6g}, proved to {course.optimum.relative_gap:.0e}\n{'seconds':<28}{head}"
    )


def line(lane: Lane) -> str:
    """A solver's line of the table."""
    times = (lane.seconds_to(accuracy) for accuracy in ACCURACIES)
    return f"{lane.solver:<28}" + "".join(f"{DASH if found is None else f'{found:.3g}':>12}" for found in times)


def missing(loss: str) -> list[str]:
    """What would be shown if it were installed."""
    hints = []
    if not peers.installed(loss):
        hints.append('CVXPY is not installed, so its solvers are left out: pip install "adasadmm[bench]"')
    if not importlib.util.find_spec("matplotlib"):
        hints.append('matplotlib is not installed, so there is no picture: pip install "adasadmm[report]"')
    return hints


def write(records: list[dict[str, Any]], found: list[Lane], out: Path) -> list[Path]:
    """results.json and, where matplotlib is installed, the picture."""
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "results.json", json.dumps(records, indent=1, allow_nan=False))
    drawn = write_race(found, out) if importlib.util.find_spec("matplotlib") else []
    return [out / "results.json", *drawn]
