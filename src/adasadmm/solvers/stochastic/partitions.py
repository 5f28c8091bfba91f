"""Whether the partitions of rows on workers are alike, as a stochastic solver needs them to be.

A lane visits one partition after the other, so the answer leans towards the rows that it visited last, unless each
partition is a random sample of all rows. Partitions are compared by the gradients of their rows. For a coordinate j of
the gradients g_i of n rows, the share of their variance that lies between the partitions k is

    sum_k n_k (mean_k g_ij - mean g_ij)^2  /  sum_i (g_ij - mean g_ij)^2,

the correlation ratio of the analysis of variance. It is 1 if all rows of a partition are equal and the partitions are
not, as for the intercept if rows are sorted by label. For P random samples it is (P - 1) / (n - 1) on average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...certificates.record import SlopesAt
from ...problem import Problem
from ...rows import products
from ...sources.blocks import Block

__all__ = ["gradient_sums", "share_between_partitions"]

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
