"""The generic functions of a loss, and what several losses share."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.arrays import Elementwise, log, where
from .._core.jit import by_class, generic, inlined, is_registered, unwrapped

MAX_NEWTON_STEPS = 100  # of one equation: it takes about 5, and one more for each factor e of a bad start
ROOT_TOLERANCE = 1e-15  # of the last Newton step, relative to 1 + |u|


@generic
def value(loss, z, y):
    """The loss of one prediction.

    Examples
    --------
    >>> from adasadmm import Hinge, losses
    >>> losses.value(Hinge(), 0.25, 1.0)
    0.75
    """


@generic
def slope(loss, z, y):
    """One subgradient in ``z``; at a kink the one of least magnitude.

    Examples
    --------
    >>> from adasadmm import Squared, losses
    >>> losses.slope(Squared(), 3.0, 1.0)
    2.0
    """


@generic
def prox(loss, z, tau, y):
    """``argmin_u loss(u, y) + (u - z)^2 / (2 tau)``.

    Examples
    --------
    >>> from adasadmm import Squared, losses
    >>> losses.prox(Squared(), 3.0, 1.0, 1.0)
    2.0
    """


@generic
def conjugate(loss, s, y):
    """``sup_z s z - loss(z, y)`` for ``s`` inside ``domain(loss, y)``.

    Examples
    --------
    >>> from adasadmm import Squared, losses
    >>> losses.conjugate(Squared(), 2.0, 1.0)  # s^2 / 2 + s y
    4.0
    """


@generic
def domain(loss, y):
    """The interval ``(low, high)`` where the conjugate is finite.

    Examples
    --------
    >>> from adasadmm import Hinge, losses
    >>> losses.domain(Hinge(), 1.0)
    (-1.0, 0.0)
    """


@by_class
def curvature(loss, y=None):
    """The largest second derivative in ``z``: for losses without kinks that have one.

    An implementation takes the target ``y`` as a second argument if the largest second derivative depends on it.

    Examples
    --------
    >>> from adasadmm import Logistic, losses
    >>> losses.curvature(Logistic())
    0.25
    """


@generic
def second(loss, z, y):
    """The second derivative in ``z`` at one prediction; where the slope has a kink, a value between both sides.

    Examples
    --------
    >>> from adasadmm import Logistic, losses
    >>> losses.second(Logistic(), 0.0, 1.0)
    0.25
    """


class Piece(NamedTuple):
    """``max over low <= t <= high of t (z - kink) - flex t^2 / 2``, a convex function of the prediction z.

    Parameters
    ----------
    low, high : float or array
        Its least and its largest slope, which may be infinite. A row with ``low = high`` has no such piece.
    kink : float or array, default=0.0
        The prediction at which it is 0, and least if low <= 0 <= high.
    flex : float or array, default=0.0
        0 for a piecewise linear function; else the slope grows by 1 over a distance of ``flex``.

    Examples
    --------
    >>> from adasadmm import losses
    >>> losses.Piece(-1.0, 1.0, kink=3.0)  # |z - 3|
    Piece(low=-1.0, high=1.0, kink=3.0, flex=0.0)
    """

    low: Any
    high: Any
    kink: Any = 0.0
    flex: Any = 0.0


@functools.singledispatch
def pieces(loss, y: np.ndarray) -> Sequence[Piece]:
    """The pieces that add up to a piecewise linear or quadratic loss at targets y, an array; none for any other loss.

    Interior-point methods, and dynamic programming along chains, take a loss by its pieces.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import EpsilonInsensitive, losses
    >>> for piece in losses.pieces(EpsilonInsensitive(0.5), np.array([2.0])):
    ...     print(piece)
    Piece(low=-1.0, high=0.0, kink=array([1.5]), flex=0.0)
    Piece(low=0.0, high=1.0, kink=array([2.5]), flex=0.0)
    """
    return ()


@functools.singledispatch
def check(loss, y: np.ndarray) -> None:
    """Raise ``ValueError`` if the loss cannot take these targets, or has an impossible parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import Hinge, losses
    >>> losses.check(Hinge(), np.array([0.0, 1.0]))
    Traceback (most recent call last):
    ValueError: y must hold labels -1 and +1 for Hinge, got 0; estimators take any labels
    """


@functools.singledispatch
def takes_labels(loss) -> bool:
    """Whether the targets are labels -1 and +1: then the loss is one for classification.

    Examples
    --------
    >>> from adasadmm import Hinge, Squared, losses
    >>> losses.takes_labels(Hinge()), losses.takes_labels(Squared())
    (True, False)
    """
    return False


def is_smooth(loss) -> bool:
    """Whether the slope has no jumps: the loss has a ``second`` derivative, or its ``curvature`` is bounded.

    The second derivatives of some smooth losses, `Poisson` for example, have no bound.
    """
    return is_registered(curvature, loss) or is_registered(second, loss)


@functools.singledispatch
def has_log_link(loss) -> bool:
    """Whether a prediction is the logarithm of the expected target.

    Estimators then predict ``exp(z)``, and score by the explained deviance.

    Examples
    --------
    >>> from adasadmm import Poisson, Squared, losses
    >>> losses.has_log_link(Poisson()), losses.has_log_link(Squared())
    (True, False)
    """
    return False


@functools.singledispatch
def width(loss) -> int:
    """Return the number of predictions in the loss of a row: 1, or k for a loss of a vector of predictions.

    For a wider loss, z, s and the targets y of a row are arrays of length k, and the functions that return such an
    array for a scalar loss get one more argument to write it into: ``slope(loss, z, y, out)``,
    ``prox(loss, z, tau, y, out)``, ``domain(loss, s, y, out)``, which writes the nearest point at which the conjugate
    is finite, and ``second(loss, z, y, out)``, whose ``out`` is a k x k matrix. The ``out`` of the prox holds a guess,
    from which an iterative method may start.

    Examples
    --------
    >>> from adasadmm import Hinge, losses
    >>> losses.width(Hinge())
    1
    """
    return 1


@functools.singledispatch
def sized(loss, y: np.ndarray | None):
    """The loss with the width that these targets need, for a loss that does not know it yet; None: a source's."""
    return loss


@functools.singledispatch
def targets(loss, y: np.ndarray) -> np.ndarray:
    """The targets of each prediction, of shape (n, width), from one target for each row: by default all are equal."""
    return np.repeat(y[:, None], width(loss), axis=1)


@functools.singledispatch
def balanced(loss, s: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """For a loss of several predictions: slopes near s, inside their domain, whose weighted sum over the rows is 0.

    A duality gap needs them if the intercepts are free. None means that there is no special way to find them.
    """
    return None


@functools.singledispatch
def curvatures(loss, y: np.ndarray) -> np.ndarray:
    """The largest second derivative for each target; of a loss of several predictions, in any direction."""
    implementation = curvature.dispatch(type(loss))
    if _number_of_parameters(implementation) == 1:
        return np.full(len(y), float(implementation(loss)))
    if hasattr(implementation, "on_arrays"):
        return implementation.on_arrays(loss, y)
    k = width(loss)
    return np.repeat([float(implementation(loss, target)) for target in (y if k == 1 else y.reshape(-1, k))], k)


def largest_curvature(loss, y: np.ndarray) -> float:
    """The largest second derivative for any of these targets."""
    is_constant = _number_of_parameters(curvature.dispatch(type(unwrapped(loss)))) == 1
    return float(np.max(curvatures(loss, y[:1] if is_constant else y)))


@functools.cache
def _number_of_parameters(implementation: Callable) -> int:
    return len(inspect.signature(implementation).parameters)


# --- what several losses share ---------------------------------------------------------------------------------------


@inlined
def xlogx(p):
    """``p log p``, and its limit 0 at 0."""
    return p * log(where(p > 0.0, p, 1.0))


@generic
def residual(equation, u):
    """How far ``u`` is from solving an equation, an increasing function, and its derivative."""


@inlined
def root_of_one(equation, low, high, start):
    u = start
    for _ in range(MAX_NEWTON_STEPS):
        error, rise = residual(equation, u)
        if error > 0.0:
            high = u
        else:
            low = u
        following = u - error / rise if abs(error) < math.inf else math.inf
        if not low <= following <= high:
            following = 0.5 * (low + high)
        change = abs(following - u)
        u = following
        if change <= ROOT_TOLERANCE * (1.0 + abs(u)):
            break
    return u


def root_of_each(equation, low, high, start):
    """The same for each row. Numbers in the equation stand for equal entries; rows drop out as they are solved."""
    residual_of = residual.dispatch(type(equation))
    solution, rows = np.array(start), np.arange(len(start))
    u = solution
    for _ in range(MAX_NEWTON_STEPS):
        error, rise = residual_of(equation, u)
        is_above = error > 0.0
        low, high = np.where(is_above, low, u), np.where(is_above, u, high)
        following = np.where(np.isfinite(error), u - error / rise, np.inf)
        following = np.where((low <= following) & (following <= high), following, 0.5 * (low + high))
        is_moving = np.abs(following - u) > ROOT_TOLERANCE * (1.0 + np.abs(following))
        solution[rows] = following
        if not is_moving.any():
            break
        rows, u, low, high = rows[is_moving], following[is_moving], low[is_moving], high[is_moving]
        equation = equation._make(x[is_moving] if isinstance(x, np.ndarray) else x for x in equation)
    return solution


# The u between low and high that solves an equation, by Newton's method with bisection.
root = Elementwise(root_of_one, root_of_each)
