"""A progress bar for a run: epochs in memory; rows, rows per second and the progressive loss from a source."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .. import losses
from ..rows import products
from ..solvers import Batches, Run, Work

__all__ = ["Progress", "ProgressiveLoss", "SearchProgress"]

_EPOCHS = "{l_bar}{bar}| {n:.2f}/{total:.2f} epochs [{elapsed}<{remaining}{postfix}]"
_SEARCH = "{desc} |{bar}| {n}/{total} fits [{elapsed}<{remaining}]"
_ROWS = "{l_bar}{bar}| {n_fmt}/{total_fmt} rows [{elapsed}<{remaining}, {rate_fmt}{postfix}]"


class ProgressiveLoss:
    """The progressive loss: the mean loss of each piece of the first pass before the run uses it.

    The rows of a source are predicted by the answer that the run would give at that moment. Unlike the loss after the
    pass, this estimates the loss of new rows; it includes that of the poor models at the beginning.
    """

    def __init__(self, run: Run, first: int) -> None:
        self.run, self.first, self.total, self.rows = run, first, 0.0, 0
        self.needed = run.problem.source is not None and not run.solver.uses_all_rows

    def before(self, work: Work) -> None:
        """Predict the rows of a piece of work, if it belongs to the first pass and nothing before it is missing."""
        known = self.rows == self.run.done - self.first < self.run.problem.terms
        if not (self.needed and known and isinstance(work, Batches)):
            return
        block, rows = work.block, work.samples
        products.product(block.X, self.run.answer, z := np.empty(len(block.y)))
        at = losses.entries(self.run.problem.loss, rows)
        loss = float(losses.mean_value(self.run.problem.loss, z[at], block.y[at], block.c[at]))
        self.total += len(rows) * loss
        self.rows += len(rows)

    @property
    def value(self) -> float | None:
        """The mean over the first pass; None for rows in memory, and if the run was resumed within that pass."""
        whole = self.rows == min(self.run.done - self.first, self.run.problem.terms)
        return self.total / self.rows if self.rows and whole else None


class Progress:
    """A bar that follows a run; from a source it shows the progressive loss, that of each block before it is used."""

    def __init__(self, run: Run, done: int, epochs: float, show: bool) -> None:
        self.run, self.begin = run, done
        an_epoch = 1 if run.solver.uses_all_rows else run.problem.terms
        self.by_rows = show and run.problem.source is not None and not run.solver.uses_all_rows
        self.unit = 1 if self.by_rows else an_epoch  # of `run.done`, for one unit of the bar
        self.progressive = ProgressiveLoss(run, done)
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
        self.progressive.before(work)
        if self.by_rows and self.progressive.rows:
            loss = self.progressive.total / self.progressive.rows
            self.bar.set_postfix_str(f"progressive loss {loss:.6g}", refresh=False)

    def after(self) -> None:
        """The run has advanced."""
        if self.bar is not None:
            self.bar.update((self.run.done - self.begin) / self.unit - self.bar.n)

    def show(self, objective: float) -> None:
        if self.bar is not None and math.isfinite(objective):
            self.bar.set_postfix_str(f"objective {objective:.6g}", refresh=False)
            self.bar.update(0)


class SearchProgress:
    """One bar for a search over folds and strengths; it says which was fitted last, and its gap."""

    def __init__(self, folds: int, alphas: int, total: int, show: bool) -> None:
        self.folds, self.alphas = folds, alphas
        self.bar: Any = tqdm(total=total, bar_format=_SEARCH) if show else None

    def __enter__(self) -> SearchProgress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def after(self, fold: int, alpha: int, gap: float) -> None:
        """A fit is done; ``fold`` counts from 0, ``alpha`` from 1."""
        if self.bar is not None:
            label = f"fold {fold + 1}/{self.folds}, alpha {alpha}/{self.alphas}, gap {gap:.0e}"
            self.bar.set_description_str(label, refresh=False)
            self.bar.update(1)
