"""The rows in the augmented Lagrangian method: the Moreau envelopes of their losses, with derivatives.

In Newton's matrix a row counts by the curvature of its envelope: for the hinge loss, only the rows at the kink count.
If these are many more than features, an evenly spaced sample of them is used, with larger weights.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ... import losses
from ..._core.threads import side_by_side
from ...linalg.system import System
from ...problem import Problem
from ...rows import matrices, products, selections
from ...rows.matrices import Rows
from ..units import Units
from .lagrangian import PROBE, TINY

REACH = 3.0  # steps as long as the last one after which a row that is left out must still have the same slope
FEW = 0.5  # of the rows: where fewer may change their slopes, the others are left out
LOADED = 2**26  # entries of rows that are loaded for that: 512 MiB
MORE_ROWS = 3  # Newton steps of a minimum after which the rows in Newton's matrix double


class Envelopes(NamedTuple):
    """The Moreau envelope of each row's loss, at ``X w + u``."""

    loss: tuple
    y: np.ndarray
    c: np.ndarray
    Xw: np.ndarray
    u: np.ndarray
    beta_z: float


class RowTerms:
    """The envelopes of all rows in memory, or of those ``chosen`` ones whose slopes may still change.

    At first ``most`` rows are enough in Newton's matrix; ``phase`` says which. The predictions are ``Xw``, their proxes
    ``z``, and ``unit`` is the second derivative of a row with the curvature 1.
    """

    def __init__(
        self,
        X: Rows,
        envelopes: Envelopes,
        most: int = 0,
        phase: int = 0,
        chosen: np.ndarray | slice = slice(None),
    ) -> None:
        self.X, self.envelopes, self.most, self.phase, self.chosen = X, envelopes, most, phase, chosen
        self.Xw, self.z, self.unit = envelopes.Xw, np.empty_like(envelopes.Xw), envelopes.beta_z
        self.is_smooth = losses.is_smooth(envelopes.loss)
        # The prox of a loss with kinks is so cheap that threads are not worth it as soon as for products with X.
        self.pieces = products.pieces(X) if self.is_smooth else products.pieces_of_rows(X.shape[0])
        self.others = np.zeros(self.X.shape[1])  # the pull of the rows that are left out

    def slopes(self) -> np.ndarray:
        """The slope of each envelope, with the weight of its row; also sets z."""
        slopes = np.empty_like(self.z)
        side_by_side(partial(slopes_of_rows, self.envelopes, self.z, slopes), self.pieces)
        return slopes

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        """The gradient of these terms, times n, for these slopes."""
        products.transposed_product(self.X, slopes, pull := np.empty(self.X.shape[1]))
        return pull + self.others

    def product(self, p: np.ndarray) -> np.ndarray:
        """``X p``."""
        products.product(self.X, p, Xp := np.empty_like(self.z))
        return Xp

    def move_to(self, w: np.ndarray) -> None:
        """Set the predictions to ``X w``."""
        products.product(self.X, w, self.Xw)

    def riding(self) -> contextlib.AbstractContextManager[None]:
        """A context whose passes over rows that are not in memory evaluate these terms as well (`StreamedRows`)."""
        return contextlib.nullcontext()

    def slope(self, p: np.ndarray, Xp: np.ndarray, length: float) -> float:
        """The derivative along p after a step of this length, times n."""
        of_pieces = side_by_side(partial(slope_of_rows, self.envelopes, Xp, length), self.pieces)
        return sum(of_pieces) + float(self.others @ p)

    def curvature(self) -> np.ndarray:
        """The second derivative of each envelope over ``unit``, with the weight of its row, after `slopes`."""
        out = np.empty_like(self.z)
        side_by_side(partial(curvature_of_rows, self.envelopes, self.z, out), self.pieces)
        return out

    def weights(self, step: int) -> np.ndarray:
        """The same with larger weights for some rows, which stand for all others in Newton's matrix."""
        return spread(self.curvature(), 2 ** (step // MORE_ROWS) * self.most, self.phase)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """The lower triangle of ``X' diag(weights) X``."""
        products.add_lower_gram(self.X, weights, gram := np.zeros((self.X.shape[1], self.X.shape[1])))
        return gram

    def near(self, step: np.ndarray, pull: np.ndarray) -> RowTerms:
        """These terms without the rows that keep their slopes while predictions move a few times as far as ``step``.

        ``pull`` is that of these terms. Nothing is left out if that would save little, or if the loss is smooth.
        """
        if self.is_smooth:
            return self
        bends = np.empty(len(step), dtype=bool)
        side_by_side(partial(may_bend, self.envelopes, step, REACH, REACH * np.mean(np.abs(step)), bends), self.pieces)
        chosen = np.flatnonzero(bends)
        if len(chosen) > FEW * len(step) or (matrices.is_streamed(self.X) and len(chosen) * self.X.shape[1] > LOADED):
            return self
        e = self.envelopes
        few = e._replace(y=e.y[chosen], c=e.c[chosen], Xw=e.Xw[chosen], u=e.u[chosen])
        near = RowTerms(selections.taken(self.X, chosen), few, self.most, self.phase, chosen)
        near.others = pull - near.pull(near.slopes())
        return near


class RowEnvelopes:
    """`lagrangian.Smooth` for these terms and the ridge."""

    def __init__(self, problem: Problem, units: Units, rows: RowTerms) -> None:
        self.problem, self.units, self.all_rows, self.rows = problem, units, rows, rows

    def gradient(self, w: np.ndarray) -> np.ndarray:
        self.pull = self.rows.pull(self.rows.slopes())
        return self.pull / self.problem.n + self.problem.gamma * w

    def cost(self, gradient: np.ndarray, w: np.ndarray) -> float:
        """In the dual value; without a ridge, for a w of the expected size."""
        gamma = self.problem.gamma
        with np.errstate(divide="ignore"):
            of_size = np.abs(gradient) * (np.abs(w) + self.units.reach)
            return float(np.sum(np.where(gamma > 0.0, gradient**2 / (2.0 * gamma), of_size)))

    def factored(self, edges: np.ndarray, bends: np.ndarray | None, step: int) -> System:
        system, weights = self.problem.system, np.zeros(self.problem.n)
        weights[self.rows.chosen] = own = self.rows.unit / self.problem.n * self.rows.weights(step)
        if matrices.is_streamed(self.problem.rows.X):
            system.know(weights, self.rows.gram(own))
        system.factor(weights, edges, self.units.ridge, bends)
        return system

    def product(self, p: np.ndarray) -> np.ndarray:
        return self.rows.product(p)

    def slope(self, w: np.ndarray, p: np.ndarray, product: np.ndarray, length: float) -> float:
        ridge = self.problem.gamma * (w + length * p)
        return self.rows.slope(p, product, length) / self.problem.n + float(ridge @ p)

    def move(self, length: float, product: np.ndarray) -> None:
        if self.rows is self.all_rows:
            self.rows = self.all_rows.near(max(length, 1.0) * product, self.pull)
            product = product[self.rows.chosen]
        self.rows.Xw += length * product

    def complete(self, w: np.ndarray) -> bool:
        if self.rows is self.all_rows:
            return False
        self.rows = self.all_rows
        self.rows.move_to(w)
        return True

    @property
    def error(self) -> np.ndarray:
        """``X w - z`` at the minimum."""
        return self.all_rows.Xw - self.all_rows.z


def spread(curvature: np.ndarray, most: int, phase: int) -> np.ndarray:
    """The weights of about ``most`` evenly spaced rows that stand for all rows with curvature; 0 for the others."""
    curved = np.flatnonzero(curvature)
    every = max(1, len(curved) // most)
    if every == 1:
        return curvature
    used = curved[phase % every :: every]
    weights = np.zeros_like(curvature)
    weights[used] = curvature[used] * (curvature.sum() / curvature[used].sum())
    return weights


# --- the derivatives, for a slice of the rows ------------------------------------------------------------------------


def slopes_of_rows(e: Envelopes, z: np.ndarray, out: np.ndarray, rows: slice) -> None:
    """Write each row's prox to ``z``, and the slope of its envelope, with its weight, to ``out``."""
    target = e.Xw[rows] + e.u[rows]
    z[rows] = proxes(e, target, rows)
    np.multiply(e.beta_z * e.c[rows], target - z[rows], out=out[rows])


def curvature_of_rows(e: Envelopes, z: np.ndarray, out: np.ndarray, rows: slice) -> None:
    """The second derivative of each row's envelope over beta_z, with its weight: 1 - the derivative of the prox."""
    target = e.Xw[rows] + e.u[rows]
    step = PROBE * (np.abs(target) + np.abs(target - z[rows])) + TINY
    curvature = 1.0 - (proxes(e, target + step, rows) - z[rows]) / step
    out[rows] = np.where(curvature > PROBE, e.c[rows] * np.minimum(curvature, 1.0), 0.0)


def slope_of_rows(e: Envelopes, Xp: np.ndarray, length: float, rows: slice) -> float:
    """The derivative of the sum of the envelopes along p after a step of this length."""
    target = e.Xw[rows] + length * Xp[rows] + e.u[rows]
    return e.beta_z * float(np.add.reduce(e.c[rows] * (target - proxes(e, target, rows)) * Xp[rows]))


def may_bend(e: Envelopes, Xp: np.ndarray, reach: float, least: float, out: np.ndarray, rows: slice) -> None:
    """Which rows' envelopes have curvature within ``reach |Xp| + least`` of their targets: slopes never fall."""
    target, far = e.Xw[rows] + e.u[rows], reach * np.abs(Xp[rows]) + least
    above, below = proxes(e, target + far, rows), proxes(e, target - far, rows)
    out[rows] = (e.c[rows] > 0.0) & (2.0 * far - (above - below) > PROBE * PROBE * far)


def proxes(e: Envelopes, target: np.ndarray, rows: slice) -> np.ndarray:
    """The prox of the loss of each row."""
    return losses.each(losses.prox, e.loss, target, 1.0 / e.beta_z, e.y[rows])


# --- rows of a source ------------------------------------------------------------------------------------------------

# A Newton step needs ``X p``, then the gradient and Newton's matrix after the step. A full step is what usually
# follows, so one pass finds all of them; after a shorter step, a second pass is needed.


class StreamedRows(RowTerms):
    """The envelopes of all rows of a source; the rows in Newton's matrix are spread over all blocks."""

    def __init__(self, X: Rows, envelopes: Envelopes, most: int, phase: int) -> None:
        super().__init__(X, envelopes, most, phase)
        self.evaluations, self.of_matrix = 0, np.zeros(0)
        self.begin()

    def begin(self) -> None:
        """Begin a pass: the sums over the rows are 0."""
        d = self.X.shape[1]
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []
        self.sum, self.of_X = np.zeros(d), np.zeros((d, d))

    def add(self, of_block: tuple[np.ndarray, ...]) -> None:
        """Add what `evaluated` finds for the next block."""
        Xp, weights, pull, gram = of_block
        self.parts.append((Xp, weights))
        self.sum += pull
        self.of_X += gram

    def finish(self) -> np.ndarray:
        """All blocks are there: the evaluation is that at ``Xw + Xp``. Returns ``X p``."""
        Xp, self.of_matrix = map(np.concatenate, zip(*self.parts, strict=True))
        self.at = self.Xw + Xp
        self.evaluations += 1
        return Xp

    @contextlib.contextmanager
    def riding(self) -> Iterator[None]:
        """If something reads the rows inside this context, these terms are evaluated in the same pass."""
        with matrices.riding(self.X, self._of_block(None), self.add, *self._vectors) as rider:
            yield
        if rider.is_done:
            self.finish()

    def product(self, p: np.ndarray | None) -> np.ndarray:
        """``X p``, or 0 without p; the same pass evaluates the point after a full step along p."""
        self.begin()
        for _, of_block in matrices.each_block(self.X, self._of_block(p), *self._vectors):
            self.add(of_block)
        return self.finish()

    def move_to(self, w: np.ndarray) -> None:
        self.Xw[:] = 0.0
        self.Xw[:] = self.product(w)

    def pull(self, slopes: np.ndarray) -> np.ndarray:
        self._evaluate()
        return self.sum

    def weights(self, step: int) -> np.ndarray:
        self._evaluate()
        return self.of_matrix

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return self.unit / self.X.shape[0] * self.of_X

    def _evaluate(self) -> None:
        """A pass, unless the last one has evaluated the present predictions."""
        if self.evaluations == 0 or not np.array_equal(self.at, self.Xw):
            self.product(None)

    @property
    def _vectors(self) -> tuple[np.ndarray, ...]:
        e = self.envelopes
        return e.Xw, e.u, e.y, e.c

    def _of_block(self, p: np.ndarray | None) -> partial:
        """`evaluated` as a function of a block and its part of `_vectors`. It may go to a worker: it holds no rows."""
        nothing, share = np.empty(0), 2 ** (self.evaluations // MORE_ROWS) * self.most / self.X.shape[0]
        e = self.envelopes._replace(y=nothing, c=nothing, Xw=nothing, u=nothing)
        return partial(evaluated, e, p, (share, self.phase))


def evaluated(
    e: Envelopes,
    p: np.ndarray | None,
    chosen: tuple[float, int],
    block: Rows,
    Xw: np.ndarray,
    u: np.ndarray,
    y: np.ndarray,
    c: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """``X p`` of a block, and its part of a pass after a full step along p.

    ``chosen`` is the share of the rows that Newton's matrix needs, and the position of the first of them.
    """
    n, d = block.shape
    Xp, z, slopes, curvature = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    if p is not None:
        products.product(block, p, Xp)
    e, every_row, (share, phase) = e._replace(y=y, c=c, Xw=Xw + Xp, u=u), slice(0, n), chosen
    slopes_of_rows(e, z, slopes, every_row)
    curvature_of_rows(e, z, curvature, every_row)
    products.transposed_product(block, slopes, pull := np.empty(d))
    weights = spread(curvature, max(1, round(share * n)), phase)
    products.add_lower_gram(block, weights, gram := np.zeros((d, d)))
    return Xp, weights, pull, gram
