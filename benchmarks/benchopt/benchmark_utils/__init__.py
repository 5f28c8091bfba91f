"""What the parts of the benchmark share."""

import sys
from pathlib import Path

from benchopt.stopping_criterion import SufficientProgressCriterion

sys.path.append(str(Path(__file__).parents[2]))  # for the generators, which the scripts there use as well

import generated

__all__ = ["generated", "little_progress", "next_tolerance"]


def next_tolerance(tol: float) -> float:
    """A tenth of the last; benchopt's first is infinite, and stands for the point at which all begin."""
    return 0.1 if tol > 1.0 else 0.1 * tol


def little_progress(strategy: str, patience: int = 5) -> SufficientProgressCriterion:
    """When a solver's curve ends; one for each solver, as benchopt writes the strategy of the first into it."""
    return SufficientProgressCriterion(eps=1e-6, patience=patience, strategy=strategy)
