"""The notes of a release: the part of CHANGELOG.md under its version.

python .ci/notes.py 0.2.0
"""

import pathlib
import re
import sys

CHANGELOG = pathlib.Path(__file__).parents[1] / "CHANGELOG.md"


def notes(text: str, version: str) -> str:
    """Return the text between the heading of a version and the next one."""
    parts = re.split(r"^## \[([^\]]+)\].*$", text, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    if version not in found:
        raise SystemExit(f"CHANGELOG.md has no version {version}; it has {', '.join(found)}")
    return found[version].strip() + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python .ci/notes.py VERSION")
    print(notes(CHANGELOG.read_text(encoding="utf-8"), sys.argv[1]), end="")
