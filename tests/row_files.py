"""The same rows in memory and in files, for tests of sources."""

import bz2
import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from adasadmm import L1, Hinge, Problem, graphs
from adasadmm.rows.matrices import plain

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
N, D, BLOCK = 600, 5, 128


def rows_and_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).round(6)  # so that text keeps every bit
    y = np.where(X @ [1.0, 1.0, 0.5, -1.0, -1.0] + 0.3 * rng.normal(size=N) > 0.0, 1.0, -1.0)
    return X, y


def table_of(X, y):
    return pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "target": y})


def write_text(path, content):
    opener = {".bz2": bz2.open, ".gz": gzip.open}.get(path.suffix, open)
    with opener(path, "wb") as file:
        file.write(content)
    return path


def svmlight_bytes(path, X, y):
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path.read_bytes()


def gathered(source, parts=None):
    """All rows of a source as arrays."""
    pieces = list(source.raw_blocks(parts))
    rows = [plain(piece.X) for piece in pieces]
    return np.vstack([r.toarray() if sp.issparse(r) else r for r in rows]), np.concatenate([p.y for p in pieces])


def problem_of(rows, y=None, **changed):
    A = graphs.incidence(graphs.chain(D))
    return Problem(rows, y, **{"loss": Hinge(), "penalty": L1(1e-3), "A": A, "gamma": 1e-2, **changed})
