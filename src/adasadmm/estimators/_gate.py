"""The gate for X and y: scikit-learn's checks, and errors that name the column or the row at fault."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..rows.matrices import check_entries

__all__ = ["named_faults", "rows_alone", "rows_and_labels", "rows_and_numbers", "rows_to_predict", "two_classes"]

RULES: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
NOT_NUMBERS = (str, bytes, datetime.date, np.datetime64)


def rows_alone(estimator: Any, X: Any) -> Any:
    """The rows of a fit."""
    with named_faults(X):
        return validate_data(estimator, X, **RULES)


def rows_and_numbers(estimator: Any, X: Any, y: npt.ArrayLike | None, **rules: Any) -> tuple[Any, np.ndarray]:
    """The rows and the targets of a regression."""
    with named_faults(X, y):
        rows, target = validate_data(estimator, X, y, y_numeric=True, **RULES, **rules)
        return rows, target.astype(np.float64)


def rows_and_labels(estimator: Any, X: Any, y: npt.ArrayLike | None, **rules: Any) -> tuple[Any, np.ndarray]:
    """The rows and the class labels of a classification."""
    with named_faults(X, labels=y):
        rows, labels = validate_data(estimator, X, y, **RULES, **rules)
        check_classification_targets(labels)
    return rows, labels


def rows_to_predict(estimator: Any, X: Any) -> Any:
    """Rows with the features of the fit."""
    with named_faults(X):
        return validate_data(estimator, X, accept_sparse="csr", reset=False)


def two_classes(labels: npt.ArrayLike, where: str) -> np.ndarray:
    """The distinct labels, at least two of them."""
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(f"a classifier needs at least 2 classes, {where} has one class only: {classes[0]}")
    return classes


@contextlib.contextmanager
def named_faults(X: Any = None, y: Any = None, labels: Any = None) -> Iterator[None]:
    """Raise an error that names the value at fault instead of one that only NumPy or scikit-learn would understand."""
    check_entries(X, "X")
    try:
        yield
    except (TypeError, ValueError) as error:
        reason = _fault_of_rows(X) or _fault_of_numbers(y) or _fault_of_labels(labels)
        if reason is None:
            raise
        raise ValueError(reason) from error


def _fault_of_rows(X: Any) -> str | None:
    """Text or a date in X, which may be a data frame or anything that looks like an array."""
    names = getattr(X, "columns", None)
    if names is None:
        with contextlib.suppress(ValueError):  # rows of different lengths
            table = np.asarray(X, dtype=object)
            names, X = range(table.shape[1] if table.ndim == 2 else 0), table.T
    for name in () if names is None else names:
        value = _first_not_a_number(X[name])
        if value is not None:
            return (
                f"column {name!r} of X holds {value}, which is not a number: encode the column, for instance by "
                "scikit-learn's OneHotEncoder, or leave it out; TermsRegressor and TermsClassifier take tables with "
                "categories"
            )
    return None


def _fault_of_numbers(y: Any) -> str | None:
    value = None if y is None else _first_not_a_number(y)
    if value is None:
        return None
    return f"y holds {value}, which is not a number; for class labels use a classifier, such as GraphGuidedClassifier"


def _fault_of_labels(labels: Any) -> str | None:
    for row, label in enumerate([] if labels is None else np.asarray(labels, dtype=object).reshape(-1)):
        if label is None or label != label:
            return f"Input y contains {'None' if label is None else 'NaN'}, first in row {row}: leave these rows out"
    return None


def _first_not_a_number(values: Any) -> str | None:
    """The first text that is not a number, or date, as it would be written."""
    array = np.asarray(values).reshape(-1)
    for value in array if array.dtype.kind not in "biufc" else ():
        if isinstance(value, NOT_NUMBERS) and not _is_number(value):
            return repr(value if isinstance(value, bytes) else str(value))
    return None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, np.datetime64)
