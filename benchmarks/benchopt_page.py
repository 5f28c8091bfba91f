"""Run the benchmark of benchopt on the data sets that come with scikit-learn, and write its table and its picture.

    python benchmarks/benchopt_page.py

The optimum is the smallest objective that any solver reached; a run at a larger budget starts from the beginning, so a
time is that of one run. It takes a few minutes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import page
import pandas as pd

BENCHMARK = Path(__file__).parent / "benchopt"
PICTURE = page.DOCS / "benchopt.png"
RUN = ["--local", "--no-plot", "--no-cache", "-d", "Bundled", "-n", "30", "-r", "1", "--timeout", "5"]
SOLVERS = [
    "adasadmm-auto",
    "adasadmm[variant=[alm,ada-diag]]",
    "ReHLine",
    "CVXPY[solver=[CLARABEL,OSQP]]",
    "admm",
    "copt-primal-dual",
]
ACCURACIES = (1e-2, 1e-3, 1e-4)
LEAST = 1e-8  # smallest suboptimality that the picture shows


def runs() -> pd.DataFrame:
    """Seconds and suboptimality by data set, loss, solver and budget."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.parquet"
        chosen = [word for solver in SOLVERS for word in ("-s", solver)]
        command = [sys.executable, "-m", "benchopt", "run", str(BENCHMARK), *RUN, *chosen, "--output", str(path)]
        subprocess.run(command, check=True, stdout=sys.stderr)
        found = pd.read_parquet(path)
    found = found.rename(columns={"p_dataset_dataset": "data", "p_obj_loss": "loss", "solver_name": "solver"})
    found["solver"] = found["solver"].str.replace(r"\[\w+=(.*)\]", r", \1", regex=True)
    optimum = found.groupby(["data", "loss"])["objective_value"].transform("min")
    return found.assign(above=found["objective_value"] / optimum - 1.0)


def seconds_to(curve: pd.DataFrame, accuracy: float) -> str:
    """The shortest run that is accurate enough."""
    times = curve.loc[curve["above"] <= accuracy, "time"]
    return f"{times.min():.2g}" if len(times) else "not reached"


def draw(found: pd.DataFrame) -> None:
    from matplotlib.figure import Figure

    names = sorted(found["solver"].unique())
    problems = list(found.groupby(["data", "loss"]))
    figure = Figure(figsize=(10.0, 7.5), layout="constrained")
    for ax, (title, problem) in zip(figure.subplots(2, 2).flat, problems, strict=True):
        for number, name in enumerate(names):
            curve = problem[problem["solver"] == name].sort_values("time")
            above = curve["above"].clip(LEAST).cummin()
            ax.step(curve["time"], above, where="post", color=f"C{number}", label=name)
        ax.set_title(", ".join(title), loc="left", fontsize=10)
        ax.set(xscale="log", yscale="log", xlim=(1e-4, None))
        ax.set(xlabel="seconds", ylabel="above the optimum, relative")
        ax.spines[["top", "right"]].set_visible(False)
    handles = {line.get_label(): line for ax in figure.axes for line in ax.lines}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(PICTURE, dpi=90)


def text() -> str:
    found = runs()
    head = ["data", "loss", "solver", *(f"seconds to {100 * accuracy:g} %" for accuracy in ACCURACIES)]
    lines = [
        [*names, *(seconds_to(curve, accuracy) for accuracy in ACCURACIES)]
        for names, curve in found.groupby(["data", "loss", "solver"])
    ]
    if "--print" not in sys.argv:
        draw(found)
    return page.table(head, lines)


if __name__ == "__main__":
    page.show(__file__, "benchopt.md", text)
