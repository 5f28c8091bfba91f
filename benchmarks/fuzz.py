"""Damaged files of each kind, read as a user would: results, rejections, and faults, of which there should be none.

python benchmarks/fuzz.py [number of files, 22,500 by default]
"""

from __future__ import annotations

import sys
from pathlib import Path

import page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from fuzz import KINDS, fuzz


def text() -> str:
    share = -(-int((page.named() or ["22500"])[0]) // len(KINDS))
    lines, sums = [], [0, 0, 0, 0]
    for name in KINDS:
        found = fuzz(name, share)
        for number, what in found.faults:
            print(f"{name} {number}: {what}", file=sys.stderr)
        counts = [share, found.results, found.refused, len(found.faults)]
        sums = [before + more for before, more in zip(sums, counts, strict=True)]
        lines.append([name, *(f"{count:,}" for count in counts), f"{found.mebibytes:.0f}", f"{found.seconds:.2f}"])
    lines.append(["all", *(f"{count:,}" for count in sums), "", ""])
    head = ["kind", "files", "read", "rejected", "faults", "peak memory, MiB", "longest, CPU s"]
    return page.table(head, lines)


if __name__ == "__main__":
    page.show(__file__, "faults.md", text)
