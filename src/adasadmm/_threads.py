"""The one place where BLAS threads are set: several of them slow small factorisations down tenfold."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]

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
