"""The choice of ``solver="auto"``: the facts about a problem that matter, `Shape`, and a table of `RULES`.

In memory, the interior-point and the augmented Lagrangian method solve a Newton system in each step, by the cheapest
factorisation for the shape (`linalg.systems`). They differ in how many steps they need, and in what a step costs beside
the system. The interior-point method needs 7 to 30, with all rows in the matrix; the augmented Lagrangian method 20 to
100, with only the rows at which the loss has curvature, or a sample of them; direct methods, for special shapes, none
or a few.

The rules that apply to a problem, and whose solver takes it, are run in the order of the table until one of them
reaches ``tol``; a solver that may give up leaves nothing behind if it misses. To change a choice, change a rule.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from . import losses
from ._core.jit import is_registered
from .linalg.block_systems import block_starts, entries_of_inverses
from .linalg.systems import PASS, pass_cost
from .penalties import L1, GroupL2
from .problem import Problem
from .registry import AUTOMATIC, SOLVERS, Tuning, as_solver
from .rows.matrices import CSR, innermost, size
from .solvers import (
    ADMM,
    ALM,
    ASVRGADMM,
    IPM,
    SDCA,
    SPDHG,
    ConsensusADMM,
    ProximalNewton,
    Solver,
    TotalVariation,
    fits,
)
from .solvers.active_set.active_set import ActiveSet
from .solvers.active_set.forces import graph_for
from .solvers.ipm.banded import is_trend
from .solvers.ipm.box_terms import loss_pieces
from .solvers.sdca import difficulty
from .solvers.tv.total_variation import Strategy, strategy_of

__all__ = ["RULES", "Choice", "Rule", "Shape", "candidates", "choices", "is_auto", "shape_of", "unpenalised"]

MOST_FEATURES = 2000  # with more, a dense d x d matrix costs more than passes over the rows
# Rows a feature above which ALM is faster than IPM, measured at 100 to 1,000 features. If the loss has kinks, few rows
# have curvature, so that ALM's matrix is much cheaper than IPM's. With the squared loss IPM computes X'X once, and is
# as fast with any number of rows.
MANY_ROWS_KINKED, MANY_ROWS_SMOOTH = 4, 50
# Passes over X that Newton's matrix may cost IPM, if all rows have curvature: then ALM has no rows to leave out, and
# takes more steps. Measured with 20 to 300 dense features, and 100 to 1,500 features of which 7 to 30 are not 0.
FEW_PASSES = 150
# Entries of a dense X, larger than the cache, above which ALM is faster all the same: its sample of the rows saves
# passes over all of them. Measured with 20,000 x 10 to 465,000 x 54.
MANY_ENTRIES = 5e6
MOST_FLOPS = 2e11  # of one factorisation: above, methods that factor nothing are tried first
# Of a loss of several predictions: iterations of the proximal Newton method, systems that it solves in each, iterations
# of ADMM, and multiplications that a prox costs for each prediction.
NEWTON_STEPS, INNER_STEPS, ADMM_STEPS, PROX = 8.0, 15.0, 150.0, 200.0
EXACTNESS = 4.0  # how much longer a method may take that shows which coefficients are equal
# Coordinates above which Newton's system of a network is not even analysed; below, the costs of runs are compared.
LARGE_NETWORK = 20_000
STEPS_OF_IPM, STEPS_OF_CONSENSUS = 12, 150
# Multiplications of a run of IPM from which clusters save a noticeable time, and the time in which flows compile.
NOTICEABLE, COMPILING = 5e7, 1e10
SHARE = 0.3  # of the time of a run of IPM, after which the search for few clusters is given up
MOST_DIFFICULTY = 10.0  # of dual coordinate ascent on a smooth loss: above, IPM is faster
SINGLE, ITERATIVE = ("diagonal", "one entry a row"), "conjugate gradients"


# --- the shape of a problem ------------------------------------------------------------------------------------------


class Shape:
    """The facts about a problem on which the choice of a solver depends.

    A fact is computed when a rule first asks for it; what is expensive, such as the symbolic factorisation of Newton's
    system, is kept by the problem, for the run. Which losses and penalties a method takes is asked of the method.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = weakref.ref(problem)  # which keeps its shape, not the other way round
        self.n, self.d, self.width = problem.n, problem.d, losses.width(problem.loss)  # width: predictions of a row
        self.samples, self.features = problem.terms, problem.d // self.width  # n and d of one of these predictions

    @property
    def problem(self) -> Problem:
        problem = self._problem()
        assert problem is not None
        return problem

    def takes(self, solver: Solver) -> bool:
        """Whether a solver can be used for the problem."""
        return fits(solver, self.problem)

    def has(self, function: str) -> bool:
        """Whether the loss has this function of `losses`: "prox", for example."""
        return is_registered(getattr(losses, function), self.problem.loss)

    @functools.cached_property
    def kind(self) -> str:
        """The kind of rows and loss.

        "stream" or "workers" if the rows are not in memory; "any B" if B is not -I; "vector": several predictions for
        each row; "slope only": neither a prox nor a second derivative; else "scalar".
        """
        problem = self.problem
        if problem.source is not None:
            return "workers" if problem.on_workers else "stream"
        if problem.B is not None:
            return "any B"
        if self.width > 1:
            return "vector"
        return "scalar" if self.has("prox") or losses.is_smooth(problem.loss) else "slope only"

    @functools.cached_property
    def loss(self) -> str:
        """The form of a scalar loss.

        "squared"; "curved": a second derivative, and no linear or quadratic pieces; "smooth": such pieces, and no
        kinks; "kinked".
        """
        loss = self.problem.loss
        if not losses.is_smooth(loss):
            return "kinked"
        if isinstance(loss, losses.Squared):
            return "squared"
        return "smooth" if loss_pieces(loss, self.problem.rows.y[:0]) else "curved"

    @functools.cached_property
    def X(self) -> str:
        """The form of X in memory, without an intercept: "diagonal", "one entry a row", "sparse" or "dense"."""
        if self.problem.diagonal is not None:
            return "diagonal"
        inner = innermost(self.problem.rows.X)
        if not isinstance(inner, CSR):
            return "dense"
        return "one entry a row" if (np.diff(inner.indptr) == 1).all() else "sparse"

    @functools.cached_property
    def strategy(self) -> Strategy | str:
        """How total variation is solved where X is diagonal; or why it is not."""
        return strategy_of(self.problem)

    @property
    def newton(self) -> str:
        """How Newton's system is solved."""
        return self.problem.system.name

    @functools.cached_property
    def is_trend(self) -> bool:
        """Whether X has one entry in each row, A is banded, and the penalty is L1."""
        return self.X in SINGLE and is_trend(self.problem) and self.takes(IPM())

    @property
    def is_direct(self) -> bool:
        """Whether X has at most one entry in each row, and one of the methods for that takes the problem."""
        return (self.X == "diagonal" and self.takes(TotalVariation())) or self.is_trend

    @property
    def admm_step(self) -> float:
        """Multiplications of an iteration of ADMM, for a loss of several predictions."""
        return 2.0 * pass_cost(self.problem.rows.X) + PROX * self.n + self.features * self.d

    @functools.cached_property
    def is_large_network(self) -> bool:
        """Whether X falls into blocks that only differences couple, and ADMM with copies costs less than IPM."""
        problem, X = self.problem, self.problem.rows.X
        if not isinstance(X, CSR) or self.d <= MOST_FEATURES or not self.takes(ConsensusADMM()):
            return False
        if not isinstance(problem.penalty, GroupL2) and np.sum(np.diff(block_starts(X)) > 1) < 2:
            return False
        iteration = 2.0 * PASS * size(X) + entries_of_inverses(X) + PASS * size(problem.A)
        return self.d > LARGE_NETWORK or STEPS_OF_CONSENSUS * iteration < STEPS_OF_IPM * problem.system.flops

    @functools.cached_property
    def has_many_rows(self) -> bool:
        """Whether rows are so many that a method that needs few of them is faster than one that needs all."""
        many = (MANY_ROWS_KINKED if self.loss == "kinked" else MANY_ROWS_SMOOTH) * self.d
        return self.n > many and self.loss != "squared" and not self._is_cheap_for_ipm()

    def _is_cheap_for_ipm(self) -> bool:
        """Whether Newton's matrix costs no more than a few passes over X, and ALM's would need all rows as well."""
        X = self.problem.rows.X
        if self.d > MOST_FEATURES or self.loss != "curved" or not self.takes(IPM()):
            return False
        if size(X) > MANY_ENTRIES and not isinstance(innermost(X), CSR):
            return False
        return self.problem.system.flops <= FEW_PASSES * pass_cost(X)

    @property
    def is_too_large(self) -> bool:
        """Whether a factorisation takes too long, of a problem whose rows are not many more than its coefficients."""
        return not self.has_many_rows and (self.problem.system.flops > MOST_FLOPS or self.newton == ITERATIVE)

    @functools.cached_property
    def suits_ascent(self) -> bool:
        """Whether dual coordinate ascent takes the problem and a few epochs suffice."""
        return self.takes(SDCA()) and (self.loss == "kinked" or difficulty(self.problem) <= MOST_DIFFICULTY)

    @property
    def suits_clusters(self) -> bool:
        """Whether clusters may save time; flows on a graph with cycles are compiled code, which takes time to load."""
        graph = graph_for(self.problem) if isinstance(self.problem.penalty, L1) else None
        if graph is None or self.is_direct or self.n > MANY_ROWS_SMOOTH * self.d:
            return False
        if self.is_large_network or self.is_too_large:
            return False
        return STEPS_OF_IPM * self.problem.system.flops > (COMPILING if graph.has_cycles else NOTICEABLE)

    @property
    def suits_batches(self) -> bool:
        """Whether methods that factor nothing, and read batches of rows, come first."""
        if self.has_many_rows:
            return self.d > MOST_FEATURES
        few_rows = self.loss != "kinked" and self.n < self.d  # for which conjugate gradients need few passes
        return self.is_too_large and not self.suits_ascent and not (few_rows and self.newton == ITERATIVE)


_SHAPES: weakref.WeakKeyDictionary[Problem, Shape] = weakref.WeakKeyDictionary()


def shape_of(problem: Problem) -> Shape:
    """The shape of a problem, kept as long as the problem."""
    return _SHAPES.get(problem) or _SHAPES.setdefault(problem, Shape(problem))


# --- the rules -------------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """A solver, and why it was chosen."""

    solver: Solver
    reason: str  # a clause that follows "because"
    hands_over: bool = False  # another solver follows, so that a run which stalls may end early
    at_once: bool = False  # few iterations end at the solution
    may_give_up: bool = False  # the solver ends where another one is faster


def _always(shape: Shape) -> bool:
    return True


def _never(shape: Shape) -> bool:
    return False


def _uncounted(shape: Shape) -> float:
    return 0.0


class Rule(NamedTuple):
    """When a solver is run, and why.

    Whether the solver takes the loss and the penalty is asked after ``kinds`` and ``where``. Rules with a cost that
    stand next to each other are run in the order of their costs.
    """

    kinds: tuple[str, ...]  # of rows and losses: `Shape.kind`
    case: str  # kinds and where in words: a line of the documentation
    solver: Callable[[Tuning], Solver]
    reason: str  # a clause that follows "because", filled with facts of the shape
    where: Callable[[Shape], bool] = _always
    cost: Callable[[Shape], float] = _uncounted  # multiplications
    along_path: bool | None = None  # only for one of several strengths (True), or only for a single one (False)
    hands_over: Callable[[Shape], bool] = _never
    at_once: Callable[[Shape], bool] = _never
    may_give_up: bool = False

    def applies(self, shape: Shape) -> bool:
        return shape.kind in self.kinds and self.where(shape)

    def choice(self, shape: Shape, tuning: Tuning) -> Choice:
        reason = self.reason.format(shape=shape)
        return Choice(self.solver(tuning), reason, self.hands_over(shape), self.at_once(shape), self.may_give_up)


TOO_MANY = "{shape.n} rows and {shape.d} coefficients are too many for a factorisation"
SMALL = "{shape.n} rows and {shape.d} coefficients make a small Newton system"
OUTPUTS = "{shape.samples} rows, {shape.features} coefficients and {shape.width} outputs"

RULES: tuple[Rule, ...] = (
    Rule(("stream",), "rows that do not fit in memory", SOLVERS["ada-diag"], "the rows arrive as a stream"),
    Rule(
        ("workers",),
        f"rows on workers, at most {MOST_FEATURES:,} coefficients, a loss with a prox",
        SOLVERS["admm"],
        "the rows are on workers and {shape.d} coefficients are few",
        lambda shape: shape.d <= MOST_FEATURES and shape.has("prox"),
    ),
    Rule(
        ("workers",),
        "other rows on workers",
        SOLVERS["ada-diag"],
        "the rows are on workers, with {shape.d} coefficients",
        lambda shape: shape.d > MOST_FEATURES or not shape.has("prox"),
    ),
    Rule(("any B",), "B is not -I", SOLVERS["admm"], "ADMM takes any B"),
    Rule(
        ("scalar",),
        "an L1 penalty of differences or single coefficients, and a strength at which few clusters of coefficients "
        "differ: as long as Newton steps on these cost less than those of IPM",
        lambda tuning: ActiveSet(share=SHARE),
        "the clusters of equal coefficients are few",
        lambda shape: shape.suits_clusters,
        along_path=False,
        may_give_up=True,
    ),
    # One of several strengths: methods that profit from the solution for another one.
    Rule(
        ("scalar",),
        "several strengths, an L1 penalty of differences or single coefficients, and few clusters that differ",
        lambda tuning: ActiveSet(),
        "the solution for another strength shows the clusters, which are few",
        along_path=True,
        at_once=_always,
        may_give_up=True,
    ),
    Rule(
        ("scalar", "vector"),
        "several strengths (`path`, the `*CV` classes), a smooth loss, and a dense Newton system",
        lambda tuning: ProximalNewton(),
        "the loss is smooth, and the solution for another strength is near",
        lambda shape: shape.loss != "kinked" and not shape.is_direct and shape.newton == "dense",
        along_path=True,
    ),
    # Several predictions for each row. The proximal Newton method also shows exact structure.
    Rule(
        ("vector",),
        "a loss of several predictions, few coefficients",
        lambda tuning: ProximalNewton(),
        f"{OUTPUTS} make a small Newton system",
        cost=lambda shape: NEWTON_STEPS * (shape.samples * shape.d**2 / 2.0 + INNER_STEPS * shape.d**3 / 6.0),
    ),
    Rule(
        ("vector",),
        "a loss of several predictions, many coefficients",
        lambda tuning: ADMM(),
        f"{OUTPUTS} take one factorisation and many cheap passes",
        cost=lambda shape: EXACTNESS * (shape.samples * shape.features**2 / 2.0 + ADMM_STEPS * shape.admm_step),
    ),
    # One prediction for each row.
    Rule(
        ("scalar", "slope only"),
        "X diagonal (signals, images), a penalty along chains, a grid or any graph; with the squared loss also an L1 "
        "norm of the coefficients",
        lambda tuning: TotalVariation(),
        "X is diagonal and the penalty acts along {shape.strategy.reason}",
        lambda shape: shape.X == "diagonal",
        at_once=lambda shape: isinstance(shape.strategy, Strategy) and shape.strategy.at_once,
    ),
    Rule(
        ("scalar", "slope only"),
        "X diagonal, or with one entry in each row, and a banded A (trends of any order)",
        lambda tuning: IPM(),
        "X has one entry in each row and A is banded",
        lambda shape: shape.is_trend,
    ),
    Rule(
        ("vector", "slope only"),
        "a loss with only a value and a slope",
        SOLVERS["ada-diag"],
        "the loss has only a value and a slope",
    ),
    Rule(
        ("scalar",),
        f"X in blocks, one for each node of a network, and more than {MOST_FEATURES:,} coefficients, if its steps cost "
        "less than those of IPM",
        lambda tuning: ConsensusADMM(),
        "X falls into blocks, whose {shape.d} coefficients only the penalty couples",
        lambda shape: shape.is_large_network,
    ),
    Rule(
        ("scalar",),
        "too many sparse features for a factorisation, a ridge and a penalty along chains",
        lambda tuning: SDCA(),
        f"{TOO_MANY}, the penalty acts along chains, and there is a ridge",
        lambda shape: shape.is_too_large and shape.suits_ascent,
    ),
    Rule(
        ("scalar",),
        "the same with another structure, and a loss with a bounded second derivative (logistic, squared, Huber)",
        lambda tuning: ASVRGADMM(beta=tuning.beta, batch_size=tuning.batch_size),
        TOO_MANY,
        lambda shape: shape.suits_batches and shape.has("curvature"),
    ),
    Rule(
        ("scalar",),
        "the same with another loss (hinge, quantile, Poisson)",
        lambda tuning: SPDHG(beta=tuning.beta, batch_size=tuning.batch_size),
        TOO_MANY,
        lambda shape: shape.suits_batches and not shape.has("curvature"),
    ),
    # Where ALM stalls, for instance on columns of very different sizes, IPM usually takes a few steps.
    Rule(
        ("scalar",),
        f"more than {MANY_ROWS_KINKED} rows a feature (hinge, quantile, epsilon-insensitive), more than "
        f"{MANY_ROWS_SMOOTH} (Huber, squared hinge); of a loss that is curved everywhere (logistic, Poisson and others "
        f"with a logarithmic link) more than {MANY_ROWS_SMOOTH}, and more than about 300 dense columns or "
        f"{MANY_ENTRIES / 1e6:.0f} million dense entries",
        lambda tuning: ALM(),
        "{shape.n} rows are many more than {shape.d} coefficients",
        lambda shape: shape.has_many_rows,
        hands_over=lambda shape: shape.takes(IPM()),
    ),
    Rule(
        ("scalar",),
        "the same, if ALM misses `tol`",
        lambda tuning: IPM(),
        "ALM missed tol",
        lambda shape: shape.has_many_rows,
    ),
    Rule(
        ("scalar",),
        "fewer rows or columns, or one-hot columns",
        lambda tuning: IPM(),
        SMALL + ", solved by a factorisation ({shape.newton})",
        lambda shape: not shape.has_many_rows and shape.newton != ITERATIVE,
    ),
    Rule(
        ("scalar",),
        "the same without a cheap factorisation",
        lambda tuning: IPM(),
        f"{SMALL}, which needs conjugate gradients",
        lambda shape: not shape.has_many_rows and shape.newton == ITERATIVE,
    ),
    # Where X is diagonal and IPM missed tol, ALM takes long, and does not get further.
    Rule(
        ("scalar",),
        "a loss or a penalty that IPM does not take, or if it misses `tol`",
        lambda tuning: ALM(),
        "IPM does not take this loss or penalty, or missed tol",
        lambda shape: not shape.has_many_rows and (shape.X != "diagonal" or not shape.takes(IPM())),
    ),
)
LAST_RESORT = Rule(
    (), "what no other method takes", SOLVERS["ada-diag"], "no other method takes this loss with this penalty"
)


# --- the choice ------------------------------------------------------------------------------------------------------


def is_auto(given: str | Solver) -> bool:
    """Whether the parameter ``solver`` leaves the choice to us."""
    return isinstance(given, str) and given == "auto"


def candidates(
    given: str | Solver, problem: Problem, tuning: Tuning = AUTOMATIC, along_path: bool = False
) -> Iterator[Choice]:
    """The solver that was given, by name or as an object; or those that "auto" runs in turn."""
    if is_auto(given):
        return choices(problem, tuning, along_path)
    return iter([Choice(as_solver(given, tuning), "it was given")])


def choices(problem: Problem, tuning: Tuning = AUTOMATIC, along_path: bool = False) -> Iterator[Choice]:
    """The solvers to run, in this order, until one of them reaches ``tol``.

    What only a later rule needs to know is not computed before its turn.
    """
    shape = shape_of(problem)
    if tuning.beta != "auto" and shape.problem.source is None:
        yield Choice(ADMM(tuning.beta), "beta is given, and is a parameter of ADMM")
        return
    rules = (rule for rule in RULES if rule.along_path in (None, along_path))
    found = (rule for rule in _by_cost(rules, shape) if rule.applies(shape) and shape.takes(rule.solver(tuning)))
    first, tried = next(found, LAST_RESORT), list[Solver]()
    for rule in itertools.chain([first], found):
        choice = rule.choice(shape, tuning)
        if choice.solver not in tried:
            tried.append(choice.solver)
            yield choice


def _by_cost(rules: Iterator[Rule], shape: Shape) -> Iterator[Rule]:
    """The rules in the order of the table, but for those with a cost that stand next to each other."""
    for is_counted, group in itertools.groupby(rules, key=lambda rule: rule.cost is not _uncounted):
        if is_counted:
            yield from sorted((rule for rule in group if rule.applies(shape)), key=lambda rule: rule.cost(shape))
        else:
            yield from group


def unpenalised(problem: Problem) -> Iterator[Choice]:
    """The solvers for a problem without its penalty: Newton's methods, whose slopes are accurate, if they take it."""
    reason = "the penalty is left out"
    found = [Choice(solver, reason) for solver in (ProximalNewton(), ALM()) if fits(solver, problem)]
    return iter(found or [Choice(ADMM(), reason)])
