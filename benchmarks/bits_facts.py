"""What came out of a run or a fit, as texts by name that differ where a bit does."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import adasadmm as ad

RESULT = ("w", "v", "theta", "w_mean", "v_mean", "w_average", "w_feasible", "trace", "status", "epochs", "certificate")
MASKS = {
    r"[^\n]*\r(?=[^\n])": "",  # what a bar of progress showed before
    r"\d+:\d\d\b": "TIME",
    r"[\d.,?k]+( ?rows/s| ?epoch/s| s\b)": r"N\1",
    r"(?m)^(seconds: |  machine code +).*$": r"\1N",
    r"\d+\.\d+\.\d+[\w.+-]*": "VERSION",
    r"(/[\w.+-]+)+/": "FOLDER/",
    r"\btmp\w{8}\b": "TEMPORARY",
    r"0x[0-9a-f]{6,}": "ADDRESS",
}


def masked(text: str) -> str:
    """A text without what may differ between two recordings of one tree."""
    for pattern, replacement in MASKS.items():
        text = re.sub(pattern, replacement, text)
    return text


def parts_of(value: Any) -> Mapping[Any, Any] | None:
    """Return the parts of a value; None if it has none."""
    if isinstance(value, ad.Result):
        return {name: getattr(value, name) for name in RESULT}
    if isinstance(value, BaseEstimator):
        return facts_of(value)
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return value._asdict() if hasattr(value, "_asdict") else dict(enumerate(value))
    return value if isinstance(value, Mapping) else None


def facts_of(one: Any) -> dict[str, Any]:
    """A fitted model: its attributes, its predictions for new rows, its texts."""
    found = {name: value for name, value in vars(one).items() if name.endswith("_")}
    found |= {"clusters_": getattr(one, "clusters_", None), "text summary": one.summary(), "text repr": repr(one)}
    new = np.random.default_rng(8).normal(size=(50, one.n_features_in_))
    methods = [name for name in ("predict", "decision_function", "predict_proba") if hasattr(one, name)]
    return found | {name: getattr(one, name)(new) for name in methods}


def told(value: Any) -> str:
    """One thing as a text that differs where a bit does; of an array also its norm, to see by how much."""
    value = value.toarray() if sp.issparse(value) else value
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        with np.errstate(all="ignore"):
            norm = float(np.linalg.norm(value.ravel()))
        return f"{hashlib.sha256(value.tobytes()).hexdigest()[:16]} {value.dtype}{value.shape} norm {norm!r}"
    if isinstance(value, enum.Enum):
        return f"{value.name}: {value.value}"
    return masked(value if isinstance(value, str) else repr(value))


def flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """All things in a value by name, but for seconds."""
    parts = parts_of(value)
    if parts is None:
        yield name, told(value)
        return
    for key, part in parts.items():
        if key != "seconds":
            yield from flat(part, f"{name} {key}".strip())
