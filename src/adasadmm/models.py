"""Save and load models without pickle, so that loading a file cannot run code from it.

The file is a skops archive with an additional member, ``adasadmm.json``, which holds the version of the format.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import io
import json
import os
import pkgutil
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import __version__
from ._core.files import MOST_EXPANSION, check_arrays, most_unpacked, write_whole
from ._core.states import ModelError, is_graph, is_numbers
from .certificates.trace import Result, Trace
from .estimators._base import LinearModel
from .estimators._partial import RUNS, check_stream
from .estimators._signals import SignalModel
from .estimators._terms import TermsModel
from .graphs import LatentGroups
from .penalties import GroupL2
from .solvers import Run

__all__ = ["ModelError", "load_model", "save_model"]

FORMAT = 1
MEMBER = "adasadmm.json"
REBUILD_GROUPS = "adasadmm.penalties.norms.group_l2_from_fields"
# A model may contain the records and estimators of these modules and folders. Creating one runs no code of the package.
HOMES = (
    *("losses", "penalties", "metrics", "rows", "linalg", "certificates", "solvers", "terms", "estimators"),
    *("algorithm", "averages", "stepsizes"),
)
SPARSE = {sp.csr_array, sp.csc_array, sp.coo_array}  # the parameter ``graph`` may be one

Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | float | bool | None


# Solvers of version 0.2 that have another name now. None of these has a setting that still counts.
RENAMED = {
    "ChainDP": "TotalVariation",
    "AlternatingChains": "TotalVariation",
    "DualGradient": "TotalVariation",
    "SoftThreshold": "TotalVariation",
    "BandedIPM": "IPM",
}
RDA_OF_0_2 = "contains the state of partial_fit of RDASADMM as version 0.2 saved it, which has another form now"
NO_SETTINGS: Json = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "content": "null",
    "is_json": True,
}


REMEDY = (
    "replace the graph by its edges and their weights: model.set_params(graph=(model.graph_, model.graph_weights_))"
)


def save_model(model: BaseEstimator, path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> None:
    """Save a fitted model, or a pipeline that holds one, without pickle.

    The file contains the coefficients, graph, feature names, classes and trace, and the state from which `partial_fit`
    continues. It is written completely or not at all.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or a scikit-learn pipeline that contains one.
    path : str or path-like
        File to write; an existing file is replaced.
    trusted : sequence of str, default=()
        Full names of additional types in the model, such as ``"mymodule.MyLoss"``. `load_model` needs the same names.
        Trust only types that are safe to create with arbitrary values: anyone who can change the file controls them.

    Raises
    ------
    ModelError
        If the model contains a type that `load_model` would reject.
    ImportError
        If skops is not installed (extra ``models``).

    See Also
    --------
    load_model : Load the model again.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from adasadmm import GraphGuidedRegressor, load_model, save_model
    >>> X = np.eye(3)
    >>> model = GraphGuidedRegressor("chain", tol=1e-6).fit(X, [1, 2, 3])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.skops"
    >>> save_model(model, path)
    >>> bool((load_model(path).predict(X) == model.predict(X)).all())
    True
    """
    skops = _skops()
    if not isinstance(model, BaseEstimator):
        raise ModelError(f"model must be an estimator, got {type(model).__name__}")
    check_is_fitted(model)
    for part in _inside(model):
        graph = getattr(part, "graph", None) if isinstance(part, BaseEstimator) else None
        if hasattr(graph, "nodes") and hasattr(graph, "edges"):  # skops follows its nodes until the stack is full
            raise ModelError(f"this model has a networkx graph, which cannot be saved: {REMEDY}")
    try:
        content = io.BytesIO(skops.dumps(model))
        _check_model(model)
        unknown = set(skops.get_untrusted_types(data=content.getvalue())) - _own_types() - set(trusted)
    except Exception as error:  # skops has no common exception type
        raise ModelError(f"this model cannot be saved: {error}") from error
    if unknown:
        raise ModelError(
            f"this model contains {', '.join(sorted(unknown))}, which load_model does not trust. If the graph is a "
            f"function, {REMEDY}. For types of your own give their names: trusted=[...], here and in load_model"
        )
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(MEMBER, json.dumps({"format": FORMAT, "adasadmm": __version__}))
    write_whole(path, content.getvalue())


def load_model(
    path: str | os.PathLike[str], trusted: Sequence[str] = (), most_expansion: float = MOST_EXPANSION
) -> BaseEstimator:
    """Load a model that `save_model` wrote.

    Loading creates only objects of this package, scikit-learn and NumPy, and only by setting their fields: it runs no
    code from the file. Files of versions 0.1 and 0.2 can be loaded.

    Parameters
    ----------
    path : str or path-like
        File to read.
    trusted : sequence of str, default=()
        Full names of additional types, as given to `save_model`.
    most_expansion : float, default=200
        Reject files in which a compressed array expands to more than this many times the size of the file. Up to 64 MiB
        are always accepted.

    Returns
    -------
    estimator
        The fitted estimator or pipeline.

    Raises
    ------
    ModelError
        If the file is damaged, has a later format, or contains types that are not trusted.
    ImportError
        If skops is not installed (extra ``models``).

    See Also
    --------
    save_model : Save a model.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from adasadmm import GraphGuidedClassifier, load_model, save_model
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.skops"
    >>> save_model(GraphGuidedClassifier("chain", alpha=0.01).fit(np.eye(2), ["no", "yes"]), path)
    >>> load_model(path).predict(np.eye(2)).tolist()
    ['no', 'yes']
    """
    skops, path = _skops(), Path(path)
    data = path.read_bytes()
    try:
        _check_archive(data, most_unpacked(len(data), most_expansion))
        model = skops.loads(_renewed(data), trusted=sorted(_own_types() | set(trusted)))
        if not isinstance(model, BaseEstimator):
            raise ModelError(f"contains an object of type {type(model).__name__}, not a model")
        _renew_runs(model)
        check_is_fitted(model)
        _check_model(model)
    except ModelError as error:
        raise ModelError(f"{path} {error}") from None
    except _exceptions().UntrustedTypesFoundException as error:
        raise ModelError(
            f"{path} contains types that are not trusted: {error}. Add them to trusted=[...] only if you know who "
            "wrote the file"
        ) from None
    except Exception as error:  # zipfile, json, NumPy and skops raise all kinds of errors for a damaged archive
        reason = error if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise ModelError(f"{path} is damaged or not a model: {reason}") from error
    for part in _inside(model):
        if isinstance(part, Run):
            part.from_file = True  # `partial_fit` compares it with a new run before it continues
    return model


# --- what a file may contain -----------------------------------------------------------------------------------------


def _check_model(model: BaseEstimator) -> None:
    """Raise an exception if the fitted state of a model, or of a part of it, is impossible.

    A file sets fields without the checks of constructors, and neither compiled code nor SciPy's checks indices. So
    every array that a prediction or a later fit uses is checked for its type, its shape, its range and for NaN.
    """
    for part in _inside(model):
        for kind, is_possible, what in CHECKS:
            if isinstance(part, kind) and not is_possible(part):
                raise ValueError(f"{what} of {type(part).__name__} do not match, or are not finite numbers")


def _inside(whole: object) -> Iterator[Any]:
    """The objects that a model consists of, each of them once."""
    seen, waiting = set[int](), [whole]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting += part
        elif isinstance(part, np.ndarray) and part.dtype == object:
            waiting += part.ravel().tolist()
        elif hasattr(part, "__dict__") and not callable(part):
            waiting += vars(part).values()


def _is_estimator(model: BaseEstimator) -> bool:
    """Whether an estimator is possible; those of scikit-learn, and those that are not fitted, are not checked."""
    if not type(model).__module__.startswith(f"{__package__}.") or not any(name.endswith("_") for name in vars(model)):
        return True
    model._validate_params()
    if getattr(model, "_run", None) is not None:
        check_stream(model)
    return model._is_consistent() if isinstance(model, SignalModel) else _is_consistent(model)


def _is_consistent(model: LinearModel) -> bool:
    """Whether the fitted arrays are finite, and their shapes match the numbers of features, classes and edges."""
    features = model._design.width if isinstance(model, TermsModel) else model.n_features_in_
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = (features,), ()
    responses, classes = getattr(model, "_outputs", None), getattr(model, "classes_", None)
    if responses is not None:
        shapes = (responses, features), (responses,)
    if classes is not None:
        is_softmax = np.shape(model._dense_coef())[:1] == (len(classes),)  # which has two functions for two classes
        rows = 1 if len(classes) == 2 and not is_softmax else len(classes)
        shapes = (rows, features), (rows,)
        if type(classes) is not np.ndarray or len(classes) < 2 or not np.array_equal(np.unique(classes), classes):
            return False
    pairs = [(model._dense_coef(), model.intercept_)]
    if hasattr(model, "coef_penalized_"):
        pairs.append((model.coef_penalized_, model.intercept_penalized_))
    path = getattr(model, "coef_path_", None)
    return (
        all(is_numbers(part, shape) for pair in pairs for part, shape in zip(pair, shapes, strict=True))
        and (path is None or is_numbers(path, (*np.shape(path)[:-1], features)))
        and isinstance(getattr(model, "_latent", None), LatentGroups | None)
        and (not isinstance(model, TermsModel) or all(block.is_consistent() for block in model._design.blocks))
        and is_graph(getattr(model, "graph_", None), getattr(model, "graph_weights_", None), features)
    )


def _is_result(result: Result) -> bool:
    """Whether a later fit can start from a result; its run would be used without a check, so it must have none."""
    d, p, m = (np.size(part) for part in (result.w, result.v, result.theta))
    of_w, of_v = (result.w, result.w_mean, result.w_average, result.w_feasible), (result.v, result.v_mean)
    lengths = [*((w, d) for w in of_w), *((v, p) for v in of_v), (result.theta, m)]
    found = (is_numbers(part, (length,)) and part.dtype == np.float64 for part, length in lengths)
    return result.run is None and all(found)


def _has_groups(penalty: GroupL2) -> bool:
    """Whether the groups are slices of their members; a problem checks the members."""
    starts, members = penalty.starts, penalty.members
    whole = all(type(part) is np.ndarray and part.dtype == np.int64 and part.ndim == 1 for part in (starts, members))
    return bool(
        whole and len(starts) and starts[0] == 0 and starts[-1] == len(members) and (np.diff(starts) >= 0).all()
    )


def _is_sparse(matrix: Any) -> bool:
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # raises for indices out of range
    return bool(matrix.dtype.kind in "fiub" and np.isfinite(matrix.data).all())


def _is_trace(trace: Trace) -> bool:
    """Whether the columns belong together; a trace of version 0.1 does not have all of them."""
    columns = {name: trace[name] for name in trace}
    points = np.shape(columns["epoch"])
    arrays = (type(column) is np.ndarray and column.dtype.kind in "fiu" for column in columns.values())
    same = all(np.shape(column) == points for column in columns.values())
    return len(points) == 1 and same and all(arrays) and set(columns) <= set(Trace.columns)


def _has_settings(record: Any) -> bool:
    """Whether a solver or a term could be made with its settings; its constructor raises if not."""
    if type(record).__module__.startswith(f"{__package__}.") and hasattr(record, "__post_init__"):
        dataclasses.replace(record)
    return True


CHECKS: tuple[tuple[Any, Callable[[Any], bool], str], ...] = (
    (BaseEstimator, _is_estimator, "the shapes of coefficients, classes, features and edges"),
    (Result, _is_result, "the arrays"),
    (GroupL2, _has_groups, "the groups"),
    ((sp.sparray, sp.spmatrix), _is_sparse, "the entries"),
    (Trace, _is_trace, "the columns"),
    (object, _has_settings, "the settings"),
)


def _check_archive(data: bytes, most: float) -> None:
    """Check the version of the format and the sizes of the arrays before anything else is read."""
    if not data.startswith(b"PK"):
        raise ModelError(
            "is not a model: save_model and adasadmm fit --model write models, the first argument of adasadmm predict"
        )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if any(m.compress_type != zipfile.ZIP_STORED for m in members) or sum(m.file_size for m in members) > len(data):
            raise ModelError("contains compressed members, which save_model does not write")
        if MEMBER not in archive.namelist():
            raise ModelError("was not written by save_model")
        about = json.loads(archive.read(MEMBER))
        check_arrays(archive, most)
    if about["format"] != FORMAT:
        raise ModelError(
            f"has format {about['format']}, written by adasadmm {about['adasadmm']}; "
            f"adasadmm {__version__} reads format {FORMAT}"
        )


def _own_types() -> set[str]:
    """The full names of the types that a model of this package may contain."""
    return {f"{cls.__module__}.{cls.__name__}" for cls in _own_classes() | SPARSE} | {REBUILD_GROUPS}


@functools.cache
def _own_classes() -> frozenset[type]:
    """The records, runs and estimators of this package."""
    found: set[type] = {*RUNS, Trace}
    for home in HOMES:
        module = importlib.import_module(f".{home}", __package__)
        inside = pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}.")
        for part in (module, *(importlib.import_module(name) for _, name, _ in inside)):
            own = (cls for cls in vars(part).values() if isinstance(cls, type) and _is_record(cls))
            found |= {cls for cls in own if cls.__module__.startswith(f"{__package__}.")}
    return frozenset(found)


def _is_record(cls: type) -> bool:
    is_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return is_tuple or dataclasses.is_dataclass(cls) or issubclass(cls, (enum.Enum, BaseEstimator))


# --- files of earlier versions ---------------------------------------------------------------------------------------


def _renewed(data: bytes) -> bytes:
    """The same archive with the current module of each type, and groups in a form that skops can rebuild."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    _renew_node(schema, _homes())
    members["schema.json"] = json.dumps(schema).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


@functools.cache
def _homes() -> dict[tuple[str | None, str], str]:
    """The module of each class, by its module and name, and by its name alone if no other class has the same."""
    classes = _own_classes()
    times = Counter(cls.__name__ for cls in classes)
    alone = {(None, cls.__name__): cls.__module__ for cls in classes if times[cls.__name__] == 1}
    return alone | {(cls.__module__, cls.__name__): cls.__module__ for cls in classes}


def _renew_node(node: Json, homes: dict[tuple[str | None, str], str]) -> None:
    """Update a node of the schema and all nodes below it, in place: a class that has moved is found by its name."""
    if isinstance(node, list):
        for inner in node:
            _renew_node(inner, homes)
    if not isinstance(node, dict):
        return
    for inner in list(node.values()):
        _renew_node(inner, homes)
    module, name = node.get("__module__"), node.get("__class__")
    if not (isinstance(module, str) and isinstance(name, str) and module.split(".")[0] == __package__):
        return
    if name == "DualAveragingRun":
        raise ModelError(f"{RDA_OF_0_2}: fit it again")
    if name in RENAMED:
        name = node["__class__"] = RENAMED[name]
        node["content"] = NO_SETTINGS
    node["__module__"] = homes.get((module, name)) or homes.get((None, name), module)
    if name == "GroupL2" and node.get("__loader__") == "TupleNode":
        # skops rebuilds only direct subclasses of tuple; GroupL2 is not one, so a function rebuilds it.
        fields: dict[str, Json] = {
            "__class__": "tuple",
            "__module__": "builtins",
            "__loader__": "TupleNode",
            "content": node["content"],
        }
        node["__module__"], node["__class__"] = REBUILD_GROUPS.rsplit(".", 1)
        node["__loader__"], node["content"] = "ConstructorFromReduceNode", fields


def _renew_runs(model: BaseEstimator) -> None:
    """Give the states of `partial_fit`, as saved by version 0.1, the current names of their attributes."""
    for run in _inside(model):
        if isinstance(run, RUNS) and "visits" in vars(run):
            kept: dict[str, Any] = vars(run)
            kept["iterates"], kept["done"] = kept.pop("state"), kept.pop("visits")
            for name in ("block", "slice_iterations"):
                kept.pop(name, None)


def _skops() -> ModuleType:
    try:
        return importlib.import_module("skops.io")
    except ImportError:
        raise ImportError(
            "save_model and load_model need skops: pip install 'adasadmm[models]' (or use pickle or joblib)"
        ) from None


def _exceptions() -> ModuleType:
    return importlib.import_module("skops.io.exceptions")
