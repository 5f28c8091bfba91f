"""What a run leaves behind: its trace, its status, and the duality gap that certifies its answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problem import Problem
from . import duality, streamed
from .trace import Certificate

__all__ = ["certify"]


def certify(
    problem: Problem, w: np.ndarray, v: np.ndarray, slopes: Any, theta: np.ndarray, each: Any = None
) -> Certificate:
    """What the point (w, v) and the dual point (slopes, theta) prove together, wherever the rows are."""
    if problem.source is None:
        return duality.certify(problem, w, v, slopes, theta)
    return streamed.certify(problem, w, v, slopes, theta, each)
