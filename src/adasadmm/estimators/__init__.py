"""scikit-learn estimators and displays on top of `adasadmm.solve`."""

from .denoiser import TotalVariationDenoiser
from .displays import ConvergenceDisplay, GraphWeightsDisplay, PathDisplay
from .graph_guided import GraphGuidedClassifier, GraphGuidedRegressor
from .path import GraphGuidedClassifierCV, GraphGuidedRegressorCV
from .structured import StructuredClassifier, StructuredRegressor
from .trend_filter import TrendFilter

__all__ = [
    "ConvergenceDisplay",
    "GraphGuidedClassifier",
    "GraphGuidedClassifierCV",
    "GraphGuidedRegressor",
    "GraphGuidedRegressorCV",
    "GraphWeightsDisplay",
    "PathDisplay",
    "StructuredClassifier",
    "StructuredRegressor",
    "TotalVariationDenoiser",
    "TrendFilter",
]
