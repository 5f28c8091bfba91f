"""The functions of a metric, and the w-step of one that is known only by them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.jit import generic
from ..linalg import quadratics

__all__ = ["Operator", "apply", "observe", "observe_at", "solve", "start"]


@generic
def start(metric, d):
    """The state of a metric that has seen nothing."""


@generic
def observe(H, g):
    """H_{t-1} becomes H_t."""


@generic
def apply(H, x, out):
    """``out = H x``, without ``a I``."""


@generic
def observe_at(H, j, g, a):
    """Coordinate j of a diagonal metric: ``H_jj`` after g_j was seen, with ``a``."""


@generic
def solve(H, a, inverse_eta, Q, rhs, out):
    """Solve ``(inverse_eta (a I + H) + Q) out = rhs``."""


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
