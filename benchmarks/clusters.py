"""Rows on a cluster compared with rows on one machine: objective, time, and dask-ml's ADMM.

python benchmarks/clusters.py [objective] [time] [peer] [bytes] [--rows=4000000]      (default: all four)
"""

from __future__ import annotations

import contextlib
import pickle
import sys
import time

import numpy as np
import page
import scipy.sparse as sp

EPOCHS = (2, 5)
FEATURES = 2000
LINK = 1.25e9  # bytes a second: 10 Gbit/s


@contextlib.contextmanager
def cluster(workers: int, processes: bool = True):
    """Workers on this machine, each with one thread."""
    from distributed import Client, LocalCluster

    here = "127.0.0.1:0"
    settings = {"dashboard_address": None, "worker_dashboard_address": here}
    settings |= {"scheduler_kwargs": {"dashboard_address": here}, **({"host": "127.0.0.1"} if processes else {})}
    with LocalCluster(workers, threads_per_worker=1, processes=processes, **settings) as made, Client(made) as client:
        yield client


def solver():
    from adasadmm import AdaSADMM

    return AdaSADMM(beta="auto", batch_size="auto", average="auto")


# --- the objective after equal row visits ----------------------------------------------------------------------------


def data_sets():
    from adasadmm import datasets, graphs

    for name in ("a9a", "news20"):
        _, X, y, *_ = datasets.load(name)
        yield name, X, y, graphs.glasso(X).edges
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200_000, 100))
    w = np.repeat(np.random.default_rng(0).normal(size=10), 10)
    yield (
        "generated, 200,000 x 100",
        X,
        np.where(X @ w + 5.0 * rng.normal(size=len(X)) > 0.0, 1.0, -1.0),
        graphs.chain(100),
    )


def shuffled(X, y):
    """The rows in random order, so a partition is a sample of all rows."""
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def objectives() -> str:
    from adasadmm import ALM, L1, Hinge, Problem, distributed, graphs, solve, sources

    lines = []
    with cluster(4, processes=False) as client:  # who does the work does not show in the result
        for name, X, y, edges in data_sets():
            X, y = shuffled(X, y)
            n, d = X.shape
            A = graphs.incidence(edges, None, d) if isinstance(edges, np.ndarray) else graphs.incidence(edges)
            parts = {"loss": Hinge(), "penalty": L1(1 / n), "A": A, "gamma": 1 / n}
            problem = Problem(X, y, **parts)
            best = solve(problem, ALM(), tol=1e-6).certificate.primal
            for epochs in EPOCHS:
                one = problem.objective(solve(problem, solver(), epochs=epochs, trace_every=epochs).w_average)
                line = [name, str(epochs), f"{one:.5f}", f"{100 * (one / best - 1):.2f} %"]
                for lanes, partitions in ((2, 2), (4, 16)):
                    source = sources.arrays(X, y, block_rows=-(-n // partitions))
                    spread = distributed.spread(source, client=client, lanes=lanes)
                    result = solve(Problem(spread, **parts), solver(), epochs=epochs, trace_every=epochs)
                    line.append(f"{100 * (problem.objective(result.w_average) / one - 1):+.2f} %")
                lines.append(line)
    head = ["data", "epochs", "one machine", "above the optimum", "2 workers, 2 partitions", "4 workers, 16 partitions"]
    text = "Objective after equal numbers of row visits; the last two columns are relative to one machine."
    return f"{text}\n\n{page.table(head, lines)}"


# --- time ------------------------------------------------------------------------------------------------------------


def sparse_partition(number: int, rows: int):
    """Rows with ten non-zeros among 2,000 features, generated on the worker."""
    rng = np.random.default_rng(number)
    indices = rng.integers(FEATURES, size=10 * rows)
    X = sp.csr_array((rng.normal(size=10 * rows), indices, np.arange(0, 10 * rows + 1, 10)), shape=(rows, FEATURES))
    X.sum_duplicates()
    w = np.repeat(np.random.default_rng(0).normal(size=20), FEATURES // 20)
    return X, np.where(X @ w + rng.normal(size=rows) > 0.0, 1.0, -1.0)


def generated(rows: int, partitions: int):
    from adasadmm.sources import RawBlock, Source, check_block

    class Generated(Source):
        def __len__(self):
            return partitions

        def __repr__(self):
            return "generated rows"

        def read_rows(self, partition, faults):
            X, y = sparse_partition(partition, rows // partitions)
            yield check_block(RawBlock(X, y, None, f"partition {partition}"), FEATURES, faults)

    return Generated(FEATURES)


def seconds(workers: int, rows: int) -> list[str]:
    """An epoch without reading and compilation: its time, the CPU time of the busiest worker, and the objective."""
    from adasadmm import L1, AdaSADMM, Hinge, Problem, distributed, graphs, solve

    with cluster(workers) as client:
        parts = {"loss": Hinge(), "penalty": L1(1e-6), "A": graphs.incidence(graphs.chain(FEATURES)), "gamma": 1e-6}
        one_row = AdaSADMM(beta="auto", average="auto")
        few = distributed.spread(generated(1000 * workers, workers), client=client, rounds=1)
        solve(Problem(few, **parts), one_row, epochs=1)
        spread = distributed.spread(generated(rows, 4), client=client, lanes=workers)
        problem, before = Problem(spread, **parts), client.run(time.process_time)
        busiest: list[float] = []

        def look(snapshot) -> None:
            busiest.append(max(now - before[worker] for worker, now in client.run(time.process_time).items()))

        result = solve(problem, one_row, epochs=1, callback=look)
        spent, value = (result.trace[name][-1] for name in ("seconds", "objective"))
        return [str(workers), f"{spent:.1f}", f"{busiest[0]:.1f}", f"{rows / spent:,.0f}", f"{value:.4f}"]


def times() -> str:
    given = [int(argument[7:]) for argument in sys.argv if argument.startswith("--rows=")]
    rows = given[0] if given else 4_000_000
    lines = [seconds(workers, rows) for workers in (1, 2)]
    text = f"An epoch over {rows:,} sparse rows of {FEATURES:,} features, 4 partitions, one thread per worker."
    head = ["workers", "seconds", "CPU seconds of the busiest worker", "rows per second", "objective"]
    return f"{text}\n\n{page.table(head, lines)}"


# --- a peer ----------------------------------------------------------------------------------------------------------


def peer() -> str:
    """Logistic regression without a graph: time to 1 % and 0.1 % of the optimum, two workers, four partitions."""
    import dask.array as da
    from dask_ml.linear_model import LogisticRegression

    from adasadmm import ADMM, ALM, L1, Logistic, Problem, distributed, solve

    n, d = 20_000, 50
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 3.0 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    parts = {"loss": Logistic(), "penalty": L1(0.0), "A": sp.csr_array((1, d)), "gamma": 1e-3}
    problem = Problem(X, y, **parts)
    best = solve(problem, ALM(), tol=1e-7).certificate.primal
    goals, found = (1e-2, 1e-3), {}
    with cluster(2) as client:
        dX = client.persist(da.from_array(X, chunks=(n // 4, d)))
        dy = client.persist(da.from_array(y, chunks=n // 4))

        def theirs(iterations: int) -> np.ndarray:
            model = LogisticRegression(
                solver="admm", penalty="l2", C=1 / (n * 1e-3), fit_intercept=False, max_iter=iterations, tol=0.0
            )
            return model.fit(dX, (dy > 0).astype(int)).coef_.reshape(-1)

        spread = distributed.spread(dX, dy, client=client)

        def ours(which):
            return lambda count: (
                solve(Problem(spread, **parts), which, epochs=count, tol=0.0, trace_every=1000).w_average
            )

        for name, fit, counts in (
            ("rounds of Ada-SADMM", ours(solver()), (1, 2, 3, 5, 8)),
            ("batch ADMM", ours(ADMM()), (5, 10, 15, 20, 30, 50, 100)),
            ('dask-ml, solver="admm"', theirs, (1, 2, 3, 5, 8, 12, 20, 40, 80)),
        ):
            fit(1)  # compile
            for count in counts:
                begin = time.perf_counter()
                w = fit(count)
                spent = time.perf_counter() - begin
                off = problem.objective(w) / best - 1
                for goal in goals:
                    if off <= goal:
                        found.setdefault((name, goal), f"{spent:.2f} s ({count})")
                if all((name, goal) in found for goal in goals):
                    break
    names = list(dict.fromkeys(name for name, _ in found))
    lines = [[name, *(found.get((name, goal), "not reached") for goal in goals)] for name in names]
    text = (
        f"{n:,} x {d}, logistic loss, ridge 1e-3, no graph, no intercept. "
        "Seconds of a fit that stops at the accuracy, and iterations."
    )
    return text + "\n\n" + page.table(["two workers, four partitions", "to 1 % of the optimum", "to 0.1 %"], lines)


# --- bytes -----------------------------------------------------------------------------------------------------------


def sizes() -> str:
    """The size of the messages of a round, and the cost of a row."""
    from adasadmm import L1, Hinge, Problem, graphs
    from adasadmm.solvers import Batches, Point
    from adasadmm.solvers.stochastic.lanes import sent

    lines = []
    for d in (10_000, 1_000_000):
        rows = 2000 if d < 1e6 else 100
        rng = np.random.default_rng(0)
        X = sp.csr_array(
            (rng.normal(size=100 * rows), rng.integers(d, size=100 * rows), np.arange(0, 100 * rows + 1, 100)),
            shape=(rows, d),
        )
        X.sum_duplicates()
        problem = Problem(
            X, np.sign(rng.normal(size=rows)), loss=Hinge(), penalty=L1(1e-6), A=graphs.incidence(graphs.chain(d))
        )
        run = solver().begin(problem, Point(np.zeros(d), np.zeros(d - 1), np.zeros(d - 1)))
        costs = {}
        for batch in (1, 100):
            run.batch_size = batch
            order = np.tile(np.arange(rows), 1 if batch == 1 else 20)
            begin = time.process_time()  # of one core, whatever else the machine does
            run.advance(Batches(problem.rows, order, batch))
            costs[batch] = (time.process_time() - begin) / len(order)
        size = len(pickle.dumps(sent(run)))
        lines.append([d, costs[1], costs[100], size])
    lines.append([10**8, 100 * lines[-1][1], 100 * lines[-1][2], 100 * lines[-1][3]])  # all of it is linear in d
    shown = []
    for d, single, batched, size in lines:
        for n in (10**9, 10**12):
            work = n * batched / 16  # of all lanes in a round
            lanes = (work * LINK / (2 * size)) ** 0.5
            shown.append(
                [
                    f"{d:,}",
                    f"{1 / single:,.3g}",
                    f"{1 / batched:,.3g}",
                    f"{size / 1e6:,.3g} MB",
                    f"{n:.0e}",
                    f"{max(lanes, 1):,.0f}",
                ]
            )
    head = [
        "features = edges",
        "rows per second, single",
        "in batches of 100",
        "sent and received by a lane, each",
        "rows",
        "lanes",
    ]
    text = 'Rows have 100 non-zeros. "Lanes" is the number at which communication takes as long as computation.'
    return f"{text}\n\n{page.table(head, shown)}"


def text() -> str:
    parts = {"objective": objectives, "time": times, "peer": peer, "bytes": sizes}
    return "\n\n".join(parts[name]() for name in page.named() or parts)


if __name__ == "__main__":
    page.show(__file__, "distributed.md", text)
