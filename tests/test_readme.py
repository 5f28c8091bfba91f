"""What README and the docs show is run, so that it cannot drift from the code."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.compiled  # too slow without the compiler

ROOT = pathlib.Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists() and blocks(page)], ids=lambda page: page.name)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, capsys):
    namespace = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)
    assert namespace
