"""How often a fit reads its rows: each pass over a file of text is most of the time that it takes."""

import numpy as np
import pytest
from counted import Counted
from sklearn.exceptions import ConvergenceWarning

from adasadmm import L1, AdaSADMM, GraphGuidedClassifier, GraphGuidedRegressor, Hinge, Problem, graphs, solve, sources

pytestmark = pytest.mark.compiled  # too slow without the compiler

N, D, BLOCK = 4000, 6, 250


def source_of(X, y):
    return Counted(sources.arrays(X, y, block_rows=BLOCK))


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(N, D))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("estimator", [GraphGuidedClassifier, GraphGuidedRegressor])
def test_two_epochs_take_four_passes_in_all(estimator, fit_intercept, X):
    y = np.sign(X[:, 0]) if estimator is GraphGuidedClassifier else X[:, 0]
    source = source_of(X, y)
    model = estimator("chain", solver="ada-diag", max_iter=2, fit_intercept=fit_intercept).fit(source)
    model.summary()
    assert len(model.trace_["objective"]) == 2 and np.isfinite(model.trace_["objective"]).all()
    assert np.isfinite(model.dual_gap_)
    assert source.passes == 4  # the scan, two epochs, and one for the trace, the objective and the certificate


@pytest.mark.parametrize("graph", ["glasso", "knn"])
def test_a_learnt_graph_takes_no_pass_of_its_own(graph, X):
    X = X + np.roll(X, 1, axis=1)
    source = source_of(X, np.sign(X[:, 0]))
    model = GraphGuidedClassifier(graph, solver="ada-diag", max_iter=2).fit(source)
    assert source.passes == 4
    np.testing.assert_array_equal(model.graph_, getattr(graphs, graph)(sources.arrays(X, None)).edges)


def test_the_scan_of_text_finds_the_graph_though_it_does_not_know_the_width(X, tmp_path):
    X = (X + np.roll(X, 1, axis=1))[:500].round(3)
    X[:200, -2:] = 0.0
    lines = (" ".join(f"{j + 1}:{x}" for j, x in enumerate(row) if x) for row in X.tolist())
    (tmp_path / "rows.svm").write_text("".join(f"{(-1) ** k} {line}\n" for k, line in enumerate(lines)))
    source = sources.svmlight(tmp_path / "rows.svm", block_bytes=1000)
    model = GraphGuidedClassifier("glasso", solver="ada-diag", max_iter=1).fit(source)
    np.testing.assert_array_equal(model.graph_, graphs.glasso(X).edges)


def problem_of(X):
    source = source_of(X, np.sign(X[:, 0] + 0.1))
    A = graphs.incidence(graphs.chain(D))
    return Problem(source, loss=Hinge(), penalty=L1(1e-3), A=A, gamma=1e-2), source


def test_an_epoch_with_a_tolerance_takes_one_pass_for_trace_and_certificate(X):
    problem, source = problem_of(X)
    before = source.passes
    with pytest.warns(ConvergenceWarning, match="above tol=1e-09"):
        result = solve(problem, AdaSADMM(), epochs=3, tol=1e-9)
    assert result.status.name == "done" and source.passes - before == 6


def test_what_shares_a_pass_is_what_separate_passes_find(X):
    problem, source = problem_of(X)
    result = solve(problem, AdaSADMM(), epochs=2)
    again, _ = problem_of(X)
    assert result.trace["objective"][-1] == pytest.approx(again.objective(result.w), rel=1e-13)
    assert result.trace["objective_mean"][0] > 0.0
    assert result.certificate.primal == pytest.approx(again.objective(result.w_average), rel=1e-13)
    before = source.passes
    problem.objective(result.w)
    problem.objective(result.w_average)
    problem.value_at_zero
    assert source.passes == before  # all are known
    memory = Problem(X, np.sign(X[:, 0] + 0.1), loss=Hinge(), penalty=L1(1e-3), A=problem.A, gamma=1e-2)
    assert problem.value_at_zero == pytest.approx(memory.value_at_zero, rel=1e-13)
