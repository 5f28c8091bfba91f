"""The table of README.md: some lines of the table that `benchmarks/peers.py` wrote into docs/benchmarks.md.

python benchmarks/readme.py
"""

from __future__ import annotations

import re
import sys

import page

README = page.DOCS.parent / "README.md"
BEGIN, END = "<!-- benchmarks/readme.py: begin -->", "<!-- benchmarks/readme.py: end -->"
DATA = {"a9a": "a9a", "likeness": "generated, similar to covtype"}  # the name there: the name in README
SOLVERS = {  # the name there: the name in README
    'solver="auto", proved': '`GraphGuidedClassifier`, `solver="auto"`: with a certificate',
    "Ada-SADMM, diagonal, oracle stop": "Ada-SADMM, diagonal, no step size to tune, oracle stop",
    "CVXPY, Clarabel": "CVXPY, Clarabel",
    "CVXPY, OSQP": "CVXPY, OSQP",
    "CVXPY, SCS": "CVXPY, SCS",
    "admm": "admm (the package on PyPI)",
    "copt": "copt, oracle stop",
}


def excerpt(benchmarks: str) -> str:
    """The table with its heading, from the text of docs/benchmarks.md."""
    part = benchmarks.partition("<!-- benchmarks/peers.py: begin -->")[2].partition("<!-- benchmarks/peers.py: end")[0]
    command = re.search(r"`python benchmarks/peers.py.*", part)
    lines = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in part.splitlines() if line.startswith("|")
    ]
    assert command is not None
    shapes = {data: shape for data, shape, *_ in lines}
    found = {(data, solver): ", ".join(cells).replace("inf", "-") for data, _, solver, *cells in lines}
    head = ["solver", *(f"{said}, {shapes[data]}" for data, said in DATA.items() if data in shapes)]
    rows = [
        [said, *(found[data, solver] for data in DATA if data in shapes)]
        for solver, said in SOLVERS.items()
        if (next(iter(DATA)), solver) in found
    ]
    return f"{command[0]}\n\n{page.table(head, rows)}"


def with_table(readme: str, benchmarks: str) -> str:
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n{excerpt(benchmarks)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    text = with_table(README.read_text(), (page.DOCS / "benchmarks.md").read_text())
    if "--print" in sys.argv:
        print(text)
    else:
        README.write_text(text)
