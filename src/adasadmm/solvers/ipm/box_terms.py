"""Losses and penalties as sums of box terms: the form that the interior-point method works on.

A box term of a row's value u (a prediction ``<x_i, w>``, or an entry of ``A w - b``) is

    max over low <= t <= high of  t (u - kink) - flex t^2 / 2.

The absolute value has the box [-1, 1]; a hinge has [-1, 0]; a bound has a box with an infinite end; a loss that is
quadratic near its minimum and linear far from it has flex > 0. A row may have several terms. To let the method take a
new piecewise linear loss or a new penalty, register its terms with `losses.pieces` or `penalty_pieces`. Euclidean norms
of groups are no box terms, but second-order cones (`cone_terms`).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import penalties
from ..._core.jit import unwrapped
from ...losses import Squared, pieces
from ...losses._generic import Piece
from ...penalties import L1, Box, ElasticNet, GroupL2, L2Squared, NonNegative, Zero
from ...problem import Problem
from .cone_terms import NO_CONES, Cones, joined

__all__ = ["Shape", "Terms", "curvature_of", "loss_pieces", "penalty_pieces", "terms_of", "terms_of_loss"]

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # the fields of some `Terms`


class Shape(NamedTuple):
    """A penalty: ``curvature/2 v_k^2`` and box terms of each coordinate, and norms of groups of coordinates."""

    pieces: Sequence[Piece] = ()
    curvature: float = 0.0
    norms: Cones = NO_CONES


@dataclasses.dataclass(frozen=True, eq=False)
class Terms:
    """All box terms of a problem, and its cones. Rows of A are counted after the rows of X.

    ``share`` is the share of a term in the complementarity that a step aims at. That of a row of X grows with its
    weight, so that a row of weight 2 leads to the same steps as two equal rows.
    """

    row: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kink: np.ndarray
    flex: np.ndarray
    share: np.ndarray
    cones: Cones

    @functools.cached_property
    def place(self) -> slice | np.ndarray:
        """The rows of the terms, as a slice if these are all rows of a range, one after the other."""
        first, number = int(self.row[0]) if len(self.row) else 0, len(self.row)
        in_order = np.array_equal(self.row, np.arange(first, first + number))
        return slice(first, first + number) if in_order else self.row

    def of(self, rows: np.ndarray) -> np.ndarray:
        """The entry of each term's row."""
        return rows[self.place]

    def add(self, values: np.ndarray, rows: np.ndarray) -> None:
        """Add a value for each term to the entry of its row."""
        if isinstance(self.place, slice):
            rows[self.place] += values
        else:
            rows += np.bincount(self.row, values, len(rows))

    @functools.cached_property
    def ends(self) -> np.ndarray:
        """Which terms have a finite high end, and which a finite low end."""
        return np.isfinite([self.high, self.low])

    @functools.cached_property
    def shares(self) -> np.ndarray:
        """The share of each end; 0 if it is infinite."""
        return self.share * self.ends


# --- losses ----------------------------------------------------------------------------------------------------------


def loss_pieces(loss: Any, y: np.ndarray) -> Sequence[Piece]:
    """The box terms of a loss at targets y; none for a loss that the method treats by its second derivative."""
    return () if isinstance(unwrapped(loss), Squared) else pieces(loss, y)


# --- penalties -------------------------------------------------------------------------------------------------------


@functools.singledispatch
def penalty_pieces(penalty: Any) -> Shape | None:
    """A penalty as a quadratic and box terms of each coordinate, and norms of groups; None if it is no such sum."""
    return None


@penalty_pieces.register
def pieces_of_zero(penalty: Zero) -> Shape:
    return Shape()


@penalty_pieces.register
def pieces_of_l1(penalty: L1) -> Shape:
    limit = penalty.nu * (1.0 if penalty.weights is None else np.asarray(penalty.weights))
    return Shape((Piece(-limit, limit),))


@penalty_pieces.register
def pieces_of_elastic_net(penalty: ElasticNet) -> Shape:
    limit = penalty.nu * penalty.l1_ratio
    return Shape((Piece(-limit, limit),), penalty.nu * (1.0 - penalty.l1_ratio))


@penalty_pieces.register
def pieces_of_l2_squared(penalty: L2Squared) -> Shape:
    return Shape(curvature=penalty.nu)


@penalty_pieces.register
def pieces_of_groups(penalty: GroupL2) -> Shape:
    weights = np.ones(len(penalty.starts) - 1) if penalty.weights is None else np.asarray(penalty.weights)
    return Shape(norms=Cones(penalty.members, penalty.starts, penalty.nu * weights))


@penalty_pieces.register
def pieces_of_non_negative(penalty: NonNegative) -> Shape:
    return Shape((Piece(-math.inf, 0.0),))


@penalty_pieces.register
def pieces_of_box(penalty: Box) -> Shape:
    """A term for each finite bound; where both are equal, a single one with a free t."""
    lower, upper = np.asarray(penalty.lower, dtype=float), np.asarray(penalty.upper, dtype=float)
    equal = lower == upper
    below = Piece(np.where(np.isfinite(lower), -math.inf, 0.0), np.where(equal, math.inf, 0.0), _finite(lower))
    above = Piece(0.0, np.where(np.isfinite(upper) & ~equal, math.inf, 0.0), _finite(upper))
    return Shape((below, above))


def _finite(bound: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(bound), bound, 0.0)


# --- a problem -------------------------------------------------------------------------------------------------------


def terms_of(problem: Problem) -> Terms:
    """The box terms and cones of a problem's loss and penalty; rows of weight 0 have none."""
    found, norms = _columns_of_loss(problem), []
    for part, rows in penalties.parts_of(problem.penalty, problem.p):
        shape = penalty_pieces(part)
        assert shape is not None
        found += [_placed(piece, problem.n + rows) for piece in shape.pieces]
        cones = dataclasses.replace(shape.norms, row=problem.n + rows[shape.norms.row])
        single = cones.sizes == 1  # as in the L1 norm
        limit = cones.radius[single]
        found.append(_placed(Piece(-limit, limit), cones.row[cones.starts[:-1][single]]))
        norms.append(cones.taken((cones.sizes > 1) & (cones.radius > 0.0)))
    return Terms(*_joined(found), joined(norms))


def terms_of_loss(problem: Problem) -> Terms:
    """The box terms of a problem's loss alone."""
    found = _columns_of_loss(problem)
    return Terms(*_joined(found), NO_CONES)


def _joined(found: list[Columns]) -> Columns:
    """The columns of all terms."""
    nothing = np.empty(0)
    row, low, high, kink, flex, share = (
        np.concatenate(columns) for columns in zip((nothing.astype(np.int64), *[nothing] * 5), *found, strict=True)
    )
    return row, low, high, kink, flex, share


def curvature_of(problem: Problem) -> np.ndarray:
    """The second derivative of the penalty's quadratic part, for each coordinate of v."""
    found = np.zeros(problem.p)
    for part, rows in penalties.parts_of(problem.penalty, problem.p):
        shape = penalty_pieces(part)
        assert shape is not None
        found[rows] = shape.curvature
    return found


def _columns_of_loss(problem: Problem) -> list[Columns]:
    weight, total = problem.rows.c / problem.n, float(problem.d + problem.m)  # no number of rows: see `Terms.share`
    return [_weighted(piece, weight, total) for piece in loss_pieces(problem.loss, problem.rows.y)]


def _weighted(piece: Piece, weight: np.ndarray, total: float) -> Columns:
    """A piece of the loss: t is in units of the weighted loss, and the shares have this sum over all rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (np.where(weight > 0.0, weight * end, 0.0) for end in (piece.low, piece.high))
        flex = np.where(weight > 0.0, piece.flex / weight, 0.0)
    return _placed(Piece(low, high, piece.kink, flex), np.arange(len(weight)), total * weight)


def _placed(piece: Piece, rows: np.ndarray, share: np.ndarray | float = 1.0) -> Columns:
    """The columns of `Terms` of a piece, without rows that have no term."""
    fields = [np.broadcast_to(np.asarray(field, dtype=float), rows.shape) for field in (*piece, share)]
    kept = fields[0] < fields[1]
    low, high, kink, flex, share = (field[kept] for field in fields)
    return rows[kept].astype(np.int64), low, high, kink, flex, share
