"""The one place where threads are made or set.

BLAS is held to one, since several slow small factorisations down tenfold; long passes over rows take all cores.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread", "side_by_side"]

_lock = threading.Lock()
_inside = 0
_before: list[int] = []


@functools.cache
def _libraries() -> list[Any]:
    return ThreadpoolController().select(user_api="blas").lib_controllers


def _set(library: Any, number: int) -> None:
    """Set the threads of a library, also from another thread of Python than the one that set them last.

    Recent versions of threadpoolctl let only that one do so, lest threads contend; here a lock and a count see to it.
    """
    getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; the last of several threads of Python that leave gives back what was before."""
    global _inside
    with _lock:
        if _inside == 0:
            _before[:] = [library.num_threads for library in _libraries()]
            for library in _libraries():
                _set(library, 1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                for library, number in zip(_libraries(), _before, strict=True):
                    _set(library, number)


def side_by_side(function: Callable[[Any], Any], pieces: Iterable[Any]) -> list[Any]:
    """The results of a function that lets go of Python's lock, for each piece, in order, on all cores.

    How many cores there are must not show in the results: that is for whoever cuts the pieces.
    """
    pieces = list(pieces)
    if len(pieces) == 1 or _cores() == 1:
        return [function(piece) for piece in pieces]
    return list(_pool().map(function, pieces))


@functools.cache
def _cores() -> int:
    """What this process may use; joblib gives its workers less through OMP_NUM_THREADS."""
    has = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    told = os.environ.get("OMP_NUM_THREADS", "")
    return min(has, int(told)) if told.isdigit() and int(told) > 0 else has


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), thread_name_prefix="adasadmm")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
