"""Files that shrink, disappear or cannot be read or written during a fit: clear errors, and nothing is lost."""

import os
import subprocess
import sys

import numpy as np
import pytest

from adasadmm import GraphGuidedClassifier, sources
from adasadmm.sources import SourceError

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
                done.append(change())

    source.read_rows = read_rows
    return source


CHANGES = {
    "shrinks": (lambda path: os.truncate(path, 2 * path.read_bytes().index(b"\n", 2000)), (SourceError, "was changed")),
    "disappears": (os.unlink, (FileNotFoundError, "rows.svm")),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_file_that_changes_during_a_fit_is_noticed_and_the_model_stays(how, text):
    model = GraphGuidedClassifier("chain", solver="ada-diag", max_iter=2, random_state=0)
    coef = model.fit(sources.svmlight(text, n_features=2)).coef_.copy()
    change, (error, message) = CHANGES[how]
    with pytest.raises(error, match=message):
        model.fit(changed_in_second_pass(text, lambda: change(text)))
    np.testing.assert_array_equal(model.coef_, coef)


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
