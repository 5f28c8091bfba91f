"""The memory of long runs: by how much it grows from a third of the way to the end.

python benchmarks/steady.py [number of iterations, 1,000,000 by default]
"""

from __future__ import annotations

import sys
from pathlib import Path

import page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from steady import SOLVERS, growth


def text() -> str:
    iterations = int((page.named() or ["1000000"])[0])
    lines = []
    for name, solver in SOLVERS.items():
        found = growth(solver, iterations)
        lines.append([name, f"{found.iterations:,}", f"{found.traced / 2**10:.1f}", f"{found.resident / 2**10:.0f}"])
    return page.table(["solver", "iterations", "tracemalloc, KiB", "resident set, KiB"], lines)


if __name__ == "__main__":
    page.show(__file__, "faults.md", text)
