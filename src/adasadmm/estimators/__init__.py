"""scikit-learn estimators and displays on top of `adasadmm.solve`."""

import lazy_loader as _lazy

# Each name is imported on first use: an estimator does not load the others.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
