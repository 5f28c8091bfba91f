"""The losses with a logarithmic link in every solver and estimator, against CVXPY and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from random_rows import random_targets
from references import chain, optimum
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import d2_tweedie_score
from strategies import By

from adasadmm import (
    ADMM,
    ALM,
    ASVRGADMM,
    IPM,
    L1,
    SPDHG,
    AdaSADMM,
    Gamma,
    GraphGuidedRegressor,
    NegativeBinomial,
    Poisson,
    Problem,
    Status,
    StructuredRegressor,
    TotalVariation,
    TrendFilter,
    Tweedie,
    graphs,
    losses,
    solve,
)

pytestmark = [pytest.mark.kernels, pytest.mark.compiled]
LOSSES = [Poisson(), Gamma(), Tweedie(1.4), NegativeBinomial(0.7)]
REACHED = 1e-6  # Clarabel does not get closer where a loss has logarithms and exponentials
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def random_settings(loss, shape, seed=0, x_is_identity=False):
    """A chain over the features, with sample weights."""
    rng = np.random.default_rng(seed)
    n, d = shape
    X = np.eye(n) if x_is_identity else rng.normal(size=shape)
    z = X @ np.repeat(rng.normal(size=d), 4)[:d] * (1.0 if x_is_identity else 0.5)
    return {
        "X": sp.csr_array(X) if x_is_identity else X,
        "y": random_targets(loss, rng, z),
        "loss": loss,
        "penalty": L1(10.0 ** rng.uniform(-3.0, -1.0)),
        "A": chain(d),
        "gamma": 0.01,
        "sample_weight": rng.integers(1, 4, size=n).astype(float),
    }


def assert_optimal(settings, solver, tol):
    problem, best = Problem(**settings), optimum(**settings, tolerance=REACHED)[0]
    result = solve(problem, solver, tol=tol, epochs=300)
    unit = best - problem.least_loss
    certificate = result.certificate
    assert result.status is Status.converged
    assert certificate.dual <= best + REACHED * unit
    assert certificate.primal <= best + (tol + REACHED) * unit


# --- solvers ---------------------------------------------------------------------------------------------------------


@each_loss
@pytest.mark.parametrize(
    ("solver", "shape", "tol"),
    [(ALM(), (200, 6), 1e-6), (IPM(), (20, 30), 1e-7), (ADMM(), (60, 10), 1e-4), (SPDHG(), (60, 10), 1e-3)],
    ids=str,
)
def test_solvers_reach_the_optimum_of_cvxpy_and_prove_it(loss, solver, shape, tol):
    assert_optimal(random_settings(loss, shape), solver, tol)


@each_loss
@pytest.mark.parametrize("solver", [TotalVariation(), By("grid"), By("graph"), IPM()], ids=str)
def test_a_signal_reaches_the_optimum_of_cvxpy(loss, solver):
    settings = random_settings(loss, (25, 25), seed=1, x_is_identity=True)
    if solver == By("grid"):
        settings["A"] = graphs.incidence(graphs.grid(5, 5))
    assert_optimal(settings, solver, 1e-7)


@pytest.mark.slow
@each_loss
@pytest.mark.parametrize("seed", range(2, 7))
def test_many_problems_against_cvxpy(loss, seed):
    for solver, shape in ((ALM(), (300, 8)), (IPM(), (15, 40)), (IPM(), (120, 30)), (ADMM(), (50, 5))):
        assert_optimal(random_settings(loss, shape, seed), solver, 1e-4 if isinstance(solver, ADMM) else 1e-6)
    assert_optimal(random_settings(loss, (40, 40), seed, x_is_identity=True), TotalVariation(), 1e-7)


@each_loss
def test_only_the_negative_binomial_has_a_bounded_second_derivative(loss):
    problem = Problem(**random_settings(loss, (60, 5)))
    if isinstance(loss, NegativeBinomial):
        assert_optimal(random_settings(loss, (60, 5)), ASVRGADMM(), 1e-5)
    else:
        with pytest.raises(TypeError, match=rf"losses\.curvature.*{type(loss).__name__}"):
            solve(problem, ASVRGADMM())


@each_loss
@pytest.mark.slow
def test_a_stochastic_run_lowers_the_objective(loss):
    problem = Problem(**random_settings(loss, (300, 5)))
    result = solve(problem, AdaSADMM(), epochs=5)
    assert result.status is not Status.diverged
    best = optimum(**random_settings(loss, (300, 5)), tolerance=REACHED)[0]
    assert problem.objective(result.w_average) - best < 0.1 * (problem.loss_at_zero - best)
    assert result.certificate.dual <= best


def test_the_relative_gap_does_not_depend_on_the_units_of_amounts():
    # The excess over the least loss of gamma is that of the deviance, which has no units.
    settings = random_settings(Gamma(), (50, 4))
    problem = Problem(**settings)
    least = np.average(1.0 + np.log(settings["y"]), weights=settings["sample_weight"])
    assert problem.least_loss == pytest.approx(least, rel=1e-12)
    w = np.zeros(4)
    deviance = np.average(settings["y"] - 1.0 - np.log(settings["y"]), weights=settings["sample_weight"])
    assert problem.objective(w) - problem.least_loss == pytest.approx(deviance, rel=1e-12)


def test_curvature_of_the_negative_binomial_is_the_steepest_chord_of_the_slope():
    loss, z = NegativeBinomial(0.7), np.linspace(-6.0, 6.0, 8001)
    for y in (0.0, 1.0, 5.0):
        slopes = np.array([losses.slope(loss, point, y) for point in z])
        assert np.max(np.diff(slopes) / np.diff(z)) == pytest.approx(losses.curvature(loss, y), rel=1e-6)


# --- estimators ------------------------------------------------------------------------------------------------------

BY_SKLEARN = [
    ("poisson", PoissonRegressor(alpha=0.1, tol=1e-9, max_iter=10_000)),
    ("gamma", GammaRegressor(alpha=0.1, tol=1e-9, max_iter=10_000)),
    ("tweedie", TweedieRegressor(power=1.5, alpha=0.1, tol=1e-9, max_iter=10_000)),
    (Tweedie(1.9), TweedieRegressor(power=1.9, alpha=0.1, tol=1e-9, max_iter=10_000)),
]


@pytest.mark.parametrize(("loss", "reference"), BY_SKLEARN, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_with_a_ridge_alone_the_coefficients_are_those_of_scikit_learn(loss, reference, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y = random_targets(Gamma(), rng, 1.0 + 0.5 * X[:, 0] - 0.3 * X[:, 1])
    weight = rng.uniform(0.5, 2.0, size=120) if weighted else None
    model = StructuredRegressor("chain", loss=loss, alpha=0.0, l2=0.1, tol=1e-12).fit(X, y, weight)
    reference.fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=0.0, atol=1e-6)
    assert model.intercept_ == pytest.approx(reference.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), rtol=1e-5)
    assert model.score(X, y, weight) == pytest.approx(reference.score(X, y, weight), abs=1e-6)
    plain = model.to_sklearn()
    assert type(plain) is type(reference)
    np.testing.assert_allclose(plain.predict(X), model.predict(X), rtol=1e-12)
    assert plain.score(X, y) == pytest.approx(model.score(X, y), abs=1e-9)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie", "negative_binomial"])
def test_scores_are_explained_deviances(loss):
    rng = np.random.default_rng(0)
    X, times = rng.normal(size=(80, 3)), np.arange(80.0)
    y = random_targets(Gamma(), rng, 0.8 * X[:, 0])
    model = GraphGuidedRegressor("chain", loss=loss).fit(X, y)
    trend = TrendFilter(0, loss=loss, alpha=0.01).fit(times, y)
    powers = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}
    for fitted, rows in ((model, X), (trend, times)):
        if loss in powers:
            assert fitted.score(rows, y) == pytest.approx(d2_tweedie_score(y, fitted.predict(rows), power=powers[loss]))
        assert 0.0 < fitted.score(rows, y) <= 1.0
    level = TrendFilter(0, loss=loss, alpha=1e3).fit(times, y)
    assert level.score(times, y) == pytest.approx(0.0, abs=1e-9)
    assert level.score(times, np.full(80, level.predict([0.0])[0])) == 1.0  # equal targets, as R^2
    assert level.score(times, np.full(80, 7.0)) == 0.0


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("gamma", [1.0, 0.0, 2.0], "y must hold amounts > 0 for Gamma, got 0; Tweedie"),
        ("gamma", [1.0, -2.0, 0.0], "y must hold amounts > 0 for Gamma, got -2; correct or leave out"),
        ("tweedie", [1.0, -2.0, 2.0], "y must hold amounts >= 0 for Tweedie, got -2; correct or leave out"),
        ("negative_binomial", [1.0, -2.0, 2.0], "y must hold counts >= 0 for NegativeBinomial, got -2; correct"),
        (Tweedie(0.5), [1.0, 2.0, 2.0], "power of Tweedie must lie between 1 and 2, got 0.5"),
    ],
)
def test_wrong_targets_are_named(loss, y, message):
    with pytest.raises(ValueError, match=message):
        GraphGuidedRegressor("chain", loss=loss).fit(np.eye(3), y)
