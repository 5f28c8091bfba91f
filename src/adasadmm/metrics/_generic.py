"""The functions of a metric, and the w-step of one that is known only by them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.jit import generic
from ..linalg import quadratics


@generic
def start(metric, d):
    """The initial state of a metric.

    Examples
    --------
    >>> from adasadmm import Diagonal, metrics
    >>> metrics.start(Diagonal(), 2).squares
    array([0., 0.])
    """


@generic
def observe(H, g):
    """Update the state by a gradient, in place: H_{t-1} becomes H_t.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Diagonal, metrics
    >>> state = metrics.start(Diagonal(), 2)
    >>> metrics.observe(state, np.array([3.0, -1.0]))
    >>> state.squares
    array([9., 1.])
    """


@generic
def apply(H, x, out):
    """``out = H x``, without ``a I``.

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


@generic
def observe_at(H, j, g, a):
    """Update coordinate j of a diagonal metric by g_j, and return ``H_jj`` with ``a``.

    Examples
    --------
    >>> from adasadmm import Diagonal, metrics
    >>> float(metrics.observe_at(metrics.start(Diagonal(), 2), 0, 3.0, 1.0))
    4.0
    """


@generic
def solve(H, a, inverse_eta, Q, rhs, out):
    """Solve ``(inverse_eta (a I + H) + Q) out = rhs``; conjugate gradients, unless a metric has its own method.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Diagonal, metrics
    >>> from adasadmm.linalg import quadratics
    >>> from adasadmm.rows import matrices
    >>> Q = quadratics.exact(matrices.as_csr([[1.0, -1.0]], "A"), 1.0, np.zeros(2))  # A'A
    >>> state, out = metrics.start(Diagonal(), 2), np.empty(2)
    >>> metrics.observe(state, np.array([3.0, 1.0]))
    >>> metrics.solve(state, 1.0, 1.0, Q, np.array([4.0, 2.0]), out)
    >>> out.round(6)
    array([1., 1.])
    """


class Operator(NamedTuple):
    """``inverse_eta (a I + H) + Q`` for a metric that is known only by what it does to a vector."""

    H: Any
    a: float
    inverse_eta: float
    Q: Any
    work: np.ndarray


@quadratics.multiply.register
def operator_multiply(M: Operator, x, out):
    quadratics.multiply(M.Q, x, out)
    apply(M.H, x, M.work)
    for j in range(len(x)):
        out[j] += M.inverse_eta * (M.a * x[j] + M.work[j])


@solve.register(object)
def default_solve(H, a, inverse_eta, Q, rhs, out):  # a metric of the user's own: conjugate gradients
    inverse = np.empty_like(rhs)
    for j in range(len(rhs)):
        inverse[j] = 1.0 / (inverse_eta * a + quadratics.diagonal(Q, j))
    operator = Operator(H, a, inverse_eta, Q, np.empty_like(rhs))
    quadratics.conjugate_gradients(operator, quadratics.Jacobi(inverse), rhs, out)
