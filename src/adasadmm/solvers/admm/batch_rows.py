"""The operations of batch ADMM on a block of rows and on its z and u, which are stored with the block.

Everything is a sum over blocks, in their order, so it can be computed where the blocks are. If a worker ends, its z and
u are computed again from the history of the run: they depend on the w and the beta_z of each iteration alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import losses
from ..._core.threads import side_by_side
from ...problem import Block
from ...rows import products
from ...rows.matrices import Repeated

__all__ = [
    "SlopesOfDuals",
    "at_version",
    "gram_of_rows",
    "has_equal_outputs",
    "pass_rows",
    "pull_of_rows",
    "replayed",
    "scale_rows",
    "squares_of_rows",
    "start_rows",
]


def start_rows(block: Block, rows: dict, w: np.ndarray) -> bool:
    z = np.empty(len(block.y))
    products.product(block.X, w, z)
    rows.update(z=z, u=np.zeros_like(z), version=1)
    return True


def pass_rows(block: Block, rows: dict, loss: tuple, relax: float, w: np.ndarray, beta_z: float) -> np.ndarray:
    """The pass over a block; returns what it pulls at w."""
    rows["z_before"] = rows["z"].copy()
    rows["version"] += 1
    z, u = rows["z"], rows["u"]
    products.product(block.X, w, Xw := np.empty_like(z))
    side_by_side(partial(prox_of_rows, loss, beta_z, relax, block.y, Xw, z, u), products.pieces(block.X))
    return pull_of_rows(block, rows)


def prox_of_rows(
    loss: tuple, beta_z: float, relax: float, y: np.ndarray, Xw: np.ndarray, z: np.ndarray, u: np.ndarray, piece: slice
) -> None:
    """Over-relax the predictions of some rows, take each row's prox, and move its dual."""
    k = losses.width(loss)
    guess = relax * Xw[piece] + (1.0 - relax) * z[piece]
    target = guess + u[piece]
    arguments = [losses.by_row(target, k), 1.0 / beta_z, losses.by_row(y[piece], k)]
    if k > 1:
        arguments.append(losses.by_row(guess, k))
    z[piece] = losses.each(losses.prox, loss, *arguments).reshape(-1)
    np.subtract(target, z[piece], out=u[piece])


def scale_rows(block: Block, rows: dict, factor: float) -> np.ndarray:
    """The duals for another beta_z; returns ``X'C(z - u)``."""
    rows["u"] /= factor
    rows["version"] += 1
    return pull_of_rows(block, rows)


def pull_of_rows(block: Block, rows: dict) -> np.ndarray:
    pull = np.empty(block.X.shape[1])
    products.transposed_product(block.X, block.c * (rows["z"] - rows["u"]), pull)
    return pull


def gram_of_rows(block: Block, rows: dict, n: int, once: bool) -> np.ndarray:
    """``X'CX/n``, or that of a single output if all have the same: ``once``."""
    if once and isinstance(block.X, Repeated):
        return products.gram(block.X.rows, block.c[:: block.X.times] / n)
    return products.gram(block.X, block.c / n)


def has_equal_outputs(block: Block, rows: dict) -> bool:
    """Whether all outputs of a row have the same features and the same weight."""
    if not isinstance(block.X, Repeated):
        return False
    weights = block.c.reshape(-1, block.X.times)
    return bool((weights == weights[:, :1]).all())


def squares_of_rows(block: Block, rows: dict, w: np.ndarray) -> np.ndarray:
    """The squared norms that balancing compares: of ``X w - z``, ``X w``, z, the last change of z, and u."""
    Xw = np.empty(len(block.y))
    products.product(block.X, w, Xw)
    vectors = Xw - rows["z"], Xw, rows["z"], rows["z"] - rows["z_before"], rows["u"]
    return np.array([float(block.c @ (vector * vector)) for vector in vectors])


class SlopesOfDuals(NamedTuple):
    """A slope for each row, ``beta_z u``."""

    beta_z: float

    def __call__(self, block: Block, rows: dict) -> np.ndarray:
        return self.beta_z * rows["u"]


def at_version(block: Block, rows: dict, version: int, function: Callable[..., Any], *common: Any) -> Any:
    """A function of a block if its z and u are present and of this version; None if not."""
    return function(block, rows, *common) if rows.get("version", 0) == version else None


def replayed(
    block: Block, rows: dict, loss: tuple, relax: float, history: np.ndarray, function: Callable[..., Any], *common: Any
) -> Any:
    """A function of a block whose z and u are first computed again from the history."""
    start_rows(block, rows, history[0, :-2])
    for entry in history[1:]:
        pass_rows(block, rows, loss, relax, entry[:-2].copy(), float(entry[-2]))
        if entry[-1] != 1.0:
            scale_rows(block, rows, float(entry[-1]))
    return function(block, rows, *common)
