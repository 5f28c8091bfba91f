"""Strengths of a penalty: solutions along them, the strongest that matters, degrees of freedom."""

import lazy_loader as _lazy

# Imported on first use: degrees of freedom need no solver.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
