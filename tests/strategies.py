"""Strategies of `TotalVariation`, each as a solver of its own, to compare them where several fit."""

import dataclasses

from adasadmm import TotalVariation
from adasadmm.solvers.tv.total_variation import CHAIN, CUTS, GRAPH, GRID

STRATEGIES = {"chain": CHAIN, "cuts": CUTS, "grid": GRID, "graph": GRAPH}


@dataclasses.dataclass(frozen=True)
class By(TotalVariation):
    """The solver with this strategy instead of the one that it chooses."""

    name: str

    def method(self, problem, start):
        return STRATEGIES[self.name].begin(problem, start)
