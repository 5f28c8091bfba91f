"""The solver for problems in which X is diagonal: `TotalVariation`, which chooses a strategy, and a file for each."""

from .total_variation import TotalVariation as TotalVariation
