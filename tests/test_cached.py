"""The cache of a source: the same rows and bits, read once; stale and damaged files are noticed and written again."""

import gc
import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from counted import Counted

from adasadmm import GraphGuidedClassifier, sources
from adasadmm._core import files as _files
from adasadmm.rows.matrices import plain
from adasadmm.sources import SourceError, SourceWarning, _store as store

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

N, D = 300, 4


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).round(4)
    return X, np.where(X[:, 0] > 0.0, 1, -1)


def text_of(X, y):
    rows = (" ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row)) for row in X.tolist())
    return "".join(f"{label} {row}\n" for label, row in zip(y.tolist(), rows, strict=True))


@pytest.fixture
def text(data, tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text(text_of(*data))
    return path


def opened(text, **settings):
    return sources.cached(sources.svmlight(text, block_bytes=2000, **settings), text.with_suffix(".cache"))


def dense(block):
    rows = plain(block.X)
    return rows.toarray() if sp.issparse(rows) else rows


def assert_same_rows(one, other):
    assert one.summary == other.summary
    assert (len(one), one.feature_names, one.has_offset) == (len(other), other.feature_names, other.has_offset)
    for first, second in zip(one.raw_blocks(), other.raw_blocks(), strict=True):
        np.testing.assert_array_equal(dense(first), dense(second))
        assert type(first.X) is type(second.X) and first.place == second.place
        for name in ("y", "weight", "offset"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def every_kind(folder, X, y):
    (folder / "rows.svm").write_text(text_of(X, y))
    answers = np.where(y < 0, "no", '"yes, it is"')
    lines = (f"{','.join(map(repr, row))},{answer},2.5" for row, answer in zip(X.tolist(), answers, strict=True))
    (folder / "rows.csv").write_text("\n".join(["a,b,c,d,bought,e", *lines]))
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return {
        "svmlight": sources.svmlight(folder / "rows.svm", block_bytes=1500),
        "csv": sources.csv(folder / "rows.csv", target="bought", exposure="e", block_bytes=1500),
        "memmap": sources.memmap(folder / "X.npy", folder / "y.npy", block_rows=70),
        "weights": sources.arrays(X, y > 0, np.arange(N, dtype=float), block_rows=70),
        "no targets": sources.arrays(X, None, block_rows=70),
    }


@pytest.mark.parametrize("kind", ["svmlight", "csv", "memmap", "weights", "no targets"])
def test_the_rows_are_those_of_the_source(kind, data, tmp_path):
    source = every_kind(tmp_path, *data)[kind]
    for _ in range(2):  # written, then read
        assert_same_rows(sources.cached(source, tmp_path / "cache"), source)
    copy = pickle.loads(pickle.dumps(sources.cached(source, tmp_path / "cache")))
    assert_same_rows(copy, source)


@pytest.mark.compiled
def test_a_fit_from_the_cache_has_the_same_bits_and_reads_the_text_once(text):
    def fitted(source):
        model = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=3, random_state=0)
        return model.fit(source)

    inner = Counted(sources.svmlight(text, block_bytes=2000, n_features=D))
    plain_fit = fitted(sources.svmlight(text, block_bytes=2000))
    first = fitted(sources.cached(inner, text.with_suffix(".cache")))
    assert inner.rows_read == N
    second = fitted(sources.cached(inner, text.with_suffix(".cache")))
    assert inner.rows_read == N  # a later run reads the cache alone
    for model in (first, second):
        np.testing.assert_array_equal(model.coef_, plain_fit.coef_)
        assert model.dual_gap_ == plain_fit.dual_gap_


# --- stale -----------------------------------------------------------------------------------------------------------


def reads(text, **settings):
    """How many rows of the text opening the cache reads: 0 if the cache is used."""
    inner = Counted(sources.svmlight(text, block_bytes=2000, **settings))
    source = sources.cached(inner, text.with_suffix(".cache"))
    assert_same_rows(source, sources.svmlight(text, block_bytes=2000, **settings))
    return inner.rows_read


def test_a_cache_of_other_files_or_settings_is_written_again(text):
    assert (reads(text), reads(text)) == (N, 0)
    os.utime(text, ns=(1, 1))  # only the time has changed
    assert (reads(text), reads(text)) == (N, 0)
    state = text.stat()
    content = text.read_text()
    text.write_text(content.replace("1 1:", "2 1:", 1))
    os.utime(text, ns=(state.st_atime_ns, state.st_mtime_ns))  # same size and time, another label
    assert text.stat().st_size == state.st_size
    assert (reads(text), reads(text)) == (N, 0)
    text.write_text(content + "1 1:1\n")
    assert (reads(text), reads(text)) == (N + 1, 0)
    assert (reads(text, n_features=9), reads(text, n_features=9), reads(text)) == (N + 1, 0, N + 1)
    assert reads(text, zero_based=True) == N + 1


def test_rows_that_are_not_from_files_are_written_in_each_run(data, tmp_path):
    X, y = data
    sources.cached(sources.arrays(X, y), tmp_path / "cache").summary
    source = sources.cached(sources.arrays(2.0 * X, y), tmp_path / "cache")
    np.testing.assert_array_equal(dense(next(source.raw_blocks())), 2.0 * X)


def test_skipped_rows_are_reported_by_later_runs(text):
    with text.open("a") as file:
        file.write("1 x:1\n")
    for _ in range(2):
        with pytest.warns(SourceWarning, match="1 bad rows skipped: .*line 301"):
            assert opened(text, on_bad_row="skip").summary.skipped == 1
    with pytest.raises(SourceError, match="line 301"):
        opened(text).summary


# --- damaged ---------------------------------------------------------------------------------------------------------


def test_a_cache_that_was_cut_anywhere_is_written_again(text):
    opened(text).summary
    cache = text.with_suffix(".cache")
    whole = cache.read_bytes()
    for length in (0, 1, 15, 16, 100, store.ALIGNMENT + 7, len(whole) // 2, len(whole) - 1):
        cache.write_bytes(whole[:length])
        assert reads(text) == N
        assert cache.read_bytes() == whole


@pytest.mark.filterwarnings("ignore:the cache:adasadmm.sources.SourceWarning")
def test_a_changed_byte_in_a_block_or_in_the_index_is_noticed(text):
    opened(text).summary
    cache = text.with_suffix(".cache")
    whole = cache.read_bytes()
    at = store.TRAILER.unpack(whole[-store.TRAILER.size :])[0]
    for place in (3, store.ALIGNMENT + 5, 2 * store.ALIGNMENT + 1000, at + 20, len(whole) - 40, len(whole) - 3):
        cache.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert reads(text) == N
        assert cache.read_bytes() == whole


def test_a_damaged_block_is_reported_and_the_pass_goes_on(text):
    opened(text).summary
    cache = text.with_suffix(".cache")
    whole = cache.read_bytes()
    cache.write_bytes(whole[: 3 * store.ALIGNMENT] + bytes(64) + whole[3 * store.ALIGNMENT + 64 :])
    source = opened(text, prefetch=False)
    with pytest.warns(SourceWarning, match=r"rows\.cache is damaged \(block 2 is damaged\) and is written again"):
        labels = np.concatenate([block.y for block in source.raw_blocks()])
    assert len(labels) == N and cache.read_bytes() == whole


def test_a_cache_with_indices_beyond_the_features_is_not_used(text):
    source = opened(text)
    with _files.written_whole(source.path) as file:
        writer = store.Writer(file)
        writer.start_partition()
        block = next(sources.svmlight(text).raw_blocks())
        writer.add(block._replace(X=block.X._replace(indices=block.X.indices + np.uint32(2**20))))
        writer.finish("key", sources.svmlight(text).summary)
    with pytest.raises(store.CacheFault, match="block 0 is not a matrix"):
        store.Store(source.path, "key").block(0)


def test_an_index_that_lies_is_noticed_before_it_does_harm(text):
    source = opened(text)
    source.summary
    cache = text.with_suffix(".cache")
    whole = cache.read_bytes()
    at, length, *_ = store.TRAILER.unpack(whole[-store.TRAILER.size :])
    index, rng = json.loads(whole[at : at + length]), np.random.default_rng(0)
    key = index["key"]
    lies = [-1, -(2**20), 0, 1, 2**40, 2**70, None, "x", [], {}, [[]], "|O", 0.5]
    ends = []
    for k in range(600):
        lying = json.loads(json.dumps(index))
        record = lying["blocks"][rng.integers(len(lying["blocks"]))]
        place = [lying, lying["summary"], record, record["arrays"][0], record["arrays"][1]][k % 5]
        names = [name for name in place if name != "key"] if isinstance(place, dict) else range(len(place))
        place[list(names)[rng.integers(len(names))]] = lies[rng.integers(len(lies))]
        data = json.dumps(lying).encode()
        trailer = store.TRAILER.pack(at, len(data), hashlib.sha256(data).digest(), store.END)
        cache.write_bytes(whole[:at] + data + trailer)
        try:
            found = store.Store(source.path, key)
            blocks = [found.block(number) for numbers in found.partitions for number in numbers]
            ends.append(sum(plain(block.X).sum() for block in blocks))
        except store.CacheFault:
            ends.append(None)
    assert 100 < sum(end is None for end in ends) < 600


# --- interrupted -----------------------------------------------------------------------------------------------------


def test_a_full_disc_leaves_the_old_cache_and_nothing_else(text, monkeypatch):
    opened(text).summary
    cache = text.with_suffix(".cache")
    old = cache.read_bytes()
    os.utime(text, ns=(1, 1))

    def full(self, block):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store.Writer, "add", full)
        with pytest.raises(OSError, match="No space left") as raised:
            opened(text).summary
    assert raised.value.filename == str(cache)
    assert cache.read_bytes() == old and sorted(text.parent.iterdir()) == [cache, text]
    assert reads(text) == N


def test_files_that_change_while_the_cache_is_written_are_noticed(text, monkeypatch):
    add = store.Writer.add

    def change(self, block):
        os.utime(text, ns=(len(self.blocks), 1 + len(self.blocks)))
        add(self, block)

    monkeypatch.setattr(store.Writer, "add", change)
    with pytest.raises(SourceError, match="was changed"):
        opened(text).summary
    assert sorted(text.parent.iterdir()) == [text]


WRITER = """
import sys, time
from adasadmm import sources
from adasadmm.sources import _store as store
add = store.Writer.add
def slow(self, block):
    add(self, block)
    print(len(self.blocks), flush=True)
    time.sleep(0.05)
store.Writer.add = slow
sources.cached(sources.svmlight(sys.argv[1], block_bytes=2000), sys.argv[2]).summary
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_killed_writer_leaves_nothing_harmful(text, monkeypatch):
    cache = text.with_suffix(".cache")
    with subprocess.Popen([sys.executable, "-c", WRITER, text, cache], stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline()
        (part,) = text.parent.glob(".rows.cache.*.part")
        monkeypatch.setattr(_files, "ABANDONED", -1.0)
        assert reads(text) == N and part.exists()  # of a living process
        cache.unlink()
        writer.send_signal(signal.SIGKILL)
    assert part.exists() and not cache.exists()
    assert reads(text) == N
    assert sorted(text.parent.iterdir()) == [cache, text]


def test_a_part_that_was_just_made_is_left_alone(text):
    part = text.parent / ".rows.cache.abc.part"
    part.write_bytes(b"")
    opened(text).summary
    assert part.exists()
    os.utime(part, (time.time() - 100, time.time() - 100))
    text.with_suffix(".cache").unlink()
    opened(text).summary
    assert not part.exists()


def test_a_cache_needs_a_folder_that_can_be_written_to_and_a_source(text, tmp_path):
    with pytest.raises(IsADirectoryError, match="must be a file"):
        sources.cached(sources.svmlight(text), tmp_path)
    with pytest.raises(FileNotFoundError, match="the folder of the cache does not exist: create it"):
        sources.cached(sources.svmlight(text), tmp_path / "none" / "cache")
    with pytest.raises(TypeError, match=r"source must be a Source, .* got str"):
        sources.cached(str(text), tmp_path / "cache")


def test_a_cache_lets_go_of_its_file(text):
    gc.collect()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    source = opened(text)
    blocks = list(source.raw_blocks())
    assert blocks[0].X.data.flags.writeable  # compiled code has one form for it; the file does not change
    del source, blocks
    gc.collect()
    assert not before or len(os.listdir("/proc/self/fd")) == before
