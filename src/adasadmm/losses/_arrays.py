"""The functions of a loss at all rows: by NumPy where the loss has forms for arrays, else by a compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.arrays import array_form
from .._core.jit import compiled, entry_or
from ._generic import conjugate, domain, prox, second, slope, value, width


def each(function: Any, loss: Any, *arguments: Any) -> Any:
    """A function of a loss for each row; what is the same for all rows may be a number.

    The arguments are those of the function as arrays, of shape (n, k) for a loss of k predictions. ``domain`` returns
    two arrays for a loss of one prediction. The functions of a wider loss that write into their last argument return an
    array instead; only ``prox`` keeps that argument, as its guess.
    """
    form = array_form(function, loss)
    if form is not None:
        with np.errstate(all="ignore"):  # as in compiled code
            return form(loss, *arguments)
    arguments = tuple(np.ascontiguousarray(one) if np.ndim(one) else one for one in arguments)
    n, k = len(arguments[0]), width(loss)
    if k == 1:
        write, out = LOOPS[function], np.empty((2, n) if function is domain else n)
    elif function is prox:
        arguments, guess = arguments[:-1], arguments[-1]
        write, out = write_proxes_of_vectors, guess.copy()
    else:
        write, shape = LOOPS_OF_VECTORS[function], {second: (n, k, k), slope: (n, k), domain: (n, k)}.get(function, n)
        out = np.empty(shape)
    write(loss, *arguments, out)
    return tuple(out) if k == 1 and function is domain else out


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


LOOPS: dict[Any, Any] = {
    value: write_values,
    slope: write_slopes,
    second: write_seconds,
    prox: write_proxes,
    conjugate: write_conjugates,
    domain: write_domains,
}
LOOPS_OF_VECTORS: dict[Any, Any] = {
    value: write_values,
    slope: write_slopes_of_vectors,
    second: write_seconds_of_vectors,
    conjugate: write_conjugates,
    domain: write_nearest,
}
