"""Grids and other graphs where X is diagonal: optimal, proved to be so, and exactly fused, or sparse and fused."""

from typing import NamedTuple

import numpy as np
import pytest
import references
import scipy.sparse as sp
from references import optimum_of
from strategies import By

from adasadmm import (
    L1,
    Checkpoint,
    EpsilonInsensitive,
    Hinge,
    Huber,
    L2Squared,
    Logistic,
    Poisson,
    Problem,
    Quantile,
    Squared,
    SquaredHinge,
    StructuredRegressor,
    TotalVariation,
    TotalVariationDenoiser,
    graphs,
    losses,
    solve,
)
from adasadmm.certificates import duality
from adasadmm.linalg.paths import families_of
from adasadmm.rows.matrices import WithIntercept, as_csr, as_rows
from adasadmm.solvers import Iterations

pytestmark = [pytest.mark.kernels, pytest.mark.compiled]
LOSSES = {
    "squared": Squared(),
    "logistic": Logistic(),
    "poisson": Poisson(),
    "huber": Huber(0.5),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "quantile": Quantile(0.3),
    "epsilon_insensitive": EpsilonInsensitive(0.2),
}
SMOOTH = ["squared", "logistic", "poisson", "huber"]


class Steep(NamedTuple):
    """A loss with nothing but a value and a slope."""


losses.value.register(Steep, lambda loss, z, y: abs(z - y) ** 3)
losses.slope.register(Steep, lambda loss, z, y: 3.0 * (z - y) * abs(z - y))
SHAPES = {"grid": (5, 7), "cube": (3, 4, 3), "row": (1, 9)}


def graph_of(rng, shape):
    if shape == "any":
        d = 20
        edges = rng.integers(0, d, (40, 2))
        return np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0), d
    return graphs.grid(*SHAPES[shape]), int(np.prod(SHAPES[shape]))


def random_problem(seed, name, shape, nu=None, intercept=False, gamma=None, missing=0.0):
    rng = np.random.default_rng(seed)
    edges, d = graph_of(rng, shape)
    z = 1.5 * (np.arange(d) > d // 2) + 0.5 * rng.normal(size=d)
    y = {"poisson": rng.poisson(np.exp(z)) + 0.0}.get(name, z)
    y = np.where(z > 0.7, 1.0, -1.0) if name in ("logistic", "hinge", "squared_hinge") else y
    x = rng.uniform(0.5, 2.0, d) if seed % 2 and not intercept else np.ones(d)
    A = sp.diags_array(rng.uniform(0.5, 2.0, len(edges)) * rng.choice([-1, 1], len(edges))) @ graphs.incidence(
        edges, d=d
    )
    gamma = np.full(d, 0.02 if seed % 3 == 0 else 0.0) if gamma is None else np.full(d, gamma)
    X = as_rows(sp.csr_array(sp.diags_array(x)))
    if intercept:
        X, A, gamma = WithIntercept(X), sp.hstack([A, sp.csr_array((len(edges), 1))]), np.append(gamma, 0.0)
    nu = 10.0 ** rng.uniform(-2, 0.5) / d if nu is None else nu / d
    weight = rng.uniform(0.5, 2.0, d) if seed % 2 and not intercept else None
    penalty = L1(nu, rng.uniform(0.5, 2.0, len(edges)) if seed % 2 else None)
    if missing:
        weight = (1.0 if weight is None else weight) * (rng.random(d) > missing)
    return Problem(X, y, loss=LOSSES[name], penalty=penalty, A=A, gamma=gamma, sample_weight=weight)


def assert_optimal(problem, result, tol):
    best = optimum_of(problem)
    size = abs(best) + problem.loss_at_zero
    assert result.status.name == "converged"
    assert result.certificate.relative_gap <= tol
    assert problem.objective(result.w) <= best + 1e-7 * size + tol * abs(best)
    assert result.certificate.dual <= best + 1e-7 * size


CASES = [
    ("squared", "grid", 0),
    ("squared", "cube", 1),
    ("logistic", "grid", 1),
    ("poisson", "grid", 2),
    ("squared", "any", 1),
    ("logistic", "any", 2),
]


@pytest.mark.parametrize(("name", "shape", "seed"), CASES, ids=str)
def test_graphs_against_cvxpy(name, shape, seed):
    problem = random_problem(seed, name, shape)
    assert_optimal(problem, solve(problem, TotalVariation(), tol=1e-7), 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("shape", [*SHAPES, "any"])
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_graphs_against_cvxpy(name, shape, seed):
    problem = random_problem(seed, name, shape)
    solvers = [By("graph")] if shape == "any" else [By("grid"), By("graph")]
    for solver in solvers:
        assert_optimal(problem, solve(problem, solver, tol=1e-6), 1e-6)


@pytest.mark.parametrize("nu", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("solver", [By("grid"), By("graph")], ids=str)
def test_weak_and_strong_penalties(nu, solver):
    problem = random_problem(0, "squared", "grid", nu)
    result = solve(problem, solver, tol=1e-6)
    assert result.status.name == "converged"
    if nu >= 1e3:
        assert len(np.unique(result.w)) == 1


def test_pieces_of_an_image_are_equal_to_the_bit():
    rng = np.random.default_rng(0)
    image = np.zeros((16, 16))
    image[4:10, 5:12] = 1.0
    A = graphs.incidence(graphs.grid(16, 16), d=256)
    y = (image + 0.1 * rng.normal(size=image.shape)).reshape(-1)
    problem = Problem(np.eye(256), y, loss=Squared(), penalty=L1(0.3 / 256), A=A)
    result = solve(problem, TotalVariation(), tol=1e-6)
    assert len(np.unique(result.w)) <= 6
    np.testing.assert_array_equal(result.v == 0.0, A @ result.w == 0.0)


@pytest.mark.parametrize("strength", [0.05, 1.0, 3.0, 100.0])
def test_gradients_and_sweeps_reach_the_same_minimiser(strength):
    """Weak penalties are solved by gradient steps alone, strong ones begin with sweeps along the axes."""
    image = np.kron(np.random.default_rng(0).normal(size=(4, 4)), np.ones((5, 6)))
    y = (image + np.random.default_rng(1).normal(size=image.shape)).reshape(-1)
    A = graphs.incidence(graphs.grid(*image.shape), d=y.size)
    problem = Problem(np.eye(y.size), y, loss=Squared(), penalty=L1(strength / y.size), A=A)
    chains, gradient = solve(problem, By("grid"), tol=1e-9), solve(problem, By("graph"), tol=1e-9)
    assert chains.status.name == gradient.status.name == "converged"
    np.testing.assert_allclose(chains.w, gradient.w, atol=1e-4)


def test_a_result_warms_up_a_neighbouring_problem():
    problem = random_problem(4, "squared", "grid")
    further = problem.replaced(penalty=L1(0.99 * problem.penalty.nu))
    for solver in (By("grid"), By("graph")):
        warm = solver.begin(further, solve(problem, solver, tol=1e-9).run.point)
        warm.method.inner.improve(0)
        assert warm.method.inner.dual > 0.9 * solve(further, solver, tol=1e-9).certificate.primal


def test_a_chain_is_a_grid_of_one_row():
    problem = random_problem(4, "squared", "row")
    exact, found = solve(problem, TotalVariation()), solve(problem, By("grid"), tol=1e-9)
    np.testing.assert_allclose(found.w, exact.w, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_an_intercept_with_a_closed_form(gamma):
    problem = random_problem(0, "squared", "grid", intercept=True, gamma=gamma)
    result = solve(problem, TotalVariation(), tol=1e-7)
    assert_optimal(problem, result, 1e-7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": graphs.trend(4)}, "no differences"),
        ({"A": np.eye(3, 4) + np.eye(3, 4, k=1)}, "no differences"),
        ({"penalty": L2Squared(1.0)}, "the penalty is L2Squared"),
        ({"loss": Poisson(), "sample_weight": [1.0, 0.0, 1.0, 1.0]}, "a row has weight 0"),
        ({"loss": Steep()}, "Steep has no losses.second"),
        ({"X": np.ones((4, 4))}, "not diagonal"),
    ],
)
def test_unfit_problems_are_refused(change, message):
    A = graphs.incidence(graphs.grid(2, 2), d=4)
    given = {"X": np.eye(4), "y": [1.0, 2.0, 3.0, 4.0], "loss": Squared(), "penalty": L1(0.1), "A": A}
    with pytest.raises(ValueError, match=message):
        solve(Problem(**{**given, **change}), TotalVariation())


def test_a_run_continues_from_its_state():
    problem = random_problem(1, "squared", "grid")
    for solver in (By("grid"), By("graph")):
        whole = solve(problem, solver, tol=0.0, epochs=6)
        half = solve(problem, solver, tol=0.0, epochs=3)
        further = solve(problem, solver, tol=0.0, epochs=3, start=half)
        np.testing.assert_array_equal(further.w, whole.w)


# --- maximum flows ---------------------------------------------------------------------------------------------------


KINKED = ["hinge", "squared_hinge", "quantile", "epsilon_insensitive", "huber", "squared"]


def assert_exact(problem, solver):
    best, result = optimum_of(problem), solve(problem, solver, tol=1e-10)
    assert result.status.name == "converged" and result.run.monitor().iteration == 1
    size = abs(best) + problem.loss_at_zero
    assert abs(problem.objective(result.w) - best) <= 1e-6 * size
    assert result.certificate.dual <= best + 1e-6 * size


@pytest.mark.parametrize("name", KINKED)
def test_kinked_losses_and_missing_nodes_are_exact(name):
    for shape in ("grid", "any"):
        assert_exact(random_problem(1, name, shape, missing=0.3), TotalVariation())


@pytest.mark.slow
@pytest.mark.parametrize("nu", [None, 1e-6, 1e-3, 1e2, 1e6])
@pytest.mark.parametrize("name", KINKED)
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_kinked_losses_are_exact(name, nu, seed):
    gamma = 0.0 if name == "squared" else None  # with a ridge, no node is without curvature
    for shape in ("cube", "any", "row"):
        assert_exact(random_problem(seed, name, shape, nu, gamma=gamma, missing=0.3), By("cuts"))


@pytest.mark.parametrize("name", KINKED)
def test_cuts_agree_with_dynamic_programming(name):
    problem = random_problem(3, name, "row", missing=0.3)
    exact, found = solve(problem, TotalVariation()), solve(problem, By("cuts"))
    assert found.certificate.primal == pytest.approx(exact.certificate.primal, rel=1e-12)


def test_equal_targets_are_no_trouble():
    """Quantiles of few distinct values: most flows and values are not unique, and all sums are exact."""
    y = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    A = graphs.incidence(graphs.grid(20, 20), d=400)
    for strength in (0.125, 0.25, 0.5, 1.0, 4.0):
        problem = Problem(sp.eye_array(400), y, loss=Quantile(0.5), penalty=L1(strength / 400), A=A)
        result = solve(problem, TotalVariation(), tol=1e-12)
        assert result.status.name == "converged" and set(result.w) <= {0.0, 0.5, 1.0, 1.5, 2.0}


def test_families_are_recognised_in_any_order():
    rng = np.random.default_rng(0)
    A = graphs.incidence(graphs.grid(3, 4, 5), d=60).toarray() * rng.uniform(0.5, 2.0, (133, 1))
    A = A[rng.permutation(133)] * np.where(rng.random((133, 1)) < 0.5, -1.0, 1.0)
    families = families_of(as_csr(A, "A"))
    assert sorted(families.distance) == [1, 5, 20]
    w = rng.normal(size=60)
    high = families.low + families.distance[families.family]
    np.testing.assert_allclose(A @ w, families.scale * (w[families.low] - w[high]))


@pytest.mark.parametrize(
    "A",
    [
        np.eye(3),
        [[1.0, -1.0, 0.0], [0.0, 1.0, -2.0]],
        [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]],  # an edge comes twice
        np.eye(1, 12) - np.eye(12)[1:],  # a star has edges of eleven lengths
    ],
)
def test_other_matrices_have_no_families(A):
    assert families_of(as_csr(np.asarray(A), "A")) is None


# --- the certificate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_every_theta_gives_a_lower_bound(name, gamma):
    rng = np.random.default_rng(3)
    problem = random_problem(2, name, "grid", gamma=gamma)
    best = optimum_of(problem)
    for size in (1e-6, 0.1, 1.0):
        theta = size * problem.penalty.nu * rng.uniform(-1.0, 1.0, problem.m)
        w = rng.normal(size=problem.d)
        dual = duality.dual_value(problem, w, duality.slopes(problem, problem.predictions(w)), theta)
        assert dual.value <= best + 1e-7 * (1.0 + abs(best))


def test_a_missing_point_needs_balanced_multipliers():
    """At a row of weight 0 the multipliers must cancel; where they do not, the general repair takes over."""
    weight = np.ones(5)
    weight[2] = 0.0
    problem = Problem(
        np.eye(5), np.arange(5.0), loss=Squared(), penalty=L1(0.1), A=graphs.difference(5), sample_weight=weight
    )
    slopes, best = np.zeros(5), solve(problem, TotalVariation()).certificate.primal
    for theta in (np.full(4, 0.05), np.array([0.02, 0.05, -0.05, 0.03])):
        assert duality.dual_value(problem, np.zeros(5), slopes, theta).value <= best + 1e-12


# --- sparse and fused -------------------------------------------------------------------------------------------------


rng = np.random.default_rng(0)
EDGES = {
    "chain": graphs.difference(24),
    "grid": graphs.incidence(graphs.grid(4, 6), d=24),
    "graph": graphs.incidence(np.array([[0, 5], [5, 9], [0, 9], [2, 3]]), [1.0, 2.0, 0.5, 1.0], 24),
}


def settings(name, x=None, **more):
    x = np.ones(24) if x is None else x
    y = np.repeat([0.0, 3.0, -2.0], 8) + rng.normal(size=24)
    given = {
        "loss": Squared(),
        "penalty": L1(0.02, np.append(rng.uniform(0.5, 2.0, EDGES[name].shape[0]), np.full(24, 3.0))),
    }
    return {"X": np.diag(x), "y": y, "A": sp.vstack([EDGES[name], sp.eye_array(24)]), **given, **more}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_thresholding_gives_the_optimum(name, gamma):
    given = settings(name, gamma=gamma)
    problem, (value, w, _, _) = Problem(**given), references.optimum(**given)
    result = solve(problem, TotalVariation(), tol=1e-9)
    np.testing.assert_allclose(result.w, w, atol=1e-5)
    assert problem.objective(result.w) == pytest.approx(value, rel=1e-8)
    assert result.certificate.relative_gap <= 1e-9 and result.certificate.dual <= value * (1 + 1e-9)
    assert 0 < np.count_nonzero(result.w) < 24


def test_rows_that_share_a_coefficient_share_its_multiplier():
    given = settings(
        "chain", A=sp.vstack([graphs.difference(24), -2.0 * sp.eye_array(24), sp.eye_array(24)]), penalty=L1(0.01)
    )
    result = solve(Problem(**given), TotalVariation(), tol=1e-12)
    assert result.certificate.relative_gap <= 1e-12
    assert np.abs(result.theta).max() <= 0.01 + 1e-15


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"x": np.linspace(1.0, 2.0, 24)}, "is not the same, relative to their weights"),
        ({"loss": Huber()}, "the loss is not squared"),
        (
            {"A": sp.vstack([graphs.difference(24), np.eye(23, 24)]), "penalty": L1(0.1)},
            "is not the same, relative to their weights",
        ),
        ({"sample_weight": np.append(np.ones(23), 0.0)}, "is not the same, relative to their weights"),
    ],
)
def test_thresholding_that_is_not_exact_is_refused(more, reason):
    with pytest.raises(ValueError, match=reason):
        solve(Problem(**settings("chain", **more)), TotalVariation())


@pytest.mark.parametrize("name", EDGES)
def test_a_thresholded_run_goes_on_from_its_state(name):
    problem = Problem(**settings(name))
    run = solve(problem, TotalVariation(), epochs=1, tol=0.0).run
    fork = run.fork(problem)
    np.testing.assert_array_equal(fork.point.w, run.point.w)
    assert fork.certify().dual == run.certify().dual
    state, before = run.state(), run.point.w.copy()
    again = run.fork(problem.with_strength(0.5))
    again.advance(Iterations(2))
    again.restore(state)
    np.testing.assert_array_equal(again.point.w, before)
    for each in (run, again.fork(problem)):
        each.restore(state)
        each.advance(Iterations(1))
    np.testing.assert_array_equal(run.point.w, each.point.w)


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_checkpoint_of_a_run_is_resumed(tmp_path, epochs):
    problem, kept = Problem(**settings("chain")), Checkpoint(tmp_path / "kept")
    settings_of_run = {"epochs": epochs, "tol": 0.0, "checkpoint": kept}
    whole = solve(problem, TotalVariation(), **settings_of_run, callback=lambda snapshot: True)
    resumed = solve(problem, TotalVariation(), **settings_of_run, resume=True)
    np.testing.assert_array_equal(whole.w, resumed.w)


def test_estimators_threshold_and_images_have_a_background_of_zeros():
    model = StructuredRegressor("chain", alpha=0.02, l2=0.0, l1_ratio=0.3, fit_intercept=False)
    model.fit(sp.eye_array(24, format="csr"), settings("chain")["y"])
    assert (
        model.solver_ == TotalVariation() and "soft-thresholding" in model.solver_reason_ and model.dual_gap_ <= 1e-12
    )
    image = np.zeros((8, 9))
    image[2:5, 3:7] = 5.0
    noisy = image + 0.3 * rng.normal(size=image.shape)
    denoiser = TotalVariationDenoiser(alpha=0.01, l1_ratio=0.3)
    found = denoiser.fit_transform(noisy)
    np.testing.assert_array_equal(found == 0.0, image == 0.0)
    assert isinstance(denoiser.solver_, TotalVariation)
    noisy[0, 0] = np.nan  # a missing pixel has no weight: another method
    found = denoiser.fit_transform(noisy)
    np.testing.assert_array_equal(found == 0.0, image == 0.0)
    assert not isinstance(denoiser.solver_, TotalVariation)
