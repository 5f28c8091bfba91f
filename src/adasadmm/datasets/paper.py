"""The paper's six data sets, and two bundled with scikit-learn, by name.

The six are read from a folder of yours or from the package's cache, and downloaded if neither has them. Files whose
values differ from the published ones are rejected.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .download import download
from .values import canonical, digest

__all__ = ["BUNDLED", "PAPER", "Dataset", "DatasetError", "check_name", "load", "whereabouts"]

PAPER = ("a9a", "mushrooms", "news20", "splice", "svmguide3", "w8a")  # in the order of the paper's tables
BUNDLED = ("breast_cancer", "digits")

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_ROWEIS = "https://www.cs.nyu.edu/~roweis/data/"
_OPENERS: dict[str, Any] = {"": open, ".bz2": bz2.open, ".gz": gzip.open}  # by suffix
_MOST = 20  # a file may be this many times larger than the published one: other line ends, more digits


class Dataset(NamedTuple):
    """A data set for binary classification.

    Attributes
    ----------
    name : str
        The name of the data set, as passed to `load`.
    X : scipy.sparse.csr_array or numpy.ndarray
        The rows; dense if the data set is bundled with scikit-learn.
    y : numpy.ndarray
        The labels, -1.0 or +1.0.
    feature_names : tuple of str
        The name of each column.
    source : str
        Where the data were found.

    Examples
    --------
    >>> from adasadmm import datasets
    >>> data = datasets.load("breast_cancer")
    >>> data.X.shape, data.feature_names[0], data.source
    ((569, 30), 'mean radius', 'bundled with scikit-learn')
    """

    name: str
    X: Any
    y: np.ndarray
    feature_names: tuple[str, ...]
    source: str


class DatasetError(ValueError):
    """A data set cannot be found, or its files do not hold the published values.

    Examples
    --------
    >>> from adasadmm import datasets
    >>> issubclass(datasets.DatasetError, ValueError)
    True
    """


class _Known(NamedTuple):
    features: int
    files: dict[str, tuple[int, int]]  # in pooling order: number of rows, and bytes without compression
    home: str = _LIBSVM


_KNOWN = {
    "a9a": _Known(123, {"a9a": (32_561, 2_329_875), "a9a.t": (16_281, 1_164_628)}),
    "mushrooms": _Known(112, {"mushrooms": (8_124, 879_712)}),
    "news20": _Known(100, {"20news_w100.mat": (16_242, 416_176)}, _ROWEIS),
    "splice": _Known(60, {"splice": (1_000, 715_000), "splice.t": (2_175, 1_555_125)}),
    "svmguide3": _Known(22, {"svmguide3": (1_243, 304_339), "svmguide3.t": (41, 10_241)}),
    "w8a": _Known(300, {"w8a": (49_749, 3_478_238), "w8a.t": (14_951, 1_045_870)}),
}
_DIGESTS = {  # `digest` of the pooled values; for the .mat file also the SHA-256 of its bytes
    "a9a": "a61bc2cb5d264041d7a9095000e21d92fbdd6f770f3c49201e39bc424f21d9d1",
    "mushrooms": "81ef16c4f704e6b6ec0c76a5d2d0509608f8d0d3107ff19c0728e4475533c228",
    "news20": "757ed60c9602fcabc4788a59e504fbde6eae7d8d2c3c63a4fb322d6c300032be",
    "splice": "139fb5e111383ae2fd79bd0933ab22d1aca5424e5e3351c365b51bfa15790eeb",
    "svmguide3": "594db47d0c58757c00448d861bcb7c8d2258405f5e686d16156376a87911a1fe",
    "w8a": "19e5671caef079bdf277c78882f6130a3fca21fbb71d176f9ab753dc63c41202",
    "20news_w100.mat": "6667c5459e22eb544a854bff1443edaaea71735cf1af7b12cc5d986e74af7064",
}


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set for binary classification, with its train and test parts pooled as in the paper.

    The positive class is: edible in mushrooms, comp.* and rec.* (against sci.* and talk.*) in news20, even in digits,
    benign in breast_cancer.

    Parameters
    ----------
    name : str
        One of ``PAPER`` (sparse, as published) or ``BUNDLED`` (dense; pixels of digits divided by 16, columns of
        breast_cancer standardised).
    data_dir : path, optional
        The folder to search first. The folder in the environment variable ``ADASADMM_DATA`` and the package's cache
        follow. The first folder that has all files is used; they may be plain, .bz2 or .gz. If there is none, the
        files are downloaded into the cache.

    Returns
    -------
    Dataset
        A record with ``X``, ``y``, ``feature_names`` and ``source``.

    Raises
    ------
    ValueError
        If the name is unknown. The subclass `DatasetError` is raised if files are missing or do not hold the published
        values.

    Examples
    --------
    >>> from adasadmm import datasets
    >>> datasets.load("digits").X.shape
    (1797, 64)
    >>> datasets.load("a9a").X.shape  # doctest: +SKIP
    (48842, 123)
    """
    check_name(name)
    if name in BUNDLED:
        return _bundled(name)
    places = _places(data_dir)
    for who, folder in places.items():
        if who != "cache" and not folder.is_dir():
            what = "is not a folder" if folder.exists() else "does not exist"
            raise DatasetError(f"{who} is {folder}, which {what}: give the folder with the data files")
        if not _lacking(name, folder):
            return _read(name, folder, f"{who}, {folder}", f"Download it again from {_KNOWN[name].home}")
    try:
        return _downloaded(name, places.get("cache"))
    except (ImportError, OSError) as error:
        raise _missing(name, places, error) from error


def check_name(name: str, known: Sequence[str] = (*PAPER, *BUNDLED), what: str = "data set") -> str:
    """Return a name if it is known; otherwise raise an error that suggests the closest one.

    Parameters
    ----------
    name : str
        The name to check.
    known : sequence of str, default=all data sets
        The known names.
    what : str, default="data set"
        What the names stand for, used in the message.

    Returns
    -------
    str
        The name.

    Raises
    ------
    ValueError
        If the name is not known.

    Examples
    --------
    >>> from adasadmm import datasets
    >>> datasets.check_name("a9a")
    'a9a'
    >>> datasets.check_name("mushroms", ["mushrooms", "splice"])
    Traceback (most recent call last):
        ...
    ValueError: there is no data set 'mushroms'. Did you mean 'mushrooms'? There are: mushrooms, splice
    """
    if name in known:
        return name
    plain = {one.lower(): one for one in known}
    near = difflib.get_close_matches(str(name).lower(), plain, n=1, cutoff=0.5)
    hint = f" Did you mean {plain[near[0]]!r}?" if near else ""
    raise ValueError(f"there is no {what} {name!r}.{hint} There are: {', '.join(known)}")


def _bundled(name: str) -> Dataset:
    from sklearn.datasets import load_breast_cancer, load_digits

    if name == "digits":
        data = load_digits()
        X, positive = data.data / 16.0, data.target % 2 == 0
    else:
        data = load_breast_cancer()
        X, positive = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0), data.target == 1
    names = tuple(str(feature) for feature in data.feature_names)
    return Dataset(name, X, np.where(positive, 1.0, -1.0), names, "bundled with scikit-learn")


def _places(data_dir: str | os.PathLike[str] | None) -> dict[str, Path]:
    """Return the folders to search, in order, by the name under which the user knows them."""
    given = {"data_dir": data_dir, "ADASADMM_DATA": os.environ.get("ADASADMM_DATA") or None}
    places = {who: Path(folder).expanduser() for who, folder in given.items() if folder is not None}
    try:
        import pooch
    except ImportError:
        return places
    return {**places, "cache": Path(pooch.os_cache("adasadmm"))}


def whereabouts(name: str, data_dir: str | os.PathLike[str] | None = None) -> str:
    """Describe where `load` would find a data set.

    Parameters
    ----------
    name : str
        The name of a data set.
    data_dir : path, optional
        The folder to search first, as in `load`.

    Returns
    -------
    str
        The folder, or a phrase.

    Examples
    --------
    >>> from adasadmm import datasets
    >>> datasets.whereabouts("digits")
    'bundled with scikit-learn'
    """
    if name in BUNDLED:
        return "bundled with scikit-learn"
    places = _places(data_dir).values()
    return next((str(folder) for folder in places if not _lacking(name, folder)), "not found; load downloads it")


def _find(folder: Path, file: str) -> Path | None:
    """Return the path of a file, plain or compressed, or None if the folder does not have it."""
    candidates = (folder / (file + suffix) for suffix in _OPENERS)
    return next((path for path in candidates if path.is_file()), None)


def _lacking(name: str, folder: Path) -> list[str]:
    return [file for file in _KNOWN[name].files if _find(folder, file) is None]


def _downloaded(name: str, cache: Path | None) -> Dataset:
    """Download missing files and read the data set; delete the downloads if the values are not the published ones."""
    if cache is None:
        raise ImportError('downloading needs pooch: pip install "adasadmm[data]"')
    fresh: list[Path] = []
    try:
        for file in _lacking(name, cache):
            fresh.append(download(_KNOWN[name].home, file, cache))
        return _read(name, cache, f"downloaded into {cache}", "The downloaded files were deleted; try again later.")
    except BaseException:
        for path in fresh:
            path.unlink(missing_ok=True)
        raise


def _missing(name: str, places: dict[str, Path], why: Exception) -> DatasetError:
    known = _KNOWN[name]
    return DatasetError(
        f"{name} is not on this machine and could not be downloaded: {why}\n"
        + "".join(f"  {who}, {folder}, lacks {', '.join(_lacking(name, folder))}\n" for who, folder in places.items())
        + f"Put {' and '.join(known.files)} (plain, .bz2 or .gz) from {known.home} into one folder;\n"
        "pass it as data_dir, or set the environment variable ADASADMM_DATA to it."
    )


def _read(name: str, folder: Path, source: str, advice: str) -> Dataset:
    """Parse and pool the files of a data set, and check that they hold the published values."""
    paths, contents = [_find(folder, file) or folder / file for file in _KNOWN[name].files], []
    for path, file in zip(paths, _KNOWN[name].files, strict=True):
        try:
            contents.append(_parse(path, file, _KNOWN[name]))
        except (ValueError, OSError, EOFError, zlib.error) as error:
            raise DatasetError(f"{path} cannot be used: {error}. {advice}") from error
    rows, labels, names = zip(*contents, strict=True)
    X, label = canonical(sp.vstack(rows)), np.concatenate(labels)
    y = np.where(label == label.max(), 1.0, -1.0)  # labels are -1 and 1, or 1 and 2
    found, expected = digest(X, y), _DIGESTS[name]
    if found != expected:
        said = f"the digest of the values is {found[:16]}..., expected {expected[:16]}..."
        raise DatasetError(f"{' and '.join(map(str, paths))} cannot be used as {name}: {said} {advice}")
    return Dataset(name, X, y, names[0], source)


def _parse(path: Path, file: str, known: _Known) -> tuple[sp.csr_array, np.ndarray, tuple[str, ...]]:
    """Return the rows, labels and column names of one file, without trusting its size or content."""
    count, size = known.files[file]
    limit = _MOST * size
    with _OPENERS.get(path.suffix, open)(path, "rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it has more than {limit:,} bytes, expected {size:,}")
    X, labels, names = _from_mat(content, file) if file.endswith(".mat") else _from_svmlight(content, known.features)
    if X.shape[0] != count:
        raise ValueError(f"it has {X.shape[0]:,} rows, expected {count:,}")
    return sp.csr_array(X), labels, names


def _from_svmlight(content: bytes, features: int) -> tuple[Any, np.ndarray, tuple[str, ...]]:
    from sklearn.datasets import load_svmlight_file

    try:
        X, labels = load_svmlight_file(io.BytesIO(content), n_features=features, zero_based=False)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"it is not svmlight text with columns 1 to {features} ({error})") from error
    return X, labels, tuple(f"x{j}" for j in range(1, features + 1))


def _from_mat(content: bytes, file: str) -> tuple[Any, np.ndarray, tuple[str, ...]]:
    """Read the small 20 newsgroups: words x documents, and the group of each document, 1 to 4: comp, rec, sci, talk."""
    import scipy.io

    if hashlib.sha256(content).hexdigest() != _DIGESTS[file]:  # a binary format: verify it before parsing
        raise ValueError(f"its sha256 is not {_DIGESTS[file]}")
    held = scipy.io.loadmat(io.BytesIO(content))
    words = tuple(str(word.item()) for word in held["wordlist"].reshape(-1))
    return held["documents"].T, np.where(held["newsgroups"].reshape(-1) <= 2, 1.0, -1.0), words
