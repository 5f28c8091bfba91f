"""solve(): the schedule of rows, the loop around a solver's run, progress, and the result."""

from .drive import advance as advance
from .solving import (
    begin as begin,
    solve as solve,
    solve_at_once as solve_at_once,
    solve_quietly as solve_quietly,
)

__all__ = ["advance", "begin", "solve", "solve_at_once", "solve_quietly"]
