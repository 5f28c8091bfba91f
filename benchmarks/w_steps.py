"""The cost of the exact w-step and the full metric, compared with a dense factorisation or eigendecomposition per step.

    ADASADMM_DATA=... python benchmarks/w_steps.py

Our time is that of a whole iteration (row, metric, w, v, theta); the dense time is that of the factorisation alone,
with BLAS on one thread. The lagging root is measured over 2 epochs, since roots become rarer: their number grows with
the logarithm of the steps.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import page
import scipy.linalg
from row_visit import problem_of

from adasadmm import AdaSADMM, Full, Problem, solve
from adasadmm._core.threads import one_blas_thread

REPEATS = 5


def ours(problem: Problem, solver: AdaSADMM, epochs: float) -> float:
    solve(problem, solver, epochs=10 / problem.n)
    return statistics.median(
        solve(problem, solver, epochs=epochs, trace_every=9).trace["seconds"][-1] / (epochs * problem.n)
        for _ in range(REPEATS)
    )


def dense(d: int, times: int, kind: str) -> float:
    """Seconds for a Cholesky factor and two substitutions, or for an eigendecomposition, of a d x d matrix."""
    rng = np.random.default_rng(0)
    M = rng.normal(size=(2 * d, d))
    G = M.T @ M
    rhs = rng.normal(size=d)
    found = []
    with one_blas_thread():
        for _ in range(REPEATS):
            start = time.perf_counter()
            for _ in range(times):
                if kind == "cholesky":
                    scipy.linalg.cho_solve(scipy.linalg.cho_factor(G, check_finite=False), rhs, check_finite=False)
                else:
                    np.linalg.eigh(G)
            found.append((time.perf_counter() - start) / times)
    return statistics.median(found)


def rows(name: str) -> list[list[str]]:
    problem = problem_of(name)
    d = problem.d
    cholesky, eigen = dense(d, 100, "cholesky"), dense(d, 20, "eigh")
    plain = ours(problem, AdaSADMM(eta=1.0), 1.0)
    found = [[name, str(d), "diagonal, linearised", f"{1e6 * plain:.2f}", "1", "", ""]]
    for label, solver, epochs, theirs in (
        ("diagonal, exact w-step", AdaSADMM(eta=1.0, w_step="exact"), 0.2, cholesky),
        ("full, root refreshed at 0.05, linearised", AdaSADMM(Full(0.05), eta=1.0), 2.0, eigen),
        ("full, root refreshed at 0.05, exact w-step", AdaSADMM(Full(0.05), eta=1.0, w_step="exact"), 2.0, eigen),
        ("full, root at each step, linearised", AdaSADMM("full", eta=1.0), 600 / problem.n, eigen),
    ):
        seconds = ours(problem, solver, epochs)
        ratios = f"{seconds / plain:.0f}", f"{1e6 * theirs:.0f}", f"{theirs / seconds:.1f}"
        found.append([name, str(d), label, f"{1e6 * seconds:.1f}", *ratios])
    return found


def text() -> str:
    head = [
        "data",
        "d",
        "step",
        "µs per iteration",
        "relative to diagonal",
        "dense factorisation at each step, µs",
        "speed-up",
    ]
    return page.table(head, [row for name in page.named() or ("a9a", "w8a") for row in rows(name)])


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
