"""Rounds of Algorithm 1 on rows that are spread over workers.

The parts of a source go into lanes, which work side by side. In a round each lane goes on from the common point over a
share of its rows, one after the other as on a single machine; then the ends of the lanes become the next common point:

- w, v, theta and what is linear in them: the mean, by rows;
- the sums of iterates, and t: the sum of what each lane added;
- the metric's sums of squared gradients: the sum of what each lane added, over L^2 for L lanes. The mean of L lanes
  that each do T/L steps moves as far, and with as much noise, as T steps of one machine, if steps are L times as long;
- eta="auto": the largest distance that a common point has travelled; a lane by itself strays further.

A round sends O(d + edges) numbers to a lane and back, however many rows there are. With one lane nothing is combined,
and the run is that of a single machine, bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import metrics
from .._core.threads import one_blas_thread
from ..algorithm import Method
from ..averages import StepWeighted
from ..problem import Block, Problem
from ..sources._base import Memory
from ..stepsizes import Auto
from . import parts
from ._records import AdaSADMM
from .stochastic import StochasticRun

__all__ = ["Round", "RoundsRun", "rounds"]

MEANS = ("w", "v", "theta", "slack", "pull", "w_average", "g")  # fields of the state
SUMS = ("t", "w_sum", "v_sum")


class Visit(NamedTuple):
    """Some rows of a part: from one place in its order to another."""

    part: int
    rows: int
    first: int
    last: int


class Round(NamedTuple):
    """The rows of each lane in one round, and what their order depends on."""

    visits: tuple[tuple[Visit, ...], ...]
    epoch: int
    seed: int
    shuffled: bool

    @property
    def length(self) -> int:
        return sum(visit.last - visit.first for lane in self.visits for visit in lane)


class RoundsRun(StochasticRun):
    """Algorithm 1 in rounds; the state is the common point."""

    def __init__(self, problem: Problem, solver: Any, w: np.ndarray, v: np.ndarray, theta: np.ndarray) -> None:
        lanes = problem.source.lanes.number
        if lanes > 1 and not (isinstance(solver, AdaSADMM) and parts.is_diagonal(solver)):
            raise ValueError(
                f"{solver} cannot run in {lanes} lanes; use AdaSADMM() with a diagonal metric, ADMM(), or lanes=1"
            )
        super().__init__(problem, solver, w, v, theta)
        self.memory = Memory()
        self.shared: Any = None

    def _parts(self, w: np.ndarray) -> tuple[int, Method]:
        """The batch size "auto" counts the iterations of a lane, not of all of them."""
        batch_size, method = super()._parts(w)
        auto = getattr(self.solver, "batch_size", 1) == "auto"
        return max(1, batch_size // self.problem.source.lanes.number) if auto else batch_size, method

    def advance(self, round: Any) -> None:
        """All lanes go on from here, side by side, and meet again."""
        start, seconds = time.perf_counter(), self.seconds
        if self.shared is None:
            light = self.copied()
            light.problem = light.block = light.certified = light.memory = None  # type: ignore
            self.shared = self.problem.source.share(light)
        point = packed(self)
        lanes = [lane for lane in round.visits if lane]
        work = [([visit.part for visit in lane], (point, lane, *round[1:])) for lane in lanes]
        ends = list(self.problem.at(advance_lane, work, self.memory, self.shared))
        if len(ends) == 1:
            unpack(self, ends[0])
        else:
            share = np.array([sum(visit.last - visit.first for visit in lane) for lane in lanes]) / round.length
            self._meet([self._at(end) for end in ends], share)
        self.seconds = seconds + time.perf_counter() - start

    def _at(self, point: Any) -> StochasticRun:
        other = self.copied()
        unpack(other, point)
        return other

    def _meet(self, lanes: list[Any], share: np.ndarray) -> None:
        """Where lanes have come to from here becomes the next common point."""
        state, before = self.state, self.copied()
        for name in MEANS:
            getattr(state, name)[:] = sum(
                part * getattr(lane.state, name) for part, lane in zip(share, lanes, strict=True)
            )
        for name in SUMS:
            getattr(state, name)[:] += sum(getattr(lane.state, name) - getattr(before.state, name) for lane in lanes)
        state.eta[0] = max(lane.eta for lane in lanes)
        self.v_before[:] = sum(part * lane.v_before for part, lane in zip(share, lanes, strict=True))
        # The means of the theorems telescope from the first w and theta; these move, that the sums over all lanes do.
        for first, now, was, ends in (
            (self.w_first, state.w, before.state.w, [lane.state.w for lane in lanes]),
            (self.theta_first, state.theta, before.state.theta, [lane.state.theta for lane in lanes]),
        ):
            first += (now - was) - sum(end - was for end in ends)
        H, average = self.method.metric, self.method.average
        if isinstance(H, metrics.DiagonalState):
            was = before.method.metric.squares
            H.squares[:] += sum(lane.method.metric.squares - was for lane in lanes) / len(lanes) ** 2
        if isinstance(average, StepWeighted):
            totals = np.array([lane.method.average.total[0] for lane in lanes])
            old, total = average.total[0], totals.sum() - (len(lanes) - 1) * average.total[0]
            weighted = sum(of * lane.state.w_average for of, lane in zip(totals, lanes, strict=True))
            state.w_average[:] = (weighted - (len(lanes) - 1) * old * before.state.w_average) / total
            average.total[0] = total
        self.visits += sum(lane.visits - before.visits for lane in lanes)

    def slices(self, round: Any) -> Iterator[Any]:
        yield round

    def halves(self, round: Any) -> list:
        return []  # a run that diverges stands at its last common point


def rounds(run: RoundsRun, epochs: float, order: str, seed: int, every: int) -> Iterator[list[tuple[None, Round]]]:
    """The way of a run: its rounds, cut every so many epochs."""
    an_epoch, shuffled = run.problem.source.lanes.rounds, order == "permute"
    total = math.ceil(epochs * an_epoch)
    for first in range(0, total, every * an_epoch):
        numbers = range(first, min(first + every * an_epoch, total))
        places = (divmod(number, an_epoch) for number in numbers)
        yield [(None, _round(run, epoch, place, seed, shuffled)) for epoch, place in places]


def _round(run: RoundsRun, epoch: int, place: int, seed: int, shuffled: bool) -> Round:
    """The rows of each lane, which are those of its parts one after the other, cut into equal rounds."""
    count, an_epoch, part_rows = run.problem.source.lanes
    visits = []
    for lane in range(count):
        parts = np.arange(lane, len(part_rows), count)
        if shuffled:
            parts = np.random.default_rng([seed, epoch, lane]).permutation(parts)
        rows = sum(part_rows[part] for part in parts)
        begin, end = (rows * cut // an_epoch for cut in (place, place + 1))
        visits.append(tuple(_cut(parts.tolist(), part_rows, begin, end, run.batch_size)))
    return Round(tuple(visits), epoch, seed, shuffled)


def _cut(parts: list[int], part_rows: Sequence[int], begin: int, end: int, batch_size: int) -> Iterator[Visit]:
    """What lies between two places in a row of parts; only whole batches are cut off."""
    for part in parts:
        rows = part_rows[part]
        first, last = (rows if at >= rows else max(at, 0) // batch_size * batch_size for at in (begin, end))
        if first < last:
            yield Visit(part, rows, first, last)
        begin, end = begin - rows, end - rows


def advance_lane(
    blocks: list[Block], remembered: list[dict], run: Any, point: Any, visits: Sequence[Visit], *order: Any
) -> Any:
    """Go over the rows of a lane, on a worker."""
    run = run.copied()
    unpack(run, point)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for block, held, visit in zip(blocks, remembered, visits, strict=True):
            run.take(block)
            StochasticRun.advance(run, rows_in_order(held, visit, *order)[visit.first : visit.last])
    return packed(run)


def packed(run: StochasticRun) -> tuple[list[np.ndarray], int]:
    """What changes in a round, and so is sent."""
    return [array.copy() for array in _changing(run)], run.visits


def unpack(run: StochasticRun, point: tuple[list[np.ndarray], int]) -> None:
    arrays, run.visits = point
    for array, sent in zip(_changing(run), arrays, strict=True):
        array[...] = sent


def _changing(run: StochasticRun) -> list[np.ndarray]:
    state = run.state
    fixed = [run.w_first, run.theta_first, state.rhs, state.move, state.Aw, state.x]  # or scratch
    if isinstance(run.method.step, Auto):
        fixed.append(run.method.step.first)
    return [array for array in run._arrays() if all(array is not other for other in fixed)]


def rows_in_order(held: dict, visit: Visit, epoch: int, seed: int, shuffled: bool) -> np.ndarray:
    """The rows of a part in the order of an epoch, which is kept until the next; part 0 has that of rows in memory."""
    if not shuffled:
        return np.arange(visit.rows)
    drawn, rng, order = held.get("order", (-1, None, None))
    if drawn > epoch or rng is None:
        drawn, rng = -1, np.random.default_rng([seed, visit.part])
    while drawn < epoch:
        drawn, order = drawn + 1, rng.permutation(visit.rows)
    held["order"] = drawn, rng, order
    return order
