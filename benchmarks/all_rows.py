"""Iterations and time to a certified gap: ALM and batch ADMM, from 0 and from a distant point.

ADASADMM_DATA=... python benchmarks/all_rows.py [names of data sets] [likeness] [images]
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import generated
import numpy as np
import page
from graph_guided import problem_of, rows_and_graph

from adasadmm import ADMM, ALM, Problem, Status, datasets, solve

GAPS = (1e-2, 1e-3, 1e-4, 1e-6)
MOST_ITERATIONS = 3000
GENERATED = {"likeness": generated.likeness, "images": generated.images}


def run(problem: Problem, solver: Any, far: bool) -> list[str]:
    """Iterations (with Newton steps in parentheses) and seconds to each gap, including its evaluation."""
    result = None
    if far:
        w = 10.0 * np.random.default_rng(0).normal(size=problem.d)
        result = dataclasses.replace(solve(problem, solver, epochs=0), w=w, run=None)
    solve(problem, solver, epochs=1)  # compile
    found = dict.fromkeys(GAPS, "not reached")
    begin = time.perf_counter()
    for gap in GAPS:
        result = solve(problem, solver, tol=gap, epochs=MOST_ITERATIONS, start=result)
        if result.status is not Status.converged:
            break
        steps = f" ({result.run.method.newton_steps})" if isinstance(solver, ALM) else ""
        found[gap] = f"{result.run.monitor().iteration}{steps}, {time.perf_counter() - begin:.2g} s"
    return list(found.values())


def rows(name: str) -> list[list[str]]:
    X, y, edges = GENERATED[name]() if name in GENERATED else rows_and_graph(name)
    problem = problem_of(X, y, edges, "hinge")
    return [
        [name, type(solver).__name__, "far" if far else "0", *run(problem, solver, far)]
        for solver in (ALM(), ADMM())
        for far in (False, True)
    ]


def text() -> str:
    head = ["data", "solver", "start", *(f"to a gap of {gap:g}" for gap in GAPS)]
    names = page.named() or [*datasets.PAPER, *GENERATED]
    return page.table(head, [row for name in names for row in rows(name)])


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
