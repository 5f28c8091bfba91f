"""The paper's six data sets, train and test parts pooled, labels -1 and +1, from the folder in ADASADMM_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

PARTS = {
    "svmguide3": (22, "svmguide3.bz2", "svmguide3.t.bz2"),
    "splice": (60, "splice.bz2", "splice.t.bz2"),
    "mushrooms": (112, "mushrooms.bz2"),
    "news20": (100, "20news_w100.mat"),
    "a9a": (123, "a9a.bz2", "a9a.t.bz2"),
    "w8a": (300, "w8a.bz2", "w8a.t.bz2"),
}  # features and files; by size


def load(name: str) -> tuple[sp.csr_array, np.ndarray]:
    """X and y. Positive: of mushrooms the edible ones, of news20 comp.* and rec.* (against sci.* and talk.*)."""
    if "ADASADMM_DATA" not in os.environ:
        raise SystemExit("set ADASADMM_DATA to the folder that holds the paper's data sets")
    features, *files = PARTS[name]
    paths = [Path(os.environ["ADASADMM_DATA"]) / file for file in files]
    missing = [path.name for path in paths if not path.exists()]
    if missing:
        raise SystemExit(f"{name} needs {', '.join(missing)}, which the folder in ADASADMM_DATA does not hold")
    if name == "news20":
        content = scipy.io.loadmat(paths[0])
        X, y = sp.csr_array(content["documents"].T, dtype=np.float64), content["newsgroups"].reshape(-1) <= 2
    else:
        parts = [load_svmlight_file(os.fspath(path), n_features=features) for path in paths]
        X = sp.vstack([sp.csr_array(part[0]) for part in parts], format="csr")
        y = np.concatenate([part[1] for part in parts])
        y = y == y.max()  # labels are -1 and 1, or 1 and 2
    return X, np.where(y, 1.0, -1.0)
