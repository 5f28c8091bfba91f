"""The resources of this machine."""

from __future__ import annotations

import math
import os

__all__ = ["memory"]


LIMITS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"  # of a container, on Linux


def memory() -> float:
    """Bytes of physical memory, or of what a container may use; infinite where the system does not say."""
    try:
        physical = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        physical = math.inf
    return min(physical, *map(_limit, LIMITS))


def _limit(path: str) -> float:
    """The number in a file; infinite if there is none."""
    try:
        with open(path) as file:
            return float(file.read())
    except (OSError, ValueError):  # "max": no limit
        return math.inf
