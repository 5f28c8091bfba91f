"""Rows that are read block by block, and functions of their blocks; what a block is, `matrices` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["After", "Rider", "Streamed"]

BlockCall = Callable[[Callable[..., Any], list[tuple]], Iterator[Any]]


class Streamed:
    """Rows in blocks that are not in memory here. A product calls a function for each block, where it is: a pass.

    Parameters
    ----------
    call : callable
        ``call(function, work)`` returns an iterator over ``function(block, *work[k])`` for each block k, in order.
    slices : list of slice
        The rows that each block holds.
    columns : int
    """

    def __init__(self, call: BlockCall, slices: list[slice], columns: int) -> None:
        self.call, self.slices, self.shape = call, slices, (slices[-1].stop, columns)
        self.passes = 0
        self.rider: Rider | None = None

    def each(self, function: Callable[..., Any], *vectors: np.ndarray) -> Iterator[tuple[slice, Any]]:
        """``function(block, *parts)`` for each block, with the parts of these vectors that belong to its rows."""
        self.passes += 1
        rider, self.rider = self.rider, None
        if rider is None:
            yield from zip(self.slices, self.call(function, self._work(vectors)), strict=True)
            return
        both, work = Both(function, rider.function, len(rider.vectors)), self._work((*vectors, *rider.vectors))
        for rows, (of_function, of_rider) in zip(self.slices, self.call(both, work), strict=True):
            rider.receive(of_rider)
            yield rows, of_function
        rider.is_done = True

    def _work(self, vectors: tuple[np.ndarray, ...]) -> list[tuple[np.ndarray, ...]]:
        return [tuple(vector[rows] for vector in vectors) for rows in self.slices]

    def mapped(self, change: Callable[[Any], Any], columns: int) -> Streamed:
        """The rows that a function makes of each block."""
        return Streamed(lambda function, work: self.call(After(change, function), work), self.slices, columns)


@dataclass(frozen=True)
class After:
    """Calls a function of a block that is changed first."""

    change: Callable[[Any], Any]
    function: Callable[..., Any]

    def __call__(self, block: Any, *parts: np.ndarray) -> Any:
        return self.function(self.change(block), *parts)


@dataclass
class Rider:
    """A second function that the next pass calls for each block, and what receives its results, block by block."""

    function: Callable[..., Any]
    vectors: tuple[np.ndarray, ...]
    receive: Callable[[Any], object]
    is_done: bool = False  # whether a whole pass was made


@dataclass(frozen=True)
class Both:
    """Calls two functions of a block, the second one with the last ``parts`` of the parts."""

    function: Callable[..., Any]
    second: Callable[..., Any]
    parts: int

    def __call__(self, block: Any, *parts: np.ndarray) -> tuple[Any, Any]:
        own = len(parts) - self.parts
        return self.function(block, *parts[:own]), self.second(block, *parts[own:])
