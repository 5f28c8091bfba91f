"""Rows of Parquet files to a certified gap: seconds, passes and gap of Ada-SADMM and ALM, streamed and in memory.

python benchmarks/stream_passes.py [rows]        (default: 10,000,000 rows of 100 features, 4 GB under --dir=DIR)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import page
from streams import FEATURES, sizes, write

RUNS = {"Ada-SADMM, 2 epochs": None, "ALM to 1e-3": 1e-3, "ALM to 1e-6": 1e-6}


def count_passes() -> list[int]:
    """A list that grows by one entry with each pass over a source."""
    from adasadmm.sources import Source

    begun: list[int] = []
    read = Source.raw_blocks
    Source.raw_blocks = lambda self, *given: begun.append(1) or read(self, *given)  # type: ignore[method-assign]
    return begun


def measure(run: str, in_memory: str, rows: str, folder: str) -> dict[str, Any]:
    """One run in a separate process; the same run on few rows has compiled the code before."""
    from adasadmm import ALM, L1, AdaSADMM, Hinge, Problem, graphs, solve, sources
    from adasadmm.estimators._rows import load

    chain = graphs.incidence(graphs.chain(FEATURES))
    parts = {"loss": Hinge(), "penalty": L1(1e-5), "A": chain, "gamma": 1e-5}
    tol = RUNS[run]
    solver, settings = (AdaSADMM(beta="auto", average="auto"), {"epochs": 2}) if tol is None else (ALM(), {"tol": tol})
    files = sorted(Path(folder).glob("*.parquet"))[: len(sizes(int(rows)))]
    begun = count_passes()
    for chosen in (files[:1], files):
        source = sources.parquet(chosen)
        given = load(source)[:2] if in_memory == "yes" else (source,)
        begun.clear()
        begin, cpu = time.perf_counter(), time.process_time()
        problem = Problem(*given, **parts)
        result = solve(problem, solver, **settings)
        gap = result.certificate.relative_gap
        found = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "passes": len(begun)}
    return {**found, "gap": gap, "objective": problem.objective(result.w_average)}


def in_a_process(run: str, in_memory: bool, rows: int, folder: Path) -> list[str]:
    given = [run, "yes" if in_memory else "no", str(rows), str(folder)]
    command = [sys.executable, __file__, "--measure", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return [
        "in memory" if in_memory else "streamed",
        run,
        f"{found['seconds']:.1f}",
        f"{found['cpu']:.1f}",
        "" if in_memory else str(found["passes"]),
        f"{found['gap']:.1e}" if found["gap"] < 1.0 else "no useful bound",
        f"{found['objective']:.8f}",
    ]


def text() -> str:
    rows = int(page.named()[0]) if page.named() else 10_000_000
    given = [argument[6:] for argument in sys.argv if argument.startswith("--dir=")]
    with tempfile.TemporaryDirectory(prefix="streams-") as temporary:
        folder = Path(given[0] if given else temporary) / "float32"
        write(folder, rows, "float32")
        lines = [in_a_process(run, in_memory, rows, folder) for in_memory in (False, True) for run in RUNS]
    head = ["rows", "run", "seconds", "CPU seconds", "passes", "relative gap", "objective"]
    return f"{rows:,} x {FEATURES}, float32.\n\n" + page.table(head, lines)


if __name__ == "__main__":
    if "--measure" in sys.argv:
        print(json.dumps(measure(*sys.argv[-4:])))
    else:
        page.show(__file__, "streams.md", text)
