"""The outcome of a run: trace, status, result and certificate."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Certificate", "Result", "Snapshot", "Status", "Trace"]


class Status(enum.Enum):
    """Why a run ended. The value of each member is a sentence for the user.

    Attributes
    ----------
    done
        The run did all iterations that were asked for.
    converged
        The relative duality gap fell below ``tol``.
    diverged
        An iterate or the objective became infinite or NaN, or a step could not be computed; `Result.reason` says which.
        The result holds the last finite iterate.
    stopped
        The callback returned a true value.
    stalled
        ``solver="auto"`` ended the run, because its gap fell too slowly to reach ``tol``, and tried another solver.

    Examples
    --------
    >>> from adasadmm import Status
    >>> Status.converged.value
    'the relative duality gap fell below tol'
    """

    done = "all iterations were done"
    converged = "the relative duality gap fell below tol"
    diverged = "an iterate or the objective stopped being finite, or a step failed; the last finite iterate is returned"
    stopped = "the callback asked to stop"
    stalled = "the relative duality gap fell too slowly to reach tol"

    @classmethod
    def _missing_(cls, value: object) -> Status | None:
        """The member for a sentence that an earlier version has saved."""
        is_older = isinstance(value, str) and value.startswith("an iterate or the objective stopped being finite;")
        return cls.diverged if is_older else None

    def __reduce__(self) -> tuple[type[Status], tuple[str]]:
        """The pickle form of an enumeration: `enum.Enum` has only ``__reduce_ex__``, and skops calls this."""
        return type(self), (self.value,)


class Snapshot(NamedTuple):
    """A run at one moment: a point of the trace, and copies of the iterates. A callback receives one.

    Attributes
    ----------
    iteration : int
        Iterations so far.
    epoch : float
        Passes over the rows so far; for `ADMM` and `ALM`, iterations.
    seconds : float
        Time spent in iterations, without the evaluation of snapshots.
    objective, objective_mean : float
        The objective at w, and at w_mean.
    primal_residual : float
        ``|A w + B v - b|``.
    dual_residual : float
        ``beta |A'B(v_{t+1} - v_t)|``.
    eta : float
        The step size of the last iteration; NaN for solvers without one.
    lower_bound, relative_gap : float
        The proved lower bound of the optimum and the relative duality gap, as in `Certificate`; NaN in runs that do not
        stop by the gap (``tol=None``), which do not compute them.
    w, w_mean, w_average : ndarray of shape (d,)
        As in `Result`.
    """

    iteration: int
    epoch: float
    seconds: float
    objective: float
    objective_mean: float
    primal_residual: float
    dual_residual: float
    eta: float
    lower_bound: float
    relative_gap: float
    w: np.ndarray
    w_mean: np.ndarray
    w_average: np.ndarray


class Trace(Mapping):
    """The history of a run: a read-only mapping of column names to arrays with one entry for each snapshot.

    Parameters
    ----------
    snapshots : sequence of Snapshot or of tuples
        The fields of each before the iterates are the row of the trace.
    later : callable, optional
        Returns ``(objective, objective_mean)`` for each snapshot. It is called on first access to one of them.

    Notes
    -----
    The columns are iteration, epoch, seconds, objective, objective_mean, primal_residual, dual_residual, eta,
    lower_bound and relative_gap; see `Snapshot` for what they mean. The mapping can be passed to ``pandas.DataFrame``
    as it is.

    Unless the run needs them, `solve` leaves the objectives to the first access. That takes a pass over the rows for
    each point; the rows must not have changed since the run.
    """

    columns = Snapshot._fields[: Snapshot._fields.index("w")]
    evaluated_later = "objective", "objective_mean"
    _later: Any = None  # a function of no arguments; None also for traces that version 0.1 saved
    _rows: Sequence[tuple] | None = (
        None  # the snapshots, until a column is read: arrays of short runs take long to make
    )

    def __init__(
        self, snapshots: Sequence[tuple], later: Callable[[], Sequence[tuple[float, float]]] | None = None
    ) -> None:
        self._later, self._rows = later, tuple(snapshots)
        self._data: dict[str, np.ndarray] = {}

    def _arrays(self) -> dict[str, np.ndarray]:
        """The columns; objectives are NaN if they are evaluated later."""
        rows = self._rows
        if rows is not None:
            self._data = {name: _column(rows, position) for position, name in enumerate(self.columns)}
            self._rows = None
        return self._data

    def evaluate(self) -> None:
        """Evaluate what was left to the first access; the trace then holds nothing but numbers."""
        self._arrays()
        if self._later is not None:
            values, self._later = self._later(), None
            for position, name in enumerate(self.evaluated_later):
                self._data[name] = _column(values, position)

    def __getstate__(self) -> dict[str, Any]:
        self.evaluate()
        return vars(self)

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.evaluated_later:
            self.evaluate()
        return self._arrays()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays())

    def __len__(self) -> int:
        return len(self._arrays())

    def __repr__(self) -> str:
        return f"Trace({len(self['epoch'])} points of {', '.join(self)})"


def _column(rows: Sequence[tuple], position: int) -> np.ndarray:
    column = np.array([row[position] for row in rows], dtype=None if len(rows) else float)
    column.flags.writeable = False
    return column


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A proof of how good an answer is: the optimum lies between ``dual`` and ``primal``.

    Attributes
    ----------
    primal : float
        The objective at a feasible point: w (or its copy inside ``w_set``) with the v that the constraint gives for it.
        If these are not feasible, a feasible point nearby. Infinite if none is known.
    dual : float
        A lower bound of the optimum, the value of a dual point; minus infinity if none is known.
    gap : float
        ``primal - dual``.
    relative_gap : float
        The relative duality gap ``(primal - dual) / (primal - least possible loss)``: the optimum lies below the
        objective by at most this fraction of the objective's excess over the least possible loss. The least possible
        loss is 0 for most losses. For `Poisson` and other likelihoods it is not, and the relative gap so does not
        depend on a constant in the loss. The section "Certificates and polishing" of the documentation has the limit
        of the denominator for exact fits.
    primal_residual : float
        ``|A w + B v - b|``.
    dual_residual : float
        ``|X'(c s)/n + gamma w - A'theta|``, with the w of the last iterate, even if the answer is another point.
    reason : str
        Why the gap is infinite; empty if it is finite.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    primal_residual: float
    dual_residual: float
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of `solve`.

    Attributes
    ----------
    w, v, theta : ndarray of shape (d,), (p,) and (m,)
        The last iterates.
    w_mean, v_mean : ndarray
        The means of the theorems: of w_1, ..., w_T and of v_2, ..., v_{T+1}.
    w_average : ndarray of shape (d,)
        The mean that the solver's ``average`` names; w for solvers that do not average. This is the answer. All arrays
        named w may be one and the same.
    w_feasible : ndarray of shape (d,)
        A point inside ``w_set``: the copy of w that the splitting keeps there, or w itself.
    trace : Trace
        Objective, residuals and step size over time.
    status : Status
        Why the run ended.
    reason : str
        Why the run diverged; empty if it did not.
    epochs : float
        Epochs of this call. The trace also counts those of the run that ``start`` holds.
    certificate : Certificate or None
        Bounds of the optimum, for ``w_average``.
    progressive_loss : float or None
        Of a stochastic solver on a source: the mean loss of the rows of the first pass, each predicted before it was
        used. It estimates the loss of new rows without holding any out.
    solver : Solver or None
        The solver that ran.
    solver_reason : str
        Why it was chosen: a clause that follows "because".

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import ALM, L1, Problem, Squared, solve
    >>> A = [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]
    >>> problem = Problem(np.eye(3), [1.0, 1.2, 5.0], loss=Squared(), penalty=L1(0.1), A=A)
    >>> result = solve(problem, ALM(), tol=1e-8)
    >>> result.w.round(3)
    array([1.25, 1.25, 4.7 ])
    >>> result.status.name
    'converged'
    >>> bool(result.certificate.relative_gap <= 1e-8)
    True
    """

    w: np.ndarray
    v: np.ndarray
    theta: np.ndarray
    w_mean: np.ndarray
    v_mean: np.ndarray
    w_average: np.ndarray
    w_feasible: np.ndarray
    trace: Trace
    status: Status
    epochs: float
    certified: Certificate | None = dataclasses.field(default=None, repr=False)
    progressive_loss: float | None = None
    reason: str = ""
    run: Any = dataclasses.field(default=None, repr=False)  # the state from which `start` continues
    solver_reason: str = "it was given"

    @property
    def solver(self) -> Any:
        """The solver that ran; None if the run was not kept."""
        return None if self.run is None else self.run.solver

    @functools.cached_property
    def certificate(self) -> Certificate | None:
        """Bounds of the optimum, for ``w_average``; computed on first access if the run did not need it.

        That takes a few passes over the rows, which must not have changed since the run.
        """
        return self.certified if self.certified is not None or self.run is None else self.run.certify()

    def at(self, w: np.ndarray, v: np.ndarray, certificate: Certificate) -> Result:
        """The same result with another point as its answer."""
        points: dict[str, Any] = {"w": w, "v": v, "w_mean": w.copy(), "v_mean": v.copy()}
        return dataclasses.replace(self, certified=certificate, w_average=w.copy(), w_feasible=w.copy(), **points)
