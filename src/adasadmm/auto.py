"""The choice of ``solver="auto"``: the method for the shape of the problem, and its successors if it misses ``tol``.

In memory, all methods but the stochastic ones solve a Newton system in each step, by the cheapest factorisation for the
shape (`linalg.systems`). They differ in how many steps they need, and in what a step costs beside the system:

- where X is diagonal, the direct methods need none or a few;
- where X falls into blocks of columns, one for each node of a network, and A couples the blocks, ADMM with copies of
  the coefficients has a system for each block instead of one for all;
- for large sparse data with a ridge and a penalty along chains, dual coordinate ascent needs none;
- the interior-point method needs 7 to 30, with all rows in the matrix;
- the augmented Lagrangian method needs 20 to 100, but only with the rows at which the loss has curvature, or a sample
  of them. So it is faster where rows are many more than features, unless all rows have curvature and Newton's matrix
  costs no more than a few passes over X.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from . import losses
from ._core.jit import is_registered
from .linalg.block_systems import block_starts, entries_of_inverses
from .linalg.systems import PASS, pass_cost
from .penalties import GroupL2
from .problem import Problem
from .registry import SOLVERS, Tuning
from .rows.matrices import CSR, innermost, size
from .solvers import (
    ADMM,
    ALM,
    ASVRGADMM,
    IPM,
    SDCA,
    SPDHG,
    BandedIPM,
    ConsensusADMM,
    ProximalNewton,
    Solver,
    TotalVariation,
    fits,
)
from .solvers.ipm.box_terms import loss_pieces
from .solvers.sdca import difficulty
from .solvers.tv.total_variation import Strategy, strategy_of

__all__ = [
    "Choice",
    "along_path",
    "candidates",
    "choices",
    "is_auto",
]

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
MOST_DIFFICULTY = 10.0  # of dual coordinate ascent on a smooth loss: above, IPM is faster


class Choice(NamedTuple):
    """A solver, and why it was chosen: a clause that follows "because".

    ``hands_over`` says whether another solver follows, so that a run which stalls may end early; ``at_once``, whether
    the first iteration ends at the solution.
    """

    solver: Solver
    reason: str
    hands_over: bool = False
    at_once: bool = False


def is_auto(given: str | Solver) -> bool:
    """Whether the parameter ``solver`` leaves the choice to us."""
    return isinstance(given, str) and given == "auto"


def candidates(given: str | Solver, problem: Problem, tuning: Tuning, streaming: bool = False) -> Iterator[Choice]:
    """The solver that was given, by name or as an object; or those that "auto" runs in turn."""
    if is_auto(given):
        return choices(problem, tuning, streaming)
    return iter([Choice(SOLVERS[given](tuning) if isinstance(given, str) else given, "it was given")])


def along_path(given: str | Solver, problem: Problem, tuning: Tuning) -> Iterator[Choice]:
    """The same for one of several strengths of a penalty, for which a method should profit from a warm start."""
    own = candidates(given, problem, tuning)
    if not is_auto(given) or tuning.beta != "auto" or next(_direct(problem), None) is not None:
        yield from own
        return
    if fits(ProximalNewton(), problem) and problem.system.name == "dense":
        yield Choice(ProximalNewton(), "the loss is smooth, and the solution for another strength is near")
    yield from own


def choices(problem: Problem, tuning: Tuning, streaming: bool = False) -> Iterator[Choice]:
    """The solvers to run, in this order, until one of them reaches ``tol``."""
    if streaming:
        yield Choice(SOLVERS["ada-diag"](tuning), "the rows arrive as a stream")
    elif problem.on_workers:
        yield _on_workers(problem, tuning)
    elif tuning.beta != "auto":
        yield Choice(ADMM(tuning.beta), "beta is given, and is a parameter of ADMM")
    else:
        yield from (choice for choice in _in_memory(problem, tuning) if fits(choice.solver, problem))


def _on_workers(problem: Problem, tuning: Tuning) -> Choice:
    if problem.d <= MOST_FEATURES and is_registered(losses.prox, problem.loss):
        return Choice(SOLVERS["admm"](tuning), f"the rows are on workers and {problem.d} coefficients are few")
    return Choice(SOLVERS["ada-diag"](tuning), f"the rows are on workers, with {problem.d} coefficients")


def _in_memory(problem: Problem, tuning: Tuning) -> Iterator[Choice]:
    """All that may be run, the best first."""
    if losses.width(problem.loss) > 1:
        yield from _of_vectors(problem)
        yield Choice(SOLVERS["ada-diag"](tuning), "the loss has only a value and a slope")
        return
    shape = f"{problem.n} rows and {problem.d} coefficients"
    smooth = losses.is_smooth(problem.loss)
    yield from _direct(problem)
    if not is_registered(losses.prox, problem.loss) and not smooth:
        yield Choice(SOLVERS["ada-diag"](tuning), "the loss has only a value and a slope")
        return
    if _is_large_network(problem):
        yield Choice(ConsensusADMM(), f"X falls into blocks, whose {problem.d} coefficients only the penalty couples")
    many = (MANY_ROWS_SMOOTH if smooth else MANY_ROWS_KINKED) * problem.d
    if problem.n > many and not isinstance(problem.loss, losses.Squared) and not _is_cheap_for_ipm(problem):
        if problem.d > MOST_FEATURES:
            yield _accurate(problem, tuning, f"{shape} are too many for a factorisation")
        # Where ALM stalls, for instance on columns of very different sizes, IPM usually takes a few steps.
        reason = f"{problem.n} rows are many more than {problem.d} coefficients"
        yield Choice(ALM(), reason, hands_over=fits(IPM(), problem))
        yield Choice(IPM(), "ALM missed tol")
        return
    system = problem.system
    iterative = system.name == "conjugate gradients"
    too_large, too_many = system.flops > MOST_FLOPS or iterative, f"{shape} are too many for a factorisation"
    if too_large and fits(SDCA(), problem) and not (smooth and difficulty(problem) > MOST_DIFFICULTY):
        yield Choice(SDCA(), f"{too_many}, the penalty acts along chains, and there is a ridge")
    elif too_large and not (iterative and smooth and problem.n < problem.d):
        yield _accurate(problem, tuning, too_many)
    how = "which needs conjugate gradients" if iterative else f"solved by a factorisation ({system.name})"
    yield Choice(IPM(), f"{shape} make a small Newton system, {how}")
    if problem.diagonal is None or not fits(IPM(), problem):  # else ALM takes long, and does not get further
        yield Choice(ALM(), "IPM does not take this loss or penalty, or missed tol")


def _direct(problem: Problem) -> Iterator[Choice]:
    """The methods that need a diagonal X, or one with an entry in each row."""
    strategy = strategy_of(problem)
    if isinstance(strategy, Strategy):
        reason = f"X is diagonal and the penalty acts along {strategy.reason}"
        yield Choice(TotalVariation(), reason, at_once=strategy.at_once)
    if fits(BandedIPM(), problem):
        yield Choice(BandedIPM(), "X has one entry in each row and A is banded")


def _of_vectors(problem: Problem) -> list[Choice]:
    """The methods for a loss of several predictions, by counted cost; the first one also shows exact structure."""
    k = losses.width(problem.loss)
    n, d = problem.n / k, problem.d / k
    newton = NEWTON_STEPS * (k * k / 2.0 * n * d * d + INNER_STEPS * problem.d**3 / 6.0)
    admm = n * d * d / 2.0 + ADMM_STEPS * (2.0 * pass_cost(problem.rows.X) + PROX * problem.n + d * d * k)
    shape = f"{problem.terms} rows, {d:.0f} coefficients and {k} outputs"
    found = [
        Choice(ProximalNewton(), f"{shape} make a small Newton system"),
        Choice(ADMM(), f"{shape} take one factorisation and many cheap passes"),
    ]
    return found if newton <= EXACTNESS * admm else found[::-1]


def _is_large_network(problem: Problem) -> bool:
    """Whether X falls into blocks that only differences couple, and ADMM with copies costs less than IPM."""
    X = problem.rows.X
    if not isinstance(X, CSR) or problem.d <= MOST_FEATURES or not fits(ConsensusADMM(), problem):
        return False
    widths = np.diff(block_starts(X))
    if not isinstance(problem.penalty, GroupL2) and np.sum(widths > 1) < 2:
        return False
    iteration = 2.0 * PASS * size(X) + entries_of_inverses(X) + PASS * size(problem.A)
    return problem.d > LARGE_NETWORK or STEPS_OF_CONSENSUS * iteration < STEPS_OF_IPM * problem.system.flops


def _is_cheap_for_ipm(problem: Problem) -> bool:
    """Whether Newton's matrix costs no more than a few passes over X, and ALM's would need all rows as well."""
    X = problem.rows.X
    if problem.d > MOST_FEATURES or loss_pieces(problem.loss, problem.rows.y[:0]) or not fits(IPM(), problem):
        return False
    if size(X) > MANY_ENTRIES and not isinstance(innermost(X), CSR):
        return False
    return problem.system.flops <= FEW_PASSES * pass_cost(X)


def _accurate(problem: Problem, tuning: Tuning, reason: str) -> Choice:
    method = ASVRGADMM if is_registered(losses.curvature, problem.loss) else SPDHG
    return Choice(method(beta=tuning.beta, batch_size=tuning.batch_size), reason)
