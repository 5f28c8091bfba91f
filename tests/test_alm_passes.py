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
from adasadmm.rows import matrices
from adasadmm.solvers.alm import lagrangian

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


def test_a_full_newton_step_takes_one_pass_and_so_does_a_certificate(monkeypatch):
    lengths, step_length = [], lagrangian.step_length
    monkeypatch.setattr(lagrangian, "step_length", lambda *given: lengths.append(step_length(*given)) or lengths[-1])
    problem = Problem(streamed(X, TARGETS[Squared]), loss=Squared(), penalty=L1(0.01), A=A, gamma=1e-3)
    result = solve(problem, ALM(), tol=1e-6)
    steps, iterations = result.run.method.newton_steps, result.run.method.iteration
    shorter = len(lengths) - lengths.count(1.0)
    assert passes(result) <= steps + shorter + iterations + 2  # the columns are measured, the first gradient


@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "free intercept"])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_few_passes_suffice_if_a_sample_provides_the_start(loss, intercept, monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40_000, 20))
    y = np.where(rows @ np.repeat(rng.normal(size=4), 5) + 3.0 * rng.normal(size=40_000) > 0.3, 1.0, -1.0)
    source, begun = sources.arrays(rows, y, block_rows=10_000), []
    read = sources.Source.raw_blocks
    monkeypatch.setattr(sources.Source, "raw_blocks", lambda self, *given: begun.append(1) or read(self, *given))
    settings = {"loss": loss, "solver": "alm", "alpha": 1e-4, "l2": 1e-4, "fit_intercept": intercept}
    for tol, most in ((1e-3, 18), (1e-6, 40)):
        begun.clear()
        model = GraphGuidedClassifier("chain", tol=tol, **settings).fit(source)
        assert model.dual_gap_ <= tol
        assert 5 <= len(begun) <= most


def test_a_run_whose_rows_cannot_be_read_in_the_middle_of_a_pass_goes_on_afterwards():
    """What rides on a pass counts only if the pass was completed."""
    streamed_rows = matrices.Streamed(
        lambda function, work: (function(k, *part) for k, part in enumerate(work)), [slice(0, 2), slice(2, 4)], 1
    )
    received = []
    with matrices.riding(streamed_rows, lambda block, part: part.sum(), received.append, np.arange(4.0)) as rider:
        next(iter(streamed_rows.each(lambda block: block)))
    assert not rider.is_done
    with matrices.riding(streamed_rows, lambda block, part: part.sum(), received.append, np.arange(4.0)) as rider:
        assert [found for _, found in streamed_rows.each(lambda block: block)] == [0, 1]
    assert rider.is_done and received[-2:] == [1.0, 5.0] and streamed_rows.passes == 2
    assert streamed_rows.rider is None


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


def test_too_many_features_are_refused_before_any_work(limits):
    limits(newton_steps_of_a_stream=4)
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
