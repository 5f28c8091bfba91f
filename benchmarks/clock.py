"""The time of one call, with its value."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def cpu(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """The value of a call and its CPU seconds, which other processes hardly change."""
    begin = time.process_time()
    found = work(*arguments)
    return found, time.process_time() - begin


def wall(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """The value of a call and its seconds."""
    begin = time.perf_counter()
    found = work(*arguments)
    return found, time.perf_counter() - begin
