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
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import __version__
from ._core.files import MOST_EXPANSION, check_arrays, most_unpacked, write_whole
from .certificates.trace import Trace
from .estimators._signals import SignalModel
from .estimators._terms import TermsModel
from .solvers.rda_sadmm import DualAveragingRun
from .solvers.stochastic import StochasticRun

__all__ = ["ModelError", "load_model", "save_model"]

FORMAT = 1
MEMBER = "adasadmm.json"
REBUILD_GROUPS = "adasadmm.penalties.norms.group_l2_from_fields"
# A model may contain the records and estimators of these modules and folders. Creating one runs no code of the package.
HOMES = (
    *("losses", "penalties", "metrics", "linalg", "certificates", "solvers", "terms", "estimators"),
    *("algorithm", "averages", "stepsizes"),
)
RUNS = (StochasticRun, DualAveragingRun)  # partial_fit keeps one of these
SPARSE = {sp.csr_array, sp.csc_array, sp.coo_array}  # the parameter ``graph`` may be one

Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | float | bool | None


class ModelError(ValueError):
    """The model cannot be saved, or the file cannot be loaded; the message gives the reason."""


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
    try:
        content = io.BytesIO(skops.dumps(model))
        unknown = set(skops.get_untrusted_types(data=content.getvalue())) - _own_types() - set(trusted)
    except Exception as error:  # skops has no common exception type
        raise ModelError(f"this model cannot be saved: {error}") from error
    if unknown:
        raise ModelError(
            f"this model contains {', '.join(sorted(unknown))}, which load_model does not trust. If the graph is a "
            "function or a networkx graph, replace it by its edges: model.set_params(graph=model.graph_). For types of "
            "your own give their names: trusted=[...], here and in load_model"
        )
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(MEMBER, json.dumps({"format": FORMAT, "adasadmm": __version__}))
    write_whole(path, content.getvalue())


def load_model(
    path: str | os.PathLike[str], trusted: Sequence[str] = (), most_expansion: float = MOST_EXPANSION
) -> BaseEstimator:
    """Load a model that `save_model` wrote.

    Loading creates only objects of this package, scikit-learn and NumPy, and only by setting their fields: it runs no
    code from the file. Files of version 0.1 can be loaded.

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
    except ModelError as error:
        raise ModelError(f"{path} {error}") from None
    except _exceptions().UntrustedTypesFoundException as error:
        raise ModelError(
            f"{path} contains types that are not trusted: {error}. Add them to trusted=[...] only if you know who "
            "wrote the file"
        ) from None
    except Exception as error:  # zipfile, json, NumPy and skops raise all kinds of errors for a damaged archive
        raise ModelError(f"{path} is damaged or not a model: {type(error).__name__}: {error}") from error
    if not isinstance(model, BaseEstimator):
        raise ModelError(f"{path} contains an object of type {type(model).__name__}, not a model")
    for part in (model, *(step for _, step in getattr(model, "steps", ()))):
        if not type(part).__module__.startswith(f"{__package__}."):
            continue
        _renew_runs(part)
        if not _is_consistent(part):
            raise ModelError(f"{path} is damaged: the shapes of coefficients, classes and features do not match")
    return model


def _is_consistent(model: BaseEstimator) -> bool:
    """Whether coefficients and intercepts are floats whose shapes match the numbers of features and classes."""
    if isinstance(model, SignalModel):
        return model._is_consistent()
    features = model._design.width if isinstance(model, TermsModel) else model.n_features_in_
    classes = getattr(model, "classes_", None)
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = (features,), ()
    responses = getattr(model, "_outputs", None)
    if responses is not None:
        shapes = (responses, features), (responses,)
    if classes is not None:
        is_softmax = np.shape(model.coef_)[:1] == (len(classes),)  # which has two functions for two classes
        rows = 1 if len(classes) == 2 and not is_softmax else len(classes)
        shapes = (rows, features), (rows,)
    found = [np.asarray(part) for part in (model.coef_, model.intercept_)]
    return all(part.dtype.kind == "f" for part in found) and tuple(part.shape for part in found) == shapes


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
    return {f"{cls.__module__}.{cls.__name__}" for cls in {*_own_classes().values(), *SPARSE}} | {REBUILD_GROUPS}


@functools.cache
def _own_classes() -> dict[str, type]:
    """The records, runs and estimators of this package by class name; no two share a name."""
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
    """The same archive with the current module of each type, and groups in a form that skops can rebuild."""
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


def _renew_node(node: Json, homes: dict[str, str]) -> None:
    """Update a node of the schema and all nodes below it, in place."""
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
    """Give the state of `partial_fit`, as saved by version 0.1, the current names of its attributes."""
    for run in getattr(model, "_run", None) or ():
        kept = vars(run)
        if "visits" in kept:
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
