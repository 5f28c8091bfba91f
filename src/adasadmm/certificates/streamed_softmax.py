"""The intercepts of a softmax whose rows are read block by block: probabilities with the frequencies of the classes.

The slopes of a row are its probabilities p minus its targets y. If nothing but the intercepts is free, the weighted
mean of p must be that of y. How far it is off is known only after the pass, so p is mixed with one distribution q for
all rows, ``(1 - t) p + t q``. Pulls are linear in q, and the conjugate of a mixture is at most the mixture of the
conjugates: sums of the one pass bound the dual value from below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import losses
from .._core.jit import unwrapped
from ..losses.multinomial import least_mixture
from ..problem import Block, Problem
from ..rows import products
from ..rows.matrices import Repeated, WithIntercept

__all__ = ["Totals", "has_free_intercepts", "mixed", "totals_of"]


class Totals(NamedTuple):
    """``X'(c y)/n``, ``X'c/n``, and what offsets add to the conjugate at ``q - y``: ``constant + <linear, q>``."""

    of_targets: np.ndarray
    of_ones: np.ndarray
    linear: np.ndarray
    constant: np.ndarray

    @classmethod
    def zeros(cls, problem: Problem) -> Totals:
        return cls(np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.outputs), np.zeros(1))


def has_free_intercepts(problem: Problem, free: np.ndarray) -> bool:
    """Whether the loss is a softmax, and the intercepts of all classes are the only free coordinates."""
    X, k = problem.first_rows.X, problem.outputs
    return (
        isinstance(unwrapped(problem.loss), losses.Multinomial)
        and isinstance(X, Repeated)
        and isinstance(X.rows, WithIntercept)
        and np.array_equal(np.flatnonzero(free), np.arange(problem.d - k, problem.d))
    )


def totals_of(block: Block, n: int, k: int) -> Totals:
    """The contribution of one block."""
    weight, y = block.c / n, losses.targets_alone(block.y)
    of_targets, of_ones = np.empty((2, block.X.shape[1]))
    products.transposed_product(block.X, weight * y, of_targets)
    products.transposed_product(block.X, weight, of_ones)
    if block.y.dtype.names is None:
        return Totals(of_targets, of_ones, np.zeros(k), np.zeros(1))
    shift = weight * block.y["offset"]
    return Totals(of_targets, of_ones, -shift.reshape(-1, k).sum(axis=0), np.array([float(shift @ y)]))


def mixed(pull: np.ndarray, conjugate: float, totals: Totals) -> tuple[np.ndarray, float]:
    """``X'(c s)/n`` and an upper bound of the mean conjugate, after the least mixture that balances the intercepts."""
    k = len(totals.linear)
    frequency = totals.of_targets[-k:]
    part, addition = least_mixture(pull[-k:] + frequency, frequency)
    if part == 0.0:
        return pull, conjugate
    q = addition / part
    entropy = float(np.sum(q * np.log(np.where(q > 0.0, q, 1.0))))
    of_q = totals.of_ones * np.tile(q, len(pull) // k) - totals.of_targets
    at_q = entropy + float(totals.linear @ q) + float(totals.constant[0])
    return (1.0 - part) * pull + part * of_q, (1.0 - part) * conjugate + part * at_q
