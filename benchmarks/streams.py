"""Rows streamed from Parquet files compared with the same rows in memory: speed, memory, objective of one epoch.

python benchmarks/streams.py [rows]        (default: 10,000,000 rows of 100 features, 12 GB on disk under --dir=DIR)
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import page

FEATURES = 100
FILE_ROWS = 100_000
GROUP_ROWS = 25_000


def block(number: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Some rows and their labels; neighbours have equal coefficients."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(rows, FEATURES))
    w = np.repeat(np.random.default_rng(0).normal(size=10), FEATURES // 10)
    return X, np.where(X @ w + 5.0 * rng.normal(size=rows) > 0.0, 1.0, -1.0)


def sizes(rows: int) -> list[int]:
    return [min(FILE_ROWS, rows - first) for first in range(0, rows, FILE_ROWS)]


def write(folder: Path, rows: int, kind: str) -> None:
    """The rows as Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for number, size in enumerate(sizes(rows)):
        path = folder / f"{number:05d}.parquet"
        if not path.exists():
            X, y = block(number, size)
            table = pa.table({**{f"x{j}": X[:, j].astype(kind) for j in range(FEATURES)}, "target": y})
            pq.write_table(table, path, row_group_size=GROUP_ROWS, use_dictionary=False)


def measure(how: str, rows: int, folder: str) -> dict[str, float]:
    """One epoch in a separate process; the second run counts, since the first one compiles."""
    from adasadmm import L1, AdaSADMM, Hinge, Problem, graphs, solve, sources

    parts = {
        "loss": Hinge(),
        "penalty": L1(1e-5),
        "A": graphs.incidence(graphs.chain(FEATURES)),
        "gamma": 1e-5,
    }
    solver = AdaSADMM(average="step-weighted")
    few = block(0, 1000)
    solve(Problem(*few, **parts), solver, epochs=1)
    if how == "in memory":
        X, y = np.empty((rows, FEATURES)), np.empty(rows)
        first = 0
        for number, size in enumerate(sizes(rows)):
            X[first : first + size], y[first : first + size] = block(number, size)
            first += size
        problem = Problem(X, y, **parts)
    else:
        solve(Problem(sources.arrays(*few), **parts), solver, epochs=1)
        files = sorted(Path(folder).glob("*.parquet"))[: len(sizes(rows))]
        problem = Problem(sources.parquet(files), **parts)
    begin = time.perf_counter()
    result = solve(problem, solver, epochs=1, trace_every=1)
    return {
        "rows": problem.n,
        "seconds": float(result.trace["seconds"][-1]),
        "all seconds": time.perf_counter() - begin,
        "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "objective": problem.objective(result.w_average),
    }


def in_a_process(how: str, rows: int, folder: Path) -> list[str]:
    command = [sys.executable, __file__, "--measure", how, str(rows), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return [
        how,
        f"{found['rows']:,}",
        f"{found['rows'] / found['seconds']:,.0f}",
        f"{1e6 * found['seconds'] / found['rows']:.2f}",
        f"{found['all seconds']:.1f}",
        f"{found['resident']:,.0f}",
        f"{found['objective']:.5f}",
    ]


def text() -> str:
    rows = int(page.named()[0]) if page.named() else 10_000_000
    given = [argument[6:] for argument in sys.argv if argument.startswith("--dir=")]
    with tempfile.TemporaryDirectory(prefix="streams-") as temporary:
        folder = Path(given[0] if given else temporary)
        for kind in ("float64", "float32"):
            write(folder / kind, rows, kind)
        lines = [
            in_a_process("streamed, float64", size, folder / "float64") for size in (rows // 100, rows // 10, rows)
        ]
        lines.append(in_a_process("streamed, float32", rows, folder / "float32"))
        lines.append(in_a_process("in memory", rows, folder))
    head = ["rows from", "rows", "rows per second", "µs per row", "with objective and certificate, s", "resident, MiB"]
    return page.table([*head, "objective"], lines)


if __name__ == "__main__":
    if "--measure" in sys.argv:
        how, rows, folder = sys.argv[-3:]
        print(json.dumps(measure(how, int(rows), folder)))
    else:
        page.show(__file__, "streams.md", text)
