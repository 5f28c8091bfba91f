"""The names of losses, solvers and averages that estimators and the command line accept.

A built-in loss of `adasadmm.losses` is listed under its class name in snake case: ``SquaredHinge`` is "squared_hinge".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from . import losses, solvers
from .metrics import Full
from .solvers import SADMM, AdaSADMM, Solver
from .solvers.stochastic.settings import AVERAGES

__all__ = [
    "AUTOMATIC",
    "AVERAGES",
    "CLASSIFICATION_LOSSES",
    "LOSSES",
    "REGRESSION_LOSSES",
    "SOLVERS",
    "Tuning",
    "as_solver",
]


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


LOSSES: dict[str, tuple] = {_snake_case(cls.__name__): cls() for cls in losses.BUILT_IN}
_CLASSIFIES = [name for name, loss in LOSSES.items() if losses.takes_labels(loss) or losses.width(loss) != 1]
CLASSIFICATION_LOSSES = tuple(_CLASSIFIES)
REGRESSION_LOSSES = tuple(name for name in LOSSES if name not in CLASSIFICATION_LOSSES)


class Tuning(NamedTuple):
    """The parameters of an estimator that set up a solver chosen by name."""

    eta: str | float | tuple = "auto"
    beta: str | float = "auto"
    a: float = 1.0
    batch_size: str | int = "auto"
    average: str = "auto"


AUTOMATIC = Tuning()


def _ada(tuning: Tuning, metric: str | Full) -> AdaSADMM:
    return AdaSADMM(metric, tuning.eta, tuning.a, tuning.beta, batch_size=tuning.batch_size, average=tuning.average)


def _sadmm(tuning: Tuning) -> SADMM:
    eta = "1/(gamma t)" if tuning.eta == "auto" else tuning.eta
    return SADMM(eta, tuning.beta, batch_size=tuning.batch_size)


SOLVERS: dict[str, Callable[[Tuning], Solver]] = {
    "ada-diag": lambda tuning: _ada(tuning, "diagonal"),
    "ada-full": lambda tuning: _ada(tuning, Full(refresh=0.05)),
    "sadmm": _sadmm,
    "admm": lambda tuning: solvers.ADMM(tuning.beta),
    "alm": lambda tuning: solvers.ALM(),
    "ipm": lambda tuning: solvers.IPM(),
}


def as_solver(given: str | Solver, tuning: Tuning = AUTOMATIC) -> Solver:
    """The solver of this name, or the given solver."""
    if not isinstance(given, str):
        return given
    if given not in SOLVERS:
        raise ValueError(f"solver must be 'auto', one of {', '.join(map(repr, SOLVERS))}, or a solver, got {given!r}")
    return SOLVERS[given](tuning)
