"""Scaled sources: the moments of all rows from the scan alone, equal to those of scikit-learn."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from counted import Counted
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adasadmm import GraphGuidedClassifier, GraphGuidedRegressor, sources
from adasadmm.rows.matrices import plain

N, D = 700, 5


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * [1.0, 1e4, 1e-4, 1.0, 0.0] + [0.0, 1e6, 0.0, -3.0, 7.0]
    return X, np.where(X[:, 0] + (X[:, 1] - 1e6) / 1e4 > 0.0, 1.0, -1.0)


def rows_of(source):
    return np.vstack([block.toarray() if sp.issparse(block) else block for block, _ in source.blocks()])


@pytest.mark.parametrize("block_rows", [1, 64, N])
def test_dense_columns_are_those_of_a_standard_scaler(block_rows, data):
    X, y = data
    source = sources.scaled(sources.arrays(X, y, block_rows=block_rows))
    expected = StandardScaler().fit(X)
    np.testing.assert_allclose(rows_of(source), expected.transform(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(source.scaler.transform(X), expected.transform(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(source.scaler.mean_, expected.mean_, rtol=1e-12)
    assert source.scaler.scale_[-1] == 1.0  # a column without variance
    assert source.summary == source.inner.summary


def test_sparse_columns_are_scaled_and_stay_sparse(data, tmp_path):
    X, y = data
    X = np.where(np.abs(X - X.mean(axis=0)) > X.std(axis=0), X, 0.0).round(6)
    X[-9:, -1] = 2.0
    lines = (" ".join(f"{j + 1}:{row[j]!r}" for j in np.flatnonzero(row)) for row in X)
    text = "".join(
        f"{label:g} {line}\n".replace("np.float64(", "").replace(")", "") for label, line in zip(y, lines, strict=True)
    )
    (tmp_path / "rows.svm").write_text("1 1:1\n" + text)  # the first rows are narrower than the last
    source = sources.scaled(sources.svmlight(tmp_path / "rows.svm", block_bytes=300))
    X = np.vstack([[1.0, 0.0, 0.0, 0.0, 0.0], X])
    expected = StandardScaler(with_mean=False).fit(sp.csr_array(X))
    assert all(sp.issparse(block) for block, _ in source.blocks())
    np.testing.assert_allclose(rows_of(source), X / expected.scale_, rtol=1e-9)
    np.testing.assert_allclose(source.scaler.transform(sp.csr_array(X)).toarray(), X / expected.scale_, rtol=1e-9)


def test_a_weight_is_a_repetition(data):
    X, y = data
    weight = np.random.default_rng(1).integers(0, 4, N)
    one = sources.scaled(sources.arrays(X, y, weight.astype(float), block_rows=50))
    other = sources.scaled(sources.arrays(np.repeat(X, weight, axis=0), np.repeat(y, weight), block_rows=50))
    np.testing.assert_allclose(one.scaler.mean_, other.scaler.mean_, rtol=1e-12)
    np.testing.assert_allclose(one.scaler.scale_, other.scaler.scale_, rtol=1e-9)


def test_the_moments_take_no_pass_of_their_own(data):
    counted = Counted(sources.arrays(*data, block_rows=50))
    sources.scaled(counted).convert
    assert counted.passes == 1
    sources.scaled(counted).convert  # the scan is over: now they need one
    assert counted.passes == 2


@pytest.mark.compiled
def test_a_scaled_fit_keeps_the_names_and_predicts_frames(data, tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    source = sources.scaled(sources.csv(tmp_path / "rows.csv"))
    model = GraphGuidedClassifier([("a", "b"), ("b", "c")]).fit(source)
    assert model.feature_names_in_.tolist() == list("abcde")
    whole = make_pipeline(source.scaler, model)
    assert whole.feature_names_in_.tolist() == list("abcde") and whole[0].transform(frame).shape == (N, D)
    assert model.score(source) > 0.9


@pytest.mark.compiled
def test_scaled_rows_stream_as_they_fit_in_memory(data):
    X, _ = data
    y = X[:, 0] - (X[:, 1] - 1e6) / 1e4
    scaled = sources.scaled(sources.arrays(X, y, block_rows=100))
    streamed = GraphGuidedRegressor("chain", solver="admm", tol=1e-8).fit(pickle.loads(pickle.dumps(scaled)))
    memory = GraphGuidedRegressor("chain", tol=1e-8).fit(scaled)
    np.testing.assert_allclose(streamed.coef_, memory.coef_, atol=1e-5)
    assert memory._place[0] == "memory" and streamed._place[0] == "stream"


def test_scaled_takes_a_source(data):
    with pytest.raises(TypeError, match=r"source must be a Source, .* got ndarray"):
        sources.scaled(data[0])
    assert plain(next(sources.scaled(sources.arrays(*data)).raw_blocks()).X).shape == (N, D)
