"""Rows from files, tables and iterators: the same bits as from arrays, flat memory, threads that end."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from row_files import BLOCK, D, N, gathered, problem_of, rows_and_labels, svmlight_bytes, table_of, write_text
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    ADMM,
    ALM,
    SADMM,
    AdaSADMM,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    Hinge,
    Squared,
    graphs,
    solve,
    sources,
)
from adasadmm.rows.matrices import plain
from adasadmm.sources import SourceError

pytestmark = [pytest.mark.kernels, pytest.mark.compiled]  # too slow without the compiler


@pytest.fixture(scope="module")
def data():
    return rows_and_labels()


@pytest.fixture(scope="module")
def every_kind(data, tmp_path_factory):
    """The same rows in each kind of source, as a dict of functions that open it."""
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    X, y = data
    folder = tmp_path_factory.mktemp("kinds")
    text = svmlight_bytes(folder / "rows.svm", X, y)
    write_text(folder / "rows.svm.gz", text)
    write_text(folder / "rows.svm.bz2", text)
    for k, half in enumerate((slice(0, 350), slice(350, N))):
        pyarrow.parquet.write_table(table_of(X[half], y[half]), folder / f"half{k}.parquet", row_group_size=200)
        pyarrow.feather.write_feather(table_of(X[half], y[half]), str(folder / f"half{k}.arrow"), chunksize=90)
    lines = ["x0,x1,x2,x3,x4,target", *(",".join(map(repr, [*row, t])) for row, t in zip(X.tolist(), y, strict=True))]
    csv_text = "\n".join(lines).replace("np.float64(", "").replace(")", "").encode()
    write_text(folder / "rows.csv", csv_text)
    write_text(folder / "rows.csv.gz", csv_text)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    small = 8000  # bytes
    return {
        "arrays": lambda: sources.arrays(X, y, block_rows=BLOCK),
        "sparse": lambda: sources.arrays(sp.csr_array(X), y, block_rows=BLOCK),
        "svmlight": lambda: sources.svmlight(folder / "rows.svm", block_bytes=small),
        "gz": lambda: sources.open(folder / "rows.svm.gz", block_bytes=small),
        "bz2": lambda: sources.open(str(folder / "*.svm.bz2"), block_bytes=small),
        "parquet": lambda: sources.open(str(folder / "half*.parquet"), block_rows=BLOCK),
        "arrow": lambda: sources.open([folder / "half0.arrow", folder / "half1.arrow"]),
        "folder": lambda: sources.parquet(folder, columns=[f"x{j}" for j in range(D)], target="target"),
        "csv": lambda: sources.open(folder / "rows.csv", block_bytes=small),
        "csv.gz": lambda: sources.csv(folder / "rows.csv.gz", target="target"),
        "memmap": lambda: sources.memmap(folder / "X.npy", folder / "y.npy", block_rows=BLOCK),
        "mapped": lambda: sources.memmap(np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy", "r")),
        "list": lambda: sources.iterator([(X[:40], y[:40]), (X[40:], y[40:])]),
        "generator": lambda: sources.iterator(lambda: ((X[k : k + 70], y[k : k + 70]) for k in range(0, N, 70))),
    }


KINDS = (
    *("arrays", "sparse", "svmlight", "gz", "bz2", "parquet", "arrow", "folder", "csv", "csv.gz"),
    *("memmap", "mapped", "list", "generator"),
)


# --- the same rows, the same bits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_gives_the_rows_and_the_run_of_the_arrays(kind, every_kind, data):
    source = every_kind[kind]()
    X, y = gathered(source)
    np.testing.assert_array_equal(X, data[0])
    np.testing.assert_array_equal(y, data[1])
    assert source.shape == (N, D)
    assert source.summary.labels == {label: (np.sum(y == label), np.sum(y == label)) for label in (-1.0, 1.0)}
    solver = AdaSADMM(beta="auto")
    whole = solve(problem_of(*data), solver, epochs=2, order="given")
    result = solve(problem_of(source), solver, epochs=2, order="given")
    np.testing.assert_array_equal(result.w, whole.w)
    np.testing.assert_array_equal(result.w_mean, whole.w_mean)
    assert result.trace["objective"][-1] == pytest.approx(whole.trace["objective"][-1], rel=1e-12)
    assert result.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-12)
    assert -np.inf < result.certificate.dual < whole.certificate.dual  # in memory dual steps go on from the same slopes


@pytest.mark.parametrize("kind", ["svmlight", "bz2", "parquet", "csv", "mapped", "list"])
def test_a_pickled_source_reads_any_part_by_its_number(kind, every_kind):
    source = every_kind[kind]()
    copy = pickle.loads(pickle.dumps(source))
    for part in reversed(range(len(source))):
        for one, other in zip(source.read(part), copy.read(part), strict=True):
            np.testing.assert_array_equal(one.y, other.y)


def test_plain_text_is_cut_at_lines_wherever_the_bytes_end(data, tmp_path):
    X, y = data[0][:40], data[1][:40]
    svmlight_bytes(tmp_path / "a.svm", X, y)
    for size in (7, 131, 10**6):
        rows, targets = gathered(sources.svmlight(tmp_path / "a.svm", block_bytes=size))
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_array_equal(targets, y)


def test_blocks_and_their_rows_are_shuffled_from_the_seed_and_the_epoch(data):
    X, y = data
    source = sources.arrays(X, y, block_rows=BLOCK)
    problem, memory = problem_of(source), problem_of(X, y)
    solver = SADMM(eta=0.1)
    result = solve(problem, solver, epochs=2, seed=3)
    order = []
    for epoch in range(2):
        rng = np.random.default_rng([3, epoch])
        for part in rng.permutation(len(source)):
            n = min(BLOCK, N - part * BLOCK)
            order.append(part * BLOCK + rng.permutation(n))
    np.testing.assert_array_equal(np.sort(np.concatenate(order)), np.repeat(np.arange(N), 2))
    np.testing.assert_array_equal(result.w, solve(memory, solver, samples=np.concatenate(order)).w)
    assert (solve(problem, solver, epochs=2, seed=4).w != result.w).any()


def test_batch_admm_from_a_source_is_that_of_memory(data):
    X, y = data
    memory = solve(problem_of(X, y), ADMM(), tol=1e-4)
    streamed = solve(problem_of(sources.arrays(X, y, block_rows=BLOCK)), ADMM(), tol=1e-4)
    assert streamed.status is memory.status
    np.testing.assert_allclose(streamed.w, memory.w, rtol=0, atol=1e-10)
    assert streamed.certificate.dual == pytest.approx(memory.certificate.dual, rel=1e-9)


def test_weights_of_a_source_are_those_of_a_problem(data):
    X, y = data
    weight = np.random.default_rng(1).integers(0, 4, N).astype(float)
    source = sources.arrays(X, y, weight, block_rows=BLOCK)
    memory = problem_of(X, y, sample_weight=weight)
    w = np.linspace(-1.0, 1.0, D)
    assert problem_of(source).objective(w) == pytest.approx(memory.objective(w), rel=1e-13)


@pytest.mark.parametrize("loss", [Hinge(), Squared()])
def test_the_certificate_of_a_source_with_an_intercept_is_a_true_bound(loss, data):
    X, y = data
    source = sources.arrays(X, y, block_rows=BLOCK).view(intercept=True)
    A = sp.csr_array(np.hstack([graphs.incidence(graphs.chain(D)).toarray(), np.zeros((D - 1, 1))]))
    settings = {"A": A, "gamma": np.append(np.full(D, 1e-2), 0.0), "loss": loss}
    problem = problem_of(source, **settings)
    best = solve(problem_of(np.hstack([X, np.ones((N, 1))]), y, **settings), ALM(), tol=1e-8).certificate
    quick = solve(problem, AdaSADMM(average="step-weighted"), epochs=5).certificate
    assert -np.inf < quick.dual <= best.primal * (1 + 1e-12)
    exact = solve(problem, ADMM(), tol=1e-3).certificate
    assert exact.relative_gap <= 1e-3
    assert exact.dual <= best.primal * (1 + 1e-12)


def test_the_bar_tells_rows_and_the_loss_before_they_are_learnt(data, capsys):
    problem = problem_of(sources.arrays(*data, block_rows=BLOCK))
    quiet = solve(problem, SADMM(eta=0.1), epochs=2)
    shown = solve(problem, SADMM(eta=0.1), epochs=2, progress=True)
    np.testing.assert_array_equal(shown.w, quiet.w)
    said = capsys.readouterr().err
    assert "1.20k/1.20k rows" in said
    assert "rows/s, progressive loss" in said


# --- threads and memory ----------------------------------------------------------------------------------------------


def reading_threads():
    return [thread for thread in threading.enumerate() if thread.name == "adasadmm-ahead"]


def test_the_reading_thread_ends_with_its_consumer_and_passes_errors_on(data):
    X, y = data
    made = []

    def blocks():
        for k in range(0, N, 10):
            made.append(k)
            yield X[k : k + 10], y[k : k + 10]

    source = sources.iterator(blocks, n_features=D)
    pieces = source.raw_blocks()
    next(pieces)
    assert len(reading_threads()) == 1
    pieces.close()
    assert not reading_threads()
    assert len(made) <= 2  # one used, one made ahead

    def broken():
        yield X, y
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="the network is gone"):
        sources.iterator(broken).summary
    with pytest.raises(ZeroDivisionError):
        solve(problem_of(source), SADMM(eta=0.1), callback=lambda snapshot: 1 / 0)
    assert not reading_threads()


MEMORY = """
import resource, sys
import numpy as np
from adasadmm import AdaSADMM, Hinge, L1, Problem, graphs, solve, sources

def blocks():
    for k in range(int(sys.argv[1])):
        X = np.random.default_rng(k).normal(size=(20000, 20))
        yield X, np.where(X[:, 0] > 0, 1.0, -1.0)

source = sources.iterator(blocks)
problem = Problem(source, loss=Hinge(), penalty=L1(1e-3), A=graphs.incidence(graphs.chain(20)), gamma=1e-2)
result = solve(problem, AdaSADMM(batch_size=64), epochs=1)
assert result.certificate.relative_gap < 10
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows():
    def peak(blocks):
        run = subprocess.run([sys.executable, "-c", MEMORY, str(blocks)], capture_output=True, text=True, check=True)
        return int(run.stdout)

    few, many = peak(4), peak(40)  # 13 MB and 128 MB of rows; a vector over the rows takes 6.4 MB
    assert many - few < 6_000


# --- the estimators --------------------------------------------------------------------------------------------------

SETTINGS = {"solver": "ada-diag", "alpha": 0.01, "l2": 0.01, "eta": 0.5, "beta": 1.0, "batch_size": 1}


@pytest.mark.parametrize("kind", ["arrays", "bz2", "parquet", "generator"])
def test_fit_partial_fit_stream_and_file_give_the_same_bits(kind, every_kind, data):
    X, y = data
    settings = {"shuffle": False, "max_iter": 1, **SETTINGS}
    memory = GraphGuidedClassifier("chain", **settings).fit(X, y)
    file = GraphGuidedClassifier("chain", **settings).fit(every_kind[kind]())
    stream = GraphGuidedClassifier("chain", **SETTINGS)
    for piece in every_kind[kind]().raw_blocks():
        stream.partial_fit(plain(piece.X), piece.y, classes=[-1.0, 1.0])
    for model in (file, stream):
        np.testing.assert_array_equal(model.coef_, memory.coef_)
        np.testing.assert_array_equal(model.intercept_, memory.intercept_)
    assert memory.dual_gap_ <= file.dual_gap_ < np.inf  # in memory dual steps go on from the same slopes
    assert file.n_features_in_ == D


def test_labels_of_a_source_may_be_texts_and_several_and_weighted(data, tmp_path):
    import pyarrow.parquet as pq

    X, _ = data
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0], [-1.0, 0.5])]
    pq.write_table(table_of(X, y), tmp_path / "a.parquet", row_group_size=200)
    settings = {"shuffle": False, "max_iter": 2, "class_weight": "balanced", **SETTINGS, "solver": "admm"}
    with pytest.warns(ConvergenceWarning, match="raise max_iter, which is 2"):
        memory = GraphGuidedClassifier("knn", **settings).fit(X, y)
        source = GraphGuidedClassifier("knn", **settings).fit(sources.parquet(tmp_path))
    assert source.classes_.tolist() == ["low", "middle", "top"]
    assert source.feature_names_in_.tolist() == [f"x{j}" for j in range(D)]
    np.testing.assert_array_equal(source.graph_, memory.graph_)
    np.testing.assert_allclose(source.coef_, memory.coef_, rtol=0, atol=1e-12)
    rows = sources.parquet(tmp_path)
    assert np.array_equal(np.vstack([block for block, _ in rows.blocks()]), X)
    # predicted from files as from memory
    frame = table_of(X, y).drop_columns("target").to_pandas()
    np.testing.assert_array_equal(source.predict(rows), source.predict(frame))
    assert source.score(rows) == source.score(frame, y)
    with pytest.raises(SourceError, match=rf"has 1 features, but the model was fitted with {D}; .* set n_features={D}"):
        source.predict(sources.arrays(X[:, :1], y))


@pytest.mark.parametrize("kind", [bool, np.int8, np.float32])
def test_classes_keep_their_type(kind, data):
    X, y = data
    fitted = GraphGuidedClassifier("chain", max_iter=1, **SETTINGS).fit(sources.arrays(X, (y > 0).astype(kind)))
    assert fitted.classes_.tolist() == [kind(0), kind(1)]
    assert fitted.score(X, (y > 0).astype(kind)) > 0.8
    assert isinstance(fitted.predict(X)[0].item(), {bool: bool, np.int8: int}.get(kind, float))


def test_a_regression_from_a_source_is_that_of_memory(data):
    X, y = data
    source = sources.arrays(X, 3.0 * y + X[:, 0], block_rows=BLOCK)
    settings = {"solver": "admm", "alpha": 1e-3, "l2": 1e-3}
    memory = GraphGuidedRegressor("chain", **settings).fit(X, 3.0 * y + X[:, 0])
    np.testing.assert_allclose(GraphGuidedRegressor("chain", **settings).fit(source).coef_, memory.coef_, atol=1e-10)
    assert memory.score(source) == pytest.approx(memory.score(X, 3.0 * y + X[:, 0]))
    with pytest.raises(SourceError, match="has no targets to score against"):
        memory.score(sources.arrays(X, None))
    auto = GraphGuidedRegressor("chain", alpha=1e-3, l2=1e-3, random_state=0, tol=0.05).fit(source)
    assert auto.dual_gap_ <= 0.05
    np.testing.assert_allclose(auto.coef_, memory.coef_, atol=0.2)


def test_a_source_without_two_classes_and_wrong_uses_of_fit_are_clear_errors(data, limits):
    X, y = data
    with pytest.raises(SourceError, match=r"needs at least 2 classes, .* has one only: 1"):
        GraphGuidedClassifier("chain").fit(sources.arrays(X, np.ones(N)))
    with pytest.raises(ValueError, match="must be None if X is a source"):
        GraphGuidedClassifier("chain").fit(sources.arrays(X, y), y)
    limits(share_of_memory=1e-12)
    with pytest.raises(
        ValueError, match="cross-validation keeps them in memory, at most 0 bytes: choose alpha on a sample"
    ):
        GraphGuidedClassifierCV("chain").fit(sources.arrays(X, y))
    many = sources.arrays(np.ones((1100, 1)), np.arange(1100.0))
    with pytest.raises(SourceError, match="more than 1000 different targets"):
        GraphGuidedClassifier("chain").fit(many)


@pytest.mark.parametrize("graph", [graphs.glasso, graphs.knn])
def test_a_graph_from_a_source_is_that_of_memory(graph):
    rng = np.random.default_rng(0)
    X = 1e4 + np.cumsum(rng.normal(size=(500, 12)), axis=1)
    X[:, 7] = 3.0
    weight = rng.integers(0, 3, 500).astype(float)
    y = np.zeros(500)
    memory = graph(X, sample_weight=weight)
    for source in (
        sources.arrays(X, y, weight, block_rows=99),
        sources.arrays(sp.csr_array(X), y, weight, block_rows=99),
    ):
        streamed = graph(source)
        np.testing.assert_array_equal(streamed.edges, memory.edges)
        assert [note for note in streamed.notes if "alone" in note] == [n for n in memory.notes if "alone" in n]
    with pytest.raises(ValueError, match="penalty='cv' needs X in memory"):
        graphs.glasso(source, penalty="cv")
