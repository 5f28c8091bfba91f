"""The way of a run: rows in their order, cut where the run is looked at.

A leg leads from one look to the next. It visits blocks, of which there is one in memory and many in a source, and says
of each which rows come in which order; for the solvers over all rows it is a number of iterations, and for rows that
are spread over workers it is rounds.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .problem import Block
from .solvers.rounds import Round
from .solvers.stochastic import StochasticRun

__all__ = ["Leg", "after", "of_epochs", "of_source", "orders", "pieces"]

Leg = Iterable[tuple[Block | None, Any]]


def orders(n: int, epochs: float, order: str, seed: int, samples: Any) -> Iterator[np.ndarray]:
    """The rows of each epoch, drawn in Python so that any other implementation can be given the same."""
    if samples is not None:
        chosen = np.asarray(samples).reshape(-1)
        if chosen.size and chosen.dtype.kind not in "iu":
            raise ValueError(f"samples must be numbers of rows, whole numbers, got {chosen[0]!r}")
        chosen = np.ascontiguousarray(chosen, dtype=np.int64)
        if chosen.size and not (0 <= chosen.min() and chosen.max() < n):
            raise ValueError(f"samples must lie between 0 and {n - 1}, got {chosen.min()} to {chosen.max()}")
        yield chosen
        return
    rng = np.random.default_rng(seed)
    draw: Any = {
        "permute": lambda: rng.permutation(n),
        "replace": lambda: rng.integers(n, size=n),
        "given": lambda: np.arange(n),
    }[order]
    left = round(epochs * n)
    while left > 0:
        yield draw()[:left]
        left -= n


def pieces(orders: Iterator[np.ndarray], every: float, batch_size: int) -> Iterator[np.ndarray]:
    """Whole batches up to each point of the trace."""
    visits, mark = 0, every
    for order in orders:
        first = 0
        while first < len(order):
            batches = max(1, math.ceil((mark - visits) / batch_size - 1e-9))
            last = min(first + batches * batch_size, len(order))
            yield order[first:last]
            visits += last - first
            first = last
            while mark <= visits:
                mark += every


def of_epochs(rows: Block, orders: Iterator[np.ndarray], every: int) -> Iterator[Leg]:
    """Several whole epochs between two looks at the run, each drawn when it comes."""
    for first in orders:
        yield ((rows, order) for order in itertools.chain([first], itertools.islice(orders, every - 1)))


def of_source(run: StochasticRun, epochs: float, order: str, seed: int, every: int) -> Iterator[Leg]:
    """Epochs between two looks at the run, each of which is a pass over the source itself."""
    total = math.ceil(epochs)
    for first in range(0, total, every):
        many = range(first, min(first + every, total))
        yield (visit for epoch in many for visit in _epoch(run, epoch, epochs - epoch, order, seed))


def _epoch(run: StochasticRun, epoch: int, part: float, order: str, seed: int) -> Leg:
    """The blocks of one epoch, or of a part of it, in an order drawn from the seed and the epoch; so are their rows."""
    problem, rng = run.problem, np.random.default_rng([seed, epoch])
    parts = rng.permutation(len(problem.source)) if order == "permute" else range(len(problem.source))
    left = round(min(part, 1.0) * problem.n)
    with contextlib.closing(problem.source.pieces(parts)) as pieces:
        while left > 0:
            start = time.perf_counter()
            piece = next(pieces, None)
            run.seconds += time.perf_counter() - start  # waiting for rows is a part of the run
            if piece is None:
                return
            block = problem.block_of(piece)
            n = len(block.y)
            yield block, (rng.permutation(n) if order == "permute" else np.arange(n))[:left]
            left -= n


def after(legs: Iterable[Leg], done: int) -> Iterator[Leg]:
    """What is left of the legs after so many rows, or iterations, of them."""
    for leg in legs:
        if done > 0:
            leg, done = _rest(leg, done)
        if leg:
            yield leg


def _rest(leg: Leg, done: int) -> tuple[Leg, int]:
    """The rest of a leg, and how many rows, or iterations, lie behind it."""
    visits = iter(leg)
    for block, piece in visits:
        length = piece if isinstance(piece, int) else piece.length if isinstance(piece, Round) else len(piece)
        if done == 0:
            return itertools.chain([(block, piece)], visits), 0
        if done < length:
            return itertools.chain([(block, piece - done if isinstance(piece, int) else piece[done:])], visits), 0
        done -= length
    return (), done
