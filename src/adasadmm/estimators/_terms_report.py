"""Fitted terms as tables and text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from ..losses import has_log_link
from ..terms._factors import Factor
from ..terms._numbers import Numbers
from . import _fitting

__all__ = ["describe_terms", "groups_of", "table_of"]


def groups_of(block: Factor, coef: np.ndarray, exactly: bool) -> np.ndarray:
    """The group of each level: levels that are joined by edges and have the same coefficient share a number."""
    return _fitting.fused_groups(block.coefficients(coef), block.edges, exactly)


def table_of(model: Any) -> Any:
    """The coefficients level by level, as a frame of the library of the table that was fitted."""
    coefs = np.atleast_2d(model._dense_coef())
    exactly, log_link = getattr(model, "_fused_exactly", False), has_log_link(_fitting.as_loss(model.loss))
    parts: list[dict[str, list]] = []
    for k, coef in enumerate(coefs):
        for block, place in model._design.placed():
            rows = _rows_of(block, coef[place], exactly)
            if len(coefs) > 1:
                rows = {"class": [str(model.classes_[k])] * len(rows["level"])} | rows
            parts.append(rows)
    columns = {name: [value for part in parts for value in part[name]] for name in parts[0]}
    if log_link:
        names = list(columns)
        after = names.index("coefficient") + 1
        relativity = {"relativity": [float(np.exp(value)) for value in columns["coefficient"]]}
        columns = (
            {name: columns[name] for name in names[:after]}
            | relativity
            | {name: columns[name] for name in names[after:]}
        )
    return nw.from_dict(columns, backend=model._library).to_native()


def _rows_of(block: Factor | Numbers, coef: np.ndarray, exactly: bool) -> dict[str, list]:
    """The columns of the table for one term."""
    if isinstance(block, Factor):
        levels, values = block.levels, block.coefficients(coef)
        groups, rows, exposure = groups_of(block, coef, exactly), block.counts.rows, block.counts.exposure
    else:
        levels, values = block.names, coef
        groups, rows, exposure = np.arange(len(coef)), block.known, np.full(len(coef), np.nan)
    return {
        "term": [block.name] * len(levels),
        "level": [str(level) for level in levels],
        "group": [int(group) for group in groups],
        "coefficient": [float(value) + 0.0 for value in values],  # no -0.0
        "rows": [int(count) for count in rows],
        "exposure": [float(sum_) for sum_ in exposure],
    }


def describe_terms(model: Any) -> Iterator[str]:
    """A line for each term."""
    coefs = np.atleast_2d(model._dense_coef())
    groups = model.groups_
    for block, place in model._design.placed():
        own = coefs[:, place]
        if isinstance(block, Factor):
            counts = [len(np.unique(labels)) for labels in np.atleast_2d(groups[block.name])]
            fused = (
                f"{counts[0]} group{'s' if counts[0] > 1 else ''}"
                if len(counts) == 1
                else f"{min(counts)} to {max(counts)} groups"
            )
            values = np.append(own, 0.0)
            text = f"{len(block.levels)} levels in {fused}, coefficients from {values.min():.3g} to {values.max():.3g}"
        else:
            used = int((own != 0.0).any(axis=0).sum())
            text = f"{block.width} column{'s' if block.width > 1 else ''}, {used} non-zero"
        yield f"  {block.name} ({block.kind}): {text}"
