"""Shared by the estimators of series and images: X selects coefficients, one for each time or pixel."""

from __future__ import annotations

import dataclasses
import html
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._solve import answer
from .._solve.advice import complaint
from .._solve.attempts import Request
from ..auto import is_auto
from ..certificates.duality import relative_gap
from ..certificates.trace import Result, Status, Trace
from ..losses import Logistic, has_log_link, width
from ..problem import Problem
from ..registry import LOSSES, SOLVERS
from ..regularization.along import answers_along
from ..solvers import Solver
from ._judged import Judged, Judgement
from ._parameters import KnownParameters, LossAmong
from ._types import LossLike, SolverLike

__all__ = ["FUSED", "Outcome", "SignalModel", "response"]

FUSED = 1e-3  # for solvers without an exact v: a difference below this part of the largest one counts as 0

NOT_NEGATIVE = Interval(Real, 0, None, closed="left")


def response(loss: tuple, z: np.ndarray) -> np.ndarray:
    """The expected target: the exponential of z for losses with a logarithmic link, the probability of +1 for the
    logistic loss, else z.
    """
    if has_log_link(loss):
        return np.exp(z)
    return expit(z) if isinstance(loss, Logistic) else z


class Outcome(NamedTuple):
    """A result, the objective of the answer and its relative duality gap."""

    result: Result
    objective: float
    gap: float
    fused: bool = False  # what the penalty makes equal is equal to the last bit

    def judgement(self, merged: bool) -> Judgement:
        """Return the data from which the degrees of freedom are computed."""
        apart = 0.0 if self.result.solver.exact_v else FUSED
        return Judgement(self.result.run.problem, self.result.w_average, apart, merged=merged)


class SignalModel(Judged, KnownParameters, ABC):
    """A model with a coefficient for each time or pixel, and a penalty of their differences."""

    alpha: float | None
    loss: LossLike
    l2: float
    solver: SolverLike
    max_iter: int | None
    tol: float
    verbose: int
    coef_: np.ndarray
    _parts: ClassVar[str] = "pieces"

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [NOT_NEGATIVE, None],
        "loss": [LossAmong(name for name, loss in LOSSES.items() if width(loss) == 1)],
        "l2": [NOT_NEGATIVE],
        "solver": [StrOptions({"auto", *SOLVERS}), Solver],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [NOT_NEGATIVE],
        "verbose": ["verbose"],
    }

    def _solve(self, problem: Problem, constant: float = 0.0) -> Outcome:
        """Solve a problem; ``constant`` belongs to the objective but not to the problem."""
        request = self._request()._replace(keywords={"progress": self.verbose > 0})
        found = answer(problem, request)
        return _outcome(problem, found.result, constant, found.fused)

    def _solve_path(self, problem: Problem, strengths: np.ndarray, constant: float = 0.0) -> Iterator[Outcome]:
        """Solve a problem for several strengths of its penalty, each warm-started from the one before."""
        for found in answers_along(problem, strengths, self._request()):
            yield _outcome(found.problem, found.result, constant, found.fused)

    def _request(self) -> Request:
        return Request(self.solver, self.tol, self.max_iter)

    def _set_outcomes(self, outcomes: list[Outcome], constant: float = 0.0, merged: bool = False) -> None:
        """Keep how the runs ended, one for each channel, and warn if one did not end well."""
        worst = max(outcomes, key=lambda outcome: (outcome.result.status is Status.diverged, outcome.gap))
        traces = [_raised(outcome.result.trace, constant) for outcome in outcomes]
        self.solver_, self.solver_reason_ = worst.result.solver, worst.result.solver_reason
        self.status_, self.dual_gap_ = worst.result.status, worst.gap
        self.objective_ = sum(outcome.objective for outcome in outcomes)
        self.n_iter_ = max(1, math.ceil(max(outcome.result.epochs for outcome in outcomes)))
        self.trace_ = traces[0] if len(traces) == 1 else traces
        self._judge_later([outcome.judgement(merged) for outcome in outcomes])
        goal, other = self._request().expected(worst.result), "" if is_auto(self.solver) else "solver='auto'"
        if text := complaint(worst.result, worst.gap, goal, self.max_iter, other=other):
            warnings.warn(text, ConvergenceWarning, stacklevel=5)

    def summary(self) -> str:
        """Describe the fitted model in a few lines.

        Returns
        -------
        str
            The number of points and pieces, the strength of the penalty, the objective, the relative duality gap, how
            the run ended, and the solver.
        """
        check_is_fitted(self)
        gap = max(self.dual_gap_, 0.0)  # rounding can make the gap of an exact solution negative
        return "\n".join(
            (
                f"{type(self).__name__}: {self._size()}",
                f"{self.n_pieces_} {self._parts}, alpha={self.alpha_:.3g}",
                f"objective {self.objective_:.6g}, relative duality gap {gap:.1e}, "
                f"{self.status_.name}: {self.status_.value}",
                f"solver: {type(self.solver_).__name__}, because {self.solver_reason_}",
            )
        )

    @property
    @abstractmethod
    def n_pieces_(self) -> int:
        """The number of pieces."""

    @abstractmethod
    def _size(self) -> str:
        """Describe the size of the fitted data, for the summary."""

    @abstractmethod
    def _is_consistent(self) -> bool:
        """Whether the fitted arrays of a model that was read from a file belong together."""

    def _repr_html_inner(self) -> str:
        """scikit-learn's diagram, followed by the summary if the model is fitted."""
        diagram = super()._repr_html_inner()
        return f"{diagram}<pre>{html.escape(self.summary())}</pre>" if hasattr(self, "coef_") else diagram


def at_level(outcome: Outcome, level: float, constant: float) -> Outcome:
    """The outcome with the objective and the gap of its curve after a level was added, which rounds its values."""
    found = outcome.result.certificate
    if level == 0.0 or found is None:
        return outcome
    problem = outcome.result.run.problem
    primal = problem.objective((outcome.result.w_average + level) - level)
    moved = dataclasses.replace(
        found, primal=primal, gap=primal - found.dual, relative_gap=relative_gap(problem, primal, found.dual)
    )
    result = dataclasses.replace(outcome.result, certified=moved)
    return _outcome(problem, result, constant, outcome.fused)


def _outcome(problem: Problem, result: Result, constant: float, fused: bool) -> Outcome:
    found = result.certificate
    if found is None:
        return Outcome(result, problem.objective(result.w_average) + constant, math.inf, fused)
    # A constant makes the objective larger, and so the relative gap smaller; not if it is only rounding.
    objective = found.primal + constant
    with_constant = max(found.gap, 0.0) / objective if constant > 0.0 and objective > 0.0 else math.inf
    return Outcome(result, objective, min(found.relative_gap, with_constant), fused)


def _raised(trace: Trace, constant: float) -> Trace:
    """The trace of the objective with a constant added to it."""
    if constant == 0.0:
        return trace
    moved = ("objective", "objective_mean", "lower_bound")
    columns = {name: trace[name] + (constant if name in moved else 0) for name in trace}
    return Trace(list(zip(*columns.values(), strict=True)))
