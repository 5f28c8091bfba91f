"""The table of README.md: seconds to come near the optimum, ours and those of CVXPY, as `adasadmm bench` finds them.

ADASADMM_DATA=... python benchmarks/readme.py [digits a9a]
"""

from __future__ import annotations

import page

from adasadmm.experiments import bench
from adasadmm.report.race import ACCURACIES

LIMITS = bench.Limits(epochs=20.0, seconds=60.0)
SHOWN = ('solver="auto"', "Ada-SADMM, diagonal", "Ada-SADMM, full", "SADMM, c/sqrt(t)", "CVXPY")


def rows(name: str) -> list[list[str]]:
    course = bench.course(name)
    n, d = course.X.shape
    what = f"{name}, {n:,} x {d}, {len(course.edges)} edges"
    return [
        [what, lane.solver, *("" if (time := lane.seconds_to(a)) is None else f"{time:.2g}" for a in ACCURACIES)]
        for lane in bench.lanes(course, LIMITS)
        if lane.solver.startswith(SHOWN)
    ]


def text() -> str:
    head = ["data", "solver", *(f"to {100 * accuracy:g} %" for accuracy in ACCURACIES)]
    return page.table(head, [row for name in page.named() or ["digits", "a9a"] for row in rows(name)])


if __name__ == "__main__":
    page.show(__file__, "../README.md", text)
