"""Adaptive stochastic ADMM: linear models whose coefficients follow a structure, on data of any size."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "problem": ("Problem",),
    "solve": ("solve",),
    "trace": ("Result", "Status"),
    "checkpoints": ("Checkpoint",),
    "solvers": ("ADMM", "ALM", "ASVRGADMM", "AdaSADMM", "OADMM", "SADMM", "SPDHG", "SVRGADMM"),
    "losses": (
        "EpsilonInsensitive",
        "Hinge",
        "Huber",
        "Logistic",
        "Poisson",
        "Quantile",
        "Squared",
        "SquaredHinge",
    ),
    "penalties": (
        "Box",
        "ElasticNet",
        "GroupL2",
        "L1",
        "L2Ball",
        "L2Squared",
        "NonNegative",
        "Simplex",
        "Stack",
        "Zero",
    ),
    "metrics": ("Diagonal", "Full", "Identity"),
    "models": ("load_model", "save_model"),
    "estimators": (
        "ConvergenceDisplay",
        "GraphGuidedClassifier",
        "GraphGuidedClassifierCV",
        "GraphGuidedRegressor",
        "GraphGuidedRegressorCV",
        "GraphWeightsDisplay",
        "PathDisplay",
        "StructuredClassifier",
        "StructuredRegressor",
    ),
}
_NAMES = {name: home for home, names in _HOME.items() for name in names}
_MODULES = (
    "averages",
    "datasets",
    "distributed",
    "graphs",
    "losses",
    "metrics",
    "penalties",
    "sources",
    "stepsizes",
    "theory",
)

__all__ = sorted([*_NAMES, *_MODULES])


class _Package(types.ModuleType):
    """Keeps `adasadmm.solve` the function: Python would bind the file of that name here when something imports it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _NAMES and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for, so that importing the package imports no numba."""
    if name in _NAMES:
        value = getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
