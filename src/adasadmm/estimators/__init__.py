"""scikit-learn's clothes for `adasadmm.solve`."""

from .graph_guided import GraphGuidedClassifier, GraphGuidedRegressor
from .path import GraphGuidedClassifierCV, GraphGuidedRegressorCV
from .structured import StructuredClassifier, StructuredRegressor

__all__ = [
    "GraphGuidedClassifier",
    "GraphGuidedClassifierCV",
    "GraphGuidedRegressor",
    "GraphGuidedRegressorCV",
    "StructuredClassifier",
    "StructuredRegressor",
]
