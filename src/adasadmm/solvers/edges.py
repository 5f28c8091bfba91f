"""Graphs as lists of edges, for the dual ascent on any graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..linalg.joined import unite
from ..linalg.matrices import differences
from ..problem import Problem
from . import dual_ascent
from .direct import limits_of

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


def edges_of(problem: Problem) -> Edges | None:
    """The edges that the rows of A describe; None if a row is no difference."""
    found = differences(problem.A)
    if found is None:
        return None
    first, second, weight = found
    if np.max(second, initial=0) >= problem.n or np.max(first, initial=0) >= problem.n:  # the intercept
        return None
    return Edges(first.astype(np.int64), second.astype(np.int64), np.abs(weight) * limits_of(problem), weight)


@dual_ascent.multipliers.register(Edges)
def _multipliers(edges, forces):
    return np.divide(forces, edges.scale, out=np.zeros_like(forces), where=edges.scale != 0.0)


@dual_ascent.pull.register(Edges)
def _pull(edges, forces, out):
    out[:] = 0.0
    for k in range(len(forces)):
        out[edges.first[k]] += forces[k]
        out[edges.second[k]] -= forces[k]


@dual_ascent.measure_steps.register(Edges)
def _measure_steps(edges, inverse, step):
    size = np.zeros(len(inverse))
    for k in range(len(step)):
        i, j = edges.first[k], edges.second[k]
        size[i] += inverse[i]
        size[j] += inverse[j]
    for k in range(len(step)):
        step[k] = 1.0 / (size[edges.first[k]] + size[edges.second[k]])


@dual_ascent.climb.register(Edges)
def _climb(edges, step, w, ahead, forces, factor):
    downhill = 0.0
    for k in range(len(forces)):
        slope, before = w[edges.first[k]] - w[edges.second[k]], forces[k]
        force = min(max(ahead[k] - step[k] * slope, -edges.limit[k]), edges.limit[k])
        downhill += slope * (force - before)
        forces[k] = force
        ahead[k] = force + factor * (force - before)
    return downhill


@dual_ascent.variation.register(Edges)
def _variation(edges, w):
    total = 0.0
    for k in range(len(edges.limit)):
        total += edges.limit[k] * abs(w[edges.first[k]] - w[edges.second[k]])
    return total


@dual_ascent.join.register(Edges)
def _join(edges, forces, root):
    for k in range(len(forces)):
        if abs(forces[k]) < edges.limit[k]:
            unite(root, edges.first[k], edges.second[k])
