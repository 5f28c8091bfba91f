"""The page of a study: one HTML file that loads nothing from the network."""

from __future__ import annotations

import importlib.resources
import math
import pathlib
from typing import Any

import numpy as np

from ..._core.files import write_whole
from .compare import conclusion, optimum, rows, spell
from .drawing import draw
from .figure import DARK, LIGHT, Curve, curves, horizon
from .study import Study

__all__ = ["write_page"]

MARKS = {"holds": "✓", "partly": "◐", "fails": "✗", "open": "?"}


def write_page(study: Study, path: str | pathlib.Path) -> None:
    """Write the page: claims, curves, table, graphs and settings in one file."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        package = str(error.name).split(".")[0]
        raise ImportError(f'the page needs {package}: pip install "adasadmm[report]"') from None
    jinja = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = jinja.from_string(_part("page.html.jinja")).render(
        study=study,
        style=Markup(_part("page.css")),
        script=Markup(_part("page.js")),
        plotly=Markup(get_plotlyjs()),
        data=_data(study),
        colours={"light": LIGHT, "dark": DARK},
        marks=MARKS,
        conclusion=conclusion(study),
        blocks=[_block(study, dataset) for dataset in study.datasets],
        loose_notes={name: note for name, note in study.notes.items() if name not in study.datasets},
        drawings=[draw(graph) for graph in study.graphs],
    )
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


def _part(name: str) -> str:
    return (importlib.resources.files(__package__) / name).read_text(encoding="utf-8")


def _block(study: Study, dataset: str) -> dict[str, Any]:
    """Return the table of a data set."""
    parts = [("papers", rows(study, dataset, study.papers)), ("extras", rows(study, dataset, study.extras))]
    return {
        "dataset": dataset,
        "optimum": spell("objective", optimum(study, dataset)),
        "parts": [(kind, lines) for kind, lines in parts if lines],
        "note": study.notes.get(dataset, ""),
    }


def _data(study: Study) -> dict[str, Any]:
    """Return the data that the script of the page draws."""
    names = list(study.algorithms)
    return {
        "algorithms": [
            {"name": name, "label": study.algorithms[name], "extra": name not in study.papers} for name in names
        ],
        "datasets": [_curves_of(study, dataset) for dataset in study.datasets],
    }


def _curves_of(study: Study, dataset: str) -> dict[str, Any]:
    drawn = curves(study, dataset)
    return {
        "name": dataset,
        "optimum": optimum(study, dataset),
        "horizon": horizon(study, drawn),
        "curves": {name: _numbers(curve) for name, curve in drawn.items()},
    }


def _numbers(curve: Curve) -> dict[str, Any]:
    found: dict[str, Any] = {"epoch": _short(curve.epoch), "seconds": _short(curve.mean["seconds"])}
    for name in ("objective", "test_error"):
        found[name] = {part: _short(getattr(curve, part)[name]) for part in ("mean", "low", "high")}
    return found


def _short(values: np.ndarray) -> list[float | None]:
    """Round to six digits, more than a screen shows; values that are not finite become None, since JSON lacks them."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values.tolist()]
