"""eta="auto" compared with the best of the paper's step sizes 2^-5 to 2^5: 2 epochs, 5 seeds, three losses.

ADASADMM_DATA=... python benchmarks/step_sizes.py [names of data sets]
"""

from __future__ import annotations

import page
from tuning import Best, at_zero, best_of_grid, constant, objective, problem_of, tell

from adasadmm import AdaSADMM, Hinge, Logistic, Squared

AUTO = AdaSADMM(beta="auto", average="auto")
BATCHES = AdaSADMM(beta="auto", average="auto", batch_size="auto")
HEAD = ["loss", "data", "auto", "best of grid", "at", "above best", "of f(0)", 'above best, batch_size="auto"']
PAPER = ("svmguide3", "splice", "mushrooms", "news20", "a9a", "w8a")
DATA = {
    Hinge: (*PAPER, "digits"),
    Logistic: ("splice", "news20", "a9a", "digits"),
    Squared: ("svmguide3", "news20", "a9a", "digits"),
}


def row(name: str, loss: type) -> list[str]:
    best = best_of_grid(name, loss(), constant)
    tell(name, loss.__name__, best)
    return compare(name, loss, best)


def compare(name: str, loss: type, best: Best) -> list[str]:
    ours, batches = objective(name, loss(), AUTO), objective(name, loss(), BATCHES)
    of_start = (ours - best.value) / at_zero(problem_of(name, loss(), 0))
    above = [f"{ours / best.value - 1:+.2%}", f"{of_start:+.2%}", f"{batches / best.value - 1:+.2%}"]
    return [loss.__name__.lower(), name, f"{ours:.4f}", f"{best.value:.4f}", str(best), *above]


def text() -> str:
    chosen = page.named()
    rows = [row(name, loss) for loss, names in DATA.items() for name in names if not chosen or name in chosen]
    return page.table(HEAD, rows)


if __name__ == "__main__":
    page.show(__file__, "nothing_to_tune.md", text)
