"""The memory of long runs: its growth from a third of the run to the end.

python benchmarks/steady.py [number of iterations, 1,000,000 by default]
"""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from steady import FEWER, SOLVERS, growth


def text() -> str:
    iterations = int((page.named() or ["1000000"])[0])
    context = multiprocessing.get_context("spawn")  # each in a process of its own: its memory is only its own
    counts = [iterations // FEWER.get(name, 1) for name in SOLVERS]
    with ProcessPoolExecutor(len(SOLVERS), mp_context=context) as pool:
        found = list(pool.map(growth, SOLVERS.values(), counts))
    lines = [
        [name, f"{one.iterations:,}", f"{one.traced / 2**10:.1f}", f"{one.resident / 2**10:.0f}"]
        for name, one in zip(SOLVERS, found, strict=True)
    ]
    return page.table(["solver", "iterations", "tracemalloc, KiB", "resident set, KiB"], lines)


if __name__ == "__main__":
    page.show(__file__, "faults.md", text)
