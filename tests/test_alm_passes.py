"""The augmented Lagrangian method on rows that are read block by block: the same answers as in memory."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import (
    ALM,
    L1,
    Checkpoint,
    GraphGuidedClassifier,
    Hinge,
    Logistic,
    Poisson,
    Problem,
    Squared,
    StructuredRegressor,
    graphs,
    solve,
    sources,
)
from adasadmm.linalg import matrices
from adasadmm.solvers import alm

N, D = 600, 8
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.7)
Z = X @ np.repeat([1.0, -0.5], D // 2)
A = graphs.incidence(graphs.chain(D), d=D)
TARGETS = {
    Hinge: np.where(Z + RNG.logistic(size=N) > 0.0, 1.0, -1.0),
    Logistic: np.where(Z + RNG.logistic(size=N) > 0.0, 1.0, -1.0),
    Squared: Z + RNG.normal(size=N),
    Poisson: RNG.poisson(np.exp(0.3 * Z)).astype(float),
}


def streamed(rows, y, **given):
    """A source of seven blocks."""
    return sources.arrays(rows, y, block_rows=N // 7 + 1, **given)


def passes(result):
    """How often the rows were read in products."""
    return matrices.innermost(result.run.problem.rows.X).passes


@pytest.mark.parametrize("sparse", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", TARGETS, ids=lambda loss: loss.__name__)
def test_the_answer_and_its_certificate_are_those_of_rows_in_memory(loss, sparse):
    rows, common = sp.csr_array(X) if sparse else X, {"loss": loss(), "penalty": L1(0.01), "A": A, "gamma": 1e-3}
    y = TARGETS[loss]
    problem = Problem(rows, y, **common)
    optimum = solve(problem, ALM(), tol=1e-10)
    found = solve(Problem(streamed(rows, y), **common), ALM(), tol=1e-10)
    assert found.certificate.relative_gap <= 1e-10
    assert found.certificate.primal == pytest.approx(problem.objective(found.w), rel=1e-12)
    assert found.certificate.dual <= optimum.certificate.primal * (1.0 + 1e-12)
    np.testing.assert_allclose(found.w, optimum.w, atol=1e-6)


@pytest.mark.parametrize(
    "settings", [{}, {"fit_intercept": False}, {"l1_ratio": 0.3}, {"positive": True}, {"l2": 0.0}], ids=str
)
def test_estimators_find_the_same_structure_in_a_source(settings):
    common = {"alpha": 0.05, "solver": "alm", "tol": 1e-7, **settings}
    y = TARGETS[Squared]
    memory = StructuredRegressor("chain", **common).fit(X, y)
    model = StructuredRegressor("chain", **common).fit(streamed(X, y))
    assert model.dual_gap_ <= 1e-7
    np.testing.assert_allclose(model.coef_, memory.coef_, atol=1e-7)
    np.testing.assert_array_equal(np.diff(model.coef_) == 0.0, np.diff(memory.coef_) == 0.0)


def test_sample_weights_and_offsets_of_a_source_count():
    y, rng = TARGETS[Poisson], np.random.default_rng(1)
    weight, offset = rng.integers(1, 4, N).astype(float), rng.normal(size=N)
    common = {"loss": Poisson(), "penalty": L1(0.01), "A": A, "gamma": 1e-3}
    memory = solve(Problem(X, y, sample_weight=weight, offset=offset, **common), ALM(), tol=1e-9)
    source = streamed(X, y, sample_weight=weight, offset=offset)
    found = solve(Problem(source, **common), ALM(), tol=1e-9)
    np.testing.assert_allclose(found.w, memory.w, atol=1e-9)


def test_a_newton_step_takes_two_passes():
    problem = Problem(streamed(X, TARGETS[Squared]), loss=Squared(), penalty=L1(0.01), A=A, gamma=1e-3)
    result = solve(problem, ALM(), tol=1e-6)
    steps, iterations = result.run.newton_steps, result.run.iteration
    assert passes(result) <= 2 * steps + 2 * iterations + 3  # gradients with the matrix, products; two ends; the start


def test_a_streamed_run_is_resumed_with_the_same_bits(tmp_path):
    problem = Problem(streamed(X, TARGETS[Hinge]), loss=Hinge(), penalty=L1(0.01), A=A, gamma=1e-3)
    whole = solve(problem, ALM(), tol=0.0, epochs=6)
    solve(
        problem,
        ALM(),
        tol=0.0,
        epochs=6,
        checkpoint=Checkpoint(tmp_path, every=0),
        callback=lambda now: now.iteration == 3,
    )
    resumed = solve(problem, ALM(), tol=0.0, epochs=6, checkpoint=Checkpoint(tmp_path, every=0), resume=True)
    assert resumed.w.tobytes() == whole.w.tobytes()


def test_too_many_features_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(alm, "MOST_STREAMED", 4)
    model = GraphGuidedClassifier("chain", solver="alm")
    with pytest.raises(ValueError, match="at most 4 features; use AdaSADMM"):
        model.fit(streamed(X, TARGETS[Hinge]))


def test_another_penalty_is_solved_from_the_last_result_without_reading_the_targets_again():
    common = {"loss": Squared(), "A": A, "gamma": 1e-3}
    y, strong, weak = TARGETS[Squared], L1(0.1), L1(0.01)
    problem = Problem(streamed(X, y), penalty=strong, **common)
    first = solve(problem, ALM(), tol=1e-8)
    second = solve(problem.with_penalty(weak), ALM(), tol=1e-8, start=first)
    assert second.run.problem.rows is first.run.problem.rows
    fresh = solve(Problem(X, y, penalty=weak, **common), ALM(), tol=1e-8)
    np.testing.assert_allclose(second.w, fresh.w, atol=1e-6)
