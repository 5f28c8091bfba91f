"""validation_fraction: rows that a fit does not learn from, and their loss."""

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import GraphGuidedClassifier, GraphGuidedRegressor, StructuredRegressor, losses, sources
from adasadmm.sources._held_out import is_held_out, split

pytestmark = pytest.mark.compiled  # too slow without the compiler

N, D = 1200, 4
HELD = is_held_out(0, N, 0.25)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, X @ [1.0, 1.0, -1.0, 0.0] + rng.normal(size=N), rng.uniform(0.5, 2.0, N)


def loss_of(model, X, y, weight=None, offset=0.0, loss=None):
    loss = loss or losses.Squared()
    z = X @ np.atleast_2d(model.coef_)[0] + np.atleast_1d(model.intercept_)[0] + offset
    return np.average([losses.value(loss, a, b) for a, b in zip(z, y, strict=True)], weights=weight)


def test_the_hash_depends_on_the_row_alone():
    assert 0.2 < HELD.mean() < 0.3
    np.testing.assert_array_equal(is_held_out(500, 100, 0.25), HELD[500:600])
    assert (is_held_out(0, N, 0.5) >= HELD).all()  # a larger share holds out the same rows and more
    runs = np.diff(np.flatnonzero(np.diff(HELD.astype(int))))
    assert runs.max() < 50  # no long stretch is on one side


def test_the_model_is_that_of_the_other_rows(rows):
    X, y, weight = rows
    model = GraphGuidedRegressor("chain", validation_fraction=0.25, tol=1e-9).fit(X, y, weight, offset=X[:, 0])
    alone = GraphGuidedRegressor("chain", tol=1e-9).fit(X[~HELD], y[~HELD], weight[~HELD], offset=X[~HELD, 0])
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    expected = loss_of(model, X[HELD], y[HELD], weight[HELD], X[HELD, 0])
    assert model.validation_loss_ == pytest.approx(expected, rel=1e-12)
    assert f"validation loss {expected:.6g}: the mean over {HELD.sum()} rows held out" in model.summary()
    model.set_params(validation_fraction=0.0).fit(X, y)
    assert not hasattr(model, "validation_loss_") and "validation" not in model.summary()


SOURCES = {
    "arrays": lambda X, y, w, tmp: sources.arrays(X, y, w, block_rows=97),
    "sparse": lambda X, y, w, tmp: sources.arrays(sp.csr_array(X), y, w, block_rows=500),
    "scaled": lambda X, y, w, tmp: sources.scaled(sources.arrays(X, y, w, block_rows=97)),
    "cached": lambda X, y, w, tmp: sources.cached(sources.arrays(X, y, w, block_rows=97), tmp / "cache"),
    "scanned": lambda X, y, w, tmp: scanned(sources.arrays(X, y, w, block_rows=97)),
}


def scanned(source):
    assert source.summary.rows == N
    return source


@pytest.mark.parametrize("kind", SOURCES)
def test_a_stream_holds_out_the_same_rows(kind, rows, tmp_path):
    X, y, weight = rows
    settings = {"solver": "admm", "tol": 1e-7, "validation_fraction": 0.25}
    model = StructuredRegressor("chain", **settings).fit(source := SOURCES[kind](X, y, weight, tmp_path))
    seen = (X - source.convert.mean) / source.convert.scale if kind == "scaled" else X
    alone = StructuredRegressor("chain", solver="admm", tol=1e-7).fit(seen[~HELD], y[~HELD], weight[~HELD])
    assert model._place[0] == "stream"
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-5)
    assert model.validation_loss_ == pytest.approx(loss_of(model, seen[HELD], y[HELD], weight[HELD]), rel=1e-9)


def test_the_parts_of_a_source_have_their_own_totals(rows, tmp_path):
    X, y, _ = rows
    path = tmp_path / "rows.svm"
    with path.open("w") as file:
        for x, target in zip(X[:, :3] * (np.arange(N)[:, None] % 3 >= [0, 1, 2]), np.sign(y), strict=True):
            entries = " ".join(f"{j + 1}:{value:.17g}" for j, value in enumerate(x) if value)
            file.write(f"{target:g} {entries}\n")
    whole = sources.svmlight(path, block_bytes=4000)
    reads = []
    read = whole.read_rows
    whole.read_rows = lambda partition, faults: (reads.append(partition), read(partition, faults))[1]
    learnt, held = split(whole, 0.25)
    assert (learnt.shape, held.shape) == (((~HELD).sum(), 3), (HELD.sum(), 3))
    assert learnt.summary.labels[1.0][0] + held.summary.labels[1.0][0] == (y > 0).sum()
    assert len(reads) == len(whole)  # one scan for all three
    targets = np.concatenate([block.y for block in held.raw_blocks()])
    np.testing.assert_array_equal(targets, np.sign(y)[HELD])


def test_several_classes_and_class_weights(rows):
    X, y, _ = rows
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-1.0, 1.0])]
    weights = {"a": 1.0, "b": 2.0, "c": 4.0}
    settings = {"class_weight": weights, "validation_fraction": 0.25, "random_state": 0}
    here = GraphGuidedClassifier("chain", **settings).fit(X, labels)
    there = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=3, **settings)
    there.fit(sources.arrays(X, labels, block_rows=200))
    for model in (here, there):
        scores, c = model.decision_function(X[HELD]), np.vectorize(weights.get)(labels[HELD])
        for k, label in enumerate("abc"):
            margins = np.where(labels[HELD] == label, 1.0, -1.0) * scores[:, k]
            expected = np.average(np.maximum(0.0, 1.0 - margins), weights=c)
            assert model.validation_loss_[k] == pytest.approx(expected, rel=1e-9)


def test_no_rows_on_one_side_is_an_error(rows):
    X, y, _ = rows
    model = GraphGuidedRegressor("chain", validation_fraction=1e-6)
    with pytest.raises(ValueError, match="of 1,200 rows leaves no row for validation"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="leaves no row for validation"):
        model.set_params(solver="ada-diag").fit(sources.arrays(X, y))


@pytest.mark.slow
def test_workers_hold_out_the_same_rows(rows):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    from distributed import Client

    from adasadmm import distributed

    X, y, weight = rows
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
        spread = distributed.spread(sources.arrays(X, y, weight, block_rows=97), client=client)
        model = GraphGuidedRegressor("chain", solver="admm", tol=1e-7, validation_fraction=0.25).fit(spread)
        once = GraphGuidedRegressor("chain", solver="ada-diag", max_iter=1, validation_fraction=0.25).fit(spread)
    alone = GraphGuidedRegressor("chain", tol=1e-7).fit(X[~HELD], y[~HELD], weight[~HELD])
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-5)
    for fitted in (model, once):
        expected = loss_of(fitted, X[HELD], y[HELD], weight[HELD])
        assert fitted.validation_loss_ == pytest.approx(expected, rel=1e-9)
