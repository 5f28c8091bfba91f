"""The certificate of a point, wherever the rows are, and the best dual value of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import losses
from ..problem import Problem
from ..rows import products
from ..sources.blocks import Block
from . import ascent, duality, streamed
from .primal import primal_value
from .streamed import BlockSlopes, Each
from .trace import Certificate

__all__ = ["BestDual", "certify", "certify_after_ascent", "slopes_at"]

ASCENT_PASSES = 2, 10  # least and most of dual ascent; between them as many as the run made epochs


def certify(
    problem: Problem,
    w: np.ndarray,
    v: np.ndarray,
    slopes: np.ndarray | BlockSlopes,
    theta: np.ndarray,
    each: Each | None = None,
) -> Certificate:
    """Bound the optimum from above by a feasible point near (w, v), and from below by a dual point near (s, theta).

    Parameters
    ----------
    problem : Problem
        Its rows may be in memory, read block by block from a source, or spread over workers.
    w, v : ndarray of shape (d,) and (p,)
        The primal point.
    slopes : ndarray of shape (n,) or callable
        The dual point s, a slope of each row's loss. A callable ``(block, remembered) -> ndarray`` returns the slopes
        of one block; rows that are not in memory need that form.
    theta : ndarray of shape (m,)
        The multipliers of the constraint.
    each : callable, optional
        ``each(function, *common)`` returns ``function(block, remembered, *common)`` for each block, in order, where
        ``remembered`` is the dict that the run keeps with the block. By default `Problem.each`, which keeps none.

    Returns
    -------
    Certificate
        Its gap is infinite, with the reason, if there is no feasible point or no dual point nearby.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Problem, Squared
    >>> from adasadmm.solvers import certify, slopes_at
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(10.0), A=[[1.0, -1.0]], gamma=0.1)
    >>> w = np.array([1.0, 1.0])
    >>> found = certify(problem, w, np.zeros(1), slopes_at(problem, w), np.zeros(1))
    >>> bool(found.dual <= problem.objective(w) <= found.primal)
    True
    """
    each = problem.each if each is None else each
    if problem.source is None:
        (s,) = [slopes] if isinstance(slopes, np.ndarray) else each(slopes)  # rows in memory are one block
        dual = duality.dual_value(problem, w, s, theta)
    elif callable(slopes):
        problem.streamed_losses.want(w)  # the pass for the dual value finds the primal one as well
        dual = streamed.dual_value(problem, w, slopes, theta, each)
    else:
        raise TypeError("slopes must be a function of a block where the rows are not in memory")
    return duality.certificate(problem, (w, v), primal_value(problem, w, v), dual)


def certify_after_ascent(
    problem: Problem, w: np.ndarray, v: np.ndarray, slopes: np.ndarray | BlockSlopes, theta: np.ndarray, epochs: float
) -> Certificate:
    """`certify`; in memory, from a dual point that a few passes of dual coordinate ascent improve."""
    found = certify(problem, w, v, slopes, theta)
    if problem.source is None and isinstance(slopes, np.ndarray) and ascent.is_possible(problem):
        s, theta = slopes.copy(), theta.copy()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ascent.ascend(problem, w, s, theta, int(np.clip(epochs, *ASCENT_PASSES)))
        if np.isfinite(s).all() and np.isfinite(theta).all():
            found = max(found, certify(problem, w, v, s, theta), key=lambda one: one.dual)
    return found


def slopes_at(problem: Problem, w: np.ndarray) -> np.ndarray | BlockSlopes:
    """The slope of each row's loss at w: an array for rows in memory, else a function of a block.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Problem, Squared
    >>> from adasadmm.solvers import slopes_at
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.1), A=[[1.0, -1.0]])
    >>> slopes_at(problem, np.array([1.0, 1.0]))
    array([ 0., -2.])
    """
    if problem.source is None:
        return duality.slopes(problem, problem.predictions(w))
    return SlopesAt(problem.loss, w)


class SlopesAt(NamedTuple):
    """The slope of each row's loss at w, for a block of rows."""

    loss: tuple
    w: np.ndarray

    def __call__(self, block: Block, remembered: dict[str, Any]) -> np.ndarray:
        z, s = np.empty((2, len(block.y)))
        products.product(block.X, self.w, z)
        losses.all_slopes(self.loss, z, block.y, s)
        return s


class BestDual:
    """The certificate of a run's current iterate, with the best dual value that the run has found so far.

    Every dual point bounds the optimum from below, so the bound of an earlier iterate remains valid for later ones. The
    certificate is computed once for each iteration.

    Attributes
    ----------
    best : float
        The best dual value so far, minus infinity before the first certificate. A run saves it with its state.

    Notes
    -----
    ``copy.copy`` returns an independent record: a fork of a run needs one of its own.
    """

    def __init__(self) -> None:
        self.best = -math.inf
        self._found: tuple[int, Certificate] | None = None

    def find(self, problem: Problem, iteration: int, compute: Callable[[], Certificate]) -> Certificate:
        """The certificate of this iteration; ``compute`` is called only if it is not known yet."""
        if self._found is None or self._found[0] != iteration:
            found = compute()
            self.best = max(self.best, found.dual)  # in this order, NaN does not replace the best one
            self._found = iteration, duality.with_dual(problem, found, self.best)
        return self._found[1]

    def forget(self) -> None:
        """Drop the certificate but keep the best dual value: the run has loaded another state."""
        self._found = None

    def reset(self) -> None:
        """Drop both: the run continues on another problem, whose optimum is another one."""
        self.best = -math.inf
        self._found = None
