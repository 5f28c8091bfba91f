"""CPU seconds of second fits in two trees of the package, side by side in one run: what a change costs or gains.

    python benchmarks/two_trees.py OLD/src                     # OLD/src beside this tree's src
    python benchmarks/two_trees.py OLD/src trend "grid 64"     # the cases whose names begin with one of these
    python benchmarks/two_trees.py OLD/src --tol 1e-6 --rounds 9

The other tree is a checkout: its own `benchmarks` folder makes its problems. Each case has one process for each tree.
They take turns, a fit each, after a first fit that compiles and fills caches; the figure is the least of the rounds,
which other work on the machine disturbs least. The last column is the peak memory of the processes. A case that fails
in one of the trees is shown with its error.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SHORT = 1.0  # seconds: shorter fits are repeated within a round
MOST_SECONDS = 60.0  # of all fits of a case in one tree


def _shape(name: str) -> Callable[[float], Callable[[], Any]]:
    def made(tol: float) -> Callable[[], Any]:
        from shapes_problems import ROWS

        shape = ROWS[name].make()
        model, data = shape.estimator(tol), shape.data
        return lambda: model.fit(*data)

    return made


def _grown(kind: str, size: int) -> Callable[[float], Callable[[], Any]]:
    def made(tol: float) -> Callable[[], Any]:
        from growth import KINDS

        shape = KINDS[kind][1](size)
        model, data = shape.estimator(tol), shape.data
        return lambda: model.fit(*data)

    return made


def _paper(name: str, loss: str) -> Callable[[float], Callable[[], Any]]:
    def made(tol: float) -> Callable[[], Any]:
        from graph_guided import rows_and_graph

        from adasadmm import GraphGuidedClassifier

        X, y, edges = rows_and_graph(name)
        model = GraphGuidedClassifier(edges, loss=loss, tol=tol)
        return lambda: model.fit(X, y)

    return made


def _rows(name: str) -> Callable[[float], Callable[[], Any]]:
    def made(tol: float) -> Callable[[], Any]:
        from rehline_peer import DATA

        from adasadmm import GraphGuidedClassifier

        X, y, edges = DATA[name]()
        model = GraphGuidedClassifier(edges, tol=tol)
        return lambda: model.fit(X, y)

    return made


def _policies(alpha: float) -> Callable[[float], Callable[[], Any]]:
    def made(tol: float) -> Callable[[], Any]:
        import glm

        data = glm.policies()
        return lambda: glm.ours(data, alpha, tol)

    return made


def _path(name: str, search: bool) -> Callable[[float], Callable[[], Any]]:
    def made(tol: float) -> Callable[[], Any]:
        import numpy as np
        import paths

        from adasadmm import path

        case = next(case for case in paths.cases() if all(word in case.name.split(", ") for word in name.split(", ")))
        if search:
            return lambda: case.search().set_params(tol=tol).fit(*case.rows())
        problem = case.problem()
        strengths = paths.alpha_max(problem) * np.geomspace(1.0, paths.EPS, paths.STRENGTHS)
        return lambda: path(case.problem(), strengths, tol=tol)

    return made


def _softmax(n: int) -> Callable[[float], Callable[[], Any]]:
    def made(tol: float) -> Callable[[], Any]:
        import softmax

        from adasadmm import GraphGuidedClassifier

        X, y = softmax.images(n)
        model = GraphGuidedClassifier(("grid", 28, 28), loss="multinomial", alpha=1e-4, l2=1e-4, tol=tol)
        return lambda: model.fit(X, y)

    return made


def _trend_search(n: int) -> Callable[[float], Callable[[], Any]]:
    def made(tol: float) -> Callable[[], Any]:
        import numpy as np

        from adasadmm import TrendFilterCV

        rng = np.random.default_rng(0)
        times, series = np.arange(float(n)), np.cumsum(rng.normal(size=n)) / 10.0 + rng.normal(size=n)
        return lambda: TrendFilterCV(tol=tol).fit(times, series)

    return made


def _network(nodes: int) -> Callable[[float], Callable[[], Any]]:
    def made(tol: float) -> Callable[[], Any]:
        import numpy as np

        from adasadmm import NetworkLassoRegressor

        rng = np.random.default_rng(0)
        places, of_rows = rng.uniform(size=(nodes, 2)), np.repeat(np.arange(nodes), 10)
        X = rng.normal(size=(10 * nodes, 3))
        y = np.where(places[of_rows, 0] < 0.5, X[:, 0], -X[:, 1]) + 0.3 * rng.normal(size=10 * nodes)
        nearest = [np.argsort(((places - place) ** 2).sum(1))[1:4] for place in places]
        edges = [(i, int(j)) for i, near in enumerate(nearest) for j in near]
        model = NetworkLassoRegressor(edges, alpha=0.05, tol=tol)
        return lambda: model.fit(X, y, groups=of_rows)

    return made


def cases() -> dict[str, Callable[[float], Callable[[], Any]]]:
    """A name, and what makes the fit for a tolerance."""
    from shapes_problems import ROWS

    shapes = {name: _shape(name) for name in ROWS if "20,000" not in name}
    sizes = {"chain": (1_000,), "grid": (32, 512), "genes": (1_000, 10_000)}
    grown = {f"growth, {kind} {size:,}": _grown(kind, size) for kind in sizes for size in sizes[kind]}
    of_paper = {
        f"{name}, {loss}": _paper(name, loss) for name in ("a9a", "w8a", "news20") for loss in ("hinge", "logistic")
    }
    with_intercept = {f"{name}, hinge": _rows(name) for name in ("ijcnn1", "likeness")}
    policies = {f"insurance, alpha={alpha:g}": _policies(alpha) for alpha in (0.0, 1e-4, 1e-3)}
    more = {
        "softmax 2,000 x 784, grid": _softmax(2_000),
        "TrendFilterCV 300": _trend_search(300),
        "TrendFilterCV 1,000": _trend_search(1_000),
        "network of 60 nodes": _network(60),
        "network of 1,000 nodes": _network(1_000),
    }
    losses = {
        "binary": ("logistic", "hinge", "squared"), "digits": ("logistic", "hinge"), "genes": ("logistic", "squared"),
        "images": ("logistic", "squared"), "volumes": ("logistic", "squared"),
        "a9a": ("logistic", "hinge"), "w8a": ("logistic", "hinge"),
    }  # fmt: skip
    names = ["signal", "overlapping groups", *(f"{name}, {loss}" for name in losses for loss in losses[name])]
    along = {f"path, {name}": _path(name, search=False) for name in names}
    searches = {f"search, {name}": _path(name, search=True) for name in names if "8a" not in name and "9a" not in name}
    return shapes | grown | of_paper | with_intercept | policies | more | along | searches


def serve(name: str, tol: float) -> None:
    """In a process of one tree: fit whenever a line arrives, and answer with CPU seconds and peak memory."""
    warnings.simplefilter("ignore")
    fit = cases()[name](tol)
    fit()
    print("ready", flush=True)
    for _ in sys.stdin:
        begin, repeats = time.process_time(), 0
        while repeats == 0 or (time.process_time() - begin < SHORT / 10 and repeats < 50):
            fit()
            repeats += 1
        seconds = (time.process_time() - begin) / repeats
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
        print(json.dumps([seconds, memory]), flush=True)


def started(tree: Path, name: str, tol: float) -> subprocess.Popen:
    """A process that serves a case; `-P` lets it import the problems of its own tree's benchmarks."""
    environment = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree.parent / 'benchmarks'}"}
    command = [sys.executable, "-P", __file__, "--serve", name, "--tol", str(tol)]
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def compared(name: str, trees: list[Path], tol: float, rounds: int) -> list[str]:
    servers = [started(tree, name, tol) for tree in trees]
    try:
        least, memory = [math.inf] * len(trees), [0.0] * len(trees)
        for server in servers:
            if server.stdout.readline() != "ready\n":  # type: ignore[union-attr]
                return [name, server.stderr.read().strip().splitlines()[-1], "", "", ""]  # type: ignore[union-attr]
        for _ in range(rounds):
            for k, server in enumerate(servers):
                server.stdin.write("\n")  # type: ignore[union-attr]
                server.stdin.flush()  # type: ignore[union-attr]
                seconds, memory[k] = json.loads(server.stdout.readline())  # type: ignore[union-attr]
                least[k] = min(least[k], seconds)
            if rounds * max(least) > MOST_SECONDS:
                break
        ratio = least[1] / least[0]
        return [name, *(f"{one:.3g}" for one in least), f"{ratio:.2f}", " / ".join(f"{one:.0f}" for one in memory)]
    finally:
        for server in servers:
            server.kill()
            server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", nargs="?", type=Path, help="the folder src of the other tree")
    parser.add_argument("names", nargs="*", help="the cases that begin with one of these")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.tol)
        return
    trees, ratios = [options.old.resolve(), HERE.parent / "src"], []
    for name in cases():
        if not options.names or any(name.startswith(word) for word in options.names):
            line = compared(name, trees, options.tol, options.rounds)
            print(" | ".join(line), flush=True)
            if line[3]:
                ratios.append(float(line[3]))
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(
            f"{len(ratios)} cases at tol={options.tol:g}: geometric mean of new / old {mean:.2f}, worst {max(ratios)}"
        )


if __name__ == "__main__":
    main()
