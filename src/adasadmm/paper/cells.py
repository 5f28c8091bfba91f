"""The cells of the experiment: independent units of work that take and return plain names and numbers."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from .. import datasets, graphs
from .._solve import solve_quietly
from ..losses import Hinge
from ..penalties import L1
from ..problem import Problem
from ..solvers import ADMM
from .contest import Options, follow
from .settings import PENALTY, SCALED, TEST_PART

__all__ = ["Cell", "Task", "compute"]

OPTIMUM_TOL = 1e-4
OPTIMUM_ITERATIONS = 5000
TUNING_SEED = 0


class Cell(NamedTuple):
    """A unit of work.

    ``kind`` is "optimum" (solve a data set and seed to optimality), "trial" (try a step size on the hold-out rows) or
    "run" (one seed of an entry of the table).
    """

    kind: str
    dataset: str
    seed: int
    algorithm: str = ""
    eta: float | str | None = None

    def __str__(self) -> str:
        if self.kind == "optimum":
            return f"{self.dataset}, optimum, seed {self.seed}"
        what = f"eta {self.eta:g}" if self.kind == "trial" else f"seed {self.seed}"
        return f"{self.dataset}, {self.algorithm}, {what}"


class Task(NamedTuple):
    """The training problem, and the problem of the held-out rows."""

    train: Problem
    held_out: Problem
    edges: np.ndarray
    names: tuple[str, ...]

    def test_error(self, w: np.ndarray) -> float:
        """Return the fraction of held-out rows with the wrong sign; a score of 0 counts as +1."""
        signs = np.where(self.held_out.predictions(w) >= 0.0, 1.0, -1.0)
        return float(np.mean(signs != self.held_out.rows.y))


def compute(cell: Cell, options: Options, data_dir: str | None) -> dict[str, Any]:
    """Compute the figures of a cell."""
    work = {"optimum": _optimum, "trial": _trial, "run": _run}[cell.kind]
    return work(cell, options, data_dir)


def _optimum(cell: Cell, options: Options, data_dir: str | None) -> dict[str, Any]:
    task = prepare(cell.dataset, data_dir, cell.seed, False)
    result = solve_quietly(task.train, ADMM(), tol=OPTIMUM_TOL, epochs=OPTIMUM_ITERATIONS)
    certificate = result.certificate
    assert certificate is not None
    return {
        "optimum": certificate.primal,
        "gap": certificate.relative_gap,
        "test_error": task.test_error(result.w),
        "edges": task.edges.tolist(),
        "names": list(task.names),
    }


def _trial(cell: Cell, options: Options, data_dir: str | None) -> dict[str, Any]:
    task = prepare(cell.dataset, data_dir, cell.seed, True)
    last: list[np.ndarray] = []

    def note(epoch: float, seconds: float, w_mean: np.ndarray, w: np.ndarray) -> None:
        last[:] = [w_mean]

    status = follow(cell.algorithm, task.train, options, cell.seed, cell.eta, note)
    # None marks a run that diverged, since JSON has no infinity; its step size is not considered.
    return {"objective": None if status == "diverged" else task.held_out.objective(last[0])}


def _run(cell: Cell, options: Options, data_dir: str | None) -> dict[str, Any]:
    task = prepare(cell.dataset, data_dir, cell.seed, False)
    trace: dict[str, list[float]] = {}
    points: list[tuple[np.ndarray, np.ndarray]] = []

    def note(epoch: float, seconds: float, w_mean: np.ndarray, w: np.ndarray) -> None:
        figures = {
            "epoch": epoch,
            "objective": task.train.objective(w_mean),
            "test_error": task.test_error(w_mean),
            "seconds": seconds,
            "objective_last": task.train.objective(w),
            "test_error_last": task.test_error(w),
        }
        for name, figure in figures.items():
            trace.setdefault(name, []).append(figure)
        points[:] = [(w_mean, w)]

    status = follow(cell.algorithm, task.train, options, cell.seed, cell.eta, note)
    if status == "diverged":
        raise ArithmeticError(f"the run diverged after {trace['epoch'][-1]:.2f} epochs with eta = {cell.eta}")
    (w_mean, w) = points[0]
    end = {
        name: trace[name][-1] for name in ("objective", "test_error", "seconds", "objective_last", "test_error_last")
    }
    return {
        "epochs": trace["epoch"][-1],
        **end,
        "test_objective": task.held_out.objective(w_mean),
        "test_objective_last": task.held_out.objective(w),
        "status": status,
        "train_rows": task.train.n,
        "test_rows": task.held_out.n,
        "trace": trace,
        "w": w_mean.tolist(),
    }


@functools.lru_cache(maxsize=4)
def prepare(name: str, data_dir: str | None, seed: int, tuning: bool) -> Task:
    """Split a data set for a seed; for tuning, split its training rows again."""
    data = datasets.load(name, data_dir)
    rng = np.random.default_rng([seed, 2014])
    kept, held_out = _split(rng, np.arange(len(data.y)))
    n = len(kept)
    if tuning:
        kept, held_out = _split(rng, kept)
    X = scaled(data.X, kept) if name in SCALED else data.X
    graph = learnt_graph(name, X[kept])
    A = graphs.incidence(graph.edges, d=X.shape[1])
    train, rest = (
        Problem(X[rows], data.y[rows], loss=Hinge(), penalty=L1(1.0 / n), A=A, gamma=1.0 / n)
        for rows in (kept, held_out)
    )
    return Task(train, rest, graph.edges, data.feature_names)


def scaled(X: Any, rows: np.ndarray) -> np.ndarray:
    """Scale the columns of X to [-1, 1], with the range taken over the given rows; constant columns become 0."""
    X = X.toarray()
    low, high = X[rows].min(axis=0), X[rows].max(axis=0)
    varying = high > low
    return np.where(varying, 2.0 * (X - low) / np.where(varying, high - low, 1.0) - 1.0, 0.0)


def learnt_graph(name: str, X: Any) -> graphs.Graph:
    """Learn the graph of the sparse inverse covariance; all edge weights are 1."""
    return graphs.glasso(X, penalty=PENALTY[name]) if name in PENALTY else graphs.as_graph("glasso", X.shape[1], X=X)


def _split(rng: np.random.Generator, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = rng.permutation(rows)
    kept = math.floor((1.0 - TEST_PART) * len(rows) + 0.5)
    return rows[:kept], rows[kept:]
