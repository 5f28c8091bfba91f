"""The paper's experiment from start to finish: plan, compute, collect, report."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, cpu_count, delayed
from tqdm import tqdm

from .. import __version__, datasets
from .._core.files import write_whole
from .cells import TUNING_SEED, Cell, compute
from .claims import claims
from .contest import ALGORITHMS, PAPERS, Options, label
from .report import table, write_figure, write_page
from .report.study import Failure, LearntGraph, Study
from .settings import GRID, NOTES, PAPER_TABLE, settings
from .store import Store

__all__ = ["BUNDLED", "PAPER", "Outcome", "Plan", "checked", "cpu_count", "reproduce"]

PAPER, BUNDLED = datasets.PAPER, datasets.BUNDLED

# Approximate cost per row relative to the diagonal metric, used to estimate the remaining time.
COST = {"ada-full": 1.5, "sgd": 0.01, "ada-diag-linearized": 0.1, "ada-diag-auto": 0.1, "admm": 0.3, "": 0.5}


class Plan(NamedTuple):
    """The settings of a study: what to run, and where to write it."""

    datasets: tuple[str, ...]
    algorithms: tuple[str, ...]
    seeds: int
    out: Path
    options: Options = Options()
    data_dir: str | None = None
    jobs: int = 1
    command: str = ""


class Outcome(NamedTuple):
    """The study, and the files written."""

    study: Study
    files: list[Path]


class Finished(NamedTuple):
    """A cell with its figures, or with its error message."""

    cell: Cell
    figures: dict[str, Any] | None
    error: str = ""


class Available(NamedTuple):
    """The data sets that could be loaded, and the failures of the others."""

    data: dict[str, datasets.Dataset]
    failures: list[Failure]


def checked(plan: Plan, chosen: bool) -> tuple[Plan, Available]:
    """Check that a plan can be carried out, and load its data.

    If no data set was chosen by name and none can be loaded, the plan falls back to the bundled data sets.
    """
    for package in ("jinja2", "matplotlib", "plotly"):
        if importlib.util.find_spec(package) is None:
            raise ImportError(f'the figure and the page need {package}: pip install "adasadmm[report]"')
    available = _load(plan.datasets, plan.data_dir)
    if available.data:
        return plan, available
    if chosen or plan.data_dir is not None or os.environ.get("ADASADMM_DATA"):
        raise ValueError("\n".join(dict.fromkeys(failure.message for failure in available.failures)))
    return plan._replace(datasets=BUNDLED), _load(BUNDLED, None)


def _load(names: Iterable[str], data_dir: str | None) -> Available:
    found: dict[str, datasets.Dataset] = {}
    failures = []
    for name in names:
        try:
            found[name] = datasets.load(name, data_dir)
        except datasets.DatasetError as error:
            failures.append(Failure(name, "all", -1, str(error)))
    return Available(found, failures)


def reproduce(plan: Plan, available: Available, progress: bool = True) -> Outcome:
    """Run the cells that are not saved in ``plan.out``; write results.json, table.md, the figure and the page there."""
    start = time.perf_counter()
    data, failures = available.data, list(available.failures)
    store = Store(plan.out / "cells", plan.options, {name: datasets.digest(one.X, one.y) for name, one in data.items()})
    rows = {name: one.X.shape for name, one in data.items()}
    with tqdm(disable=not progress, bar_format=_BAR, smoothing=0.0) as bar:
        first = _first_wave(plan, list(data))
        tuned = [name for name in plan.algorithms if ALGORITHMS[name].eta is None]
        bar.total = sum(_cost(cell, rows) for cell in first)
        bar.total += sum(
            _cost(Cell("run", d, s, a), rows) for d in data for a in plan.algorithms for s in range(plan.seeds)
        )
        prepared = {done.cell: done for done in _finish(first, plan, store, rows, bar)}
        etas = {(d, a): _best(prepared, d, a) for d in data for a in tuned}
        runs = [
            Cell("run", d, s, a, etas.get((d, a), ALGORITHMS[a].eta))
            for d in data
            for a in plan.algorithms
            for s in range(plan.seeds)
            if etas.get((d, a), "fixed") is not None
        ]
        diverged = "every step size on the grid failed or diverged on the hold-out rows"
        failures += [Failure(d, a, -1, diverged) for (d, a), eta in etas.items() if eta is None]
        finished = {done.cell: done for done in _finish(runs, plan, store, rows, bar)}
    failures += [
        Failure(done.cell.dataset, done.cell.algorithm or "optimum", done.cell.seed, done.error)
        for done in (*prepared.values(), *finished.values())
        if done.figures is None
    ]
    records = [
        _record(finished[cell], prepared[Cell("optimum", cell.dataset, cell.seed)])
        for cell in runs
        if finished[cell].figures is not None
    ]
    study = _study(plan, records, prepared, failures, time.perf_counter() - start)
    return Outcome(study, _write(study, plan.out))


# --- computing -------------------------------------------------------------------------------------------------------


def _first_wave(plan: Plan, names: list[str]) -> list[Cell]:
    """Return the cells that the runs depend on: the optima, and the trials of step sizes."""
    optima = [Cell("optimum", name, seed) for name in names for seed in range(plan.seeds)]
    trials = [
        Cell("trial", name, TUNING_SEED, algorithm, eta)
        for name in names
        for algorithm in plan.algorithms
        if ALGORITHMS[algorithm].eta is None
        for eta in GRID
    ]
    return optima + trials


def _finish(
    cells: list[Cell], plan: Plan, store: Store, rows: dict[str, tuple[int, int]], bar: tqdm
) -> Iterator[Finished]:
    """Compute the cells that are not in the store, longest first, and save each as soon as it is finished."""
    waiting = []
    for cell in cells:
        figures = store.find(cell)
        if figures is None:
            waiting.append(cell)
        else:
            bar.total -= _cost(cell, rows)  # saved cells do not count for the remaining time
            yield Finished(cell, figures)
    waiting.sort(key=lambda cell: -_cost(cell, rows))
    parallel = Parallel(n_jobs=plan.jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
    for done in parallel(delayed(_attempt)(cell, plan.options, plan.data_dir) for cell in waiting):
        if done.figures is not None:
            store.keep(done.cell, done.figures)
        bar.set_description_str(str(done.cell), refresh=False)
        bar.update(_cost(done.cell, rows))
        yield done


def _attempt(cell: Cell, options: Options, data_dir: str | None) -> Finished:
    """Compute a cell; an error becomes part of the result, so that the other cells still run."""
    try:
        return Finished(cell, compute(cell, options, data_dir))
    except Exception as error:
        trial = f"eta {cell.eta:g} on the hold-out rows: " if cell.kind == "trial" else ""
        return Finished(cell, None, f"{trial}{type(error).__name__}: {error}")


_BAR = "{percentage:3.0f} % |{bar:24}| {elapsed}, {remaining} left | last finished: {desc}"


def _cost(cell: Cell, rows: dict[str, tuple[int, int]]) -> int:
    """Return a number roughly proportional to the time that a cell takes."""
    n, d = rows[cell.dataset]
    return max(1, round(n * d**1.5 * COST.get(cell.algorithm, 1.0)))


def _best(prepared: dict[Cell, Finished], dataset: str, algorithm: str) -> float | None:
    """Return the step size with the smallest objective on the hold-out rows."""
    figures = {eta: prepared[Cell("trial", dataset, TUNING_SEED, algorithm, eta)].figures for eta in GRID}
    objectives = {eta: found["objective"] for eta, found in figures.items() if found and found["objective"] is not None}
    return min(objectives, key=objectives.__getitem__) if objectives else None


# --- collecting ------------------------------------------------------------------------------------------------------


def _record(run: Finished, optimum: Finished) -> dict[str, Any]:
    """Return the record of a run in results.json."""
    figures, known = run.figures or {}, optimum.figures or {}
    return {
        "dataset": run.cell.dataset,
        "algorithm": run.cell.algorithm,
        "seed": run.cell.seed,
        "eta": run.cell.eta,
        **{name: value for name, value in figures.items() if name not in ("trace", "w")},
        "edges": len(known["edges"]) if known else None,
        "optimum": known.get("optimum"),
        "optimum_gap": known.get("gap"),
        "optimum_test_error": known.get("test_error"),
        "trace": figures["trace"],
        "w": figures["w"],
    }


def _study(
    plan: Plan, records: list[dict[str, Any]], prepared: dict[Cell, Finished], failures: list[Failure], seconds: float
) -> Study:
    names = list(dict.fromkeys(record["dataset"] for record in records))
    return Study(
        records=records,
        algorithms={name: label(name, plan.options) for name in plan.algorithms},
        papers=PAPERS,
        known={name: PAPER_TABLE[name] for name in names if name in PAPER_TABLE},
        claims=claims(records),
        settings=settings(plan.options.epochs, plan.seeds, plan.options.w_step, plan.options.exact_root),
        failures=failures,
        graphs=[graph for name in names for graph in _learnt_graph(name, records, prepared)],
        about=_about(plan, seconds),
        notes={name: NOTES[name] for name in names if name in NOTES},
    )


def _learnt_graph(name: str, records: list[dict[str, Any]], prepared: dict[Cell, Finished]) -> list[LearntGraph]:
    """Return the graph of the first seed, with the weights of its best algorithm."""
    known = prepared[Cell("optimum", name, 0)].figures
    runs = [record for record in records if record["dataset"] == name and record["seed"] == 0]
    if not known or not runs:
        return []
    best = min(runs, key=lambda record: record["objective"])
    return [LearntGraph(name, best["algorithm"], known["names"], known["edges"], best["w"])]


def _about(plan: Plan, seconds: float) -> dict[str, str]:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "numba", "scikit-learn"))
    return {
        "command": plan.command,
        "date": date.today().isoformat(),
        "time": f"{seconds:.0f} s for the cells that were not saved before, {plan.jobs} in parallel",
        "package": f"adasadmm {__version__}",
        "versions": f"Python {platform.python_version()}, {versions}",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _write(study: Study, out: Path) -> list[Path]:
    write_whole(out / "results.json", json.dumps(study.records, indent=1, allow_nan=False))
    write_whole(out / "table.md", table(study))
    write_figure(study, out)
    write_page(study, out / "report.html")
    return [out / name for name in ("results.json", "table.md", "figure.svg", "figure.png", "report.html")]
