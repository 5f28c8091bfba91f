"""Pieces of work: what a run does between two returns to `solve`.

A solver that visits rows gets `Batches`; one that uses all rows in every iteration gets `Iterations`; a stochastic
solver whose rows lie on the workers of a cluster gets `Round`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..rows.matrices import plain
from ..rows.selections import taken
from ..sources.blocks import Block

__all__ = ["Batches", "Iterations", "Round", "Visit", "Work", "halves"]


class Batches(NamedTuple):
    """Rows of a block in the order of ``samples``; each iteration takes the next ``batch_size`` of them.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import L1, Problem, Squared
    >>> from adasadmm.solvers import Batches
    >>> problem = Problem(np.eye(3), [1.0, 2.0, 3.0], loss=Squared(), penalty=L1(0.1), A=[[1.0, -1.0, 0.0]])
    >>> work = Batches(problem.rows, np.array([2, 0, 1]), batch_size=2)
    >>> work.y, work.iterations
    (array([3., 1., 2.]), 2)
    """

    block: Block
    samples: np.ndarray
    batch_size: int = 1

    @property
    def X(self) -> np.ndarray | sp.csr_array:
        """The rows to visit, in order, as NumPy or SciPy know them; a copy. Compiled code reads ``block`` instead."""
        return plain(taken(self.block.X, self.samples))

    @property
    def y(self) -> np.ndarray:
        return self.block.y[self.samples]

    @property
    def weights(self) -> np.ndarray:
        """The sample weights of the rows, of mean 1 over all rows of the problem."""
        return self.block.c[self.samples]

    @property
    def length(self) -> int:
        """How many rows are visited."""
        return len(self.samples)

    @property
    def iterations(self) -> int:
        return -(-len(self.samples) // self.batch_size)

    def split(self, iterations: int) -> tuple[Batches, Batches]:
        """The first iterations, and the others."""
        rows = iterations * self.batch_size
        return self._replace(samples=self.samples[:rows]), self._replace(samples=self.samples[rows:])

    def after(self, done: int) -> Batches:
        """This work without its first ``done`` rows."""
        return self._replace(samples=self.samples[done:])


class Iterations(NamedTuple):
    """Iterations that use all rows of the problem.

    Examples
    --------
    >>> from adasadmm.solvers import Iterations
    >>> Iterations(5).split(2)
    (Iterations(number=2), Iterations(number=3))
    """

    number: int

    @property
    def length(self) -> int:
        return self.number

    @property
    def iterations(self) -> int:
        return self.number

    def split(self, iterations: int) -> tuple[Iterations, Iterations]:
        return Iterations(min(iterations, self.number)), Iterations(max(0, self.number - iterations))

    def after(self, done: int) -> Iterations:
        return Iterations(self.number - done)


class Visit(NamedTuple):
    """Some rows of a partition: from one place in its order to another."""

    partition: int
    rows: int
    first: int
    last: int


class Round(NamedTuple):
    """The rows that each lane visits before the lanes are averaged, and what determines their order.

    Examples
    --------
    >>> from adasadmm.solvers import Round
    >>> from adasadmm.solvers.work import Visit
    >>> two_lanes = (Visit(partition=0, rows=100, first=0, last=50),), (Visit(partition=1, rows=80, first=0, last=50),)
    >>> Round(two_lanes, epoch=0, seed=0, shuffled=True).length
    100
    """

    visits: tuple[tuple[Visit, ...], ...]
    epoch: int
    seed: int
    shuffled: bool

    @property
    def length(self) -> int:
        return sum(visit.last - visit.first for lane in self.visits for visit in lane)

    @property
    def iterations(self) -> int:
        return 1  # a round is never cut

    def split(self, iterations: int) -> tuple[Round, Round]:
        return self, self._replace(visits=())

    def after(self, done: int) -> Round:
        return self if done == 0 else self._replace(visits=())


Work = Batches | Iterations | Round


def halves(work: Work) -> tuple[Work, ...]:
    """The work in two pieces; none if it is a single iteration."""
    return work.split(work.iterations // 2) if work.iterations > 1 else ()
