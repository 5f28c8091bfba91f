"""The solvers: one file, or one folder, for each method, its settings beside its run.

`Solver` and `Run` are the interface; a solver of your own derives from them and is used like a built-in one.

Examples
--------
>>> from adasadmm import solvers
>>> sorted(cls.__name__ for cls in solvers.BUILT_IN if cls.knows_gap and not cls.uses_all_rows)
['ASVRGADMM', 'SPDHG', 'SVRGADMM']
"""

from ..certificates import certify, slopes_at
from .active_set.active_set import ActiveSet as ActiveSet
from .admm.batch import ADMM as ADMM
from .admm.consensus import ConsensusADMM as ConsensusADMM
from .alm.alm import ALM as ALM
from .alm.proximal_newton import ProximalNewton as ProximalNewton
from .base import Monitor, NamedState, Point, Run, Slopes, Solver, Unfit, check_fits, fits  # noqa: F401
from .ipm.ipm import IPM as IPM
from .sdca import SDCA as SDCA

# The built-in solvers.
from .stochastic.sadmm import OADMM as OADMM, RDASADMM as RDASADMM, SADMM as SADMM, AdaSADMM as AdaSADMM
from .stochastic.spdhg import SPDHG as SPDHG
from .stochastic.svrg_admm import ASVRGADMM as ASVRGADMM, SVRGADMM as SVRGADMM
from .tv.total_variation import TotalVariation as TotalVariation
from .work import Batches, Iterations, Round, Work

INTERNAL: tuple[type[Solver], ...] = (ActiveSet, ProximalNewton)  # which "auto" chooses, and nobody needs to
BUILT_IN: tuple[type[Solver], ...] = tuple(
    cls
    for cls in list(globals().values())
    if isinstance(cls, type) and issubclass(cls, Solver) and cls not in (Solver, *INTERNAL)
)

__all__ = [
    "Batches",
    "Iterations",
    "Monitor",
    "NamedState",
    "Point",
    "Round",
    "Run",
    "Slopes",
    "Solver",
    "Unfit",
    "Work",
    "certify",
    "check_fits",
    "slopes_at",
]
__all__ += [cls.__name__ for cls in (*BUILT_IN, *INTERNAL)]
