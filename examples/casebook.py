"""Shared by the case studies: the command line, the table that they print, and the figures that they store.

A case study is a script ``case_NAME.py`` with a function that takes what `casedata.fetch_case` returns and returns an
`Outcome`. It ends with ``casebook.main("NAME", study)`` and is run by

.. code-block:: console

    python examples/case_NAME.py            # print the figures
    python examples/case_NAME.py --json     # the same as JSON
    python examples/case_NAME.py --store    # also write docs/cases/results/NAME.json and the pictures, NAME*.png

``python docs/_ext/results.py`` writes the stored figures into the pages of docs/cases. Where a package to compare with
is missing, its figures are "not installed" (`attempted`), and nothing is stored.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import casedata

import adasadmm
from adasadmm.datasets import DatasetError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "cases" / "results"

sys.path.insert(0, str(ROOT / "benchmarks"))  # from which some of the case studies take their tables
from page import NOT_INSTALLED, attempted  # noqa: E402


@dataclass
class Outcome:
    """The outcome of a case study.

    Attributes
    ----------
    facts : dict of str to number or text
        Single figures by name: results, baselines and published values that the page cites.
    tables : dict of str to list of dict
        Tables by name; a row maps the heads of the columns to cells. The table ``"main"`` has the figure of the case
        beside those of the baselines.
    figures : dict of str to Figure
        Pictures by name; ``""`` is stored as ``NAME.png``, ``"map"`` as ``NAME_map.png``.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)


def main(name: str, study: Callable[[casedata.Case], Outcome]) -> None:
    """Run a case study from the command line."""
    parser = argparse.ArgumentParser(
        description=(sys.modules[study.__module__].__doc__ or name).strip().splitlines()[0]
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--store", action="store_true", help="write figures and pictures to docs/cases/results")
    options = parser.parse_args()
    try:
        case = casedata.fetch_case(name)
    except (DatasetError, ImportError) as error:
        raise SystemExit(
            f"case_{name}.py needs its data: {error}\ndocs/datasets.md says where they come from."
        ) from None
    begin = time.perf_counter()
    outcome = study(case)
    found = _record(name, case, outcome, time.perf_counter() - begin)
    if options.store:
        if f'"{NOT_INSTALLED}"' in json.dumps(found):
            raise SystemExit(f"nothing is stored, because packages to compare with are {NOT_INSTALLED}; see above")
        _store(name, found, outcome.figures)
    print(json.dumps(found, indent=1) if options.json else _text(found))


def _record(name: str, case: casedata.Case, outcome: Outcome, seconds: float) -> dict[str, Any]:
    return {
        "case": name,
        "command": f"python examples/case_{name}.py",
        "date": str(datetime.date.today()),
        "version": adasadmm.__version__,
        "cores": os.cpu_count(),
        "seconds": round(seconds, 1),
        "description": case.description,
        "source": case.source,
        "citation": case.citation,
        "licence": case.licence,
        "facts": {key: _plain(value) for key, value in outcome.facts.items()},
        "tables": {
            key: [{head: _plain(cell) for head, cell in row.items()} for row in rows]
            for key, rows in outcome.tables.items()
        },
        "pictures": [_picture(name, key) for key in outcome.figures],
    }


def _plain(value: Any) -> Any:
    """Turn numbers of NumPy into those of Python, rounded to eight digits: the rest is noise of the machine."""
    value = value.item() if hasattr(value, "item") else value
    return float(f"{value:.8g}") if isinstance(value, float) else value


def _picture(name: str, key: str) -> str:
    return f"{name}_{key}.png" if key else f"{name}.png"


def _store(name: str, found: dict[str, Any], figures: dict[str, Figure]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for key, figure in figures.items():
        figure.savefig(RESULTS / _picture(name, key), dpi=100, metadata={"Software": None})
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _text(found: dict[str, Any]) -> str:
    parts = [found["description"]]
    for rows in found["tables"].values():
        lines = [list(rows[0]), *([_cell(cell) for cell in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        parts.append("\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines))
    parts.append("\n".join(f"{key}: {_cell(value)}" for key, value in found["facts"].items()))
    parts.append(f"{found['command']}: {found['seconds']:g} s")
    return "\n\n".join(part for part in parts if part)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)


def facts_of(compute: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """The facts that a function finds with another package; if that is missing, a fact that says so."""
    found = attempted(compute, *arguments)
    return {compute.__name__: found} if found == NOT_INSTALLED else found


def progress(message: str) -> None:
    """Say on standard error what is being done, so that standard output holds the result alone."""
    print(message, file=sys.stderr, flush=True)


def new_figure(rows: int = 1, columns: int = 1, size: tuple[float, float] = (9.0, 4.5), **options: Any) -> tuple:
    """Return a figure and its axes in the style of the site: raster, small, readable on a phone."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    style = {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "legend.frameon": False,
    }
    plt.rcParams.update(style | {"font.size": 10})
    return plt.subplots(rows, columns, figsize=size, layout="constrained", **options)


def rows_of(text: str) -> list[list[dict[str, Any]]]:
    """Read the markdown tables of a text, such as that of a benchmark, as lists of rows."""
    tables: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            tables[-1].append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif tables[-1]:
            tables.append([])
    return [
        [dict(zip(head, map(_number, row), strict=True)) for row in rows] for head, _, *rows in filter(None, tables)
    ]


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell or None
