"""What this machine has."""

from __future__ import annotations

import math
import os

__all__ = ["memory"]


def memory() -> float:
    """Bytes of physical memory; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf
