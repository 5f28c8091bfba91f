"""Adaptive stochastic ADMM: linear models whose coefficients follow a structure, on data of any size."""

import lazy_loader as _lazy

__version__ = "0.2.0"

# __init__.pyi lists the public names. Each is imported on first use, so that `import adasadmm` does not load numba.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
