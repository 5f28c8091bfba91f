"""The problem, as the paper states it, and what can be said of a point of it.

min  1/n sum_i c_i loss(<x_i, w> + o_i, y_i) + 1/2 sum_j gamma_j w_j^2 + phi(v)   s.t.  A w + B v = b,  w in W
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from . import losses, penalties
from ._core.jit import unwrapped
from .linalg import matrices, products
from .linalg.banded import Bands, bands_of
from .linalg.coupling import Groups
from .linalg.families import Families, families_of
from .linalg.last_products import LastProducts, LastTransposedProduct
from .linalg.matrices import CSR, as_csr, as_vector, to_scipy
from .linalg.paths import Paths, paths_of
from .linalg.systems import System, system_for
from .losses.gates import as_loss
from .penalties.coupling import v_step
from .penalties.gates import as_gamma, as_penalty, as_set
from .sources import RawBlock, Source, blocks
from .sources._calls import Memory, OnConvertedBlocks, OnSingleBlock, Work
from .sources._sums import StreamedLosses, levels_of_labels, loss_levels, requested_losses
from .sources.blocks import Block, BlockConverter

__all__ = ["Block", "Problem"]

INPUTS = frozenset(("source", "rows", "loss", "penalty", "A", "B", "b", "gamma", "w_set", "w_copy"))

# The inputs that each cached quantity is computed from. `Problem.replaced` keeps a quantity only if none of these
# changes, so along a path of penalties the passes over the rows are not repeated.
DEPENDS_ON = {
    "last_products": {"rows"},
    "last_A_products": {"A"},
    "last_A_transposed": {"A"},
    "value_at_zero": {"source", "rows", "loss", "A", "B", "b", "penalty"},
    "has_ridge": {"gamma"},
    "streamed_losses": {"source", "loss"},
    "_first_of_source": {"source", "loss"},
    "_loss_levels": {"source", "rows", "loss"},
    "column_sizes": {"rows", "A"},
    "_inverse_B": {"A", "B"},
    "diagonal": {"source", "rows"},
    "paths": {"A"},
    "bands": {"A"},
    "families": {"A"},
    "_systems": {"rows", "A"},
    "v_step": {"A", "B", "penalty"},
    "w_set_split": INPUTS,
    "_block_by_passes": {"source", "loss"},
}


class Problem:
    """A loss over rows, a penalty of v, and the linear constraint that couples w and v.

    The problem is to minimise over w and v::

        1/n sum_i c_i loss(<x_i, w> + o_i, y_i) + 1/2 sum_j gamma_j w_j^2 + phi(v)

    subject to ``A w + B v = b`` and w in W, where c are the sample weights divided by their mean, and o is the offset.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or Source
        The rows. A source (`adasadmm.sources`) has its own targets and weights and is read block by block. An array of
        float64 is not copied: do not change it while the problem is in use.
    y : array of shape (n,)
        Labels -1 and +1 for `Hinge`, `SquaredHinge` and `Logistic`, counts for `Poisson` and `NegativeBinomial`,
        amounts for `Gamma` (> 0) and `Tweedie` (>= 0), any numbers for the other losses. None if X is a source.
    loss : NamedTuple
        A loss of `adasadmm.losses`, or one of your own.
    penalty : NamedTuple
        phi: a penalty or a set of `adasadmm.penalties`, or one of your own.
    A : array or sparse matrix of shape (m, d)
        For a graph, one row for each edge (`adasadmm.graphs.incidence`).
    B : array or sparse matrix of shape (m, p), optional
        By default -I, so that ``v = A w - b``.
    b : array of shape (m,), optional
        By default 0.
    gamma : float or array of shape (d,), default 0.0
        The ridge, one number or one for each coordinate. 0 leaves a coordinate free, an intercept for example.
    w_set : set of `adasadmm.penalties`, optional
        W. By default w is not constrained.
    sample_weight : array of shape (n,), optional
        By default 1 for each row. A row of weight 2 counts as two equal rows.
    offset : array of shape (n,), optional
        A known part of each prediction, by default 0: for counts the logarithm of the exposure. None if X is a source.

    Attributes
    ----------
    n, d, m, p : int
        The number of rows and features, the number of constraints, and the length of v.
    source, rows : Source and None, or None and Block
        Where the rows come from; if they are in memory, X, y and the weights c (of mean 1).
    loss, penalty, A, B, b, gamma, w_set
        The parameters in the form in which the solvers use them: plug-ins with float fields, A and B as CSR, b and
        gamma as vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Hinge, L1, Problem
    >>> problem = Problem(np.eye(2), [1, -1], loss=Hinge(), penalty=L1(0.5), A=[[1.0, -1.0]])
    >>> problem
    Problem(2 rows, 2 features, 1 constraints, loss=Hinge, penalty=L1)
    >>> problem.objective([0.5, -0.5])
    1.0
    >>> problem.with_penalty(L1(1.0)).objective([0.5, -0.5])
    1.5
    """

    source: Any  # Source, or None if the rows are in memory
    rows: Block  # None if the rows come from a source
    n: int
    d: int
    loss: Any
    penalty: Any
    A: CSR
    B: CSR | None  # None: -I
    b: np.ndarray
    gamma: np.ndarray
    w_set: Any
    w_copy: slice | None  # where v holds a copy of w that lies inside w's set

    def __init__(
        self,
        X: ArrayLike | sp.sparray | sp.spmatrix | Source,
        y: ArrayLike | None = None,
        *,
        loss: Any,
        penalty: Any,
        A: ArrayLike | sp.sparray | sp.spmatrix,
        B: ArrayLike | sp.sparray | sp.spmatrix | None = None,
        b: ArrayLike | None = None,
        gamma: ArrayLike = 0.0,
        w_set: Any = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> None:
        source = X if isinstance(X, Source) else None
        if source is not None and any(given is not None for given in (y, sample_weight, offset)):
            raise ValueError("y, sample_weight and offset must be None beside a source, which has its own")
        if offset is not None or (source is not None and source.has_offset):
            loss = losses.with_offset(loss)
        rows = None if isinstance(X, Source) else blocks.as_block(X, y, sample_weight, offset, loss)
        constraint = {"A": A, "B": B, "b": b, "penalty": penalty, "w_set": w_set, "w_copy": None}
        self._set(source=source, rows=rows, loss=loss, gamma=gamma, **constraint)

    def _set(self, **given: Any) -> None:
        """Keep these inputs in the form that their gates return; check again what has to agree with them."""
        vars(self).update(given)
        if given.keys() & {"source", "rows"}:
            self.n, self.d = self.rows.X.shape if self.source is None else self.source.shape
        if given.keys() & {"source", "rows", "loss"}:
            self.loss = as_loss(self.loss, self.first_rows.y)
        if given.keys() & {"source", "rows", "A", "B"}:
            self._set_matrices()
        if given.keys() & {"A", "b"}:
            self.b = np.zeros(self.m) if self.b is None else as_vector(self.b, self.m, "b")
        if "gamma" in given:
            self.gamma = as_gamma(self.gamma, self.d)
        if given.keys() & {"A", "B", "penalty"}:
            self.penalty = as_penalty(self.penalty, self.p, "penalty")
        if "w_set" in given:
            self.w_set = None if self.w_set is None else as_set(self.w_set, self.d)

    def _set_matrices(self) -> None:
        self.A = as_csr(self.A, "A")
        if self.A.columns != self.d:
            raise ValueError(f"A must have a column for each of the {self.d} features, got shape {self.A.shape}")
        self.B = None if self.B is None else as_csr(self.B, "B")
        if self.B is not None and self.B.shape[0] != self.m:
            raise ValueError(f"B must have as many rows as A, {self.m}, got shape {self.B.shape}")

    def __repr__(self) -> str:
        parts = f"loss={type(unwrapped(self.loss)).__name__}, penalty={type(self.penalty).__name__}"
        return f"Problem({self.n} rows, {self.d} features, {self.m} constraints, {parts})"

    # --- the same problem with other inputs --------------------------------------------------------------------------

    def replaced(self, **inputs: Any) -> Problem:
        """The same problem with other inputs: penalty, gamma, rows (a `Block`), A, B, b, loss or w_set.

        Only these are validated. The new problem shares all others, and the cached quantities that depend on none of
        the replaced ones.
        """
        if unknown := inputs.keys() - INPUTS:
            raise TypeError(f"a problem has no input {sorted(unknown)[0]!r}: one of {', '.join(sorted(INPUTS))}")
        kept = {name for name, needed in DEPENDS_ON.items() if not needed & inputs.keys()} | INPUTS | {"n", "d"}
        other = object.__new__(Problem)
        vars(other).update({name: value for name, value in vars(self).items() if name in kept})
        other._set(**inputs)
        return other

    def with_penalty(self, penalty: Any) -> Problem:
        """The same problem with another penalty; the rows are shared."""
        return self.replaced(penalty=penalty)

    def with_gamma(self, gamma: ArrayLike) -> Problem:
        """The same problem with another ridge; the rows are shared."""
        return self.replaced(gamma=gamma)

    def with_weights(self, c: ArrayLike) -> Problem:
        """The same problem with these sample weights, which are taken as they are: their mean need not be 1."""
        if self.rows is None:
            raise ValueError("with_weights needs rows in memory; a source has its own weights")
        if ((weights := as_vector(c, self.n, "c")) < 0.0).any():
            raise ValueError(f"c must be >= 0, got {weights.min()}")
        return self.replaced(rows=self.rows._replace(c=weights))

    def sampled(self, count: int) -> Problem:
        """The same problem on ``count`` of its rows, always the same ones; the problem itself if it has no more."""
        few = blocks.sampled(self.rows, count)
        return self if few is self.rows else self.replaced(rows=few)

    @functools.cached_property
    def w_set_split(self) -> Problem:
        """The same problem with a copy of w inside its set: I stacked under A, the projection as penalty."""
        copies = [(part, self.p + rows) for part, rows in penalties.parts_of(self.w_set, self.d)]
        return self.replaced(
            A=sp.vstack([to_scipy(self.A), sp.eye_array(self.d)]),
            B=None if self.B is None else sp.block_diag([to_scipy(self.B), -sp.eye_array(self.d)]),
            b=np.concatenate([self.b, np.zeros(self.d)]),
            penalty=penalties.Stack((*penalties.parts_of(self.penalty, self.p), *copies)),
            w_set=None,
            w_copy=slice(self.p, self.p + self.d),
        )

    # --- the objective and the residual ------------------------------------------------------------------------------

    def objective(self, w: ArrayLike, v: ArrayLike | None = None) -> float:
        """The objective at w and v, where v is by default the solution of the constraint for w.

        The indicator of a set counts 0, even outside the set.
        """
        w = as_vector(w, self.d, "w")
        v = self._v_of(w) if v is None else as_vector(v, self.p, "v")
        if v is None:
            raise ValueError("B does not make v a function of w: give v")
        return self.loss_at(w)[0] + self.ridge_value(w) + self.penalty_value(v)

    def predictions(self, w: np.ndarray) -> np.ndarray:
        """``X w``."""
        if self.source is None:
            return self.last_products.of(w).copy()
        z = np.empty(self.n)
        for rows, block in self.blocks():
            products.product(block.X, w, z[rows])
        return z

    @functools.cached_property
    def last_products(self) -> LastProducts:
        """The last products of rows in memory."""
        return LastProducts(self.rows.X)

    @functools.cached_property
    def last_A_products(self) -> LastProducts:
        """``A w`` for the last w."""
        return LastProducts(self.A)

    @functools.cached_property
    def last_A_transposed(self) -> LastTransposedProduct:
        """``A'theta`` for the last theta."""
        return LastTransposedProduct(self.A)

    def loss_at(self, *points: np.ndarray) -> list[float]:
        """``1/n sum_i c_i loss(<x_i, w>, y_i)`` at each w, in one pass; for a source they are kept."""
        if self.source is None:
            of = self.last_products.of
            return [float(losses.mean_value(self.loss, of(w), *self.rows[1:])) for w in points]
        known = self.streamed_losses
        known.want(*points)
        if known.request.points:
            self._pass_for_losses()
        return [found for w in points if (found := known.at(w)) is not None]

    def _pass_for_losses(self) -> None:
        request = self.streamed_losses.request
        found = sum(self.each(requested_losses, request), np.zeros(len(request.points) + 2))
        self.streamed_losses.receive(found)

    @functools.cached_property
    def streamed_losses(self) -> StreamedLosses:
        """The mean losses of the rows of a source that are known, and those that the next pass should find."""
        levels = None if self.source.has_offset else levels_of_labels(self.source.summary, self.loss)
        return StreamedLosses(self.loss, self.n, levels)

    @property
    def loss_at_zero(self) -> float:
        """The mean loss at w = 0."""
        return float(self._loss_levels[0])

    @property
    def least_loss(self) -> float:
        """The least possible mean loss, whatever the predictions: 0 for most losses, not for likelihoods."""
        return float(self._loss_levels[1])

    @functools.cached_property
    def _loss_levels(self) -> np.ndarray:
        """The mean loss at w = 0, and the least possible one; both in one pass."""
        if self.source is not None:
            if self.streamed_losses.levels is None:
                self._pass_for_losses()
            return self.streamed_losses.levels  # type: ignore[return-value]
        return sum(self.each(loss_levels, self.loss, self.n), np.zeros(2))

    @functools.cached_property
    def value_at_zero(self) -> float:
        """The objective at w = 0; without the penalty if B does not make v a function of w."""
        v = self._v_of(np.zeros(self.d))
        return self.loss_at_zero + (0.0 if v is None else self.penalty_value(v))

    @functools.cached_property
    def has_ridge(self) -> bool:
        """Whether some gamma is not 0."""
        return bool(self.gamma.any())

    def ridge_value(self, w: np.ndarray) -> float:
        return 0.5 * float(self.gamma @ (w * w)) if self.has_ridge else 0.0

    def penalty_value(self, v: np.ndarray) -> float:
        return float(penalties.total_value(self.v_step[1], v))

    def residual(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """``A w + B v - b``."""
        out = self.last_A_products.of(w) + self.times_B(v)
        out -= self.b
        return out

    @property
    def determines_v(self) -> bool:
        """Whether the constraint makes v a function of w."""
        return self.B is None or self._inverse_B is not None

    def v_of(self, w: np.ndarray) -> np.ndarray | None:
        """The v that solves ``A w + B v = b``, or None if B is not invertible."""
        v = self._v_of(w)
        return None if v is None else v.copy()

    def _v_of(self, w: np.ndarray) -> np.ndarray | None:
        """The same; the caller must not change it."""
        if not self.determines_v:
            return None
        rhs = self.last_A_products.of(w)
        if self.b.any():
            rhs = rhs - self.b
        return rhs if self.B is None else -(self._inverse_B @ rhs)

    # --- the rows ----------------------------------------------------------------------------------------------------

    @property
    def on_workers(self) -> bool:
        """Whether the rows are on the workers of a cluster."""
        return self.source is not None and self.source.on_workers

    def blocks(self) -> Iterator[tuple[slice, Block]]:
        """All rows, block by block, each with its slice of the n rows: one block in memory, many from a source."""
        if self.source is None:
            yield slice(0, self.n), self.rows
        else:
            yield from blocks.of_source(self.source, self.loss)

    def block_of(self, raw: RawBlock) -> Block:
        """The block of this problem for a block that the source has read."""
        return blocks.of_raw_block(raw, self.source.summary, self.loss)

    def each(
        self, function: Any, *common: Any, memory: Memory | None = None, partitions: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """``function(block, remembered, *common)`` for each block, in order, on the worker that has it (`Source.each`).

        ``partitions`` restricts the call to some blocks; it is for blocks on workers only.
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
    def by_passes(self) -> Problem:
        """The same problem with targets and weights in memory, and the rows of a source read again in each product."""
        return self.replaced(source=None, rows=self._block_by_passes)

    @functools.cached_property
    def _block_by_passes(self) -> Block:
        return blocks.by_passes(self.source, self.loss)

    @property
    def first_rows(self) -> Block:
        """Enough rows to see their form and scale: all rows in memory, or the first ones of a source."""
        return self.rows if self.source is None else self._first_of_source

    @functools.cached_property
    def _first_of_source(self) -> Block:
        return blocks.first_of_source(self.source, self.loss)

    # --- the constraint ----------------------------------------------------------------------------------------------

    @property
    def m(self) -> int:
        """The number of constraints."""
        return self.A.shape[0]

    @property
    def p(self) -> int:
        """The length of v."""
        return self.m if self.B is None else self.B.columns

    def times_A(self, w: np.ndarray) -> np.ndarray:
        products.product(self.A, w, out := np.empty(self.m))
        return out

    def times_A_transposed(self, theta: np.ndarray) -> np.ndarray:
        products.transposed_product(self.A, theta, out := np.empty(self.d))
        return out

    def times_B(self, v: np.ndarray) -> np.ndarray:
        return -v if self.B is None else to_scipy(self.B) @ v

    def times_B_transposed(self, theta: np.ndarray) -> np.ndarray:
        return -theta if self.B is None else to_scipy(self.B).T @ theta

    @functools.cached_property
    def diagonal(self) -> np.ndarray | None:
        """The diagonal of X (without its intercept) if X is square and diagonal, else None."""
        return None if self.source is not None else matrices.diagonal_of(self.rows.X)

    @functools.cached_property
    def paths(self) -> Paths | None:
        """The paths that the rows of A are the edges of, if they are differences along disjoint paths; else None."""
        return paths_of(self.A)

    @functools.cached_property
    def families(self) -> Families | None:
        """The edges that the rows of A are by their length, if they have few different ones; else None."""
        return families_of(self.A)

    @functools.cached_property
    def bands(self) -> Bands | None:
        """A as rows of a few neighbouring columns, if it has this form; else None."""
        return bands_of(self.A)

    @property
    def system(self) -> System:
        """Newton's system for X, A and the penalty's groups, analysed once.

        Its factors belong to whichever run factored it last.
        """
        groups = Groups.of(penalties.groups_of(self.penalty, self.p) if self.B is None else [])
        key = groups.rows.tobytes(), groups.starts.tobytes()
        if key not in self._systems:
            self._systems[key] = system_for(self.rows.X, self.A, groups)
        return self._systems[key]

    @functools.cached_property
    def _systems(self) -> dict[tuple[bytes, bytes], System]:
        """Along a path of penalties the groups stay, and with them the system."""
        return {}

    @functools.cached_property
    def column_sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of ``c_i |x_ij|`` and the sum of ``|A_kj|`` for each column j."""
        products.transposed_product(matrices.absolute(self.rows.X), self.rows.c / self.n, of_rows := np.empty(self.d))
        return of_rows, np.asarray(abs(to_scipy(self.A)).sum(axis=0)).reshape(-1)

    @functools.cached_property
    def _inverse_B(self) -> np.ndarray | None:
        """The inverse of B; None if B is not square or nearly singular."""
        return None if self.B is None else matrices.inverse_of(self.B)

    @functools.cached_property
    def v_step(self) -> tuple[Any, Any, float]:
        """B and the penalty in the form that Algorithm 1 uses, and the factor of tau in the penalty's prox."""
        return v_step(self.penalty, self.B, self.p)
