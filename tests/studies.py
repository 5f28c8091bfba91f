"""Studies to report on: plausible figures made by a formula, and texts that try to break out of a table or a page."""

import numpy as np

from adasadmm.paper.report import Claim, Failure, Known, LearntGraph, Setting, Study

HOSTILE = """<script>alert(1)</script> | "quoted" & 'single' $x </script> <!-- {{ 7 * 7 }}"""

ALGORITHMS = {
    "sadmm": "SADMM",
    "ada-diag": "Ada-SADMM diag",
    "ada-full": "Ada-SADMM full",
    "sadmm-sqrt": "SADMM, c/sqrt(t)",
    "admm": "batch ADMM",
}
PAPERS = ("sadmm", "ada-diag", "ada-full")
DATASETS = ("a9a", "mushrooms", "news20", "splice", "svmguide3", "w8a")
KNOWN = {  # two data sets of the paper's Table 2 are enough here; the others have none, as data sets of one's own
    "a9a": {
        "sadmm": Known(2.6002, 0.4271, 0.1646, 0.0075, 56.0914),
        "ada-diag": Known(0.3550, 0.0001, 0.1501, 0.0012, 94.7619),
        "ada-full": Known(0.3545, 0.0001, 0.1498, 0.0013, 622.4459),
    },
    "splice": {
        "sadmm": Known(108.6823, 20.9655, 0.2454, 0.0322, 0.9821),
        "ada-diag": Known(0.3793, 0.0054, 0.1578, 0.0059, 1.3674),
        "ada-full": Known(0.3710, 0.0014, 0.1550, 0.0079, 7.0392),
    },
}
OPTIMA = {"a9a": 0.352, "mushrooms": 0.006, "news20": 0.311, "splice": 0.366, "svmguide3": 0.508, "w8a": 0.145}
EXCESS = {"sadmm": 2.0, "ada-diag": 0.004, "ada-full": 0.002, "sadmm-sqrt": 0.03, "admm": 0.2}
SECONDS = {"sadmm": 0.2, "ada-diag": 0.25, "ada-full": 6.0, "sadmm-sqrt": 0.2, "admm": 0.4}


def study(datasets=DATASETS, seeds=(0, 1, 2), algorithms=ALGORITHMS, **changes):
    """A study with all its parts."""
    algorithms = {name: ALGORITHMS[name] for name in algorithms}
    parts = {
        "records": [record(d, a, seed) for d in datasets for a in algorithms for seed in seeds],
        "algorithms": algorithms,
        "papers": tuple(name for name in PAPERS if name in algorithms),
        "known": {name: known for name, known in KNOWN.items() if name in datasets},
        "claims": claims(datasets),
        "settings": [
            Setting("gamma = nu", "1/n", "as in the paper"),
            Setting("step size of the adaptive ones", "2^-5 ... 2^5", "by cross validation on the training rows"),
            Setting("average", "mean of the iterates", "the paper's theorems speak of it"),
        ],
        "failures": [Failure("w8a", "ada-full", 4, "took longer than 600 s")],
        "graphs": [graph(name) for name in datasets],
        "about": {
            "command": "adasadmm reproduce --seeds 3",
            "date": "2025-01-31 12:00",
            "machine": "2 cores of 3.4 GHz",
            "versions": "adasadmm 0.1.0, numpy 2.0, Python 3.12",
        },
        "notes": {"news20": "The 100 words and 16,242 postings of Roweis."},
    }
    return Study(**{**parts, **changes})


def hostile_study():
    """One where every text is hostile."""
    good = study(datasets=("a9a",))
    rename = {"dataset": HOSTILE}
    return Study(
        records=[{**one, **rename} for one in good.records],
        algorithms={name: HOSTILE for name in good.algorithms},
        papers=good.papers,
        known={HOSTILE: KNOWN["a9a"]},
        claims=[Claim(HOSTILE, HOSTILE, {HOSTILE: True}, {HOSTILE: HOSTILE})],
        settings=[Setting(HOSTILE, HOSTILE, HOSTILE)],
        failures=[Failure(HOSTILE, HOSTILE, 0, HOSTILE)],
        graphs=[LearntGraph(HOSTILE, HOSTILE, [HOSTILE] * 3, [[0, 1]], [0.1, -1.0, 0.0])],
        about={HOSTILE: HOSTILE},
        notes={HOSTILE: HOSTILE},
    )


def record(dataset, algorithm, seed):
    """One run: the objective falls to its excess over the optimum, the error to its own, time goes on evenly."""
    rng = np.random.default_rng([DATASETS.index(dataset), list(ALGORITHMS).index(algorithm), seed])
    epoch = np.linspace(0.0, 2.0, 41)
    optimum = OPTIMA[dataset] * (1 + 0.002 * seed)
    rough = EXCESS[algorithm] * (30 if dataset == "splice" else 1) * rng.uniform(0.8, 1.25)
    fall = (1 - optimum) * np.exp(-12 * epoch) + rough / (0.05 + epoch) ** 0.8 * (1 - np.exp(-20 * epoch))
    wiggle = 1 + 0.04 * rng.standard_normal(41) * (epoch > 0)
    error = 0.08 + 0.05 * DATASETS.index(dataset) / 5 + 0.3 * np.exp(-5 * epoch) + 0.02 * min(1.0, rough) * wiggle
    pace = SECONDS[algorithm] * (1 + DATASETS.index(dataset)) * rng.uniform(0.95, 1.05)
    trace = {
        "epoch": epoch.tolist(),
        "objective": (optimum + fall * wiggle).tolist(),
        "test_error": error.tolist(),
        "seconds": (pace * epoch / 2).tolist(),
    }
    last = {name: trace[name][-1] for name in ("objective", "test_error", "seconds")}
    identity = {"dataset": dataset, "algorithm": algorithm, "seed": seed, "eta": 0.5, "epochs": 2.0}
    rest = {"test_objective": last["objective"], "edges": 100, "optimum": optimum, "trace": trace}
    return {**identity, **last, **rest}


def claims(datasets):
    """One that holds, one that holds on some data sets, one that fails, one that could not be checked."""
    first = set(datasets[:1])
    texts = [
        ("The adaptive algorithms converge much faster than SADMM.", dict.fromkeys(datasets, True)),
        ("The full matrix reaches a slightly smaller objective than the diagonal.", {d: d in first for d in datasets}),
        ("SADMM is the best of the three.", dict.fromkeys(datasets, False)),
        ("On data sets that were not run, something else.", {}),
    ]
    return [Claim(text, _verdict(holds), holds, {d: "0.3552 against 1.31" for d in holds}) for text, holds in texts]


def _verdict(holds):
    return f"holds on {sum(holds.values())} of {len(holds)}" if holds else "not run"


def graph(dataset, nodes=60, edges=100):
    """A random graph in which nodes of high number have no edge, with a few large weights."""
    rng = np.random.default_rng(DATASETS.index(dataset))
    connected = nodes - 8
    pairs = {tuple(sorted(rng.choice(connected, 2, replace=False).tolist())) for _ in range(edges)}
    w = rng.standard_normal(nodes) * rng.uniform(0, 1, nodes) ** 3
    names = [f"{dataset} {k}" for k in range(nodes)]
    return LearntGraph(dataset, "ada-diag", names, [list(pair) for pair in sorted(pairs)], w.tolist())


def showcase():
    """A demo that was not run: planted weights, two data sets, an image and a graph."""
    from adasadmm.paper.report.showcase import Line, Recovery, Showcase, WeightMap

    epoch = [0.5, 1.0, 1.5, 2.0]
    names = ("SADMM, 1/(gamma t)", "Ada-SADMM, diagonal", "Ada-SADMM, full")
    lines = [
        Line(dataset, name, 0.3, 0.1 / (k + 1), 0.1, 0.01, epoch, [1.0 / (k + t) for t in epoch])
        for dataset in ("digits", "breast_cancer")
        for k, name in enumerate(names)
    ]
    pixels = [f"pixel {k}" for k in range(4)]
    image = WeightMap(
        "digits", "3 against 8", pixels, [[0, 1]], (2, 2), [[1, -1, 2, 0], [1, 1, 2, 0]], [4, 3], [0.1, 0.1]
    )
    graph = image._replace(dataset="breast_cancer", title="Breast cancer", shape=None)
    titles = {"digits": ("Handwritten digits", "a grid"), "breast_cancer": ("Breast cancer", "learnt")}
    weights = {"L1": [0.9, 0.0, 0.0, 0.4], "ridge": [0.9, 0.1, -0.2, 0.8], "grid": [1.0, 0.0, 0.0, 1.0]}
    recovery = Recovery((2, 2), [1.0, 0.0, 0.0, 1.0], weights, {"L1": 0.73, "ridge": 0.72, "grid": 0.84})
    return Showcase(titles, recovery, lines, [image, graph], {"command": "adasadmm demo"})
