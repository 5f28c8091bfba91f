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

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...linalg.coupling import Groups

__all__ = ["NO_CONES", "ConeStep", "ConeVariables", "Cones", "joined"]

SURE = 1e3  # relative to its first value, s is at most this multiple of its distance to the boundary if it tends to 0
LEAST = 1e-5  # of the last determinant: a step to the boundary leaves more, so that a smaller one is rounding error


@dataclasses.dataclass(frozen=True, eq=False)
class Cones:
    """Groups of rows, one after the other, and the radius of each group. Rows of A are counted after those of X."""

    row: np.ndarray
    starts: np.ndarray
    radius: np.ndarray

    def __bool__(self) -> bool:
        return len(self.radius) > 0

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.starts)

    @functools.cached_property
    def group(self) -> np.ndarray:
        """The group of each row."""
        return np.repeat(np.arange(len(self.radius)), self.sizes)

    def taken(self, chosen: np.ndarray) -> Cones:
        """The groups where a mask is true."""
        row, starts = Groups(self.row, self.starts).taken(chosen)
        return Cones(row, starts, self.radius[chosen])

    def spread(self, values: np.ndarray) -> np.ndarray:
        """The value of each row's group."""
        return values.take(self.group)

    def dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The inner product of two vectors in each group; no group may be empty."""
        return np.add.reduceat(a * b, self.starts[:-1])


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


@dataclasses.dataclass
class ConeStep:
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
        return cls(*np.zeros((10, members)), *np.zeros((7, groups)))


def start(cones: Cones, x: ConeVariables, mean: float) -> None:
    """t = 0, and s on the central path."""
    x.head[:] = x.first[:] = 2.0 * mean / cones.radius
    x.det_z[:], x.det_s[:] = cones.radius**2, x.head**2


def scale(
    cones: Cones, x: ConeVariables, step: ConeStep, soft: np.ndarray, weight: np.ndarray, bends: np.ndarray
) -> None:
    """The scaling and the inverse of J; add the latter to the weights and bends of the rows."""
    root_s, root_z = np.sqrt(x.det_s), np.sqrt(x.det_z)
    double = np.sqrt(2.0 + 2.0 * _products(cones, x) / (root_s * root_z))
    step.w_head = (x.head / root_s + cones.radius / root_z) / double
    step.w = x.tail * cones.spread(1.0 / (root_s * double)) + x.t * cones.spread(1.0 / (root_z * double))
    step.eta2, step.soft = root_s / root_z, soft[cones.row]
    step.D = 1.0 / (cones.spread(step.eta2) + step.soft)
    Dw = step.D * step.w
    step.size = 1.0 / (1.0 + 2.0 * step.eta2 * cones.dot(Dw, step.w))
    step.bend = cones.spread(np.sqrt(2.0 * step.eta2 * step.size)) * Dw
    weight[cones.row] += step.D
    bends[cones.row] = step.bend


def aim(cones: Cones, x: ConeVariables, u: np.ndarray, step: ConeStep, mean: float, pull: np.ndarray) -> None:
    """G, for a step that aims at this mean complementarity; add the inverse of J times G to the pull of the rows."""
    centre = 2.0 * mean / x.det_z
    step.h_head = centre * cones.radius - step.product_head
    step.h = cones.spread(centre) * x.t - step.product
    step.G = u[cones.row] - step.h
    pull[cones.row] += step.D * step.G - step.bend * cones.spread(cones.dot(step.bend, step.G))


def turn(cones: Cones, du: np.ndarray, step: ConeStep) -> None:
    """The dt that belongs to a du."""
    step.dt, step.J_dt, step.along = _dt_of(cones, du[cones.row] + step.G, step)


def amend(cones: Cones, change: np.ndarray, step: ConeStep) -> None:
    """Add to dt what belongs to a change of du."""
    dt, J_dt, along = _dt_of(cones, change[cones.row], step)
    step.dt, step.J_dt, step.along = step.dt + dt, step.J_dt + J_dt, step.along + along


def _dt_of(cones: Cones, rhs: np.ndarray, step: ConeStep) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The solution of ``(J + soft) dt = rhs``, J times it, and its inner product with w."""
    along = step.size * cones.dot(step.w, step.D * rhs)
    dt = step.D * (rhs - step.w * cones.spread(2.0 * step.eta2 * along))
    return dt, rhs - step.soft * dt, along


def direct(cones: Cones, x: ConeVariables, step: ConeStep) -> float:
    """The ds that belongs to dt; returns the length of the step to the boundary."""
    step.dhead = step.h_head - x.head + 2.0 * step.eta2 * step.w_head * step.along
    step.dtail = step.h - x.tail + step.J_dt
    to_z = _roots(-cones.dot(step.dt, step.dt), -cones.dot(x.t, step.dt), x.det_z)
    square = step.dhead**2 - cones.dot(step.dtail, step.dtail)
    to_s = _roots(square, x.head * step.dhead - cones.dot(x.tail, step.dtail), x.det_s)
    return float(min(to_z.min(), to_s.min()))


def _roots(square: np.ndarray, half: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """The least positive roots of ``square a^2 + 2 half a + constant`` for positive constants; infinite if none."""
    below = np.sqrt(half * half - square * constant) - half  # without a real root, this is nan
    return np.where(below > 0.0, constant / below, np.inf)


def complementarity(cones: Cones, x: ConeVariables, step: ConeStep, length: float) -> float:
    """The sum of ``<s, z>`` after a step of this length."""
    heads = (x.head + length * step.dhead) * cones.radius
    tails = (x.tail + length * step.dtail) * (x.t + length * step.dt)
    return float(heads.sum() - tails.sum())


def multiply(cones: Cones, x: ConeVariables, step: ConeStep) -> None:
    r"""The products of directions, for the corrector.

    With ``X = W dz``, the predictor has ``W^{-1} ds = -lambda - X``. So its product is ``-lambda o X - X o X``, and
    what the corrector subtracts from h is ``-W X - W (lambda \ (X o X))``.
    """
    w_head, along, eta = step.w_head, step.along, np.sqrt(step.eta2)
    lambda_head, lambda_tail, det = _scaled_point(cones, x)
    X_head, X = -eta * along, -cones.spread(eta) * (step.dt + step.w * cones.spread(along / (1.0 + w_head)))
    XX_head, XX = X_head**2 + cones.dot(X, X), 2.0 * cones.spread(X_head) * X
    # Y = lambda \ (X o X)
    Y_head = (lambda_head * XX_head - cones.dot(lambda_tail, XX)) / det
    Y = (XX - cones.spread(Y_head) * lambda_tail) / cones.spread(lambda_head)
    of_Y = cones.dot(step.w, Y)
    step.product_head = 2.0 * step.eta2 * w_head * along - eta * (w_head * Y_head + of_Y)
    step.product = step.J_dt - cones.spread(eta) * (Y + step.w * cones.spread(Y_head + of_Y / (1.0 + w_head)))


def _scaled_point(cones: Cones, x: ConeVariables) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``lambda = W z``, head and tail, and its determinant."""
    root_s, root_z, det = np.sqrt(x.det_s), np.sqrt(x.det_z), np.sqrt(x.det_s * x.det_z)
    middle, s_head, z_head = np.sqrt(0.5 + 0.5 * _products(cones, x) / det), x.head / root_s, cones.radius / root_z
    unit = np.sqrt(det) / (s_head + z_head + 2.0 * middle)
    of_s, of_z = unit * (middle + z_head) / root_s, unit * (middle + s_head) / root_z
    return np.sqrt(det) * middle, cones.spread(of_s) * x.tail - cones.spread(of_z) * x.t, det


def cost_of_gaps(cones: Cones, x: ConeVariables, u: np.ndarray) -> float:
    """Bound the cost of the errors of u = tail in the primal value."""
    error = u[cones.row] - x.tail
    return float((cones.radius * np.sqrt(cones.dot(error, error))).sum())


def move(cones: Cones, x: ConeVariables, step: ConeStep, length: float) -> float:
    """Take the step; returns the sum of ``<s, z>``.

    Towards the solution either s tends to 0 or the distance of t to the boundary does, and the ratio of the other to
    its value before the step tends to 1, as for box terms. A single step may centre the point, so the ratios to the
    first values count as well.
    """
    radius, head = cones.radius, x.head.copy()
    room = radius - np.sqrt(cones.dot(x.t, x.t))
    x.head[:] += length * step.dhead
    x.t[:] += length * step.dt
    x.tail[:] += length * step.dtail
    size_t, size_s = np.sqrt(cones.dot(x.t, x.t)), np.sqrt(cones.dot(x.tail, x.tail))
    x.det_z[:] = np.maximum((radius - size_t) * (radius + size_t), LEAST * x.det_z)
    x.det_s[:] = np.maximum((x.head - size_s) * (x.head + size_s), LEAST * x.det_s)
    left = radius - size_t
    x.inside[:] = (x.head * room < left * head) & (x.head * radius < SURE * left * x.first)
    return float(_products(cones, x).sum())


def _products(cones: Cones, x: ConeVariables) -> np.ndarray:
    """``<s, z>``, which is at least the root of both determinants."""
    return np.maximum(x.head * cones.radius - cones.dot(x.tail, x.t), np.sqrt(x.det_s * x.det_z))
