"""The lowest versions that pyproject.toml allows, as constraints for pip: ``make test-lowest`` installs these."""

import pathlib
import re
import sys
import tomllib

PYPROJECT = pathlib.Path(__file__).parents[1] / "pyproject.toml"
EXTRAS = ("cli", "report", "data", "dask", "arrow", "models", "dev")


def constraints(project):
    """``name==bound`` for each requirement ``name[extras]>=bound``; the lowest where there are several."""
    needed = [*project["dependencies"], *(line for e in EXTRAS for line in project["optional-dependencies"][e])]
    found = dict(re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\w.]+)", line).groups() for line in needed)
    return [f"{name}=={bound}" for name, bound in sorted(found.items())]


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints(tomllib.loads(PYPROJECT.read_text())["project"])) + "\n")
