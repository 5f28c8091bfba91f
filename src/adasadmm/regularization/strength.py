"""The share of the L1 norm in a penalty."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..penalties import L1, GroupL2, Stack
from ..problem import Problem
from ..rows.matrices import WithIntercept, to_scipy

__all__ = ["with_l1_norm"]


def with_l1_norm(problem: Problem, l1_ratio: float) -> Problem:
    """The problem with the share ``1 - l1_ratio`` of its penalty, and the L1 norm of w with the share ``l1_ratio``.

    An intercept has no part in the norm.
    """
    if not 0.0 <= l1_ratio <= 1.0:
        raise ValueError(f"l1_ratio must be between 0 and 1, got {l1_ratio}")
    if l1_ratio == 0.0:
        return problem
    penalty, m = problem.penalty, problem.m
    if not isinstance(penalty, (L1, GroupL2)) or problem.B is not None:
        raise ValueError(
            f"l1_ratio must be 0 unless the penalty is L1 or GroupL2 and B = -I, got {l1_ratio} with "
            f"{type(penalty).__name__}; stack I under A and use Stack for other penalties"
        )
    width = problem.d - isinstance(problem.rows.X, WithIntercept)
    identity = sp.eye_array(width, problem.d, format="csr")
    if l1_ratio == 1.0:
        return problem.replaced(A=identity, b=None, penalty=L1(penalty.nu))
    terms = len(penalty.groups) if isinstance(penalty, GroupL2) else m
    own = penalty._replace(weights=(1.0 - l1_ratio) * (np.ones(terms) if penalty.weights is None else penalty.weights))
    return problem.replaced(
        A=sp.vstack([to_scipy(problem.A), identity], format="csr"),
        b=np.append(problem.b, np.zeros(width)),
        penalty=Stack([(own, np.arange(m)), (L1(penalty.nu, np.full(width, l1_ratio)), np.arange(m, m + width))])
        if isinstance(penalty, GroupL2)
        else L1(penalty.nu, np.append(own.weights, np.full(width, l1_ratio))),
    )
