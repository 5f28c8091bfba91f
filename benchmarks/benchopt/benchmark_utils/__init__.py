"""Functions that several files of the benchmark use."""

import sys
from pathlib import Path

from benchopt.stopping_criterion import SufficientProgressCriterion

sys.path.append(str(Path(__file__).parents[2]))  # the data generators and ReHLine's form of the problem are there

import generated
from rehline_peer import by_rehline

__all__ = ["by_rehline", "generated", "little_progress", "next_tolerance"]


def next_tolerance(tol: float) -> float:
    """Return a tenth of the last tolerance; benchopt begins with an infinite one, which means the start at 0."""
    return 0.1 if tol > 1.0 else 0.1 * tol


def little_progress(strategy: str, patience: int = 5) -> SufficientProgressCriterion:
    """Return a stopping criterion. Each solver needs its own, because benchopt stores the strategy in it."""
    return SufficientProgressCriterion(eps=1e-6, patience=patience, strategy=strategy)
