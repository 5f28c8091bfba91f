"""Offsets: against CVXPY, against the same model without an offset, and through scikit-learn's routing."""

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from random_rows import random_targets
from references import TERMS, chain, cp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adasadmm import (
    ADMM,
    ALM,
    IPM,
    L1,
    AdaSADMM,
    Checkpoint,
    Gamma,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GraphGuidedRegressorCV,
    Hinge,
    Logistic,
    NegativeBinomial,
    Poisson,
    Problem,
    Quantile,
    Squared,
    SquaredHinge,
    Status,
    StructuredRegressor,
    TotalVariation,
    solve,
    sources,
)
from adasadmm.cli import main
from adasadmm.rows.matrices import plain

pytestmark = [pytest.mark.kernels, pytest.mark.compiled]


def settings_with_offset(loss, shape, seed=0):
    rng = np.random.default_rng(seed)
    n, d = shape
    X = np.eye(n) if n == d else rng.normal(size=shape)
    offset = rng.normal(size=n)
    y = random_targets(loss, rng, 0.5 * X[:, 0] + offset)
    weight = rng.integers(1, 4, size=n).astype(float)
    parts = {"loss": loss, "penalty": L1(0.02), "A": chain(d), "gamma": 0.01}
    return {"X": sp.csr_array(X) if n == d else X, "y": y, "sample_weight": weight, "offset": offset, **parts}


def best_value(X, y, sample_weight, offset, loss, penalty, A, gamma):
    w, c = cp.Variable(X.shape[1]), sample_weight / sample_weight.sum()
    value = c @ TERMS[type(loss)](loss, X @ w + offset, y) + gamma / 2 * cp.sum_squares(w)
    return cp.Problem(cp.Minimize(value + penalty.nu * cp.norm1(A @ w))).solve(solver=cp.CLARABEL)


# --- problems --------------------------------------------------------------------------------------------------------

CASES = [
    (ALM(), Poisson(), (80, 6)),
    (ALM(), Hinge(), (80, 6)),
    (IPM(), Gamma(), (20, 30)),
    (IPM(), Hinge(), (20, 30)),
    (IPM(), SquaredHinge(), (20, 30)),
    (ADMM(), Logistic(), (60, 10)),
    (TotalVariation(), NegativeBinomial(0.7), (25, 25)),
    (TotalVariation(), Hinge(), (25, 25)),
    (TotalVariation(), Squared(), (25, 25)),
    (IPM(), Quantile(0.3), (60, 10)),
    pytest.param(IPM(), Poisson(), (25, 25), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("solver", "loss", "shape"), CASES, ids=str)
def test_solvers_reach_the_optimum_of_cvxpy_and_prove_it(solver, loss, shape):
    settings = settings_with_offset(loss, shape)
    problem, best = Problem(**settings), best_value(**settings)
    result = solve(problem, solver, tol=1e-6, epochs=500)
    unit = best - problem.least_loss
    assert result.status is Status.converged
    assert result.certificate.dual <= best + 1e-6 * unit
    assert result.certificate.primal <= best + 2e-6 * unit


def test_the_objective_is_that_of_the_shifted_predictions():
    settings = settings_with_offset(Poisson(), (50, 3))
    problem, w = Problem(**settings), np.array([0.3, -0.2, 0.5])
    z = settings["X"] @ w + settings["offset"]
    losses = np.average(np.exp(z) - settings["y"] * z, weights=settings["sample_weight"])
    assert problem.objective(w) == pytest.approx(losses + 0.005 * w @ w + 0.02 * np.abs(np.diff(w)).sum(), rel=1e-12)
    at_zero = np.exp(settings["offset"]) - settings["y"] * settings["offset"]
    assert problem.loss_at_zero == pytest.approx(np.average(at_zero, weights=settings["sample_weight"]), rel=1e-12)
    assert repr(problem).endswith("loss=Poisson, penalty=L1)")


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Logistic(), Poisson(), Squared()], ids=str)
def test_an_offset_of_zero_changes_nothing(loss):
    settings = {**settings_with_offset(loss, (50, 4)), "offset": np.zeros(50)}
    without = {name: value for name, value in settings.items() if name != "offset"}
    for solver in (AdaSADMM(), ALM()):
        one, other = (solve(Problem(**these), solver, epochs=3) for these in (settings, without))
        np.testing.assert_allclose(one.w_average, other.w_average, rtol=1e-9, atol=1e-12)
        assert one.certificate.dual == pytest.approx(other.certificate.dual, rel=1e-9)


def test_a_run_is_resumed_only_with_the_same_offset(tmp_path):
    settings = settings_with_offset(Poisson(), (50, 4))
    whole = solve(Problem(**settings), AdaSADMM(), checkpoint=Checkpoint(tmp_path))
    resumed = solve(Problem(**settings), AdaSADMM(), checkpoint=Checkpoint(tmp_path), resume=True)
    np.testing.assert_array_equal(resumed.w, whole.w)
    other = Problem(**{**settings, "offset": settings["offset"] + 1.0})
    with pytest.raises(ValueError, match="another run"):
        solve(other, AdaSADMM(), checkpoint=Checkpoint(tmp_path), resume=True)


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (np.zeros(3), r"offset must have shape \(5,\), got \(3,\)"),
        ([0.0, np.nan, 0.0, 0.0, 0.0], r"offset .*nan"),
        ([0.0, -np.inf, 0.0, 0.0, 0.0], r"offset .*inf"),
    ],
)
def test_a_wrong_offset_is_named(offset, message):
    X, y = np.eye(5), np.ones(5)
    with pytest.raises(ValueError, match=message):
        Problem(X, y, loss=Poisson(), penalty=L1(0.1), A=chain(5), offset=offset)
    with pytest.raises(ValueError, match=message):
        GraphGuidedRegressor("chain", loss="poisson").fit(X, y, offset=offset)
    model = GraphGuidedRegressor("chain", loss="poisson").fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict(X, offset=offset)


# --- estimators ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts():
    """Counts with an exposure."""
    rng = np.random.default_rng(0)
    X, exposure = rng.normal(size=(200, 4)), rng.uniform(0.2, 3.0, size=200)
    return X, rng.poisson(exposure * np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1])).astype(float), exposure


def test_an_exposure_is_the_rate_with_the_exposure_as_weight(counts):
    X, y, exposure = counts
    settings = {"loss": "poisson", "alpha": 0.0, "l2": 0.1, "tol": 1e-12}
    weight = exposure / exposure.mean()
    rates = StructuredRegressor("chain", **settings).fit(X, y / exposure, sample_weight=weight)
    # The mean over rows divides by n here, and by the sum of the exposures there.
    settings["l2"] *= exposure.mean()
    model = StructuredRegressor("chain", **settings).fit(X, y, offset=np.log(exposure))
    reference = PoissonRegressor(alpha=0.1, tol=1e-10, max_iter=10_000).fit(X, y / exposure, weight)
    for other in (rates, reference):
        np.testing.assert_allclose(model.coef_, other.coef_, rtol=0.0, atol=1e-6)
        assert model.intercept_ == pytest.approx(other.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X, np.log(exposure)), exposure * model.predict(X), rtol=1e-12)
    assert model.score(X, y, offset=np.log(exposure)) > model.score(X, y)


@pytest.mark.parametrize("solver", ["auto", "alm"])
@pytest.mark.parametrize("loss, far", [("poisson", 40.0), ("poisson", 300.0), ("gamma", -50.0), ("logistic", 1e6)])
def test_an_offset_far_from_zero_moves_the_intercept_alone(loss, far, solver):
    """The excess at w = 0 is astronomical there, and says nothing about the size of the gap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = np.sign(X[:, 0] + rng.normal(size=40)) if loss == "logistic" else rng.poisson(np.exp(X[:, 0])) + 0.5
    kind = GraphGuidedClassifier if loss == "logistic" else GraphGuidedRegressor
    model = kind("chain", loss=loss, alpha=0.01, solver=solver)
    plain, offset = clone(model).set_params(tol=1e-9).fit(X, y), np.full(40, far)
    moved = model.fit(X, y, offset=offset)
    assert moved.dual_gap_ <= 1e-6
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=0.0, atol=1e-3)
    np.testing.assert_allclose(moved.intercept_, plain.intercept_ - far, rtol=1e-9, atol=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("far", [20.0, 100.0])
def test_a_gap_is_not_relative_to_the_excess_of_a_far_offset(far):
    """`solve` is given the problem as it is: it reaches the optimum, or shows that it does not."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(40, 3)), np.ones(40)])
    y = rng.poisson(np.exp(X[:, 0])) * 1.0
    A = np.eye(4)[1:3] - np.eye(4)[:2]
    settings = {"loss": Poisson(), "penalty": L1(0.01), "A": A, "gamma": [0.01, 0.01, 0.01, 0.0]}
    best = solve(Problem(X, y, **settings), IPM(), tol=1e-10).certificate.primal
    problem = Problem(X, y, offset=np.full(40, far), **settings)
    for solver in (IPM(), ALM()):
        found = solve(problem, solver, tol=1e-6).certificate
        true = (found.primal - best) / (found.primal - problem.least_loss)
        assert true <= 1.01 * found.relative_gap + 1e-9


def test_the_offset_of_a_residual_is_part_of_the_target(counts):
    X, y, exposure = counts
    model = GraphGuidedRegressor("chain", loss="huber").fit(X, y, offset=exposure)
    other = GraphGuidedRegressor("chain", loss="huber").fit(X, y - exposure)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_allclose(model.predict(X, exposure), other.predict(X) + exposure)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_classifiers_take_an_offset(loss, counts):
    X, _, exposure = counts
    labels, offset = np.where(X[:, 0] + 2.0 * (exposure - 1.6) > 0.0, "yes", "no"), 2.0 * (exposure - 1.6)
    model = GraphGuidedClassifier("chain", loss=loss, alpha=1e-3, l2=1e-3).fit(X, labels, offset=offset)
    np.testing.assert_allclose(model.decision_function(X, offset), model.decision_function(X) + offset)
    assert model.score(X, labels, offset=offset) > 0.97 > model.score(X, labels)
    assert (model.predict(X, offset) == np.where(model.decision_function(X, offset) >= 0.0, "yes", "no")).all()
    if loss == "logistic":
        odds = 1.0 / (1.0 + np.exp(-model.decision_function(X, offset)))
        np.testing.assert_allclose(model.predict_proba(X, offset)[:, 1], odds)


def test_a_stream_takes_offsets(counts):
    X, y, exposure = counts
    model = GraphGuidedRegressor("chain", loss="poisson", solver="ada-diag")
    for _ in range(30):
        model.partial_fit(X, y, offset=np.log(exposure))
    whole = GraphGuidedRegressor("chain", loss="poisson").fit(X, y, offset=np.log(exposure))
    assert np.corrcoef(model.coef_, whole.coef_)[0, 1] > 0.95
    with pytest.raises(ValueError, match="fitted with an offset"):
        model.to_sklearn()


def test_other_models_cannot_take_an_offset(counts):
    X, y, exposure = counts
    model = GraphGuidedRegressor("chain", loss="poisson").fit(X, y, offset=np.log(exposure))
    with pytest.raises(ValueError, match=r"fitted with an offset.*predict\(X, offset=\.\.\.\)"):
        model.to_sklearn()
    np.testing.assert_allclose(model.fit(X, y).to_sklearn().predict(X), model.predict(X))


def test_adaptive_weights_and_a_second_fit_know_the_offset(counts):
    X, y, exposure = counts
    parameters = {"loss": "poisson", "alpha": 0.02, "weights": "adaptive", "refit": "clusters"}
    model = GraphGuidedRegressor("chain", **parameters).fit(X, y, offset=np.log(exposure))
    # A constant in the offset is a constant in the intercept, and nothing else.
    other = GraphGuidedRegressor("chain", **parameters).fit(X, y, offset=np.log(exposure) + 3.0)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-3)
    assert other.intercept_ == pytest.approx(model.intercept_ - 3.0, abs=1e-3)


def test_a_missed_tolerance_is_reported(counts):
    X, y, exposure = counts
    model = GraphGuidedRegressor("chain", loss="poisson", l2=0.0, max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="gap"):
        model.fit(X, y, offset=np.log(exposure))


@pytest.mark.parametrize("scoring", [None, "neg_mean_poisson_deviance"])
def test_a_path_is_scored_with_the_offsets_of_the_held_out_rows(counts, scoring):
    X, y, exposure = counts
    offset = np.log(exposure)
    search = GraphGuidedRegressorCV("chain", loss="poisson", alphas=[0.1, 0.01], cv=3, scoring=scoring)
    search.fit(X, y, offset=offset)
    train, test = np.arange(67, 200), np.arange(67)
    alone = GraphGuidedRegressor("chain", loss="poisson", alpha=0.1, l2=1 / 200).fit(
        X[train], y[train], offset=offset[train]
    )
    if scoring is None:
        assert search.cv_scores_[0, 0, 0] == pytest.approx(alone.score(X[test], y[test], offset=offset[test]), abs=0.01)
    else:
        mean = alone.predict(X[test], offset[test])
        assert search.cv_scores_[0, 0, 0] == pytest.approx(-mean_poisson_deviance(y[test], mean), rel=0.01)


def test_a_classifier_is_searched_with_an_offset(counts):
    X, _, exposure = counts
    labels, offset = X[:, 0] + 2.0 * (exposure - 1.6) > 0.0, 2.0 * (exposure - 1.6)
    search = GraphGuidedClassifierCV("chain", loss="logistic", alphas=3, cv=3).fit(X, labels, offset=offset)
    assert search.cv_scores_.max() > 0.95
    assert search.score(X, labels, offset=offset) > 0.95


def test_scikit_learn_routes_the_offset_through_pipelines_and_searches(counts):
    X, y, exposure = counts
    offset = np.log(exposure)
    with config_context(enable_metadata_routing=True):
        model = GraphGuidedRegressor("chain", loss="poisson").set_fit_request(offset=True)
        model.set_score_request(offset=True).set_predict_request(offset=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y, offset=offset)
        alone = GraphGuidedRegressor("chain", loss="poisson").fit(StandardScaler().fit_transform(X), y, offset=offset)
        np.testing.assert_allclose(pipeline[-1].coef_, alone.coef_)
        predicted = alone.predict(pipeline[0].transform(X), offset)
        np.testing.assert_allclose(pipeline.predict(X, offset=offset), predicted)
        search = GridSearchCV(model, {"alpha": [0.1, 0.001]}, cv=3).fit(X, y, offset=offset)
        assert search.best_score_ > 0.0
        scores = cross_validate(model, X, y, cv=3, params={"offset": offset})["test_score"]
        assert (scores > 0.0).all()


# --- files, clusters and the command line ----------------------------------------------------------------------------


@pytest.fixture
def table(counts, tmp_path):
    """The counts in a CSV file, with the exposure and its logarithm."""
    X, y, exposure = counts
    path = tmp_path / "rows.csv"
    columns = np.column_stack([X, y, exposure, np.log(exposure)])
    np.savetxt(path, columns, delimiter=",", header="a,b,c,d,y,exposure,log_exposure", comments="", fmt="%.17g")
    return path


def test_every_reader_has_offsets(counts, table, tmp_path):
    X, y, exposure = counts
    offset, features = np.log(exposure), ["a", "b", "c", "d"]
    arrow = pyarrow.csv.read_csv(table)
    pyarrow.parquet.write_table(arrow, tmp_path / "rows.parquet", row_group_size=70)
    pyarrow.feather.write_feather(arrow, str(tmp_path / "rows.arrow"))
    for name, values in (("X", X), ("y", y), ("o", offset)):
        np.save(tmp_path / f"{name}.npy", values)
    maps = [tmp_path / f"{name}.npy" for name in "Xyo"]
    pieces = [(X[k : k + 70], y[k : k + 70], None, offset[k : k + 70]) for k in range(0, 200, 70)]
    whole = Problem(X, y, loss=Poisson(), penalty=L1(0.1), A=chain(4), offset=offset)
    w = np.array([0.1, 0.2, -0.3, 0.4])
    for source in (
        sources.arrays(X, y, offset=offset, block_rows=70),
        sources.memmap(maps[0], maps[1], offset=maps[2], block_rows=70),
        sources.iterator(pieces),
        sources.csv(table, offset="log_exposure", columns=features),
        sources.csv(table, exposure="exposure", columns=features),
        sources.parquet(tmp_path / "rows.parquet", exposure="exposure", columns=features),
        sources.arrow(tmp_path / "rows.arrow", offset="log_exposure", columns=features),
    ):
        problem = Problem(source, loss=Poisson(), penalty=L1(0.1), A=chain(4))
        assert problem.objective(w) == pytest.approx(whole.objective(w), rel=1e-12), source
        assert problem.least_loss == pytest.approx(whole.least_loss, rel=1e-12)
    source = sources.csv(table, offset="log_exposure")
    assert source.feature_names == [*features, "exposure"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_an_exposure_may_also_be_a_feature_but_the_target_may_not(kind, tmp_path):
    path, table = str(tmp_path / f"rows.{kind}"), pyarrow.table({"a": [1.0, 2.0], "e": [3.0, 4.0], "y": [0.0, 1.0]})
    write = {
        "csv": pyarrow.csv.write_csv,
        "parquet": pyarrow.parquet.write_table,
        "arrow": pyarrow.feather.write_feather,
    }
    write[kind](table, path)
    (block,) = sources.open(path, columns=["a", "e"], exposure="e").raw_blocks()
    np.testing.assert_array_equal(plain(block.X), [[1.0, 3.0], [2.0, 4.0]])
    np.testing.assert_allclose(block.offset, np.log([3.0, 4.0]))
    for columns, message in (
        (["a", "y"], "'y' of .* is the target"),
        (["a", "a"], "'a' of .* among the features twice"),
    ):
        with pytest.raises(sources.SourceError, match=message):
            sources.open(path, columns=columns, target="y")


def test_a_stream_of_blocks_is_the_run_in_memory(counts):
    X, y, exposure = counts
    source = sources.arrays(X, y, offset=np.log(exposure), block_rows=50)
    settings = {"loss": Poisson(), "penalty": L1(0.01), "A": chain(4), "gamma": 0.01}
    streamed = solve(Problem(source, **settings), AdaSADMM(), order="given", epochs=2)
    whole = solve(Problem(X, y, offset=np.log(exposure), **settings), AdaSADMM(), order="given", epochs=2)
    np.testing.assert_array_equal(streamed.w, whole.w)
    assert streamed.certificate.dual <= whole.certificate.primal


def test_bad_offsets_of_files_are_bad_rows(table):
    text = table.read_text().splitlines()
    cells = text[5].split(",")
    table.write_text("\n".join([*text[:5], ",".join([*cells[:5], "0", ""]), *text[6:]]) + "\n")
    with pytest.raises(sources.SourceError, match="line 6: column 'exposure' is -inf; its exposure must be > 0"):
        sources.csv(table, exposure="exposure", columns=["a", "b"]).summary
    with pytest.raises(sources.SourceError, match="line 6: column 'log_exposure' is empty"):
        sources.csv(table, offset="log_exposure", columns=["a", "b"]).summary
    with pytest.raises(ValueError, match="give one of them"):
        sources.csv(table, offset="log_exposure", exposure="exposure")
    with pytest.warns(sources.SourceWarning, match="1 bad rows skipped"):
        assert sources.csv(table, exposure="exposure", columns=["a"], on_bad_row="skip").shape == (199, 1)


def test_an_estimator_reads_the_offsets_of_a_source(counts):
    X, y, exposure = counts
    source = sources.arrays(X, y, offset=np.log(exposure), block_rows=50)
    model = GraphGuidedRegressor("chain", loss="poisson", solver="admm").fit(source)
    alone = GraphGuidedRegressor("chain", loss="poisson", solver="admm").fit(X, y, offset=np.log(exposure))
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict(source), alone.predict(X, np.log(exposure)), rtol=1e-6)
    assert model.score(source) == pytest.approx(alone.score(X, y, offset=np.log(exposure)), rel=1e-6)
    with pytest.raises(ValueError, match="offset must be None"):
        model.predict(source, offset=np.log(exposure))
    with pytest.raises(ValueError, match="must be None if X is a source"):
        model.fit(source, offset=np.log(exposure))


def test_dask_collections_have_offsets(counts):
    dask_array = pytest.importorskip("dask.array")
    X, y, exposure = (dask_array.from_array(values, chunks=80) for values in counts)
    model = GraphGuidedRegressor("chain", loss="poisson", solver="admm")
    model.fit(X.rechunk((80, 4)), y, offset=dask_array.log(exposure))
    alone = GraphGuidedRegressor("chain", loss="poisson", solver="admm").fit(*counts[:2], offset=np.log(counts[2]))
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-6)


def test_the_command_line_takes_an_exposure(counts, table, tmp_path, capsys):
    X, y, exposure = counts
    model, out = str(tmp_path / "m.skops"), tmp_path / "predicted.csv"
    reading = [str(table), "--columns", "a,b,c,d", "--exposure", "exposure"]
    chosen = ["--target", "y", "--graph", "chain", "--loss", "poisson", "--model", model, "--quiet"]
    assert main(["fit", *reading, *chosen, "--valid", str(table)]) == 0
    assert main(["predict", model, *reading, "--out", str(out)]) == 0
    alone = GraphGuidedRegressor("chain", loss="poisson", random_state=0).fit(X, y, offset=np.log(exposure))
    np.testing.assert_allclose(np.loadtxt(out, skiprows=1), alone.predict(X, np.log(exposure)), rtol=1e-6)
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    assert main(["fit", str(tmp_path / "rows.svm"), "--offset", "o", "--model", model]) == 2
    assert "--offset names a column: svmlight files have none" in capsys.readouterr().err
