"""Random problems of every kind, by each solver over rows in memory, compared with CVXPY.

    python benchmarks/fuzz_cvxpy.py [count, 200 by default] [--first 0] [--largest 400] [--solvers ALM,ADMM] [--json F]

A fault is an objective above CVXPY's by more than tol although the run says that it converged, a dual value above a
known objective, a warning, or an exception. A run that ends without having converged is counted, and no fault.

The last line is of the estimators, with solver="auto" and tol=1e-6, on the product of losses, l1_ratio and constraints,
with and without offset, weights and intercept (--models of them). There, missing tol or a constraint is also a fault.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from pathlib import Path

import page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from random_models import COUNT, faults, random_model
from random_problems import by_cvxpy, judged, random_case

import adasadmm

SOLVERS = [name for name in ("ALM", "ADMM", "IPM") if hasattr(adasadmm, name)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem: another seed")
    parser.add_argument("--largest", type=int, default=400, help="rows and features at the most")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--models", type=int, default=COUNT, help="fits of estimators")
    parser.add_argument("--json", help="file for all verdicts")
    parser.add_argument("--print", action="store_true", help="the table goes to the terminal, not to the docs")
    return parser.parse_args()


def verdicts(options: argparse.Namespace) -> list[dict]:
    found = []
    for number in range(options.first, options.first + options.count):
        case = random_case(number, options.largest)
        start = time.perf_counter()
        reference = by_cvxpy(case)
        theirs = time.perf_counter() - start
        for name in options.solvers.split(","):
            about = {"case": case.name, "solver": name, "cvxpy_seconds": theirs}
            try:
                verdict = judged(case, getattr(adasadmm, name)(), reference)
                about |= verdict._asdict()
                faults = [fault for fault in (verdict.wrong, verdict.lies, *verdict.said) if fault]
            except Exception as error:  # the next problem may tell more
                about |= {"status": "error", "seconds": 0.0}
                faults = [repr(error)]
            for fault in faults:
                print(f"{case.name}, {name}: {fault}", file=sys.stderr)
            found.append(about | {"faults": faults})
    return found


def of_estimators(options: argparse.Namespace) -> list[str]:
    """The line of the table for the estimators."""
    converged, faulty, slowest = 0, 0, 0.0
    for number in range(options.first, options.first + options.models):
        case, found = random_model(number, options.largest), []
        start = time.perf_counter()
        try:
            found = faults(case)
            converged += case.model.dual_gap_ <= case.model.tol
        except Exception as error:  # the next model may tell more
            found = [f"{case.name}: {error!r}"]
        slowest, faulty = max(slowest, time.perf_counter() - start), faulty + bool(found)
        for fault in found:
            print(fault, file=sys.stderr)
    counts = options.models, converged, options.models - converged, faulty
    return ["estimators", *map(str, counts), f"{slowest:.2f}, with CVXPY"]


def text() -> str:
    options = arguments()
    found = verdicts(options)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1, default=float))
    lines = []
    for name in options.solvers.split(","):
        own = [one for one in found if one["solver"] == name]
        status = collections.Counter(one["status"] for one in own)
        faulty = sum(bool(one["faults"]) for one in own)
        slowest = max((one["seconds"] for one in own), default=0.0)
        lines.append(
            [name, *(str(k) for k in (len(own), status["converged"], status["done"], faulty)), f"{slowest:.2f}"]
        )
    if options.models:
        lines.append(of_estimators(options))
    head = ["solver", "problems", "converged", "not converged", "with a fault", "slowest, s"]
    return page.table(head, lines)


if __name__ == "__main__":
    page.show(__file__, "faults.md", text)
