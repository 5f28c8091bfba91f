"""The solvers: one file for each method, its settings beside its run.

`Solver` and `Run` are the interface; a solver of your own derives from them and is used like a built-in one.
"""

from ..certificates import certify
from .ada_sadmm import AdaSADMM
from .admm import ADMM
from .alm import ALM
from .base import Monitor, NamedState, Point, Run, Slopes, Solver, check_fits
from .oadmm import OADMM
from .rda_sadmm import RDASADMM
from .sadmm import SADMM
from .spdhg import SPDHG
from .stochastic import slopes_at
from .svrg_admm import ASVRGADMM, SVRGADMM
from .work import Batches, Iterations, Round, Work

__all__ = [
    "ADMM",
    "ALM",
    "ASVRGADMM",
    "OADMM",
    "RDASADMM",
    "SADMM",
    "SPDHG",
    "SVRGADMM",
    "AdaSADMM",
    "Batches",
    "Iterations",
    "Monitor",
    "NamedState",
    "Point",
    "Round",
    "Run",
    "Slopes",
    "Solver",
    "Work",
    "certify",
    "check_fits",
    "slopes_at",
]
