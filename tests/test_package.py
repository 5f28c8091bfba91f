"""What is shipped: the notes of a release, and a wheel that a stranger can install, run and type-check."""

import ast
import itertools
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[1]
pytestmark = [
    pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="installed without the repository"),
]

SCRIPT = """
import numpy as np
from adasadmm import GraphGuidedClassifier
X = np.random.default_rng(0).normal(size=(200, 4))
print(GraphGuidedClassifier("chain").fit(X, X[:, 0] + X[:, 1] > 0).score(X, X[:, 0] + X[:, 1] > 0))
"""
TYPED = """
from adasadmm import GraphGuidedClassifier, Problem
reveal_type(GraphGuidedClassifier().alpha)
Problem(1, 2, loss=None, penalty=None)
"""


def run(*command, **settings):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_package_that_is_imported_is_declared():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    declared = {re.match(r"[\w-]+", line)[0].replace("-", "_") for line in lines}
    imported = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.partition(".")[0])
    imported = {"scikit_learn" if name == "sklearn" else name for name in imported - sys.stdlib_module_names}
    of_others = {"llvmlite", "markupsafe", "requests"}  # the code of numba, jinja2 and pooch speaks of their types
    assert imported <= declared | of_others | {"adasadmm"}


def test_release_notes_are_the_part_of_the_changelog():
    import adasadmm

    said = run(sys.executable, ROOT / ".ci" / "notes.py", adasadmm.__version__)
    assert "### Moving from" in said and "### Added" in said and "\n## " not in said
    wrong = subprocess.run([sys.executable, ROOT / ".ci" / "notes.py", "9.9"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "has no version 9.9" in wrong.stderr


def test_citation_has_the_version_and_its_date():
    import adasadmm

    heading = f"## [{adasadmm.__version__}] - "
    date = (ROOT / "CHANGELOG.md").read_text().partition(heading)[2][:10]
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"version: {adasadmm.__version__}" in lines and f"date-released: {date}" in lines


def test_the_workflow_runs_the_supported_versions():
    import tomllib

    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = [one.rpartition(" ")[2] for one in classifiers if one.startswith("Programming Language :: Python :: 3.")]
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert "[" + ", ".join(f'"{version}"' for version in versions) + "]" in workflow
    assert "make test" in workflow and "make test-all" in workflow


@pytest.mark.slow
@pytest.mark.compiled
def test_wheel_and_sdist_install_in_an_empty_environment(tmp_path):
    """Build both, install the wheel and then the sdist into a fresh environment, fit a model there, read its types."""
    pytest.importorskip("build", reason="build is not installed")
    run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ROOT)
    (wheel,), (sdist,) = (tmp_path / "dist").glob("*.whl"), (tmp_path / "dist").glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"adasadmm/py.typed", "adasadmm/paper/report/page.css", "adasadmm/paper/report/showcase.html.jinja"} <= set(
        names
    )
    assert all(name.startswith("adasadmm") for name in names)
    plain = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    run(sys.executable, "-m", "venv", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    for package in ([wheel], ["--no-deps", "--force-reinstall", sdist]):
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *package)
        assert run(tmp_path / "env" / "bin" / "adasadmm", "--version", env=plain).startswith("adasadmm ")
        assert float(run(python, "-c", SCRIPT, env=plain, cwd=tmp_path)) > 0.9
    (tmp_path / "typed.py").write_text(TYPED)
    mypy = [sys.executable, "-m", "mypy", "--python-executable", python, "--cache-dir", tmp_path / "mypy", "typed.py"]
    done = subprocess.run([str(part) for part in mypy], capture_output=True, text=True, cwd=tmp_path)
    assert 'Revealed type is "float | None"' in done.stdout.replace("Union[float, None]", "float | None"), done.stdout
    assert 'Missing named argument "A" for "Problem"' in done.stdout
