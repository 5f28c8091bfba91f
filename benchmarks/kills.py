"""Runs killed with SIGKILL at random moments and resumed in another process: is every result the same bits?

python benchmarks/kills.py [number of runs, 200 by default]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from kills import differences, facts, killed_and_resumed

from adasadmm import ADMM, L1, OADMM, SADMM, AdaSADMM, Full, Hinge, Problem, graphs, solve

ROWS, FEATURES = 400, 6
SOLVERS = {
    "Ada-SADMM, diagonal": (AdaSADMM(average="step-weighted"), {"epochs": 5}),
    "Ada-SADMM, diagonal, exact": (AdaSADMM(w_step="exact", batch_size=3), {"epochs": 12}),
    "Ada-SADMM, full": (AdaSADMM(metric="full", average="last"), {"epochs": 2}),
    "Ada-SADMM, full, lagging": (AdaSADMM(metric=Full(refresh=0.05), average="polynomial"), {"epochs": 4}),
    "SADMM": (SADMM(), {"epochs": 4}),
    "OADMM": (OADMM(1.0), {"epochs": 3}),
    "batch ADMM": (ADMM(), {"epochs": 150, "tol": 0.0}),
    "batch ADMM, until a gap": (ADMM(), {"epochs": 1000, "tol": 1e-8, "trace_every": 5}),
}


def problem() -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=ROWS) > 0, 1.0, -1.0)
    A = graphs.incidence(graphs.chain(FEATURES))
    return Problem(X, y, loss=Hinge(), penalty=L1(1e-2), A=A, gamma=1e-2)


def row(name: str, number: int, rng: np.random.Generator) -> list[int]:
    """Runs killed, kills inside a write, results with other bits."""
    solver, options = SOLVERS[name]
    data = problem()
    wanted = facts(solve(data, solver, **options))
    killed = inside = wrong = 0
    while killed < number:
        with tempfile.TemporaryDirectory() as folder:
            found, in_write = killed_and_resumed(data, solver, options, Path(folder), 0.3 * rng.random())
        if found is not None:  # else it had ended before
            killed, inside, wrong = killed + 1, inside + in_write, wrong + bool(differences(found, wanted))
    return [killed, inside, wrong]


def text() -> str:
    total = int((page.named() or ["200"])[0])
    share = -(-total // len(SOLVERS))
    rng = np.random.default_rng(0)
    rows = {name: row(name, share, rng) for name in SOLVERS}
    rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    head = ["solver", "killed and resumed", "of these inside a write", "results with other bits"]
    return page.table(head, [[name, *map(str, figures)] for name, figures in rows.items()])


if __name__ == "__main__":
    page.show(__file__, "persistence.md", text)
