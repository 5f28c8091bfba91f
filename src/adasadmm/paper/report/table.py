"""The paper's Table 2 beside ours, in Markdown."""

from __future__ import annotations

import re

from .compare import DASH, Row, conclusion, optimum, rows, spell
from .study import Claim, Study

__all__ = ["table"]

COLUMNS = (
    "algorithm",
    "objective",
    "paper",
    "difference",
    "test error",
    "paper",
    "difference",
    "seconds",
    "paper",
    "ratio",
)


def table(study: Study) -> str:
    """Return the text of ``table.md``: figures, claims, settings, failures, notes, and how it was run."""
    parts = [
        "# The paper's Table 2 and ours",
        conclusion(study),
        f"Means over seeds ± one standard deviation. {DASH}: no figure.",
        *(_block(study, dataset) for dataset in study.datasets),
        _section("Claims", [_claim(number, claim) for number, claim in enumerate(study.claims, 1)]),
        _settings(study),
        _section("Failures", [_failures(study)] if study.failures else []),
        _section("Notes", _list({name: text for name, text in study.notes.items() if text})),
        _section("About", _list(study.about)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(study: Study, dataset: str) -> str:
    least = optimum(study, dataset)
    ours = [f"## {_plain(dataset)}", f"Optimum of the problem: {spell('objective', least)}"]
    ours.append(_grid(COLUMNS, [_cells(row) for row in rows(study, dataset, study.papers)]))
    extras = rows(study, dataset, study.extras)
    if extras:
        ours += ["Not in the paper:", _grid(COLUMNS, [_cells(row) for row in extras])]
    return "\n\n".join(ours)


def _cells(row: Row) -> list[str]:
    figures = [text for figure in row.figures for text in (figure.ours_text, figure.paper_text, figure.difference_text)]
    return [row.label, *figures]


def _claim(number: int, claim: Claim) -> str:
    lines = [f"{number}. {_plain(claim.text)} **{_plain(claim.verdict)}**", ""]
    for dataset, holds in claim.holds.items():
        evidence = claim.evidence.get(dataset, "")
        lines.append(f"   - {'yes' if holds else 'no'}, {_plain(dataset)}: {_plain(evidence)}".rstrip(": "))
    return "\n".join(lines).rstrip()


def _settings(study: Study) -> str:
    lines = [list(setting) for setting in study.settings]
    return _section("Settings", [_grid(("setting", "value", "why"), lines, figures=False)] if lines else [])


def _failures(study: Study) -> str:
    lines = [
        [one.dataset, one.algorithm, str(one.seed) if one.seed >= 0 else "all", one.message] for one in study.failures
    ]
    return _grid(("data set", "algorithm", "seed", "error"), lines, figures=False)


def _list(pairs: dict[str, str]) -> list[str]:
    return ["\n".join(f"- {_plain(name)}: {_plain(text)}" for name, text in pairs.items())] if pairs else []


def _section(title: str, parts: list[str]) -> str:
    return "\n\n".join([f"## {title}", *parts]) if parts else ""


def _grid(header: tuple[str, ...], lines: list[list[str]], figures: bool = True) -> str:
    """Return a Markdown table whose columns are aligned in the raw text; figures are right-aligned."""
    cells = [list(header), *([_plain(text) for text in line] for line in lines)]
    widths = [max(3, *(len(line[k]) for line in cells)) for k in range(len(header))]
    right = [figures and k > 0 for k in range(len(header))]
    rule = ["-" * (width - 1) + ":" if to_right else "-" * width for width, to_right in zip(widths, right, strict=True)]
    return "\n".join(
        "| "
        + " | ".join(text.rjust(w) if r else text.ljust(w) for text, w, r in zip(line, widths, right, strict=True))
        + " |"
        for line in [cells[0], rule, *cells[1:]]
    )


def _plain(text: str) -> str:
    """Escape text for a Markdown table: one line, no cell separators, tags or links."""
    text = re.sub(r"([\\|*`])", r"\\\1", " ".join(str(text).split()))
    return text.replace("<", "&lt;").replace("](", "]\\(")
