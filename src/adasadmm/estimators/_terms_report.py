"""Fitted terms as tables and text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from ..losses import has_log_link
from ..terms.term import Block
from . import _fitting

__all__ = ["describe_terms", "groups_of", "table_of"]


def groups_of(model: Any, block: Block, place: slice) -> np.ndarray:
    """The groups of a term's labels, a row for each linear function: fused labels share a number."""
    exactly = getattr(model, "_fused_exactly", False)
    coefs, edges = np.atleast_2d(model._dense_coef())[:, place], block.labels().edges
    return np.array([_fitting.fused_groups(block.coefficients(coef), edges, exactly) for coef in coefs])


def table_of(model: Any) -> Any:
    """The coefficients level by level, as a frame of the library of the table that was fitted."""
    coefs = np.atleast_2d(model._dense_coef())
    placed = [(block, place, groups_of(model, block, place)) for block, place in model._design.placed()]
    columns: dict[str, list] = {"class": []} if len(coefs) > 1 else {}
    columns |= {name: [] for name in ("term", "level", "group", "coefficient")}
    columns |= {"relativity": []} if has_log_link(_fitting.as_loss(model.loss)) else {}
    columns |= {name: [] for name in ("rows", "exposure")}
    for k, coef in enumerate(coefs):
        for block, place, groups in placed:
            labels, values = block.labels(), block.coefficients(coef[place]) + 0.0  # no -0.0
            rows = {
                "class": [str(model.classes_[k])] * len(values) if len(coefs) > 1 else [],
                "term": [block.name] * len(values),
                "level": map(str, labels.names),
                "group": map(int, groups[k]),
                "coefficient": map(float, values),
                "relativity": map(float, np.exp(values)),
                "rows": map(int, labels.rows),
                "exposure": map(float, labels.exposure),
            }
            for name, column in columns.items():
                column.extend(rows[name])
    return nw.from_dict(columns, backend=model._library).to_native()


def describe_terms(model: Any) -> Iterator[str]:
    """A line for each term."""
    coefs = np.atleast_2d(model._dense_coef())
    for block, place in model._design.placed():
        yield f"  {block.name} ({block.kind}): {block.describe(coefs[:, place], groups_of(model, block, place))}"
