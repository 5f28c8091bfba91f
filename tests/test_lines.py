"""The compiled svmlight reader: every bit as scikit-learn reads it, and nothing accepted that scikit-learn refuses."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from adasadmm import sources
from adasadmm.sources._lines import parsed_lines

pytestmark = [pytest.mark.kernels, pytest.mark.compiled]  # interpreted, scikit-learn reads all lines

MOST = 2**24


def parsed(text, n_features=None, zero_based=False):
    return parsed_lines(text.encode(), n_features, MOST, zero_based)


def numbers(count):
    """Decimals of up to 19 digits at any scale, and the shortest form of random float64."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        digits = str(rng.integers(0, 10 ** int(rng.integers(1, 20)), dtype=np.uint64))
        place = int(rng.integers(0, len(digits) + 1))
        yield f"{digits[:place]}.{digits[place:]}e{rng.integers(-330, 280)}"
        yield f"-{digits[:place]}.{digits[place:]}"
        if np.isfinite(value := np.frombuffer(rng.bytes(8))[0]):
            yield repr(float(value))


HARD = (
    *("18446744073709551616", "9007199254740993", "4.9e-324", "2.2250738585072014e-308", "1e-400", "0.0", "-0", "1e23"),
    *("00000000000000000000000001.5", "1.7976931348623157e308", "5.", "-.5", "+3e+2", "1E5", "9007199254740992.5"),
    *("0.1000000000000000055511151231257827021181583404541015625", "2.4703282292062328e-324", "8.5e-5"),
)


def test_each_number_is_the_float64_nearest_to_its_digits():
    given = [*HARD, *numbers(5000)]
    found = [parsed("".join(f"1 1:{number}\n" for number in given[k : k + 500])) for k in range(0, len(given), 500)]
    bits = np.concatenate([lines.X.data for lines in found]).view(np.uint64)
    np.testing.assert_array_equal(bits, np.array([float(number) for number in given]).view(np.uint64))


@pytest.mark.parametrize(
    "text",
    [
        "1 1:0.5 3:2\n-1 2:1\n",
        "+1.5 7:1e3 # a comment 9:1\n\n  \n# nothing\n-2\t3:4\t5:6 \r\n0 1:1#2:3\n",
        "3",
        "1\n2\n",
        "1 1:0 2:0.0\n",
        "1 10:1\n2 3:1 9:-1",
    ],
)
@pytest.mark.parametrize("zero_based", [False, True])
def test_the_rows_are_those_of_scikit_learn(text, zero_based):
    X, y = load_svmlight_file(io.BytesIO(text.encode()), zero_based=zero_based)
    lines = parsed(text, zero_based=zero_based)
    assert lines.X.shape == X.shape
    for one, other in zip((lines.y, *lines.X[:3]), (y, X.data, X.indices, X.indptr), strict=True):
        np.testing.assert_array_equal(one, other)
    assert lines.X.indices.dtype == np.uint32 and lines.X.indptr.dtype == np.int32


@pytest.mark.parametrize(
    "line",
    [
        *("x 1:1", "1 1:x", "1 1", "1 1:", "1 :1", "1 1:1:1", "1 0:1", "1 -1:1", "1 2:1 1:1", "1 1:1 1:2", "1 1: 1"),
        *("1 1:1e", "1 1:.", "1 1:--1", "1 1:1,5", "1,2 1:1", "nan 1:1", "1 1:inf", "1 1:1e999", "1 16777217:1"),
        *("1 99999999999:1", "1:1", "1 1:1\x002:1", "1 qid:3 1:1", "1_0 1:1", "1 \xa01:1", "1 1:0x10"),
    ],
)
def test_a_line_of_any_other_form_is_left_to_scikit_learn(line):
    assert parsed(f"1 1:1\n{line}\n1 1:1\n") is None


def test_an_error_names_file_line_and_value_as_before(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n" * 2000 + "1 2:1 3:1x5\n" + "1 1:1\n" * 500)
    with pytest.raises(sources.SourceError, match=r"rows\.svm, line 2001: could not convert .* '1 2:1 3:1x5'"):
        sources.svmlight(path, block_bytes=5000).summary
    assert sources.svmlight(path, n_features=9, on_bad_row="skip").n_features == 9
    with pytest.warns(sources.SourceWarning, match="1 bad rows skipped"):
        assert sources.svmlight(path, on_bad_row="skip").shape == (2500, 1)


def test_other_forms_that_scikit_learn_knows_are_still_read(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 qid:1 1:1_000\n-1 qid:2 2:2\n")
    (block,) = sources.svmlight(path).raw_blocks()
    np.testing.assert_array_equal(block.X.data, [1000.0, 2.0])


def test_too_many_numbers_for_python_are_left_to_scikit_learn():
    long = "0." + "1" * 30
    assert parsed(f"1 1:{long}\n" * 4000).X.data[0] == float(long)
    assert parsed(f"1 1:{long}\n" * 5000) is None
