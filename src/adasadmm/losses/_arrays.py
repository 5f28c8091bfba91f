"""The functions of a loss at all rows: by NumPy where the loss has forms for arrays, else by a compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.arrays import array_form
from .._core.jit import compiled, entry_or
from ._generic import conjugate, domain, prox, second, slope, value, width

__all__ = ["each"]


def each(function: Any, loss: Any, *arguments: Any) -> Any:
    """A function of a loss for each row; what is the same for all rows may be a number.

    The arguments are those of the function as arrays, of shape (n, k) for a loss of k predictions. ``domain`` returns
    two arrays for a loss of one prediction. The functions of a wider loss that write into their last argument return an
    array instead; only ``prox`` keeps that argument, as its guess.
    """
    form = array_form(function, loss)
    if form is None:
        arguments = tuple(np.ascontiguousarray(one) if np.ndim(one) else one for one in arguments)
        return _IN_A_LOOP[function](loss, *arguments)
    with np.errstate(all="ignore"):  # as in compiled code
        return form(loss, *arguments)


def _values(loss: Any, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    write_values(loss, z, y, out := np.empty(len(z)))
    return out


def _slopes(loss: Any, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    write = write_slopes if width(loss) == 1 else write_slopes_of_vectors
    write(loss, z, y, out := np.empty(z.shape))
    return out


def _seconds(loss: Any, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    k = width(loss)
    write = write_seconds if k == 1 else write_seconds_of_vectors
    write(loss, z, y, out := np.empty(z.shape if k == 1 else (*z.shape, k)))
    return out


def _proxes(loss: Any, z: np.ndarray, tau: Any, y: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
    if guess is None:
        write_proxes(loss, z, tau, y, out := np.empty(len(z)))
    else:
        write_proxes_of_vectors(loss, z, tau, y, out := guess.copy())
    return out


def _conjugates(loss: Any, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    write_conjugates(loss, s, y, out := np.empty(len(s)))
    return out


def _domains(loss: Any, *arguments: np.ndarray) -> Any:
    if width(loss) == 1:
        write_domains(loss, *arguments, out := np.empty((2, len(arguments[0]))))
        return out[0], out[1]
    write_nearest(loss, *arguments, out := np.empty(arguments[0].shape))
    return out


_IN_A_LOOP: dict[Any, Callable[..., Any]] = {
    value: _values,
    slope: _slopes,
    second: _seconds,
    prox: _proxes,
    conjugate: _conjugates,
    domain: _domains,
}


@compiled
def write_values(loss, z, y, out):
    for i in range(len(out)):
        out[i] = value(loss, z[i], y[i])


@compiled
def write_slopes(loss, z, y, out):
    for i in range(len(out)):
        out[i] = slope(loss, z[i], y[i])


@compiled
def write_slopes_of_vectors(loss, z, y, out):
    for i in range(len(out)):
        slope(loss, z[i], y[i], out[i])


@compiled
def write_seconds(loss, z, y, out):
    for i in range(len(out)):
        out[i] = second(loss, z[i], y[i])


@compiled
def write_seconds_of_vectors(loss, z, y, out):
    for i in range(len(out)):
        second(loss, z[i], y[i], out[i])


@compiled
def write_proxes(loss, z, tau, y, out):
    for i in range(len(out)):
        out[i] = prox(loss, z[i], entry_or(tau, i, 1.0), y[i])


@compiled
def write_proxes_of_vectors(loss, z, tau, y, out):
    for i in range(len(out)):
        prox(loss, z[i], tau, y[i], out[i])


@compiled
def write_conjugates(loss, s, y, out):
    for i in range(len(out)):
        out[i] = conjugate(loss, s[i], y[i])


@compiled
def write_domains(loss, y, out):
    for i in range(len(y)):
        out[0, i], out[1, i] = domain(loss, y[i])


@compiled
def write_nearest(loss, s, y, out):
    for i in range(len(out)):
        domain(loss, s[i], y[i], out[i])
