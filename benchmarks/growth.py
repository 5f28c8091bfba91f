"""Seconds of the default fit as problems grow: chains, grids, genes, with the exponent of the growth.

    python benchmarks/growth.py                    # sizes up to the time limit
    python benchmarks/growth.py grid --limit 120 --print

Each size is a process of its own, and the time is that of the second fit with tol = 1e-3. A kind of problem ends at the
first size that takes longer than the limit. The exponent is the slope of the last three points in the picture.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import page
from limited import in_time
from shapes import second_fit
from shapes_problems import chain, genes, grid

PICTURE = Path(__file__).parents[1] / "docs" / "growth.png"
KINDS = {
    "chain": ("points", lambda n: chain(n), (1_000, 10_000, 100_000, 1_000_000)),
    "grid": ("pixels a side", lambda side: grid(side), (32, 64, 128, 256, 512)),
    "genes": ("features, 200 rows", lambda d: genes(200, d, "logistic"), (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], help="chain, grid, genes; all by default")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one fit")
    parser.add_argument("--print", action="store_true", help="the table goes to the terminal, not to the docs")
    return parser.parse_args()


def times(kind: str, limit: float) -> list[tuple[int, int, float]]:
    """Size, number of coefficients and seconds."""
    _, make, sizes = KINDS[kind]
    found = []
    for size in sizes:
        shape = make(size)
        answer, _ = in_time(second_fit, shape, 1e-3, limit=2.0 * limit)
        print(f"{kind} {size}: {None if answer is None else answer[1]}", file=sys.stderr)
        if answer is None:
            break
        found.append((size, shape.X.shape[1], answer[1]))
    return found


def exponent(found: list[tuple[int, int, float]]) -> float:
    if len(found) < 2:
        return float("nan")
    d, seconds = np.log([row[1:] for row in found[-3:]]).T
    return float(np.polyfit(d, seconds, 1)[0])


def draw(all_found: dict[str, list[tuple[int, int, float]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
    for kind, found in all_found.items():
        if found:
            _, d, seconds = zip(*found, strict=True)
            axes.loglog(d, seconds, marker="o", label=f"{kind}, exponent {exponent(found):.2f}")
    axes.set(xlabel="coefficients", ylabel="seconds of a fit, tol = 1e-3")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(PICTURE, dpi=120)


def text() -> str:
    options = arguments()
    found = {kind: times(kind, options.limit) for kind in options.kinds or KINDS}
    lines = [
        [kind, f"{size:,} {KINDS[kind][0]}", f"{d:,}", f"{seconds:.3g}", f"{exponent(rows):.2f}" if last else ""]
        for kind, rows in found.items()
        for last, (size, d, seconds) in ((row is rows[-1], row) for row in rows)
    ]
    table = page.table(["problem", "size", "coefficients", "seconds", "exponent"], lines)
    if options.print:
        return table
    draw(found)
    return f"{table}\n\n![Seconds of a fit over the number of coefficients]({PICTURE.name})"


if __name__ == "__main__":
    page.show(__file__, "benchmarks.md", text)
