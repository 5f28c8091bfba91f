"""Total variation along chains: the dynamic programme, the recognition of paths, and the solver built on them."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from references import optimum_of

from adasadmm import (
    L1,
    ChainTV,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Problem,
    Quantile,
    Squared,
    SquaredHinge,
    TotalVariation,
    graphs,
    path,
    solve,
)
from adasadmm.linalg.chain import fused_chain
from adasadmm.linalg.chain_path import expanded, pieces_along
from adasadmm.linalg.paths import paths_of
from adasadmm.regularization.alpha_max import alpha_max
from adasadmm.rows.matrices import WithIntercept, as_csr, as_rows, diagonal_of

pytestmark = pytest.mark.kernels


def differences(n):
    return np.diff(np.eye(n), axis=0)


def forces(h, t, w):
    return h * (w - t)


def weights(rng, n, zeros=0.3):
    return rng.uniform(0.1, 3.0, n) * (rng.random(n) > zeros)


# --- the dynamic programme -------------------------------------------------------------------------------------------


def assert_minimised(h, t, edges, solution=None):
    """The forces up to an edge are a subgradient of its penalty at the difference of its ends."""
    w, u = fused_chain(h, t, edges) if solution is None else solution
    jumps = np.diff(w)
    assert (np.abs(u) <= edges).all()
    np.testing.assert_array_equal(u[jumps != 0.0], (edges * np.sign(jumps))[jumps != 0.0])
    atol = 1e-12 * (1 + np.max(edges, initial=0.0))
    np.testing.assert_allclose(np.diff(u, prepend=0.0, append=0.0), forces(h, t, w), atol=atol)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(30))
def test_multipliers_prove_the_minimiser(seed, zeros):
    rng = np.random.default_rng(seed)
    n, strength = int(rng.integers(1, 60)), 10.0 ** rng.uniform(-6, 6)
    h, t = weights(rng, n, zeros), rng.normal(size=n) + 10.0 * rng.normal()
    edges = strength * weights(rng, n - 1, zeros)
    h[rng.integers(n)] = 1.0
    assert_minimised(h, t, edges)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(15))
def test_strengths_that_are_solved_together(seed, zeros):
    rng = np.random.default_rng(seed)
    n, strengths = int(rng.integers(1, 80)), (10.0 ** rng.uniform(-5, 2, 8)).tolist()
    h, t = weights(rng, n, zeros), 100.0 + rng.integers(0, 5, n) + rng.choice([0.0, 1.0]) * rng.normal(size=n)
    found = pieces_along(h, t, strengths)
    for strength in strengths:
        assert_minimised(h, t, np.full(n - 1, strength), expanded(h, t, strength, found[strength]))


def test_pieces_of_a_weak_penalty_lie_within_those_of_a_strong_one():
    t, strengths = np.random.default_rng(0).normal(size=300).cumsum(), [3.0, 0.1, 1.0]
    found = pieces_along(0.5, t, strengths)
    weak, middle, strong = (set(found[strength].last.tolist()) for strength in sorted(strengths))
    assert weak > middle > strong


def test_ties_do_not_jump_in_the_wrong_direction():
    """With whole numbers, neighbouring pieces often have the same value, which rounding must not tell apart."""
    rng = np.random.default_rng(0)
    y = rng.poisson(np.exp(np.repeat(rng.normal(size=20), 500))).astype(float)
    problem = Problem(
        sp.eye_array(10_000), y, loss=Poisson(), penalty=L1(3.0 / 10_000), A=graphs.incidence(graphs.chain(10_000))
    )
    assert solve(problem, TotalVariation()).certificate.relative_gap < 1e-12


@pytest.mark.parametrize("strength", [1.0, 30.0, 1e3, 1e5])
def test_a_chain_on_which_the_scan_goes_back_far(strength):
    """A random walk has few pieces whose ends show late; under strong penalties the dynamic programme takes over."""
    rng = np.random.default_rng(0)
    t, h, edges = np.cumsum(rng.normal(size=5000)), np.ones(5000), np.full(4999, strength)
    assert_minimised(h, t, edges)


def test_pieces_are_equal_to_the_bit():
    rng = np.random.default_rng(0)
    t = np.repeat(rng.normal(size=20), 50) + 0.3 * rng.normal(size=1000)
    w, _ = fused_chain(np.ones(1000), t, np.full(999, 2.0))
    assert 10 < len(np.unique(w)) < 100


def test_an_edge_of_weight_0_separates_two_chains():
    rng = np.random.default_rng(1)
    h, t, edges = rng.uniform(0.5, 2.0, 50), rng.normal(size=50), rng.uniform(0.1, 1.0, 49)
    edges[19] = 0.0
    whole, _ = fused_chain(h, t, edges)
    apart = [fused_chain(h[:20], t[:20], edges[:19])[0], fused_chain(h[20:], t[20:], edges[20:])[0]]
    np.testing.assert_allclose(whole, np.concatenate(apart), rtol=1e-13, atol=1e-13)


def test_a_missing_node_is_an_edge_as_weak_as_the_weaker_one():
    rng = np.random.default_rng(2)
    h, t, edges = rng.uniform(0.5, 2.0, 30), rng.normal(size=30), rng.uniform(0.1, 1.0, 29)
    h[[0, 11, 12, 29]] = 0.0
    present = np.flatnonzero(h)
    between = np.array([edges[i:j].min() for i, j in itertools.pairwise(present)])
    w, _ = fused_chain(h, t, edges)
    alone, _ = fused_chain(h[present], t[present], between)
    np.testing.assert_allclose(w[present], alone, rtol=1e-12, atol=1e-12)
    assert w[0] == w[1] and w[29] == w[28]
    assert min(w[10], w[13]) <= min(w[11], w[12]) <= max(w[11], w[12]) <= max(w[10], w[13])


def test_a_shift_of_the_targets_shifts_the_minimiser():
    rng = np.random.default_rng(3)
    h, t, edges = rng.uniform(0.5, 2.0, 500), rng.normal(size=500), np.full(499, 3.0)
    (w, _), (shifted, _) = fused_chain(h, t, edges), fused_chain(h, t + 1e8, edges)
    np.testing.assert_allclose(shifted - 1e8, w, atol=1e-6)


def test_nothing_but_missing_nodes():
    np.testing.assert_array_equal(fused_chain(np.zeros(3), np.ones(3), np.ones(2))[0], np.zeros(3))


# --- recognition -----------------------------------------------------------------------------------------------------


def test_paths_are_recognised_in_any_order():
    rng = np.random.default_rng(4)
    d = 40
    A = np.delete(differences(d), [7, 8, 20], axis=0) * rng.uniform(0.5, 2.0, (36, 1))
    A = A[rng.permutation(36)][:, rng.permutation(d)] * np.where(rng.random((36, 1)) < 0.5, -1.0, 1.0)
    paths = paths_of(as_csr(A, "A"))
    assert sorted(paths.order) == list(range(d)) and (paths.rows >= 0).sum() == 36
    w = rng.normal(size=d)
    tied = paths.rows >= 0
    np.testing.assert_allclose((A @ w)[paths.rows[tied]], (-paths.weights * np.diff(w[paths.order]))[tied])
    assert not paths.weights[~tied].any()


@pytest.mark.parametrize(
    "A",
    [
        np.eye(3),
        [[1.0, -1.0, 0.0], [0.0, 1.0, -2.0]],
        [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]],
        [[1.0, -1.0, 0.0, 0.0], [1.0, 0.0, -1.0, 0.0], [1.0, 0.0, 0.0, -1.0]],
        [[1.0, -1.0, 0.0], [1.0, -1.0, 0.0]],
        graphs.trend(5),
    ],
)
def test_other_matrices_are_no_paths(A):
    assert paths_of(as_csr(A, "A")) is None


def test_the_natural_chain_needs_no_walk():
    assert paths_of(as_csr(graphs.difference(5), "A")).natural
    assert paths_of(as_csr(graphs.difference(5), "A")).even
    assert not paths_of(as_csr(2.0 * graphs.difference(5), "A")).even
    assert not paths_of(as_csr(-graphs.difference(5)[::-1], "A")).natural


def test_equal_weights_need_no_arrays():
    """A chain with equal weights in its natural order, and the same one in another order, to the last bits."""
    rng = np.random.default_rng(5)
    n = 200
    y, order = np.repeat(rng.normal(size=10), 20) + 0.3 * rng.normal(size=n), rng.permutation(n)
    A = graphs.difference(n)
    plain = solve(Problem(sp.eye_array(n), y, loss=Squared(), penalty=L1(0.005), A=A), TotalVariation())
    mixed = solve(
        Problem(sp.eye_array(n), y[order], loss=Squared(), penalty=L1(0.005), A=A[:, order]), TotalVariation()
    )
    np.testing.assert_allclose(plain.w[order], mixed.w, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(plain.theta, mixed.theta, rtol=0.0, atol=1e-16)
    assert abs(plain.certificate.relative_gap) < 1e-12


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_diagonal_of_rows(form):
    values = np.array([1.0, 0.0, 3.0])
    np.testing.assert_array_equal(diagonal_of(as_rows(form(np.diag(values)))), values)
    np.testing.assert_array_equal(diagonal_of(WithIntercept(as_rows(form(np.diag(values))))), values)
    assert diagonal_of(as_rows(form(np.ones((3, 3))))) is None
    assert diagonal_of(as_rows(form(np.eye(3)[::-1]))) is None
    assert diagonal_of(as_rows(form(np.eye(3)[:2]))) is None
    assert diagonal_of(as_rows(form(np.eye(3, k=1)))) is None


# --- the solver ------------------------------------------------------------------------------------------------------

LOSSES = {
    "squared": Squared(),
    "logistic": Logistic(),
    "poisson": Poisson(),
    "quantile": Quantile(0.3),
    "epsilon": EpsilonInsensitive(0.2),
    "hinge": Hinge(),
    "huber": Huber(0.4),
    "squared-hinge": SquaredHinge(),
}


def data(rng, name, n):
    z = np.repeat(rng.normal(size=n // 5 + 1), 5)[:n] + 0.5 * rng.normal(size=n)
    if name == "poisson":
        return rng.poisson(np.exp(z)) + 0.0
    return np.where(z > 0.0, 1.0, -1.0) if name in ("logistic", "hinge", "squared-hinge") else z


def assert_optimal(problem, result):
    """CVXPY finds no lower objective, the certificate encloses its value, and the gap is rounding."""
    best = optimum_of(problem)
    size = abs(best) + problem.loss_at_zero
    assert problem.objective(result.w) <= best + 1e-7 * size
    assert result.certificate.dual <= best + 1e-7 * size
    assert result.certificate.gap <= 1e-9 * size
    assert result.status.name == "converged"


def random_problem(seed, name, intercept=False):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 50))
    y, A = data(rng, name, n), sp.csr_array(differences(n))
    if seed % 2:
        keep = rng.random(n - 1) < 0.8
        A = sp.csr_array(sp.diags_array(rng.uniform(0.5, 2.0, n - 1)) @ A)[keep]
        A = A[rng.permutation(A.shape[0])][:, rng.permutation(n)]
    penalty = L1(10.0 ** rng.uniform(-3, 0.5) / n, rng.uniform(0.5, 2.0, A.shape[0]) if seed % 3 else None)
    if seed % 4 == 0:
        A, penalty = sp.eye_array(n), ChainTV(penalty.nu, None if seed % 3 == 0 else rng.uniform(0.5, 2.0, n - 1))
    gamma = [0.0, 0.1, rng.uniform(0.0, 0.2, n)][seed % 3]
    weight = rng.integers(1, 4, n) * (rng.random(n) < 0.9) if seed % 2 else None
    weight = None if weight is None or not weight.any() else weight
    x = rng.uniform(0.5, 2.0, n) if seed % 3 == 1 else np.ones(n)
    X = as_rows(sp.diags_array(x).tocsr())
    if intercept:
        X, A, gamma = WithIntercept(X), sp.hstack([A, sp.csr_array((A.shape[0], 1))]), np.append(gamma + np.zeros(n), 0)
    return Problem(X, y, loss=LOSSES[name], penalty=penalty, A=A, gamma=gamma, sample_weight=weight)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_chains_against_cvxpy(seed, name):
    problem = random_problem(seed, name)
    assert_optimal(problem, solve(problem, TotalVariation()))


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", range(4, 60))
def test_many_chains_against_cvxpy(seed, name):
    problem = random_problem(seed, name, intercept=seed % 5 == 0 and seed % 4 != 0)
    assert_optimal(problem, solve(problem, TotalVariation()))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_free_intercept(seed, name):
    problem = random_problem(seed, name, intercept=True)
    assert_optimal(problem, solve(problem, TotalVariation()))


@pytest.mark.parametrize("strength", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_weak_and_strong_penalties(strength):
    rng = np.random.default_rng(5)
    y = data(rng, "squared", 200)
    problem = Problem(
        sp.eye_array(200, format="csr"), y, loss=Squared(), penalty=L1(strength / 200), A=graphs.difference(200)
    )
    result = solve(problem, TotalVariation())
    assert result.certificate.gap <= 1e-13 * problem.loss_at_zero
    if strength >= 1e3:
        np.testing.assert_allclose(result.w, y.mean(), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_the_shortest_chains(n):
    problem = Problem(np.eye(n), np.arange(n) + 1.0, loss=Squared(), penalty=L1(0.1), A=graphs.difference(n))
    result = solve(problem, TotalVariation())
    np.testing.assert_allclose(result.w, [1.0] if n == 1 else [1.2, 1.8])
    assert result.certificate.relative_gap <= 1e-12


def test_missing_points():
    rng = np.random.default_rng(6)
    y, weight = rng.normal(size=60), np.ones(60)
    weight[[0, 20, 21, 22, 59]] = 0.0
    problem = Problem(np.eye(60), y, loss=Squared(), penalty=L1(0.01), A=graphs.difference(60), sample_weight=weight)
    result = solve(problem, TotalVariation())
    assert result.certificate.relative_gap <= 1e-12
    y[weight == 0.0] = 1e6
    other = solve(problem.replaced(rows=problem.rows._replace(y=y)), TotalVariation())
    np.testing.assert_array_equal(other.w, result.w)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.ones((3, 3))}, r"X, of shape \(3, 3\), is not diagonal"),
        ({"b": [1.0, 0.0]}, "b is not 0"),
        ({"penalty": ChainTV(0.1)}, "no differences along disjoint paths"),
    ],
)
def test_unfit_problems_are_refused(change, message):
    given = {"X": np.eye(3), "y": [1.0, 2.0, 3.0], "loss": Squared(), "penalty": L1(0.1), "A": graphs.difference(3)}
    with pytest.raises(ValueError, match=message):
        solve(Problem(**{**given, **change}), TotalVariation())


def test_a_result_can_be_continued_with_another_penalty():
    rng = np.random.default_rng(7)
    problem = Problem(np.eye(30), rng.normal(size=30), loss=Squared(), penalty=L1(0.1), A=graphs.difference(30))
    first = solve(problem, TotalVariation())
    weaker = problem.with_penalty(L1(0.01))
    again, fresh = solve(weaker, TotalVariation(), start=first), solve(weaker, TotalVariation())
    np.testing.assert_array_equal(again.w, fresh.w)


@pytest.mark.parametrize("change", [{}, {"gamma": 0.1}, {"sample_weight": np.arange(1.0, 41.0)}])
def test_a_path_has_the_solutions_of_single_problems(change):
    y, alphas = np.random.default_rng(0).normal(size=40).cumsum(), [0.3, 0.1, 0.01, 0.001]
    problem = Problem(np.eye(40), y, loss=Squared(), penalty=L1(1.0), A=graphs.difference(40), **change)
    for alpha, result in zip(alphas, path(problem, alphas), strict=True):
        alone = solve(problem.with_penalty(L1(alpha)), TotalVariation())
        np.testing.assert_allclose(result.w, alone.w, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(result.theta, alone.theta, rtol=1e-9, atol=1e-14)
        assert result.status is alone.status and result.certificate.relative_gap < 1e-10
        assert list(result.trace) == list(alone.trace) and len(result.trace["objective"]) == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), Logistic(), Poisson()])
def test_the_largest_strength_is_the_largest_multiplier(loss, weighted):
    rng = np.random.default_rng(1)
    y = np.where(rng.random(30) > 0.4, 1.0, -1.0) if isinstance(loss, Logistic) else rng.normal(size=30)
    y = np.floor(np.exp(1.0 + y)) if isinstance(loss, Poisson) else y
    edges = rng.uniform(0.5, 2.0, 29) if weighted else None
    problem = Problem(np.eye(30), y, loss=loss, penalty=L1(1.0, edges), A=graphs.difference(30))
    top = alpha_max(problem)
    at, below = path(problem, [top, 0.999 * top], tol=1e-10)
    assert not at.v.any() and below.v.any()
