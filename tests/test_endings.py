"""How a run ends and what its trace says, and batches of a size that the run chooses."""

import dataclasses

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from cases import (
    COVERING,
    INTERPRETED,
    LAYOUTS,
    LOSSES,
    METRICS,
    SAMPLES,
    Case,
    N,
    assert_close,
    assert_same_bits,
)
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    L1,
    SADMM,
    AdaSADMM,
    Hinge,
    Problem,
    Squared,
    Status,
    Zero,
    graphs,
    solve,
    stepsizes,
)
from adasadmm._solve import solve_quietly

DIVERGING = [COVERING[1], COVERING[6]]  # exp overflows, so that G has no root; a step far too long
if INTERPRETED:
    DIVERGING += [Case("poisson", "l1", metric, w_step) for metric in METRICS for w_step in ("linearized", "exact")]


@pytest.mark.parametrize("case", DIVERGING, ids=str)
def test_a_diverging_run_ends_with_its_last_finite_iterate(case):
    X, y = case.data
    problem = Problem(LAYOUTS[case.layout](1e3 * X), y, loss=LOSSES[case.loss], gamma=case.gamma, **case.settings)
    falling = case.step == "1/sqrt(t)"
    solver = dataclasses.replace(case.solver, eta=stepsizes.InverseSqrt(1e6) if falling else 1e6)
    samples = np.tile(np.arange(6), 50)
    with pytest.warns(ConvergenceWarning, match="an iterate stopped being finite"):
        result = solve(problem, solver, samples=samples, trace_every=100.0)
    assert result.status is Status.diverged
    assert np.isfinite([*result.w, *result.v, *result.theta]).all()
    assert not np.isfinite(result.certificate.relative_gap)
    last = result.run.monitor().iteration
    assert 0 < last < len(samples)
    for end in (last, last + 1):
        assert_same_bits(result, solve_quietly(problem, solver, samples=samples[:end], trace_every=100.0))
    if case.metric in ("full", "lagging"):  # where its root fails is a matter of rounding
        return
    with np.errstate(over="ignore", invalid="ignore"):
        eta = (oracle.inverse_sqrt if falling else oracle.constant)(1e6)
        history = case.history(data=(1e3 * X, y), eta=eta, samples=samples[: last + 1])
    np.testing.assert_allclose(result.w, history.W[-2], rtol=1e-6)
    assert not np.isfinite([*history.W[-1], *history.Theta[-1]]).all()


def test_the_callback_can_stop_the_run():
    case, seen = COVERING[0], []

    def stop_at_the_third(snapshot):
        seen.append(snapshot)
        return len(seen) == 3

    result = solve(case.problem, case.solver, epochs=4, trace_every=0.5, order="given", callback=stop_at_the_third)
    assert result.status is Status.stopped
    assert [snapshot.epoch for snapshot in seen] == [0.5, 1.0, 1.5]
    assert_same_bits(result, solve(case.problem, case.solver, epochs=1.5, order="given"))
    np.testing.assert_array_equal(seen[-1].w, result.w)
    np.testing.assert_array_equal(seen[-1].w_mean, result.w_mean)
    assert (seen[0].w != seen[1].w).any()  # each snapshot holds copies


@pytest.mark.parametrize("case", [COVERING[0], COVERING[3], COVERING[4], COVERING[9]], ids=str)
def test_what_the_trace_says(case):
    """Each column, from the oracle's iterates; the objective at the v that the constraint makes of w, if it does."""
    problem, history = case.problem, case.history()
    trace = solve(problem, case.solver, samples=SAMPLES, trace_every=3 / N).trace
    A, B, b, *_ = case.constraint
    visits = [3, 6, 9, 11]
    iterations = [-(-visit // case.batch_size) for visit in visits]
    np.testing.assert_array_equal(trace["iteration"], iterations)
    assert_close(trace["epoch"], np.array(visits) / N)
    assert (np.diff(trace["seconds"]) > 0.0).all()
    for k, t in enumerate(iterations):
        w, v, before = history.W[t], history.V[t], history.V[t - 1]
        assert_close(trace["objective"][k], case.objective(w, v))
        means = history.W[:t].mean(axis=0), history.V[1 : t + 1].mean(axis=0)
        assert_close(trace["objective_mean"][k], case.objective(*means))
        assert_close(trace["primal_residual"][k], np.linalg.norm(A @ w + B @ v - b))
        assert_close(trace["dual_residual"][k], 1.3 * np.linalg.norm(A.T @ B @ (v - before)))
        assert_close(trace["eta"][k], history.etas[t - 1])
    with pytest.raises(ValueError, match="read-only"):
        trace["objective"][0] = 0.0


@pytest.mark.parametrize("weight", [1.0, 0.7])
@pytest.mark.compiled  # 200,000 iterations
def test_the_pull_of_the_edges_stays_that_of_their_slacks(weight):
    """The loop changes it only where an edge has moved: what that rounds off must not add up."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 6)), np.sign(rng.normal(size=1000))
    A = weight * graphs.incidence([(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (2, 5)], d=6)
    problem = Problem(X, y, loss=Hinge(), penalty=L1(0.02), A=A, gamma=0.01)
    state = solve(problem, AdaSADMM(eta=0.5, beta=0.5), epochs=200).run.iterates
    np.testing.assert_allclose(state.pull, A.T @ state.slack, rtol=0.0, atol=1e-12)


# --- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "rare", "columns", "wanted"),
    [
        (100, 50, 300, 1),  # few rows
        (30_000, 15_000, 300, 5),  # 6,000 iterations
        (90_000, 45_000, 300, 5),  # 30,000 with more than five rows
        (180_000, 90_000, 300, 6),
        (30_000, 2_300, 300, 2),  # 1,100 with a row of the rarer sign
        (30_000, 500, 300, 1),
        (60_000, 30_000, 8, 3),  # more would save no time
    ],
)
def test_a_batch_of_its_own_choice_leaves_enough_iterations(n, rare, columns, wanted):
    X = sp.csr_array((np.ones(10 * n), (np.repeat(np.arange(n), 10), np.tile(np.arange(10) % columns, n))))
    X.resize((n, columns))
    y = np.where(np.arange(n) < rare, 1.0, -1.0)
    A = graphs.incidence(graphs.chain(columns))
    problem = Problem(X, y, loss=Hinge(), penalty=L1(0.1), A=A, gamma=0.1)
    assert AdaSADMM(batch_size="auto").settings.rows_of_an_iteration(problem) == wanted
    assert SADMM(batch_size=5).settings.rows_of_an_iteration(problem) == 5


def test_numbers_to_be_predicted_have_no_rarer_sign():
    rng = np.random.default_rng(0)
    problem = Problem(
        rng.normal(size=(20_000, 4)), rng.normal(size=20_000), loss=Squared(), penalty=Zero(), A=np.eye(4)
    )
    assert AdaSADMM(batch_size="auto").settings.rows_of_an_iteration(problem) == 3
