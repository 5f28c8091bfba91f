"""The network lasso: a model for each node, equal to CVXPY's optimum, with labels, places and bad input."""

import pickle
import tracemalloc
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from adasadmm import (
    IPM,
    ConsensusADMM,
    GroupL2,
    Huber,
    Logistic,
    Multinomial,
    NetworkLassoClassifier,
    NetworkLassoRegressor,
    Problem,
    Quantile,
    Squared,
    graphs,
    load_model,
    save_model,
    solve,
)
from adasadmm.estimators._network import blocks_of_nodes, differences_of_nodes, geometric_medians
from adasadmm.linalg.block_systems import BlockSystem, block_starts
from adasadmm.rows.matrices import as_csr

pytestmark = pytest.mark.kernels

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [1, 3]])


def network(seed, nodes=6, d=3, per=4, empty=()):
    """Rows of some nodes of a small graph; two clusters of models."""
    rng = np.random.default_rng(seed)
    edges = np.vstack([np.column_stack([np.arange(nodes - 1), np.arange(1, nodes)]), [[0, nodes - 1], [1, nodes - 2]]])
    node = np.setdiff1d(np.arange(nodes), empty).repeat(per)
    models = np.where(np.arange(nodes)[:, None] < nodes // 2, rng.normal(size=d), rng.normal(size=d))
    X = rng.normal(size=(len(node), d))
    y = (X * models[node]).sum(axis=1) + 0.3 * rng.normal(size=len(node))
    return np.unique(edges, axis=0), X, y, rng.permutation(len(node)), node


def cvxpy_loss(loss, z, y):
    if loss == "squared":
        return cp.square(z - y) / 2
    if loss == "huber":
        return cp.huber(z - y, 1.0) / 2
    if loss == "quantile":
        return cp.abs(y - z) / 2
    return cp.pos(1 - cp.multiply(y, z)) if loss == "hinge" else cp.logistic(-cp.multiply(y, z))


def cvxpy_optimum(loss, edges, weights, X, y, node, alpha, l2, norm, nodes):
    """The optimum of the estimators' objective, written down once more."""
    W, b = cp.Variable((nodes, X.shape[1])), cp.Variable(nodes)
    z = cp.sum(cp.multiply(X, W[node]), axis=1) + b[node]
    models = cp.hstack([W, cp.reshape(b, (nodes, 1), order="C")])
    apart = [
        w * cp.norm(models[i] - models[j], 2 if norm == "l2" else 1) for (i, j), w in zip(edges, weights, strict=True)
    ]
    seen = np.unique(node)
    total = cp.sum(cvxpy_loss(loss, z, y)) / len(y) + l2 / 2 * cp.sum_squares(W[seen]) + alpha * sum(apart)
    problem = cp.Problem(cp.Minimize(total))
    problem.solve(solver=cp.CLARABEL)
    return problem.value, W.value, b.value


def agrees_with_cvxpy(seed, loss, norm, solver):
    edges, X, y, order, node = network(seed, nodes=5 + seed % 4, empty=[2] if seed % 2 else [])
    rng = np.random.default_rng(seed)
    weights, alpha, l2 = rng.uniform(0.5, 2.0, len(edges)), 10.0 ** rng.uniform(-2.5, -0.5), 10.0 ** rng.uniform(-3, -1)
    X, y, node, nodes = X[order], y[order], node[order], int(edges.max()) + 1
    labels = loss in ("hinge", "logistic")
    y = np.where(y > 0, 1.0, -1.0) if labels else y
    best, W, b = cvxpy_optimum(loss, edges, weights, X, y, node, alpha, l2, norm, nodes)
    cls = NetworkLassoClassifier if labels else NetworkLassoRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls((edges, weights), alpha, loss, l2=l2, norm=norm, solver=solver, tol=1e-6).fit(X, y, groups=node)
    gap = max(model.dual_gap_, 0.0)
    # The certificate is true: the optimum lies between the bound and the objective.
    assert best <= model.objective_ * (1 + 1e-7) + 1e-9
    assert model.objective_ * (1 - gap) <= best * (1 + 1e-6) + 1e-8
    assert model.objective_ <= best * (1 + max(2e-6, 2 * gap)) + 1e-8
    if loss in ("squared", "logistic") and gap <= 1e-6:
        predicted, known = model._scores(X, node, None, None), (X * W[node]).sum(axis=1) + b[node]
        assert_allclose(predicted, known, atol=5e-3 * (1 + np.abs(known).max()))


@pytest.mark.parametrize(("seed", "loss"), [(0, "squared"), (1, "squared"), (2, "hinge")])
def test_the_optimum_is_that_of_cvxpy(seed, loss):
    agrees_with_cvxpy(seed, loss, "l2", "auto")


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", ConsensusADMM()], ids=["auto", "consensus"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["squared", "huber", "quantile", "hinge", "logistic"])
@pytest.mark.parametrize("seed", [10, 11])
def test_the_optimum_is_that_of_cvxpy_for_all_losses_norms_and_solvers(seed, loss, norm, solver):
    agrees_with_cvxpy(seed, loss, norm, solver)


def test_blocks_are_the_finest_intervals_of_columns_that_no_row_leaves():
    X = as_csr([[1.0, 2.0, 0, 0, 0], [0, 3.0, 0, 0, 0], [0, 0, 0, 4.0, 5.0], [0, 0, 0, 0, 0]], "X")
    assert block_starts(X).tolist() == [0, 2, 3, 5]


@pytest.mark.parametrize("per", [1, 3, 8])
def test_a_block_system_is_the_whole_system(per):
    rng = np.random.default_rng(per)
    node = rng.permutation(np.repeat([0, 1, 3], per))
    X = blocks_of_nodes(rng.normal(size=(3 * per, 4)), node, 4, True)
    rows, h, e, r = rng.uniform(0.5, 2, 3 * per), rng.uniform(0.5, 2, 20), rng.normal(size=20), rng.normal(size=3 * per)
    system = BlockSystem(as_csr(X, "X"))
    system.factor(rows, h)
    w, Xw = system.solve(e, r)
    dense = X.toarray()
    expected = np.linalg.solve(dense.T @ (rows[:, None] * dense) + np.diag(h), e + dense.T @ r)
    assert_allclose(w, expected, atol=1e-12)
    assert_allclose(Xw, dense @ expected, atol=1e-12)


@pytest.mark.parametrize(
    "loss",
    [Squared(), *(pytest.param(loss, marks=pytest.mark.slow) for loss in (Logistic(), Huber(), Quantile()))],
    ids=lambda loss: type(loss).__name__,
)
def test_consensus_admm_repeats_and_resumes_bit_for_bit_and_equals_ipm(loss):
    edges, X, y, _, node = network(1)
    y = np.sign(y) if isinstance(loss, Logistic) else y
    A = differences_of_nodes(edges, 6, 4)
    penalty = GroupL2(0.03, np.arange(len(edges) * 4).reshape(-1, 4))
    problem = Problem(blocks_of_nodes(X, node, 6, True), y, loss=loss, penalty=penalty, A=A, gamma=0.01)
    whole = solve(problem, ConsensusADMM(), epochs=40, tol=0.0)
    again = solve(problem, ConsensusADMM(), epochs=40, tol=0.0)
    half = solve(problem, ConsensusADMM(), epochs=20, tol=0.0)
    resumed = solve(problem, ConsensusADMM(), epochs=20, tol=0.0, start=half)
    assert whole.w.tobytes() == again.w.tobytes() == resumed.w.tobytes()
    best = solve(problem, IPM(), tol=1e-9).certificate
    found = solve(problem, ConsensusADMM(), tol=1e-6).certificate
    assert found.dual <= best.primal * (1 + 1e-9) and found.primal >= best.dual * (1 - 1e-9)
    assert found.relative_gap <= 1e-6


def test_nodes_are_labels_and_a_node_without_rows_follows_its_neighbours():
    rng = np.random.default_rng(0)
    town = np.repeat(["york", "bath"], 40)
    X = rng.normal(size=(80, 2))
    y = X @ [1.0, -1.0] + 0.1 * rng.normal(size=80)
    edges = [["york", "bath"], ["bath", "hull"], ["hull", "york"]]
    model = NetworkLassoRegressor(edges, 0.5).fit(X, y, groups=town)
    assert model.nodes_.tolist() == ["bath", "hull", "york"]
    assert model.coef_.shape == (3, 2) and model.intercept_.shape == (3,)
    assert (model.coef_ == model.coef_[0]).all() and model.clusters_.tolist() == [0, 0, 0]
    same = NetworkLassoRegressor(graphs.Graph([[2, 0], [0, 1], [1, 2]], None, 3), 0.5)
    numbers = {"bath": 0, "hull": 1, "york": 2}
    same.fit(X, y, groups=[numbers[name] for name in town])
    assert_allclose(same.coef_, model.coef_, atol=1e-10)
    assert "3 nodes, 3 edges, 2 features" in model.summary() and "1 clusters of nodes" in model.summary()


def test_rows_of_weight_0_are_absent():
    edges, X, y, _, node = network(2)
    there, settings = node != 3, {"alpha": 0.02, "l2": 0.1, "tol": 1e-9}
    weighted = NetworkLassoRegressor(edges, **settings).fit(X, y, groups=node, sample_weight=there.astype(float))
    without = NetworkLassoRegressor(edges, **settings).fit(X[there], y[there], groups=node[there])
    assert_allclose(weighted.coef_, without.coef_, atol=1e-6)
    assert_allclose(weighted.intercept_, without.intercept_, atol=1e-6)


def test_one_node_is_a_ridge_regression():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = NetworkLassoRegressor(graphs.Graph(np.empty((0, 2), int), None, 1), l2=0.1, tol=1e-9)
    model.fit(X, y, groups=np.zeros(30, int))
    centred = X - X.mean(axis=0)
    expected = np.linalg.solve(centred.T @ centred / 30 + 0.1 * np.eye(2), centred.T @ (y - y.mean()) / 30)
    assert_allclose(model.coef_[0], expected, atol=1e-6)


def test_new_places_get_the_geometric_median_or_the_nearest_model():
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(40, 2))
    node = np.arange(40).repeat(3)
    X = rng.normal(size=(120, 1))
    y = X[:, 0] * np.where(places[node, 0] < 0.5, 1.0, -1.0)
    model = NetworkLassoRegressor("knn", 0.01, coordinates=places, n_neighbors=3).fit(X, y, groups=node)
    assert model.graph_weights_.mean() == pytest.approx(1.0)
    new = [[0.1, 0.5], [0.9, 0.5]]
    assert np.sign(model.predict(np.ones((2, 1)), coordinates=new)).tolist() == [1.0, -1.0]
    model.set_params(unseen="nearest").fit(X, y, groups=node)
    assert_allclose(model.predict(X, coordinates=places[node]), model.predict(X, groups=node))


def test_a_prediction_at_a_new_place_does_not_depend_on_the_other_rows():
    rng = np.random.default_rng(3)
    places, node = rng.normal(size=(20, 2)), np.repeat(np.arange(20), 5)
    X = rng.normal(size=(100, 2))
    y = X @ [1.0, -1.0] * places[node, 0] + rng.normal(size=100)
    model = NetworkLassoRegressor("knn", 1e-3, coordinates=places, n_neighbors=3).fit(X, y, groups=node)
    where = 3.0 * rng.normal(size=(100, 2))
    together = model.predict(X, coordinates=where)
    assert_allclose([model.predict(X[i : i + 1], coordinates=where[i : i + 1])[0] for i in range(10)], together[:10])


def test_the_geometric_median_minimises_the_weighted_sum_of_distances():
    rng = np.random.default_rng(0)
    points, weight = rng.normal(size=(20, 4, 3)), rng.uniform(0.1, 2.0, size=(20, 4))

    def total(x):
        return np.einsum("rk,rk->r", weight, np.linalg.norm(points - x[:, None], axis=2))

    best = geometric_medians(points, weight)
    for _ in range(50):
        assert (total(best) <= total(best + 0.05 * rng.normal(size=best.shape)) + 1e-9).all()
    weight[:, 0] = 100.0  # then the first point is the median
    assert (geometric_medians(points, weight) == points[:, 0]).all()


def test_a_model_is_cloned_saved_pickled_and_fitted_again_to_the_same_bits(tmp_path):
    edges, X, y, _, node = network(3)
    model = NetworkLassoRegressor(edges, 0.05).fit(X, y, groups=node)
    again = clone(model).fit(X, y, groups=node)
    assert again.coef_.tobytes() == model.coef_.tobytes()
    save_model(model, tmp_path / "model.skops")
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model.skops")):
        assert (other.predict(X, groups=node) == model.predict(X, groups=node)).all()
        assert other.score(X, y, groups=node) == model.score(X, y, groups=node)
    sparse = clone(model).fit(sp.csr_array(X), y, groups=node)
    assert_allclose(sparse.coef_, model.coef_, atol=1e-8)
    assert_allclose(sparse.predict(sp.csr_array(X), groups=node), model.predict(X, groups=node), atol=1e-8)


@pytest.mark.slow
def test_a_classifier_has_labels_probabilities_and_several_classes():
    edges, X, y, _, node = network(4, per=12)
    label = np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]
    model = NetworkLassoClassifier(edges, 0.01, "logistic").fit(X, label, groups=node)
    assert model.coef_.shape == (3, 6, 3) and model.intercept_.shape == (3, 6) and model.clusters_.shape == (3, 6)
    assert_allclose(model.predict_proba(X, groups=node).sum(axis=1), 1.0)
    assert model.score(X, label, groups=node) > 0.6
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = NetworkLassoClassifier(edges).predict_proba
    with pytest.raises(ValueError, match="'loss' parameter of NetworkLassoClassifier"):
        NetworkLassoClassifier(edges, loss="multinomial").fit(X, label, groups=node)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": None}, "groups must be given"),
        ({"groups": [0, 1]}, r"groups must have shape \(24,\)"),
        ({"groups": [*[0] * 23, None]}, "got None in row 23"),
        ({"groups": [*[0] * 23, np.nan]}, "got nan in row 23"),
        ({"groups": np.full(24, 77)}, r"not in the graph: .*77"),
        ({"y": np.full(24, np.nan)}, "NaN"),
    ],
)
def test_bad_input_is_named(change, message):
    edges, X, y, _, node = network(0)
    given = {"y": y, "groups": node, **change}
    with pytest.raises(ValueError, match=message):
        NetworkLassoRegressor(edges).fit(X, **given)


def test_a_classifier_names_the_losses_that_it_takes():
    edges, X, y, _, node = network(0)
    with pytest.raises(ValueError, match=r"'loss' parameter.*'logistic'"):
        NetworkLassoClassifier(edges, loss="multinomial").fit(X, y > 0, groups=node)
    with pytest.raises(ValueError, match=r"one prediction for each row, got Multinomial\(classes=3\)"):
        NetworkLassoClassifier(edges, loss=Multinomial(3)).fit(X, np.digitize(y, [-0.5, 0.5]), groups=node)


def test_probabilities_are_numbers_far_from_all_classes():
    edges, X, y, _, node = network(4)
    model = NetworkLassoClassifier(edges, 0.01, "logistic").fit(X, np.digitize(y, [-0.5, 0.5]), groups=node)
    assert_allclose(model.predict_proba(X, groups=node, offset=np.full(len(X), -800.0)).sum(axis=1), 1.0)
    scores = model.decision_function(X, groups=node)
    against_rest = 1.0 / (1.0 + np.exp(-scores))
    expected = against_rest / against_rest.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X, groups=node), expected, rtol=1e-12)


def test_predictions_need_a_node_or_a_place():
    edges, X, y, _, node = network(0)
    with pytest.raises(NotFittedError):
        NetworkLassoRegressor(edges).predict(X, groups=node)
    model = NetworkLassoRegressor(edges).fit(X, y, groups=node)
    with pytest.raises(ValueError, match=r"either groups.*got neither"):
        model.predict(X)
    with pytest.raises(ValueError, match="coordinates of the nodes"):
        model.predict(X, coordinates=np.zeros((24, 2)))
    with pytest.raises(ValueError, match="needs coordinates"):
        NetworkLassoRegressor("knn").fit(X, y, groups=node)


def test_isolated_nodes_have_models_of_their_own():
    edges, X, y, _, node = network(0)
    lonely = graphs.Graph(edges[(edges < 5).all(axis=1)], None, 8)  # nodes 5, 6 and 7 have no edges, 6 and 7 no rows
    model = NetworkLassoRegressor(lonely, 0.02).fit(X, y, groups=node)
    assert model.dual_gap_ <= 1e-3
    assert (model.coef_[6:] == 0.0).all() and model.coef_[5].any()
    with pytest.warns(UserWarning, match="the graph has no edges"):
        alone = NetworkLassoRegressor([], 0.02).fit(X, y, groups=node)
    assert alone.clusters_.tolist() == list(range(6))


@pytest.mark.slow
def test_a_large_network_is_solved_without_a_system_that_couples_nodes():
    rng = np.random.default_rng(0)
    nodes, d, per = 400, 30, 8
    node, X = np.repeat(np.arange(nodes), per), rng.normal(size=(nodes * per, d))
    W = np.where(np.arange(nodes)[:, None] < nodes // 2, rng.normal(size=d), rng.normal(size=d))
    y = (X * W[node]).sum(axis=1) + 0.3 * rng.normal(size=len(node))
    model = NetworkLassoRegressor(("grid", 20, 20), 50.0 / len(y)).fit(X, y, groups=node)
    assert isinstance(model.solver_, ConsensusADMM) and "only the penalty couples" in model.solver_reason_
    assert model.dual_gap_ <= 1e-6 and model.n_pieces_ == 2
    again = clone(model).fit(X, y, groups=node)
    assert again.coef_.tobytes() == model.coef_.tobytes()


@pytest.mark.slow
def test_a_search_of_scikit_learn_routes_the_nodes():
    edges, X, y, order, node = network(0, per=12)
    with sklearn.config_context(enable_metadata_routing=True):
        model = NetworkLassoRegressor(edges).set_fit_request(groups=True).set_score_request(groups=True)
        search = GridSearchCV(model, {"alpha": [0.01, 0.1, 1.0]}, cv=3).fit(X[order], y[order], groups=node[order])
    assert search.best_score_ > 0.5 and search.best_estimator_.coef_.shape == (6, 3)


def peak(function, *args, **kwargs):
    """The largest number of bytes that a call takes, beyond those that were in use before."""
    tracemalloc.start()
    try:
        function(*args, **kwargs)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("unseen", ["median", "nearest"])
def test_predictions_take_no_memory_for_a_dense_model_of_each_row(unseen):
    """With 400 features, the coefficients of 20,000 rows take 64 MB, the neighbours' differences of 1,500 120 MB."""
    rng = np.random.default_rng(3)
    nodes, d, n = 6, 400, 20_000
    places = rng.normal(size=(nodes, 2))
    X = sp.random_array((60, d), density=0.1, format="csr", rng=rng)
    node = np.arange(60) % nodes
    model = NetworkLassoRegressor("knn", coordinates=places, n_neighbors=5, unseen=unseen, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the few iterations
        model.fit(X, rng.normal(size=60), groups=node)
    many = sp.random_array((n, d), density=0.005, format="csr", rng=rng)
    of_rows, where = rng.integers(nodes, size=n), rng.normal(size=(n, 2))
    room = 30e6
    assert peak(model.predict, many, groups=of_rows) < room
    assert peak(model.predict, many[:1500], coordinates=where[:1500]) < room
    few = slice(0, 100)
    dense = many[few].toarray()
    assert_allclose(model.predict(many[few], groups=of_rows[few]), model.predict(dense, groups=of_rows[few]))
    at_places = {"coordinates": where[few]}
    assert_allclose(model.predict(many[few], **at_places), model.predict(dense, **at_places))


def test_scores_do_not_depend_on_the_number_of_rows_at_once(limits):
    edges, X, y, _, node = network(4)
    labels = np.digitize(y, np.quantile(y, [0.4, 0.7]))
    places = np.random.default_rng(1).normal(size=(6, 2))
    model = NetworkLassoClassifier(edges, coordinates=places, n_neighbors=3).fit(X, labels, groups=node)
    where = places[node] + 0.1
    whole = model.decision_function(X, groups=node), model.decision_function(X, coordinates=where)
    limits(rows_predicted_at_once=30)
    by_hand = np.einsum("ij,kij->ik", X, model.coef_[:, node]) + model.intercept_[:, node].T
    assert_allclose(model.decision_function(X, groups=node), by_hand)
    assert_allclose(model.decision_function(X, groups=node), whole[0])
    assert_allclose(model.decision_function(X, coordinates=where), whole[1])


@pytest.mark.parametrize("kind", [NetworkLassoRegressor, NetworkLassoClassifier])
def test_weights_in_the_place_of_nodes_are_an_error(kind):
    edges, X, y, _, node = network(5)
    y, weight = y > 0.0 if kind is NetworkLassoClassifier else y, np.ones(len(y))
    with pytest.raises(ValueError, match="or pass weights by name, as sample_weight"):
        kind(edges).fit(X, y, weight)
    model = kind(edges).fit(X, y, node)
    with pytest.raises(ValueError, match="or pass weights by name, as sample_weight"):
        model.score(X, y, weight)
    with pytest.raises(ValueError, match="or pass weights by name, as sample_weight"):
        model.score(X, y, list(weight))
    assert model.score(X, y, node, weight) == model.score(X, y, groups=node)


def test_nodes_may_be_named_by_numbers_that_are_not_integers():
    _, X, y, _, node = network(5)
    model = NetworkLassoRegressor("chain").fit(X, y, node / 2.0)
    assert_allclose(model.nodes_, np.unique(node) / 2.0)
    assert model.score(X, y, node / 2.0) > 0.5
