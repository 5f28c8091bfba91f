"""A call with a time limit, in a separate process: not every solver checks the clock during its setup."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from typing import Any


def in_time(function: Callable[..., Any], *args: Any, limit: float) -> tuple[Any, float]:
    """The result of a function and its seconds, in a separate process; None and the limit if it took longer."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def call() -> None:
        start = time.perf_counter()
        found = function(*args)
        there.send((found, time.perf_counter() - start))

    process = context.Process(target=call, daemon=True)
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(limit) else (None, limit)
    except EOFError:  # it died, for want of memory
        return None, limit
    finally:
        process.kill()
        process.join()
