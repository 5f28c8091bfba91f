"""Graphs as lists of edges, for the dual ascent on any graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...problem import Problem
from ...rows.matrices import differences
from . import ascent
from .nodes import limits_of

__all__ = ["Edges", "edges_of"]


class Edges(NamedTuple):
    """Edge k ties the nodes ``first[k]`` and ``second[k]``; row k of A is ``scale[k] (w_first - w_second)``."""

    first: np.ndarray
    second: np.ndarray
    limit: np.ndarray
    scale: np.ndarray

    def forces(self, theta: np.ndarray) -> np.ndarray:
        """The forces of given multipliers, within their limits."""
        return np.clip(self.scale * theta, -self.limit, self.limit)

    def multipliers(self, forces: np.ndarray) -> np.ndarray:
        """The theta of each row of A."""
        return np.divide(forces, self.scale, out=np.zeros_like(forces), where=self.scale != 0.0)

    def steps(self, inverse: np.ndarray) -> np.ndarray:
        """The step of each edge, where ``inverse`` is 1/h."""
        first, second, n = self.first, self.second, len(inverse)
        size = inverse * (np.bincount(first, minlength=n) + np.bincount(second, minlength=n))
        return 1.0 / (size[first] + size[second])

    def variation(self, w: np.ndarray) -> float:
        """``sum_k limit_k |w_i - w_j|``."""
        return float(self.limit @ np.abs(w[self.first] - w[self.second]))

    def below_limit(self, forces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nodes of each edge whose force is below its limit."""
        below = np.abs(forces) < self.limit
        return self.first[below], self.second[below]


def edges_of(problem: Problem) -> Edges | None:
    """The edges that the rows of A describe; None if a row is no difference."""
    found = differences(problem.A)
    if found is None:
        return None
    first, second, weight = found
    if np.max(second, initial=0) >= problem.n or np.max(first, initial=0) >= problem.n:  # the intercept
        return None
    return Edges(first.astype(np.int64), second.astype(np.int64), np.abs(weight) * limits_of(problem), weight)


@ascent.pull.register(Edges)
def _pull(edges, forces, out):
    out[:] = 0.0
    for k in range(len(forces)):
        out[edges.first[k]] += forces[k]
        out[edges.second[k]] -= forces[k]


@ascent.climb.register(Edges)
def _climb(edges, step, w, ahead, forces, factor):
    downhill = 0.0
    for k in range(len(forces)):
        slope, before = w[edges.first[k]] - w[edges.second[k]], forces[k]
        force = min(max(ahead[k] - step[k] * slope, -edges.limit[k]), edges.limit[k])
        downhill += slope * (force - before)
        forces[k] = force
        ahead[k] = force + factor * (force - before)
    return downhill
