"""Which file may import which, and what the package shows to the world."""

import ast
import importlib
import os
import pathlib
import subprocess
import sys

import pytest

import adasadmm

SRC = pathlib.Path(adasadmm.__file__).parent
LAYERS = [  # a file imports only from lines above its own, and from its own folder
    "_core",
    "rows",
    "linalg",
    "losses penalties metrics stepsizes averages",
    "plug_ins",
    "sources",
    "graphs",
    "problem",
    "certificates",
    "algorithm",
    "solvers",
    "registry checkpoints",
    "auto",
    "_solve theory",
    "regularization distributed terms",
    "estimators",
    "models datasets",
    "paper",
    "cli",
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
FILES = sorted(SRC.rglob("*.py"))
ENTRY_POINTS = {"", "__main__"}  # import everything, and are imported for the version alone


def dotted(path):
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path) for path in FILES}


def imported(path):
    """The modules of the package that a file imports, wherever in the file."""
    package = list(path.relative_to(SRC).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                inner = ".".join([*base, alias.name])
                yield inner if inner in MODULES else ".".join(base)


@pytest.mark.parametrize("path", FILES, ids=dotted)
def test_a_file_imports_only_from_lines_above_its_own(path):
    own = dotted(path).split(".")[0]
    if own in ENTRY_POINTS:
        return
    assert own in LEVEL, f"{own} has no place in the layers"
    for module in imported(path):
        other = module.split(".")[0]
        if other != own and module != "":
            assert LEVEL[other] < LEVEL[own], f"{dotted(path)} must not import {module}"


def test_no_cycles_inside_a_folder():
    """A folder's ``__init__`` only collects names: files of the folder import from each other, in one direction."""
    graph = {
        dotted(path): {m for m in imported(path) if m.split(".")[0] == dotted(path).split(".")[0]} for path in FILES
    }
    done, under_way = set(), []

    def visit(module):
        if module in done:
            return
        assert module not in under_way, f"a cycle: {' -> '.join([*under_way, module])}"
        under_way.append(module)
        for other in graph.get(module, ()):
            if other != module:
                visit(other)
        done.add(under_way.pop())

    for module in graph:
        if "." in module:  # not the __init__ of a folder, from which its files may take the generic functions
            visit(module)


def test_only_the_core_imports_numba():
    """With ``NUMBA_DISABLE_JIT=1`` everything else runs as plain Python."""
    assert {path.parent for path in FILES if "numba" in packages_of(path)} == {SRC / "_core"}


def packages_of(path):
    """The packages that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


def test_every_public_name_loads_and_all_is_sorted():
    assert list(adasadmm.__all__) == sorted(adasadmm.__all__)
    for name in adasadmm.__all__:
        assert getattr(adasadmm, name) is not None
    assert set(adasadmm.__all__) <= set(dir(adasadmm))


def test_every_module_says_what_is_public():
    for name in MODULES - {"__main__"}:
        module = importlib.import_module(f"adasadmm.{name}" if name else "adasadmm")
        for public in getattr(module, "__all__", []):
            assert hasattr(module, public), f"{module.__name__} has no {public}"


HELP = "from adasadmm.cli import main\ntry: main({})\nexcept SystemExit: pass"
FIT = "import adasadmm\nadasadmm.GraphGuidedClassifier('chain').fit([[0, 1], [1, 0]], [0, 1])\nadasadmm.save_model"
OPTIONAL = {"dask", "distributed", "jinja2", "matplotlib", "networkx", "plotly", "polars", "pooch", "pytest", "skops"}
COMPILER = {"llvmlite", "numba"}
ARRAYS = {"numpy", "pandas", "scipy", "sklearn"}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import adasadmm", OPTIONAL | COMPILER | ARRAYS),
        (HELP.format(["--help"]), OPTIONAL | COMPILER | ARRAYS),
        (HELP.format(["fit", "--help"]), OPTIONAL | {"pandas", "sklearn"}),  # it lists the losses, which are compiled
        (FIT, OPTIONAL),
    ],
    ids=["import", "help", "help of fit", "fit"],
)
def test_only_what_is_used_is_imported(code, absent):
    code += "\nimport sys\nprint(*{name.partition('.')[0] for name in sys.modules})"
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}  # a fit of two rows needs no compilation
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert not absent & set(run.stdout.split("\n")[-2].split())


def test_version_agrees_with_the_changelog():
    changelog = SRC.parents[1] / "CHANGELOG.md"
    if not changelog.exists():
        pytest.skip("installed without the repository")
    assert f"## [{adasadmm.__version__}]" in changelog.read_text()
