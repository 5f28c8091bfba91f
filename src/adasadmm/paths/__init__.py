"""The choice of a solver, and solutions along the strengths of a penalty."""

import lazy_loader as _lazy

# Imported on first use: the choice of a solver needs no paths.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
