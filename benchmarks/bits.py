"""The bits of many small runs and what they print, before and after a change that must not change results.

python benchmarks/bits.py record FILE.json [--only TEXT]                             run the cases, write what came out
python benchmarks/bits.py compare BEFORE.json AFTER.json [--only TEXT] [--no-texts]  exit code 1 where they differ

PYTHONPATH chooses the tree; the cases (`bits_cases.py`) use only its public names. An error that a case raises is a
result, too. Seconds, folders and versions are masked in texts. A recording takes about two minutes, and ten where numba
has to compile, that is, after any edit of the package.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bits_cases
from bits_facts import flat, masked

import adasadmm as ad


def recorded(function: Callable[[], Any]) -> dict[str, str]:
    """Return the result of a case or its error, its output, and its warnings with whether they point at the case."""
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                found = dict(flat(function()))
            except Exception as error:
                found = {"raised": type(error).__name__, "text raised": masked(str(error))}
    said = [f"{one.category.__name__}, {one.filename == bits_cases.__file__}: {one.message}" for one in caught]
    return {**found, "text printed": masked(printed.getvalue()), "text warnings": masked("\n".join(said))}


def record(path: Path, only: str) -> int:
    begin, path, found = time.perf_counter(), path.resolve(), {}
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        bits_cases.write_files()
        for name, function in bits_cases.table().items():
            if only in name:
                before = time.perf_counter()
                found[name] = recorded(function)
                print(f"{time.perf_counter() - before:6.1f} s  {name}", file=sys.stderr)
    path.write_text(json.dumps(found, indent=1))
    print(f"{len(found)} cases of {Path(ad.__file__).parent} in {time.perf_counter() - begin:.0f} s")
    return 0


def compare(before: Path, after: Path, only: str, texts: bool) -> int:
    one, other = (json.loads(path.read_text()) for path in (before, after))
    names, differing = [name for name in {**one, **other} if only in name], 0
    for name in names:
        was, now = (found.get(name, {"case": "not there"}) for found in (one, other))
        fields = [field for field in {**was, **now} if texts or "text" not in field.split()]
        for field in fields if name in one and name in other else ["case"]:
            if was.get(field) != now.get(field):
                differing += 1
                print(f"{name}: {field}\n  - {was.get(field)}\n  + {now.get(field)}")
    print(f"{len(names)} cases, {differing} differences")
    return int(differing > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT", help="the cases that hold it")
    parser.add_argument("--no-texts", action="store_true", help="compare only numbers")
    options = parser.parse_args()
    if len(options.files) != (1 if options.what == "record" else 2):
        parser.error("record takes one file, compare two")
    if options.what == "record":
        return record(*options.files, options.only)
    return compare(*options.files, options.only, not options.no_texts)


if __name__ == "__main__":
    sys.exit(main())
