"""The runs whose bits are recorded: expressions, each of which is also the name of its case."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gzip
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dask.array
import dask.distributed
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp
from bits_facts import flat
from sklearn.base import is_classifier
from sklearn.datasets import dump_svmlight_file

import adasadmm as ad
from adasadmm import graphs, sources, terms

# --- the cases, one on a line, or several with semicolons between them -----------------------------------------------

CASES = """
run(AdaSADMM()); run(AdaSADMM(eta=0.5, a=0.1)); run(AdaSADMM(w_step="exact")); run(AdaSADMM(average="schedule-free"))
run(AdaSADMM("full")); run(AdaSADMM("full", eta=0.5, w_step="exact")); run(AdaSADMM(LAG)); run(AdaSADMM(average="last"))
run(AdaSADMM(LAG, w_step="exact", batch_size=16)); run(AdaSADMM(LAG, eta=0.5)); run(AdaSADMM("identity"))
run(AdaSADMM("identity", eta=0.1, w_step="exact")); run(AdaSADMM(average="step-weighted"))
run(AdaSADMM(eta=stepsizes.InverseSqrt(0.5), average="auto", batch_size=16)); run(AdaSADMM(eta=0.5, w_step="exact"))
run(AdaSADMM(average="auto", beta="auto", batch_size=16)); run(AdaSADMM(average="polynomial", batch_size="auto"))
run(SADMM()); run(SADMM(eta="auto", beta="auto")); run(SADMM(eta=0.5, w_step="linearized", batch_size=16))
run(SADMM(eta=stepsizes.InverseTime(0.2), beta=2.0)); run(OADMM(1.0)); run(ADMM())
run(ADMM(beta=1.0, relax=1.0), tol=0.0); run(ALM()); run(SPDHG()); run(SPDHG(beta=1.0, batch_size=16))
run(SVRGADMM(), loss=SquaredHinge()); run(ASVRGADMM(), loss=SquaredHinge()); run(ASVRGADMM())
run(ASVRGADMM(beta=1.0, batch_size=16), loss=Logistic(), tol=1e-6)

run(AdaSADMM(), w_set=BOX); run(AdaSADMM(w_step="exact"), w_set=BOX); run(AdaSADMM(), w_set=L2Ball(0.5))
run(ADMM(), w_set=Simplex(1.0)); run(ALM(), w_set=NonNegative()); run(SPDHG(), w_set=BOX)
run(SPDHG(), w_set=L2Ball(0.5)); run(AdaSADMM(), w_set=L1(1.0)); run(AdaSADMM(), B=GENERAL); run(ADMM(), B=GENERAL)
run(ALM(), B=GENERAL); run(ADMM(), B=GENERAL, w_set=BOX); run(AdaSADMM(), B=NARROW); run(ADMM(), B=NARROW)
run(SPDHG(), B=NARROW); run(AdaSADMM(), penalty=GROUPS); run(AdaSADMM(), penalty=STACK); run(SPDHG(), penalty=GROUPS)

run(AdaSADMM(), rows=SPARSE); run(ADMM(), rows=SPARSE); run(ALM(), rows=SPARSE); run(SPDHG(), rows=SPARSE)
run(ASVRGADMM(), rows=SPARSE, loss=SquaredHinge()); run(AdaSADMM(), sample_weight=WEIGHTS)
run(ADMM(), sample_weight=WEIGHTS); run(ALM(), sample_weight=WEIGHTS); run(SPDHG(), sample_weight=WEIGHTS)
run(OADMM(1.0), sample_weight=WEIGHTS); run(ADMM(), gamma=RAMP[:8], b=RAMP); run(AdaSADMM(), gamma=RAMP[:8], b=RAMP)
run(ALM(), gamma=RAMP[:8], b=RAMP); run(AdaSADMM(), rows=SINGLE, gamma=0.0); run(AdaSADMM(w_step="exact"), **FILLED)
run(ALM(), **FILLED); run(ADMM(), **FILLED); run(ALM(), **WIDE, epochs=5); run(AdaSADMM(), **WIDE)
run(AdaSADMM(average="auto", batch_size="auto"), **TALL, epochs=0.5); run(ALM(), **TALL); run(ADMM(), **TALL, epochs=10)

run(AdaSADMM(), order="replace", seed=3, epochs=1.6); run(AdaSADMM(), order="given", trace_every=0.1)
run(AdaSADMM(), samples=SAMPLES); run(AdaSADMM(batch_size=16), samples=SAMPLES)
run(AdaSADMM(), epochs=5, trace_every=2); run(AdaSADMM(LAG), start=run(AdaSADMM(LAG), epochs=0.7))
run(ADMM(), start=run(AdaSADMM()), tol=0.0); run(SADMM(), start=run(ADMM()))
run(ADMM(), start=run(ADMM(), epochs=5), tol=0.0); run(ALM(), start=run(ADMM(), epochs=5))
run(SPDHG(), start=run(SPDHG(), epochs=3)); run(AdaSADMM(), start=run(AdaSADMM(), epochs=0.7), order="given")
run(AdaSADMM(average="auto"), epochs=40, tol=0.1, trace_every=1); run(ADMM(), epochs=500, tol=1e-6)
run(ALM(), tol=1e-11); run(ALM(), polish=True); run(AdaSADMM(), polish=True)
run(ADMM(), loss=Squared(), penalty=L1(0.2), polish=True, epochs=300); run(AdaSADMM("identity", eta=1.0), **STEEP)
run(ADMM(), **STEEP); run(AdaSADMM("full", eta=0.5, w_step="exact"), rows=1e200 * X)
run(AdaSADMM(), callback=stop_at(3)); run(ADMM(), callback=stop_at(2), tol=0.0)
run(ALM(), callback=stop_at(1, OSError("no"))); run(AdaSADMM(), progress=True); run(ADMM(), progress=True, tol=0.0)
run(AdaSADMM(), epochs=0); snapshots(AdaSADMM(LAG)); run("ada"); AdaSADMM(eta=-1.0); run(AdaSADMM(), order="random")
run(ADMM(), samples=SAMPLES); run(SADMM(), gamma=0.0); run(AdaSADMM(), y=NUMBERS); run(AdaSADMM(), A=np.eye(9))
run(AdaSADMM(), penalty=Box(0.0, np.ones(3))); run(OADMM(1.0), b=1.0)
{"text": repr([AdaSADMM(), SADMM(), ADMM(), ALM(), SPDHG(), Full(), Hinge(), STACK, problem(), run(ALM()).trace])}

bounds(AdaSADMM(eta=0.5)); bounds(AdaSADMM("full", eta=0.5, w_step="exact")); bounds(AdaSADMM(LAG, eta=0.5))
bounds(SADMM()); bounds(AdaSADMM()); bounds(AdaSADMM(eta=0.5, w_step="exact", batch_size=16))
bounds(AdaSADMM(eta=0.5), w_set=BOX); bounds(AdaSADMM(eta=0.5), start=run(AdaSADMM()))
bounds(AdaSADMM(w_step="exact"), w_set=BOX); bounds(OADMM(1.0))
[graphs.glasso(X), graphs.glasso(X, edges=5), graphs.glasso(SPARSE, penalty=0.1)]; graphs.glasso(SOURCES["arrays"]())
[graphs.knn(X), graphs.knn(SPARSE, 2, sample_weight=WEIGHTS)]; graphs.as_graph([[0, 9]], 8); graphs.as_graph("chian", 8)
[graphs.as_graph(graph, 8) for graph in ("chain", ("grid", 2, 2, 2), (EDGES, EDGES[:, 1]), [[0, 1], [1, 0]])]
[graphs.trend(8), graphs.difference(8, 3), graphs.overlapping_groups([[0, 1], [1, 2]], 4)]
datasets.load("breast_cancer")[:2]

fit(graph="glasso"); fit(graph="knn", tol=1e-6, alpha=0.05); fit(graph=("grid", 2, 4)); fit(graph=EDGES, alpha=0.01)
fit(graph=graphs.as_graph(EDGES, 8).adjacency()); fit(graph="edges.csv"); fit(graph=lambda rows: EDGES[:5])
fit(graph="chian"); fit(solver="auto"); fit(solver="alm"); fit(solver="admm", max_iter=7)
fit(solver="ada-diag", max_iter=3); fit(solver="ada-full", max_iter=3); fit(solver="sadmm", max_iter=3)
fit(solver=SPDHG(batch_size=4), max_iter=20); fit(y=CLASSES, alpha=0.01, n_jobs=2)
fit(y=CLASSES, solver="ada-diag", max_iter=3, class_weight="balanced")
fit(loss="squared_hinge", weight=WEIGHTS, fit_intercept=False); fit(loss="logistic", alpha=0.02); fit(alpha=-1.0)
fit(loss="logistic", y=CLASSES, class_weight={0: 2.0, 1: 1.0, 2: 3.0}); fit(rows=SPARSE); fit(max_iter=1, tol=1e-9)
fit(solver="ada-diag", eta=0.5, beta=2.0, a=0.5, shuffle=False, average="last", max_iter=2, verbose=1)
fit(y=np.ones(240)); fit("Regressor", rows=1e3 * X, solver=AdaSADMM("identity", eta=1.0), max_iter=2)
fit(rows=FRAME, graph=[("x0", "x1"), ("x2", "x3")])
fit(rows=WIDE["rows"], y=WORDS[:60], loss="squared_hinge", tol=1e-2); fit("Regressor", loss="squared")
fit("Regressor", loss="huber"); fit("Regressor", loss="quantile", alpha=0.1)
fit("Regressor", loss="epsilon_insensitive"); fit("Regressor", loss="poisson", y=COUNTS, alpha=0.01)
fit(StructuredClassifier, A="trend"); fit(StructuredClassifier, A=GROUPED, penalty="group", alpha=0.1)
fit(StructuredRegressor, A="chain", penalty=ElasticNet(0.1, 0.1)); fit(StructuredRegressor, A="chain", penalty="group")
fit("ClassifierCV", graph="glasso", alphas=4, cv=3)
fit("ClassifierCV", y=CLASSES, n_jobs=2, rule="1se", alphas=3, cv=3)
fit("RegressorCV", l2s=[0.01, 0.1], weight=WEIGHTS, alphas=3, cv=3)
twice(fit(warm_start=True, solver="admm", max_iter=7)); twice(fit(warm_start=True, solver="ada-diag", max_iter=2))
blocks(model(), SIGNS, classes=[-1.0, 1.0]); blocks(model(solver="ada-full"), CLASSES, classes=[0, 1, 2])
blocks(model("Regressor"), NUMBERS); blocks(fit(y=SIGNS), SIGNS, classes=[-1.0, 1.0])
blocks(model(solver="alm"), SIGNS, classes=[-1.0, 1.0]); saved(fit(graph="glasso", tol=1e-6))
saved(fit(y=CLASSES, solver="ada-diag", max_iter=2)); saved(fit("RegressorCV", alphas=3))
saved(fit(StructuredRegressor, A="chain", penalty=ElasticNet(0.1, 0.1))); saved(fit(graph=lambda rows: EDGES))
saved(model()); blocks(saved(blocks(model(), SIGNS, classes=[-1.0, 1.0])[0]), SIGNS)

run(AdaSADMM(), rows=SOURCES["csv"](), progress=True); run(ALM(), rows=SOURCES["csv"]()); sources.open("none.csv")
run(AdaSADMM(LAG), rows=SOURCES["svmlight"]())
fit(rows=SOURCES["parquet"](), graph="glasso", solver="ada-diag", max_iter=2); sources.csv("bad.csv").summary
sources.csv("bad.csv", on_bad_row="skip").summary; fit(rows=sources.csv("bad.csv"))
fit(rows=sources.csv("bad.csv", on_bad_row="skip")); fit(rows=SOURCES["csv"](), max_iter=2, tol=1e-9)
run(AdaSADMM(), rows=spread()); run(AdaSADMM(LAG, average="auto"), rows=spread()); run(ADMM(), rows=spread(), tol=0.0)
run(AdaSADMM(), rows=spread(SOURCES["csv"](), lanes=1)); run(ALM(), rows=spread())
spread_fit(solver="ada-diag", max_iter=2); spread_fit(graph="glasso", max_iter=10)
fit(rows=chunked(X)[0], y=chunked(SIGNS)[0], solver="ada-diag", max_iter=2); resumed(AdaSADMM()); resumed(AdaSADMM(LAG))
resumed(SADMM()); resumed(OADMM(1.0)); resumed(ADMM(), tol=0.0); resumed(ALM(), tol=0.0, epochs=12)
resumed(SPDHG(), tol=0.0); resumed(ASVRGADMM(), loss=SquaredHinge(), tol=0.0)
resumed(AdaSADMM(), SOURCES["svmlight"], epochs=4); resumed(ADMM(), SOURCES["svmlight"], tol=0.0)
resumed(AdaSADMM(), spread, epochs=4); kept(AdaSADMM(), AdaSADMM(eta=0.5)); kept(AdaSADMM(), AdaSADMM())
kept_fit(solver="ada-diag", max_iter=2)

of_terms(ordered("u"), nominal("kind"), linear(["x0", "hole"], missing="indicator")); of_terms(ordered("x0", bins=7))
of_terms(ordered("x1", bins=5, binning="width", monotone="increasing"), ordered("u", cyclic=True, base=2, name="v"))
of_terms(ordered("hole", bins=[-1, 0, 1], missing="level", penalty="l2"), nominal("u", penalty="l2", strength=2.0))
of_terms(ordered("kind", levels=["c", "b", "a"]), group(["x0", "x1", "x2"]), linear("x3", penalty="none"))
of_terms(nominal("word", min_count=30, missing="level"), nominal("u"), interaction("u", "word", strength=0.5))
of_terms(nominal("word", missing="ignore", unknown="base"), linear("flag", weights=[("flag", None, 2.0)]))
of_terms(spatial("u", edges=[(0, 1), (1, 2), (2, 6), (5, 4)]), linear("x1", penalty="l2")); of_terms(nominal("kind"))
of_terms(spatial("u", edges="places.csv", missing="level", unknown="ignore"), linear("hole", missing="ignore"))
of_terms(interaction("u", "kind"), spatial("u", coordinates=("x0", "x1"), neighbours=2), ordered("kind"))
of_terms(spatial("u", coordinates=("x0", "x1"), unknown="nearest"), ordered("x2", bins=3), strange=9)
of_terms(ordered("u", unknown="nearest"), strange=9); of_terms(nominal("u", unknown="ignore"), strange=9)
of_terms(nominal("u"), strange=9); of_terms(ordered("u"), weights=None, fit_intercept=False, refit="clusters")
of_terms(ordered("x0", bins=9), nominal("kind"), group(["x1", "x2"]), weights="adaptive", l2=0.01)
of_terms(ordered("u", weights=[(k, k + 1, k + 1.0) for k in range(5)])); of_terms(ordered("u", weights=[(0, 3, 1.0)]))
of_terms(ordered("u"), linear(["x0", "x1"]), "Classifier", y=CLASSES); of_terms(nominal("kind"), "Classifier", y=WORDS)
of_terms(ordered("u"), nominal("kind"), "RegressorCV", alphas=4, cv=3, rule="1se")
of_terms(ordered("u"), linear("x0"), "ClassifierCV", y=WORDS, alphas=4, selection="bic", weights="adaptive")
of_terms(ordered("x0", bins=7), nominal("word", missing="level"), linear("x1"), rows="parquet", y=COUNTS)
of_terms(ordered("x0", bins=7), nominal("word", missing="level"), linear("x1"), loss="poisson", y=COUNTS)
of_terms(ordered("u"), interaction("u", "kind"), nominal("kind"), rows="csv", solver="alm"); of_terms(linear("x0"))
of_terms(ordered("x0", bins=7), nominal("kind"), rows="csv", solver="ada-diag", max_iter=2, random_state=0)
of_terms(ordered("none")); of_terms(ordered("word")); of_terms(linear("kind")); of_terms(nominal("kind", base="z"))
of_terms(nominal("word", unknown="nearest")); of_terms(spatial("u", edges="none.csv")); of_terms(interaction("u", "x0"))
of_terms(spatial("kind", edges=[(1, 2)])); of_terms(ordered("kind", levels=["a", "b"])); of_terms(linear("hole"))
of_terms(spatial("u", coordinates=("hole", "kind"))); of_terms(nominal("u"), nominal("u")); of_terms("u"); of_terms()
of_terms(ordered("u", bins=3.5)); of_terms(group("x0", name="g"), ordered("u", name="u2"), weight=WEIGHTS)

commands(FIT, PREDICT); commands(FIT + "--json --scale --valid ../rows.csv")
commands(FIT + "--json --epochs 3 --loss logistic"); commands("graph ../rows.csv --edges 6 --out e.csv")
commands("fit ../rows.parquet --target x0 --drop label,weight --loss squared --solver admm --graph knn --model m.skops")
commands("fit - --n-features 8 --graph chain --model m.skops", "predict m.skops -")
commands(FIT + "--solver ada-diag --checkpoint c", FIT + "--solver ada-diag --checkpoint c --resume")
commands("fit ../none.csv --model m", "fit ../bad.csv --model m", "fit x --alpha -1", "nothing", "", "--version")
commands("info", "completion bash", "--help", "demo --help", "fit --help", "predict --help", "graph --help")
commands("reproduce --help", "info --help", "completion --help")
"""
OF_LOSSES = "SquaredHinge Logistic Squared Huber EpsilonInsensitive Quantile Poisson Cauchy"
OF_PENALTIES = "L1(0.1,RAMP) ElasticNet(0.2,0.3) GROUPS L2Squared(0.4) Box(-0.1,RAMP) L2Ball(0.5) STACK"
OF_SOURCES = "arrays sparse memmap csv gz svmlight parquet arrow list generator"
OF_SIGNALS = "CHAIN GRID STAR"
EACH = {  # a case for each word
    "run(AdaSADMM(), loss={}(), epochs=1)": OF_LOSSES,
    "run(ALM(), loss={}())": OF_LOSSES,
    "run(ALM(), penalty={})": OF_PENALTIES,
    "run(ADMM(), loss=Squared(), penalty={})": OF_PENALTIES + " Zero() NonNegative() Simplex(0.5)",
    'run(AdaSADMM(average="auto"), rows=SOURCES["{}"]())': OF_SOURCES,
    'run(ADMM(), rows=SOURCES["{}"](), epochs=20, tol=0.0)': OF_SOURCES,
    'fit(rows=SOURCES["{}"](), max_iter=3, tol=1.0)': OF_SOURCES,
    'fit(rows=SOURCES["{}"](), solver="admm", max_iter=20, class_weight="balanced")': OF_SOURCES,
    "signals({}, lasso=0.0)": OF_SIGNALS,
    "signals({}, lasso=2.0)": OF_SIGNALS,
    "signals({}, sample_weight=(WEIGHTS > 1)[:120])": OF_SIGNALS,
    "signals({}, gamma=0.01)": OF_SIGNALS,
    '[SOURCES["{}"]().summary, {{"text": repr(SOURCES["{}"]())}}]': OF_SOURCES,
}

# --- what the cases speak of -----------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.normal([0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], size=(240, 8))
X[:, 1] += X[:, 0]
NUMBERS = X[:, :3].sum(axis=1) - X[:, 3:5].sum(axis=1) + 0.5 * RNG.normal(size=240)
SIGNS, COUNTS, CLASSES = np.where(NUMBERS > 0, 1.0, -1.0), np.floor(np.abs(NUMBERS)), np.digitize(NUMBERS, [-1.5, 1.5])
WORDS, WEIGHTS = np.where(SIGNS > 0, "yes", "no"), RNG.integers(1, 4, size=240).astype(float)
SAMPLES = RNG.integers(240, size=333)
SPARSE, SINGLE = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0)), np.asfortranarray(X, dtype=np.float32)
NAMES = [f"x{j}" for j in range(8)]
FRAME = pd.DataFrame(X, columns=NAMES)
DRAWN = np.random.default_rng(5)  # factors, a flag, and a column with holes
TABLE = FRAME.assign(
    u=DRAWN.integers(0, 6, 240),
    word=np.where(
        DRAWN.random(240) < 0.1, None, DRAWN.choice(["one", "two", "three", "four"], 240, p=[0.5, 0.3, 0.1, 0.1])
    ),
    kind=pd.Categorical(DRAWN.choice(list("bca"), 240), ["b", "c", "a", "d"]),
    flag=DRAWN.random(240) < 0.3,
    hole=np.where(DRAWN.random(240) < 0.2, np.nan, X[:, 4]),
)
CHAIN, GRID, STAR = graphs.chain(120), graphs.grid(8, 15), np.array([[0, j] for j in range(1, 120)])
EDGES = np.concatenate([graphs.chain(8), [[0, 2], [1, 5], [3, 7]]])
RAMP = np.linspace(0.0, 0.5, len(EDGES))
GENERAL = RNG.normal(size=(len(EDGES), len(EDGES)))
NARROW = 2.0 * np.linalg.qr(GENERAL)[0][:, :7]
LAG, BOX, GROUPS = ad.Full(refresh=0.05), ad.Box(-0.3, 0.3), ad.GroupL2(0.1, [[2, 0], [1, 5, 6]], [0.5, 2.0])
GROUPED = graphs.overlapping_groups([[0, 1, 2], [2, 3], [5, 6]], 8)
STACK = ad.Stack(((ad.GroupL2(0.1, [[1], [0]]), slice(1, 3)), (BOX, [4, 0]), (ad.L1(0.2), [3, 5, 6])))
STEEP: dict[str, Any] = {"rows": 1e3 * X, "loss": ad.Squared(), "penalty": ad.L1(0.0), "gamma": 0.0}
# A fills in when it is eliminated; more features than Newton's matrix is made for; rows enough for threads and samples.
FILLED = {"rows": RNG.normal(size=(60, 240)), "y": SIGNS[:60], "A": RNG.normal(size=(9, 240)), "epochs": 2}
WIDE = {"rows": sp.csr_array(RNG.normal(size=(60, 2100)) * (RNG.random(size=(60, 2100)) < 0.05)), "y": SIGNS[:60]}
WIDE["A"] = graphs.difference(2100)
TALL = {"rows": RNG.normal(size=(66_000, 4)), "A": graphs.difference(4)}
TALL["y"] = np.where(TALL["rows"][:, 0] > 0.3 * TALL["rows"][:, 1], 1.0, -1.0)
SOURCES: dict[str, Callable[[], Any]] = {
    "arrays": lambda: sources.arrays(X, SIGNS, WEIGHTS, block_rows=100),
    "sparse": lambda: sources.arrays(SPARSE, SIGNS, block_rows=100, prefetch=False),
    "memmap": lambda: sources.memmap("X.npy", "y.npy", block_rows=100),
    "csv": lambda: sources.csv("signs.csv", block_bytes=2**13),
    "gz": lambda: sources.open("signs.csv.gz", columns=NAMES, target="label"),
    "svmlight": lambda: sources.svmlight("rows.svm", block_bytes=2**12),
    "parquet": lambda: sources.parquet("rows.parquet", weight="weight", block_rows=50),
    "arrow": lambda: sources.arrow("rows.arrow", columns=NAMES),
    "list": lambda: sources.iterator(list(pieces())),
    "generator": lambda: sources.iterator(pieces, n_features=8),
}
FIT = "fit ../rows.csv --graph ../edges.csv --seed 3 --model m.skops "
PREDICT = "predict m.skops ../rows.csv --out p.csv"


class Cauchy(NamedTuple):
    """A loss of a user's own."""

    scale: float = 1.0


@ad.losses.value.register
def cauchy_value(loss: Cauchy, z, y):
    return 0.5 * loss.scale**2 * np.log1p(((z - y) / loss.scale) ** 2)


@ad.losses.slope.register
def cauchy_slope(loss: Cauchy, z, y):
    return (z - y) / (1.0 + ((z - y) / loss.scale) ** 2)


def pieces() -> Iterator[tuple]:
    return ((X[k : k + 80], SIGNS[k : k + 80]) for k in range(0, 240, 80))


def write_files() -> None:
    """The same rows in files of every kind, in the current folder."""
    lines = [",".join([*map(repr, x.tolist()), y]) for x, y in zip(X, WORDS, strict=True)]
    text = "\n".join([",".join([*NAMES, "label"]), *lines, ""])
    signs = text.replace("yes", "1").replace("no", "-1")
    texts = {"rows.csv": text, "signs.csv": signs, "bad.csv": signs.replace("\n0.", "\noh0.", 3)}
    texts["edges.csv"] = "\n".join(["from,to", *(f"{i},{j}" for i, j in EDGES), ""])
    texts["places.csv"] = "one,other\n0,1\n1, 2\n2,7\n3,4\n4,5\n"
    for name, content in texts.items():
        Path(name).write_text(content)
    Path("signs.csv.gz").write_bytes(gzip.compress(signs.encode()))
    dump_svmlight_file(SPARSE, SIGNS, "rows.svm", zero_based=False)
    table = pyarrow.table({name: X[:, j] for j, name in enumerate(NAMES)} | {"label": SIGNS, "weight": WEIGHTS})
    pyarrow.parquet.write_table(table, "rows.parquet", row_group_size=90)
    pyarrow.feather.write_feather(table, "rows.arrow", chunksize=90)
    np.save("X.npy", X)
    np.save("y.npy", SIGNS)


def problem(rows: Any = X, loss: Any = None, y: Any = None, **parts: Any) -> ad.Problem:
    loss = ad.Hinge() if loss is None else loss
    if y is None and not isinstance(rows, sources.Source):
        signs = type(loss).__name__ in ("Hinge", "SquaredHinge", "Logistic")
        y = SIGNS if signs else COUNTS if isinstance(loss, ad.Poisson) else NUMBERS
    usual = {"penalty": ad.L1(0.01), "A": graphs.incidence(EDGES), "gamma": 0.01}
    return ad.Problem(rows, y, loss=loss, **{**usual, **parts})


def run(solver: Any, **settings: Any) -> Any:
    """One run, by the settings of a problem and those of `solve`; solvers that would take long take 30 epochs."""
    of_problem = ("rows", "y", "loss", "penalty", "A", "B", "b", "gamma", "w_set", "sample_weight")
    parts = {name: settings.pop(name) for name in of_problem if name in settings}
    most = {} if isinstance(solver, (ad.AdaSADMM, ad.SADMM, ad.OADMM)) else {"epochs": 30}
    return ad.solve(problem(**parts), solver, **{**most, **settings})


def signals(edges: np.ndarray, lasso: float = 0.0, **parts: Any) -> Any:
    """Single solutions and paths of a loss for each coefficient, with several losses."""
    A: Any = graphs.incidence(edges, d=120)
    A = sp.vstack([A, lasso * sp.eye_array(120)]) if lasso else A
    found, losses = {}, (ad.Squared(), ad.Logistic(), ad.Poisson(), ad.Hinge(), ad.Quantile(0.3), ad.Huber(0.5))
    for loss in losses[:1] if lasso else losses:
        name = type(loss).__name__
        y = {"Logistic": SIGNS, "Hinge": SIGNS, "Poisson": COUNTS}.get(name, NUMBERS)[:120]
        problem = ad.Problem(sp.eye_array(120), y, loss=loss, **{"penalty": ad.L1(1.0), "A": A, **parts})
        found[name] = {"path": ad.path(problem, [0.02, 0.005])}
        found[name] |= {"alone": ad.path(problem, [0.005], tol=1e-8)}
    return found


def stop_at(count: int, error: BaseException | None = None) -> Callable:
    """A callback that stops a run, or raises, at so many points of the trace."""
    looks = itertools.count(1)

    def stop(snapshot: Any) -> bool:
        if next(looks) < count:
            return False
        if error is not None:
            raise error
        return True

    return stop


def snapshots(solver: Any) -> Any:
    seen: list[Any] = []
    return [run(solver, callback=seen.append, trace_every=0.3), seen]


def bounds(solver: Any, start: Any = None, **parts: Any) -> Any:
    w = np.clip(run(ad.ALM(), tol=1e-10).w, -0.3, 0.3)
    return ad.theory.bounds(problem(**parts), solver, SAMPLES, w, graphs.incidence(EDGES) @ w, 0.5, start=start)


def model(kind: Any = "Classifier", **settings: Any) -> Any:
    if isinstance(kind, str):
        kind, settings = getattr(ad, f"GraphGuided{kind}"), {"graph": "chain", **settings}
    return kind(**{"random_state": 0, **settings})


def fit(kind: Any = "Classifier", *, rows: Any = X, y: Any = None, weight: Any = None, **settings: Any) -> Any:
    one = model(kind, **settings)
    if y is None and not isinstance(rows, sources.Source):
        y = WORDS if is_classifier(one) else NUMBERS
    return one.fit(rows, y, weight)


def of_terms(
    *listed: Any, rows: str = "", y: Any = NUMBERS, weight: Any = None, strange: int = 0, **settings: Any
) -> dict[str, Any]:
    """A model of terms: its structure, coefficients, texts and predictions, also of a level that no row has."""
    kind = listed[-1] if listed and str(listed[-1]).startswith(("Reg", "Cl")) else "Regressor"
    own = [term for term in listed if term is not kind]
    settings = ({} if "CV" in kind else {"alpha": 0.02}) | settings
    one, given = getattr(ad, f"Terms{kind}")(own, **settings), (TABLE, y, weight)
    if rows:
        whole = TABLE.assign(y=y)
        whole.to_csv("terms.csv", index=False) if rows == "csv" else whole.to_parquet(
            "terms.parquet", row_group_size=90
        )
        given = (sources.tables(f"terms.{rows}", target="y", block_rows=70),)
    one.fit(*given)
    new = TABLE.assign(u=TABLE["u"] + strange * (np.arange(240) == 7))
    found = {name: value for name, value in vars(one).items() if name.endswith("_")}
    found |= {"levels": one.levels_, "groups": one.groups_, "names": one.get_feature_names_out()}
    found |= {"table": {name: column.to_numpy() for name, column in nw.from_native(one.coef_table()).to_dict().items()}}
    return found | {"predict": one.predict(new), "text summary": one.summary(), "text repr": repr(one)}


def twice(one: Any) -> Any:
    return [one.coef_.copy(), one.set_params(alpha=0.001).fit(X, WORDS)]


def blocks(one: Any, y: np.ndarray, **known: Any) -> list[Any]:
    return [one, *(np.copy(one.partial_fit(X[k::3], y[k::3], **known).coef_) for k in range(3))]


def saved(one: Any) -> Any:
    ad.save_model(one, path := Path(folder(), "model.skops"))
    return ad.load_model(path)


def folder() -> Path:
    return Path(tempfile.mkdtemp(dir="."))


@functools.cache
def client() -> Any:
    """A cluster inside this process."""
    here = {"dashboard_address": "127.0.0.1:0"}
    settings = {"dashboard_address": None, "worker_dashboard_address": "127.0.0.1:0", "scheduler_kwargs": here}
    cluster = dask.distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **settings)
    found = dask.distributed.Client(cluster, set_as_default=False)
    atexit.register(cluster.close)
    atexit.register(found.close)
    return found


def chunked(*arrays: np.ndarray) -> list[Any]:
    return [dask.array.from_array(array, chunks=(60, *array.shape[1:])) for array in arrays]


def spread(rows: Any = None, lanes: int = 2) -> Any:
    rows = chunked(X, SIGNS, WEIGHTS) if rows is None else [rows]
    return ad.distributed.spread(*rows, client=client(), lanes=lanes, rounds=4)


def spread_fit(**settings: Any) -> Any:
    return ad.distributed.fit(model(**settings), *chunked(X, CLASSES), client=client(), lanes=2)


def resumed(solver: Any, rows: Callable[[], Any] = lambda: X, **settings: Any) -> Any:
    """Interrupted and resumed, is it the same run?"""
    keeping = {"checkpoint": ad.Checkpoint(folder()), "resume": True}
    with contextlib.suppress(KeyboardInterrupt):
        run(solver, rows=rows(), callback=stop_at(2, KeyboardInterrupt()), **keeping, **settings)
    files = sorted(path.name for path in keeping["checkpoint"].path.iterdir())
    result, whole = run(solver, rows=rows(), **keeping, **settings), run(solver, rows=rows(), **settings)
    return {"result": result, "same": dict(flat(result)) == dict(flat(whole)), "files": files}


def kept(*solvers: Any) -> Any:
    keeping = {"checkpoint": ad.Checkpoint(folder()), "resume": True}
    return [run(solver, **keeping) for solver in solvers]


def kept_fit(**settings: Any) -> Any:
    keeping = {"checkpoint": ad.Checkpoint(folder()), "resume": True}
    return [model(**settings).fit(X, CLASSES, **keeping) for _ in range(2)]


def commands(*lines: str) -> dict[str, Any]:
    """Commands one after another in a folder of their own: exit codes, what they said, what they wrote."""
    known = {"PYTHONPATH": str(Path(ad.__file__).parents[1]), "COLUMNS": "100", "NO_COLOR": "1"}
    found, here, standard_input = {}, folder(), Path("rows.svm").read_bytes()
    for line in lines:
        command = [sys.executable, "-m", "adasadmm", *line.split()]
        done = subprocess.run(command, cwd=here, env=os.environ | known, capture_output=True, input=standard_input)
        out, err = done.stdout.decode(), done.stderr.decode()
        told = {"figures": json.loads(out)} if "--json" in line else {"text out": out}
        found[line] = {"exit code": done.returncode, **told, "text err": err}
    return found | {path.name: np.frombuffer(path.read_bytes(), np.uint8) for path in sorted(here.glob("*.csv"))}


class Public(dict):
    """The public names of the package and the kinds of terms, for the cases."""

    def __missing__(self, name: str) -> Any:
        if name not in ad.__all__ + terms.__all__:
            raise KeyError(name)
        return getattr(ad if name in ad.__all__ else terms, name)


def table() -> dict[str, Callable[[], Any]]:
    """The cases by name."""
    names = [name.strip() for line in CASES.splitlines() for name in line.split("; ") if name.strip()]
    names += [form.format(word, word) for form, words in EACH.items() for word in words.split()]
    return {name: functools.partial(eval, compile(name, __file__, "eval"), globals(), Public()) for name in names}
