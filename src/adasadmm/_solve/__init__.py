"""solve(): solvers in turn, the schedule of rows, the loop around a solver's run, progress, and the result."""

from .answers import answer as answer, solve as solve
from .drive import advance as advance
from .solving import begin as begin, solve_at_once as solve_at_once, solve_quietly as solve_quietly

__all__ = ["advance", "answer", "begin", "solve", "solve_at_once", "solve_quietly"]
