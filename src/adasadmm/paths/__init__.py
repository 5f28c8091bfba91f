"""The choice of a solver, and solutions along the strengths of a penalty."""

from .along import path

__all__ = ["path"]
