"""Checks of what was read from files: compiled code checks neither types nor indices, so they must be right before."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

__all__ = ["ModelError", "check_like", "check_values", "is_graph", "is_indices", "is_numbers"]


class ModelError(ValueError):
    """The model cannot be saved, or the file cannot be loaded; the message gives the reason."""


def is_numbers(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether a value is a float, or an array of floats, of this shape and finite."""
    is_array = type(value) is np.ndarray and value.dtype.kind == "f" and value.dtype.isnative
    is_float = is_array or isinstance(value, float)
    return bool(is_float and np.shape(value) == shape and np.isfinite(value).all())


def is_indices(value: Any, shape: tuple[int, ...], below: int, least: int = 0) -> bool:
    """Whether a value is an array of whole numbers of this shape, from ``least`` on and below a number."""
    is_whole = type(value) is np.ndarray and value.dtype.kind in "iu" and value.shape == shape
    return bool(
        is_whole and np.min(value, initial=least) >= least and np.max(value, initial=least) < max(below, least + 1)
    )


def is_graph(edges: Any, weights: Any, nodes: int) -> bool:
    """Whether edges are pairs of nodes, with a finite weight >= 0 for each of them; None if there are none."""
    if edges is None:
        return weights is None
    is_weighted = weights is None or (is_numbers(weights, np.shape(edges)[:1]) and bool((weights >= 0.0).all()))
    return is_weighted and is_indices(edges, (*np.shape(edges)[:1], 2), nodes)


def check_like(own: Any, kept: Any, name: str, changing: Collection[int] = ()) -> None:
    """Raise ``ValueError`` unless a state that was read from a file has the form of a new one.

    Compiled code checks neither types nor indices, so whatever it receives from a file is compared with ``own``, what a
    new run would have in its place: records of the same classes, arrays of the same type and shape. Numbers are finite
    unless those of a new run are not, and positive if those are. The arrays whose ids are ``changing`` are what a run
    updates; whole numbers in any other array are indices, and must be those of the new run.
    """
    if isinstance(own, np.ndarray):
        _check_array(own, kept, name, id(own) in changing)
    elif isinstance(own, float) and isinstance(kept, float):
        if not math.isfinite(kept) and math.isfinite(own):
            raise ValueError(f"{name} must be finite, got {kept}")
        if own > 0.0 and not kept > 0.0:
            raise ValueError(f"{name} must be positive, got {kept}")
    elif type(own) is not type(kept):
        raise ValueError(f"{name} must be of type {type(own).__name__}, got {type(kept).__name__}")
    elif isinstance(own, (list, tuple)):
        if len(own) != len(kept):
            raise ValueError(f"{name} must have {len(own)} parts, got {len(kept)}")
        parts = getattr(own, "_fields", range(len(own)))
        for part, ours, theirs in zip(parts, own, kept, strict=True):
            check_like(ours, theirs, f"{name}.{part}", changing)
    elif isinstance(own, int) and not isinstance(own, bool):
        if kept < min(own, 1):
            raise ValueError(f"{name} must be at least {min(own, 1)}, got {kept}")
    elif own != kept:
        raise ValueError(f"{name} must be {own!r}, got {kept!r}")


def _check_array(own: np.ndarray, kept: Any, name: str, changes: bool) -> None:
    if type(kept) is not np.ndarray or kept.dtype != own.dtype or kept.shape != own.shape:
        found = f"{kept.dtype} of shape {kept.shape}" if isinstance(kept, np.ndarray) else type(kept).__name__
        raise ValueError(f"{name} must be {own.dtype} of shape {own.shape}, got {found}")
    if not (kept.flags.c_contiguous and kept.flags.writeable and kept.flags.aligned):
        raise ValueError(f"{name} must be stored row by row")
    check_values(own, kept, name)
    if own.dtype.kind in "iu" and not changes and not np.array_equal(own, kept):
        raise ValueError(f"{name} holds other indices than a new run")


def check_values(own: np.ndarray, kept: np.ndarray, name: str) -> None:
    """Raise ``ValueError`` if floats are not finite, though those of a new run are, or if a count is negative."""
    if kept.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, got {kept.dtype}")
    if own.dtype.kind == "f" and np.isfinite(own).all() and not np.isfinite(kept).all():
        raise ValueError(f"{name} must be finite, got {kept[~np.isfinite(kept)][0]}")
    if own.dtype.kind in "iu" and np.min(own, initial=0) >= 0 and np.min(kept, initial=0) < 0:
        raise ValueError(f"{name} must not be negative, got {np.min(kept)}")
