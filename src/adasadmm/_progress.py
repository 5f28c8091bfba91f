"""A bar on the way: of epochs in memory; of rows, rows a second and the loss so far from a source."""

from __future__ import annotations

from typing import Any

import numpy as np
from tqdm.auto import tqdm

from . import losses
from .linalg import products
from .problem import Block

__all__ = ["Progress"]

_EPOCHS = "{l_bar}{bar}| {n:.2f}/{total:.2f} epochs [{elapsed}<{remaining}{postfix}]"
_ROWS = "{l_bar}{bar}| {n_fmt}/{total_fmt} rows [{elapsed}<{remaining}, {rate_fmt}{postfix}]"


class Progress:
    """A bar that follows a run; of a source it tells the progressive loss: of each block before it is learnt from."""

    def __init__(self, run: Any, begin: float, epochs: float, show: bool) -> None:
        self.run, self.begin = run, begin
        self.by_rows = show and run.problem.source is not None and hasattr(run, "visits")
        self.unit = run.problem.n if self.by_rows else 1
        self.loss, self.rows = 0.0, 0
        self.bar: Any = None  # tqdm takes a lock of all processes even for a bar that is hidden
        if show:
            self.bar = tqdm(
                total=epochs * self.unit,
                initial=(run.epoch - begin) * self.unit,
                unit=" rows" if self.by_rows else "epoch",
                unit_scale=self.by_rows,
                bar_format=_ROWS if self.by_rows else _EPOCHS,
            )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def before(self, block: Block | None) -> None:
        """A block that nothing was learnt from yet."""
        if self.by_rows and block is not None:
            z = np.empty(len(block.y))
            products.product(block.X, self.run.state.w, z)
            loss = float(losses.mean_value(self.run.problem.loss, z, block.y, block.c))
            self.loss += len(z) * loss
            self.rows += len(z)
            self.bar.set_postfix_str(f"loss so far {self.loss / self.rows:.6g}", refresh=False)

    def after(self) -> None:
        """The run has gone on."""
        if self.bar is not None:
            self.bar.update((self.run.epoch - self.begin) * self.unit - self.bar.n)

    def tell(self, objective: float) -> None:
        if self.bar is not None:
            self.bar.set_postfix_str(f"objective {objective:.6g}", refresh=False)
            self.bar.update(0)
