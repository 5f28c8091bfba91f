"""Tables in Markdown, and their place in the docs."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show(script: str, page: str, text: Callable[[], str]) -> None:
    """Make a script's text; with ``--print`` on the command line print it, else put it where the page wants it."""
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


def named() -> list[str]:
    """What stands on the command line beside options."""
    return [argument for argument in sys.argv[1:] if not argument.startswith("-")]
