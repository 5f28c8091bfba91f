"""Does a long run hold its memory? Used by the tests and by benchmarks/steady.py."""

import gc
import resource
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adasadmm import (
    ADMM,
    ALM,
    ASVRGADMM,
    L1,
    OADMM,
    SADMM,
    SPDHG,
    SVRGADMM,
    AdaSADMM,
    Full,
    Hinge,
    Problem,
    SquaredHinge,
    graphs,
    solve,
)

LOOKS = 10
SOLVERS = {
    "Ada-SADMM, diagonal": AdaSADMM(),
    "Ada-SADMM, diagonal, exact": AdaSADMM(w_step="exact", average="step-weighted"),
    "Ada-SADMM, full": AdaSADMM(metric="full"),
    "Ada-SADMM, full, lagging": AdaSADMM(metric=Full(0.05)),
    "SADMM": SADMM(),
    "OADMM": OADMM(1.0),
    "SPDHG": SPDHG(batch_size=1),
    "SVRG-ADMM": SVRGADMM(batch_size=1),
    "ASVRG-ADMM": ASVRGADMM(batch_size=1),
    "batch ADMM": ADMM(),
    "augmented Lagrangian": ALM(),
}
OVER_ALL_ROWS = (ADMM, ALM)
FEWER = {
    "batch ADMM": 20,
    "augmented Lagrangian": 200,
}  # an iteration over all rows is begun in Python, and takes longer


class Growth(NamedTuple):
    """Iterations, and by how many bytes Python's and the whole memory grew between the third look and the last."""

    iterations: int
    traced: int
    resident: int


def problem(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    loss = SquaredHinge() if isinstance(solver, (SVRGADMM, ASVRGADMM)) else Hinge()
    return Problem(X, y, loss=loss, penalty=L1(1e-2), A=graphs.incidence(graphs.chain(3)), gamma=1e-2)


def growth(solver, iterations):
    """Run so many iterations, and look at the memory at some points on the way.

    Each part continues from the previous one: some solvers reach a gap of 0 and would stop there.
    """
    rows, looks, result = problem(solver), [], None
    part = (iterations if isinstance(solver, OVER_ALL_ROWS) else iterations / rows.n) / LOOKS
    solve(rows, solver, epochs=20, trace_every=20, tol=0.0)  # compiles everything
    tracemalloc.start()
    try:
        for _ in range(LOOKS):
            result = solve(rows, solver, epochs=part, trace_every=part, tol=0.0, start=result)
            gc.collect()
            looks.append((int(result.trace["iteration"][-1]), tracemalloc.get_traced_memory()[0], _resident()))
    finally:
        tracemalloc.stop()
    early, last = looks[2], looks[-1]
    return Growth(last[0], last[1] - early[1], last[2] - early[2])


def _resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
