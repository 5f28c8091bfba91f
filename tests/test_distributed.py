"""Rows on the workers of a Dask cluster: the same bits as on one machine, whoever does the work, whoever is lost."""

import contextlib
import doctest
import importlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    ADMM,
    L1,
    RDASADMM,
    SADMM,
    AdaSADMM,
    Checkpoint,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    Hinge,
    Problem,
    distributed,
    graphs,
    solve,
    sources,
)
from adasadmm.cli import main
from adasadmm.distributed._work import Call, load_from_source
from adasadmm.losses import Multinomial
from adasadmm.models import load_model
from adasadmm.solvers import Batches, Point

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
cluster_of = pytest.importorskip("distributed", reason="distributed is not installed")

pytestmark = pytest.mark.compiled  # too slow without the compiler

N, D = 1200, 6
HERE = "127.0.0.1:0"
FIELDS = ("w", "v", "theta", "w_mean", "v_mean", "w_average")
ROUNDS = AdaSADMM(beta="auto", batch_size=3, average="step-weighted")


@contextlib.contextmanager
def cluster(workers=2, processes=False, **settings):
    """A cluster on this machine alone, which stops with the test."""
    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, **settings}
    settings |= {"worker_dashboard_address": HERE, "scheduler_kwargs": {"dashboard_address": HERE}}  # of their health
    settings |= {"host": "127.0.0.1"} if processes else {}
    with cluster_of.LocalCluster(processes=processes, **settings) as made, cluster_of.Client(made) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster() as made:
        yield made


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = np.where(X @ [1, 1, 1, -1, -1, 0] + rng.normal(size=N) > 0, 1.0, -1.0)
    return X, y, rng.integers(1, 4, size=N).astype(float)


def parts():
    return {"loss": Hinge(), "penalty": L1(1e-3), "A": graphs.incidence(graphs.chain(D)), "gamma": 1e-3}


def as_dask(chunk, *arrays):
    return [da.from_array(array, chunks=(chunk, *array.shape[1:])) for array in arrays]


def assert_same(one, other):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


# --- one machine, and many -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [ROUNDS, AdaSADMM("identity", eta=0.1), RDASADMM(), ADMM()], ids=repr)
def test_one_partition_gives_the_bits_of_rows_in_memory(client, rows, solver):
    X, y, weight = rows
    options = {"epochs": 40, "tol": 0.0} if isinstance(solver, ADMM) else {"epochs": 3, "seed": 5}
    here = solve(Problem(X, y, sample_weight=weight, **parts()), solver, **options)
    spread = distributed.spread(*as_dask(N, X, y, weight), client=client)
    assert_same(solve(Problem(spread, **parts()), solver, **options), here)


def test_an_estimator_fits_dask_arrays_as_it_fits_arrays(client, rows):
    X, y, _ = rows
    model = GraphGuidedClassifier("chain", solver="ada-diag", random_state=1, max_iter=2)
    there = model.fit(*as_dask(N, X, y)).coef_
    np.testing.assert_array_equal(there, model.fit(X, y).coef_)


def test_several_partitions_in_one_lane_are_one_run_after_another(client, rows):
    """Without a shuffle: all rows as they stand, so the bits of rows in memory, where batches end with partitions."""
    X, y, _ = rows
    here = solve(Problem(X, y, **parts()), ROUNDS, epochs=2, order="given")
    spread = distributed.spread(*as_dask(300, X, y), client=client, lanes=1, rounds=7)
    assert_same(solve(Problem(spread, **parts()), ROUNDS, epochs=2, order="given"), here)


@pytest.mark.parametrize("solver", [ROUNDS, ADMM()], ids=["rounds", "batch"])
def test_who_does_the_work_does_not_show(client, rows, solver):
    X, y, _ = as_dask(300, *rows)
    options = {"epochs": 20, "tol": 0.0} if isinstance(solver, ADMM) else {"epochs": 1}
    with_two = solve(Problem(distributed.spread(X, y, client=client, lanes=3), **parts()), solver, **options)
    with cluster(workers=1) as alone:
        with_one = solve(Problem(distributed.spread(X, y, client=alone, lanes=3), **parts()), solver, **options)
    assert_same(with_one, with_two)
    np.testing.assert_array_equal(with_one.trace["objective"], with_two.trace["objective"])


def test_batch_admm_is_exact_whatever_the_partitions(client, rows):
    X, y, weight = rows
    here = solve(Problem(X, y, sample_weight=weight, **parts()), ADMM(), epochs=30, tol=0.0, trace_every=30)
    spread = distributed.spread(*as_dask(400, X, y, weight), client=client)
    there = solve(Problem(spread, **parts()), ADMM(), epochs=30, tol=0.0, trace_every=30)
    np.testing.assert_allclose(there.w, here.w, rtol=1e-9, atol=1e-12)
    streamed = sources.arrays(X, y, weight, block_rows=400)
    assert_same(solve(Problem(streamed, **parts()), ADMM(), epochs=30, tol=0.0, trace_every=30), there)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_augmented_lagrangian_method_finds_the_optimum_on_workers(client, rows, fit_intercept):
    X, y, _ = rows
    model = GraphGuidedClassifier("chain", alpha=0.01, solver="alm", tol=1e-11, fit_intercept=fit_intercept)
    here = model.fit(X, y).coef_
    there = model.fit(*as_dask(400, X, y))
    assert there.dual_gap_ <= 1e-11
    np.testing.assert_allclose(there.coef_, here, atol=1e-6)
    streamed = model.fit(sources.arrays(X, y, block_rows=400)).coef_
    np.testing.assert_array_equal(streamed, model.fit(*as_dask(400, X, y)).coef_)


def test_rounds_come_to_the_objective_of_one_machine(client, rows):
    X, y, _ = rows
    problem = Problem(X, y, **parts())
    solver = AdaSADMM(beta="auto", average="step-weighted")
    here = problem.objective(solve(problem, solver, epochs=6).w_average)
    spread = distributed.spread(*as_dask(300, X, y), client=client, lanes=2, rounds=8)
    there = problem.objective(solve(Problem(spread, **parts()), solver, epochs=6, trace_every=6).w_average)
    assert there == pytest.approx(here, rel=5e-3)


def test_means_over_all_lanes(client, rows):
    """v_mean telescopes: it is A w_mean - b up to how far theta went, in each lane and so in all."""
    X, y, _ = rows
    solver = AdaSADMM(eta=0.1)
    spread = distributed.spread(*as_dask(100, X, y), client=client, lanes=3, rounds=2)
    result = solve(Problem(spread, **parts()), solver, epochs=1, order="given")
    w_sum, v_sum = np.zeros(D), np.zeros(D - 1)
    problem = Problem(X, y, **parts())
    run = solver.begin(problem, Point(np.zeros(D), np.zeros(D - 1), np.zeros(D - 1)))
    blocks = [np.arange(first, first + 100) for first in range(0, N, 100)]
    lanes = [np.concatenate(blocks[lane::3]) for lane in range(3)]
    for half in range(2):
        ends = []
        for lane in lanes:
            one = run.copied()
            for i in lane[half * 200 : half * 200 + 200]:
                w_sum += one.iterates.w
                one.advance(Batches(problem.rows, np.array([i])))
                v_sum += one.iterates.v
            ends.append(one)
        for name in ("w", "theta", "slack", "pull", "g"):
            getattr(run.iterates, name)[:] = np.mean([getattr(end.iterates, name) for end in ends], axis=0)
        squares = run.method.metric.squares
        squares += sum(end.method.metric.squares - squares for end in ends) / 9.0
    np.testing.assert_allclose(result.w, run.iterates.w, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(result.w_mean, w_sum / N, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(result.v_mean, v_sum / N, rtol=1e-9, atol=1e-12)


# --- what can be fitted ----------------------------------------------------------------------------------------------


def test_data_frames_have_names_and_labels_of_any_kind(client, rows):
    pd = pytest.importorskip("pandas")
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(label=np.where(y > 0, "yes", "no"))
    frame = dd.from_pandas(frame, npartitions=3)
    model = GraphGuidedClassifier([("a", "b"), ("b", "c")], solver="ada-diag", max_iter=3, random_state=0)
    model.fit(frame.drop(columns="label"), frame["label"])
    assert list(model.feature_names_in_) == list("abcdef") and list(model.classes_) == ["no", "yes"]
    assert model.score(pd.DataFrame(X, columns=list("abcdef")), np.where(y > 0, "yes", "no")) > 0.7


def test_sparse_blocks_a_learnt_graph_and_auto(client, rows):
    X, y, _ = rows
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    source = sources.arrays(sp.csr_array(X), y, block_rows=400)
    model = GraphGuidedClassifier("glasso", alpha=0.01, l2=0.01).fit(distributed.spread(source, client=client))
    np.testing.assert_array_equal(model.graph_, graphs.glasso(source).edges)
    assert model.dual_gap_ <= 1e-3 and "rows: loaded into memory" in model.summary()


def test_auto_follows_one_rule_wherever_the_rows_are(client, rows, limits):
    X, y, _ = rows
    model = GraphGuidedClassifier("chain", tol=1e-6, random_state=0)
    here = model.fit(X, y).coef_
    np.testing.assert_allclose(model.fit(sources.arrays(X, y, block_rows=300)).coef_, here, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.fit(*as_dask(300, X, y)).coef_, here, rtol=0, atol=1e-6)
    limits(share_of_memory=1e-12)
    far = GraphGuidedClassifier("chain", tol=1e-3).fit(*as_dask(300, X, y))
    assert "rows: on the workers of a cluster, because they would take" in far.summary() and far.dual_gap_ <= 1e-3


def test_a_regressor_and_several_classes(client, rows):
    X, _, _ = rows
    y = X @ np.arange(6.0)
    model = GraphGuidedRegressor("chain", solver="admm", alpha=1e-3).fit(*as_dask(400, X, y))
    assert model.score(X, y) > 0.99
    labels = np.digitize(y, [-3.0, 3.0])
    several = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=3).fit(*as_dask(400, X, labels))
    assert several.coef_.shape == (3, D) and several.score(X, labels) > 0.6


def test_fit_takes_weights_and_offsets_to_the_workers(client, rows):
    X, _, weight = rows
    offset = 3.0 * np.sin(np.arange(N))
    y = X @ np.arange(6.0) + offset
    model = GraphGuidedRegressor("chain", solver="admm", alpha=1e-3, l2=1e-4, tol=1e-6)
    here = clone(model).fit(X, y, weight, offset)
    assert here.score(X, y, offset=offset) > 0.999 > 0.98 > clone(model).fit(X, y, weight).score(X, y)
    there = distributed.fit(model, *as_dask(400, X, y, weight, offset), client=client)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-4)


def softmax_parts():
    return {**parts(), "loss": Multinomial(3)}


@pytest.mark.slow
def test_a_softmax_by_batch_admm_is_exact_whatever_the_partitions(client, rows):
    X, _, weight = rows
    labels = np.digitize(X @ np.arange(6.0), [-3.0, 3.0]).astype(float)
    here = solve(Problem(X, labels, sample_weight=weight, **softmax_parts()), ADMM(), epochs=30, tol=0.0)
    for chunk, rounding in ((N, 0.0), (400, 1e-12)):
        spread = distributed.spread(*as_dask(chunk, X, labels, weight), client=client)
        there = solve(Problem(spread, **softmax_parts()), ADMM(), epochs=30, tol=0.0)
        np.testing.assert_allclose(there.w, here.w, rtol=0.0, atol=rounding)
        assert there.certificate.relative_gap == pytest.approx(here.certificate.relative_gap, rel=1e-6)
    model = GraphGuidedClassifier("chain", loss="logistic", solver="admm", alpha=1e-3, tol=1e-6)
    near, far = model.fit(X, labels).coef_, model.fit(*as_dask(400, X, labels)).coef_
    assert near.shape == (3, D) and model.dual_gap_ <= 1e-6
    np.testing.assert_allclose(far, near, atol=0.02)


@pytest.mark.slow  # compiles for seconds
def test_a_softmax_in_rounds_comes_to_the_objective_of_one_machine(client, rows):
    X, _, _ = rows
    labels = np.digitize(X @ np.arange(6.0), [-3.0, 3.0]).astype(float)
    problem = Problem(X, labels, **softmax_parts())
    here = solve(problem, ROUNDS, epochs=3, seed=5)
    alone = distributed.spread(*as_dask(N, X, labels), client=client)
    assert_same(solve(Problem(alone, **softmax_parts()), ROUNDS, epochs=3, seed=5), here)
    spread = distributed.spread(*as_dask(300, X, labels), client=client, lanes=2, rounds=8)
    there = solve(Problem(spread, **softmax_parts()), ROUNDS, epochs=3, seed=5)
    assert problem.objective(there.w_average) == pytest.approx(problem.objective(here.w_average), rel=1e-2)


def test_files_are_read_by_the_workers(client, rows, tmp_path):
    X, y, _ = rows
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    source = sources.svmlight(tmp_path / "rows.svm", block_bytes=30_000)
    spread = distributed.spread(source, client=client)
    assert spread.shape == (N, D) and len(spread) == len(source) > 2
    read = np.concatenate([block.y for block in spread.raw_blocks()])
    np.testing.assert_array_equal(read, y)


def test_partitions_without_rows_are_left_out(client, tmp_path):
    """A line may be longer than a partition, which then has no line of its own."""
    (tmp_path / "rows.svm").write_text(
        "".join(f"{label} 1:0.25 2:{k}.125 3:1\n" for k, label in enumerate([1, -1] * 3))
    )
    source = sources.svmlight(tmp_path / "rows.svm", block_bytes=7)
    spread = distributed.spread(source, client=client)
    assert len(spread) == 6 < len(source)
    assert spread.shape == source.shape == (6, 3)
    assert [block.y.tolist() for block in spread.raw_blocks()] == [[1.0], [-1.0]] * 3


def test_gaps_of_bad_rows_survive_views_and_workers(client):
    X, y = np.arange(12.0).reshape(6, 2), np.array([1.0, -1.0] * 3)
    X[[1, 4]] = np.nan
    blocks = [(X[:3], y[:3]), (X[3:], y[3:])]
    for given, expected in ((blocks, [(1,), (1,)]), (lambda: iter(blocks), [(1, 3)])):
        source = sources.iterator(given, n_features=2, on_bad_row="mark")
        with pytest.warns(sources.SourceWarning, match="2 bad rows skipped"):
            spread = distributed.spread(source, client=client)
        assert [block.gaps for block in spread.view(intercept=True).raw_blocks()] == expected


@pytest.fixture
def no_client(monkeypatch):
    def none():
        raise ValueError("no clients found")

    monkeypatch.setattr(cluster_of, "default_client", none)


def test_without_a_client_partitions_are_read_one_after_the_other(rows, no_client):
    X, y, _ = rows
    model = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=2, random_state=0)
    there = model.fit(*as_dask(300, X, y)).coef_
    np.testing.assert_array_equal(there, model.fit(sources.arrays(X, y, block_rows=300)).coef_)


def test_a_round_sends_what_does_not_grow_with_the_rows(client):
    sizes = []
    for n in (1000, 8000):
        X = np.random.default_rng(0).normal(size=(n, D))
        spread = distributed.spread(*as_dask(n // 4, X, np.sign(X[:, 0])), client=client, lanes=2)
        sent = []
        submit = client.submit

        def counting(function, *args, sent=sent, submit=submit, **keywords):
            sent.append(sum(len(pickle.dumps(arg)) for arg in args if isinstance(arg, Call)))
            return submit(function, *args, **keywords)

        client.submit = counting
        try:
            for solver, epochs in ((AdaSADMM(), 2), (ADMM(), 5)):
                solve(Problem(spread, **parts()), solver, epochs=epochs)
        finally:
            del client.submit
        sizes.append(max(sent))
    assert sizes[1] < 1.1 * sizes[0]


@pytest.mark.parametrize("name", ["", "._collections"])
def test_the_examples_of_the_docstrings_run(name, no_client):
    results = doctest.testmod(importlib.import_module(f"adasadmm.distributed{name}"))
    assert results.failed == 0 and results.attempted > 0


# --- what is wrong ---------------------------------------------------------------------------------------------------


def test_what_cannot_be_fitted_says_so(client, rows, no_client):
    X, y, _ = rows
    dX, dy = as_dask(300, X, y)
    with pytest.raises(ValueError, match="no cluster"):
        distributed.spread(dX, dy)
    with pytest.raises(TypeError, match="Dask array or data frame"):
        distributed.spread(X, y, client=client)
    with pytest.raises(TypeError, match="y must be a Dask collection"):
        distributed.spread(dX, y, client=client)
    with pytest.raises(ValueError, match="partitioned as X"):
        distributed.spread(dX, da.from_array(y[:600], chunks=300), client=client)
    two = da.from_array(np.column_stack([y, y]), chunks=(300, 2))
    with pytest.raises(ValueError, match=r"y must have one column if it is a Dask collection, got 2: .* y\.compute"):
        distributed.spread(dX, two, client=client)
    column = da.from_array(y[:, None], chunks=(200, 1))
    assert distributed.spread(dX, column, client=client).summary == distributed.spread(dX, dy, client=client).summary
    with pytest.raises(ValueError, match="lanes must be"):
        distributed.spread(dX, dy, client=client, lanes=0)
    for solver in (AdaSADMM("full"), RDASADMM()):
        with pytest.raises(ValueError, match="cannot run in 2 lanes"):
            solve(Problem(distributed.spread(dX, dy, client=client), **parts()), solver)
    bad = X.copy()
    bad[700, 2] = np.nan
    with pytest.raises(sources.SourceError, match="partition 2, row 101"):
        distributed.spread(*as_dask(300, bad, y), client=client)


def test_without_dask_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"adasadmm\[dask\]"):
        distributed.spread(sources.arrays(np.eye(2), np.ones(2)))


# --- rows that are not mixed -----------------------------------------------------------------------------------------


def mixed_or_sorted(by_label):
    """Rows of two classes whose means differ, in the order of their labels or in none."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1600) < 0.3, 1.0, -1.0)
    X = rng.normal(size=(1600, D)) + 0.75 * (1.0 + y[:, None])
    order = np.argsort(y) if by_label else np.arange(1600)
    return X[order], y[order]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_rows_sorted_by_label_are_noticed_and_mixed_ones_are_not(client, loss):
    model = GraphGuidedClassifier("chain", loss=loss, solver="ada-diag", max_iter=8, random_state=0)
    X, y = mixed_or_sorted(by_label=False)
    here = model.fit(X, y)._objectives[0]
    assert model.fit(*as_dask(200, X, y))._objectives[0] == pytest.approx(here, rel=0.01)
    with pytest.warns(ConvergenceWarning, match=r"by label or by time.*shuffle the rows.*, or solver='auto'") as found:
        model.fit(*as_dask(200, *mixed_or_sorted(by_label=True)))
    assert len(found) == 1 and model._objectives[0] > 1.05 * here


@pytest.mark.parametrize(
    ("solver", "lanes"), [(AdaSADMM(), 2), (AdaSADMM(), 4), (SADMM(), 1), (AdaSADMM("identity", eta=0.1), 2)], ids=repr
)
def test_solve_notices_sorted_rows_as_well(client, solver, lanes):
    spread = distributed.spread(*as_dask(200, *mixed_or_sorted(by_label=False)), client=client, lanes=lanes)
    solve(Problem(spread, **parts()), solver)
    spread = distributed.spread(*as_dask(200, *mixed_or_sorted(by_label=True)), client=client, lanes=lanes)
    problem = Problem(spread, **parts())
    with pytest.warns(ConvergenceWarning, match=r"shuffle the rows before they are partitioned, or .*another solver"):
        solve(problem, solver)
    solve(problem, ADMM(), epochs=5)  # uses all rows in every iteration, so their order does not matter


def test_targets_far_from_zero_and_sorted_by_time_are_noticed(client):
    """The slopes of the quantile loss are the same for all rows at w = 0, but not at the answer."""
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(1600, 3)), np.arange(1600)
    y = 100.0 + 0.02 * time + X[:, 0]
    model = GraphGuidedRegressor("chain", loss="quantile", solver="ada-diag", max_iter=8, random_state=0)
    with pytest.warns(ConvergenceWarning, match="shuffle the rows"):
        model.fit(*as_dask(200, X, y))


def test_a_run_that_reaches_its_tol_needs_no_warning(client):
    problem = Problem(distributed.spread(*as_dask(200, *mixed_or_sorted(by_label=True)), client=client), **parts())
    assert solve(problem, AdaSADMM(), tol=1e3).status.name == "converged"


def test_a_few_rows_in_a_partition_of_their_own_are_no_reason_to_warn(client):
    """Columns with a single non-zero differ between partitions by chance, all the more if one of these is short."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1605) < 0.5, 1.0, -1.0)
    rare = sp.random_array((1605, 300), density=0.005, rng=rng)
    X = sp.hstack([rng.normal(y[:, None]), rare], format="csr")
    spread = distributed.spread(sources.arrays(X, y, block_rows=200), client=client)
    assert min(spread.lanes.partition_rows) == 5
    GraphGuidedClassifier("chain", solver="ada-diag", max_iter=2).fit(spread)


@pytest.mark.parametrize("place", ["memory", "stream", "workers"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_nothing_worse_than_the_null_model_is_returned(client, rows, place, fit_intercept):
    X, _, weight = rows
    y = 10.0 + np.random.default_rng(1).normal(size=N)
    given = {
        "memory": lambda: (X, y, weight),
        "stream": lambda: (sources.arrays(X, y, weight, block_rows=300),),
        "workers": lambda: as_dask(300, X, y, weight),
    }[place]()
    model = GraphGuidedRegressor("chain", solver="ada-diag", eta=1e8, max_iter=1, fit_intercept=fit_intercept)
    with pytest.warns(ConvergenceWarning, match="above that of the null model, which is returned instead"):
        model.fit(*given)
    mean = np.average(y, weights=weight) if fit_intercept else 0.0
    assert not model.coef_.any() and model.intercept_ == pytest.approx(mean, rel=1e-6)
    assert model._objectives[0] == pytest.approx(0.5 * np.average((y - mean) ** 2, weights=weight), rel=1e-9)


@pytest.mark.parametrize("place", ["stream", "workers"])
def test_the_null_model_of_classes(client, rows, place):
    X, y, _ = rows
    y = np.where(X[:, 0] > 1.0, 1.0, -1.0)
    given = (sources.arrays(X, y, block_rows=300),) if place == "stream" else as_dask(300, X, y)
    model = GraphGuidedClassifier("chain", loss="logistic", solver="ada-diag", eta=1e8, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="null model"):
        model.fit(*given)
    odds = np.mean(y > 0) / np.mean(y < 0)
    assert not model.coef_.any() and model.intercept_[0] == pytest.approx(np.log(odds), rel=1e-5)


# --- who is lost -----------------------------------------------------------------------------------------------------


def then_at(client, name, time, act):
    """Do something just after the client has asked for a task of this name for the so manieth time."""
    submit, count = client.submit, 0

    def watching(function, *args, key, **keywords):
        nonlocal count
        future = submit(function, *args, key=key, **keywords)
        count += key.startswith(f"adasadmm-{name}-")
        if count == time:
            count += 1
            act()
        return future

    client.submit = watching


WITH = pytest.mark.parametrize(
    ("solver", "name", "options"),
    [(ROUNDS, "advance-lane", {"epochs": 2}), (ADMM(), "at-version", {"epochs": 30, "tol": 0.0})],
    ids=["rounds", "batch"],
)


@pytest.mark.slow
@WITH
def test_a_killed_worker_does_not_show(client, rows, solver, name, options):
    X, y, _ = as_dask(200, *rows)
    undisturbed = solve(Problem(distributed.spread(X, y, client=client, lanes=2), **parts()), solver, **options)
    with cluster(processes=True) as other:
        spread = distributed.spread(X, y, client=other, lanes=2)
        victim, *_ = other.run(os.getpid).values()
        killed = []
        then_at(other, name, 31, lambda: killed.append(os.kill(victim, signal.SIGKILL)))
        result = solve(Problem(spread, **parts()), solver, **options)
    assert killed
    assert_same(result, undisturbed)
    np.testing.assert_array_equal(result.trace["objective"], undisturbed.trace["objective"])


@pytest.mark.slow
@WITH
def test_when_all_workers_are_lost_others_go_on(client, rows, solver, name, options):
    X, y, _ = as_dask(400, *rows)
    undisturbed = solve(Problem(distributed.spread(X, y, client=client, lanes=2), **parts()), solver, **options)
    with processes() as made, cluster_of.Client(made.address, timeout=60, set_as_default=False) as other:
        other.wait_for_workers(1, timeout=60)
        spread = distributed.spread(X, y, client=other, lanes=2)

        def replace_worker():
            made.started[1].kill()
            made.start_worker()

        then_at(other, name, 25, replace_worker)
        assert_same(solve(Problem(spread, **parts()), solver, **options), undisturbed)
    assert len(made.started) == 3


class Processes:
    """A scheduler and its workers as processes of their own."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address, self.started = f"tcp://127.0.0.1:{port}", []
        self._start("dask_scheduler", "--port", str(port), "--idle-timeout", "300")  # if nobody stops it

    def start_worker(self):
        self._start("dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--death-timeout", "60")

    def _start(self, program, *words):
        where = ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", HERE]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.started.append(
            subprocess.Popen([sys.executable, "-m", f"distributed.cli.{program}", *words, *where], **quiet)
        )


@contextlib.contextmanager
def processes():
    """A scheduler and one worker, which are stopped in any case."""
    made = Processes()
    try:
        made.start_worker()
        yield made
    finally:
        for process in made.started:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("solver", [ROUNDS, ADMM()], ids=["rounds", "batch"])
def test_a_lost_scheduler_leaves_the_last_common_point(client, rows, tmp_path, solver):
    X, y, _ = as_dask(400, *rows)
    options = {"epochs": 60, "tol": 0.0, "trace_every": 5.0} if isinstance(solver, ADMM) else {"epochs": 4}
    keeping = {"checkpoint": Checkpoint(tmp_path / "run"), "resume": True}
    undisturbed = solve(Problem(distributed.spread(X, y, client=client, lanes=2), **parts()), solver, **options)
    with processes() as made, cluster_of.Client(made.address, timeout=60, set_as_default=False) as other:
        other.wait_for_workers(1, timeout=60)
        spread = distributed.spread(X, y, client=other, lanes=2)

        def kill(snapshot):
            if snapshot.epoch >= 2:
                made.started[0].kill()

        with pytest.raises(distributed.ClusterError, match=r"scheduler at tcp://.* is lost.*resume=True"):
            solve(Problem(spread, **parts()), solver, callback=kill, **options, **keeping)
    files = list((tmp_path / "run").iterdir())
    assert files
    again = solve(Problem(distributed.spread(X, y, client=client, lanes=2), **parts()), solver, **options, **keeping)
    assert_same(again, undisturbed)
    with pytest.raises(ValueError, match="differs in lanes"):
        solve(Problem(distributed.spread(X, y, client=client, lanes=1), **parts()), solver, **options, **keeping)


@pytest.mark.slow
def test_a_partition_too_large_for_a_worker_is_named():
    X = da.random.random((130_000, 1000), chunks=(130_000, 1000))
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with cluster(workers=1, processes=True, memory_limit="600MB") as client:
            with pytest.raises(
                distributed.ClusterError, match=r"partition 0 \(130,000 rows, 992 MiB\).*smaller partitions"
            ):
                distributed.spread(X, X[:, 0], client=client)


def test_a_partition_that_moves_leaves_behind_what_a_task_may_be_changing(rows):
    X, y, _ = rows
    partition = load_from_source(sources.arrays(X, y), 0)
    partition.memory("a run")["z"] = np.zeros(N)
    moved = pickle.loads(pickle.dumps(partition))
    assert moved.memory("a run") == {} and "z" in partition.memory("a run")
    np.testing.assert_array_equal(moved.block.y, y)


def is_paused(dask_scheduler):
    return [worker.status.name for worker in dask_scheduler.workers.values()] == ["paused"]


def test_paused_workers_are_reported(rows, limits):
    limits(seconds_before_a_worker_counts_as_silent=0.2)
    limits(seconds_before_a_worker_is_given_up=1.0)
    with dask.config.set({"distributed.worker.memory.pause": 1e-3}):
        with cluster(workers=1, memory_limit="1GB") as client:
            while not client.run_on_scheduler(is_paused):
                time.sleep(0.05)
            with pytest.raises(distributed.ClusterError, match=r"all workers have been paused .* more memory"):
                distributed.spread(*as_dask(400, *rows[:2]), client=client)


class OutOfMemory(cluster_of.WorkerPlugin):
    """The second worker takes more memory than it has when it begins its 20th task of this name; so does its heir."""

    def __init__(self, name):
        self.prefix = f"adasadmm-{name}-"

    def setup(self, worker):
        self.tasks_left = 20 if worker.name == 1 else 0

    def transition(self, key, start, finish, **others):
        if finish == "executing" and str(key).startswith(self.prefix):
            self.tasks_left -= 1
            if self.tasks_left == 0:
                self.hoard = np.ones(80_000_000)
                time.sleep(60)  # its nanny ends it before


@contextlib.contextmanager
def cluster_short_of_memory(name):
    with cluster(processes=True, memory_limit="500MB") as client:
        client.register_plugin(OutOfMemory(name))
        yield client


@pytest.mark.slow
@WITH
def test_a_worker_out_of_memory_does_not_show(client, rows, solver, name, options):
    X, y, _ = as_dask(200, *rows)
    undisturbed = solve(Problem(distributed.spread(X, y, client=client, lanes=2), **parts()), solver, **options)
    with cluster_short_of_memory(name) as other:
        spread = distributed.spread(X, y, client=other, lanes=2)
        before = set(other.run(os.getpid).values())
        result = solve(Problem(spread, **parts()), solver, **options)
        assert before != set(other.run(os.getpid).values())
    assert_same(result, undisturbed)


@pytest.mark.slow
@WITH
def test_where_dask_gives_up_the_checkpoint_remains(client, rows, tmp_path, solver, name, options):
    X, y, _ = as_dask(200, *rows)
    undisturbed = solve(Problem(distributed.spread(X, y, client=client, lanes=2), **parts()), solver, **options)
    keeping = {"checkpoint": Checkpoint(tmp_path / "run"), "resume": True}
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), cluster_short_of_memory(name) as other:
        spread = distributed.spread(X, y, client=other, lanes=2)
        with pytest.raises(distributed.ClusterError, match=r"memory limit 477 MiB.*smaller partitions"):
            solve(Problem(spread, **parts()), solver, **options, **keeping)
    assert list((tmp_path / "run").iterdir())
    again = solve(Problem(distributed.spread(X, y, client=client, lanes=2), **parts()), solver, **options, **keeping)
    assert_same(again, undisturbed)


# --- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_fit_on_the_workers_of_a_scheduler(rows, tmp_path, capsys):
    X, y, _ = rows
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    command = ["fit", str(tmp_path / "rows.svm"), "--graph", "chain", "--epochs", "2", "--json"]
    with processes() as made:
        with cluster_of.Client(made.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
        assert main([*command, "--model", str(tmp_path / "there.skops"), "--scheduler", made.address]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["rows"], figures["features"], figures["epochs"]) == (N, D, 2.0)
    model = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=2, random_state=0).fit(X.round(20), y)
    np.testing.assert_allclose(load_model(tmp_path / "there.skops").coef_, model.coef_, rtol=1e-8)


def test_a_scheduler_that_does_not_answer_is_named(rows, tmp_path, capsys):
    X, y, _ = rows
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    command = ["fit", str(tmp_path / "rows.svm"), "--model", str(tmp_path / "m.skops"), "--scheduler", "no address"]
    assert main(command) != 0
    assert "no scheduler answers at no address" in capsys.readouterr().err
