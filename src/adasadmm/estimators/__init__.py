"""scikit-learn's clothes for `adasadmm.solve`."""

from .graph_guided import GraphGuidedClassifier, GraphGuidedRegressor
from .structured import StructuredClassifier, StructuredRegressor

__all__ = [
    "GraphGuidedClassifier",
    "GraphGuidedRegressor",
    "StructuredClassifier",
    "StructuredRegressor",
]
