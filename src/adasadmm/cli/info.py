"""`adasadmm info`: installed versions, caches and available data sets."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re

from .. import __version__
from .common import Commands, add_command, as_json

__all__ = ["add_commands"]

NOT_SHOWN = ("all", "dev", "docs")  # extras that collect others, or that no user needs


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
        print(as_json(found, indent=1))
        return 0
    for title, lines in found.items():
        print(title)
        for name, value in lines.items():
            print(f"  {name:<16}{value}")
    return 0


def about() -> dict[str, dict[str, str]]:
    """Collect what a bug report should include."""
    needed, extras = _requirements()
    return {
        "versions": {
            "adasadmm": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in needed},
            "system": f"{platform.system()} {platform.machine()}",
        },
        "extras": {
            extra: ", ".join(f"{name} {_version(name)}" for name in names)
            for extra, names in extras.items()
            if extra not in NOT_SHOWN
        },
        "threads": {"cores": str(_cores()), "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set")},
        "caches": {"machine code": os.environ.get("NUMBA_CACHE_DIR", "next to the package, else in the user's cache")},
        "data sets": _data_sets(),
    }


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """The packages that are always needed, and those of each extra, from the metadata of the installed package."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    try:
        lines = importlib.metadata.requires("adasadmm") or []
    except importlib.metadata.PackageNotFoundError:  # a source tree on the path
        lines = []
    for line in lines:
        extra, name = re.search(r"extra == ['\"]([\w-]+)", line), re.split(r"[^\w.-]", line)[0]
        (needed if extra is None else extras.setdefault(extra[1], [])).append(name)
    return needed, extras


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _data_sets() -> dict[str, str]:
    from .. import datasets

    return {name: datasets.whereabouts(name) for name in (*datasets.PAPER, *datasets.BUNDLED)}
