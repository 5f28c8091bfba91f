"""The table of README.md: some figures of the tables that other benchmarks wrote into the docs.

python benchmarks/readme.py
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

import page

README = page.DOCS.parent / "README.md"
BEGIN, END = "<!-- benchmarks/readme.py: begin -->", "<!-- benchmarks/readme.py: end -->"
SHAPES = {  # the problem in docs/benchmarks.md: its name in README
    "chain 100,000": "total variation of a signal, 100,000 points",
    "grid 256": "total variation of an image, 256 x 256",
    "trend 10,000, weak": "piecewise linear trend, 10,000 points",
    "genes 200 x 2,000, logistic": "200 x 2,000 with a graph, logistic",
    "overlapping groups 2,000 x 1,000": "overlapping groups, 2,000 x 1,000",
    "words 15,935 x 62,061, logistic": "words, 15,935 x 62,061 sparse with a chain, logistic",
    "many rows 465,000 x 54, hinge": "465,000 x 54 with a graph, hinge",
}
PEERS = {"lbfgs": "`LogisticRegression` without the chain", "rehline": "ReHLine"}

ASKED = "https://github.com/scikit-learn/scikit-learn/issues/22922"


class Cell(NamedTuple):
    """A figure of docs/benchmarks.md: the script of its table, the first cells of its row, and its column."""

    script: str
    row: tuple[str, ...]
    column: str


OTHERS: dict[str, tuple[Cell, dict[str, Cell]]] = {
    "graph-guided SVM, a9a, 48,842 x 123": (
        Cell("rehline_peer", ("a9a", "48,842 x 123", 'solver="auto", proved'), "seconds to 0.1 %"),
        {
            "ReHLine": Cell("rehline_peer", ("a9a", "48,842 x 123", "ReHLine"), "seconds to 0.1 %"),
            "Clarabel": Cell("peers", ("a9a", "48,842 x 123", "CVXPY, Clarabel"), "seconds to 0.1 %"),
        },
    ),
    "the same, w8a, 64,700 x 300": (
        Cell("rehline_peer", ("w8a", "64,700 x 300", 'solver="auto", proved'), "seconds to 0.1 %"),
        {"ReHLine": Cell("rehline_peer", ("w8a", "64,700 x 300", "ReHLine"), "seconds to 0.1 %")},
    ),
    "Poisson ridge, 163,212 x 917 one-hot": (
        Cell("glm", ("ridge", "ours, tol=1e-06"), "s"),
        {"glum": Cell("glm", ("ridge", "glum, categorical columns"), "s")},
    ),
    "the same with fused levels": (
        Cell("glm", ("ridge, fused levels", "ours, alpha=0.0001, tol=1e-06"), "s"),
        {"glum": Cell("", (), "not supported")},
    ),
    "quantile regression, 2,900,000 x 20, CPU s": (
        Cell("quantile", ("2,900,000 x 20",), "ours, CPU s"),
        {"`QuantileRegressor`": Cell("", (), f"asks for 61.6 TiB ([scikit-learn#22922]({ASKED}))")},
    ),
    "20 strengths x 5 folds, 11,055 x 68, logistic": (
        Cell("paths", ("`GraphGuidedClassifierCV(loss='logistic')`",), "s"),
        {"`LogisticRegressionCV` without the chain": Cell("paths", ("`LogisticRegressionCV`",), "s")},
    ),
    "lasso path, 50 strengths, 200 x 3,000": (
        Cell("paths", ("adasadmm `path`, tol=1e-3",), "s"),
        {"`lasso_path`": Cell("paths", ("scikit-learn `lasso_path`, tol=1e-3",), "s")},
    ),
}


def lines_of(benchmarks: str, script: str) -> list[list[str]]:
    """The lines of all tables of a script, as cells."""
    begin, end = f"<!-- benchmarks/{script}.py: begin -->", f"<!-- benchmarks/{script}.py: end -->"
    part = benchmarks.partition(begin)[2].partition(end)[0]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in part.splitlines() if line[:1] == "|"]


def figure(benchmarks: str, cell: Cell) -> str:
    """A figure with two digits, or the column where there is no script: a word such as "not supported"."""
    if not cell.script:
        return cell.column
    head: list[str] = []
    for line in lines_of(benchmarks, cell.script):
        if cell.column in line:
            head = line
        if tuple(line[: len(cell.row)]) == cell.row and cell.column in head:
            return two_digits(line[head.index(cell.column)])
    raise KeyError(f"docs/benchmarks.md has no {cell}")


def two_digits(text: str) -> str:
    """The first figure of a cell such as ``0.0145 / 0.0145``."""
    text = text.split(" / ")[0]
    try:
        value = float(text)
    except ValueError:
        return text
    return f"{value:.0f}" if value >= 10 else f"{value:#.2g}".rstrip(".")


def excerpt(benchmarks: str) -> str:
    """The table, from the text of docs/benchmarks.md and the page on quantile regression."""
    benchmarks += (page.DOCS / "guide" / "quantile_regression.md").read_text()
    found = {line[0]: line for line in lines_of(benchmarks, "shapes")}
    rows = []
    for problem, said in SHAPES.items():
        _, ours, clarabel, _, *others = found[problem]
        peers = {"Clarabel": two_digits(clarabel)}
        for other in filter(None, others):
            name, _, seconds = other.partition(" ")
            peers[PEERS.get(name, name)] = two_digits(seconds)
        rows.append(row(said, two_digits(ours), peers, "shapes"))
    for said, (ours, others) in OTHERS.items():
        peers = {name: figure(benchmarks, cell) for name, cell in others.items()}
        rows.append(row(said, figure(benchmarks, ours), peers, ours.script))
    return page.table(["problem", "adasadmm, proved", "others", "measured by"], rows)


def row(said: str, ours: str, peers: dict[str, str], script: str) -> list[str]:
    """A line of the table; the least time is set in bold."""
    times = {name: float(text) for name, text in peers.items() if re.fullmatch(r"[\d.]+", text)}
    best = min([float(ours), *times.values()])
    shown = [f"{name} **{text}**" if times.get(name) == best else f"{name} {text}" for name, text in peers.items()]
    return [said, f"**{ours}**" if float(ours) == best else ours, ", ".join(shown), f"`{script}.py`"]


def with_table(readme: str, benchmarks: str) -> str:
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n{excerpt(benchmarks)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    text = with_table(README.read_text(), (page.DOCS / "benchmarks.md").read_text())
    if "--print" in sys.argv:
        print(text)
    else:
        README.write_text(text)
