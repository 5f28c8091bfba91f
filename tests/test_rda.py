"""RDA-ADMM (Suzuki 2013) against a dense twin, and through everything that drives a solver."""

import tempfile

import numpy as np
import pytest
from cases import assert_close

from adasadmm import (
    ALM,
    L1,
    RDASADMM,
    Box,
    Checkpoint,
    GraphGuidedClassifier,
    Hinge,
    Logistic,
    NonNegative,
    Problem,
    Squared,
    graphs,
    solve,
    sources,
)

pytestmark = pytest.mark.kernels

RNG = np.random.default_rng(5)
N, D = 40, 6
X = RNG.normal(size=(N, D))
Y = np.sign(X @ [1.0, 1.0, 1.0, -1.0, -1.0, 0.5] + 0.5 * RNG.normal(size=N))
A = graphs.incidence(graphs.chain(D), d=D).toarray()
B_SCALED = -2.0 * np.eye(D - 1)
VISITS = RNG.integers(N, size=60)
GAMMA = np.array([0.1, 0.1, 0.0, 0.2, 0.1, 0.1])
WEIGHT = RNG.integers(1, 4, size=N).astype(float)
SLOPES = {
    "hinge": lambda z, y: np.where(y * z < 1.0, -y, 0.0),
    "squared": lambda z, y: z - y,
    "logistic": lambda z, y: -y / (1.0 + np.exp(y * z)),
}
LOSSES = {"hinge": Hinge(), "squared": Squared(), "logistic": Logistic()}


def twin(loss, eta, beta, batch_size, B, b, w_first=None, box=None):
    """The averages of gradients, duals and iterates as in the paper; dense, and everything kept."""
    w_first = np.zeros(D) if w_first is None else w_first
    w, v, theta = w_first.copy(), np.zeros(D - 1), np.zeros(D - 1)
    ws, vs, thetas, gs = [], [], [], []
    majoriser = np.abs(A).T @ np.abs(A).sum(axis=1)
    c = WEIGHT / WEIGHT.mean()
    for first in range(0, len(VISITS), batch_size):
        batch = VISITS[first : first + batch_size]
        ws, vs, thetas = [*ws, w], [*vs, v], [*thetas, theta]
        slope = c[batch] * SLOPES[loss](X[batch] @ w, Y[batch])
        gs.append(X[batch].T @ slope / len(batch) + GAMMA * w)
        t = len(gs)
        g_mean, w_mean, v_mean, theta_mean = (np.mean(each, axis=0) for each in (gs, ws, vs, thetas))
        linear = g_mean - A.T @ theta_mean + beta * A.T @ (A @ w_mean + B @ v_mean - b)
        w = w_first - linear / (1.0 / (eta * np.sqrt(t)) + beta * majoriser / t)
        w = w if box is None else np.clip(w, *box)
        curvature = B[0, 0] ** 2
        x = v - B.T @ (A @ w + B @ v - b - theta / beta) / curvature
        v = np.sign(x) * np.maximum(np.abs(x) - 0.05 / (beta * curvature), 0.0)
        theta = theta - beta * (A @ w + B @ v - b)
    return w, v, theta, np.mean(ws, axis=0), np.mean([*vs[1:], v], axis=0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("scaled", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["B=-I", "B=-2I"])
@pytest.mark.parametrize("box", [None, (-0.05, 0.1)], ids=["free", "box"])
def test_a_run_is_that_of_the_dense_twin(loss, batch_size, scaled, box):
    B, b = (B_SCALED if scaled else -np.eye(D - 1)), 0.1 * np.arange(D - 1)
    settings = {"loss": LOSSES[loss], "penalty": L1(0.05), "A": A, "b": b, "gamma": GAMMA, "sample_weight": WEIGHT}
    problem = Problem(X, Y, **settings, B=B if scaled else None, w_set=None if box is None else Box(*box))
    result = solve(problem, RDASADMM(eta=0.7, beta=0.4, batch_size=batch_size), samples=VISITS)
    found = result.w, result.v, result.theta, result.w_mean, result.v_mean
    for got, wanted in zip(found, twin(loss, 0.7, 0.4, batch_size, B, b, box=box), strict=True):
        assert_close(got, wanted, 1e-9)
    np.testing.assert_array_equal(result.w_average, result.w_mean)


def problem(**changes):
    return Problem(X, Y, **{"loss": Hinge(), "penalty": L1(0.02), "A": A, "gamma": 0.05, **changes})


def test_it_converges_and_its_certificate_is_true():
    best = solve(problem(), ALM(), tol=1e-10).certificate.primal
    result = solve(problem(), RDASADMM(), epochs=400, trace_every=400)
    assert best <= problem().objective(result.w_average) <= 1.02 * best
    assert result.certificate.dual <= best * (1.0 + 1e-9) <= result.certificate.primal * (1.0 + 2e-9)


def test_trace_halves_and_checkpoints():
    whole = solve(problem(), RDASADMM(batch_size=3), epochs=4)
    assert len(whole.trace["epoch"]) == 16 and np.isfinite(whole.trace["dual_residual"]).all()
    folder = Checkpoint(tempfile.mkdtemp(), every=0)
    solve(problem(), RDASADMM(batch_size=3), epochs=4, checkpoint=folder, callback=lambda snapshot: snapshot.epoch > 2)
    again = solve(problem(), RDASADMM(batch_size=3), epochs=4, checkpoint=folder, resume=True)
    for name in ("w", "v", "theta", "w_mean", "v_mean"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    one = solve(problem(), RDASADMM(), samples=VISITS[:20])
    two = solve(one.run.problem, RDASADMM(), samples=VISITS[20:], start=one)
    np.testing.assert_array_equal(two.w, solve(problem(), RDASADMM(), samples=VISITS).w)


def test_streamed_rows_and_estimators():
    source = sources.arrays(X, Y, block_rows=9)
    parts = {"loss": Hinge(), "penalty": L1(0.02), "A": A, "gamma": 0.05}
    streamed = solve(Problem(source, **parts), RDASADMM(), epochs=2, order="given", trace_every=1)
    here = solve(problem(), RDASADMM(), epochs=2, order="given", trace_every=1)
    assert_close(streamed.w, here.w, 1e-12)
    model = GraphGuidedClassifier("chain", solver=RDASADMM(), max_iter=20, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.85 and model.n_iter_ == 20
    assert model.partial_fit(X, Y).score(X, Y) > 0.8


def test_a_set_that_is_no_box_is_split_off_and_wrong_settings_are_refused():
    inside = solve(problem(w_set=NonNegative()), RDASADMM(), epochs=5)
    assert (inside.w >= 0.0).all()
    for settings, message in (
        ({"eta": 0.0}, "eta"),
        ({"beta": "auto"}, "beta"),
        ({"batch_size": "auto"}, "batch_size"),
    ):
        with pytest.raises(ValueError, match=message):
            RDASADMM(**settings)
