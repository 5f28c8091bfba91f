"""Plots of fitted models, in the style of scikit-learn's displays. They need matplotlib (extra ``report``)."""

from .convergence import ConvergenceDisplay
from .graph_weights import GraphWeightsDisplay
from .path import PathDisplay

__all__ = ["ConvergenceDisplay", "GraphWeightsDisplay", "PathDisplay"]
