"""Which solver to use, and solutions along strengths of a penalty."""

from .along import path

__all__ = ["path"]
