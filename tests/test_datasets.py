"""The data sets: found, verified, refused. Nothing here touches a network: small stand-ins take the place of splice."""

import bz2
import gzip
import hashlib
import io
import os
import sys

import numpy as np
import pooch
import pytest
import scipy.io
import scipy.sparse as sp

from adasadmm import datasets
from adasadmm.datasets import paper
from adasadmm.datasets.download import download, refuse_http

DATA = os.environ.get("ADASADMM_DATA")
TRAIN = b"1 1:0.5 3:2\n-1 2:1\n"
TEST = b"-1 1:1 2:0 3:-1.5\n"
X = np.array([[0.5, 0, 2], [0, 1, 0], [1, 0, -1.5]])
Y = np.array([1.0, -1.0, -1.0])
PACK = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress}

FACTS = {  # rows, columns, non-zero values, positives, rows without any value
    "a9a": (48_842, 123, 451_592 + 225_731, 11_687, 0),
    "mushrooms": (8_124, 112, 170_604, 4_208, 0),
    "news20": (16_242, 100, 65_451, 4_605 + 3_519, 0),
    "splice": (3_175, 60, 60_000 + 130_500, 1_648, 0),
    "svmguide3": (1_284, 22, 22_014 + 761, 337, 0),
    "w8a": (64_700, 300, 579_586 + 174_276, 1_933, 5_455),
}


@pytest.mark.data
@pytest.mark.skipif(not DATA, reason="ADASADMM_DATA does not say where the paper's data sets are")
@pytest.mark.parametrize("name", datasets.PAPER)
def test_the_papers_data_are_those_that_were_published(name):
    data = datasets.load(name, DATA)
    n, d, nnz, positives, empty = FACTS[name]
    assert isinstance(data.X, sp.csr_array) and data.X.dtype == data.y.dtype == np.float64
    assert data.X.shape == (n, d) and data.y.shape == (n,) and data.X.nnz == nnz and data.X.data.all()
    assert (data.y == 1.0).sum() == positives and (data.y == -1.0).sum() == n - positives
    assert (np.diff(data.X.indptr) == 0).sum() == empty
    assert len(set(data.feature_names)) == d and data.source == f"data_dir, {DATA}"
    assert data.feature_names[0] == ("aids" if name == "news20" else "x1")


def test_the_tables_speak_of_the_same_sets():
    assert tuple(paper._KNOWN) == datasets.PAPER == tuple(FACTS)
    for name, known in paper._KNOWN.items():
        assert FACTS[name][:2] == (sum(rows for rows, _ in known.files.values()), known.features)
        assert known.home.startswith("https://") and known.home.endswith("/") and len(paper._DIGESTS[name]) == 64


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """splice is three small rows here; the cache is empty, nothing is set, and a download fails the test."""
    known = paper._Known(3, {"splice": (2, len(TRAIN)), "splice.t": (1, len(TEST))})
    monkeypatch.setitem(paper._KNOWN, "splice", known)
    monkeypatch.setitem(paper._DIGESTS, "splice", datasets.digest(X, Y))
    monkeypatch.delenv("ADASADMM_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.setattr(paper, "download", lambda *_: pytest.fail("nothing should be downloaded"))
    return tmp_path / "cache" / "adasadmm"


def fill(folder, train=TRAIN, test=TEST, suffix=""):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"splice{suffix}").write_bytes(PACK[suffix](train))
    (folder / f"splice.t{suffix}").write_bytes(PACK[suffix](test))
    return folder


def serve(monkeypatch, **contents):
    """Let downloads give these contents, and count them."""
    asked = []

    def download(home, file, folder):
        asked.append(home + file)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(contents[file.replace(".", "_")])
        return folder / file

    monkeypatch.setattr(paper, "download", download)
    return asked


@pytest.mark.parametrize("suffix", PACK)
def test_plain_and_compressed_files_are_read_alike(cache, tmp_path, suffix):
    data = datasets.load("splice", fill(tmp_path / "mine", suffix=suffix))
    assert np.array_equal(data.X.toarray(), X) and np.array_equal(data.y, Y)
    assert data.X.nnz == 5 and data.feature_names == ("x1", "x2", "x3")


def test_line_ends_and_blanks_do_not_matter(cache, tmp_path):
    mine = fill(tmp_path / "mine", TRAIN.replace(b"\n", b" \r\n"), b"-1 1:1.000 3:-1.5")
    assert np.array_equal(datasets.load("splice", str(mine)).X.toarray(), X)


def test_labels_1_and_2_become_minus_and_plus(cache, tmp_path):
    mine = fill(tmp_path / "mine", b"2 1:0.5 3:2\n1 2:1\n", b"1 1:1 3:-1.5\n")
    assert np.array_equal(datasets.load("splice", mine).y, Y)


def test_the_argument_comes_before_the_environment_before_the_cache_before_a_download(cache, tmp_path, monkeypatch):
    asked = serve(monkeypatch, splice=TRAIN, splice_t=TEST)
    home = paper._KNOWN["splice"].home
    assert datasets.load("splice").source == f"downloaded into {cache}"
    assert asked == [home + "splice", home + "splice.t"]
    assert datasets.load("splice").source == f"cache, {cache}"
    mine, other = fill(tmp_path / "mine"), fill(tmp_path / "other")
    monkeypatch.setenv("ADASADMM_DATA", str(other))
    assert datasets.load("splice").source == f"ADASADMM_DATA, {other}"
    assert datasets.load("splice", mine).source == f"data_dir, {mine}"
    (mine / "splice.t").unlink()
    assert datasets.load("splice", mine).source == f"ADASADMM_DATA, {other}"
    monkeypatch.setenv("ADASADMM_DATA", "")
    assert datasets.load("splice", mine).source == f"cache, {cache}"
    assert len(asked) == 2


def test_only_what_the_cache_lacks_is_downloaded(cache, monkeypatch):
    (fill(cache) / "splice.t").unlink()
    asked = serve(monkeypatch, splice_t=TEST)
    assert np.array_equal(datasets.load("splice").X.toarray(), X)
    assert [url.rsplit("/")[-1] for url in asked] == ["splice.t"]


def test_a_folder_that_is_none_is_an_error_that_says_so(cache, tmp_path, monkeypatch):
    with pytest.raises(datasets.DatasetError, match=r"data_dir is .*nowhere, which does not exist"):
        datasets.load("splice", tmp_path / "nowhere")
    (tmp_path / "file").touch()
    monkeypatch.setenv("ADASADMM_DATA", str(tmp_path / "file"))
    with pytest.raises(datasets.DatasetError, match=r"ADASADMM_DATA is .*file, which is not a folder"):
        datasets.load("splice")
    datasets.load("splice", fill(tmp_path / "mine"))  # found before the wrong one is looked at


def test_the_digest_knows_values_and_not_how_they_are_stored():
    stored = sp.csr_array(X)
    shuffled = sp.csr_array(([2, 0.5, 0, 1, -1.5, 0.5, 0.5], [2, 0, 1, 1, 2, 0, 0], [0, 3, 4, 7]), shape=(3, 3))
    before = shuffled.indices.copy()
    assert datasets.digest(X, Y) == datasets.digest(stored, Y) == datasets.digest(shuffled, Y.astype(int))
    assert datasets.digest(stored.tocsc().astype(np.float32), Y) == datasets.digest(X, Y)
    assert np.array_equal(shuffled.indices, before)
    others = [(X + 1e-15, Y), (X[:, ::-1], Y), (X, -Y), (X[:2], Y[:2]), (np.hstack([X, np.zeros((3, 1))]), Y)]
    assert len({datasets.digest(*other) for other in [(X, Y), *others]}) == 6


@pytest.mark.parametrize(
    ("train", "why"),
    [
        (TRAIN.replace(b"0.5", b"0.6"), "the digest of the values is .* expected"),
        (TRAIN.replace(b"-1", b"1"), "the digest of the values is .* expected"),
        (TRAIN[: TRAIN.index(b"\n") + 1], "it has 1 rows, expected 2"),
        (b"", "cannot be used"),
        (TRAIN.replace(b"3:", b"4:"), "not svmlight text with columns 1 to 3"),
        (TRAIN.replace(b"3:", b"2000000000:"), "not svmlight text with columns 1 to 3"),
        (TRAIN.replace(b"3:", b"9" * 30 + b":"), "not svmlight text with columns 1 to 3"),
        (TRAIN.replace(b"1:", b"0:"), "not svmlight text with columns 1 to 3"),
        (TRAIN.replace(b"1:", b"-1:"), "not svmlight text with columns 1 to 3"),
        (b"<html>not found</html>", "not svmlight text with columns 1 to 3"),
        (b"\xff\x00\xfe\n" * 3, "not svmlight text with columns 1 to 3"),
        (b"nan 1:nan\ninf 2:inf\n", "the digest of the values is .* expected"),
        (TRAIN * 21, "it has more than 380 bytes, expected 19"),
    ],
)
def test_a_file_that_says_something_else_is_refused(cache, tmp_path, train, why):
    mine = fill(tmp_path / "mine", train)
    with pytest.raises(datasets.DatasetError, match=why) as said:
        datasets.load("splice", mine)
    assert str(mine / "splice") in str(said.value) and "Download it again from https://" in str(said.value)
    assert (mine / "splice").exists(), "a user's own file stays"


@pytest.mark.parametrize("suffix", [".bz2", ".gz"])
@pytest.mark.parametrize("damage", [lambda c: c[:-6], lambda c: c[:3], lambda c: c[:12] + b"\x55" * 9 + c[21:]])
def test_a_damaged_or_cut_compressed_file_is_refused(cache, tmp_path, suffix, damage):
    mine = fill(tmp_path / "mine", suffix=suffix)
    path = mine / f"splice.t{suffix}"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(datasets.DatasetError, match=r"splice\.t\.(bz2|gz) cannot be used: .*Download it again"):
        datasets.load("splice", mine)


@pytest.mark.parametrize("suffix", [".bz2", ".gz"])
def test_a_file_that_swells_is_refused_after_a_few_bytes(cache, tmp_path, suffix):
    mine = fill(tmp_path / "mine", b" " * 10_000_000, suffix=suffix)
    with pytest.raises(datasets.DatasetError, match="it has more than 380 bytes"):
        datasets.load("splice", mine)


def test_a_mat_file_is_not_parsed_before_its_bytes_are_known(cache, tmp_path, monkeypatch):
    stream = io.BytesIO()
    words = np.array(["god", "nasa"], dtype=object).reshape(1, 2)
    documents = sp.csc_matrix(np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8))
    content = {"documents": documents, "newsgroups": np.array([[1, 2, 4]], dtype=np.uint8), "wordlist": words}
    scipy.io.savemat(stream, content)
    mat = stream.getvalue()
    monkeypatch.setitem(paper._KNOWN, "news20", paper._Known(2, {"20news_w100.mat": (3, len(mat))}))
    monkeypatch.setitem(paper._DIGESTS, "20news_w100.mat", hashlib.sha256(mat).hexdigest())
    expected = np.array([[1, 0], [0, 1], [1, 1]]), np.array([1.0, 1.0, -1.0])
    monkeypatch.setitem(paper._DIGESTS, "news20", datasets.digest(*expected))
    (tmp_path / "20news_w100.mat").write_bytes(mat)
    data = datasets.load("news20", tmp_path)
    assert np.array_equal(data.X.toarray(), expected[0]) and np.array_equal(data.y, expected[1])
    assert data.X.dtype == np.float64 and data.feature_names == ("god", "nasa")
    (tmp_path / "20news_w100.mat").write_bytes(mat[:-1] + b"?")
    monkeypatch.setattr(scipy.io, "loadmat", lambda *_: pytest.fail("parsed"))
    with pytest.raises(datasets.DatasetError, match=r"20news_w100\.mat cannot be used: its sha256 is not "):
        datasets.load("news20", tmp_path)


def test_what_is_missing_is_said_file_by_file_and_why_the_download_failed(cache, tmp_path, monkeypatch):
    def fail(self, *_):
        try:
            raise OSError("no such host")
        except OSError:
            raise ConnectionError("a long story " * 100) from None

    monkeypatch.undo()  # the real download, with a network that is down
    monkeypatch.delenv("ADASADMM_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: cache)
    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", fail)
    mine = fill(tmp_path / "mine")
    (mine / "splice").unlink()
    with pytest.raises(datasets.DatasetError) as said:
        datasets.load("splice", mine)
    home = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
    assert str(said.value).splitlines() == [
        f"splice is not on this machine and could not be downloaded: {home}splice: no such host",
        f"  data_dir, {mine}, lacks splice",
        f"  cache, {cache}, lacks splice, splice.t",
        f"Put splice and splice.t (plain, .bz2 or .gz) from {home} into one folder;",
        "pass it as data_dir, or set the environment variable ADASADMM_DATA to it.",
    ]
    assert list(cache.iterdir()) == []


def test_without_pooch_the_error_says_what_to_install(cache, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(datasets.DatasetError, match=r'needs pooch: pip install "adasadmm\[data\]"\nPut splice and'):
        datasets.load("splice")
    assert datasets.load("splice", fill(tmp_path / "mine")).y.size == 3


def test_a_download_that_is_not_what_was_published_is_deleted_again(cache, monkeypatch):
    serve(monkeypatch, splice=TRAIN, splice_t=b"<html>moved</html>")
    with pytest.raises(datasets.DatasetError, match=r"splice\.t cannot be used: .*were deleted"):
        datasets.load("splice")
    assert list(cache.iterdir()) == []
    serve(monkeypatch, splice=TRAIN.replace(b"2:1", b"2:3"), splice_t=TEST)
    with pytest.raises(datasets.DatasetError, match=r"digest of the values is .*were deleted"):
        datasets.load("splice")
    assert list(cache.iterdir()) == []


def test_half_a_set_is_not_kept_where_the_other_half_cannot_be_downloaded(cache, monkeypatch):
    def download(home, file, folder):
        if file == "splice.t":
            raise OSError("no such host")
        return fill(folder) / file

    monkeypatch.setattr(paper, "download", download)
    with pytest.raises(datasets.DatasetError, match="no such host"):
        datasets.load("splice")
    assert not (cache / "splice").exists()


@pytest.mark.parametrize("fault", [None, OSError("connection lost"), KeyboardInterrupt()])
def test_a_file_gets_its_name_only_when_it_is_whole(tmp_path, monkeypatch, fault):
    def stream(self, url, output, *_):
        assert url == "https://example.org/data/splice"
        with open(output, "wb") as file:
            file.write(TRAIN[:5])
            assert not (tmp_path / "splice").exists()
            if fault is not None:
                raise fault
            file.write(TRAIN[5:])

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", stream)
    if fault is None:
        assert download("https://example.org/data/", "splice", tmp_path) == tmp_path / "splice"
        assert (tmp_path / "splice").read_bytes() == TRAIN
    else:
        with pytest.raises(type(fault)):
            download("https://example.org/data/", "splice", tmp_path)
        assert list(tmp_path.iterdir()) == []


def test_a_redirection_to_http_is_refused():
    class Response:
        url = "https://example.org/a9a"

    refuse_http(Response, timeout=30)
    Response.url = "http://example.org/a9a"
    with pytest.raises(OSError, match=r"http://example\.org/a9a, which is not https"):
        refuse_http(Response, timeout=30)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("a9", "a9a"),
        ("A9A", "a9a"),
        ("mushroom", "mushrooms"),
        ("20news", "news20"),
        ("breast-cancer", "breast_cancer"),
    ],
)
def test_a_wrong_name_gets_the_nearest_one_suggested(wrong, meant):
    with pytest.raises(
        ValueError, match=rf"no data set '{wrong}'\. Did you mean '{meant}'\? There are: a9a, mush.*digits"
    ):
        datasets.load(wrong)


def test_names_are_checked_in_other_lists_too():
    assert datasets.check_name("SADMM", ("SADMM", "OADMM"), "algorithm") == "SADMM"
    with pytest.raises(ValueError, match=r"no algorithm 'sadm'\. Did you mean 'SADMM'\? There are: SADMM, OADMM"):
        datasets.check_name("sadm", ("SADMM", "OADMM"), "algorithm")
    with pytest.raises(ValueError, match=r"no data set 'xyzzy'\. There are: a9a"):
        datasets.check_name("xyzzy")
    with pytest.raises(ValueError, match="no data set None"):
        datasets.check_name(None)


def test_the_bundled_sets():
    digits = datasets.load("digits")
    assert digits.X.shape == (1797, 64) and digits.X.min() == 0.0 and digits.X.max() == 1.0
    assert digits.y[:4].tolist() == [1.0, -1.0, 1.0, -1.0] and digits.feature_names[9] == "pixel_1_1"
    cancer = datasets.load("breast_cancer")
    assert cancer.X.shape == (569, 30) and len(cancer.feature_names) == 30
    assert (cancer.y == 1.0).sum() == 357 and (cancer.y == -1.0).sum() == 212  # benign, malignant
    np.testing.assert_allclose(cancer.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(cancer.X.var(axis=0), 1.0)
    assert digits.source == cancer.source == "bundled with scikit-learn"
