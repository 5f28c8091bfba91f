"""Seconds that each solver needs to come within 1 %, 0.1 % and 0.01 % of the optimum; CVXPY's if it is installed.

    python benchmarks/time_to_accuracy.py                       # two small data sets: about a minute
    python benchmarks/time_to_accuracy.py --datasets a9a,w8a --loss logistic --limit 30 --out larger

It prints a table, and writes results.json and a figure, bench.svg and bench.png, into the folder --out.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cvxpy_peers
import numpy as np
from graph_guided import LOSSES, SOLVERS, problem_of, rows_and_graph
from sklearn.exceptions import ConvergenceWarning
from timings import ACCURACIES, Timing, write_timings

from adasadmm import ALM, GraphGuidedClassifier, Problem, datasets
from adasadmm._core.files import check_writable, write_whole
from adasadmm._core.threads import one_blas_thread
from adasadmm._solve import solve_quietly
from adasadmm.certificates.trace import Certificate, Snapshot
from adasadmm.paper.settings import POINTS_AN_EPOCH
from adasadmm.solvers import Solver

OPTIMUM_TOL, MOST_ITERATIONS = 1e-8, 20_000
TOLERANCES = tuple(10.0**-k for k in range(1, 9))
POINTS = 500  # maximum number of points on the curve of a stochastic solver
REPETITIONS, SECONDS_OF_REPETITIONS = 5, 0.5  # short runs are repeated, and the median time is taken


class Limits(NamedTuple):
    """Limits of a run that does not reach the accuracy: epochs of the stochastic solvers, seconds of all solvers."""

    epochs: float = 100.0
    seconds: float = 5.0


class Instance(NamedTuple):
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


def instance(name: str, data_dir: str | None = None, loss: str = "hinge") -> Instance:
    """Load a data set, learn its graph, and solve the problem to a relative gap of 1e-8."""
    X, y, edges = rows_and_graph(name, data_dir)
    problem = problem_of(X, y, edges, loss)
    optimum = solve_quietly(problem, ALM(), tol=OPTIMUM_TOL).certificate
    assert optimum is not None
    return Instance(name, X, y, edges, loss, problem, optimum)


def timings(instance: Instance, limits: Limits) -> Iterator[Timing]:
    """Run each solver and yield its timing as soon as it is finished."""
    yield _automatic(instance)
    for label, solver in SOLVERS.values():
        yield _followed(instance, label, solver, limits)
    found = cvxpy_peers.installed(instance.loss)
    if found:
        by_cvxpy = cvxpy_peers.by_cvxpy(instance.X, instance.y, instance.edges, instance.loss)
        for name in found:
            yield _by_tolerance(
                instance, f"CVXPY, {cvxpy_peers.CVXPY[name].label}", functools.partial(by_cvxpy, name), limits
            )


def _automatic(instance: Instance) -> Timing:
    """Time the whole ``fit`` of the estimator with default settings, except ``tol``."""
    timing = Timing(instance.name, 'solver="auto"', "auto", [], [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        GraphGuidedClassifier(instance.edges, loss=instance.loss, fit_intercept=False, max_iter=1).fit(
            instance.X, instance.y
        )
        for tol in ACCURACIES:
            model = GraphGuidedClassifier(instance.edges, loss=instance.loss, fit_intercept=False, tol=tol)
            seconds, model = _timed(model.fit, instance.X, instance.y)
            _note(timing, seconds, instance.above(model.coef_[0]))
    return timing


def _followed(instance: Instance, label: str, solver: Solver, limits: Limits) -> Timing:
    """Run one of the package's solvers and record its objective; the clock stops while it is evaluated."""
    timing = Timing(instance.name, label, "ours", [], [])
    batch = solver.uses_all_rows

    def observe(snapshot: Snapshot) -> bool:
        _note(timing, snapshot.seconds, instance.above(snapshot.w if batch else snapshot.w_average))
        return timing.above[-1] <= 0.1 * ACCURACIES[-1] or snapshot.seconds > limits.seconds

    solve_quietly(
        instance.problem,
        solver,
        epochs=MOST_ITERATIONS if batch else limits.epochs,
        tol=0.01 * ACCURACIES[-1] if batch else None,
        trace_every=1.0 if batch else max(1.0 / POINTS_AN_EPOCH, limits.epochs / POINTS),
        callback=observe,
    )
    return timing


def _by_tolerance(instance: Instance, label: str, find: Callable[..., np.ndarray | None], limits: Limits) -> Timing:
    """Run a peer at decreasing tolerances, until it is accurate enough or reaches the time limit."""
    timing = Timing(instance.name, label, "peer", [], [])
    find(TOLERANCES[0], limits.seconds)  # the first call loads libraries, which is not timed
    for tol in TOLERANCES:
        seconds, w = _timed(find, tol, limits.seconds)
        if w is not None:
            _note(timing, seconds, instance.above(w))
        if (w is not None and timing.above[-1] <= ACCURACIES[-1]) or seconds > limits.seconds:
            break
    return timing


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the seconds, the median of several runs if they are short, and the outcome."""
    times: list[float] = []
    with one_blas_thread():
        while len(times) < REPETITIONS and sum(times) < SECONDS_OF_REPETITIONS:
            start = time.perf_counter()
            outcome = work(*arguments)
            times.append(time.perf_counter() - start)
    return statistics.median(times), outcome


def _note(timing: Timing, seconds: float, above: float) -> None:
    if math.isfinite(above):
        timing.seconds.append(seconds)
        timing.above.append(above)


def record(instance: Instance, found: list[Timing]) -> dict[str, Any]:
    """Return the entry of a data set in results.json."""
    n, d = instance.X.shape
    return {
        "dataset": instance.name,
        "rows": n,
        "features": d,
        "edges": len(instance.edges),
        "loss": instance.loss,
        "optimum": instance.optimum.primal,
        "optimum_gap": instance.optimum.relative_gap,
        "solvers": [
            {
                "solver": timing.solver,
                "seconds_to": {f"{100 * accuracy:g} %": timing.seconds_to(accuracy) for accuracy in ACCURACIES},
                "seconds": timing.seconds,
                "above": timing.above,
            }
            for timing in found
        ],
    }


def heading(instance: Instance) -> str:
    """Return a description of the problem and the header of its table."""
    n, d = instance.X.shape
    head = "".join(f"{f'to {100 * accuracy:g} %':>12}" for accuracy in ACCURACIES)
    return (
        f"{instance.name}: {n:,} rows, {d} features, {len(instance.edges)} edges, {instance.loss} loss; "
        f"optimum {instance.optimum.primal:.6g}, certified to {instance.optimum.relative_gap:.0e}\n"
        f"{'seconds':<28}{head}"
    )


def line(timing: Timing) -> str:
    """Return the line of a solver in the table."""
    times = (timing.seconds_to(accuracy) for accuracy in ACCURACIES)
    return f"{timing.solver:<28}" + "".join(f"{'—' if found is None else f'{found:.3g}':>12}" for found in times)


def missing(loss: str) -> list[str]:
    """Return a hint for each missing package whose results are left out."""
    hints = []
    if not cvxpy_peers.installed(loss):
        hints.append('CVXPY is not installed, so the comparison omits its solvers: pip install "adasadmm[bench]"')
    if not importlib.util.find_spec("matplotlib"):
        hints.append('matplotlib is not installed, so no figure is drawn: pip install "adasadmm[report]"')
    return hints


def write(records: list[dict[str, Any]], found: list[Timing], out: Path) -> list[Path]:
    """Write results.json and, if matplotlib is installed, the figure."""
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "results.json", json.dumps(records, indent=1, allow_nan=False))
    drawn = write_timings(found, out) if importlib.util.find_spec("matplotlib") else []
    return [out / "results.json", *drawn]


# --- the command -----------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the solvers on each data set, and print and write what they needed."""
    parser = _parser()
    options = parser.parse_args(arguments)
    records, found = [], []
    try:
        check_writable(options.out)
        for name in _names(options.datasets):
            problem = instance(name, options.data_dir, options.loss)
            print(heading(problem), flush=True)
            of_problem = []
            for timing in timings(problem, Limits(options.epochs, options.limit)):
                print(line(timing), flush=True)
                of_problem.append(timing)
            print()
            records.append(record(problem, of_problem))
            found += of_problem
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print("Written: " + ", ".join(map(str, write(records, found, options.out))))
    for hint in missing(options.loss):
        print(hint, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    known = ", ".join((*datasets.BUNDLED, *datasets.PAPER))
    parser.add_argument("--datasets", metavar="A,B", default=",".join(datasets.BUNDLED), help=f"names among {known}")
    parser.add_argument("--data-dir", metavar="DIR", help="folder with the data files (default: $ADASADMM_DATA)")
    parser.add_argument("--loss", choices=tuple(LOSSES), default="hinge")
    parser.add_argument(
        "--epochs", type=float, default=Limits().epochs, help="maximum number of passes of the stochastic solvers"
    )
    parser.add_argument(
        "--limit", type=float, default=Limits().seconds, metavar="SECONDS", help="time limit of each run (default: 5)"
    )
    parser.add_argument("--out", type=Path, default=Path("bench"), metavar="DIR", help="output folder (default: bench)")
    return parser


def _names(text: str) -> list[str]:
    known = (*datasets.BUNDLED, *datasets.PAPER)
    return [datasets.check_name(name.strip(), known, "data set") for name in text.split(",")]


if __name__ == "__main__":
    main()
