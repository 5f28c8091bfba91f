"""Sparse and fused signals and images where X is diagonal: the thresholded fused solution is the optimum."""

import numpy as np
import pytest
import references
import scipy.sparse as sp

from adasadmm import (
    L1,
    AlternatingChains,
    ChainDP,
    Checkpoint,
    DualGradient,
    Huber,
    Problem,
    SoftThreshold,
    Squared,
    StructuredRegressor,
    TotalVariationDenoiser,
    graphs,
    solve,
)
from adasadmm.solvers import Iterations

rng = np.random.default_rng(0)
EDGES = {
    "chain": (graphs.difference(24), ChainDP()),
    "grid": (graphs.incidence(graphs.grid(4, 6), d=24), AlternatingChains()),
    "graph": (graphs.incidence(np.array([[0, 5], [5, 9], [0, 9], [2, 3]]), [1.0, 2.0, 0.5, 1.0], 24), DualGradient()),
}


def settings(name, x=None, **more):
    differences, _ = EDGES[name]
    x = np.ones(24) if x is None else x
    y = np.repeat([0.0, 3.0, -2.0], 8) + rng.normal(size=24)
    given = {
        "loss": Squared(),
        "penalty": L1(0.02, np.append(rng.uniform(0.5, 2.0, differences.shape[0]), np.full(24, 3.0))),
    }
    return {"X": np.diag(x), "y": y, "A": sp.vstack([differences, sp.eye_array(24)]), **given, **more}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_it_is_the_optimum(name, gamma):
    given = settings(name, gamma=gamma)
    problem, (value, w, _, _) = Problem(**given), references.optimum(**given)
    result = solve(problem, SoftThreshold(EDGES[name][1]), tol=1e-9)
    np.testing.assert_allclose(result.w, w, atol=1e-5)
    assert problem.objective(result.w) == pytest.approx(value, rel=1e-8)
    assert result.certificate.relative_gap <= 1e-9 and result.certificate.dual <= value * (1 + 1e-9)
    assert 0 < np.count_nonzero(result.w) < 24


def test_rows_that_share_a_coefficient_share_its_multiplier():
    given = settings(
        "chain", A=sp.vstack([graphs.difference(24), -2.0 * sp.eye_array(24), sp.eye_array(24)]), penalty=L1(0.01)
    )
    result = solve(Problem(**given), SoftThreshold(), tol=1e-12)
    assert result.certificate.relative_gap <= 1e-12
    assert np.abs(result.theta).max() <= 0.01 + 1e-15


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"x": np.linspace(1.0, 2.0, 24)}, "is not the same, relative to their weights"),
        ({"loss": Huber()}, "the loss is not squared"),
        ({"A": graphs.difference(24), "penalty": L1(0.1)}, "is not the same, relative to their weights"),
        ({"sample_weight": np.append(np.ones(23), 0.0)}, "is not the same, relative to their weights"),
    ],
)
def test_where_it_is_not_exact_it_refuses(more, reason):
    with pytest.raises(ValueError, match=reason):
        solve(Problem(**settings("chain", **more)), SoftThreshold())
    with pytest.raises(ValueError, match="rows of A are no differences along disjoint paths"):
        solve(Problem(**settings("graph")), SoftThreshold())


@pytest.mark.parametrize("name", EDGES)
def test_a_run_goes_on_from_its_state(name):
    problem = Problem(**settings(name))
    run = solve(problem, SoftThreshold(EDGES[name][1]), epochs=1, tol=0.0).run
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
    whole = solve(problem, SoftThreshold(), **settings_of_run, callback=lambda snapshot: True)
    resumed = solve(problem, SoftThreshold(), **settings_of_run, resume=True)
    np.testing.assert_array_equal(whole.w, resumed.w)


def test_estimators_choose_it_and_images_have_a_background_of_zeros():
    model = StructuredRegressor("chain", alpha=0.02, l2=0.0, l1_ratio=0.3, fit_intercept=False)
    model.fit(sp.eye_array(24, format="csr"), settings("chain")["y"])
    assert model.solver_ == SoftThreshold(ChainDP()) and model.dual_gap_ <= 1e-12
    image = np.zeros((8, 9))
    image[2:5, 3:7] = 5.0
    noisy = image + 0.3 * rng.normal(size=image.shape)
    denoiser = TotalVariationDenoiser(alpha=0.01, l1_ratio=0.3)
    found = denoiser.fit_transform(noisy)
    np.testing.assert_array_equal(found == 0.0, image == 0.0)
    assert isinstance(denoiser.solver_, SoftThreshold)
    noisy[0, 0] = np.nan  # a missing pixel has no weight: another method
    found = denoiser.fit_transform(noisy)
    np.testing.assert_array_equal(found == 0.0, image == 0.0)
    assert not isinstance(denoiser.solver_, SoftThreshold)
