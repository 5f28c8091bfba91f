"""Blocks of ``bash`` in the docs are run among the files that they speak of, or the page says why not.

``python`` is run by test_readme.py.
"""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

ROOT = pathlib.Path(__file__).parents[1]
PAGES = sorted(page for folder in (".", "guide", "cases") for page in (ROOT / "docs" / folder).glob("*.md"))
LANGUAGES = ("python", "sh", "bash", "text")


def fences(page):
    """Language, code and the line before of each fenced block."""
    text = "\n" + page.read_text()
    found = re.finditer(r"([^\n]*)\n```([^\n`]*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [(language, code, before) for before, language, code in (match.groups() for match in found)]


def shell_blocks():
    for page in PAGES:
        for number, (language, code, before) in enumerate(fences(page)):
            if language == "bash":
                why = re.fullmatch(r"<!-- not run: (.+) -->", before)
                marks = [pytest.mark.skip(reason=why[1])] if why else []
                yield pytest.param(code, id=f"{page.name}-{number}", marks=marks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page):
    for language, code, _ in fences(page):
        assert language in LANGUAGES or language.startswith("{"), code
    plain = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^    (?:adasadmm|benchopt|make|pip|python|zcat) .*", plain, flags=re.MULTILINE) == []


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_every_question_is_one_click_away(page):
    questions = re.findall(r"^## (.+)", (ROOT / "docs" / "guide" / "questions.md").read_text(), flags=re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", question.lower()).replace(" ", "-") for question in questions]
    text = (ROOT / page).read_text()
    assert len(anchors) == 10
    assert [anchor for anchor in anchors if f"guide/questions.md#{anchor})" not in text] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the pages speak of."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).round(3)
    y = np.where(X @ [1.0, 1.0, -1.0] + rng.normal(size=400) > 0, 1, -1)
    for name in ("train.svm", "valid.svm", "log.svm"):
        dump_svmlight_file(X, y, str(folder / name), zero_based=False)
    subprocess.run(["bash", "-c", "bzip2 -k train.svm && gzip log.svm"], cwd=folder, check=True)
    columns = dict(zip(("age", "height", "weight"), X.T, strict=True))
    parquet.write_table(pa.table(columns), folder / "test.parquet")
    (folder / "parts").mkdir()
    parquet.write_table(pa.table(columns | {"clicked": y}), folder / "parts" / "0.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("code", list(shell_blocks()))
def test_the_commands_of_a_page_run(code, folder):
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", re.sub(r"^pip install .*", "", code, flags=re.MULTILINE)],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
