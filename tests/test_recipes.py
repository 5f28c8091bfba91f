"""CONTRIBUTING's recipes, followed step by step on a copy of the package: a loss, a penalty, a solver, a command."""

import pathlib
import shutil
import subprocess
import sys

import pytest

import adasadmm

SRC = pathlib.Path(adasadmm.__file__).parent

LOSS = '''"""A toy loss: half of the squared error."""

from typing import NamedTuple

from ._generic import conjugate, domain, prox, slope, value


class HalfSquared(NamedTuple):
    """``scale (z - y)^2 / 4``."""

    scale: float = 1.0


@value.register
def half_squared_value(loss: HalfSquared, z, y):
    return loss.scale * (z - y) ** 2 / 4.0


@slope.register
def half_squared_slope(loss: HalfSquared, z, y):
    return loss.scale * (z - y) / 2.0


@prox.register
def half_squared_prox(loss: HalfSquared, z, tau, y):
    return (z + 0.5 * tau * loss.scale * y) / (1.0 + 0.5 * tau * loss.scale)


@conjugate.register
def half_squared_conjugate(loss: HalfSquared, s, y):
    return s * s / loss.scale + s * y


@domain.register
def half_squared_domain(loss: HalfSquared, y):
    return -float("inf"), float("inf")
'''
PENALTY = '''"""A toy penalty: the L1 norm once more."""

from typing import NamedTuple

import numpy as np

from ._generic import conjugate, domain, prox_at, value


class Absolute(NamedTuple):
    """``nu |v|_1``."""

    nu: float


@value.register
def absolute_value(penalty: Absolute, v):
    return penalty.nu * np.sum(np.abs(v))


@prox_at.register
def absolute_prox_at(penalty: Absolute, k, x, tau):
    return max(x - tau * penalty.nu, 0.0) - max(-x - tau * penalty.nu, 0.0)


@conjugate.register
def absolute_conjugate(penalty: Absolute, s):
    return 0.0


@domain.register
def absolute_domain(penalty: Absolute, s):
    return np.clip(s, -penalty.nu, penalty.nu)
'''
COMMAND = '''"""A toy command."""

from .common import add_command


def add_commands(commands):
    about = "Prints a greeting."
    parser = add_command(commands, "greet", greet, help="greet", about=about, examples=["adasadmm greet Ada"])
    parser.add_argument("name")


def greet(options):
    print("hello", options.name)
    return 0
'''
USES = {
    "loss": """
import numpy as np
from adasadmm import GraphGuidedRegressor, Squared, losses, registry
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)); y = X @ [1.0, 1.0, 2.0, 2.0] + 0.1 * rng.normal(size=80)
mine = GraphGuidedRegressor("chain", loss="half_squared", alpha=0.01, l2=0.0, tol=1e-8).fit(X, y)
twice = GraphGuidedRegressor("chain", loss="squared", alpha=0.02, l2=0.0, tol=1e-8).fit(X, y)
assert np.allclose(mine.coef_, twice.coef_, atol=1e-5) and mine.dual_gap_ < 1e-8
assert "half_squared" in registry.REGRESSION_LOSSES and losses.HalfSquared
from adasadmm.cli import main
try: main(["fit", "rows.csv", "--loss", "half_squared", "--model", "m"])
except SystemExit: raise AssertionError("the command line does not know the loss")
""",
    "penalty": """
import numpy as np
from adasadmm import L1, ALM, AdaSADMM, Problem, Squared, penalties, solve
A = [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]
X = np.vstack([np.eye(3), np.ones(3)]); y = [1.0, 2.0, 6.0, 8.0]  # not diagonal: L1 would get a certificate of its own
for solver in (ALM(), AdaSADMM()):
    pair = penalties.Absolute(0.2), L1(0.2)
    one, two = (solve(Problem(X, y, loss=Squared(), penalty=each, A=A), solver) for each in pair)
    assert np.allclose(one.w, two.w), (one.w, two.w)
    assert np.isclose(one.certificate.dual, two.certificate.dual)
""",
    "solver": """
import numpy as np
from adasadmm import GraphGuidedRegressor, L1, Problem, Squared, solve, solvers
problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.1), A=[[1.0, -1.0]])
assert solve(problem, solvers.AveragedSubgradient(), epochs=3).status.name == "done"
GraphGuidedRegressor("chain", solver="mine", max_iter=3).fit(np.eye(3), [1, 2, 3])
""",
    "command": """
from adasadmm.cli import main
assert main(["greet", "Ada"]) == 0
""",
}


@pytest.fixture
def package(tmp_path):
    copy = tmp_path / "adasadmm"
    shutil.copytree(SRC, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def insert_after(path, anchor, line):
    text = path.read_text()
    assert text.count(anchor) == 1, f"{anchor!r} is not once in {path.name}: CONTRIBUTING names another place"
    path.write_text(text.replace(anchor, f"{anchor}\n{line}"))


def add_loss(package):
    (package / "losses" / "half_squared.py").write_text(LOSS)
    line = "from .half_squared import HalfSquared as HalfSquared"
    insert_after(package / "losses" / "__init__.py", "take each of them by its name.", line)


def add_penalty(package):
    (package / "penalties" / "absolute.py").write_text(PENALTY)
    line = "from .absolute import Absolute as Absolute"
    insert_after(package / "penalties" / "__init__.py", "# The built-in penalties and sets.", line)


def add_solver(package):
    tutorial = SRC.parents[1] / "docs" / "tutorials" / "own" / "averaged_subgradient.py"
    if not tutorial.exists():
        pytest.skip("installed without the repository")
    imports = "\n".join(
        (
            "from ..certificates import certify",
            "from .base import Monitor, Point, Run, Solver",
            "from .stochastic import slopes_at",
        )
    )
    source = tutorial.read_text()
    (line,) = (line for line in source.splitlines() if line.startswith("from adasadmm.solvers"))
    (package / "solvers" / "mine.py").write_text(source.replace(line, imports))
    line = "from .mine import AveragedSubgradient as AveragedSubgradient"
    insert_after(package / "solvers" / "__init__.py", "# The built-in solvers.", line)
    line = '    "mine": lambda tuning: solvers.AveragedSubgradient(),'
    insert_after(package / "registry.py", "SOLVERS: dict[str, Callable[[Tuning], Solver]] = {", line)


def add_command(package):
    (package / "cli" / "greet.py").write_text(COMMAND)
    insert_after(package / "cli" / "__init__.py", "COMMANDS = (", '    "greet",')


STEPS = {"loss": add_loss, "penalty": add_penalty, "solver": add_solver, "command": add_command}


@pytest.mark.slow  # a copy of the package is compiled from nothing
@pytest.mark.parametrize("what", STEPS)
def test_the_recipe_works(what, package, tmp_path):
    STEPS[what](package)
    (tmp_path / "use.py").write_text(USES[what])
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "1,2,3\n2,1,1\n" * 4)
    done = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
