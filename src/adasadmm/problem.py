"""The problem, as the paper states it, and what can be said of a point of it.

min  1/n sum_i c_i loss(<x_i, w> + o_i, y_i) + 1/2 sum_j gamma_j w_j^2 + phi(v)   s.t.  A w + B v = b,  w in W
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from . import losses, penalties
from ._core.jit import unwrapped
from .linalg.coupling import Groups
from .linalg.systems import System, system_for
from .penalties.constraint import Constraint
from .plug_ins import as_gamma, as_loss, as_penalty, as_set
from .rows import matrices, products
from .rows.matrices import CSR, as_csr, as_vector, to_scipy
from .sources import Source, blocks
from .sources.blocks import Block
from .sources.condensed import condensed
from .sources.loss_over_rows import LossOverRows

__all__ = ["Block", "Problem"]

DERIVED = frozenset(("n", "d", "has_b", "has_ridge", "level"))  # `Problem._set` keeps them in agreement with the inputs
INPUTS = frozenset(("source", "rows", "loss", "penalty", "A", "B", "b", "gamma", "w_set", "w_copy"))

# The inputs that each cached quantity is computed from. `Problem.replaced` keeps a quantity only if none of these
# changes, so along a path of penalties the passes over the rows are not repeated.
DEPENDS_ON = {
    "last_products": {"rows"},
    "last_X_transposed": {"rows"},
    "last_A_products": {"A"},
    "last_A_transposed": {"A"},
    "_last_loss": {"rows", "loss"},
    "value_at_zero": {"source", "rows", "loss", "A", "B", "b", "penalty"},
    "rates": {"rows"},
    "streamed_losses": {"source", "loss"},
    "_first_of_source": {"source", "loss"},
    "_loss_levels": {"source", "rows", "loss"},
    "loss_at_mean_target": {"rows", "loss"},
    "column_sizes": {"rows", "A"},
    "_inverse_B": {"A", "B"},
    "diagonal": {"source", "rows"},
    "is_identity": {"source", "rows"},
    "is_plain": {"source", "rows", "gamma"},
    "paths": {"A"},
    "bands": {"A"},
    "families": {"A"},
    "_systems": {"rows", "A"},
    "system": {"rows", "A", "B", "penalty"},
    "of_coordinates": {"source", "rows", "A", "gamma", "w_set"},
    "v_step": {"A", "B", "penalty"},
    "w_set_split": INPUTS,
    "_block_by_passes": {"source", "loss"},
    "_condensed_rows": {"source", "rows", "loss"},
}

ONLY_PENALTY = frozenset(("penalty",))


@functools.cache
def _kept_with(replaced: frozenset[str]) -> frozenset[str]:
    """The attributes that stay as they are if these inputs are replaced."""
    return INPUTS | DERIVED | {name for name, needed in DEPENDS_ON.items() if not needed & replaced}


class Problem(LossOverRows, Constraint):
    """A loss over rows, a penalty of v, and the linear constraint that couples w and v.

    The problem is to minimise over w and v::

        1/n sum_i c_i loss(<x_i, w> + o_i, y_i) + 1/2 sum_j gamma_j w_j^2 + phi(v)

    subject to ``A w + B v = b`` and w in W, where c are the sample weights divided by their mean, and o is the offset.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or Source
        The rows. A source (`adasadmm.sources`) has its own targets and weights and is read block by block. An array of
        float64 is not copied: do not change it while the problem is in use.
    y : array of shape (n,) or (n, k)
        Labels -1 and +1 for `Hinge`, `SquaredHinge` and `Logistic`, counts for `Poisson` and `NegativeBinomial`,
        amounts for `Gamma` (> 0) and `Tweedie` (>= 0), any numbers for the other losses. None if X is a source.
        With k columns the problem has k outputs, each with coefficients of its own (see Notes).
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
    sample_weight : array of shape (n,) or (n, k), optional
        By default 1 for each row. A row of weight 2 counts as two equal rows.
    offset : array of shape (n,) or (n, k), optional
        A known part of each prediction, by default 0: for counts the logarithm of the exposure. None if X is a source.

    Attributes
    ----------
    n, d, m, p : int
        The number of rows and features, the number of constraints, and the length of v.
    source, rows : Source and None, or None and Block
        Where the rows come from; if they are in memory, X, y and the weights c (of mean 1).
    outputs : int
        The number of predictions for each row, k.
    loss, penalty, A, B, b, gamma, w_set
        The parameters in the form in which the solvers use them: plug-ins with float fields, A and B as CSR, b and
        gamma as vectors.

    Notes
    -----
    With k outputs (y with k columns, or a loss of k predictions) the coefficients are a d x k matrix W, and the loss is
    the mean over the rows of the sum over the outputs. Inside, everything is flat, row by row: ``w[j * k + c]`` belongs
    to feature j and output c, and n, d and m count k times as many. A, B, b and gamma may be given for one output: A
    then acts on each column of W. The penalty is one of ``m * k`` entries (`penalties.for_outputs`).

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

    gamma: np.ndarray
    has_ridge: bool  # whether some gamma is not 0
    w_set: Any
    w_copy: slice | None  # where v holds a copy of w that lies inside w's set
    level: np.ndarray | float  # what an estimator subtracted from y, and adds to the intercept

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
        loss = losses.sized(loss, None if y is None else np.asarray(y))
        if offset is not None or (source is not None and source.has_offset):
            loss = losses.with_offset(loss)
        rows = None if isinstance(X, Source) else blocks.as_block(X, y, sample_weight, offset, loss)
        constraint = {"A": A, "B": B, "b": b, "penalty": penalty, "w_set": w_set, "w_copy": None}
        self._set(source=source, rows=rows, loss=loss, gamma=gamma, **constraint)
        self.level = 0.0

    def _set(self, **given: Any) -> None:
        """Keep these inputs in the form that their gates return; check again what has to agree with them."""
        vars(self).update(given)
        changed = given.keys()
        if not changed.isdisjoint({"source", "rows"}):
            shape = self.rows.X.shape if self.source is None else self.source.shape
            self.n, self.d = shape if self.source is None else (length * self.outputs for length in shape)
        if not changed.isdisjoint({"source", "rows", "loss"}):
            self.loss = as_loss(self.loss, self.first_rows.y)
        if not changed.isdisjoint({"source", "rows", "A", "B"}):
            self._set_matrices()
        if not changed.isdisjoint({"A", "b"}):
            none = self.b is None
            self.b = np.zeros(self.m) if none else as_vector(self._flat(self.b, self.m), self.m, "b")
            self.has_b = not none and bool(self.b.any())
        if "gamma" in changed:
            self.gamma = as_gamma(self._flat(given["gamma"], self.d), self.d)
            self.has_ridge = bool(self.gamma[:1].any() if np.ndim(given["gamma"]) == 0 else self.gamma.any())
        if not changed.isdisjoint({"A", "B", "penalty"}):
            self.penalty = as_penalty(self.penalty, self.p, "penalty")
        if "w_set" in changed:
            self.w_set = None if self.w_set is None else as_set(self.w_set, self.d)

    def _set_matrices(self) -> None:
        self.A = self._for_outputs(as_csr(self.A, "A"), 1, self.d)
        if self.A.columns != self.d:
            raise ValueError(f"A must have a column for each of the {self.d} features, got shape {self.A.shape}")
        self.B = None if self.B is None else self._for_outputs(as_csr(self.B, "B"), 0, self.m)
        if self.B is not None and self.B.shape[0] != self.m:
            raise ValueError(f"B must have as many rows as A, {self.m}, got shape {self.B.shape}")

    def _for_outputs(self, matrix: CSR, axis: int, length: int) -> CSR:
        """A matrix given for one output, repeated for each of them; one that has this length already as it is."""
        return matrices.repeated(matrix, self.outputs if matrix.shape[axis] * self.outputs == length else 1)

    def _flat(self, values: Any, length: int) -> Any:
        """An entry for each output, from entries for one of them or from a matrix with a column for each."""
        once = length // self.outputs
        if self.outputs > 1 and np.shape(values) in ((once,), (once, self.outputs)):
            return np.broadcast_to(np.asarray(values).reshape(once, -1), (once, self.outputs)).reshape(-1)
        return values

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
        other = self._sharing(frozenset(inputs))
        other._set(**inputs)
        return other

    def _sharing(self, replaced: frozenset[str]) -> Problem:
        """A problem to be completed by these inputs."""
        kept, other = _kept_with(replaced), object.__new__(Problem)
        vars(other).update({name: value for name, value in vars(self).items() if name in kept})
        return other

    def with_penalty(self, penalty: Any) -> Problem:
        """The same problem with another penalty; the rows are shared."""
        return self.replaced(penalty=penalty)

    def with_strength(self, strength: float) -> Problem:
        """The same problem with another strength of all parts of its penalty; sets have none."""
        other = self._sharing(ONLY_PENALTY)
        # It has passed the gate but for this number.
        other.penalty = penalties.with_strength(self.penalty, strength)
        penalties.check(other.penalty, other.p)
        return other

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

    @property
    def by_passes(self) -> Problem:
        """The same problem with targets and weights in memory, and the rows of a source read again in each product."""
        return self.replaced(source=None, rows=self._block_by_passes)

    @property
    def condensed(self) -> Problem:
        """The same problem on few rows, if the loss is squared and the rows are many; else the problem itself."""
        return self if self._condensed_rows is None else self.replaced(rows=self._condensed_rows)

    @functools.cached_property
    def _condensed_rows(self) -> Block | None:
        return None if self.source is not None else condensed(self.loss, self.rows)

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

    @functools.cached_property
    def value_at_zero(self) -> float:
        """The objective at w = 0; without the penalty if B does not make v a function of w."""
        if isinstance(self.penalty, penalties.PENALTIES) and not self.has_b:
            return self.loss_at_zero
        v = -self.b if self.B is None else self._v_of(np.zeros(self.d))
        return self.loss_at_zero + (0.0 if v is None else self.penalty_value(v))

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether X = I, all rows have the same weight, and there is no ridge: then numbers can replace arrays."""
        return self.is_identity and not self.has_ridge and bool(self.rows.c.min() == self.rows.c.max())

    def ridge_value(self, w: np.ndarray) -> float:
        return 0.5 * float(self.gamma @ (w * w)) if self.has_ridge else 0.0

    @functools.cached_property
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
    def of_coordinates(self) -> dict[str, Any]:
        """What certificates find out about the coordinates of w, by name: the same along a path of penalties."""
        return {}

    @functools.cached_property
    def column_sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of ``c_i |x_ij|`` and the sum of ``|A_kj|`` for each column j."""
        of_rows = products.column_sums(self.rows.X, self.rows.c / self.n, 1)
        return of_rows, np.asarray(abs(to_scipy(self.A)).sum(axis=0)).reshape(-1)
