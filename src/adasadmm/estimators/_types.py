"""Types of the estimators' parameters, and what fitting and predicting need to know about an estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import LinearConstraint

from ..graphs import Graph, LatentGroups
from ..solvers import Solver
from ..sources import Source

__all__ = [
    "BoundsLike",
    "ConstraintsLike",
    "Eta",
    "FittedModel",
    "Folds",
    "GraphLike",
    "LossLike",
    "MatrixLike",
    "Parameters",
    "PenaltyLike",
    "PerRow",
    "RandomState",
    "RowsLike",
    "ScoringLike",
    "SolverLike",
    "StructureMatrix",
    "ValidRows",
    "WeightsLike",
]

MatrixLike: TypeAlias = npt.ArrayLike | sp.sparray | sp.spmatrix  # also data frames
RowsLike: TypeAlias = MatrixLike | Source
ValidRows: TypeAlias = np.ndarray | sp.csr_array  # after scikit-learn's validation
LossLike: TypeAlias = str | tuple  # a name, or the named tuple of a loss
PenaltyLike: TypeAlias = str | tuple
SolverLike: TypeAlias = str | Solver
Eta: TypeAlias = str | float | tuple  # "auto", a number, or the named tuple of a step size
RandomState: TypeAlias = int | np.random.RandomState | None
BoundsLike: TypeAlias = tuple | Mapping[Any, tuple] | None
ConstraintsLike: TypeAlias = tuple | LinearConstraint | None
WeightsLike: TypeAlias = str | npt.ArrayLike | None
StructureMatrix: TypeAlias = (
    str | MatrixLike | LatentGroups | tuple[MatrixLike, Sequence] | Callable[[int], MatrixLike | LatentGroups]
)


class NetworkxGraph(Protocol):
    """The members of a networkx graph that are used, so that networkx need not be installed."""

    nodes: Any
    edges: Any


class Splitter(Protocol):
    """A cross-validation splitter of scikit-learn."""

    def split(self, X: MatrixLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Iterator[tuple]: ...


GraphLike: TypeAlias = str | os.PathLike[str] | tuple | MatrixLike | Graph | NetworkxGraph | Callable[[ValidRows], Any]
Folds: TypeAlias = int | Splitter | Iterable[tuple] | None
ScoringLike: TypeAlias = str | Callable[..., float] | None


class PerRow(NamedTuple):
    """Data of each row besides X and y; None means weights of 1 and offsets of 0."""

    weight: np.ndarray | None = None
    offset: np.ndarray | None = None

    def taken(self, rows: np.ndarray) -> PerRow:
        return PerRow(*(None if values is None else values[rows] for values in self))


class Parameters(Protocol):
    """The constructor parameters from which one linear function is fitted."""

    loss: LossLike
    solver: SolverLike
    eta: Eta
    beta: str | float
    a: float
    max_iter: int | None
    tol: float
    batch_size: str | int
    average: str
    shuffle: bool
    fit_intercept: bool
    refit: str
    verbose: int

    def _fitted_loss(self) -> tuple: ...


class FittedModel(Protocol):
    """A fitted linear model."""

    intercept_: np.ndarray | float

    @property
    def clusters_(self) -> np.ndarray: ...

    def _dense_coef(self) -> np.ndarray: ...

    def _opened(self, X: Any) -> Any: ...

    def _rows(self, X: Any) -> ValidRows: ...
