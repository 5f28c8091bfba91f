"""scikit-learn estimators and displays on top of `adasadmm.solve`."""

from .denoiser import TotalVariationDenoiser
from .displays import ConvergenceDisplay, GraphWeightsDisplay, PathDisplay
from .graph_guided import GraphGuidedClassifier, GraphGuidedRegressor
from .graph_guided_cv import GraphGuidedClassifierCV, GraphGuidedRegressorCV
from .network_classifier import NetworkLassoClassifier
from .network_regressor import NetworkLassoRegressor
from .structured import StructuredClassifier, StructuredRegressor
from .structured_cv import StructuredClassifierCV, StructuredRegressorCV
from .terms_cv import TermsClassifierCV, TermsRegressorCV
from .terms_display import TermsDisplay
from .terms_models import TermsClassifier, TermsRegressor
from .trend_filter import TrendFilter
from .trend_filter_cv import TrendFilterCV

__all__ = [
    "ConvergenceDisplay",
    "GraphGuidedClassifier",
    "GraphGuidedClassifierCV",
    "GraphGuidedRegressor",
    "GraphGuidedRegressorCV",
    "GraphWeightsDisplay",
    "NetworkLassoClassifier",
    "NetworkLassoRegressor",
    "PathDisplay",
    "StructuredClassifier",
    "StructuredClassifierCV",
    "StructuredRegressor",
    "StructuredRegressorCV",
    "TermsClassifier",
    "TermsClassifierCV",
    "TermsDisplay",
    "TermsRegressor",
    "TermsRegressorCV",
    "TotalVariationDenoiser",
    "TrendFilter",
    "TrendFilterCV",
]
