"""A fit that missed its tolerance says by how much, and what would help in that case."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    ALM,
    L1,
    AdaSADMM,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    Problem,
    Squared,
    graphs,
    losses,
    solve,
)
from adasadmm._solve import attempts, solve_quietly
from adasadmm._solve.advice import missed

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 5))
Y = X.sum(axis=1) + rng.normal(size=100)


def result(sizes=1.0, shift=0.0):
    problem = Problem(X * sizes, Y + shift, loss=Squared(), penalty=L1(0.1), A=graphs.difference(5))
    return solve(problem, ALM(), epochs=1)


@pytest.mark.parametrize(
    ("sizes", "tol", "max_iter", "advice"),
    [
        (1.0, 1e-3, None, "raise max_iter or tol"),
        (1.0, 1e-3, 7, "raise max_iter, which is 7, or tol"),
        (1.0, 1e-14, None, "raise tol, since rounding errors prevent smaller gaps"),
        ([1, 1, 1, 1, 0], 1e-3, None, "raise max_iter or tol"),  # a column of zeros has no scale
        (
            [1, 1, 1, 1, 1e6],
            1e-3,
            None,
            "scale the columns of X, whose sizes differ by a factor of 1e+06, with StandardScaler",
        ),
        (
            [1, 1, 1, 1, 1e6],
            1e-3,
            7,
            "raise max_iter, which is 7, or tol, and scale the columns of X, whose sizes differ by a factor of 1e+06, "
            "with StandardScaler",
        ),
    ],
)
def test_the_next_step(sizes, tol, max_iter, advice):
    said = missed(result(sizes), tol, max_iter)
    assert said.startswith("the relative duality gap is ") and said.endswith(f", above tol={tol:g}: {advice}")


def test_predictions_that_grow_without_bound():
    far = dataclasses.replace(result(), w_average=np.full(5, 1e6))
    assert "tol=0.001: set l2 above 0, since the predictions grow without bound" in missed(far, 1e-3, None)


def test_a_fit_warns_with_one_sentence():
    with pytest.warns(ConvergenceWarning, match=r"above tol=1e-06: raise max_iter, which is 1, or tol$") as said:
        GraphGuidedRegressor("chain", max_iter=1).fit(X, Y)
    assert len(said) == 1


def test_targets_far_from_0_beside_their_range_are_better_shifted():
    assert "subtract the mean from y" in missed(result(shift=1e8), 1e-3, None)


def test_after_a_separable_problem_no_other_solver_is_tried(monkeypatch):
    solvers = []

    def counted(problem, solver, **settings):
        solvers.append(solver)
        return solve_quietly(problem, solver, **settings)

    monkeypatch.setattr(attempts, "solve_quietly", counted)
    model = GraphGuidedClassifier("chain", loss="logistic", l2=0.0, alpha=1e-3, fit_intercept=False)
    with pytest.warns(ConvergenceWarning, match="set l2 above 0, since the predictions grow without bound"):
        model.fit(X, np.where(X.sum(axis=1) > 0.0, "yes", "no"))
    assert len(solvers) == 1
    assert model.score(X, np.where(X.sum(axis=1) > 0.0, "yes", "no")) == 1.0


class Own(NamedTuple):
    """Half the squared error, without a conjugate."""


losses.value.register(Own)(lambda loss, z, y: 0.5 * (z - y) ** 2)
losses.slope.register(Own)(lambda loss, z, y: z - y)


def test_a_loss_without_a_conjugate_needs_one_and_not_more_iterations():
    problem = Problem(X, Y, loss=Own(), penalty=L1(0.1), A=graphs.difference(5))
    said = missed(solve(problem, AdaSADMM(), epochs=1), 1e-3, None)
    assert "Own has no losses.conjugate" in said and "register that function" in said and "max_iter" not in said
