"""Files that shrink, disappear or cannot be read or written while they are used: clear errors, and nothing is lost."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from adasadmm import GraphGuidedClassifier, save_model, sources
from adasadmm.cli import main
from adasadmm.sources import SourceError
from adasadmm.sources._svmlight import SvmlightSource

N = 600


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{1 if k % 3 else -1} 1:{k % 7 + 0.5} 2:{k % 3}\n" for k in range(N)))
    return path


def changed_in_second_pass(text, change):
    """A source whose file is changed after the first block of the pass that follows the scan."""
    source = sources.svmlight(text, block_bytes=1000, n_features=2, prefetch=False)
    source.summary
    read, done = source.read_rows, []

    def read_rows(partition, faults):
        for block in read(partition, faults):
            yield block
            if not done:
                done.append(change(text))

    source.read_rows = read_rows
    return source


def write_other_rows(path):
    """As many rows and bytes as before."""
    path.write_bytes(path.read_bytes().replace(b".5", b".7"))
    os.utime(path, (0, 0))  # clocks of files tick every few milliseconds only


CHANGES = {
    "shrinks": (lambda path: os.truncate(path, 2 * path.read_bytes().index(b"\n", 2000)), SourceError, "bytes, now"),
    "is cut within a row": (lambda path: os.truncate(path, 2001), SourceError, "bytes, now 2,001"),
    "grows": (lambda path: path.write_bytes(2 * path.read_bytes()), SourceError, "bytes, now"),
    "has other rows": (write_other_rows, SourceError, "was changed after it was opened"),
    "disappears": (os.unlink, FileNotFoundError, "rows.svm"),
}


@pytest.fixture
def model(text):
    chain = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=2, random_state=0)
    return chain.fit(sources.svmlight(text, n_features=2))


@pytest.mark.parametrize("act", ["fit", "predict", "score"])
@pytest.mark.parametrize("how", CHANGES)
def test_a_file_that_changes_while_it_is_read_is_noticed_and_the_model_stays(how, act, text, model):
    coef = model.coef_.copy()
    change, error, message = CHANGES[how]
    with pytest.raises(error, match=message):
        getattr(model, act)(changed_in_second_pass(text, change))
    np.testing.assert_array_equal(model.coef_, coef)


@pytest.mark.parametrize("how", CHANGES)
def test_predictions_of_a_file_that_changes_are_not_kept(how, text, model, monkeypatch, capsys):
    saved, out = text.with_name("model.skops"), text.with_name("p.csv")
    save_model(model, saved)
    change, error, message = CHANGES[how]
    read = SvmlightSource._read_from

    def changed_after_reading(self, path, start, faults):
        yield from read(self, path, start, faults)
        change(Path(path))

    monkeypatch.setattr(SvmlightSource, "_read_from", changed_after_reading)
    assert main(["predict", str(saved), str(text), "--out", str(out)]) == (1 if error is SourceError else 2)
    assert message in capsys.readouterr().err
    assert {path.name for path in text.parent.iterdir()} <= {text.name, saved.name}


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_table_that_is_replaced_after_it_was_opened_is_noticed(ending, tmp_path):
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    write = {"csv": csv.write_csv, "parquet": parquet.write_table, "arrow": feather.write_feather}[ending]
    path = tmp_path / f"rows.{ending}"
    rows = pa.table({"a": np.arange(40.0), "y": np.arange(40.0) % 2})
    write(rows, str(path))
    read = sources.open(path, target="y"), sources.tables(path, target="y")
    path.unlink()  # a file that is read through a memory map must not be changed in place
    write(rows.slice(0, 30), str(path))
    for partition in (opened.read(0) for opened in read):
        with pytest.raises(SourceError, match=rf"rows\.{ending} was changed after it was opened"):
            list(partition)


def test_a_pickled_source_reads_the_copy_of_another_machine(text):
    source = sources.svmlight(text, n_features=2)
    found = source.summary
    os.utime(text, (0, 0))
    copy = pickle.loads(pickle.dumps(source))
    assert sum(block.X.shape[0] for block in copy.raw_blocks()) == found.rows == N


FULL = """
import resource, signal, sys
from adasadmm import sources
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    sources.cached(sources.svmlight(sys.argv[1], block_bytes=1000), sys.argv[2]).summary
except OSError as error:
    print(error.strerror, error.filename)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit of file sizes")
def test_a_cache_beyond_the_room_on_the_disc_leaves_no_part(text):
    cache = text.with_suffix(".cache")
    done = subprocess.run([sys.executable, "-c", FULL, text, cache], capture_output=True, text=True, check=True)
    assert done.stdout == f"File too large {cache}\n"
    assert list(text.parent.iterdir()) == [text]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the administrator can read every file")
def test_a_file_without_permission_is_named(text):
    text.chmod(0)
    with pytest.raises(PermissionError, match=r"rows\.svm"):
        sources.svmlight(text).summary
