"""The base class of the network lasso: the problem over all nodes, and the models of nodes and of new places."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._core.states import is_graph, is_numbers
from ..penalties import L1, GroupL2
from ..problem import Problem
from ._fitting import as_scalar_loss, fused_groups
from ._gate import rows_to_predict
from ._network import (
    as_labels,
    blocks_of_nodes,
    differences_of_nodes,
    neighbours_of,
    network_of,
    numbers_of,
    places_of,
    scores_at_nodes,
    scores_at_places,
)
from ._predicting import as_offset
from ._signals import NOT_NEGATIVE, Outcome, SignalModel
from ._types import GraphLike, MatrixLike, PerRow, ValidRows

__all__ = ["NetworkModel"]


class NetworkModel(SignalModel):
    """A coefficient vector for each node, with a penalty of their differences along edges."""

    graph: GraphLike
    coordinates: Any
    l2: float | None  # type: ignore[assignment]
    norm: str
    n_neighbors: int
    unseen: str
    fit_intercept: bool
    intercept_: np.ndarray
    _parts: ClassVar[str] = "clusters of nodes"

    _parameter_constraints: ClassVar[dict] = {
        **SignalModel._parameter_constraints,
        "graph": "no_validation",
        "coordinates": "no_validation",
        "l2": [NOT_NEGATIVE, None],
        "norm": [StrOptions({"l1", "l2"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "unseen": [StrOptions({"median", "nearest"})],
        "fit_intercept": ["boolean"],
    }

    def _fit_nodes(
        self,
        X: ValidRows,
        targets: list[np.ndarray],
        groups: npt.ArrayLike | None,
        sample_weight: npt.ArrayLike | None,
        offset: npt.ArrayLike | None,
    ) -> None:
        """Fit the models of all nodes for each array of targets."""
        loss, n, weight = as_scalar_loss(self.loss), X.shape[0], None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        given = np.asarray(groups)
        numbers_of(groups, as_labels(list(dict.fromkeys(np.ravel(given).tolist()))), n)  # before the graph is made
        places = places_of(self.graph, self.coordinates, given)
        node, network = numbers_of(groups, places.labels, n), network_of(self.graph, places, int(self.n_neighbors))
        order = np.argsort(node, kind="stable")  # rows of a node beside each other: their block is read at once
        design = blocks_of_nodes(X[order], node[order], network.d, self.fit_intercept)
        width = design.shape[1] // network.d
        total = float(n if weight is None else weight.sum())
        self.alpha_, self.l2_ = (1.0 / total if given is None else float(given) for given in (self.alpha, self.l2))
        A = differences_of_nodes(network.edges, network.d, width)
        known = PerRow(weight, as_offset(offset, n)).taken(order)
        outcomes = []
        for y in targets:
            problem = Problem(
                design,
                y[order],
                loss=loss,
                penalty=self._penalty(network.weights, width),
                A=A,
                gamma=self._ridge(np.bincount(node, weight, minlength=network.d), X.shape[1]),
                sample_weight=known.weight,
                offset=known.offset,
            )
            outcomes.append(self._solve(problem))
        self.nodes_, self._places = places.labels, places
        self.graph_, self.graph_weights_ = network.edges, network.weights
        self._set_models(outcomes, width)
        self._set_outcomes(outcomes)

    def _penalty(self, weights: np.ndarray, width: int) -> L1 | GroupL2:
        if self.norm == "l1":
            return L1(self.alpha_, np.repeat(weights, width))
        return GroupL2(self.alpha_, list(np.arange(len(weights) * width).reshape(-1, width)), weights)

    def _ridge(self, weight_of_node: np.ndarray, features: int) -> np.ndarray:
        """The ridge, without the intercepts, and without the nodes that have no rows: those follow their neighbours."""
        of_node = np.append(np.full(features, self.l2_), np.zeros(int(self.fit_intercept)))
        return np.where(weight_of_node[:, None] > 0, of_node, 0.0).reshape(-1)

    def _set_models(self, outcomes: list[Outcome], width: int) -> None:
        models = np.array([outcome.result.w_average.reshape(-1, width) for outcome in outcomes])
        if not self.fit_intercept:
            models = np.concatenate([models, np.zeros((*models.shape[:2], 1))], axis=2)
        self._fused_exactly = all(outcome.fused for outcome in outcomes)
        self._models = models if len(outcomes) > 1 else models[0]
        self.coef_, self.intercept_ = self._models[..., :-1].copy(), self._models[..., -1].copy()

    def _scores(
        self,
        X: MatrixLike,
        groups: npt.ArrayLike | None,
        coordinates: npt.ArrayLike | None,
        offset: npt.ArrayLike | None,
    ) -> np.ndarray:
        """The linear function of each row, at its node or at its place; a column for each of several classes."""
        check_is_fitted(self)
        rows = rows_to_predict(self, X)
        n = rows.shape[0]
        if (groups is None) == (coordinates is None):
            raise ValueError(
                "give either groups, the node of each row, or coordinates, the place of each row; "
                f"got {'neither' if groups is None else 'both'}"
            )
        models = self._models.reshape(-1, *self._models.shape[-2:])
        if groups is not None:
            found = scores_at_nodes(rows, numbers_of(groups, self.nodes_, n), models)
        else:
            nearest = 1 if self.unseen == "nearest" else int(self.n_neighbors)
            found = scores_at_places(rows, neighbours_of(coordinates, n, self._places, nearest), models)
        shift = as_offset(offset, n)
        found += 0.0 if shift is None else shift[:, None]
        return found[:, 0] if len(models) == 1 else found

    @property
    def clusters_(self) -> np.ndarray:
        """The cluster of each node: nodes connected by edges with equal models share a number."""
        check_is_fitted(self)
        models = self._models.reshape(-1, *self._models.shape[-2:])
        labels = [fused_groups(model, self.graph_, self._fused_exactly) for model in models]
        return labels[0] if len(labels) == 1 else np.array(labels)

    @property
    def n_pieces_(self) -> int:
        """The number of clusters of nodes; the largest over the classes."""
        return int(np.max(self.clusters_)) + 1

    def _size(self) -> str:
        return f"{len(self.nodes_)} nodes, {len(self.graph_)} edges, {self.n_features_in_} features"

    def _is_consistent(self) -> bool:
        functions, nodes, where = self._models.shape[:-2], len(self.nodes_), self._places.coordinates
        classes = getattr(self, "classes_", None)
        return (
            functions == (() if classes is None or len(classes) == 2 else (len(classes),))
            and is_numbers(self.coef_, (*functions, nodes, self.n_features_in_))
            and is_numbers(self.intercept_, (*functions, nodes))
            and is_numbers(self._models, (*functions, nodes, self.n_features_in_ + 1))
            and is_graph(self.graph_, self.graph_weights_, nodes)
            and np.shape(self._places.labels) == np.shape(self.nodes_) == (nodes,)
            and (where is None or is_numbers(where, (nodes, *np.shape(where)[1:])))
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
