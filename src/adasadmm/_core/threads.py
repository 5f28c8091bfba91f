"""The only module that creates threads or sets their number.

BLAS is limited to one thread, since several slow down small factorisations; long passes over rows use all cores.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["Halted", "Together", "ahead", "go_on_or_halt", "one_blas_thread", "side_by_side"]

_lock = threading.Lock()
_inside = 0
_before: list[int] = []


@functools.cache
def _libraries() -> list[Any]:
    return ThreadpoolController().select(user_api="blas").lib_controllers


def _set(library: Any, number: int) -> None:
    """Set the number of threads of a library, from any thread of Python.

    Recent versions of threadpoolctl allow this only in the thread that set it last; here a lock protects the calls.
    """
    getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the last of several threads of Python to leave restores the previous number."""
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


class Halted(Exception):
    """Raised in a thread that should stop: another one failed, or Ctrl-C reached the main thread."""


class Together:
    """Calls in several threads that end together: if the ``with`` block fails, all of them are stopped.

    It waits at most a second for them to stop. It does nothing in other processes, which joblib ends itself.
    """

    def __init__(self) -> None:
        self._halt, self._change, self._running = threading.Event(), threading.Condition(), 0

    def __reduce__(self) -> Any:
        return Together, ()

    def __call__(self, function: Callable, *args: Any, **keywords: Any) -> Any:
        before, _own.halt = getattr(_own, "halt", None), self._halt
        self._count(1)
        try:
            return function(*args, **keywords)
        finally:
            self._count(-1)
            _own.halt = before

    def _count(self, change: int) -> None:
        with self._change:
            self._running += change
            self._change.notify_all()

    def __enter__(self) -> Together:
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            self._halt.set()
            with self._change:
                self._change.wait_for(lambda: self._running == 0, timeout=1.0)


_own = threading.local()


def go_on_or_halt() -> None:
    """Raise `Halted` if this thread should stop."""
    halt = getattr(_own, "halt", None)
    if halt is not None and halt.is_set():
        raise Halted


def side_by_side(function: Callable[[Any], Any], pieces: Iterable[Any]) -> list[Any]:
    """Return the results of a function that releases Python's lock, for each piece, in order, using all cores.

    The calling thread also takes pieces, and never waits for a thread that has not started: on a busy machine it does
    all of them itself. The caller must choose pieces that do not depend on the number of cores, or the results would.
    """
    pieces = list(pieces)
    helpers = min(_cores(), len(pieces)) - 1
    if helpers <= 0:
        return [function(piece) for piece in pieces]
    found, left = [None] * len(pieces), collections.deque(range(len(pieces)))

    def work() -> None:
        while True:
            try:
                k = left.popleft()
            except IndexError:
                return
            found[k] = function(pieces[k])

    begun = [_pool().submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        left.clear()
        begun = [future for future in begun if not future.cancel()]
        wait(begun)  # they write to arrays of the caller
    for future in begun:
        future.result()
    return found


def ahead(items: Generator[Any, None, None]) -> Generator[Any, None, None]:
    """Yield the items of an iterator, each computed by a thread while the previous one is in use; errors are re-raised.

    At most one item is computed ahead. The thread ends after the last item, or when the generator is closed.
    """
    made: queue.SimpleQueue = queue.SimpleQueue()
    wanted = threading.Semaphore(1)
    enough = threading.Event()

    def make() -> None:
        try:
            for item in _while_wanted(items, wanted, enough):
                made.put((item, None))
                del item  # or the thread would hold it until the next is there
            made.put((None, StopIteration()))
        except BaseException as error:
            made.put((None, error))

    thread = threading.Thread(target=make, name="adasadmm-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error = made.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            wanted.release()
            yield item
            del item
    finally:
        enough.set()
        wanted.release()
        thread.join()


def _while_wanted(items: Generator, wanted: threading.Semaphore, enough: threading.Event) -> Iterator[Any]:
    """Yield items, each computed only on demand; the generator is closed in any case, and with it its files."""
    with contextlib.closing(items):
        while wanted.acquire() and not enough.is_set():
            try:
                yield next(items)
            except StopIteration:
                return


@functools.cache
def _cores() -> int:
    """Return the number of cores for this process; joblib limits that of its workers by OMP_NUM_THREADS."""
    has = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    told = os.environ.get("OMP_NUM_THREADS", "")
    return min(has, int(told)) if told.isdigit() and int(told) > 0 else has


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), thread_name_prefix="adasadmm")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
