"""The problem, as the paper states it, and what can be said of a point of it.

min  1/n sum_i c_i loss(<x_i, w>, y_i) + 1/2 sum_j gamma_j w_j^2 + phi(v)   s.t.  A w + B v = b,  w in W
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import losses, penalties
from .linalg import matrices, products
from .linalg.matrices import CSR, as_csr, as_part, as_vector, to_scipy
from .penalties.gates import as_gamma, as_penalty, as_set, checked
from .sources import RawBlock, Source, blocks
from .sources._calls import Memory, OnConvertedBlocks, OnSingleBlock, Work
from .sources.blocks import Block, BlockConverter

__all__ = ["Block", "NegativeIdentity", "Problem"]


class NegativeIdentity(NamedTuple):
    """``B = -I``: v is what the constraint makes of w."""


class GeneralB(NamedTuple):
    """Any B, with a curvature ``c_k`` for each coordinate of v: ``beta diag(c)`` stands for ``beta B'B``.

    Where B'B is c I (on all of v, or on each part of a stack) that is exact, else ``c = |B|^2`` majorises it.
    """

    B: CSR
    curvature: np.ndarray


class Problem:
    """A loss over rows, a penalty of v, and the linear constraint that joins w and v.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or a source
        A source (`adasadmm.sources`) has its own targets and weights, and is read block by block. An array of
        floats is not copied: do not change it while the problem is in use.
    y : array of shape (n,)
        Labels -1 and +1 for `Hinge`, `SquaredHinge`, `Logistic`; counts for `Poisson`; any numbers else.
    loss, penalty : NamedTuple
        Those of `adasadmm.losses` and `adasadmm.penalties`, or your own.
    A : array or sparse matrix of shape (m, d)
    B : array or sparse matrix of shape (m, p), optional
        By default -I, so that ``v = A w - b``.
    b : array of shape (m,), optional
    gamma : float or array of shape (d,)
        The ridge. 0 leaves a coordinate free, an intercept for example.
    w_set : a set of `adasadmm.penalties`, optional
    sample_weight : array of shape (n,), optional
        A weight of 2 is a row that stands twice.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Hinge, L1, Problem
    >>> problem = Problem(np.eye(2), [1, -1], loss=Hinge(), penalty=L1(0.5), A=[[1.0, -1.0]])
    >>> problem.objective([0.5, -0.5])
    1.0
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        loss: Any,
        penalty: Any,
        A: Any,
        B: Any = None,
        b: Any = None,
        gamma: Any = 0.0,
        w_set: Any = None,
        sample_weight: Any = None,
    ) -> None:
        self.source: Any = X if isinstance(X, Source) else None
        self.rows: Any = None
        if self.source is None:
            self.rows = blocks.as_block(X, y, sample_weight)
            self.n, self.d = self.rows.X.shape
        elif y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight must be None beside a source, which has its own")
        else:
            self.n, self.d = self.source.shape
        self.loss = checked(losses, as_part(loss, "loss"), "loss", ("value", "slope"))
        losses.check(self.loss, self.first_rows.y)
        self.A = as_csr(A, "A")
        if self.A.columns != self.d:
            raise ValueError(f"A must have a column for each of the {self.d} features, got shape {self.A.shape}")
        self.m = self.A.shape[0]
        self.B = None if B is None else as_csr(B, "B")
        if self.B is not None and self.B.shape[0] != self.m:
            raise ValueError(f"B must have as many rows as A, {self.m}, got shape {self.B.shape}")
        self.b = np.zeros(self.m) if b is None else as_vector(b, self.m, "b")
        self.gamma = as_gamma(gamma, self.d)
        self.penalty = as_penalty(penalty, self.m if self.B is None else self.B.columns, "penalty")
        self.w_set = None if w_set is None else as_set(w_set, self.d)
        self._remembered: dict[bytes, float] = {}  # losses at points, for a source
        self.w_copy: slice | None = None  # where v holds a copy of w that lies inside w's set

    def __repr__(self) -> str:
        return (
            f"Problem({self.n} rows, {self.d} features, {self.m} constraints, "
            f"loss={type(self.loss).__name__}, penalty={type(self.penalty).__name__})"
        )

    # --- what a point is worth ---------------------------------------------------------------------------------------

    def objective(self, w: Any, v: Any = None) -> float:
        """The objective at w and v; v by default what the constraint makes of w. Indicators of sets count 0."""
        w = as_vector(w, self.d, "w")
        if v is None:
            v = self.v_of(w)
            if v is None:
                raise ValueError("B does not make v a function of w: give v")
        v = as_vector(v, self.p, "v")
        return self.loss_at(w)[0] + self.ridge_value(w) + self.penalty_value(v)

    def predictions(self, w: np.ndarray) -> np.ndarray:
        """``X w``. The last one in memory is kept: trace, stopping rule and certificate ask for the same point."""
        known = self.__dict__.get("_last_predictions")
        if known is not None and np.array_equal(known[0], w):
            return known[1].copy()
        z = np.empty(self.n)
        for rows, block in self.blocks():
            products.product(block.X, w, z[rows])
        if self.source is None:
            self.remember(w, z)
        return z

    def remember(self, w: np.ndarray, predictions: np.ndarray) -> None:
        """``X w``, from one who knows it."""
        self._last_predictions = (w.copy(), predictions.copy())

    def loss_at(self, *points: np.ndarray) -> list[float]:
        """``1/n sum_i c_i loss(<x_i, w>, y_i)`` at each w, in one pass; of a source the last ones are remembered."""
        if self.source is None:
            y, c = self.rows.y, self.rows.c
            return [float(losses.mean_value(self.loss, self.predictions(w), y, c)) for w in points]
        keys = [w.tobytes() for w in points]
        if not all(key in self._remembered for key in keys):
            self._remembered = dict(zip(keys, self._loss_at(points), strict=True))
        return [self._remembered[key] for key in keys]

    def _loss_at(self, points: Sequence[np.ndarray]) -> list[float]:
        values = np.zeros(len(points))
        for found in self.each(_mean_losses, self.loss, self.n, points):
            values += found
        return values.tolist()

    @functools.cached_property
    def loss_at_zero(self) -> float:
        return self._loss_at([np.zeros(self.d)])[0]

    def ridge_value(self, w: np.ndarray) -> float:
        return 0.5 * float(self.gamma @ (w * w))

    def penalty_value(self, v: np.ndarray) -> float:
        return float(penalties.total_value(self.v_step[1], v))

    def residual(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """``A w + B v - b``."""
        return self.times_A(w) + self.times_B(v) - self.b

    def v_of(self, w: np.ndarray) -> np.ndarray | None:
        """The v that solves ``A w + B v = b``, or None where B does not determine one for every w."""
        rhs = self.b - self.times_A(w)
        if self.B is None:
            return -rhs
        return None if self._inverse_B is None else self._inverse_B @ rhs

    # --- the rows ----------------------------------------------------------------------------------------------------

    @property
    def on_workers(self) -> bool:
        """Whether the rows are on the workers of a cluster."""
        return self.source is not None and self.source.on_workers

    def blocks(self) -> Iterator[tuple[slice, Block]]:
        """All rows, block after block, and which of the n they are: one block in memory, many from a source."""
        if self.source is None:
            yield slice(0, self.n), self.rows
        else:
            yield from blocks.of_source(self.source, self.loss)

    def block_of(self, raw: RawBlock) -> Block:
        """What a source gave as a block of this problem."""
        return blocks.of_raw_block(raw, self.source.summary, self.loss)

    def each(
        self, function: Any, *common: Any, memory: Memory | None = None, partitions: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """``function(block, remembered, *common)`` for each block, in order, on the worker that has it (`Source.each`).

        ``partitions``, for blocks on workers: only these.
        """
        if self.on_workers:
            chosen = range(len(self.source)) if partitions is None else partitions
            yield from self.map_partitions(OnSingleBlock(function), [([k], common) for k in chosen], memory)
            return
        for k, (_, block) in enumerate(self.blocks()):
            yield function(block, {} if memory is None else memory.of(k), *common)

    def map_partitions(
        self, function: Callable[..., Any], work: Sequence[Work], memory: Memory | None, shared: object = None
    ) -> Iterator[Any]:
        """``function(blocks, remembered, *common)`` for each work item, on the workers (`Source.map_partitions`)."""
        convert = BlockConverter.of(self.source, self.loss)
        return self.source.map_partitions(OnConvertedBlocks(convert, function), work, memory, shared)

    @property
    def first_rows(self) -> Block:
        """Enough rows to know their kind and size: all that are in memory, or the first ones of a source."""
        return self.rows if self.source is None else self._first_of_source

    @functools.cached_property
    def _first_of_source(self) -> Block:
        return blocks.first_of_source(self.source, self.loss)

    # --- the constraint ----------------------------------------------------------------------------------------------

    @property
    def p(self) -> int:
        """The length of v."""
        return self.m if self.B is None else self.B.columns

    def times_A(self, w: np.ndarray) -> np.ndarray:
        out = np.empty(self.m)
        products.product(self.A, w, out)
        return out

    def times_A_transposed(self, theta: np.ndarray) -> np.ndarray:
        out = np.empty(self.d)
        products.transposed_product(self.A, theta, out)
        return out

    def times_B(self, v: np.ndarray) -> np.ndarray:
        return -v if self.B is None else to_scipy(self.B) @ v

    def times_B_transposed(self, theta: np.ndarray) -> np.ndarray:
        return -theta if self.B is None else to_scipy(self.B).T @ theta

    @functools.cached_property
    def column_sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of ``c_i |x_ij|`` and the sum of ``|A_kj|`` for each column j."""
        of_rows = np.empty(self.d)
        products.transposed_product(matrices.absolute(self.rows.X), self.rows.c / self.n, of_rows)
        return of_rows, np.asarray(abs(to_scipy(self.A)).sum(axis=0)).reshape(-1)

    @functools.cached_property
    def _inverse_B(self) -> np.ndarray | None:
        """The inverse of a square B; None where there is none."""
        if self.B is None or self.m != self.p:
            return None
        dense = to_scipy(self.B).toarray()
        return np.linalg.inv(dense) if self.m == 0 or np.linalg.cond(dense) < 1e12 else None

    @functools.cached_property
    def v_step(self) -> tuple[Any, Any, float]:
        """B and the penalty in the form of the loop, and the factor that belongs to the penalty's tau."""
        parts = penalties.parts_of(self.penalty, self.p)
        if self.B is None:
            curvatures = [1.0] * len(parts)
            kernel_B: Any = NegativeIdentity()
        else:
            taken = [rows for _, rows in parts]
            free = np.setdiff1d(np.arange(self.p), np.concatenate([*taken, np.empty(0, np.int64)]))
            *curvatures, of_free = _curvatures(to_scipy(self.B), [*taken, free])
            along = np.full(self.p, of_free)
            for rows, curvature in zip(taken, curvatures, strict=True):
                along[rows] = curvature
            kernel_B = GeneralB(self.B, along)
        if isinstance(self.penalty, penalties.Stack):
            return kernel_B, penalties.linked(self.penalty, self.p, [1.0 / c for c in curvatures]), 1.0
        return kernel_B, self.penalty, 1.0 / curvatures[0]

    def with_penalty(self, penalty: Any) -> Problem:
        """The same problem with another penalty; the rows are shared."""
        other = self._copied_without("v_step", "w_set_split")
        other.penalty = as_penalty(penalty, self.p, "penalty")
        return other

    def sampled(self, count: int) -> Problem:
        """The same problem on this many of its rows, drawn once and for all; itself where it has no more."""
        counted = np.flatnonzero(self.rows.c)
        if count >= len(counted):
            return self
        chosen = np.sort(np.random.default_rng(self.n).choice(counted, count, replace=False))
        few = self._copied_without("loss_at_zero", "column_sizes", "_last_predictions", "w_set_split")
        weight = self.rows.c[chosen]
        few.n = count
        few.rows = Block(matrices.taken(self.rows.X, chosen), self.rows.y[chosen], weight / weight.mean())
        return few

    @functools.cached_property
    def w_set_split(self) -> Problem:
        """The same problem with a copy of w inside its set: I stacked under A, the projection as penalty."""
        split = self._copied_without("_inverse_B", "column_sizes", "v_step")
        split.A = as_csr(sp.vstack([to_scipy(self.A), sp.eye_array(self.d)]), "A")
        split.b = np.concatenate([self.b, np.zeros(self.d)])
        split.m = self.m + self.d
        if self.B is not None:
            split.B = as_csr(sp.block_diag([to_scipy(self.B), -sp.eye_array(self.d)]), "B")
        copies = [(part, self.p + rows) for part, rows in penalties.parts_of(self.w_set, self.d)]
        split.penalty = penalties.Stack((*penalties.parts_of(self.penalty, self.p), *copies))
        split.w_set, split.w_copy = None, slice(self.p, self.p + self.d)
        return split

    def _copied_without(self, *names: str) -> Problem:
        """The same problem, without what is known of it and would not hold."""
        other = object.__new__(Problem)
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name not in names})
        return other


def _mean_losses(block: Block, remembered: dict, loss: Any, n: int, points: Sequence[np.ndarray]) -> np.ndarray:
    """The share of a block in the mean loss at each point."""
    z, values = np.empty(len(block.y)), np.empty(len(points))
    for k, w in enumerate(points):
        products.product(block.X, w, z)
        values[k] = len(z) / n * float(losses.mean_value(loss, z, block.y, block.c))
    return values


def _curvatures(B: sp.csr_array, parts: list[np.ndarray]) -> list[float]:
    """For each part of v the c with B'B = c I there; |B|^2 for all where that does not hold."""
    square = (B.T @ B).tocsr()
    found = []
    for rows in parts:
        c = float(square[rows[0], rows[0]]) if len(rows) else 1.0
        wanted = sp.csr_array((np.full(len(rows), c), (np.arange(len(rows)), rows)), shape=(len(rows), B.shape[1]))
        gap = abs(square[rows] - wanted)
        if c <= 0.0 or (gap.nnz and gap.max() > 1e-12 * c):
            dense = square.toarray() if B.shape[1] <= 2000 else None
            norm = np.linalg.norm(dense, 2) if dense is not None else sp.linalg.eigsh(square, 1)[0][0] * (1 + 1e-6)
            return [max(float(norm), np.finfo(float).tiny)] * len(parts)
        found.append(c)
    return found
