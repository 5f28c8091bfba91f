"""Pictures of docs/benchmarks.md, drawn from its tables when the site is built, so that both always agree."""

import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).parents[1]
FOLDER = DOCS / "generated" / "benchmarks"
sys.path.insert(0, str(DOCS.parent / "benchmarks"))

SHAPES = [
    "chain 100,000",
    "grid 256",
    "trend 10,000, weak",
    "chain 10,000, poisson",
    "grid 64, quantile",
    "genes 200 x 2,000, logistic",
    "overlapping groups 2,000 x 1,000",
    "words 15,935 x 62,061, logistic",
    "many rows 465,000 x 54, hinge",
]
PEERS = ("adasadmm", "Clarabel", "prox_tv", "rehline")
NOT_RUN = {("rehline", "grid 64, quantile"): "not run"}  # it has the loss
SOLVERS = {
    'solver="auto", proved': ("adasadmm, certified", "C0", "o-"),
    "Ada-SADMM, diagonal, oracle stop": ("Ada-SADMM, oracle stop", "C0", "o:"),
    "CVXPY, Clarabel": ("Clarabel", "C1", "s-"),
    "CVXPY, OSQP": ("OSQP", "C2", "^-"),
    "CVXPY, SCS": ("SCS", "C3", "v-"),
    "admm": ("admm", "C4", "D-"),
    "copt": ("copt, oracle stop", "C5", "x:"),
}
ACCURACIES = ("1 %", "0.1 %", "0.01 %")


def first_number(text):
    """The first figure of a cell such as ``0.0145 / 0.0145``, or None for ``not reached``."""
    found = re.match(r"[\d.]+(e-?\d+)?", text)
    return float(found[0]) if found else None


def shapes(text):
    """Seconds to 0.1 % by problem and solver; a word where there are none."""
    import readme

    lines, found = {line[0]: line for line in readme.lines_of(text, "shapes")}, {}
    for problem in SHAPES:
        _, ours, clarabel, _, *others = lines[problem]
        seconds = {name: NOT_RUN.get((name, problem), "not supported") for name in PEERS}
        seconds |= {"adasadmm": first_number(ours), "Clarabel": first_number(clarabel) or "did not converge"}
        for other in filter(None, others):
            name, _, rest = other.partition(" ")
            if name in PEERS:
                seconds[name] = first_number(rest) or "did not converge"
        found[problem] = seconds
    return found


def accuracies(text):
    """Seconds to each accuracy by data set and solver; infinite where it was not reached."""
    import readme

    found = {}
    for data, shape, solver, *seconds in readme.lines_of(text, "peers")[2:]:
        if solver in SOLVERS:
            found.setdefault(f"{data}, {shape}", {})[solver] = [float(one) for one in seconds]
    return found


def draw_shapes(found):
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(9.0, 7.2), layout="constrained")
    ax = figure.subplots()
    least = 0.5 * min(value for row in found.values() for value in row.values() if not isinstance(value, str))
    for k, (_, row) in enumerate(reversed(found.items())):
        for j, name in enumerate(reversed(PEERS)):
            place, value = k + (j - 1.5) * 0.2, row[name]
            if isinstance(value, str):
                ax.text(least * 1.15, place, f"{name}: {value}", va="center", fontsize=7, color="0.45")
            else:
                number = len(PEERS) - 1 - j
                ax.barh(
                    place, value - least, left=least, height=0.19, color=f"C{number}", label=name if k == 0 else None
                )
                ax.text(value * 1.08, place, f"{value:.2g} s", va="center", fontsize=7)
    ax.set(xscale="log", xlim=(least, 200), xlabel="seconds to 0.1 % of the optimum")
    ax.set_yticks(range(len(found)), list(reversed(found)))
    ax.spines[["top", "right"]].set_visible(False)
    handles = [Patch(color=f"C{number}", label=name) for number, name in enumerate(PEERS)]
    ax.legend(handles=handles, frameon=False, loc="upper right")
    return figure


def draw_accuracies(found):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.0), layout="constrained")
    axes = figure.subplots(1, len(found), sharey=True)
    for ax, (title, solvers) in zip(axes, found.items(), strict=True):
        for solver, seconds in solvers.items():
            label, colour, style = SOLVERS[solver]
            shown = [value if value < float("inf") else float("nan") for value in seconds]
            ax.plot(range(3), shown, style, color=colour, markersize=5, label=label)
            lost = [k for k, value in enumerate(seconds) if value == float("inf")]
            ax.plot(lost, [400.0] * len(lost), style[0], color=colour, markersize=5, fillstyle="none")
        ax.axhline(250.0, color="0.6", linewidth=0.6)
        ax.set(yscale="log", ylim=(0.01, 800.0), xlim=(-0.3, 2.3), xlabel="above the optimum, at most")
        ax.set_xticks(range(3), ACCURACIES)
        ax.set_title(title, loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].text(-0.25, 500.0, "did not converge", fontsize=8, color="0.35", va="center")
    axes[0].set_ylabel("seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def write_pictures(app):
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    FOLDER.mkdir(parents=True, exist_ok=True)
    draw_shapes(shapes(text)).savefig(FOLDER / "shapes.png", dpi=100)
    draw_accuracies(accuracies(text)).savefig(FOLDER / "accuracies.png", dpi=100)


def setup(app):
    app.connect("builder-inited", write_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
