"""Random fits of all estimators with hostile numbers, against optima that CVXPY finds in kind ones.

    python benchmarks/hostile.py [count, 3,000 by default] [--first 0] [--print]

Equal and nearly equal columns, targets and times far from 0, scales from 1e-12 to 1e12, weights with zeros and ratios
of 1e12, offsets, weighted graphs of several components, tolerances from 1e-2 to 1e-9 (tests/hostile_fits.py).
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from pathlib import Path

import page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from hostile_fits import judged, random_fit

COLUMNS = ("fits", "converged", "false", "worse", "silent", "error")


def text() -> str:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0, help="number of the first fit: other random numbers")
    parser.add_argument("--print", action="store_true", help="the table goes to the terminal, not to the docs")
    options = parser.parse_args()
    counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    slowest: dict[str, float] = collections.defaultdict(float)
    for number in range(options.first, options.first + options.count):
        case = random_fit(number)
        name, start = type(case.model).__name__, time.perf_counter()
        found = {"fits": "1"}
        try:
            verdict = judged(case)._asdict()
            found |= {key: value for key, value in verdict.items() if value}
        except Exception as error:  # the next fit may tell more
            found["error"] = repr(error)
        slowest[name] = max(slowest[name], time.perf_counter() - start)
        counts[name].update(found.keys())
        for key in ("false", "worse", "silent", "error"):
            if key in found:
                print(f"{case.name}: {key}: {found[key]}", file=sys.stderr, flush=True)
    lines = [
        [name, *(f"{one[key]:,}" for key in COLUMNS), f"{slowest[name]:.1f}"] for name, one in sorted(counts.items())
    ]
    total = sum(counts.values(), collections.Counter())
    lines.append(["all", *(f"{total[key]:,}" for key in COLUMNS), f"{max(slowest.values()):.1f}"])
    head = ["estimator", "fits", "reached tol", "false proofs", "worse than null", "silent misses", "errors"]
    return page.table([*head, "slowest, s, with CVXPY"], lines)


if __name__ == "__main__":
    page.show(__file__, "faults.md", text)
