"""beta="auto" compared with other betas, and with two ways of balancing beta early in the run: 2 epochs, hinge loss.

    ADASADMM_DATA=... python benchmarks/betas.py [names of data sets]

Balancing has an advantage here: beta is determined in a pilot run of a quarter of an epoch, and used from the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import page
from tuning import EPOCHS, SEEDS, problem_of, tell

from adasadmm import AdaSADMM, Hinge, Problem, solve
from adasadmm.linalg import quadratics
from adasadmm.solvers.stochastic.run import recipe

DATA = ("svmguide3", "splice", "mushrooms", "news20", "digits", "a9a")
FACTORS = (0.01, 0.1, 1.0, 10.0, 100.0)
PILOT = 0.25  # epochs


def auto(problem: Problem) -> float:
    slope, value = recipe.units(problem, np.zeros(problem.d))
    return recipe.BETA_SHARE * slope * slope / value


def by_residuals(problem: Problem, seed: int) -> float:
    """The root of the ratio of the relative residuals, as in batch ADMM; means over the pilot run."""
    beta = auto(problem)
    pilot = solve(problem, AdaSADMM(beta=beta), epochs=PILOT, seed=seed, trace_every=PILOT / 20)
    primal = np.mean(pilot.trace["primal_residual"]) / np.linalg.norm(pilot.v)
    dual = np.mean(pilot.trace["dual_residual"]) / np.linalg.norm(problem.times_A_transposed(pilot.theta))
    return float(beta * np.clip(np.sqrt(primal / dual), 0.1, 10.0))


def by_distances(problem: Problem, seed: int) -> float:
    """The ratio of the distances travelled by theta and w, as in SPDHG."""
    beta = auto(problem)
    pilot = solve(problem, AdaSADMM(beta=beta), epochs=PILOT, seed=seed, trace_every=PILOT)
    of_w = np.sqrt(quadratics.majoriser(problem.A) @ pilot.w**2)
    return float(np.sqrt(beta * np.linalg.norm(pilot.theta) / of_w))


def row(name: str) -> list[str]:
    ways: list[Any] = [lambda problem, seed, factor=factor: factor * auto(problem) for factor in FACTORS]
    ways += [by_residuals, by_distances]
    found, betas = np.zeros(len(ways)), []
    for seed in SEEDS:
        problem = problem_of(name, Hinge(), seed)
        for k, way in enumerate(ways):
            beta = way(problem, seed)
            solver = AdaSADMM(beta=beta, average="auto")
            result = solve(problem, solver, epochs=EPOCHS, seed=seed, trace_every=EPOCHS)
            found[k] += problem.objective(result.w_average) / len(SEEDS)
            betas.append(beta)
    shown = [f"{value:.4f}" for value in found]
    chosen = [f"{beta:.2g}" for beta in np.reshape(betas, (len(SEEDS), -1)).mean(axis=0)[[2, -2, -1]]]
    tell(name, *shown, *chosen)
    return [name, *shown, *chosen]


def text() -> str:
    head = [*(f"{factor:g} auto" if factor != 1.0 else "**auto**" for factor in FACTORS), "residuals", "distances"]
    head += ["beta: auto", "residuals", "distances"]
    return page.table(["data", *head], [row(name) for name in page.named() or DATA])


if __name__ == "__main__":
    page.show(__file__, "nothing_to_tune.md", text)
