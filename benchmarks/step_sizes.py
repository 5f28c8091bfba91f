"""eta="auto" beside the best of the paper's step sizes 2^-5 to 2^5: 2 epochs, 5 seeds, three losses.

ADASADMM_DATA=... python benchmarks/step_sizes.py [names of data sets]
"""

from __future__ import annotations

import page
from tuning import at_zero, best_of_grid, constant, objective, problem_of, tell

from adasadmm import AdaSADMM, Hinge, Logistic, Squared

AUTO = AdaSADMM(beta="auto", average="auto")
PAPER = ("svmguide3", "splice", "mushrooms", "news20", "a9a", "w8a")
DATA = {
    Hinge: (*PAPER, "digits"),
    Logistic: ("splice", "news20", "a9a", "digits"),
    Squared: ("svmguide3", "news20", "a9a", "digits"),
}


def row(name: str, loss: type) -> list[str]:
    best, ours = best_of_grid(name, loss(), constant), objective(name, loss(), AUTO)
    of_start = (ours - best.value) / at_zero(problem_of(name, loss(), 0))
    tell(name, loss.__name__, best, ours)
    figures = [f"{ours:.4f}", f"{best.value:.4f}", str(best), f"{ours / best.value - 1:+.2%}", f"{of_start:+.2%}"]
    return [loss.__name__.lower(), name, *figures]


def text() -> str:
    chosen = page.named()
    rows = [row(name, loss) for loss, names in DATA.items() for name in names if not chosen or name in chosen]
    return page.table(["loss", "data", "auto", "best of grid", "at", "above best", "of f(0)"], rows)


if __name__ == "__main__":
    page.show(__file__, "nothing_to_tune.md", text)
