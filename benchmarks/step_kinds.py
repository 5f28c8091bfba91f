"""eta="auto" with every metric, w-step and batch size, and for rescaled features: 2 epochs, hinge loss.

ADASADMM_DATA=... python benchmarks/step_kinds.py [names of data sets]
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import page
from tuning import SEEDS, best_of_grid, objective, problem_of, tell

from adasadmm import L1, SADMM, AdaSADMM, Full, Hinge, Problem, solve
from adasadmm.rows.matrices import plain, to_scipy

SMALL = ("svmguide3", "digits")  # the grids of the exact step and of the full metric take their time
KINDS: dict[str, Any] = {  # what the grid runs over, and its settings
    "diagonal, linearised": (AdaSADMM, {}),
    "diagonal, exact": (AdaSADMM, {"w_step": "exact"}),
    "full (root refreshed at 0.05), linearised": (AdaSADMM, {"metric": Full(0.05)}),
    "full (root refreshed at 0.05), exact": (AdaSADMM, {"metric": Full(0.05), "w_step": "exact"}),
    "SADMM, linearised; grid of c/sqrt(t)": (SADMM, {"w_step": "linearized"}),
    "SADMM, exact; grid of c/sqrt(t)": (SADMM, {"w_step": "exact"}),
}
BATCHED = ("svmguide3", "splice", "mushrooms", "news20", "digits", "a9a")
SCALES = (1e-3, 1.0, 1e3)


def auto(kind: type, settings: dict) -> AdaSADMM:
    """The solver with automatic step size; SADMM is Ada-SADMM with the identity, and uses its mean."""
    return AdaSADMM(beta="auto", average="auto", **({"metric": "identity"} if kind is SADMM else {}) | settings)


def kinds(name: str) -> list[str]:
    """How much higher auto is than the best of the grid, for each kind."""
    found = []
    for label, (kind, settings) in KINDS.items():
        best = best_of_grid(name, Hinge(), functools.partial(_with_eta, kind, settings))
        found.append(f"{objective(name, Hinge(), auto(kind, settings)) / best.value - 1:+.2%}")
        tell(name, label, best, found[-1])
    return found


def _with_eta(kind: type, settings: dict, eta: float) -> Any:
    return kind(eta=eta, **settings)


def batches() -> str:
    """The same with batches of 16 rows."""
    rows = []
    for name in BATCHED:
        best = best_of_grid(name, Hinge(), functools.partial(_with_eta, AdaSADMM, {"batch_size": 16}))
        ours = objective(name, Hinge(), auto(AdaSADMM, {"batch_size": 16}))
        iterations = 2 * math.ceil(problem_of(name, Hinge(), 0).n / 16)
        above = f"{ours / best.value - 1:+.2%}", f"{ours - best.value:+.2%}"  # f(0) is 1
        rows.append([name, f"{iterations:,}", f"{ours:.4f}", f"{best.value:.4f}", str(best), *above])
        tell(*rows[-1])
    return page.table(["data", "iterations", "auto", "best of grid", "at", "above best", "of f(0)"], rows)


def in_units(name: str, scale: float, metric: Any) -> float:
    """The objective with features ``scale`` times as large, and gamma and nu changed to match."""
    values = []
    for seed in SEEDS:
        one = problem_of(name, Hinge(), seed)
        X, A = scale * plain(one.rows.X), to_scipy(one.A)
        parts = {"penalty": L1(scale / one.n), "A": A, "gamma": scale**2 / one.n}
        problem = Problem(X, one.rows.y, loss=Hinge(), **parts)
        result = solve(problem, AdaSADMM(metric, beta="auto", average="auto"), seed=seed, trace_every=2)
        values.append(problem.objective(result.w_average))
    return float(np.mean(values))


def units() -> str:
    rows = []
    for name in (*SMALL, "news20"):
        for metric in ("diagonal", Full(0.05), "identity"):
            values = [f"{in_units(name, scale, metric):.6f}" for scale in SCALES]
            rows.append([name, metric if isinstance(metric, str) else "full", *values])
            tell(*rows[-1])
    return page.table(["data", "metric", *(f"c = {scale:g}" for scale in SCALES)], rows)


def text() -> str:
    names = page.named() or SMALL
    columns = [kinds(name) for name in names]
    rows = [[label, *(column[k] for column in columns)] for k, label in enumerate(KINDS)]
    return f"""{page.table(["above the best of the grid", *names], rows)}

With 16 rows a batch:

{batches()}

The same problem in other units, (c X, c^2 gamma, c nu):

{units()}"""


if __name__ == "__main__":
    page.show(__file__, "nothing_to_tune.md", text)
