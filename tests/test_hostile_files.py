"""Every array and every number of saved models, checkpoints and row caches is forged; compiled code must never notice.

A forgery keeps all checksums right, as somebody who knows the formats would. It is refused with an error of our own, or
it is harmless: the model predicts and continues, and its coefficients are finite. The forgeries are tried in another
process, in which compiled code checks its indices: ``python tests/test_hostile_files.py 1 stream`` tries all of one
kind in the open.
"""

import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adasadmm import (
    ADMM,
    ALM,
    IPM,
    L1,
    OADMM,
    RDASADMM,
    SPDHG,
    AdaSADMM,
    Box,
    Checkpoint,
    Full,
    GraphGuidedClassifier,
    GraphGuidedClassifierCV,
    GraphGuidedRegressor,
    GroupL2,
    Hinge,
    NetworkLassoClassifier,
    NetworkLassoRegressor,
    Problem,
    Squared,
    StructuredClassifier,
    StructuredRegressor,
    StructuredRegressorCV,
    TermsClassifier,
    TermsRegressor,
    TermsRegressorCV,
    TotalVariationDenoiser,
    TrendFilter,
    TrendFilterCV,
    checkpoints,
    graphs,
    load_model,
    save_model,
    solve,
    sources,
    terms,
)
from adasadmm.sources import _store

pytestmark = pytest.mark.compiled

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 6))
TWO = np.where(X[:, 0] + X[:, 1] > 0.0, 1, -1)
THREE = np.digitize(X[:, 0], [-0.4, 0.4])
NUMBERS = X[:, 0] + X[:, 1]
NODES = np.arange(24) % 6
TABLE = pd.DataFrame({"age": np.arange(24) % 5, "town": list("abcd") * 6, "size": X[:, 0]})
TERMS = [terms.ordered("age"), terms.nominal("town"), terms.linear("size"), terms.interaction("age", "town")]
GROUPS = GroupL2(0.1, [[0, 1, 2], [3, 4]])


# --- forgeries -------------------------------------------------------------------------------------------------------


def other_arrays(array):
    """An array with other shapes, types and values."""
    yield array[:1] if array.ndim else array[None]
    yield np.full_like(array, np.nan) if array.dtype.kind == "f" else array.astype(float)
    yield array.astype(np.float32) if array.dtype.kind == "f" else np.full(array.shape, -1).astype(array.dtype)
    yield np.concatenate([array, array]) if array.ndim else np.repeat(array, 2)
    yield (
        np.full_like(array, np.inf) if array.dtype.kind == "f" else np.full(array.shape, 2**31 - 1).astype(array.dtype)
    )
    yield array[:0] if array.ndim else np.empty(0, array.dtype)
    yield array.astype(array.dtype.newbyteorder())
    yield np.asarray(-1 - abs(array)) if array.dtype.kind in "fi" else ~array
    yield array[None] if array.ndim < 2 else np.ascontiguousarray(array.T)
    yield np.zeros_like(array)
    yield np.asfortranarray(array) if array.ndim > 1 else array.astype(bool)
    yield np.full_like(array, 1e308) if array.dtype.kind == "f" else array[::-1] if array.ndim else array + 1
    yield np.full(array.shape, "text")


NUMBERS_INSTEAD = ("-1", "0", "NaN", "4611686018427387904", "1e308", "-Infinity", "null", '"text"', "true", "2", "1.5")


def packed(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def other_members(content):
    """A member of an archive with a forged array in place of each of its arrays."""
    if content.startswith(b"PK"):  # a sparse matrix
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        for name, inner in members.items():
            for other in other_members(inner):
                yield archived(members | {name: other})
        return
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if array.dtype.kind in "fiub":
        for other in other_arrays(array):
            if other.dtype != array.dtype or other.shape != array.shape or not np.array_equal(other, array):
                yield packed(other)


def archived(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def nodes_of(node, where=""):
    """The nodes of a skops schema that hold a number, a text or an array, by their place."""
    if isinstance(node, dict):
        if node.get("__loader__") == "JsonNode" or "file" in node:
            yield where, node
        for key, inner in node.items():
            if key != "key_types":
                yield from nodes_of(inner, where if key == "content" else f"{where}/{key}")
    elif isinstance(node, list):
        for key, inner in enumerate(node):
            yield from nodes_of(inner, f"{where}/{key}")


def forged_models(data):
    """Forgeries of a saved model, by the place that was changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema, done = json.loads(members["schema.json"]), set()
    for where, node in nodes_of(schema):
        file = node.get("file")
        if file is None and not node["content"].startswith('"'):
            genuine = dict(node)
            for number in NUMBERS_INSTEAD:
                node |= {"content": number, "__id__": -1}  # equal numbers may share an id, and then only one is read
                yield where, archived(members | {"schema.json": json.dumps(schema).encode()})
            node |= genuine
        elif file is not None and file not in done:
            done.add(file)
            for other in other_members(members[file]):
                yield where, archived(members | {file: other})


def forged_checkpoints(data):
    """Forgeries of a checkpoint, with the digest that belongs to them."""
    with zipfile.ZipFile(io.BytesIO(data.partition(b"\n")[2])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(np.load(io.BytesIO(members.pop("about.npy"))).tobytes())

    def signed(members, about):
        text = packed(np.frombuffer(about.encode(), np.uint8))
        body = archived(members | {"about.npy": text})
        return f"adasadmm checkpoint {checkpoints.FORMAT} {hashlib.sha256(body).hexdigest()}\n".encode() + body

    for name, content in members.items():
        for other in other_members(content):
            yield name, signed(members | {name: other}, json.dumps(about))
    for place, key in [(about, "done"), (about, "seconds"), *((about["numbers"], name) for name in about["numbers"])]:
        genuine = place[key]
        for number in NUMBERS_INSTEAD:
            place[key] = "#"
            yield key, signed(members, json.dumps(about).replace('"#"', number))
        place[key] = genuine


def forged_caches(data):
    """Forgeries of a row cache, with the checksums that belong to them."""
    at, length, _, end = _store.TRAILER.unpack(data[-_store.TRAILER.size :])
    index = json.loads(data[at : at + length])

    def signed(start, text):
        digest = hashlib.sha256(text.encode()).digest()
        return start + text.encode() + _store.TRAILER.pack(len(start), len(text), digest, end)

    for record in index["blocks"][:1]:
        size, crc = record["size"], record["crc"]
        for name, dtype, shape, offset in list(record["arrays"]):
            place, first = record["at"] + offset, [name, dtype, shape, offset]
            array = np.frombuffer(data, dtype, int(np.prod(shape)), place).reshape(shape)
            number = next(k for k, described in enumerate(record["arrays"]) if described[0] == name)
            for other in other_arrays(array):
                if other.dtype.kind not in "fiub":
                    continue
                raw = other.tobytes()
                if len(raw) <= array.nbytes:  # the new array in place of the old one
                    changed = data[:place] + raw + data[place + len(raw) : at]
                    record["crc"] = zlib.crc32(changed[record["at"] : record["at"] + size])
                    record["arrays"][number] = [name, other.dtype.str, list(other.shape), offset]
                    yield name, signed(changed, json.dumps(index))
            record["crc"] = crc
            for other in ([], [-1], [*shape, 1], [2 * k for k in shape], [k // 2 for k in shape], shape[::-1]):
                record["arrays"][number] = [name, dtype, other, offset]
                yield name, signed(data[:at], json.dumps(index))
            record["arrays"][number] = first
    for numbers in (index["summary"], *index["blocks"][:1]):
        for name, genuine in list(numbers.items()):
            if isinstance(genuine, (int, float)):
                for number in NUMBERS_INSTEAD:
                    numbers[name] = "#"
                    yield name, signed(data[:at], json.dumps(index).replace('"#"', number))
                numbers[name] = genuine


# --- saved files and what is done with them --------------------------------------------------------------------------


def stream(model, y=TWO):
    return lambda: model.partial_fit(X, y, **({"classes": np.unique(y)} if hasattr(model, "class_weight") else {}))


def network(kind, y):
    points = np.column_stack([np.arange(6.0), np.arange(6.0) ** 2])
    return lambda: kind("knn", n_neighbors=2, coordinates=points, alpha=0.01).fit(X, y, groups=NODES)


CHAIN = sp.csr_array(np.eye(5, 6) - np.eye(5, 6, k=1))
MODELS = {
    "stream": stream(GraphGuidedClassifier("chain")),
    "stream, full metric": stream(GraphGuidedClassifier("chain", solver=AdaSADMM(Full(0.05), w_step="exact"))),
    "stream, paper's metric": stream(GraphGuidedClassifier("chain", solver=AdaSADMM("full", eta=0.1))),
    "stream, exact": stream(GraphGuidedRegressor("chain", solver=OADMM(0.1), l1_ratio=0.5, positive=True), NUMBERS),
    "stream, dual averaging": stream(GraphGuidedClassifier("chain", solver=RDASADMM())),
    "stream, softmax": stream(GraphGuidedClassifier("chain", loss="multinomial", joint=True), THREE),
    "stream, three classes": stream(GraphGuidedClassifier("chain", fit_intercept=False), THREE),
    "stream, groups": stream(StructuredClassifier(CHAIN, penalty=GROUPS)),
    "fit": lambda: GraphGuidedClassifier("chain", warm_start=True).fit(X, TWO),
    "fit, a sparse graph": lambda: GraphGuidedRegressor(sp.csr_array(np.eye(6, k=1)), refit="clusters").fit(X, NUMBERS),
    "fit, responses": lambda: GraphGuidedRegressor("chain").fit(X, X[:, :2]),
    "fit, groups": lambda: StructuredRegressor(CHAIN, penalty=GROUPS).fit(X, NUMBERS),
    "fit, L1": lambda: StructuredClassifier(penalty=L1(0.1), loss="logistic").fit(X, THREE),
    "search": lambda: GraphGuidedClassifierCV("chain", alphas=3, cv=2).fit(X, TWO),
    "search, structured": lambda: StructuredRegressorCV(CHAIN, alphas=3, cv=2).fit(X, NUMBERS),
    "terms": lambda: TermsRegressor(TERMS).fit(TABLE, NUMBERS),
    "terms, classes": lambda: TermsClassifier(TERMS[:2]).fit(TABLE, TWO),
    "terms, search": lambda: TermsRegressorCV(TERMS[:3], alphas=3, cv=2).fit(TABLE, NUMBERS),
    "series": lambda: TrendFilter(1, alpha=0.1).fit(np.arange(24), NUMBERS),
    "series, search": lambda: TrendFilterCV(0, alphas=3, cv=2).fit(np.arange(24), NUMBERS),
    "image": lambda: TotalVariationDenoiser(alpha=0.1).fit(X),
    "network": network(NetworkLassoRegressor, NUMBERS),
    "network, classes": network(NetworkLassoClassifier, THREE),
    "pipeline": lambda: make_pipeline(StandardScaler(), GraphGuidedClassifier("chain")).fit(X, TWO),
}
A = graphs.incidence(graphs.chain(6))
PROBLEM = Problem(X, TWO, loss=Hinge(), penalty=L1(1e-2), A=A, gamma=1e-2)
SOLVERS = {
    "checkpoint": AdaSADMM(),
    "checkpoint, full metric": AdaSADMM(Full(0.05), w_step="exact"),
    "checkpoint, paper's metric": AdaSADMM("full"),
    "checkpoint, exact": OADMM(0.1),
    "checkpoint, dual averaging": RDASADMM(),
    "checkpoint, ADMM": ADMM(),
    "checkpoint, ALM": ALM(),
    "checkpoint, IPM": IPM(),
    "checkpoint, SPDHG": SPDHG(),
}
CACHES = ("cache", "cache, sparse")
KINDS = (*MODELS, *SOLVERS, *CACHES)


def use_model(path):
    """Load a model, predict, and continue as its kind allows."""
    model = load_model(path)
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, TotalVariationDenoiser):
        assert np.isfinite(last.labels_).all()
    elif isinstance(last, TrendFilter):
        last.predict([-1.0, 0.5, 30.0])
    elif hasattr(last, "nodes_"):
        last.predict(X, groups=NODES)
        last.predict(sp.csr_array(X), coordinates=np.zeros((24, 2)))
    elif hasattr(last, "_design"):
        last.predict(TABLE)
    else:
        model.predict(X)
        model.predict(sp.csr_array(X)) if model is last else None
        target = NUMBERS if not hasattr(last, "classes_") else last.classes_[: len(last.classes_)][THREE % 2]
        if model is last and getattr(last, "_run", None) is not None:
            last.partial_fit(X, target)
            last.partial_fit(X, target)
        elif getattr(last, "warm_start", False):
            last.fit(X, target)
    assert np.isfinite(last.coef_).all(), "coefficients that are not finite"


def use_checkpoint(path, solver):
    result = solve(PROBLEM, solver, epochs=3, checkpoint=Checkpoint(path.parent), resume=True)
    assert np.isfinite(result.w).all() and np.isfinite(result.w_average).all(), "iterates that are not finite"


def use_cache(path):
    source = cached(path)
    problem = Problem(source, loss=Squared(), penalty=L1(0.1), A=A, w_set=Box(-1.0, 1.0))
    assert problem.n == 24 and np.isfinite(solve(problem, AdaSADMM(), epochs=1).w).all()


def cached(path):
    if path.name == "cache":
        rows = sources.csv(path.parent / "rows.csv", target="y", weight="c", offset="o", block_bytes=2**10)
    else:
        rows = sources.svmlight(path.parent / "rows.svm", block_bytes=2**10)
    return sources.cached(rows, path)


def saved(kind, folder):
    """The file of a kind, what can be forged in it, and a function that uses it."""
    if kind in MODELS:
        save_model(MODELS[kind](), folder / "model")
        return folder / "model", forged_models, use_model
    if kind in SOLVERS:
        solver, path = SOLVERS[kind], folder / "run" / "checkpoint-00000001"
        points = []
        solve(
            PROBLEM,
            solver,
            epochs=3,
            checkpoint=Checkpoint(path.parent),
            callback=lambda _: points.append(0) or len(points) > 1,
        )
        return path, forged_checkpoints, lambda path: use_checkpoint(path, solver)
    columns = [*(f"x{j}" for j in range(6)), "y", "c", "o"]
    pd.DataFrame(np.column_stack([X, NUMBERS, 1.0 + NODES, NODES]), columns=columns).to_csv(
        folder / "rows.csv", index=False
    )
    rows = ("".join(f" {j + 1}:{x}" for j, x in enumerate(row)) for row in X)
    (folder / "rows.svm").write_text("".join(f"{y}{row}\n" for y, row in zip(NUMBERS, rows, strict=True)))
    path = folder / ("cache" if kind == "cache" else "cache.sparse")
    cached(path).summary  # writes it
    return path, forged_caches, use_cache


def chosen(forgeries, every):
    """The first forgery of each place, and every so many of the others."""
    places = set()
    for number, (where, forgery) in enumerate(forgeries):
        if where not in places or number % every == 0:
            places.add(where)
            yield f"{number}, {where}", forgery


def attack(kind, every):
    """Try forgeries of a kind of file; print what came of each, and how often."""
    counts = {"refused": 0, "harmless": 0, "harmful": 0}
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, forgeries, use = saved(kind, pathlib.Path(name))
        genuine = path.read_bytes()
        use(path)  # the genuine file is not refused
        for where, forgery in chosen(forgeries(genuine), every):
            for other in path.parent.glob("checkpoint-*"):
                other.unlink()
            path.write_bytes(forgery)
            print(f"{kind}, {where}: ", end="", flush=True)  # before a process may end
            outcome, message = used(use, path, kind in CACHES)
            counts[outcome] += 1
            print(outcome.upper(), message[:300].replace("\n", " "))
    print("TOTAL", json.dumps(counts))


def used(use, path, is_cache):
    """What came of the use of a forged file: refused with a sentence, harmless or harmful; and the message."""
    forgery = path.read_bytes()
    try:
        use(path)
    except ValueError as error:
        return "refused" if len(str(error)) > 20 else "harmful", f"{type(error).__name__}: {error}"
    except BaseException as error:
        return "harmful", f"{type(error).__name__}: {error} {traceback.format_exc()[-1000:]}"
    if is_cache and path.read_bytes() != forgery:
        return "refused", "the cache is written again"
    return "harmless", ""


if __name__ == "__main__":
    for kind in sys.argv[2:] or KINDS:
        attack(kind, int(sys.argv[1]))


# --- tests -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_forgeries_are_refused_or_harmless(kind):
    """In another process, whose compiled code checks its indices."""
    env = os.environ | {"NUMBA_BOUNDSCHECK": "1"}
    command = [sys.executable, __file__, "1", kind]
    run = subprocess.run(command, capture_output=True, text=True, env=env, timeout=1800)
    lines = run.stdout.splitlines()
    assert run.returncode == 0, f"ended with {run.returncode} at {lines[-1:]}\n{run.stderr[-3000:]}"
    assert not (harmful := [line for line in lines if ": HARMFUL " in line]), "\n".join(harmful)
    (counts,) = (json.loads(line.removeprefix("TOTAL ")) for line in lines if line.startswith("TOTAL "))
    assert counts["refused"] > 20
