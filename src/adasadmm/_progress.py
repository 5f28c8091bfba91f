"""A progress bar for a run: epochs in memory; rows, rows per second and the progressive loss from a source."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from . import losses
from .linalg import products
from .solvers import Batches, Run, Work

__all__ = ["Progress"]

_EPOCHS = "{l_bar}{bar}| {n:.2f}/{total:.2f} epochs [{elapsed}<{remaining}{postfix}]"
_ROWS = "{l_bar}{bar}| {n_fmt}/{total_fmt} rows [{elapsed}<{remaining}, {rate_fmt}{postfix}]"


class Progress:
    """A bar that follows a run; from a source it shows the progressive loss, that of each block before it is used."""

    def __init__(self, run: Run, done: int, epochs: float, show: bool) -> None:
        self.run, self.begin = run, done
        an_epoch = 1 if run.solver.uses_all_rows else run.problem.n
        self.by_rows = show and run.problem.source is not None and not run.solver.uses_all_rows
        self.unit = 1 if self.by_rows else an_epoch  # of `run.done`, for one unit of the bar
        self.loss, self.rows = 0.0, 0
        self.bar: Any = None  # tqdm takes a lock shared by all processes even for a hidden bar
        if show:
            self.bar = tqdm(
                total=epochs * an_epoch / self.unit,
                initial=(run.done - done) / self.unit,
                unit=" rows" if self.by_rows else "epoch",
                unit_scale=self.by_rows,
                bar_format=_ROWS if self.by_rows else _EPOCHS,
            )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def before(self, work: Work) -> None:
        """A piece of work that the run has not seen yet."""
        if self.by_rows and isinstance(work, Batches):
            block = work.block
            z = np.empty(len(block.y))
            products.product(block.X, self.run.point.w, z)
            loss = float(losses.mean_value(self.run.problem.loss, z, block.y, block.c))
            self.loss += len(z) * loss
            self.rows += len(z)
            self.bar.set_postfix_str(f"loss so far {self.loss / self.rows:.6g}", refresh=False)

    def after(self) -> None:
        """The run has advanced."""
        if self.bar is not None:
            self.bar.update((self.run.done - self.begin) / self.unit - self.bar.n)

    def show(self, objective: float) -> None:
        if self.bar is not None and math.isfinite(objective):
            self.bar.set_postfix_str(f"objective {objective:.6g}", refresh=False)
            self.bar.update(0)
