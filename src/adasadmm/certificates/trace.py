"""What a run leaves behind: its trace, its status, its result, its certificate."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Certificate", "Result", "Snapshot", "Status", "Trace"]


class Status(enum.Enum):
    """How a run ended; the values are the messages."""

    done = "all iterations were done"
    converged = "the relative duality gap fell below tol"
    diverged = "an iterate or the objective stopped being finite; the last finite iterate is returned"
    stopped = "the callback asked to stop"

    def __reduce__(self) -> Any:
        """As an enumeration tells pickle; skops asks here."""
        return type(self), (self.value,)


class Snapshot(NamedTuple):
    """A run at one moment: what the trace records, and the iterates (copies)."""

    iteration: int
    epoch: float
    seconds: float
    objective: float
    objective_mean: float
    primal_residual: float
    dual_residual: float
    eta: float
    w: np.ndarray
    w_mean: np.ndarray
    w_average: np.ndarray


class Trace(Mapping):
    """Read-only columns: iteration, epoch, seconds, objective, objective_mean, primal_residual, dual_residual, eta."""

    columns = Snapshot._fields[:8]

    def __init__(self, snapshots: list[tuple]) -> None:
        self._data = {}
        for position, name in enumerate(self.columns):
            column = np.array([snapshot[position] for snapshot in snapshots], dtype=None if snapshots else float)
            column.flags.writeable = False
            self._data[name] = column

    def __getitem__(self, name: str) -> np.ndarray:
        return self._data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"Trace({len(self['epoch'])} points of {', '.join(self)})"


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What is proved of an answer: the optimum lies between ``dual`` and ``primal``.

    Attributes
    ----------
    primal : float
        The objective at a feasible point: at w (its copy inside ``w_set``) with the v that belongs to it or, where that
        is not feasible, at one nearby. Infinite where none is known.
    dual : float
        A lower bound of the optimum; minus infinity where none is known.
    gap : float
        ``primal - dual``.
    relative_gap : float
        ``gap / max(|primal|, 1e-12 f(0))``.
    primal_residual, dual_residual : float
        ``|A w + B v - b|``, and ``|A'theta - X'(c s)/n - gamma w|``.
    reason : str
        Why the gap is infinite, where it is.
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
    """What `solve` returns.

    Attributes
    ----------
    w, v, theta : ndarray
        The last iterates.
    w_mean, v_mean : ndarray
        The means of the theorems: of w_1..w_T and of v_2..v_{T+1}.
    w_average : ndarray
        The mean that the solver was asked for (``average=``).
    w_feasible : ndarray
        A point inside ``w_set``: the copy that the splitting keeps there, or w itself.
    trace : Trace
    status : Status
    epochs : float
        Epochs of this call; the trace counts on from ``start``.
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
    run: Any = dataclasses.field(default=None, repr=False)  # the state to go on from

    @functools.cached_property
    def certificate(self) -> Certificate | None:
        """What is proved of ``w_average``. A stochastic run without ``tol`` makes it when first asked for it.

        That takes some passes over the rows, which must still be there as they were.
        """
        return self.certified if self.certified is not None or self.run is None else self.run.certify()
