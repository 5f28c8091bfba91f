"""Graphs whose edges have few distinct lengths ``j - i``, as grids in two or three dimensions: a family for each.

The edge from i to i + distance of a family has entry i of the family's arrays, with limit 0 where there is no edge. So
a gradient step is a few loops over arrays that the compiler vectorises, and each family is a set of disjoint paths, for
which the exact maximiser of the dual value is known (`linalg.chain`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core.jit import inlined, inlined_sum
from ..linalg.chain import fuse_chain, write_multipliers
from ..linalg.joined import unite
from ..problem import Problem
from . import dual_ascent
from .direct import limits_of

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


@dual_ascent.multipliers.register(Lattice)
def _multipliers(lattice, forces):
    found = forces.reshape(-1)[lattice.place]
    return np.divide(found, lattice.scale, out=np.zeros_like(found), where=lattice.scale != 0.0)


# --- steps: slices start at 0, or the compiler would not vectorise the loops -----------------------------------------


@dual_ascent.pull.register(Lattice)
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


@dual_ascent.climb.register(Lattice)
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


@dual_ascent.measure_steps.register(Lattice)
def _measure_steps(lattice, inverse, step):
    families, n = lattice.limit.shape
    size = np.zeros(n)
    for f in range(families):
        d = lattice.distance[f]
        for i in range(n - d):
            if lattice.limit[f, i] > 0.0:
                size[i] += inverse[i]
                size[i + d] += inverse[i + d]
    for f in range(families):
        d = lattice.distance[f]
        for i in range(n):
            step[f, i] = 1.0 / (size[i] + size[i + d]) if lattice.limit[f, i] > 0.0 else 0.0


@dual_ascent.variation.register(Lattice)
def _variation(lattice, w):
    n, total = len(w), 0.0
    for f in range(len(lattice.distance)):
        d = lattice.distance[f]
        total += vary_family(lattice.limit[f], w[: n - d], w[d:])
    return total


@inlined_sum
def vary_family(limit, first, second):
    total = 0.0
    for i in range(len(first)):
        total += limit[i] * abs(first[i] - second[i])
    return total


@dual_ascent.join.register(Lattice)
def _join(lattice, forces, root):
    n = len(root)
    for f in range(len(lattice.distance)):
        d = lattice.distance[f]
        for i in range(n - d):
            if abs(forces[f, i]) < lattice.limit[f, i]:
                unite(root, i, i + d)


# --- sweeps ----------------------------------------------------------------------------------------------------------


@dual_ascent.sweep.register(Lattice)
def _sweep(lattice, h, w, forces):
    """Each family in turn, given the forces of the others; w belongs to the forces before and after it."""
    n = len(w)
    order, (weight, t, values, found) = np.empty(n, np.int64), np.empty((4, n))
    for f in range(len(lattice.distance)):
        d, limit, own = lattice.distance[f], lattice.limit[f], forces[f]
        walk_along(d, limit, order)
        edges = np.zeros(max(n - 1, 0))
        for k in range(n):
            i = order[k]
            weight[k] = h[i]
            t[k] = w[i] - (own[i] - (own[i - d] if i >= d else 0.0)) / h[i]
            if k < n - 1:
                edges[k] = limit[i]
        fuse_chain(weight, t, edges, values)
        write_multipliers(weight, t, edges, values, found)
        for k in range(n):
            w[order[k]] = values[k]
            if k < n - 1:
                own[order[k]] = found[k]


@inlined
def walk_along(distance, limit, order):
    """The nodes in the order of the paths whose edges join i and i + distance."""
    k = 0
    for start in range(len(order)):
        if start >= distance and limit[start - distance] > 0.0:
            continue
        node = start
        order[k] = node
        k += 1
        while limit[node] > 0.0:
            node += distance
            order[k] = node
            k += 1
