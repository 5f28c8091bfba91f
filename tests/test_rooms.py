"""Which file may import which, and what the package shows to the world."""

import ast
import importlib
import pathlib
import subprocess
import sys

import pytest

import adasadmm

SRC = pathlib.Path(adasadmm.__file__).parent
ROOMS = [  # a file imports only files above it
    "__init__",
    "_jit",
    "_threads",
    "_files",
    "losses",
    "penalties",
    "matrices",
    "products",
    "elimination",
    "dense",
    "quadratics",
    "sources",
    "metrics",
    "stepsizes",
    "averages",
    "blocks",
    "gates",
    "problem",
    "algorithm",
    "gradients",
    "scaling",
    "ascent",
    "solvers",
    "parts",
    "trace",
    "checkpoints",
    "duality",
    "duality_source",
    "newton",
    "batch_rows",
    "batch",
    "multipliers",
    "polish",
    "stochastic",
    "accurate",
    "progress",
    "rounds",
    "legs",
    "solve",
    "theory",
    "graphs",
    "distributed",
    "estimators",
    "models",
    "datasets",
    "report",
    "experiments",
    "cli_common",
    "cli_memory",
    "cli_stream",
    "cli_rows",
    "cli_files",
    "cli_demo",
    "cli_runs",
    "cli_info",
    "cli_complete",
    "cli",
    "__main__",
]


def room_of(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported_rooms(path):
    package = ["adasadmm", *path.relative_to(SRC).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
            base = [part for part in base if part]
            yield from [base[1]] if len(base) > 1 else [alias.name for alias in node.names if alias.name in ROOMS]


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda path: str(path.relative_to(SRC)))
def test_a_file_imports_only_files_above_it(path):
    room = room_of(path)
    assert room in ROOMS, f"{room} has no place in the list of rooms"
    for other in imported_rooms(path):
        assert other == room or ROOMS.index(other) < ROOMS.index(room), f"{path.name} must not import {other}"


def test_only_one_file_knows_numba():
    knowing = [path.name for path in SRC.rglob("*.py") if "numba" in imports_of(path)]
    assert knowing == ["_jit.py"]


def imports_of(path):
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
    for room in ROOMS[1:]:
        module = importlib.import_module(f"adasadmm.{room}")
        for name in getattr(module, "__all__", []):
            assert hasattr(module, name), f"adasadmm.{room} has no {name}"


def test_help_imports_no_numba():
    code = (
        "import sys\nfrom adasadmm.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "assert 'numba' not in sys.modules and 'sklearn' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_version_agrees_with_the_changelog():
    changelog = SRC.parents[1] / "CHANGELOG.md"
    if not changelog.exists():
        pytest.skip("installed without the repository")
    assert f"## [{adasadmm.__version__}]" in changelog.read_text()


def test_what_a_type_checker_sees_is_what_is_public():
    """`__init__.pyi` has each public name, from its home; without it they would all be Any."""
    seen = {}
    for node in ast.parse((SRC / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            seen |= {alias.name: node.module or alias.name for alias in node.names}
    assert sorted(seen) == list(adasadmm.__all__)
    for name, home in seen.items():
        module = importlib.import_module(f"adasadmm.{home}")
        assert getattr(adasadmm, name) is (
            module if name == home and name in adasadmm._MODULES else getattr(module, name)
        )
