"""The effect of larger batches on the objective, on the paper's data sets, and the size that batch_size="auto" selects.

ADASADMM_DATA=... python benchmarks/batch_sizes.py
"""

from __future__ import annotations

import numpy as np
import page

from adasadmm import AdaSADMM, datasets, solve
from adasadmm.paper.cells import prepare

SIZES = (2, 4, 8, 16, 32)
SEEDS = range(3)


def row(name: str) -> list[str]:
    """The objective after 2 epochs with batches of one row, and how much higher it is with larger batches."""
    problem = prepare(name, None, 0, False).train

    def objective(size: int | str) -> float:
        solver = AdaSADMM(beta="auto", average="step-weighted", batch_size=size)
        runs = (solve(problem, solver, epochs=2, seed=seed, trace_every=9) for seed in SEEDS)
        return float(np.mean([problem.objective(run.w_average) for run in runs]))

    single = objective(1)
    chosen = solve(problem, AdaSADMM(batch_size="auto"), epochs=0).run.batch_size
    higher = [f"{objective(size) / single - 1.0:+.1%}" for size in (*SIZES, "auto")]
    return [name, f"{problem.n:,}", f"{single:.4f}", *higher, str(chosen)]


def text() -> str:
    head = ["data", "rows", "objective", *(f"batch {size}" for size in SIZES), '"auto"', 'size of "auto"']
    return page.table(head, [row(name) for name in page.named() or datasets.PAPER])


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
