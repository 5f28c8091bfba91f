"""The loss in objective by the lagging root on the paper's data sets, and the time of an epoch with 1,000 features.

ADASADMM_DATA=... python benchmarks/full_metric.py [names of data sets]
"""

from __future__ import annotations

import numpy as np
import page
import scipy.sparse as sp

from adasadmm import L1, AdaSADMM, Full, Hinge, Problem, datasets, graphs, solve
from adasadmm.paper.cells import prepare

ETAS = {"splice": (1 / 16, 1 / 8, 1 / 4, 1.0), "mushrooms": (1 / 4, 1.0, 4.0)}  # where it matters; else 1
ROWS, FEATURES, NON_ZEROS = 100_000, 1_000, 50


def row(name: str, eta: float) -> list[str]:
    """The objective of the mean after 2 epochs with either root."""
    problem = prepare(name, None, 0, False).train
    exact, lagging = (solve(problem, AdaSADMM(metric, eta=eta), trace_every=9) for metric in ("full", Full(0.05)))
    values = [problem.objective(result.w_mean) for result in (exact, lagging)]
    seconds = [f"{result.trace['seconds'][-1]:.2f}" for result in (exact, lagging)]
    roots = str(lagging.run.method.metric.counts[1])
    change = f"{values[1] / values[0] - 1.0:+.2%}"
    return [
        name,
        f"{problem.n:,}",
        str(problem.d),
        f"{eta:g}",
        *(f"{value:.5f}" for value in values),
        change,
        roots,
        *seconds,
    ]


def generated() -> Problem:
    """Sparse rows, labels from coefficients that vary linearly along a chain, and a tenth of the labels wrong."""
    rng = np.random.default_rng(0)
    columns = rng.integers(FEATURES, size=(ROWS, NON_ZEROS))
    entries = rng.normal(size=ROWS * NON_ZEROS), columns.ravel(), np.arange(0, ROWS * NON_ZEROS + 1, NON_ZEROS)
    X = sp.csr_array(entries, shape=(ROWS, FEATURES))
    X.sum_duplicates()
    y = np.sign(X @ np.repeat(rng.normal(size=FEATURES // 50), 50)) * np.where(rng.random(ROWS) < 0.1, -1.0, 1.0)
    A = graphs.incidence(graphs.chain(FEATURES))
    return Problem(X, y, loss=Hinge(), penalty=L1(1 / ROWS), A=A, gamma=1 / ROWS)


def big() -> str:
    problem = generated()
    found = []
    for label, solver in (("diagonal", AdaSADMM(eta=1.0)), ("full, lagging", AdaSADMM(Full(0.05), eta=1.0))):
        result = solve(problem, solver, epochs=1, trace_every=9)
        found.append([label, f"{result.trace['seconds'][-1]:.1f}", f"{problem.objective(result.w_mean):.4f}"])
    return page.table(["metric", "seconds of an epoch", "objective"], found)


def text() -> str:
    head = ["data", "rows", "d", "eta", "exact root", "lagging root", "change", "roots", "exact, s", "lagging, s"]
    names = page.named() or datasets.PAPER
    tables = (
        [page.table(head, [row(name, eta) for name in names if name != "generated" for eta in ETAS.get(name, (1.0,))])]
        if names != ["generated"]
        else []
    )
    if "generated" in names or not page.named():
        tables.append(f"{ROWS:,} rows of {NON_ZEROS} non-zeros, {FEATURES:,} features, a chain:\n\n{big()}")
    return "\n\n".join(tables)


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
