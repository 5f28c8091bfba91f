"""Euclidean norms of groups in the interior-point method: second-order cones.

The norm of the values u of a group of rows, times a radius, is

    max over |t| <= radius of  <t, u>.

So ``z = (radius, -t)`` lies in the second-order cone, and so does its multiplier ``s = (head, tail)``, whose tail
tends to u. The complementarity condition is ``s o z = 0`` with the cone's product ``(a, b) o (c, d) = (ac + <b, d>,
a d + c b)``; an iteration replaces the zero by ``2 sigma (1, 0)``, which for a single row are the conditions of the box
[-radius, radius]. With the scaling W of Nesterov and Todd (``W z = W^{-1} s = lambda``), Newton's step solves

    J dt = du + G,    J = eta^2 (I + 2 w w'),    G = u - h,    h = the tail of W (lambda \\ (2 sigma (1, 0) - product)),

where ``product`` is ``(W^{-1} ds) o (W dz)`` of the predictor, and (w_0, w) is the unit vector of
``W^2 = eta^2 (2 (w_0, w) (w_0, w)' - diag(1, -I))``. The inverse of J is diagonal minus a rank-one term
(`linalg.coupling`).

References
----------
Andersen, Roos, Terlaky: On implementing a primal-dual interior-point method for conic quadratic optimization.
Mathematical Programming 95, 2003.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._core.jit import compiled, inlined
from ..linalg.coupling import Groups

__all__ = ["NO_CONES", "ConeStep", "ConeVariables", "Cones", "joined"]

SURE = 1e3  # relative to its first value, s is at most this multiple of its distance to the boundary if it tends to 0
LEAST = 1e-5  # of the last determinant: a step to the boundary leaves more, so that a smaller one is rounding error


class Cones(NamedTuple):
    """Groups of rows, one after the other, and the radius of each group. Rows of A are counted after those of X."""

    row: np.ndarray
    starts: np.ndarray
    radius: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.starts)

    def taken(self, chosen: np.ndarray) -> Cones:
        """The groups where a mask is true."""
        row, starts = Groups(self.row, self.starts).taken(chosen)
        return Cones(row, starts, self.radius[chosen])


NO_CONES = Cones(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0))


def joined(parts: Sequence[Cones]) -> Cones:
    """The groups of several parts."""
    row, radius, sizes = (
        np.concatenate(columns)
        for columns in zip(*((part.row, part.radius, part.sizes) for part in parts), strict=True)
    )
    return Cones(row, np.concatenate([[0], np.cumsum(sizes)]), radius)


class ConeVariables(NamedTuple):
    """The dual variable t, the multiplier s, and the determinants ``radius^2 - |t|^2`` and ``head^2 - |tail|^2``.

    ``first`` is the first head, and ``inside`` tells where t tends to a point inside its ball.
    """

    t: np.ndarray
    tail: np.ndarray
    head: np.ndarray
    first: np.ndarray
    det_z: np.ndarray
    det_s: np.ndarray
    inside: np.ndarray

    @classmethod
    def zeros(cls, cones: Cones) -> ConeVariables:
        members, groups = len(cones.row), len(cones.radius)
        of_members, of_groups = np.zeros((2, members)), np.zeros((4, groups))
        return cls._make([*of_members, *of_groups, np.zeros(groups, bool)])


class ConeStep(NamedTuple):
    """The scaling of each group, the inverse of J as ``diag(D) - bend bend'``, and the direction (dt, ds).

    ``h`` holds tails, and ``h_head`` heads; ``product`` and ``product_head`` what the corrector subtracts from them.
    ``J_dt`` is J times dt without the softness, and ``along`` the inner product of w and dt: computed from dt, both
    would lose digits near the boundary of the cone, where w is large.
    """

    w: np.ndarray
    D: np.ndarray
    bend: np.ndarray
    soft: np.ndarray
    G: np.ndarray
    h: np.ndarray
    dt: np.ndarray
    J_dt: np.ndarray
    dtail: np.ndarray
    product: np.ndarray
    w_head: np.ndarray
    eta2: np.ndarray
    size: np.ndarray
    along: np.ndarray
    h_head: np.ndarray
    dhead: np.ndarray
    product_head: np.ndarray

    @classmethod
    def zeros(cls, cones: Cones) -> ConeStep:
        members, groups = len(cones.row), len(cones.radius)
        return cls._make([*np.zeros((10, members)), *np.zeros((7, groups))])


@inlined
def start_cones(cones: Cones, x: ConeVariables, mean):
    """t = 0, and s on the central path."""
    for g in range(len(cones.radius)):
        x.head[g] = x.first[g] = 2.0 * mean / cones.radius[g]
        x.det_z[g], x.det_s[g] = cones.radius[g] ** 2, x.head[g] ** 2


@inlined
def dot(a, b, begin, end):
    total = 0.0
    for k in range(begin, end):
        total += a[k] * b[k]
    return total


@inlined
def determinant(head, tail, begin, end):
    size = math.sqrt(dot(tail, tail, begin, end))
    return (head - size) * (head + size)


@inlined
def product_of(cones: Cones, x: ConeVariables, g):
    """``<s, z>``, which is at least the root of both determinants."""
    found = x.head[g] * cones.radius[g] - dot(x.tail, x.t, cones.starts[g], cones.starts[g + 1])
    return max(found, math.sqrt(x.det_s[g] * x.det_z[g]))


@compiled
def assemble_cones(cones: Cones, x: ConeVariables, u, step: ConeStep, mean, soft, weight, bends, pull):
    """The scaling, G and the inverse of J; add these to the weights, bends and pulls of the rows."""
    for g in range(len(cones.radius)):
        begin, end = cones.starts[g], cones.starts[g + 1]
        root_s, root_z = math.sqrt(x.det_s[g]), math.sqrt(x.det_z[g])
        double = math.sqrt(2.0 + 2.0 * product_of(cones, x, g) / (root_s * root_z))
        eta2, centre, total = root_s / root_z, 2.0 * mean / x.det_z[g], 0.0
        step.w_head[g] = (x.head[g] / root_s + cones.radius[g] / root_z) / double
        step.h_head[g] = centre * cones.radius[g] - step.product_head[g]
        for k in range(begin, end):
            row = cones.row[k]
            step.w[k] = (x.tail[k] / root_s + x.t[k] / root_z) / double
            step.h[k] = centre * x.t[k] - step.product[k]
            step.G[k], step.soft[k] = u[row] - step.h[k], soft[row]
            step.D[k] = 1.0 / (eta2 + soft[row])
            total += step.D[k] * step.w[k] ** 2
        step.eta2[g], step.size[g] = eta2, 1.0 / (1.0 + 2.0 * eta2 * total)
        for k in range(begin, end):
            step.bend[k] = math.sqrt(2.0 * eta2 * step.size[g]) * step.D[k] * step.w[k]
        along = dot(step.bend, step.G, begin, end)
        for k in range(begin, end):
            row = cones.row[k]
            weight[row] += step.D[k]
            bends[row] = step.bend[k]
            pull[row] += step.D[k] * step.G[k] - step.bend[k] * along


@compiled
def turn_cones(cones: Cones, du, step: ConeStep, anew):
    """The dt that belongs to a du; if not anew, add to dt what belongs to a change of du."""
    if anew:
        step.dt[:], step.J_dt[:], step.along[:] = 0.0, 0.0, 0.0
    for g in range(len(cones.radius)):
        begin, end, along = cones.starts[g], cones.starts[g + 1], 0.0
        for k in range(begin, end):
            rhs = du[cones.row[k]] + (step.G[k] if anew else 0.0)
            along += step.size[g] * step.w[k] * step.D[k] * rhs
        for k in range(begin, end):
            rhs = du[cones.row[k]] + (step.G[k] if anew else 0.0)
            dt = step.D[k] * (rhs - 2.0 * step.eta2[g] * step.w[k] * along)
            step.dt[k] += dt
            step.J_dt[k] += rhs - step.soft[k] * dt
        step.along[g] += along


@inlined
def root_of(square, half, constant):
    """The least positive root of ``square a^2 + 2 half a + constant`` for a positive constant; infinite if none."""
    inner = half * half - square * constant
    if inner < 0.0:
        return math.inf
    below = math.sqrt(inner) - half
    return constant / below if below > 0.0 else math.inf


@compiled
def direct_cones(cones: Cones, x: ConeVariables, step: ConeStep):
    """The ds that belongs to dt; returns the length of the step to the boundary."""
    most = math.inf
    for g in range(len(cones.radius)):
        begin, end = cones.starts[g], cones.starts[g + 1]
        step.dhead[g] = step.h_head[g] - x.head[g] + 2.0 * step.eta2[g] * step.w_head[g] * step.along[g]
        for k in range(begin, end):
            step.dtail[k] = step.h[k] - x.tail[k] + step.J_dt[k]
        half = dot(x.t, step.dt, begin, end)
        most = min(most, root_of(-dot(step.dt, step.dt, begin, end), -half, x.det_z[g]))
        square = step.dhead[g] ** 2 - dot(step.dtail, step.dtail, begin, end)
        half = x.head[g] * step.dhead[g] - dot(x.tail, step.dtail, begin, end)
        most = min(most, root_of(square, half, x.det_s[g]))
    return most


@compiled
def complementarity_of_cones(cones: Cones, x: ConeVariables, step: ConeStep, length):
    """The sum of ``<s, z>`` after a step of this length; also the products of directions, for the corrector.

    With ``X = W dz``, the predictor has ``W^{-1} ds = -lambda - X``. So its product is ``-lambda o X - X o X``, and
    what the corrector subtracts from h is ``-W X - W (lambda \\ (X o X))``.
    """
    total = 0.0
    for g in range(len(cones.radius)):
        begin, end, along, w_head = cones.starts[g], cones.starts[g + 1], step.along[g], step.w_head[g]
        eta, det = math.sqrt(step.eta2[g]), math.sqrt(x.det_s[g] * x.det_z[g])
        root_s, root_z = math.sqrt(x.det_s[g]), math.sqrt(x.det_z[g])
        # lambda is root(det) times (middle, (of_s tail - of_z t)).
        middle = math.sqrt(0.5 + 0.5 * product_of(cones, x, g) / det)
        s_head, z_head = x.head[g] / root_s, cones.radius[g] / root_z
        of_s = math.sqrt(det) * (middle + z_head) / (s_head + z_head + 2.0 * middle) / root_s
        of_z = math.sqrt(det) * (middle + s_head) / (s_head + z_head + 2.0 * middle) / root_z
        lambda_head, X_head = math.sqrt(det) * middle, -eta * along
        squares, mixed = X_head * X_head, 0.0
        total += (x.head[g] + length * step.dhead[g]) * cones.radius[g]
        for k in range(begin, end):
            total -= (x.tail[k] + length * step.dtail[k]) * (x.t[k] + length * step.dt[k])
            X = -eta * (step.dt[k] + step.w[k] * along / (1.0 + w_head))
            squares += X * X
            step.product[k] = 2.0 * X_head * X  # of X o X
            mixed += (of_s * x.tail[k] - of_z * x.t[k]) * step.product[k]
        Y_head, of_Y = (lambda_head * squares - mixed) / det, 0.0  # of lambda \ (X o X)
        for k in range(begin, end):
            step.product[k] = (step.product[k] - Y_head * (of_s * x.tail[k] - of_z * x.t[k])) / lambda_head
            of_Y += step.w[k] * step.product[k]
        step.product_head[g] = 2.0 * step.eta2[g] * w_head * along - eta * (w_head * Y_head + of_Y)
        for k in range(begin, end):
            Y = eta * (step.product[k] + step.w[k] * (Y_head + of_Y / (1.0 + w_head)))
            step.product[k] = step.J_dt[k] - Y
    return total


@compiled
def cost_of_gaps_of_cones(cones: Cones, x: ConeVariables, u):
    """Bound the cost of the errors of u = tail in the primal value."""
    total = 0.0
    for g in range(len(cones.radius)):
        square = 0.0
        for k in range(cones.starts[g], cones.starts[g + 1]):
            square += (u[cones.row[k]] - x.tail[k]) ** 2
        total += cones.radius[g] * math.sqrt(square)
    return total


@compiled
def move_cones(cones: Cones, x: ConeVariables, step: ConeStep, length):
    """Take the step; returns the sum of ``<s, z>``.

    Towards the solution either s tends to 0 or the distance of t to the boundary does, and the ratio of the other to
    its value before the step tends to 1, as for box terms. A single step may centre the point, so the ratios to the
    first values count as well.
    """
    total = 0.0
    for g in range(len(cones.radius)):
        begin, end, radius = cones.starts[g], cones.starts[g + 1], cones.radius[g]
        head, room = x.head[g], radius - math.sqrt(dot(x.t, x.t, begin, end))
        x.head[g] += length * step.dhead[g]
        for k in range(begin, end):
            x.t[k] += length * step.dt[k]
            x.tail[k] += length * step.dtail[k]
        x.det_z[g] = max(determinant(radius, x.t, begin, end), LEAST * x.det_z[g])
        x.det_s[g] = max(determinant(x.head[g], x.tail, begin, end), LEAST * x.det_s[g])
        left = radius - math.sqrt(dot(x.t, x.t, begin, end))
        x.inside[g] = x.head[g] * room < left * head and x.head[g] * radius < SURE * left * x.first[g]
        total += product_of(cones, x, g)
    return total
