"""The loss of multinomial logistic regression: one softmax of the predictions of all classes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._core.arrays import on_arrays
from .._core.jit import inlined
from ..linalg import simplex
from ._generic import (
    MAX_NEWTON_STEPS,
    balanced,
    check,
    conjugate,
    curvature,
    domain,
    prox,
    second,
    sized,
    slope,
    targets,
    value,
    width,
    xlogx,
)

FREQUENCY_TOLERANCE = 1e-15  # of the mean probabilities of the classes after `balanced`
MAX_FULL_STEP = 0.5  # change of a logit by a Newton step without line search
STEP_TOLERANCE = 1e-9  # of the last Newton step, relative to 1 + |z|: the error after it is of the order of its square


class Multinomial(NamedTuple):
    """``log(sum_c exp(z_c)) - sum_c y_c z_c``: the loss of multinomial logistic regression, or softmax regression.

    The predictions z of a row are one number for each class. The target of a row is its class, a whole number from 0 to
    ``classes - 1``, or a row of y with the probability of each class.

    Parameters
    ----------
    classes : int, default=0
        The number of classes. 0 takes it from y; rows of a source need the number.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import losses
    >>> loss, y, s = losses.Multinomial(3), np.array([0.0, 1.0, 0.0]), np.empty(3)
    >>> float(round(losses.value(loss, np.zeros(3), y), 4))  # log 3
    1.0986
    >>> losses.slope(loss, np.zeros(3), y, s)
    >>> s.round(4)
    array([ 0.3333, -0.6667,  0.3333])
    """

    classes: int = 0


@value.register
def multinomial_value(loss: Multinomial, z, y):
    top = np.max(z)
    total, chosen = 0.0, 0.0
    for c in range(len(z)):
        total += math.exp(z[c] - top)
        if y[c] != 0.0:
            chosen += y[c] * (z[c] - top)
    return math.log(total) - chosen


@on_arrays(multinomial_value)
def multinomial_values(loss, z, y):
    off = z - z.max(axis=1, keepdims=True)
    return np.log(np.exp(off).sum(axis=1)) - np.where(y != 0.0, y * off, 0.0).sum(axis=1)


@slope.register
def multinomial_slope(loss: Multinomial, z, y, out):
    softmax(z, out)
    for c in range(len(z)):
        out[c] -= y[c]


@on_arrays(multinomial_slope)
def multinomial_slopes(loss, z, y):
    return softmaxes(z) - y


@inlined
def softmax(z, out):
    """``exp(z_c) / sum_e exp(z_e)`` without overflow."""
    top, total = np.max(z), 0.0
    for c in range(len(z)):
        out[c] = math.exp(z[c] - top)
        total += out[c]
    for c in range(len(z)):
        out[c] /= total


def softmaxes(z):
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@second.register
def second_of_multinomial(loss: Multinomial, z, y, out):
    p = np.empty(len(z))
    softmax(z, p)
    for a in range(len(p)):
        for b in range(len(p)):
            out[a, b] = -p[a] * p[b]
        out[a, a] += p[a]


@on_arrays(second_of_multinomial)
def seconds_of_multinomial(loss, z, y):
    p = softmaxes(z)
    out = -p[:, :, None] * p[:, None, :]
    np.einsum("iaa->ia", out)[:] += p
    return out


@curvature.register
def multinomial_curvature(loss: Multinomial):
    return 0.5


@prox.register
def multinomial_prox(loss: Multinomial, z, tau, y, out):
    """Newton's method from the guess; its matrix ``I/tau + diag(p) - p p'`` is inverted by Sherman and Morrison."""
    k = len(z)
    p, step = np.empty(k), np.empty(k)
    for c in range(k):
        if not abs(out[c] - z[c]) <= tau:  # no slope is larger than 1
            out[c] = z[c]
    for _ in range(MAX_NEWTON_STEPS):
        softmax(out, p)
        product, share = 0.0, 0.0
        for c in range(k):
            stiff = 1.0 / tau + p[c]
            step[c] = (p[c] - y[c] + (out[c] - z[c]) / tau) / stiff
            product += p[c] * step[c]
            share += p[c] * p[c] / stiff
        largest, size = 0.0, 0.0
        for c in range(k):
            step[c] += p[c] / (1.0 / tau + p[c]) * product / (1.0 - share)
            largest, size = max(largest, abs(step[c])), max(size, abs(out[c]))
        length = 1.0 if largest <= MAX_FULL_STEP else shortened(z, tau, y, out, p, step)
        for c in range(k):
            out[c] -= length * step[c]
        if largest <= STEP_TOLERANCE * (1.0 + size) or length == 0.0:
            break


@on_arrays(multinomial_prox)
def multinomial_proxes(loss, z, tau, y, guess):
    """Inside, a row for each class: sums over a few classes are then sums of long vectors."""
    z, y, guess = (np.ascontiguousarray(array.T) for array in (z, y, guess))
    out, rows = np.where(np.abs(guess - z) <= tau, guess, z), np.arange(z.shape[1])
    u, center, target = out, z, y
    for _ in range(MAX_NEWTON_STEPS):
        p = np.exp(u - u.max(axis=0))
        p /= p.sum(axis=0)
        slopes = p - target
        slopes += (u - center) / tau
        stiff = 1.0 / tau + p
        step, share = slopes / stiff, p / stiff
        share *= (p * step).sum(axis=0) / (1.0 - (p * share).sum(axis=0))
        step += share
        largest, size = np.abs(step).max(axis=0), np.abs(u).max(axis=0)
        length = np.ones(len(rows))
        is_large = largest > MAX_FULL_STEP
        if is_large.any():
            columns = (np.compress(is_large, array, axis=1) for array in (target, u, slopes, step))
            length[is_large] = shortened_steps(np.compress(is_large, center, axis=1), tau, *columns)
        out[:, rows] = u - length * step
        rows = rows[(largest > STEP_TOLERANCE * (1.0 + size)) & (length > 0.0)]
        if not len(rows):
            break
        u, center, target = (np.take(array, rows, axis=1) for array in (out, z, y))  # `[:, rows]` is in other order
    return np.ascontiguousarray(out.T)


@inlined
def shortened(z, tau, y, u, p, step):
    """The longest of the steps 1, 1/2, 1/4, ... after which the objective of the prox has fallen enough."""
    falls = 0.0
    for c in range(len(u)):
        falls += step[c] * (p[c] - y[c] + (u[c] - z[c]) / tau)
    before, length = envelope(z, tau, y, u, step, 0.0), 1.0
    while length > 1e-12:
        if envelope(z, tau, y, u, step, length) <= before - 0.1 * length * falls:
            return length
        length *= 0.5
    return 0.0


def shortened_steps(z, tau, y, u, slopes, step):
    """`shortened` for the columns of arrays with a row for each class."""
    falls, length = (step * slopes).sum(axis=0), np.ones(u.shape[1])
    before = envelopes(z, tau, y, u)
    while True:
        rises = envelopes(z, tau, y, u - length * step) > before - 0.1 * length * falls
        rises &= length > 0.0
        if not rises.any():
            return length
        length[rises] = np.where(length[rises] > 2e-12, 0.5 * length[rises], 0.0)


@inlined
def envelope(z, tau, y, u, step, length):
    """The objective of the prox after a step."""
    top = -math.inf
    for c in range(len(u)):
        top = max(top, u[c] - length * step[c])
    total, rest = 0.0, 0.0
    for c in range(len(u)):
        at = u[c] - length * step[c]
        total += math.exp(at - top)
        rest += 0.5 * (at - z[c]) * (at - z[c]) / tau - y[c] * (at - top)
    return math.log(total) + rest


def envelopes(z, tau, y, u):
    off = u - u.max(axis=0)
    rest = 0.5 * (u - z) ** 2 / tau - y * off
    return np.log(np.exp(off).sum(axis=0)) + rest.sum(axis=0)


@conjugate.register
def multinomial_conjugate(loss: Multinomial, s, y):
    total = 0.0
    for c in range(len(s)):
        total += xlogx(s[c] + y[c])
    return total


@on_arrays(multinomial_conjugate)
def multinomial_conjugates(loss, s, y):
    return xlogx(s + y).sum(axis=1)


@domain.register
def multinomial_domain(loss: Multinomial, s, y, out):
    """``s + y`` lies in the simplex."""
    for c in range(len(s)):
        out[c] = s[c] + y[c]
    simplex.project(out, 1.0)
    for c in range(len(s)):
        out[c] -= y[c]


@on_arrays(multinomial_domain)
def multinomial_domains(loss, s, y):
    return simplex.projections(s + y, 1.0) - y


@balanced.register
def balanced_multinomial(loss: Multinomial, s, y, weight):
    """Shift the logits of each class until its mean probability is its frequency; a mixture removes the last error."""
    k, targets = loss.classes, y.reshape(-1, loss.classes)
    share, p = weight[::k] / weight[::k].sum(), s.reshape(-1, k) + targets
    frequency = share @ targets
    absent = frequency == 0.0
    p = np.where(absent, 0.0, p)
    p[~(p.sum(axis=1) > 0.0)] = frequency
    p /= p.sum(axis=1, keepdims=True)
    for _ in range(MAX_NEWTON_STEPS):
        mean = share @ p
        missing = frequency - mean
        if np.abs(missing).max() <= FREQUENCY_TOLERANCE:
            break
        curved = np.diag(mean) - (p * share[:, None]).T @ p
        shift = np.clip(np.linalg.lstsq(curved, missing, rcond=1e-12)[0], -MAX_FULL_STEP, MAX_FULL_STEP)
        nearer = p * np.exp(shift)
        nearer /= nearer.sum(axis=1, keepdims=True)
        if not np.abs(frequency - share @ nearer).max() < np.abs(missing).max():
            break
        p = nearer
    part, addition = least_mixture(share @ p, frequency)
    mixed = (1.0 - part) * p + addition if part > 4.0 * FREQUENCY_TOLERANCE else p
    return (mixed - targets).reshape(-1)


def least_mixture(mean: np.ndarray, frequency: np.ndarray) -> tuple[float, np.ndarray]:
    """The least t for which ``(1 - t) mean + t q = frequency`` with some distribution q, and t q."""
    exceeds = mean > frequency
    part = float(np.max((mean - frequency)[exceeds] / mean[exceeds], initial=0.0))
    return part, np.maximum(frequency - (1.0 - part) * mean, 0.0)


# --- its targets -----------------------------------------------------------------------------------------------------


@width.register
def width_of_multinomial(loss: Multinomial) -> int:
    return loss.classes


@sized.register
def sized_multinomial(loss: Multinomial, y):
    if loss.classes:
        return loss
    if y is None:
        raise ValueError("the number of classes is not known before the rows are read: give Multinomial(classes)")
    classes = y.shape[1] if y.ndim == 2 else int(np.max(y, initial=0)) + 1
    return Multinomial(max(classes, 2))


@targets.register
def targets_of_multinomial(loss: Multinomial, y):
    code = y.astype(np.int64)
    wrong = (code != y) | (code < 0) | (code >= loss.classes)
    if wrong.any():
        raise ValueError(
            f"y must hold whole numbers from 0 to {loss.classes - 1}, the classes of Multinomial, got {y[wrong][0]:g}"
        )
    return np.eye(loss.classes)[code]


@check.register(Multinomial)
def check_multinomial(loss, y):
    if loss.classes < 2:
        raise ValueError(f"classes of Multinomial must be at least 2, got {loss.classes}")
    p = y.reshape(-1, loss.classes)
    wrong = (p < 0.0).any(axis=1) | (np.abs(p.sum(axis=1) - 1.0) > 1e-9)
    if wrong.any():
        raise ValueError(f"the rows of y must be probabilities of the classes, got {p[wrong][0]}")
