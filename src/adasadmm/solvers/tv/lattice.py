"""Graphs whose edges have few distinct lengths ``j - i``, as grids in two or three dimensions: a family for each.

The edge from i to i + distance of a family has entry i of the family's arrays, with limit 0 where there is no edge. So
a gradient step is a few loops over arrays that the compiler vectorises, and each family is a set of disjoint paths, for
which the exact maximiser of the dual value is known (`linalg.chain`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._core.jit import inlined, inlined_sum
from ...linalg.chain import fused_chain
from ...problem import Problem
from . import ascent
from .nodes import limits_of

__all__ = ["Lattice", "is_lattice", "lattice_of"]


class Lattice(NamedTuple):
    """Forces and limits have shape (families, nodes); row k of A is the edge ``place[k]`` of these arrays, flattened.

    Row k is ``scale[k] (w_i - w_j)`` with i < j.
    """

    distance: np.ndarray
    limit: np.ndarray
    place: np.ndarray
    scale: np.ndarray

    def forces(self, theta: np.ndarray) -> np.ndarray:
        """The forces of given multipliers, within their limits."""
        forces = np.zeros_like(self.limit)
        forces.reshape(-1)[self.place] = self.scale * theta
        return np.clip(forces, -self.limit, self.limit, out=forces)

    def multipliers(self, forces: np.ndarray) -> np.ndarray:
        """The theta of each row of A."""
        found = forces.reshape(-1)[self.place]
        return np.divide(found, self.scale, out=np.zeros_like(found), where=self.scale != 0.0)

    def steps(self, inverse: np.ndarray) -> np.ndarray:
        """The step of each edge, where ``inverse`` is 1/h; 0 where there is no edge."""
        n = len(inverse)
        size, step, tied = np.zeros(n), np.zeros_like(self.limit), self.limit > 0.0
        for d, family in zip(self.distance, tied, strict=True):
            size[: n - d] += np.where(family, inverse, 0.0)[: n - d]
            size[d:] += np.where(family[: n - d], inverse[d:], 0.0)
        for f, d in enumerate(self.distance):
            np.divide(1.0, size[: n - d] + size[d:], out=step[f, : n - d], where=tied[f, : n - d])
        return step

    def variation(self, w: np.ndarray) -> float:
        """``sum_k limit_k |w_i - w_j|``."""
        n = len(w)
        families = zip(self.distance, self.limit, strict=True)
        return float(sum(limit[: n - d] @ np.abs(w[: n - d] - w[d:]) for d, limit in families))

    def below_limit(self, forces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nodes of each edge whose force is below its limit."""
        below = [np.flatnonzero(np.abs(own) < limit) for own, limit in zip(forces, self.limit, strict=True)]
        shifted = [first + d for first, d in zip(below, self.distance, strict=True)]
        return np.concatenate(below), np.concatenate(shifted)

    def sweep(self, h: np.ndarray, w: np.ndarray, forces: np.ndarray) -> None:
        """The best forces of each family in turn, given those of the others; w belongs to the forces."""
        n = len(w)
        for d, limit, own in zip(self.distance, self.limit, forces, strict=True):
            t = own.copy()
            t[d:] -= own[: n - d]
            np.subtract(w, np.divide(t, h, out=t), out=t)
            edges = along_paths(limit, d, 0.0)  # a path ends where the limit is 0
            values, found = fused_chain(along_paths(h, d, 1.0), along_paths(t, d, 0.0), edges[:-1])
            w[:] = values.reshape(d, -1).T.reshape(-1)[:n]
            own[:] = np.append(found, 0.0).reshape(d, -1).T.reshape(-1)[:n]


def along_paths(values: np.ndarray, d: int, beyond: float) -> np.ndarray:
    """The values of nodes in the order i, i + d, i + 2 d, ... for each i < d; ``beyond`` completes the last column."""
    missing = -len(values) % d
    whole = np.append(values, np.full(missing, beyond)) if missing else values
    return whole.reshape(-1, d).T.reshape(-1)


def lattice_of(problem: Problem) -> Lattice | None:
    """The lattice of the edges that the rows of A describe; None if they are no lattice."""
    families, n = problem.families, problem.n
    if families is None or not is_lattice(problem):
        return None
    place = families.family * n + families.low
    limit = np.zeros((len(families.distance), n))
    limit.reshape(-1)[place] = np.abs(families.scale) * limits_of(problem)
    return Lattice(families.distance, limit, place, families.scale)


def is_lattice(problem: Problem) -> bool:
    """Whether the rows of A are the edges of a lattice, none of which leads to the intercept."""
    families = problem.families
    return families is not None and bool(np.max(families.low + families.distance[families.family]) < problem.n)


# --- steps: slices start at 0, or the compiler would not vectorise the loops -----------------------------------------


@ascent.pull.register(Lattice)
def _pull(lattice, forces, out):
    n = len(out)
    out[:] = 0.0
    for f in range(len(lattice.distance)):
        d = lattice.distance[f]
        add(out, forces[f], 1.0)
        add(out[d:], forces[f, : n - d], -1.0)


@inlined
def add(out, values, sign):
    for i in range(len(values)):
        out[i] += sign * values[i]


@ascent.climb.register(Lattice)
def _climb(lattice, step, w, ahead, forces, factor):
    n, downhill = len(w), 0.0
    for f in range(len(lattice.distance)):
        d = lattice.distance[f]
        ends = w[: n - d], w[d:]
        downhill += climb_family(lattice.limit[f], step[f], ends, ahead[f], forces[f], factor)
    return downhill


@inlined_sum
def climb_family(limit, step, ends, ahead, forces, factor):
    first, second = ends
    downhill = 0.0
    for i in range(len(first)):
        slope, before, most = first[i] - second[i], forces[i], limit[i]
        force = ahead[i] - step[i] * slope
        force = most if force > most else force
        force = -most if force < -most else force
        downhill += slope * (force - before)
        forces[i] = force
        ahead[i] = force + factor * (force - before)
    return downhill
