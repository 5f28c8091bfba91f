"""The progressive loss of a streamed run: an honest estimate of the loss of new rows, from the first pass alone."""

import numpy as np
import pytest

from adasadmm import ADMM, L1, AdaSADMM, Checkpoint, GraphGuidedClassifier, Logistic, Problem, graphs, solve, sources

pytestmark = pytest.mark.compiled  # too slow without the compiler

N, D = 6000, 8
SOLVER = AdaSADMM(batch_size=7)


def rows_of(seed, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    y = np.where(X @ np.repeat([1.0, -1.0], D // 2) + 2.0 * rng.logistic(size=n) > 0.0, 1.0, -1.0)
    return X, y


def problem_of(*rows):
    return Problem(*rows, loss=Logistic(), penalty=L1(1e-4), A=graphs.incidence(graphs.chain(D)), gamma=1e-4)


def test_it_is_the_loss_of_the_model_before_each_piece():
    X, y = rows_of(0)
    result = solve(problem_of(sources.arrays(X, y, block_rows=2500)), AdaSADMM(), epochs=1, order="given")
    total, first = 0.0, 0
    for last in (1000, 2000, 2500, 5000, 6000):  # as many rows as before, or up to the end of the block
        before = np.zeros(D)
        if first:
            before = solve(problem_of(X, y), AdaSADMM(), samples=np.arange(first)).w_average
        margins = y[first:last] * (X[first:last] @ before)
        total += np.sum(np.logaddexp(0.0, -margins))
        first = last
    assert result.progressive_loss == pytest.approx(total / N, rel=1e-9)


def test_it_estimates_the_loss_of_new_rows_where_the_gap_says_nothing():
    X, y = rows_of(1, 40_000)
    problem = problem_of(sources.arrays(X, y, block_rows=5000))
    result = solve(problem, AdaSADMM(), epochs=2)
    fresh, truth = rows_of(2, 40_000)
    new = problem_of(fresh, truth).loss_at(result.w_average)[0]
    assert result.progressive_loss == pytest.approx(new, rel=0.05)


def test_pieces_do_not_change_a_bit():
    X, y = rows_of(3)
    streamed = solve(problem_of(sources.arrays(X, y, block_rows=N)), SOLVER, epochs=2, order="given")
    np.testing.assert_array_equal(streamed.w, solve(problem_of(X, y), SOLVER, epochs=2, order="given").w)


def test_other_runs_have_none(tmp_path):
    X, y = rows_of(4)
    assert solve(problem_of(X, y), SOLVER, epochs=1).progressive_loss is None
    source = sources.arrays(X, y, block_rows=2000)
    assert solve(problem_of(source), ADMM(), epochs=3, tol=0.0).progressive_loss is None
    once = solve(problem_of(source), SOLVER, epochs=1, checkpoint=Checkpoint(tmp_path))
    assert once.progressive_loss > 0.0
    again = solve(problem_of(source), SOLVER, epochs=1, checkpoint=Checkpoint(tmp_path), resume=True)
    assert again.progressive_loss is None  # what came before is not known


def test_the_summary_says_it():
    X, y = rows_of(5)
    model = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=1, loss="logistic").fit(sources.arrays(X, y))
    assert "progressive loss 0." in model.summary()
    assert "progressive loss" not in model.fit(X, y).summary()
