"""Schedules: which rows a run visits when, cut where the trace gets a point.

A schedule is a sequence of segments. A segment leads from one point of the trace to the next and is itself a sequence
of pieces of work (`solvers.work`): rows of a block, iterations over all rows, or rounds on workers.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import losses
from ..solvers import Batches, Iterations, Round, Run, Work
from ..solvers.work import Visit

__all__ = ["Plan", "Segment", "after", "schedule"]

Segment = Iterable[Work]
FIRST_PIECE = 1000  # rows of a source before the first evaluation of the progressive loss with a fitted model


class Plan(NamedTuple):
    """The arguments of `solve` that determine the order of the rows."""

    epochs: float
    order: str
    seed: int
    samples: npt.ArrayLike | None
    trace_every: float


def schedule(run: Run, plan: Plan) -> tuple[Iterator[Segment], float]:
    """The segments of a run, and their length in epochs."""
    if run.solver.uses_all_rows:
        return _iterations(run, plan), float(math.ceil(plan.epochs))
    if run.problem.on_workers:
        return _rounds(run, plan), plan.epochs
    if run.problem.source is not None:
        return _passes(run, plan), plan.epochs
    length = plan.epochs if plan.samples is None else np.size(plan.samples) / run.problem.terms
    return _visits(run, plan), length


def _iterations(run: Run, plan: Plan) -> Iterator[Segment]:
    most = math.ceil(plan.epochs)
    every = round(plan.trace_every) if plan.trace_every >= 1.0 else run.solver.trace_iterations
    return ([Iterations(min(every, most - first))] for first in range(0, most, every))


# --- rows in memory --------------------------------------------------------------------------------------------------


def _visits(run: Run, plan: Plan) -> Iterator[Segment]:
    block, size = run.problem.rows, run.batch_size
    drawn = orders(run.problem.terms, plan)
    if plan.samples is None and plan.trace_every > 1.0:
        every = math.ceil(plan.trace_every)
        for first in drawn:  # whole epochs, each drawn when it comes
            epochs = itertools.chain([first], itertools.islice(drawn, every - 1))
            yield (Batches(block, order, size) for order in epochs)
    else:
        for piece in pieces(drawn, plan.trace_every * run.problem.terms, size):
            yield [Batches(block, piece, size)]


def orders(n: int, plan: Plan) -> Iterator[np.ndarray]:
    """The rows of each epoch, drawn in Python so that another implementation can be given the same."""
    if plan.samples is not None:
        yield _chosen(n, plan.samples)
        return
    rng = np.random.default_rng(plan.seed)
    left = round(plan.epochs * n)
    while left > 0:
        if plan.order == "permute":
            drawn = rng.permutation(n)
        else:
            drawn = rng.integers(n, size=n) if plan.order == "replace" else np.arange(n)
        yield drawn[:left]
        left -= n


def _chosen(n: int, samples: npt.ArrayLike) -> np.ndarray:
    chosen = np.asarray(samples).reshape(-1)
    if chosen.size and chosen.dtype.kind not in "iu":
        raise ValueError(f"samples must be numbers of rows, whole numbers, got {chosen[0]!r}")
    chosen = np.ascontiguousarray(chosen, dtype=np.int64)
    if chosen.size and not (0 <= chosen.min() and chosen.max() < n):
        raise ValueError(f"samples must lie between 0 and {n - 1}, got {chosen.min()} to {chosen.max()}")
    return chosen


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


# --- rows from a source ----------------------------------------------------------------------------------------------


def _passes(run: Run, plan: Plan) -> Iterator[Segment]:
    """Whole epochs between two points of the trace; each epoch is a pass over the source."""
    total, every = math.ceil(plan.epochs), math.ceil(plan.trace_every)
    for first in range(0, total, every):
        epochs = range(first, min(first + every, total))
        yield (work for epoch in epochs for work in _epoch(run, plan, epoch))


def _epoch(run: Run, plan: Plan, epoch: int) -> Segment:
    """The blocks of an epoch, or of a part of one; seed and epoch determine the order of partitions and of rows."""
    problem, rng, shuffled = run.problem, np.random.default_rng([plan.seed, epoch]), plan.order == "permute"
    partitions: Sequence[int] | np.ndarray = range(len(problem.source))
    if shuffled:
        partitions = rng.permutation(len(problem.source))
    left, visited = round(min(plan.epochs - epoch, 1.0) * problem.terms), 0
    with contextlib.closing(problem.source.raw_blocks(partitions)) as blocks:
        while left > 0:
            start = time.perf_counter()
            piece = next(blocks, None)
            run.seconds += time.perf_counter() - start  # waiting for rows is a part of the run
            if piece is None:
                return
            block = problem.block_of(piece)
            n = len(block.y) // losses.width(problem.loss)
            order = (rng.permutation(n) if shuffled else np.arange(n))[:left]
            for first, last in _pieces_of_block(len(order), problem.terms * epoch + visited, run.batch_size):
                yield Batches(block, order[first:last], run.batch_size)
            left -= n
            visited += n


def _pieces_of_block(rows: int, visited: int, batch_size: int) -> Iterator[tuple[int, int]]:
    """Whole batches, each piece as long as all before it: the progressive loss is evaluated before each piece."""
    first = 0
    while first < rows:
        length = -(-max(FIRST_PIECE, visited + first) // batch_size) * batch_size
        yield first, min(first + length, rows)
        first += length


# --- rows on workers -------------------------------------------------------------------------------------------------


def _rounds(run: Run, plan: Plan) -> Iterator[Segment]:
    an_epoch = run.problem.source.lanes.rounds
    total, every = math.ceil(plan.epochs * an_epoch), math.ceil(plan.trace_every) * an_epoch
    for first in range(0, total, every):
        yield [_round(run, plan, *divmod(number, an_epoch)) for number in range(first, min(first + every, total))]


def _round(run: Run, plan: Plan, epoch: int, place: int) -> Round:
    """The rows of each lane: those of its partitions one after the other, cut into equal rounds."""
    count, an_epoch, partition_rows = run.problem.source.lanes
    shuffled, visits = plan.order == "permute", []
    for lane in range(count):
        partitions = np.arange(lane, len(partition_rows), count)
        if shuffled:
            partitions = np.random.default_rng([plan.seed, epoch, lane]).permutation(partitions)
        rows = sum(partition_rows[partition] for partition in partitions)
        begin, end = (rows * cut // an_epoch for cut in (place, place + 1))
        visits.append(tuple(_cut(partitions.tolist(), partition_rows, begin, end, run.batch_size)))
    return Round(tuple(visits), epoch, plan.seed, shuffled)


def _cut(
    partitions: list[int], partition_rows: Sequence[int], begin: int, end: int, batch_size: int
) -> Iterator[Visit]:
    """The rows between two places in a sequence of partitions; only whole batches are cut off."""
    for partition in partitions:
        rows = partition_rows[partition]
        first, last = (rows if at >= rows else max(at, 0) // batch_size * batch_size for at in (begin, end))
        if first < last:
            yield Visit(partition, rows, first, last)
        begin, end = begin - rows, end - rows


# --- resuming --------------------------------------------------------------------------------------------------------


def after(segments: Iterable[Segment], done: int) -> Iterator[Segment]:
    """Return the rest of a schedule after some rows, or iterations."""
    for segment in segments:
        if done > 0:
            segment, done = _remaining(segment, done)
        if segment:
            yield segment


def _remaining(segment: Segment, done: int) -> tuple[Segment, int]:
    """Return the rest of a segment, and the number of rows, or iterations, beyond its end."""
    rest = iter(segment)
    for work in rest:
        if done < work.length or done == 0:
            return itertools.chain([work.after(done)], rest), 0
        done -= work.length
    return (), done
