"""The metric H_t of the w-step, the paper's second order proximal function ``1/2 |w|^2_{H_t}``.

============  ==================================  ====================
``Identity``  ``H_t = I``                         SADMM
``Diagonal``  ``H_t = a I + diag(|g_{1:t,j}|)``   Ada-SADMM, diagonal
``Full``      ``H_t = a I + G_t^{1/2}``           Ada-SADMM, full
============  ==================================  ====================

A metric of your own is a ``NamedTuple`` of settings and three functions registered for it and for its state:
``start(metric, d)`` gives the state (a ``NamedTuple`` of arrays), ``observe(state, g)`` updates it in place,
``apply(state, x, out)`` writes ``H x``. The solver adds ``a I``.

Examples
--------
>>> import numpy as np
>>> from adasadmm import Diagonal, metrics
>>> state, out = metrics.start(Diagonal(), 2), np.empty(2)
>>> metrics.observe(state, np.array([3.0, -1.0]))
>>> metrics.apply(state, np.array([1.0, 2.0]), out)
>>> out
array([3., 2.])
"""

from __future__ import annotations

# The states and the tuple of them, which are not in __all__, serve other files of this package.
from ._generic import apply, observe, observe_at, solve, start
from .diagonal import Diagonal, DiagonalState, Identity, IdentityState, Isotropic, Scaled  # noqa: F401
from .full import ROOTS, Full, LaggingState  # noqa: F401

__all__ = ["Diagonal", "Full", "Identity", "apply", "observe", "observe_at", "solve", "start"]
