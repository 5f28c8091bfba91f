"""The generic functions of a loss, and sums over many predictions."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable

import numpy as np

from .._core.jit import compiled, generic, inlined, unwrapped

NEWTON_STEPS = 100  # a cap: Newton's method in a prox needs about 5, and one more for each factor e of a bad start


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


@generic
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


@generic
def pieces(loss, y):
    """The derivative in ``z`` of a loss that is piecewise linear or quadratic, as ``((a, b), (p, a, b), (q, a, b))``.

    It is ``a z + b`` for small z, to which each knot, at p and at q >= p, adds its own ``a z + b`` to its right; a knot
    at infinity adds nothing.
    """


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
    k = width(loss)
    return np.repeat([float(implementation(loss, target)) for target in (y if k == 1 else y.reshape(-1, k))], k)


def largest_curvature(loss, y: np.ndarray) -> float:
    """The largest second derivative for any of these targets."""
    is_constant = _number_of_parameters(curvature.dispatch(type(unwrapped(loss)))) == 1
    return float(np.max(curvatures(loss, y[:1] if is_constant else y)))


@functools.cache
def _number_of_parameters(implementation: Callable) -> int:
    return len(inspect.signature(implementation).parameters)


@compiled
def derivatives(loss, z, y, weight, slopes, seconds):
    """The slope and the second derivative at each prediction, times the weight of its row."""
    for i in range(len(z)):
        if weight[i] > 0.0:  # a row of weight 0 is absent, even where its loss is infinite
            slopes[i] = weight[i] * slope(loss, z[i], y[i])
            seconds[i] = weight[i] * second(loss, z[i], y[i])
        else:
            slopes[i] = seconds[i] = 0.0


@inlined
def xlogx(p):
    """``p log p``, and its limit 0 at 0."""
    return p * math.log(p) if p > 0.0 else 0.0
