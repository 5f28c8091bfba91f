"""Features that are called by name or by number, and what is said of labels that are neither."""

from __future__ import annotations

import difflib
from typing import Any

__all__ = ["known_numbers", "nearest_name", "no_feature", "places_of"]


def places_of(labels: list[Any], d: int, names: list[Any] | None) -> tuple[dict[Any, int], list[Any]]:
    """Where features stand that are all called by name or all by number, and the labels that call none."""
    by_name = {name: place for place, name in enumerate(names or ())}
    numbers = {str(place): place for place in range(d)}
    once = list(dict.fromkeys(labels))
    strangers = [label for label in once if label not in by_name]
    if not strangers and len(by_name) < len(names or ()):
        raise ValueError(f"feature_names are not unique, so that edges cannot speak of them: {names!r:.80}")
    outside = [label for label in once if str(label) not in numbers] if strangers else []
    if strangers and (not names or len(outside) < len(strangers)):
        return {label: numbers[str(label)] for label in once if str(label) in numbers}, outside
    return by_name, strangers


def no_feature(label: Any, d: int, names: list[Any] | None) -> str:
    """That a label is no feature, and what may have been meant."""
    near = nearest_name(label, names)
    among = f"there are {d}, all called by name, or all by number from 0" if names else f"there are {known_numbers(d)}"
    return f"{label!r} is no feature; " + (f"did you mean {near!r}?" if near else among)


def nearest_name(label: Any, names: list[Any] | None) -> str | None:
    return next(iter(difflib.get_close_matches(str(label), [str(name) for name in names or ()], n=1)), None)


def known_numbers(d: int) -> str:
    return f"0 to {d - 1} (X has no feature names: a frame has)"
