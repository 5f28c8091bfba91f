"""Rounds of Algorithm 1 on rows that lie on the workers of a cluster.

The partitions of a source are dealt to lanes, which work in parallel. In a round each lane continues from the common
point over a share of its rows, one batch after the other as on a single machine; then the lanes are combined into the
next common point:

- w, v, theta and what is linear in them: the mean, weighted by rows;
- the sums of iterates, and t: the common value plus what each lane added;
- the metric's sums of squared gradients: the common value plus what each lane added, divided by L^2 for L lanes. The
  mean of L lanes with T/L steps each moves as far, and with as much noise, as T steps of one machine if its steps are L
  times as long;
- eta="auto": the largest distance that a common point has travelled; a single lane strays further.

A round sends O(d + edges) numbers to a lane and back, however many rows there are. With one lane nothing is combined,
and the run is that of a single machine, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.threads import one_blas_thread
from ...certificates.record import SlopesAt
from ...problem import Problem
from ...rows import products
from ...sources._calls import Memory
from ...sources.blocks import Block
from ..base import NamedState, Solver
from ..work import Batches, Round, Visit, Work
from .run import Course, StochasticRun

# --- are the partitions alike? ---------------------------------------------------------------------------------------

# A lane visits one partition after the other, so the answer leans towards the rows that it visited last, unless each
# partition is a random sample of all rows. Partitions are compared by the gradients of their rows. For a coordinate j
# of the gradients g_i of n rows, the share of their variance that lies between the partitions k is
#
#     sum_k n_k (mean_k g_ij - mean g_ij)^2  /  sum_i (g_ij - mean g_ij)^2,
#
# the correlation ratio of the analysis of variance. It is 1 if all rows of a partition are equal and the partitions
# are not, as for the intercept if rows are sorted by label. For P random samples it is (P - 1) / (n - 1) on average.

# Share from which on partitions differ, beyond chance. On ten data sets, with three losses, 1 to 4 lanes and 2 to 32
# partitions, sorted rows raised the objective by 5 % or more only where it was above 0.2.
DIFFERENT_SHARE = 0.1
FALSE_ALARMS = 1e-3  # upper bound of the probability of a share that large for random samples
MIN_ROWS = 20  # of a partition that is compared: a few rows differ by chance
ROUNDING = 1e-12  # variance relative to the mean square that rounding errors may have made


@np.errstate(over="ignore", invalid="ignore")
def share_between_partitions(problem: Problem, points: Sequence[np.ndarray]) -> float:
    """The largest share over all coordinates of the gradients at these points; 0 if chance may explain it.

    That takes one pass over the rows, which are on workers. Partitions that are short beside the others are left out:
    a column whose only entry is in the only row of a partition would have a share of 1.
    """
    of_partitions = np.array(problem.source.lanes.partition_rows)
    chosen = np.flatnonzero(of_partitions >= max(MIN_ROWS, 0.5 * of_partitions.mean()))
    if len(chosen) < 2:
        return 0.0
    rows, found = of_partitions[chosen], np.zeros((3, len(points), problem.d))
    sums, squares, squared_means = found
    each = problem.each(gradient_sums, problem.loss, points, partitions=chosen.tolist())
    for n, (of_partition, its_squares) in zip(rows, each, strict=True):
        sums += of_partition
        squares += its_squares
        squared_means += of_partition**2 / n
    common = sums**2 / rows.sum()
    variance, between = squares - common, squared_means - common
    share = np.divide(between, variance, out=np.zeros_like(between), where=variance > ROUNDING * squares)
    largest = float(share.max())
    return largest if largest > DIFFERENT_SHARE + _chance(len(chosen), share.size) / rows.sum() else 0.0


def gradient_sums(block: Block, remembered: dict, loss: Any, points: Sequence[np.ndarray]) -> np.ndarray:
    """The sum of the gradients of a block's rows at each point, and that of their squares."""
    found = np.empty((2, len(points), block.X.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):  # a point may be far off
        for k, w in enumerate(points):
            s = SlopesAt(loss, w)(block, remembered) * block.c
            products.transposed_product(block.X, s, found[0, k])
            found[1, k] = products.gram_diagonal(block.X, s * s)
    return found


def _chance(partitions: int, coordinates: int) -> float:
    """The bound of Laurent and Massart (2000) for the largest of some variables with a chi-squared distribution."""
    degrees, rarity = partitions - 1, math.log(coordinates / FALSE_ALARMS)
    return degrees + 2.0 * math.sqrt(degrees * rarity) + 2.0 * rarity


# How each array of a run is combined.
MEANS = ("w", "v", "theta", "slack", "pull", "w_average", "g", "v_before")
SUMS = ("t", "w_sum", "v_sum")
SQUARES = ("metric.squares", "metric.sums")
LARGEST = ("eta",)
COMMON = ("w_first", "theta_first", "travelled", "step.first", "step.travelled", "average.total", "metric.h")
SCRATCH = ("rhs", "move", "Aw", "x", "subgradient.z", "subgradient.s")
FACTORS = ("Q.h", "Q.spent", "Q.factor.D", "Q.factor.L")
KNOWN = {*MEANS, *SUMS, *SQUARES, *LARGEST, *COMMON, *SCRATCH, *FACTORS}
NOT_SENT = (*SCRATCH, "w_first", "theta_first", "travelled", "step.first")

DIFFERENT = (
    "the rows of the workers differ (are they sorted, by label or by time?): {:.0%} of the variance of a gradient lies "
    "between their partitions. The model may be far from the optimum: shuffle the rows before they are partitioned"
)

Sent = dict[str, np.ndarray]


class Rounds(Course):
    """Algorithm 1 in rounds; the run itself is at the common point."""

    def __init__(self, lanes: int) -> None:
        self.lanes, self.memory = lanes, Memory()
        self.shared: Any = None  # the run without its rows, on the workers

    def advance(self, run: StochasticRun, work: Work) -> None:
        """All lanes continue from the common point in parallel, and are combined."""
        assert isinstance(work, Round)
        source = run.problem.source
        if self.shared is None:
            self.shared = source.share(without_rows(run))
        point = sent(run)
        lanes = [lane for lane in work.visits if lane]
        jobs = [([visit.partition for visit in lane], (point, lane, *work[1:])) for lane in lanes]
        ends = list(run.problem.map_partitions(advance_lane, jobs, self.memory, self.shared))
        if len(ends) == 1:
            receive(run, ends[0])
        else:
            share = np.array([sum(visit.last - visit.first for visit in lane) for lane in lanes]) / work.length
            combine(run, ends, share)

    def doubt(self, run: StochasticRun) -> str:
        """Whether partitions differ: in the gradients at 0, where all rows count, or in those at the answer."""
        share = share_between_partitions(run.problem, (np.zeros(run.problem.d), run.answer))
        return DIFFERENT.format(share) if share else ""

    def fork(self, run: StochasticRun, problem: Problem | None) -> StochasticRun:
        fork = super().fork(run, problem)
        del fork.course
        if problem is not None and problem.on_workers:
            fork.course = Rounds(problem.source.lanes.number)
        return fork


def rounds_of(problem: Problem, solver: Solver, needs_one_lane: bool) -> Rounds | None:
    """The course of a run of this solver if the rows lie on workers; else None."""
    if not problem.on_workers:
        return None
    lanes = problem.source.lanes.number
    if lanes > 1 and needs_one_lane:
        raise ValueError(
            f"{solver} cannot run in {lanes} lanes; use AdaSADMM() with a diagonal metric, ADMM(), or lanes=1"
        )
    return Rounds(lanes)


def combine(run: StochasticRun, ends: list[Sent], share: np.ndarray) -> None:
    """Move a run to the next common point, from where the lanes ended."""
    before, now = run.state(), dict(run.arrays())
    assert set(now) <= KNOWN, f"no rule for combining {sorted(set(now) - KNOWN)}"

    def added(name: str) -> Any:
        return sum(end[name] - before[name] for end in ends)

    for name in MEANS:
        now[name][...] = sum(part * end[name] for part, end in zip(share, ends, strict=True))
    for name in SUMS:
        now[name][...] += added(name)
    for name in LARGEST:
        now[name][...] = max(end[name] for end in ends)
    for name in SQUARES:
        if name in now:
            now[name][...] += added(name) / len(ends) ** 2
    # The means of the theorems telescope from the first w and theta, so these take up the difference between the
    # common point and the sum over all lanes.
    now["w_first"] += (now["w"] - before["w"]) - added("w")
    now["theta_first"] += (now["theta"] - before["theta"]) - added("theta")
    if "average.total" in now:
        combine_averages(ends, before, now)


def combine_averages(ends: list[Sent], before: NamedState, now: Sent) -> None:
    """The weighted mean of the iterates of all lanes: each lane's mean holds the common one, which counts once."""
    totals, old = np.array([end["average.total"][0] for end in ends]), np.asarray(before["average.total"])[0]
    repeated = (len(ends) - 1) * old
    total = totals.sum() - repeated
    weighted = sum(of * end["w_average"] for of, end in zip(totals, ends, strict=True))
    now["w_average"][:] = (weighted - repeated * before["w_average"]) / total
    now["average.total"][0] = total


def without_rows(run: StochasticRun) -> StochasticRun:
    """A copy whose course goes straight on, for the workers."""
    light = run.copied()
    light.problem = light.certified = None  # type: ignore[assignment]
    del light.course
    return light


def advance_lane(
    blocks: list[Block], remembered: list[dict], run: StochasticRun, point: Sent, visits: Sequence[Visit], *order: Any
) -> Sent:
    """Visit the rows of a lane, on a worker."""
    run = run.copied()
    receive(run, point)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for block, held, visit in zip(blocks, remembered, visits, strict=True):
            samples = rows_in_order(held, visit, *order)[visit.first : visit.last]
            run.advance(Batches(block, samples, run.batch_size))
    return sent(run)


def sent(run: StochasticRun) -> Sent:
    """The arrays that change in a round, which travel between the common point and the lanes."""
    return {name: array.copy() for name, array in run.arrays() if name not in NOT_SENT}


def receive(run: StochasticRun, point: Sent) -> None:
    for name, array in run.arrays():
        if name in point:
            array[...] = point[name]


def rows_in_order(held: dict, visit: Visit, epoch: int, seed: int, shuffled: bool) -> np.ndarray:
    """The rows of a partition in the order of an epoch, kept until the next; partition 0 has the order of memory."""
    if not shuffled:
        return np.arange(visit.rows)
    drawn, rng, order = held.get("order", (-1, None, None))
    if drawn > epoch or rng is None:
        drawn, rng = -1, np.random.default_rng([seed, visit.partition])
    while drawn < epoch:
        drawn, order = drawn + 1, rng.permutation(visit.rows)
    held["order"] = drawn, rng, order
    return order
