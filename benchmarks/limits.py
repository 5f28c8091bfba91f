"""Distance from the hardware limits: what a row of a9a and a pass over it need, and how long they take.

ADASADMM_DATA=... python benchmarks/limits.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import page
from row_visit import problem_of

from adasadmm import ADMM, ALM, AdaSADMM, Problem, solve
from adasadmm._core.threads import one_blas_thread


def seconds(work: Callable[[], object]) -> float:
    """The median of 5."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def bandwidth() -> float:
    """Bytes per second that one core reads from memory."""
    array = np.ones(2**26)
    return array.nbytes / seconds(array.sum)


def peak() -> float:
    """Floating-point operations per second of one core, in a matrix product."""
    a = np.ones((1500, 1500))
    return 2.0 * 1500**3 / seconds(lambda: a @ a)


def needs_of_a_row(problem: Problem) -> tuple[float, float]:
    """Bytes from memory and operations of an iteration on one row; everything but the row stays in the cache.

    A coordinate takes 12 operations, a square root and a division (counted as 8 each), an edge 8, a non-zero 4.
    """
    non_zeros = len(problem.rows.X.data) / problem.n
    return 12.0 * non_zeros + 24.0, 28.0 * problem.d + 8.0 * problem.m + 4.0 * non_zeros


def needs_of_a_pass(problem: Problem, passes: int) -> tuple[float, float]:
    """The same for whole passes over X and the vectors z, u, y, c."""
    non_zeros = len(problem.rows.X.data)
    return passes * (12.0 * non_zeros + 40.0 * problem.n), passes * (2.0 * non_zeros + 5.0 * problem.n)


def text() -> str:
    problem = problem_of("a9a")
    with one_blas_thread():
        bytes_a_second, operations_a_second = bandwidth(), peak()
    solve(problem, AdaSADMM(eta=1.0), epochs=0.1)
    row = solve(problem, AdaSADMM(eta=1.0), epochs=3).trace["seconds"][-1] / (3 * problem.n)
    batch = solve(problem, ADMM(), tol=0.0, epochs=100).trace["seconds"][-1] / 100
    newton = solve(problem, ALM(), tol=1e-6)
    step = newton.trace["seconds"][-1] / newton.run.method.newton_steps
    lines = []
    for label, (size, work), took in (
        ("a row of Ada-SADMM, diagonal", needs_of_a_row(problem), row),
        ("an iteration of batch ADMM: X w and X'u at once", needs_of_a_pass(problem, 1), batch),
        ("a Newton step of ALM: X p, X's and the remaining work", needs_of_a_pass(problem, 2), step),
    ):
        limits = size / bytes_a_second, work / operations_a_second
        times = (f"{1e6 * one:.3g}" for one in (*limits, took))
        lines.append([label, f"{size:,.0f}", f"{work:,.0f}", *times, f"{took / max(limits):.1f}"])
    head = ["a9a", "bytes", "operations", "µs by bandwidth", "µs by peak", "µs measured", "times the larger limit"]
    machine = (
        f"One core reads {bytes_a_second / 1e9:.1f} GB/s and performs {operations_a_second / 1e9:.1f} GFlop/s.\n\n"
    )
    return machine + page.table(head, lines)


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
