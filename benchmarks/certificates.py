"""The gap that the final pass of a stochastic run proves: from the slopes alone, and after dual coordinate ascent.

ADASADMM_DATA=... python benchmarks/certificates.py [names of data sets]
"""

from __future__ import annotations

import clock
import numpy as np
import page
from tuning import problem_of, tell

from adasadmm import ALM, AdaSADMM, Hinge, Logistic, solve
from adasadmm.certificates import ascent, certify, duality
from adasadmm.solvers import Batches

DATA = ("svmguide3", "splice", "mushrooms", "news20", "digits", "a9a", "w8a")
PASSES = (0, 1, 2, 5, 10, 20)


def row(name: str, loss: type, epochs: int) -> list[str]:
    problem = problem_of(name, loss(), 0)
    result = solve(problem, AdaSADMM(beta="auto", average="auto"), epochs=epochs, trace_every=epochs)
    best = solve(problem, ALM(), tol=1e-5).certificate
    above = result.certificate.primal / best.dual - 1.0
    w, gaps = result.w_average, []
    for passes in PASSES:
        s, theta = duality.slopes(problem, problem.predictions(w)), result.theta.copy()
        a_pass = clock.cpu(ascent.ascend, problem, w, s, theta, passes)[1] / max(1, passes)
        gaps.append(f"{certify(problem, w, result.v_mean, s, theta).relative_gap:.1e}")
    tell(name, loss.__name__, epochs, *gaps)
    fork, order = result.run.fork(problem), np.random.default_rng(0).permutation(problem.n)
    part = a_pass / clock.cpu(fork.advance, Batches(problem.rows, order, fork.batch_size))[1]
    return [name, loss.__name__.lower(), str(epochs), f"{above:.1e}", *gaps, f"{part:.2f}"]


def text() -> str:
    names = page.named() or DATA
    rows = [row(name, loss, epochs) for loss in (Hinge, Logistic) for epochs in (2, 10) for name in names]
    head = ["data", "loss", "epochs", "above the optimum", *map(str, PASSES), "a pass, in epochs"]
    return page.table(head, rows)


if __name__ == "__main__":
    page.show(__file__, "nothing_to_tune.md", text)
