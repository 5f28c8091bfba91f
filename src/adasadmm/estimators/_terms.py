"""Shared by the models of terms: encode a table, build the structure of its terms, report coefficients by level."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..losses import has_log_link
from ..penalties import L1, GroupL2
from ..sources import Source, SourceError, Tables, cached
from ..terms.design import Design, EncodedSource, check_terms, learn
from ..terms.table import Measures, Table
from ..terms.term import Block, Term
from . import _fitting, _predicting
from ._base import LinearModel
from ._constraints import Limits, limits_of
from ._fitted_state import from_scratch
from ._structure import Structure, extended
from ._types import PerRow, ValidRows
from ._weights import adaptive_weights, check_adaptive, pilot

__all__ = ["TermsModel", "groups_of"]


class TermsModel(LinearModel):
    """A linear model of a table whose columns are described by terms."""

    terms: Sequence[Any]
    _design: Design
    _encoded = False  # whether rows to predict are encoded and standardised already, as in folds

    # Terms have penalties, weights and constraints of their own; solvers with settings are given as objects.
    l1_ratio, positive, bounds = 0.0, False, None
    eta, beta, a, batch_size, average, shuffle = "auto", "auto", 1.0, "auto", "auto", True

    _parameter_constraints: ClassVar[dict] = {
        "terms": "no_validation",
        "weights": [StrOptions({"adaptive", "standard"}), None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    @from_scratch
    def fit(
        self,
        X: Any,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : data frame of pandas, polars or Arrow, or Tables
            The table with the columns that the terms name; others are ignored. `sources.tables` reads files of any
            size: two passes find levels and scales, and the encoded rows are loaded if they fit in memory, otherwise
            streamed from a temporary file.
        y : array-like of shape (n,), default=None
            Targets. None only if X is a `Tables`, which contains them.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, not negative. None gives all rows the same weight.
        offset : array-like of shape (n,), default=None
            A known part of each prediction. For counts with an exposure it is the logarithm of the exposure.

        Returns
        -------
        self : estimator
            The fitted estimator. If fitting fails or is interrupted, the estimator stays as it was before.
        """
        listed = check_terms(self.terms)
        self._encoded = False
        if isinstance(X, Tables):
            if any(given is not None for given in (y, sample_weight, offset)):
                raise ValueError("y, sample_weight and offset must be None if X is Tables, which contain them")
            self._fit_files(X, listed)
        else:
            if y is None:
                raise ValueError("y must be given if X is a data frame; only files that sources.tables reads have it")
            table = Table(X)
            per_row = self._measures(len(table), sample_weight, offset)
            self._design = learn(listed, lambda: [(table, per_row)], bool(self.fit_intercept))
            self._library = table.library
            super().fit(self._design.encode(table, standardised=True), y, sample_weight, offset)
        self.feature_names_in_ = np.array(self._design.columns, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def _fit_files(self, tables: Tables, listed: list) -> None:
        """Fit to the rows of files, which are encoded once: solvers that stream them read a temporary file."""
        self._design = learn(listed, lambda: self._blocks(tables, listed), bool(self.fit_intercept))
        self._library = "pyarrow"
        with tempfile.TemporaryDirectory(prefix="adasadmm-", ignore_cleanup_errors=True) as folder:
            encoded = cached(EncodedSource(tables, self._design), os.path.join(folder, "encoded.cache"))
            super().fit(*self._rows_of(encoded))

    def _blocks(self, tables: Tables, listed: list) -> Iterator[tuple[Table, Measures]]:
        """A pass over the rows of files."""
        used: list[str] | None = [column for term in listed for column in term.reads]
        if not set(used or ()) <= set(tables.columns):
            used = None  # the error that follows names all columns
        for partition in range(len(tables)):
            for block in tables.read(partition, used):
                try:
                    per_row = self._measures(len(block.table), block.weight, block.offset)
                except ValueError as error:
                    raise SourceError(f"{block.place}: {error}") from None
                yield Table(block.table), per_row

    def _rows_of(self, source: Source) -> tuple[Any, ...]:
        """The data of encoded files: X, y, weights and offsets."""
        return source, None, None, None

    def _measures(self, n: int, sample_weight: npt.ArrayLike | None, offset: npt.ArrayLike | None) -> Measures:
        """The weight of each row, and its exposure: with a logarithmic link the offset is the logarithm of it."""
        weight = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
        shift = _predicting.as_offset(offset, n)
        if shift is None or not has_log_link(_fitting.as_loss(self.loss)):
            return Measures(weight, weight)
        return Measures(weight, weight * np.exp(shift))

    @available_if(lambda self: False)
    def partial_fit(self, X: Any, y: npt.ArrayLike) -> None:
        """Not available: the levels of a stream are not known before it ends. Files can be read twice: see `fit`."""

    # --- the structure -----------------------------------------------------------------------------------------------

    def _structure(self, X: ValidRows | Source, alpha: float, sample_weight: np.ndarray | None) -> Structure:
        """The structure with weights that do not depend on the targets."""
        self.graph_ = None
        return self._weighted(alpha, self._fixed_weights())

    def _structures(
        self, X: ValidRows | Source, alpha: float, per_row: PerRow, targets: list[Any] | None
    ) -> list[Structure]:
        limits, own = self._limits(X.shape[1]), self._structure(X, alpha, per_row.weight)
        if self.weights != "adaptive" or targets is None or self._design.has_given_weight().all():
            return [extended(own, 0.0, limits)] * (1 if targets is None else len(targets))
        loss = self._fitted_loss()
        check_adaptive(isinstance(X, Source), loss)
        pilots = (pilot(X, y, per_row, loss, self.fit_intercept) for y in targets)
        return [extended(self._weighted(alpha, self._adapted(w)), 0.0, limits) for w in pilots]

    def _weighted(self, alpha: float, weights: np.ndarray) -> Structure:
        factor = np.ones(len(weights))
        ridge = self._design.rows_with("l2")
        factor[ridge] = np.sqrt(weights[ridge])
        return Structure(sp.csr_array(sp.diags_array(factor) @ self._design.A), self._design.penalty(alpha, weights))

    def _fixed_weights(self) -> np.ndarray:
        return self._design.weights(standard=self.weights is not None)

    def _adapted(self, w: np.ndarray) -> np.ndarray:
        """The weights times adaptive ones, from a pilot w, where none are given."""
        A, adapted = self._design.A, np.ones(self._design.A.shape[0])
        lasso, groups = self._design.rows_with("l1"), self._design.groups()
        if len(lasso):
            adapted[lasso] = adaptive_weights(A[lasso], L1(1.0), w, self.weights_power).structural
        if groups:
            found = np.asarray(adaptive_weights(A, GroupL2(1.0, groups), w, self.weights_power).structural)
            adapted[np.concatenate(groups)] = np.repeat(found, [len(members) for members in groups])
        return self._fixed_weights() * np.where(self._design.has_given_weight(), 1.0, adapted)

    def _limits(self, d: int) -> Limits | None:
        return limits_of(d, None, False, None, self._design.constraints())

    # --- coefficients ------------------------------------------------------------------------------------------------

    def _set_coefficients(self, coefs: list[np.ndarray], intercepts: list[float]) -> None:
        pairs = list(zip(coefs, intercepts, strict=True))
        if not self._encoded:
            pairs = [self._design.in_own_units(*pair) for pair in pairs]
        super()._set_coefficients([coef for coef, _ in pairs], [intercept for _, intercept in pairs])

    def _opened(self, X: Any) -> Any:
        return EncodedSource(X, self._design, standardised=False) if isinstance(X, Tables) else X

    def _rows(self, X: Any) -> ValidRows:
        return X if self._encoded else self._design.encode(Table(X))

    @property
    def levels_(self) -> dict[str, list]:
        """The levels of each factor, by the name of its term."""
        check_is_fitted(self)
        return {block.name: list(block.labels().names) for block in self._design.blocks if block.is_factor}

    @property
    def groups_(self) -> dict[str, np.ndarray]:
        """The group of each level, by the name of its term: fused levels have the same number."""
        check_is_fitted(self)
        groups = {
            block.name: groups_of(self, block, place) for block, place in self._design.placed() if block.is_factor
        }
        return {name: labels[0] if len(labels) == 1 else labels for name, labels in groups.items()}

    def coef_table(self) -> Any:
        """Return the coefficients level by level.

        Returns
        -------
        data frame
            Of the library of the table that was fitted. The columns are ``term``, ``level`` (for numbers the name of
            the column), ``group`` (fused levels have the same number), ``coefficient``, for losses with a logarithmic
            link ``relativity``, the exponential of it, then ``rows`` and ``exposure``, the sum of the weights, times
            the exponentials of the offsets if the link is logarithmic. A model of several classes has ``class`` first.
        """
        check_is_fitted(self)
        return _table_of(self)

    def summary(self) -> str:
        """Describe the fitted model: a line for each term, then how the fit ended.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        first, *rest = super().summary().splitlines()
        return "\n".join([first, *_described(self), *rest])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the coefficients.

        Parameters
        ----------
        input_features : None
            Ignored; it exists for scikit-learn.

        Returns
        -------
        ndarray of str
            ``"column=level"`` for factors, whose base level has no coefficient, and ``"column"`` for numbers.
        """
        check_is_fitted(self)
        return np.array(self._design.names, dtype=object)

    def to_sklearn(self) -> Any:
        """Not available: scikit-learn's models take encoded columns; use `coef_table`, or `save_model`.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "a model of terms encodes its table itself, which the linear models of scikit-learn cannot do: use "
            "coef_table() as a table of coefficients by level, or save_model and load_model"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.string, tags.input_tags.categorical = False, True, True
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` also those of the terms, as ``name__parameter``."""
        found = super().get_params(deep=deep)
        if deep and isinstance(self.terms, Sequence):
            for term in self.terms:
                if isinstance(term, Term):
                    found |= {f"{term.title}__{field.name}": getattr(term, field.name) for field in term.fields()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and those of terms as ``name__parameter``."""
        own = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**own)
        by_term: dict[str, dict] = {}
        for name, value in params.items():
            if "__" in name:
                term, field = name.rsplit("__", 1)
                by_term.setdefault(term, {})[field] = value
        known = {term.title: k for k, term in enumerate(self.terms)}
        for name, changes in by_term.items():
            if name not in known:
                raise ValueError(f"there is no term {name!r}; the terms are {', '.join(map(repr, known))}")
            listed = list(self.terms)
            listed[known[name]] = _changed(listed[known[name]], changes)
            self.terms = listed
        return self


def _changed(term: Any, changes: dict[str, Any]) -> Any:
    """A term with other parameters."""
    fields = [field.name for field in term.fields()]
    if unknown := [name for name in changes if name not in fields]:
        raise ValueError(
            f"the term {term.title!r} has no parameter {unknown[0]!r}; its parameters are "
            + ", ".join(map(repr, fields))
        )
    return dataclasses.replace(term, **changes)


# --- fitted terms as tables and text ---------------------------------------------------------------------------------


def groups_of(model: Any, block: Block, place: slice) -> np.ndarray:
    """The groups of a term's labels, a row for each linear function: fused labels share a number."""
    exactly = getattr(model, "_fused_exactly", False)
    coefs, edges = np.atleast_2d(model._dense_coef())[:, place], block.labels().edges
    return np.array([_fitting.fused_groups(block.coefficients(coef), edges, exactly) for coef in coefs])


def _table_of(model: Any) -> Any:
    """The coefficients level by level, as a frame of the library of the table that was fitted."""
    coefs = np.atleast_2d(model._dense_coef())
    placed = [(block, place, groups_of(model, block, place)) for block, place in model._design.placed()]
    columns: dict[str, list] = {"class": []} if len(coefs) > 1 else {}
    columns |= {name: [] for name in ("term", "level", "group", "coefficient")}
    columns |= {"relativity": []} if has_log_link(_fitting.as_loss(model.loss)) else {}
    columns |= {name: [] for name in ("rows", "exposure")}
    for k, coef in enumerate(coefs):
        for block, place, groups in placed:
            labels, values = block.labels(), block.coefficients(coef[place]) + 0.0  # no -0.0
            rows = {
                "class": [str(model.classes_[k])] * len(values) if len(coefs) > 1 else [],
                "term": [block.name] * len(values),
                "level": map(str, labels.names),
                "group": map(int, groups[k]),
                "coefficient": map(float, values),
                "relativity": (float(np.exp(value)) for value in values),
                "rows": map(int, labels.rows),
                "exposure": map(float, labels.exposure),
            }
            for name, column in columns.items():
                column.extend(rows[name])
    return nw.from_dict(columns, backend=model._library).to_native()


def _described(model: Any) -> Iterator[str]:
    """A line for each term."""
    coefs = np.atleast_2d(model._dense_coef())
    for block, place in model._design.placed():
        yield f"  {block.name} ({block.kind}): {block.describe(coefs[:, place], groups_of(model, block, place))}"
