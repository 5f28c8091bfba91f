"""What a loss can do, and sums over many predictions."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable

import numpy as np

from .._core.jit import compiled, generic, inlined

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
    ValueError: y must hold labels -1 and +1 for Hinge, got 0
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
def curvatures(loss, y: np.ndarray) -> np.ndarray:
    """The largest second derivative for each target."""
    implementation = curvature.dispatch(type(loss))
    if _number_of_parameters(implementation) == 1:
        return np.full(len(y), float(implementation(loss)))
    return np.array([float(implementation(loss, target)) for target in y])


@functools.cache
def _number_of_parameters(implementation: Callable) -> int:
    return len(inspect.signature(implementation).parameters)


@compiled
def mean_value(loss, z, y, c):
    """``1/n sum_i c_i loss(z_i, y_i)``."""
    total = 0.0
    for i in range(len(z)):
        if c[i] > 0.0:  # a row of weight 0 is absent, even where its loss is infinite
            total += c[i] * value(loss, z[i], y[i])
    return total / len(z)


@compiled
def all_slopes(loss, z, y, out):
    """The slope at each prediction."""
    for i in range(len(z)):
        out[i] = slope(loss, z[i], y[i])


@compiled
def derivatives(loss, z, y, weight, slopes, seconds):
    """The slope and the second derivative at each prediction, times the weight of its row."""
    for i in range(len(z)):
        if weight[i] > 0.0:  # a row of weight 0 is absent, even where its loss is infinite
            slopes[i] = weight[i] * slope(loss, z[i], y[i])
            seconds[i] = weight[i] * second(loss, z[i], y[i])
        else:
            slopes[i] = seconds[i] = 0.0


@compiled
def mean_conjugate(loss, s, y, c):
    """``1/n sum_i c_i loss*(s_i, y_i)``."""
    total = 0.0
    for i in range(len(s)):
        total += c[i] * conjugate(loss, s[i], y[i])
    return total / len(s)


@compiled
def clip_to_domain(loss, s, y, low, high):
    """Clip each ``s_i`` to its domain in place; write the domain's ends to ``low`` and ``high``."""
    for i in range(len(s)):
        low[i], high[i] = domain(loss, y[i])
        s[i] = min(max(s[i], low[i]), high[i])


@inlined
def xlogx(p):
    """``p log p``, and its limit 0 at 0."""
    return p * math.log(p) if p > 0.0 else 0.0
