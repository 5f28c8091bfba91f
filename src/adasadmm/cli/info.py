"""`adasadmm info`: installed versions, caches and available data sets."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform

from .. import __version__
from .common import Commands, add_command

__all__ = ["add_commands"]

NEEDED = ("numpy", "scipy", "numba", "scikit-learn", "threadpoolctl", "tqdm")
EXTRAS = {  # each extra, and one of its packages
    "cli": "rich",
    "report": "matplotlib",
    "data": "pooch",
    "cases": "pandas",
    "models": "skops",
    "arrow": "pyarrow",
    "dask": "distributed",
    "bench": "cvxpy",
}


def add_commands(commands: Commands) -> None:
    """Add the command ``info``."""
    parser = add_command(
        commands,
        "info",
        _info,
        help="print versions, extras, threads, caches and data sets",
        about="Print what a bug report should include: versions, extras, threads, caches and data sets.",
        examples=["adasadmm info", "adasadmm info --json"],
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")


def _info(options: argparse.Namespace) -> int:
    found = about()
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    for title, lines in found.items():
        print(title)
        for name, value in lines.items():
            print(f"  {name:<16}{value}")
    return 0


def about() -> dict[str, dict[str, str]]:
    """Collect what a bug report should include."""
    return {
        "versions": {
            "adasadmm": __version__,
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in NEEDED},
            "system": f"{platform.system()} {platform.machine()}",
        },
        "extras": {extra: _version(package) for extra, package in EXTRAS.items()},
        "threads": {"cores": str(_cores()), "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set")},
        "caches": {"machine code": os.environ.get("NUMBA_CACHE_DIR", "next to the package, else in the user's cache")},
        "data sets": _data_sets(),
    }


def _version(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package} is not installed"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _data_sets() -> dict[str, str]:
    from .. import datasets

    return {name: datasets.whereabouts(name) for name in (*datasets.PAPER, *datasets.BUNDLED)}
