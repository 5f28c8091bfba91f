"""The public names: type checkers read this list, and `__init__.py` loads each name from it on first use."""

from . import (
    averages as averages,
    datasets as datasets,
    distributed as distributed,
    graphs as graphs,
    losses as losses,
    metrics as metrics,
    penalties as penalties,
    solvers as solvers,
    sources as sources,
    stepsizes as stepsizes,
    terms as terms,
    theory as theory,
)
from ._solve import solve as solve
from .certificates.trace import Result as Result, Status as Status
from .checkpoints import Checkpoint as Checkpoint
from .estimators import (
    ConvergenceDisplay as ConvergenceDisplay,
    GraphGuidedClassifier as GraphGuidedClassifier,
    GraphGuidedClassifierCV as GraphGuidedClassifierCV,
    GraphGuidedRegressor as GraphGuidedRegressor,
    GraphGuidedRegressorCV as GraphGuidedRegressorCV,
    GraphWeightsDisplay as GraphWeightsDisplay,
    NetworkLassoClassifier as NetworkLassoClassifier,
    NetworkLassoRegressor as NetworkLassoRegressor,
    PathDisplay as PathDisplay,
    StructuredClassifier as StructuredClassifier,
    StructuredClassifierCV as StructuredClassifierCV,
    StructuredRegressor as StructuredRegressor,
    StructuredRegressorCV as StructuredRegressorCV,
    TermsClassifier as TermsClassifier,
    TermsClassifierCV as TermsClassifierCV,
    TermsDisplay as TermsDisplay,
    TermsRegressor as TermsRegressor,
    TermsRegressorCV as TermsRegressorCV,
    TotalVariationDenoiser as TotalVariationDenoiser,
    TrendFilter as TrendFilter,
    TrendFilterCV as TrendFilterCV,
)
from .losses import (
    EpsilonInsensitive as EpsilonInsensitive,
    Gamma as Gamma,
    Hinge as Hinge,
    Huber as Huber,
    Logistic as Logistic,
    Multinomial as Multinomial,
    NegativeBinomial as NegativeBinomial,
    Poisson as Poisson,
    Quantile as Quantile,
    Squared as Squared,
    SquaredHinge as SquaredHinge,
    Tweedie as Tweedie,
)
from .metrics import Diagonal as Diagonal, Full as Full, Identity as Identity
from .models import load_model as load_model, save_model as save_model
from .penalties import (
    L1 as L1,
    Box as Box,
    ChainTV as ChainTV,
    ElasticNet as ElasticNet,
    GroupL2 as GroupL2,
    L2Ball as L2Ball,
    L2Squared as L2Squared,
    NonNegative as NonNegative,
    Simplex as Simplex,
    Stack as Stack,
    Zero as Zero,
)
from .problem import Problem as Problem
from .regularization import path as path
from .solvers import (
    ADMM as ADMM,
    ALM as ALM,
    ASVRGADMM as ASVRGADMM,
    IPM as IPM,
    OADMM as OADMM,
    RDASADMM as RDASADMM,
    SADMM as SADMM,
    SDCA as SDCA,
    SPDHG as SPDHG,
    SVRGADMM as SVRGADMM,
    AdaSADMM as AdaSADMM,
    ConsensusADMM as ConsensusADMM,
    TotalVariation as TotalVariation,
)

__version__: str
