"""The solvers as records of settings."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from .. import metrics, stepsizes
from .._core.jit import is_registered

__all__ = ["ADMM", "ALM", "ASVRGADMM", "OADMM", "SADMM", "SPDHG", "SVRGADMM", "AdaSADMM"]

METRICS = {"identity": metrics.Identity(), "diagonal": metrics.Diagonal(), "full": metrics.Full()}
AVERAGES = ("auto", "uniform", "polynomial", "step-weighted", "schedule-free", "last")
W_STEPS = ("exact", "linearized")


@dataclasses.dataclass(frozen=True)
class AdaSADMM:
    """Adaptive stochastic ADMM: Algorithm 1 with a metric that learns from the gradients.

    Parameters
    ----------
    metric : {"diagonal", "full", "identity"} or a metric
        "full" is ``Full(refresh=0)``, the paper's; ``Full(refresh=0.05)`` takes far fewer roots.
    eta : "auto" or float or a step size of `adasadmm.stepsizes`
        A number is a constant step, as in the paper.
    a : float
        H_t = a I + ...; with ``eta="auto"`` in units of the first non-zero gradient.
    beta : float or "auto"
        The weight of the constraint; "auto" is the first non-zero gradient's largest entry squared, over the loss
        at the start: 1 for a hinge loss and features of size 1.
    w_step : {"linearized", "exact"}
    batch_size : int or "auto"
        Rows of an iteration. "auto" is 1 unless there are so many rows that fewer iterations lose next to nothing
        (`rows_of_an_iteration`).
    average : {"uniform", "auto", "polynomial", "step-weighted", "schedule-free", "last"}
        Which mean ``result.w_average`` is. "uniform" is the theorems', and with ``eta="auto"`` slow to forget the
        small first steps. "schedule-free" also takes the subgradients near its mean, to which the theorems do not
        apply. "auto" is what was best on the whole: "schedule-free" with ``eta="auto"``, else "polynomial".
    """

    metric: Any = "diagonal"
    eta: Any = "auto"
    a: float = 1.0
    beta: Any = 1.0
    w_step: str = "linearized"
    batch_size: Any = 1
    average: str = "uniform"

    def __post_init__(self) -> None:
        if isinstance(self.metric, str):
            _check_choice("metric", self.metric, tuple(METRICS))
        elif not is_registered(metrics.start, self.metric):
            raise TypeError(
                f"metric: {self.metric!r} has no metrics.start; use one of {', '.join(METRICS)}, "
                "or register metrics.start, metrics.observe and metrics.apply for your own"
            )
        elif isinstance(self.metric, metrics.Full):
            refresh = self.metric.refresh
            if not (_is_number(refresh) and 0.0 <= refresh < math.inf):
                raise ValueError(f"refresh of Full must be >= 0, got {refresh!r}")
        _check_eta(self.eta, ("auto",))
        _check_positive("a", self.a)
        _check_beta(self.beta)
        _check_choice("w_step", self.w_step, W_STEPS)
        _check_batch_size(self.batch_size)
        _check_choice("average", self.average, AVERAGES)


@dataclasses.dataclass(frozen=True)
class SADMM:
    """Stochastic ADMM: Algorithm 1 with H = I and a falling step.

    With ``w_step="linearized"`` and a number for ``eta`` it is OPG-ADMM (Suzuki 2013).

    Parameters
    ----------
    eta : "1/(gamma t)" or "auto" or float or a step size of `adasadmm.stepsizes`
        A number c means ``c / sqrt(t)``; "auto" is the distance travelled over the norm of all gradients so far.
    beta, w_step, batch_size
        As for `AdaSADMM`.
    """

    eta: Any = "1/(gamma t)"
    beta: Any = 1.0
    w_step: str = "exact"
    batch_size: Any = 1

    def __post_init__(self) -> None:
        _check_eta(self.eta, ("1/(gamma t)", "auto"))
        _check_beta(self.beta)
        _check_choice("w_step", self.w_step, W_STEPS)
        _check_batch_size(self.batch_size)


@dataclasses.dataclass(frozen=True)
class OADMM:
    """Online ADMM: keeps the loss of a row instead of its tangent. One row at a time.

    Parameters
    ----------
    eta : float or a step size of `adasadmm.stepsizes`
        A number is a constant step.
    beta : float
    """

    eta: Any
    beta: float = 1.0

    def __post_init__(self) -> None:
        _check_eta(self.eta, ())
        _check_positive("beta", self.beta)


@dataclasses.dataclass(frozen=True)
class ADMM:
    """Batch ADMM: all rows in every iteration. In memory, and up to a few thousand features, the best of the family.

    Parameters
    ----------
    beta : "auto" or float
        "auto" balances the residuals, for the rows and for the constraint apart.
    relax : float
        Over-relaxation, between 0 and 2.
    """

    beta: Any = "auto"
    relax: float = 1.6

    def __post_init__(self) -> None:
        _check_beta(self.beta)
        if not (_is_number(self.relax) and 0.0 < self.relax < 2.0):
            raise ValueError(f"relax must lie between 0 and 2, got {self.relax!r}")


@dataclasses.dataclass(frozen=True)
class ALM:
    """The augmented Lagrangian method: what batch ADMM minimises in turns, minimised at once by Newton's method.

    In memory the fastest to any accuracy, and to 1e-6 and below the only one of the family that is fast. It has nothing
    to set. It needs B = -I.
    """


@dataclasses.dataclass(frozen=True)
class SPDHG:
    """Stochastic primal-dual hybrid gradients: a dual coordinate for each row. High accuracy with any loss and any d.

    Parameters
    ----------
    beta : "auto" or float
        "auto" balances how far w and theta move, as the step size is balanced between w and the rows.
    batch_size : int or "auto"
        Rows of an iteration. "auto" makes the work over them match that over coordinates and edges.
    """

    beta: Any = "auto"
    batch_size: Any = "auto"

    def __post_init__(self) -> None:
        _check_beta(self.beta)
        _check_batch_size(self.batch_size)


@dataclasses.dataclass(frozen=True)
class SVRGADMM:
    """Stochastic ADMM with variance reduction: high accuracy with losses that have a `losses.curvature`, and any d.

    An epoch is a pass over batches, and one more over all rows for the gradient at its mean.

    Parameters
    ----------
    beta, batch_size
        As for `SPDHG`.
    """

    beta: Any = "auto"
    batch_size: Any = "auto"

    momentum: ClassVar[float] = 1.0  # none

    def __post_init__(self) -> None:
        _check_beta(self.beta)
        _check_batch_size(self.batch_size)


@dataclasses.dataclass(frozen=True)
class ASVRGADMM(SVRGADMM):
    """`SVRGADMM` with momentum: gradients are taken half-way between the last mean and where w went since."""

    momentum: ClassVar[float] = 0.5


ACCURATE = (SPDHG, SVRGADMM)
ALL_ROWS = (ADMM, ALM)  # in every iteration


# --- checks ----------------------------------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _check_positive(name: str, value: Any) -> None:
    if not _is_number(value) or not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be a number > 0, got {value!r}")


def _check_beta(beta: Any) -> None:
    if beta != "auto":
        _check_positive("beta", beta)


def _check_eta(eta: Any, words: tuple[str, ...]) -> None:
    if isinstance(eta, str):
        _check_choice("eta", eta, words)
    elif is_registered(stepsizes.size, eta):
        for name, value in eta._asdict().items():
            if _is_number(value):
                _check_positive(f"{name} of {type(eta).__name__}", value)
    else:
        _check_positive("eta", eta)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices)) or 'numbers > 0'}, got {value!r}")


def _check_batch_size(batch_size: Any) -> None:
    if isinstance(batch_size, str) and batch_size == "auto":
        return
    if not isinstance(batch_size, (int, np.integer)) or isinstance(batch_size, bool) or batch_size < 1:
        raise ValueError(f'batch_size must be "auto" or a whole number >= 1, got {batch_size!r}')
