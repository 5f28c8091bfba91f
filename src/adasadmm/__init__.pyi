"""What a type checker and an editor see; at run time `__init__.py` loads each name when it is first asked for."""

from . import averages, datasets, distributed, graphs, losses, metrics, penalties, sources, stepsizes, theory
from .checkpoints import Checkpoint
from .estimators import (
    ConvergenceDisplay,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    GraphWeightsDisplay,
    PathDisplay,
    StructuredClassifier,
    StructuredRegressor,
)
from .losses import EpsilonInsensitive, Hinge, Huber, Logistic, Poisson, Quantile, Squared, SquaredHinge
from .metrics import Diagonal, Full, Identity
from .models import load_model, save_model
from .penalties import L1, Box, ElasticNet, GroupL2, L2Ball, L2Squared, NonNegative, Simplex, Stack, Zero
from .problem import Problem
from .solve import solve
from .solvers import ADMM, ALM, ASVRGADMM, OADMM, SADMM, SPDHG, SVRGADMM, AdaSADMM
from .trace import Result, Status

__version__: str

__all__ = [
    "ADMM",
    "ALM",
    "ASVRGADMM",
    "L1",
    "OADMM",
    "SADMM",
    "SPDHG",
    "SVRGADMM",
    "AdaSADMM",
    "Box",
    "Checkpoint",
    "ConvergenceDisplay",
    "Diagonal",
    "ElasticNet",
    "EpsilonInsensitive",
    "Full",
    "GraphGuidedClassifier",
    "GraphGuidedClassifierCV",
    "GraphGuidedRegressor",
    "GraphGuidedRegressorCV",
    "GraphWeightsDisplay",
    "GroupL2",
    "Hinge",
    "Huber",
    "Identity",
    "L2Ball",
    "L2Squared",
    "Logistic",
    "NonNegative",
    "PathDisplay",
    "Poisson",
    "Problem",
    "Quantile",
    "Result",
    "Simplex",
    "Squared",
    "SquaredHinge",
    "Stack",
    "Status",
    "StructuredClassifier",
    "StructuredRegressor",
    "Zero",
    "averages",
    "datasets",
    "distributed",
    "graphs",
    "load_model",
    "losses",
    "metrics",
    "penalties",
    "save_model",
    "solve",
    "sources",
    "stepsizes",
    "theory",
]
