"""Features referred to by name or by number, and error messages for labels that are neither."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence

from .columns import Names

__all__ = ["known_numbers", "nearest_name", "no_feature", "places_of"]


def places_of(labels: Sequence[Hashable], d: int, names: Names) -> tuple[dict[Hashable, int], list[Hashable]]:
    """The index of each label, all of them names or all of them numbers, and the labels that are not features."""
    by_name = {name: place for place, name in enumerate(names or ())}
    numbers = {str(place): place for place in range(d)}
    once = list(dict.fromkeys(labels))
    strangers = [label for label in once if label not in by_name]
    if not strangers and len(by_name) < len(names or ()):
        raise ValueError(f"feature_names are not unique, so edges cannot refer to features by name: {names!r:.80}")
    outside = [label for label in once if str(label) not in numbers] if strangers else []
    if strangers and (not names or len(outside) < len(strangers)):
        return {label: numbers[str(label)] for label in once if str(label) in numbers}, outside
    return by_name, strangers


def no_feature(label: Hashable, d: int, names: Names) -> str:
    """The message that a label is not a feature, with the nearest name or the labels that are allowed."""
    near = nearest_name(label, names)
    among = f"use the names of the {d} features, or numbers from 0" if names else f"use {known_numbers(d)}"
    return f"{label!r} is not a feature; " + (f"did you mean {near!r}?" if near else among)


def nearest_name(label: Hashable, names: Names) -> str | None:
    return next(iter(difflib.get_close_matches(str(label), [str(name) for name in names or ()], n=1)), None)


def known_numbers(d: int) -> str:
    return f"0 to {d - 1} (X has no feature names; a DataFrame has)"
