"""Models on disk: `save_model` and `load_model`, without pickle, so that loading runs no code from the file.

The file is a skops archive with one more member, ``adasadmm.json``, which holds the version of the form.
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import __version__
from ._core.files import MOST_EXPANSION, check_arrays, most_unpacked, write_whole
from .certificates.trace import Trace
from .solvers.rda_sadmm import DualAveragingRun
from .solvers.stochastic import StochasticRun

__all__ = ["ModelError", "load_model", "save_model"]

FORMAT = 1
MEMBER = "adasadmm.json"
REBUILD_GROUPS = "adasadmm.penalties.norms.group_l2_from_fields"
# A model may hold the records and estimators of these modules and folders. Creating one of them runs no code of ours.
HOMES = (
    *("losses", "penalties", "metrics", "linalg", "certificates", "solvers", "estimators"),
    *("algorithm", "averages", "stepsizes"),
)
RUNS = (StochasticRun, DualAveragingRun)  # from which partial_fit continues
SPARSE = {sp.csr_array, sp.csc_array, sp.coo_array}  # a graph may be one


class ModelError(ValueError):
    """A model that cannot be saved, or a file that cannot be loaded; the message says why."""


def save_model(model: Any, path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> None:
    """Save a fitted model, or a pipeline that holds one, without pickle.

    Coefficients, graph, names of features, classes, trace, and what `partial_fit` needs to go on are all inside. The
    file is written whole or not at all.

    Parameters
    ----------
    model : estimator
    path : path
    trusted : sequence of str, optional
        Full names of further types that the model holds, such as ``"mymodule.MyLoss"``; `load_model` has to be told
        of them again. Only for types of your own: whoever can change the file decides what they are made with.

    Raises
    ------
    ModelError
        If the model holds something that `load_model` would refuse.

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
    try:
        content = io.BytesIO(skops.dumps(model))
        unknown = set(skops.get_untrusted_types(data=content.getvalue())) - _own_types() - set(trusted)
    except Exception as error:  # skops has no common type for what it cannot write
        raise ModelError(f"this model cannot be saved: {error}") from error
    if unknown:
        raise ModelError(
            f"this model holds {', '.join(sorted(unknown))}, which load_model would not trust. A graph that is a "
            "function or a networkx graph can be replaced by what it gave, model.set_params(graph=model.graph_); "
            "types of your own can be named: trusted=[...], here and in load_model"
        )
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(MEMBER, json.dumps({"format": FORMAT, "adasadmm": __version__}))
    write_whole(path, content.getvalue())


def load_model(
    path: str | os.PathLike[str], trusted: Sequence[str] = (), most_expansion: float = MOST_EXPANSION
) -> Any:
    """Load a model that `save_model` wrote.

    Only types of this package, of scikit-learn and of NumPy are made, and only by setting their fields.

    Parameters
    ----------
    path : path
    trusted : sequence of str, optional
        Full names of further types, as given to `save_model`.
    most_expansion : float
        A sparse graph is compressed inside the file. It may unpack to so many times the size of the file, and to 64 MiB
        in any case.

    Returns
    -------
    estimator

    Raises
    ------
    ModelError
        If the file is damaged, of a later form, or holds types that are not trusted.
    """
    skops, path = _skops(), Path(path)
    data = path.read_bytes()
    try:
        _check_archive(data, most_unpacked(len(data), most_expansion))
        model = skops.loads(_renewed(data), trusted=sorted(_own_types() | set(trusted)))
    except ModelError as error:
        raise ModelError(f"{path} {error}") from None
    except _exceptions().UntrustedTypesFoundException as error:
        raise ModelError(
            f"{path} holds types that are not trusted: {error}. Name them in trusted=[...] only if you know who wrote "
            "the file"
        ) from None
    except Exception as error:  # whatever a damaged archive makes zipfile, json, NumPy or skops say
        raise ModelError(f"{path} is damaged, or no model: {type(error).__name__}: {error}") from error
    if not isinstance(model, BaseEstimator):
        raise ModelError(f"{path} holds a {type(model).__name__}, no model")
    for part in (model, *(step for _, step in getattr(model, "steps", ()))):
        if not type(part).__module__.startswith(f"{__package__}."):
            continue
        _renew_runs(part)
        if not _fits(part):
            raise ModelError(f"{path} is damaged: coefficients, classes and features do not fit each other")
    return model


def _fits(model: Any) -> bool:
    """Whether the coefficients of a model are numbers, as many as its features and classes ask for."""
    features, classes = model.n_features_in_, getattr(model, "classes_", None)
    if classes is None:
        shapes: Any = ((features,), ())
    else:
        rows = 1 if len(classes) == 2 else len(classes)
        shapes = ((rows, features), (rows,))
    found = [np.asarray(part) for part in (model.coef_, model.intercept_)]
    return all(part.dtype.kind == "f" for part in found) and tuple(part.shape for part in found) == shapes


def _check_archive(data: bytes, most: float) -> None:
    """The version of the form, before anything else is read; and that nothing takes more memory than it should."""
    if not data.startswith(b"PK"):
        raise ModelError(
            "is no model: save_model or adasadmm fit --model writes one, which adasadmm predict takes first"
        )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if any(m.compress_type != zipfile.ZIP_STORED for m in members) or sum(m.file_size for m in members) > len(data):
            raise ModelError("holds compressed members, which save_model does not write")
        if MEMBER not in archive.namelist():
            raise ModelError("was not written by save_model")
        about = json.loads(archive.read(MEMBER))
        check_arrays(archive, most)
    if about["format"] != FORMAT:
        raise ModelError(
            f"is of format {about['format']}, written by adasadmm {about['adasadmm']}; "
            f"adasadmm {__version__} reads format {FORMAT}"
        )


def _own_types() -> set[str]:
    """The full names of the types that a model of this package may hold."""
    return {f"{cls.__module__}.{cls.__name__}" for cls in {*_own_classes().values(), *SPARSE}} | {REBUILD_GROUPS}


@functools.cache
def _own_classes() -> dict[str, type]:
    """The records, runs and estimators of this package, by name; every name is used once."""
    found: dict[str, type] = {cls.__name__: cls for cls in (*RUNS, Trace)}
    for home in HOMES:
        module = importlib.import_module(f".{home}", __package__)
        inside = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
        for part in (module, *(importlib.import_module(name) for _, name, _ in inside)):
            own = (cls for cls in vars(part).values() if isinstance(cls, type) and _is_record(cls))
            found |= {cls.__name__: cls for cls in own if cls.__module__.startswith(f"{__package__}.")}
    return found


def _is_record(cls: type) -> bool:
    is_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return is_tuple or dataclasses.is_dataclass(cls) or issubclass(cls, (enum.Enum, BaseEstimator))


# --- files of earlier versions ---------------------------------------------------------------------------------------


def _renewed(data: bytes) -> bytes:
    """The same archive with each type of this package under its present module, and groups that skops can rebuild."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    _renew_node(schema, {name: cls.__module__ for name, cls in _own_classes().items()})
    members["schema.json"] = json.dumps(schema).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def _renew_node(node: Any, homes: dict[str, str]) -> None:
    """Change a node of the schema, and all inside it, in place."""
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
    node["__module__"] = homes.get(name, module)
    if name == "GroupL2" and node.get("__loader__") == "TupleNode":
        # skops rebuilds only named tuples that derive from tuple itself: this one goes through a function.
        fields = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": node["content"]}
        node["__module__"], node["__class__"] = REBUILD_GROUPS.rsplit(".", 1)
        node["__loader__"], node["content"] = "ConstructorFromReduceNode", fields


def _renew_runs(model: Any) -> None:
    """The run of a stream as version 0.1 saved it, under the present names of its attributes."""
    for run in getattr(model, "_run", None) or ():
        kept = vars(run)
        if "visits" in kept:
            kept["iterates"], kept["done"] = kept.pop("state"), kept.pop("visits")
            for name in ("block", "slice_iterations"):
                kept.pop(name, None)


def _skops() -> Any:
    try:
        return importlib.import_module("skops.io")
    except ImportError:
        raise ImportError(
            "models are saved with skops: pip install 'adasadmm[models]' (or use pickle or joblib)"
        ) from None


def _exceptions() -> Any:
    return importlib.import_module("skops.io.exceptions")
