"""Markdown tables, their insertion into the docs, the data of case studies, and packages that may be missing."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOT_INSTALLED = "not installed"
PEERS = ("cvxpy", "glum", "nibabel", "nilearn", "statsmodels")
ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show(script: str, page: str, text: Callable[[], str]) -> None:
    """Compute the text of a script, and print it (with ``--print``) or insert it between its marks in the page."""
    name = Path(script).name
    content = f"`python benchmarks/{name}`, {datetime.date.today()}, {os.cpu_count()} cores.\n\n{text()}"
    if "--print" in sys.argv:
        print(content)
        return
    begin, end = f"<!-- benchmarks/{name}: begin -->", f"<!-- benchmarks/{name}: end -->"
    path = DOCS / page
    before, rest = path.read_text().split(begin)
    _, after = rest.split(end)
    path.write_text(f"{before}{begin}\n{content}\n{end}{after}")


def attempted(compute: Callable[..., Any], *arguments: Any) -> Any:
    """The value of a function, or "not installed" if it needs a package to compare with that is missing."""
    try:
        return compute(*arguments)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PEERS:
            raise
        print(f"{package} is {NOT_INSTALLED}: pip install 'adasadmm[bench,peers]'", file=sys.stderr, flush=True)
        return NOT_INSTALLED


def case(name: str) -> Any:
    """The tables of a case study, with their origin: see `fetch_case` of examples/casedata.py."""
    sys.path.append(str(ROOT / "examples"))
    from casedata import fetch_case

    return fetch_case(name)


def named() -> list[str]:
    """The command-line arguments that are not options."""
    return [argument for argument in sys.argv[1:] if not argument.startswith("-")]
