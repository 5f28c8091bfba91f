"""The public names of this folder, for type checkers and for `__init__.py`, which loads each on first use."""

from .denoiser import TotalVariationDenoiser as TotalVariationDenoiser
from .displays import (
    ConvergenceDisplay as ConvergenceDisplay,
    GraphWeightsDisplay as GraphWeightsDisplay,
    PathDisplay as PathDisplay,
)
from .graph_guided import (
    GraphGuidedClassifier as GraphGuidedClassifier,
    GraphGuidedRegressor as GraphGuidedRegressor,
)
from .graph_guided_cv import (
    GraphGuidedClassifierCV as GraphGuidedClassifierCV,
    GraphGuidedRegressorCV as GraphGuidedRegressorCV,
)
from .network_classifier import NetworkLassoClassifier as NetworkLassoClassifier
from .network_regressor import NetworkLassoRegressor as NetworkLassoRegressor
from .structured import (
    StructuredClassifier as StructuredClassifier,
    StructuredRegressor as StructuredRegressor,
)
from .structured_cv import (
    StructuredClassifierCV as StructuredClassifierCV,
    StructuredRegressorCV as StructuredRegressorCV,
)
from .terms_cv import (
    TermsClassifierCV as TermsClassifierCV,
    TermsRegressorCV as TermsRegressorCV,
)
from .terms_display import TermsDisplay as TermsDisplay
from .terms_models import (
    TermsClassifier as TermsClassifier,
    TermsRegressor as TermsRegressor,
)
from .trend_filter import TrendFilter as TrendFilter
from .trend_filter_cv import TrendFilterCV as TrendFilterCV
