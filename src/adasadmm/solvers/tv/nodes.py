"""Shared by the strategies: where X is diagonal, each row of the data is a loss of one coefficient, a node."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ... import losses, penalties
from ..._core.jit import is_registered, unwrapped
from ...linalg.chain_pieces import Pieces
from ...losses._generic import Piece
from ...problem import Problem
from ...rows.matrices import WithIntercept

__all__ = [
    "Nodes",
    "has_missing",
    "in_balance",
    "is_piecewise",
    "limits_of",
    "nodes_of",
    "pieces_of",
    "quadratic",
    "second_order",
    "value_of_nodes",
    "why_no_derivatives",
    "why_not",
]

NO_KNOT = math.inf, 0.0, 0.0  # its place, and what it adds to a line


class Nodes(NamedTuple):
    """The loss of node i is ``rate_i loss(x_i w_i + shift, y_i) + gamma_i w_i^2 / 2``, with the rate c_i / n.

    ``flat`` is the second derivative that a model assumes where that of the loss is 0.
    """

    loss: Any
    x: np.ndarray
    y: np.ndarray
    rate: np.ndarray
    gamma: np.ndarray
    flat: float


def nodes_of(problem: Problem) -> Nodes:
    x, y = problem.diagonal, problem.rows.y
    assert x is not None
    curved = is_registered(losses.curvature, problem.loss)
    flat = losses.largest_curvature(problem.loss, y) if curved else 1.0
    return Nodes(problem.loss, x, y, problem.rates, problem.gamma[: problem.n], flat)


def why_not(problem: Problem) -> str:
    """Why no strategy can solve a problem; empty if one may."""
    if problem.source is not None:
        return "the rows are not in memory"
    if problem.diagonal is None:
        return f"X, of shape {problem.rows.X.shape}, is not diagonal"
    if problem.B is not None or problem.has_b:
        return "B is not -I, or b is not 0"
    if problem.w_set is not None or problem.w_copy is not None:
        return "w has a set"
    if not isinstance(problem.penalty, (penalties.L1, penalties.ChainTV)):
        return f"the penalty is {type(problem.penalty).__name__}, not L1 or ChainTV"
    if isinstance(problem.rows.X, WithIntercept) and problem.gamma[-1] != 0.0:
        return "the intercept has a ridge"
    return ""


def why_no_derivatives(problem: Problem) -> str:
    """Why the derivatives of a loss do not suffice; empty if it is piecewise quadratic, or has second derivatives."""
    if is_piecewise(problem.loss, problem.rows.y) or is_registered(losses.second, problem.loss):
        return ""
    return f"{type(unwrapped(problem.loss)).__name__} has no losses.second"


def has_missing(problem: Problem) -> bool:
    """Whether the loss of a node is constant."""
    if problem.is_plain:
        return False
    nodes = nodes_of(problem)
    return bool(((nodes.rate * nodes.x == 0.0) & (nodes.gamma == 0.0)).any())


def limits_of(problem: Problem) -> np.ndarray:
    """``nu weights_k`` of each entry of an L1 or ChainTV penalty."""
    nu, weights = problem.penalty
    if weights is not None:
        return nu * weights
    return np.full(problem.p - isinstance(problem.penalty, penalties.ChainTV), nu)


def quadratic(nodes: Nodes, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """The h and t with which the squared losses are ``h_i (w_i - t_i)^2 / 2``."""
    pull = nodes.rate * nodes.x
    h = pull * nodes.x + nodes.gamma
    return h, np.divide(pull * (nodes.y - shift), h, out=np.zeros_like(h), where=h > 0.0)


def second_order(nodes: Nodes, shift: float, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradient g of the losses, and the h and t of their second-order model at w, ``h_i (x - t_i)^2 / 2``."""
    slopes, seconds = np.empty((2, len(w)))
    losses.derivatives(nodes.loss, nodes.x * w + shift, nodes.y, nodes.rate, slopes, seconds)
    seconds = np.where(seconds > 0.0, seconds, nodes.rate * nodes.flat)
    g, h = nodes.gamma * w + nodes.x * slopes, nodes.gamma + nodes.x * nodes.x * seconds
    return g, h, np.where(h > 0.0, w - np.divide(g, h, out=np.zeros_like(h), where=h > 0.0), 0.0)


def value_of_nodes(nodes: Nodes, shift: float, w: np.ndarray) -> float:
    """The losses and the ridge at w."""
    of_losses = len(w) * losses.mean_value(nodes.loss, nodes.x * w + shift, nodes.y, nodes.rate)
    return float(of_losses + 0.5 * (nodes.gamma * w) @ w)


def is_piecewise(loss: Any, y: np.ndarray) -> bool:
    """Whether a loss is piecewise linear or quadratic."""
    return bool(losses.pieces(loss, y[:0]))


def pieces_of(nodes: Nodes, shift: float) -> Pieces:
    """The derivatives of the losses in w: ``rate x`` times those in ``z = x w + shift``, or in -z where x < 0."""
    sign = np.where(nodes.x < 0.0, -1.0, 1.0) if (nodes.x < 0.0).any() else 1.0
    x, shifts = sign * nodes.x, sign * shift
    pull = nodes.rate * x
    slope, level, knots = nodes.gamma.copy(), np.zeros(len(x)), []
    with np.errstate(divide="ignore", invalid="ignore"):
        for piece in losses.pieces(nodes.loss, nodes.y):
            (rise, jump), *following = lines_of(piece, sign)
            slope += pull * x * rise
            level += pull * (rise * shifts + jump)
            for place, rise, jump in following:
                found = (place - shifts) / x, pull * x * rise, pull * (rise * shifts + jump)
                is_knot = np.isfinite(place) & (pull != 0.0)
                knots.append([np.where(is_knot, field, none) for field, none in zip(found, NO_KNOT, strict=True)])
    fields: np.ndarray = np.array(knots)
    fields = fields[np.isfinite(fields[:, 0]).any(axis=1)]
    if (fields[1:, 0] < fields[:-1, 0]).any():
        fields = np.take_along_axis(fields, np.argsort(fields[:, :1], axis=0, kind="stable"), axis=0)
    return Pieces(slope, level, *np.ascontiguousarray(fields.transpose(1, 2, 0)))


def lines_of(piece: Piece, sign: Any) -> tuple[Any, Any, Any]:
    """The derivative of a piece in ``sign z``: its first line, and two knots with what each adds to it."""
    low, high = (np.where(sign > 0.0, *ends) for ends in ((piece.low, -piece.high), (piece.high, -piece.low)))
    kink, stiff = sign * piece.kink, np.where(np.equal(piece.flex, 0.0), 0.0, np.divide(1.0, piece.flex))
    has_no_flat, is_bent = low == -math.inf, stiff > 0.0
    first = np.where(has_no_flat, stiff, 0.0), np.where(has_no_flat, -stiff * kink, low)
    one = kink + piece.flex * low, stiff, np.where(is_bent, -stiff * kink - low, high - low)
    other = np.where(is_bent, kink + piece.flex * high, math.inf), -stiff, stiff * kink + high
    return first, one, other


def in_balance(nodes: Nodes, w: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """The slope of each loss that, with the ridge, is in balance with ``A'theta``; 0 where there is none."""
    of_slope = nodes.rate * nodes.x
    return np.divide(pull - nodes.gamma * w[: len(pull)], of_slope, out=np.zeros_like(pull), where=of_slope != 0.0)
