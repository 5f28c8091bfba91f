"""Files and rows that cannot be read: the error names the file, the line and the value."""

import doctest
import importlib

import numpy as np
import pytest
from row_files import D, N, gathered, pa, problem_of, rows_and_labels, svmlight_bytes, table_of, write_text

from adasadmm import SADMM, solve, sources, theory
from adasadmm.sources import SourceError, SourceWarning

pytestmark = pytest.mark.compiled  # too slow without the compiler


@pytest.fixture(scope="module")
def data():
    return rows_and_labels()


GOOD = b"1 1:0.5 3:2\n-1 2:1\n1 1:1\n"
BAD_LINES = {
    "no label": b"x 1:0.5\n",
    "no value": b"1 2\n",
    "no number": b"1 2:abc\n",
    "not a number": b"1 2:nan\n",
    "infinite": b"-1 2:1e999\n",
    "label": b"nan 2:1\n",
    "index 0": b"1 0:1\n",
    "not sorted": b"1 3:1 2:1\n",
    "binary": b"\xff\x00\xfe 1:1\n",
    "index of 2^40": b"1 1099511627776:1\n",
    "index of 2^30": b"1 1073741824:1\n",
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
@pytest.mark.parametrize("suffix", ["", ".bz2"])
def test_a_bad_line_is_named_or_skipped(line, suffix, tmp_path):
    path = write_text(tmp_path / f"rows.svm{suffix}", GOOD + line + GOOD)
    with pytest.raises(SourceError, match=r"rows\.svm.*, line 4: .*'.+'"):
        sources.svmlight(path).summary
    source = sources.svmlight(path, on_bad_row="skip", block_bytes=30)
    with pytest.warns(SourceWarning, match="1 bad rows skipped: .*line 4"):
        assert source.shape == (6, 3)
    assert source.summary.skipped == 1
    assert gathered(source)[1].tolist() == [1, -1, 1, 1, -1, 1]


def test_a_view_keeps_the_gaps_of_bad_rows(data):
    X, y = data[0][:6].copy(), data[1][:6]
    X[[0, 3]] = np.nan
    source = sources.arrays(X, y, block_rows=4, on_bad_row="mark")
    with pytest.warns(SourceWarning, match="2 bad rows skipped"):
        views = [source, source.view(intercept=True), source.view(targets=np.negative)]
        assert [[block.gaps for block in view.raw_blocks()] for view in views] == 3 * [[(0, 2), ()]]


def test_a_feature_beyond_those_told_is_a_bad_line(tmp_path):
    path = write_text(tmp_path / "rows.svm", GOOD + b"1 9:1\n")
    with pytest.raises(SourceError, match=r"line 4: an index beyond the 3 features: '1 9:1'"):
        sources.svmlight(path, n_features=3).summary


@pytest.mark.parametrize("suffix", [".bz2", ".gz"])
def test_a_truncated_archive_says_after_which_line(suffix, data, tmp_path):
    text = svmlight_bytes(tmp_path / "a.svm", *data) * 40
    path = write_text(tmp_path / f"rows.svm{suffix}", text)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 3 // 4])
    with pytest.raises(SourceError, match=rf"rows\.svm{suffix}, after line \d+: .*ended before"):
        sources.svmlight(path, block_bytes=2**16).summary
    with pytest.warns(SourceWarning, match="after line"):
        assert 0 < sources.svmlight(path, block_bytes=2**16, on_bad_row="skip").shape[0] < 40 * N


def test_parquet_files_that_do_not_fit_are_named(data, tmp_path):
    import pyarrow.parquet as pq

    X, y = data
    pq.write_table(table_of(X, y), tmp_path / "a.parquet")
    cases = {
        "has no column 'x3'": table_of(X, y).drop_columns("x3"),
        "column 'x2' must hold numbers, its type is string": table_of(X, y).set_column(2, "x2", [["a"] * N]),
        "the target 'target' must be a number, its type is string": table_of(X, y).set_column(5, "target", [["a"] * N]),
    }
    for message, table in cases.items():
        pq.write_table(table, tmp_path / "b.parquet")
        with pytest.raises(SourceError, match=rf"b\.parquet.*{message}"):
            sources.parquet(tmp_path)
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-100])
    with pytest.raises(SourceError, match=r"b\.parquet is not a Parquet file"):
        sources.parquet(tmp_path)
    with pytest.raises(SourceError, match="has none of 'target', 'label', 'y': name the target column; it has 'x0'"):
        pq.write_table(table_of(X, y).drop_columns("target"), tmp_path / "b.parquet")
        sources.parquet(tmp_path / "b.parquet")


def test_a_value_that_is_missing_in_a_table_is_named_or_skipped(data, tmp_path):
    import pyarrow.parquet as pq

    X, y = data[0].copy(), data[1]
    X[250, 3] = np.nan
    pq.write_table(table_of(X, y), tmp_path / "a.parquet", row_group_size=200)
    with pytest.raises(SourceError, match=r"a\.parquet, row group 1, row 51: column 'x3' is empty"):
        gathered(sources.parquet(tmp_path))
    source = sources.parquet(tmp_path, on_bad_row="skip", block_rows=30)
    with pytest.warns(SourceWarning, match="1 bad rows skipped"):
        assert source.shape == (N - 1, D)
    np.testing.assert_array_equal(gathered(source)[0], np.delete(X, 250, axis=0))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,2,x,-1", "column 'c' holds 'x', which is not a number"),
        ("1,2,-1", "Expected 4 columns, got 3"),
        ("1,,3,1", "column 'b' is empty"),
        ("1,2,3,", "column 'y' is empty"),
    ],
)
def test_a_bad_row_of_a_csv_file_is_named_or_skipped(row, message, tmp_path):
    path = write_text(tmp_path / "a.csv", f"a,b,c,y\n1,2,3,1\n4,5,6,-1\n{row}\n7,8,9,1\n".encode())
    with pytest.raises(SourceError, match=rf"a\.csv, line 4: .*{message}.*'{row}'"):
        sources.csv(path).summary
    source = sources.csv(path, on_bad_row="skip")
    with pytest.warns(SourceWarning, match="line 4"):
        assert source.shape == (3, 3)
    assert source.feature_names == ["a", "b", "c"]
    with pytest.raises(SourceError, match=r"a\.csv has no column 'd'; it has 'a', 'b', 'c', 'y'"):
        sources.csv(path, columns=["a", "d"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b,a,y\n1,2,3,1\n", "has two columns 'a': rename one"),
        (b",a,b,y\n0,1,2,1\n", r"column 1 has no name \(DataFrame\.to_csv .*index=False.*--drop ''"),
        (b"a;b;y\n1;2;1\n", "columns must be separated by commas, got 'a;b;y'"),
        ("a,b,y\n1,2,1\n".encode("utf-16"), "first line cannot be read: .*; save it as CSV UTF-8"),
        (b"\n1,2\n", "has no header"),
    ],
)
def test_a_csv_file_of_another_form_is_a_clear_error(content, message, tmp_path):
    with pytest.raises(SourceError, match=rf"a\.csv.*{message}"):
        sources.csv(write_text(tmp_path / "a.csv", content))


def test_a_text_that_is_not_read_may_be_of_any_encoding(tmp_path):
    path = write_text(tmp_path / "a.csv", b"name,a,y \nJ\xfcrgen,1,1\n")
    assert sources.csv(path, columns=["a"]).shape == (1, 1)


def test_a_table_with_two_columns_of_one_name_is_a_clear_error(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_arrays([pa.array([1.0])] * 3, names=["a", "a", "y"]), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"a\.parquet has two columns 'a'"):
        sources.parquet(tmp_path)


def test_the_names_of_a_csv_file_are_texts_as_they_stand(tmp_path):
    path = write_text(tmp_path / "a.csv", b'\xef\xbb\xbf01,"1,e3",true,y\n1,2,3,1\n')
    assert sources.csv(path).feature_names == ["01", "1,e3", "true"]


def test_true_and_false_in_a_csv_file_are_1_and_0(tmp_path):
    path = write_text(tmp_path / "a.csv", b"a,b,y\nTrue,FALSE,1\nfalse,true,2\n")
    assert gathered(sources.csv(path))[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    write_text(path, b"a,b,y\nTrue,FALSE,1\n,true,2\n")
    with pytest.raises(SourceError, match="line 3: column 'a' is empty"):
        sources.csv(path).summary


def test_a_target_that_is_missing_in_a_table_is_said_in_words(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1.0, 2.0], "y": [1.0, None]}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"row 2: the target is empty$"):
        sources.parquet(tmp_path).summary


def test_a_file_that_is_not_there_is_said():
    with pytest.raises(FileNotFoundError, match=r"no such file or folder.*check the name.*: 'nowhere'"):
        sources.parquet("nowhere")


def test_sources_without_rows_and_wrong_uses_are_clear_errors(data, tmp_path):
    X, y = data
    with pytest.raises(SourceError, match="has no rows"):
        sources.svmlight(write_text(tmp_path / "empty.svm", b"# nothing\n\n")).summary
    with pytest.raises(SourceError, match="has no rows"):
        sources.iterator(lambda: iter(())).summary
    with pytest.raises(SourceError, match="give a function that returns a new iterator, or call partial_fit"):
        sources.iterator(iter([(X, y)]))
    with pytest.raises(SourceError, match=r"block 1 has 4 features, expected 5"):
        sources.iterator([(X, y), (X[:, 1:], y)]).summary
    with pytest.raises(FileNotFoundError):
        sources.open(tmp_path / "nowhere*.svm")
    with pytest.raises(SourceError, match="files of several kinds"):
        sources.open([write_text(tmp_path / "a.svm", GOOD), write_text(tmp_path / "a.csv", b"y,a\n1,1\n")])
    with pytest.raises(ValueError, match="on_bad_row must be 'stop' or 'skip', got 'drop'"):
        sources.arrays(X, y, on_bad_row="drop")
    with pytest.raises(ValueError, match="cannot be drawn one by one"):
        solve(problem_of(sources.arrays(X, y)), SADMM(eta=1.0), order="replace")
    with pytest.raises(ValueError, match="must be None beside a source"):
        problem_of(sources.arrays(X, y), y)
    with pytest.raises(ValueError, match="bounds needs a problem with X in memory, got a source"):
        theory.bounds(problem_of(sources.arrays(X, y)), SADMM(eta=1.0), [0], np.zeros(D), np.zeros(D - 1), 1.0)
    with pytest.raises(SourceError, match=r"-1 or \+1|labels"):
        solve(problem_of(sources.arrays(X, y + 3.0)), SADMM(eta=1.0))


def test_rows_that_change_between_two_passes_are_noticed(data):
    X, y = data
    rows = [(X[:40], y[:40]), (X[40:], y[40:])]
    problem = problem_of(sources.iterator(lambda: iter(rows)))
    last = rows.pop()
    with pytest.raises(SourceError, match=f"was changed: it had {len(y)} rows, now 40"):
        problem.objective(np.ones(D))
    rows += [last, last]
    with pytest.raises(SourceError, match=f"was changed: it had {len(y)} rows, now more"):
        problem.objective(np.ones(D))


@pytest.mark.parametrize("name", ["", "._arrays", "._base", "._faults", "._files", "._gate", "._summary"])
def test_the_examples_of_the_docstrings_run(name):
    results = doctest.testmod(importlib.import_module(f"adasadmm.sources{name}"))
    assert results.failed == 0 and results.attempted > 0
