"""An active set of clusters: Newton steps on the few clusters of equal coefficients, or on the few that are not 0.

The rows of A are differences and single coefficients: edges of a graph. With the signs of ``A w`` fixed, and rows in
which it is 0 joined, the problem is smooth and small; a loss with kinks is smoothed (`rows`). A Newton step solves it;
rows that would change their sign are joined, and the forces along the edges (`forces`) show which rows to split again.
Along a path of strengths the active set changes little.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import NamedTuple, Self

import numpy as np

from ... import losses
from ..._core.jit import is_registered, unwrapped
from ...certificates import BestDual, certify, duality
from ...certificates.trace import Certificate
from ...linalg.joined import joined
from ...linalg.line_search import step_length
from ...penalties import L1
from ...problem import Problem
from ...rows.last_products import UpdatedProduct
from ...rows.matrices import size
from ..all_rows import AllRowsSolver, Method
from ..alm.row_terms import RowTerms
from ..base import NamedState, Point, Slopes, beyond, check_positive, refuse
from .forces import Forces, Graph, forces_on, graph_for, has_few_edges
from .gram import ClusterGram, cluster_gram, is_cheap
from .quadratic import Edges, minimiser
from .rows import Gap, LossTerms, rows_of, unweighted

__all__ = ["ActiveSet", "ActiveSetMethod"]

MOST_CLUSTERS, ROUNDS = 600, 60
FEW_EDGES = 2  # for each cluster: several edges between the same clusters are not worth being united
STALLED = 1e-13  # relative decrease of the objective in a round that opens no row: another one would not help
FLAT = 0.1  # of the first slope: where a line search ends
NO_PROOF = "no forces were found that balance the slopes and bound the optimum closely"
# In multiplications of BLAS, measured with 200 to 1,000 coefficients: a step of either method whatever its size, a
# cluster in a round, and an entry of X in its passes.
STEP, CLUSTER, PASSES = 2e7, 5e5, 20.0
STEPS_OF_IPM, CURVED = 7.0, 1.5  # and how many times as many where the loss is not quadratic
UNBALANCED = 3.0  # how much longer proofs take without a ridge
ROUNDS_LEFT = 2.0  # that the allowance must cover, if one of them is to be begun
MET = 1e-9  # of its first value, a difference along an edge that counts as 0


@dataclasses.dataclass(frozen=True)
class ActiveSet(AllRowsSolver):
    """Newton steps on clusters of equal coefficients, for few of them: strong to medium penalties, and paths.

    The penalty must be `L1`, and each row of A a difference of two coefficients or a multiple of one. A loss with kinks
    needs a ridge on all coefficients that the penalty acts on.

    Parameters
    ----------
    share : float, optional
        Of the time that the interior-point method would take, after which the run ends; by default it takes its time.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Problem, Squared, graphs, solve
    >>> from adasadmm.solvers import ActiveSet
    >>> X = np.random.default_rng(0).normal(size=(30, 6))
    >>> y = X @ [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    >>> problem = Problem(X, y, loss=Squared(), penalty=L1(0.1), A=graphs.difference(6))
    >>> len(set(solve(problem, ActiveSet()).w))
    2
    """

    share: float | None = None

    extrapolates = True
    default_epochs = float(ROUNDS)

    def __post_init__(self) -> None:
        if self.share is not None:
            check_positive("share", self.share)

    def check(self, problem: Problem) -> None:
        refuse(self, why_not(problem))

    def method(self, problem: Problem, start: Point) -> ActiveSetMethod:
        return ActiveSetMethod(problem, start, self.share)


class Allowance:
    """What a run may cost, in multiplications: a share of what the interior-point method would cost.

    Parameters
    ----------
    problem : Problem
    share : float
    has_ridge : bool
        Without one, certificates take that method longer.
    """

    def __init__(self, problem: Problem, share: float, has_ridge: bool) -> None:
        n, d = problem.rows.X.shape
        is_quadratic = isinstance(unwrapped(problem.loss), losses.Squared)
        again, once = (d**3 / 3.0, n * d * d) if is_quadratic and n > d else (problem.system.flops, 0.0)
        steps = STEPS_OF_IPM if is_quadratic else CURVED * STEPS_OF_IPM
        self.left = share * (once + steps * (STEP + again)) * (1.0 if has_ridge else UNBALANCED)
        self.n, self.entries = n, float(size(problem.rows.X))

    def covers(self, clusters: int) -> bool:
        """Whether it covers a few rounds with so many clusters; one of them is paid."""
        cost = STEP + PASSES * self.entries + CLUSTER * clusters + self.n * clusters**2
        if ROUNDS_LEFT * cost > self.left:
            return False
        self.left -= cost
        return True


def why_not(problem: Problem) -> str:
    """Why the clusters of a problem cannot be found; empty if they can."""
    penalty = problem.penalty
    if not isinstance(penalty, L1) or not penalty.nu > 0.0 or problem.b.any() or problem.w_set is not None:
        return "it needs the penalty L1 with a strength above 0, b = 0 and no w_set"
    if problem.diagonal is not None or problem.outputs > 1:
        return "X is diagonal, or has several outputs"
    is_smooth = is_registered(losses.second, problem.loss)
    if not is_smooth and not (is_registered(losses.prox, problem.loss) and not duality.missing_conjugate(problem)):
        return "the loss needs a second derivative, or a prox and a conjugate"
    graph = graph_for(problem)
    if graph is None:
        return "a row of A is neither a difference nor has one entry"
    if not is_smooth and not has_ridge(problem, graph):
        return "a loss with kinks needs a ridge"
    if not is_cheap(problem.rows.X, is_smooth) or not has_few_edges(graph):
        return "it has too many rows and coefficients, or too many edges"
    return ""


def has_ridge(problem: Problem, graph: Graph) -> bool:
    """Whether all coefficients that the penalty acts on have a ridge."""
    penalised = np.union1d(graph.first, graph.second)
    return bool(problem.gamma[penalised[penalised < problem.d]].all())


class Tools(NamedTuple):
    """What is computed from the last clusters and slopes, and changes with them: it passes from run to run."""

    forces: Forces
    gram: ClusterGram
    pull: UpdatedProduct


class ActiveSetMethod(Method):
    """The point, the signs of the differences along the edges, and the slopes of the rows.

    Attributes
    ----------
    opened : ndarray
        The signs of the edges that the last forces open, 0 for others.
    gap : Gap or None
        What the last step has reached; None before the first step.
    decrease : float
        What the first slope of the last step promised.
    """

    arrays = (*Method.arrays, "sign", "opened", "slopes", "z")
    numbers = ("decrease", "is_full")
    _tools: Tools | None = None

    def __init__(self, problem: Problem, start: Point, share: float | None) -> None:
        super().__init__(problem)
        self.w, self.theta = start.w, start.theta
        graph = graph_for(problem)
        assert graph is not None
        self.graph, self.rows, self.has_ridge = graph, rows_of(problem), has_ridge(problem, graph)
        self.is_quadratic = isinstance(unwrapped(problem.loss), losses.Squared)
        self.allowance = None if share is None else Allowance(problem, share, self.has_ridge)
        self.ridged = np.flatnonzero(problem.gamma)
        self.between = graph.differences(self.w)
        self.sign = np.sign(self.between)
        self._begin()

    def _begin(self) -> None:
        """The first point at a strength."""
        problem = self.problem
        self.capacity = problem.penalty.nu * self.graph.limit
        self.w, self.theta, self.sign = self.w.copy(), self.theta.copy(), self.sign.copy()
        self.v, self.z = problem.times_A(self.w), problem.predictions(self.w).copy()
        self.s, self.slopes, self.opened = np.zeros(problem.n), np.zeros(problem.n), np.zeros(len(self.sign))
        self.terms: LossTerms | RowTerms | None = None
        self.gap: Gap | None = None
        self.ended, self.iteration, self.decrease, self.is_full = False, 0, math.inf, False

    @property
    def tools(self) -> Tools:
        """Those of the last run, or new ones."""
        if self._tools is None:
            X = self.problem.rows.X
            self._tools = Tools(forces_on(self.graph), cluster_gram(X, self.rows.tolerance), UpdatedProduct(X))
        return self._tools

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_tools": None}

    # --- an iteration ------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """A Newton step with the current signs, and the forces after it; it ends where no step would help."""
        if self.gap is not None and not self._continues(self.gap):
            self.ended = True
            return
        if self.terms is None:
            self._evaluate()
        label, number = joined(self.graph[:2], np.flatnonzero(self.sign == 0.0), self.problem.d, self.graph.has_cycles)
        if not self._affords(number):
            self.ended = True
            return
        self._step(label, number)
        self._balance()

    def _affords(self, clusters: int) -> bool:
        """Whether a step with so many clusters is worth its time."""
        if clusters > MOST_CLUSTERS or self.iteration > ROUNDS or not self.capacity.all():
            return False
        return self.allowance is None or self.allowance.covers(clusters)

    def _evaluate(self) -> None:
        """The rows at the predictions, and what their slopes pull."""
        if self.terms is None:
            self.terms = self.rows.terms(self.z)
        self.slopes = self.terms.slopes()
        self.pull, self.pull_is_direct = self.tools.pull.of(self.slopes), self.tools.pull.is_direct

    def _continues(self, gap: Gap) -> bool:
        """Open edges, or take a step of the multipliers; whether another Newton step can gain anything."""
        if not self.is_full and gap.total <= gap.wanted:  # digits may have been lost
            self.z[:] = self.problem.predictions(self.w)
        self.sign = self.sign + self.opened
        if self.rows.renew(self.slopes, gap):
            self.terms = None
            return True
        return bool(self.opened.any()) or self.decrease > STALLED * abs(self.primal)

    def _step(self, label: np.ndarray, number: int) -> None:
        """A Newton step on the clusters, after which the signs are those of ``A w``."""
        problem, gram, w, terms = self.problem, self.tools.gram, self.w, self.terms
        assert terms is not None
        kept, pull = label >= 0, self.pull / problem.n
        of_kept = label[kept]

        def of_clusters(values: np.ndarray) -> np.ndarray:
            return np.bincount(of_kept, values[kept], number)

        H = terms.unit / problem.n * gram.matrix(label, number, terms.curvature())
        H += np.diag(np.maximum(of_clusters(self.rows.hold) - np.diag(H), 0.0))
        u = np.zeros(number)
        u[of_kept] = w[kept]
        edges, gamma = self._edges(label, number), of_clusters(problem.gamma)
        best = minimiser(H + np.diag(gamma), H @ u - of_clusters(pull), edges, u)
        target = np.where(kept, np.append(best, 0.0)[label], 0.0)
        p, z = target - w, gram.product(target, best)
        Xp = z - self.z
        v, dv = self.between, self.graph.differences(p)
        first = float((pull + problem.gamma * w) @ p) + self._slope_of_edges(v, dv, 0.0)
        length = self._length(p, Xp, (v, dv), first)
        self.is_full, self.decrease = length == 1.0, -length * first
        self.w = target if self.is_full else w + length * p
        self.z[:] = z if self.is_full else self.z + length * Xp
        self.v = problem.times_A(self.w)
        self.between = self.graph.differences(self.w)
        self.sign = np.sign(self.between)
        self._evaluate()

    def _edges(self, label: np.ndarray, number: int) -> Edges:
        """The edges between clusters; if they are many, those with the same ends as one."""
        apart = np.flatnonzero(self.sign)
        label = np.append(np.where(label < 0, number, label), number)
        one, other = label[self.graph.first[apart]], label[self.graph.second[apart]]
        if len(apart) <= FEW_EDGES * number:
            return Edges(one, other, self.capacity[apart], self.sign[apart])
        sign = np.where(one < other, self.sign[apart], -self.sign[apart])
        pairs = np.minimum(one, other) * (number + 1) + np.maximum(one, other)
        pairs, at, place = np.unique(pairs, return_index=True, return_inverse=True)
        return Edges(*np.divmod(pairs, number + 1), np.bincount(place, self.capacity[apart], len(pairs)), sign[at])

    def _length(self, p: np.ndarray, Xp: np.ndarray, along: tuple[np.ndarray, np.ndarray], first: float) -> float:
        """The length of the step, at most 1: at its end, edges have met."""
        if self.is_quadratic:
            return 1.0  # the model is the objective
        problem, terms = self.problem, self.terms
        assert terms is not None
        of_ridge, bend = float((problem.gamma * self.w) @ p), float((problem.gamma * p) @ p)

        def slope(length: float) -> float:
            of_edges = self._slope_of_edges(*along, length)
            return terms.slope(p, Xp, length) / problem.n + of_ridge + length * bend + of_edges

        return step_length(slope, first, longest=1.0, steep=FLAT, flat=FLAT)

    def _slope_of_edges(self, v: np.ndarray, dv: np.ndarray, length: float) -> float:
        """The derivative of the penalty after a step that moves differences v by dv, from the side it comes from."""
        after = v + length * dv
        side = np.where(v == 0.0, dv, np.where(np.abs(after) <= MET * np.abs(v), v, after))
        return float((np.sign(side) * dv) @ self.capacity)

    def _balance(self) -> None:
        """The forces that balance the derivatives as far as their capacities allow, and the gap that they leave."""
        problem, graph, with_ridge = self.problem, self.graph, self.ridged
        self.of_nodes = self.pull / problem.n + problem.gamma * self.w
        self.inside, self.opened = self.tools.forces.inside(self.of_nodes, self.capacity, self.sign)
        self.s, self.theta = unweighted(problem, self.slopes), graph.multipliers(self.inside, problem.m)
        self.loss, of_rows = self.rows.levels(self.z, self.s)
        self.primal = self.loss + problem.ridge_value(self.w) + problem.penalty_value(self.v)
        # Edges that differ and do not carry their capacity, and nodes out of balance, add to the gap of the rows.
        of_edges = float(self.capacity @ np.abs(self.between)) + float(self.inside @ self.between)
        excess = (self.of_nodes - graph.pull(self.inside)[:-1])[with_ridge]
        total = of_rows + of_edges + 0.5 * float(np.sum(excess * excess / problem.gamma[with_ridge]))
        self.gap = Gap(total, of_rows, self.tol * (self.primal - problem.least_loss))

    # --- the certificate ---------------------------------------------------------------------------------------------

    def dual_point(self) -> tuple[Slopes, np.ndarray]:
        return self.s, self.theta

    def certificate(self) -> Certificate:
        """The certificate of the point; only its bounds where they show that its gap is above ``tol``.

        With a ridge, forces within their capacities may leave some derivatives out of balance. Without one, or if that
        costs too much, slopes and balanced forces are scaled together until no force exceeds its capacity.
        """
        problem, gap = self.problem, self.gap
        if gap is None:
            return certify(problem, self.w, self.v, self.s, self.theta)
        if self.has_ridge and self._serves(duality.relative_gap(problem, self.primal, self.primal - gap.total)):
            return self._certified(self.inside, 1.0)
        if self.rows.is_smooth:
            found = self.tools.forces.balanced(self.of_nodes, self.capacity, self._scale_serves)
            if found is not None:
                return self._certified(*found)
        if not problem.gamma.all():  # what is out of balance may cost any amount
            return Certificate(self.primal, -math.inf, math.inf, math.inf, 0.0, math.nan, NO_PROOF)
        bound = self.primal - gap.total
        relative_gap = duality.relative_gap(problem, self.primal, bound)
        return Certificate(self.primal, bound, gap.total, relative_gap, 0.0, math.nan)

    def _serves(self, relative_gap: float) -> bool:
        """Whether a certificate with this gap is worth its time: it ends the run, or the run has ended."""
        return self.ended or self.tol == 0.0 or relative_gap <= self.tol

    def _scale_serves(self, scale: float) -> bool:
        problem, s = self.problem, scale * unweighted(self.problem, self.slopes)
        dual = -losses.mean_conjugate(problem.loss, s, *problem.rows[1:])
        dual -= scale * scale * problem.ridge_value(self.w)
        return self._serves(duality.relative_gap(problem, self.primal, dual))

    def _certified(self, forces: np.ndarray, scale: float) -> Certificate:
        """The certificate with these forces as multipliers, scaled with the slopes."""
        problem = self.problem
        self.s = scale * unweighted(problem, self.slopes)
        self.theta = scale * self.graph.multipliers(forces, problem.m)
        if self.is_full:
            problem.remember(self.w, self.z, self.loss)
        if self.pull_is_direct:
            problem.last_X_transposed.remember(problem.rows.c * self.s / problem.n, scale * self.pull / problem.n)
        return certify(problem, self.w, self.v, self.s, self.theta)

    # --- warm starts and copies --------------------------------------------------------------------------------------

    def moved_to(self, problem: Problem, solver: AllRowsSolver) -> Method:
        """At another strength, the clusters, the multipliers of the rows and their beta are kept."""
        is_copy = problem is self.problem
        if not is_copy and (not self._differs_in_strength(problem) or self.gap is None):
            return super().moved_to(problem, solver)
        other = copy.copy(self)
        vars(other)["_tools"] = vars(self).pop("_tools", None)  # only one run may change them
        if is_copy:
            other.best_dual, other.rows = copy.copy(self.best_dual), copy.copy(self.rows)
            for name in self.arrays:
                setattr(other, name, getattr(self, name).copy())
            other.restored()
        else:
            assert self.gap is not None
            other.problem, other.best_dual = problem, BestDual()
            other.rows = self.rows.moved_to(problem, self.slopes, self.gap, self.iteration)
            other._begin()
        return other

    def _differs_in_strength(self, problem: Problem) -> bool:
        """Whether another problem has the same loss over the same rows, graph and ridge."""
        mine, ours = problem.of_coordinates, self.problem.of_coordinates
        return mine is ours and problem.loss is self.problem.loss and graph_for(problem) is self.graph

    def extrapolate(self, last: Self, before: Self, times: float) -> None:
        """Open the edges that will carry more than their capacity, if derivatives change as between two strengths.

        If a step is expensive, w also moves on. That separates clusters which have just met, until a step joins them
        again; with kinks w changes too unevenly.
        """
        if last.gap is None or before.gap is None or not self.capacity.all():
            return
        self.rows.predict(last.slopes, before.slopes, times)
        if self.rows.is_smooth and self.tools.gram.has_many_rows:
            self.w, self.z = beyond(last.w, before.w, times), beyond(last.z, before.z, times)
            self.v, self.between = self.problem.times_A(self.w), self.graph.differences(self.w)
            self.sign = np.sign(self.between)
            self.problem.last_products.remember(self.w, self.z)
        of_nodes = beyond(last.of_nodes, before.of_nodes, times)
        self.sign += self.tools.forces.inside(of_nodes, self.capacity, self.sign)[1]

    def state(self) -> NamedState:
        spent = {} if self.allowance is None else {"allowance": self.allowance.left}
        return {**super().state(), **self.rows.state(), **spent}

    def restore(self, state: NamedState) -> None:
        if self.allowance is not None:
            self.allowance.left = float(state["allowance"])
        self.rows.restore(state)
        super().restore(state)

    def restored(self) -> None:
        self.terms, self.between = None, self.graph.differences(self.w)
        if self.iteration:
            self._evaluate()
            self._balance()
