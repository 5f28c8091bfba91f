"""Runs killed with SIGKILL at random moments and resumed in another process: are all results the same, bit for bit?

python benchmarks/kills.py [number of runs, 200 by default]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from kills import differences, killed_and_resumed, problems, undisturbed

from adasadmm import ADMM, ALM, ASVRGADMM, OADMM, SADMM, SPDHG, AdaSADMM, Full

RUNS = [
    ("Ada-SADMM, diagonal", "memory", AdaSADMM(average="step-weighted"), {"epochs": 5}),
    ("Ada-SADMM, diagonal, exact", "memory", AdaSADMM(w_step="exact", batch_size=3), {"epochs": 12}),
    ("Ada-SADMM, full", "memory", AdaSADMM(metric="full", average="last"), {"epochs": 2}),
    ("Ada-SADMM, full, lagging", "memory", AdaSADMM(metric=Full(0.05), average="polynomial"), {"epochs": 4}),
    ("SADMM", "memory", SADMM(), {"epochs": 4}),
    ("OADMM", "memory", OADMM(1.0), {"epochs": 3}),
    ("batch ADMM", "memory", ADMM(), {"epochs": 150, "tol": 0.0}),
    ("batch ADMM, until a gap", "memory", ADMM(), {"epochs": 1000, "tol": 1e-8, "trace_every": 5}),
    ("augmented Lagrangian", "memory", ALM(), {"epochs": 30, "tol": 0.0}),
    ("SPDHG", "memory", SPDHG(), {"epochs": 5, "tol": 0.0}),
    ("ASVRG-ADMM", "memory, smooth", ASVRGADMM(), {"epochs": 5, "tol": 0.0}),
    ("Ada-SADMM, diagonal", "svmlight", AdaSADMM(average="step-weighted"), {"epochs": 5}),
    ("Ada-SADMM, diagonal", "svmlight, cached", AdaSADMM(average="step-weighted"), {"epochs": 5}),
    ("batch ADMM", "svmlight, cached", ADMM(), {"epochs": 60, "tol": 0.0}),
    ("SADMM", "svmlight, bz2", SADMM(), {"epochs": 4}),
    ("batch ADMM", "svmlight", ADMM(), {"epochs": 60, "tol": 0.0}),
    ("Ada-SADMM, full, lagging", "Parquet", AdaSADMM(metric=Full(0.05)), {"epochs": 4}),
    ("batch ADMM", "Parquet", ADMM(), {"epochs": 60, "tol": 0.0}),
]


def row(problem: Any, solver: Any, options: dict[str, Any], number: int, rng: np.random.Generator) -> list[int]:
    """Runs killed, kills during a write, results that differ."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = undisturbed(problem, solver, options, Path(folder))
    killed = inside = wrong = 0
    while killed < number:
        with tempfile.TemporaryDirectory() as folder:
            found, in_write = killed_and_resumed(problem, solver, options, Path(folder), 0.3 * rng.random())
        if found is not None:  # else it had ended before
            killed, inside, wrong = killed + 1, inside + in_write, wrong + bool(differences(found, wanted))
    return [killed, inside, wrong]


def text() -> str:
    total = int((page.named() or ["200"])[0])
    share = -(-total // len(RUNS))
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        rows_in = problems(Path(folder))
        figures = [row(rows_in[where], solver, options, share, rng) for _, where, solver, options in RUNS]
    lines = [[name, where, *map(str, found)] for (name, where, *_), found in zip(RUNS, figures, strict=True)]
    lines.append(["all", "", *(str(sum(column)) for column in zip(*figures, strict=True))])
    head = ["solver", "rows in", "killed and resumed", "of these during a write", "results that differ"]
    return page.table(head, lines)


if __name__ == "__main__":
    page.show(__file__, "persistence.md", text)
