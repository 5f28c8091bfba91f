"""Every shape: the estimator's second fit beside CVXPY with Clarabel and the packages made for that shape.

    python benchmarks/shapes.py                        # rows that take minutes
    python benchmarks/shapes.py --slow --limit 300     # all rows
    python benchmarks/shapes.py "grid 64" chain --print --json shapes.json

A word chooses the rows that begin with it. Ours is the second ``fit`` with ``tol`` equal to the accuracy, so it ends
with a certificate. A peer's time is that of its solve alone, at the loosest of several tolerances whose answer is
within the accuracy of the optimum, which its user cannot know. The optimum is the lowest objective that anyone found.
Short calls of any solver are repeated, and the median of five counts. Every call has a process of its own and a time
limit. LogisticRegression has no graph: its accuracy is not compared.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import page
import shapes_peers as peers
from limited import in_time
from shapes_problems import ROWS, Row, Shape

ACCURACIES = (1e-3, 1e-6)


class Found(NamedTuple):
    """The result of a solver at a tolerance."""

    tol: float
    objective: float
    seconds: float


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="the rows that begin with one of these words")
    parser.add_argument("--slow", action="store_true", help="also the rows that take long")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one call of any solver")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--list", action="store_true", help="only list the rows")
    parser.add_argument("--print", action="store_true", help="the table goes to the terminal, not to the docs")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> dict[str, Row]:
    if options.rows:
        return {name: row for name, row in ROWS.items() if any(name.startswith(word) for word in options.rows)}
    return {name: row for name, row in ROWS.items() if options.slow or not row.slow}


def second_fit(shape: Shape, tol: float) -> tuple[np.ndarray, float]:
    warnings.simplefilter("ignore")
    model = shape.estimator(tol)
    model.fit(*shape.data)  # compiles, and fills caches
    _, seconds = peers.timed(lambda: model.fit(*shape.data))
    return np.ravel(model.coef_), seconds


def ours(shape: Shape, limit: float) -> list[Found]:
    problem, found = shape.problem(), []
    for tol in ACCURACIES:
        answer, _ = in_time(second_fit, shape, tol, limit=2.0 * limit)
        if answer is not None:
            found.append(Found(tol, problem.objective(answer[0]), answer[1]))
    return found


def theirs(name: str, shape: Shape, limit: float, best: float) -> list[Found] | None:
    """None if the package is not installed. Ends once the finest accuracy is reached; ``best`` is our objective."""
    if not peers.installed(name):
        return None
    problem, find, found = shape.problem(), peers.peer(name, shape), []
    for tol in peers.TOLERANCES[name]:
        answer, seconds = in_time(find, tol, limit=limit)
        if answer is None and seconds >= limit:
            break
        if answer is not None and answer[0] is not None:
            found.append(Found(tol, problem.objective(answer[0]), answer[1]))
            if found[-1].objective <= best + 0.5 * ACCURACIES[-1] * abs(best):
                break
    return found


def seconds_to(found: list[Found], accuracy: float, optimum: float) -> float:
    """Seconds at the loosest tolerance that reaches the accuracy."""
    good = [one.seconds for one in found if one.objective <= optimum + accuracy * abs(optimum)]
    return min(good, default=math.inf)


def measured(name: str, row: Row, limit: float) -> dict[str, Any]:
    shape = row.make()
    own = ours(shape, limit)
    found: dict[str, list[Found] | None] = {"ours": own}
    for peer in ("Clarabel", *row.peers):
        found[peer] = theirs(peer, shape, limit, min((one.objective for one in own), default=-math.inf))
        print(f"{name}, {peer}: {found[peer]}", file=sys.stderr)
    optimum = min((one.objective for each in found.values() for one in each or ()), default=math.inf)
    seconds = {
        who: None if each is None else [seconds_to(each, accuracy, optimum) for accuracy in ACCURACIES]
        for who, each in found.items()
    }
    if found.get("lbfgs"):
        seconds["lbfgs"] = [found["lbfgs"][-1].seconds] * len(ACCURACIES)  # type: ignore[index]
    return {"row": name, "optimum": optimum, "seconds": seconds, "found": found}


def cells(result: dict[str, Any]) -> list[str]:
    def cell(number: float) -> str:
        return "not reached" if math.isinf(number) else f"{number:.3g}"

    own, clarabel = result["seconds"]["ours"], result["seconds"]["Clarabel"]
    shown = [" / ".join(map(cell, own)), "not installed" if clarabel is None else " / ".join(map(cell, clarabel))]
    ratios = [
        "-" if math.isinf(mine) or math.isinf(other) else f"{other / mine:.3g}"
        for mine, other in zip(own, clarabel or (), strict=False)
    ]
    others = [
        f"{name} {'not installed' if times is None else ' / '.join(map(cell, times))}"
        for name, times in result["seconds"].items()
        if name not in ("ours", "Clarabel")
    ]
    return [result["row"], *shown, " / ".join(ratios), "; ".join(others)]


def text() -> str:
    options = arguments()
    results = [measured(name, row, options.limit) for name, row in chosen(options).items()]
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))
    head = ["problem", "ours, s to 1e-3 / 1e-6", "Clarabel, s", "Clarabel / ours", "others, s"]
    return page.table(head, [cells(result) for result in results])


if __name__ == "__main__":
    if arguments().list:
        print("\n".join(ROWS))
    else:
        page.show(__file__, "benchmarks.md", text)
