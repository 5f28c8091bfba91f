"""Step sizes. ``size(step, t, w)`` returns eta_t, the step size of the iteration that leads from w_t to w_{t+1}.

Examples
--------
>>> import numpy as np
>>> from adasadmm import stepsizes
>>> stepsizes.size(stepsizes.InverseTime(gamma=0.1), 5, np.zeros(2))
2.0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._core.jit import generic

__all__ = ["Auto", "Constant", "InverseSqrt", "InverseTime", "size"]


class Constant(NamedTuple):
    """``eta_t = eta``, as in Ada-SADMM.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import stepsizes
    >>> stepsizes.size(stepsizes.Constant(0.5), 4, np.zeros(2))
    0.5
    """

    eta: float


class InverseTime(NamedTuple):
    """``eta_t = 1 / (gamma t)``, as in SADMM for strongly convex losses.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import stepsizes
    >>> stepsizes.size(stepsizes.InverseTime(0.5), 4, np.zeros(2))
    0.5
    """

    gamma: float


class InverseSqrt(NamedTuple):
    """``eta_t = c / sqrt(t)``, as in SADMM for convex losses.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import stepsizes
    >>> float(stepsizes.size(stepsizes.InverseSqrt(1.0), 4, np.zeros(2)))
    0.5
    """

    c: float


class Auto(NamedTuple):
    """The step size that Theorems 2 and 3 ask for, with the distance measured in the run itself; ``eta="auto"``.

    Theorem 2 wants ``eta = D / sqrt(2)``, where D bounds the distances between iterates. The run knows how far it has
    come: ``eta_t = share max_{s <= t} |w_s - w_1|``, at first a hundredth of loss / gradient. For the diagonal metric
    distances are measured in the max-norm of Theorem 2, for the others in the 2-norm of Theorem 3. The share is 1/2;
    1, as in DoG, for a metric with one scale for all coordinates, which is larger than each of them needs.

    ``travelled`` holds the largest distance so far.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import stepsizes
    >>> step = stepsizes.Auto(first=np.zeros(2), travelled=np.array([0.01]), max_norm=True, share=0.5)
    >>> float(stepsizes.size(step, 2, np.array([0.3, -0.4])))
    0.2
    """

    first: np.ndarray
    travelled: np.ndarray
    max_norm: bool
    share: float


@generic
def size(step, t, w):
    """``eta_t``, for the step from w_t to w_{t+1}.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import stepsizes
    >>> stepsizes.size(stepsizes.Constant(0.5), 4, np.zeros(2))
    0.5
    """


@size.register
def constant_size(step: Constant, t, w):
    return step.eta


@size.register
def inverse_time_size(step: InverseTime, t, w):
    return 1.0 / (step.gamma * t)


@size.register
def inverse_sqrt_size(step: InverseSqrt, t, w):
    return step.c / np.sqrt(t)


@size.register
def auto_size(step: Auto, t, w):
    squares, largest = 0.0, 0.0
    for j in range(len(w)):
        distance = abs(w[j] - step.first[j])
        squares += distance * distance
        largest = max(largest, distance)
    distance = largest if step.max_norm else np.sqrt(squares)
    step.travelled[0] = max(step.travelled[0], distance)
    return step.share * step.travelled[0]
