"""Which mean of the iterates is the best answer, with eta="auto" and with a constant step size.

ADASADMM_DATA=... python benchmarks/means.py [names of data sets]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import page
from tuning import SEEDS, run, tell

from adasadmm import AdaSADMM, Hinge

DATA = ("svmguide3", "splice", "mushrooms", "news20", "digits", "a9a")
MEANS = ("uniform", "last", "step-weighted", "polynomial", "schedule-free")
SETTINGS = (("auto", 2), ("auto", 10), (0.5, 2), (0.5, 10))


def row(name: str, eta: Any, epochs: int) -> list[str]:
    """The mean objective of each; a single run gives the uniform mean, the last iterate and one other mean."""
    found = {}
    for mean in MEANS[2:]:
        solver = AdaSADMM(eta=eta, beta="auto", average=mean)
        values = np.mean([run(name, Hinge(), solver, seed, epochs) for seed in SEEDS], axis=0)
        found[mean] = values[0]
        if mean == "polynomial":
            found["last"], found["uniform"] = values[1:]
    least = min(found.values())
    shown = [f"**{found[mean]:.4f}**" if found[mean] == least else f"{found[mean]:.4f}" for mean in MEANS]
    tell(name, eta, epochs, *shown)
    return [name, str(eta), str(epochs), *shown]


def text() -> str:
    rows = [row(name, *setting) for setting in SETTINGS for name in page.named() or DATA]
    return page.table(["data", "eta", "epochs", *MEANS], rows)


if __name__ == "__main__":
    page.show(__file__, "nothing_to_tune.md", text)
