"""The problems on which settings are compared, and the best of the paper's step sizes for each.

The setting is that of the paper's experiment: 80 % of the rows, drawn separately for each seed, a graph learnt from
them (the 8 x 8 pixel grid for digits), no intercept, gamma = nu = 1/n, 2 epochs. The grid has a = beta = 1.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from adasadmm import L1, AdaSADMM, Problem, graphs, solve
from adasadmm.paper.cells import prepare
from adasadmm.paper.settings import GRID
from adasadmm.rows.matrices import plain, to_scipy

EPOCHS = 2
SEEDS = range(5)


class Best(NamedTuple):
    """The lowest mean objective over a grid of step sizes, of the last iterates or of the uniform means."""

    value: float
    eta: float
    kind: str

    def __str__(self) -> str:
        return f"2^{math.log2(self.eta):.0f}, {self.kind}"


@functools.lru_cache(maxsize=8, typed=True)  # Hinge() == Logistic(), both are empty tuples
def problem_of(name: str, loss: Any, seed: int) -> Problem:
    """The training rows of a seed under a loss."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        kept = np.random.default_rng([seed, 2014]).permutation(len(y))[: round(0.8 * len(y))]
        A = graphs.incidence(graphs.grid(8, 8), d=64)
        return _problem(X[kept] / 16.0, np.where(y[kept] % 2 == 0, 1.0, -1.0), loss, A)
    train = prepare(name, None, seed, False).train
    return _problem(plain(train.rows.X), train.rows.y, loss, to_scipy(train.A))


def _problem(X: Any, y: np.ndarray, loss: Any, A: Any) -> Problem:
    return Problem(X, y, loss=loss, penalty=L1(1.0 / len(y)), A=A, gamma=1.0 / len(y))


def at_zero(problem: Problem) -> float:
    return problem.objective(np.zeros(problem.d))


def objective(name: str, loss: Any, solver: Any, seeds: Any = SEEDS, epochs: float = EPOCHS) -> float:
    """The mean objective of the answer of a solver over the seeds."""
    return float(np.mean([run(name, loss, solver, seed, epochs)[0] for seed in seeds]))


def run(name: str, loss: Any, solver: Any, seed: int, epochs: float) -> tuple[float, float, float]:
    """The objective of the answer, of the last iterate and of the uniform mean."""
    problem = problem_of(name, loss, seed)
    result = solve(problem, solver, epochs=epochs, seed=seed, trace_every=epochs)
    points = result.w_average, result.w, result.w_mean
    return tuple(problem.objective(w) if np.isfinite(w).all() else math.inf for w in points)  # type: ignore


def best_of_grid(
    name: str, loss: Any, solver: Callable[[float], Any], seeds: Any = SEEDS, epochs: float = EPOCHS
) -> Best:
    """The best step size of the grid; the function returns a solver for a step size."""
    found = []
    for eta in GRID:
        values = np.mean([run(name, loss, solver(eta), seed, epochs)[1:] for seed in seeds], axis=0)
        found += [Best(value, eta, kind) for value, kind in zip(values, ("last", "mean"), strict=True)]
    return min(found)


def constant(eta: float) -> AdaSADMM:
    return AdaSADMM(eta=eta)


def tell(*words: Any) -> None:
    """Print the progress to standard error."""
    print(*words, file=sys.stderr, flush=True)
