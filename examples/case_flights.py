"""Late flights: 5,496 coefficients of origin x hour on a product graph, streamed over three million rows.

Is a flight at least 15 minutes late? The model has one coefficient for each origin and hour, 229 airports times 24
hours; consecutive hours of an airport and equal hours of neighbouring airports are drawn towards each other. Hour,
weekday and destination are further columns. The test rows are those of June; the training rows are January to May, May
alone, or its last week. The rows of the design, of 5,756 columns, are made block by block. A tenth of the training rows
is held out, and the strength with the smallest loss there is used: of fusion in one model, of the ridge in the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import casebook
import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn.metrics import log_loss, roc_auc_score

from adasadmm import GraphGuidedClassifier, sources

LATE = 15  # minutes
HOURS, DAYS = 24, 7
DAY = 24 * 60
MAY, LAST_WEEK, JUNE = 120 * DAY, 144 * DAY, 151 * DAY  # minutes since the first of January
BASELINE = {"log-loss": 0.5013, "AUC": 0.6634}  # logistic regression of hour, weekday, origin and destination, one-hot
ALPHAS = (3e-7, 1e-6, 3e-6, 1e-5)  # times the square root of 2,500,000 / rows: the noise of a gradient
L2S = (1e-7, 1e-6, 1e-5)
NEIGHBOURS, NEIGHBOUR_WEIGHT = 3, 0.1
FUSED, UNFUSED = "origin x hour, fused", "origin x hour, not fused"


class Flights(sources.Source):
    """The flights from one minute to another; a partition is 50,000 of them, encoded when it is read."""

    block_rows = 50_000

    def __init__(self, flights: Any, airports: Any, first: int, last: int) -> None:
        self.airports = len(airports)
        super().__init__(n_features=self.airports * HOURS + HOURS + DAYS + self.airports)
        minute = flights["minute"].to_numpy()
        begin, end = np.searchsorted(minute, [first, last])
        self.minute = minute[begin:end]
        self.late = np.where(flights["delay"].to_numpy()[begin:end] >= LATE, 1.0, -1.0).astype(np.int8)
        number = {code: k for k, code in enumerate(airports["iata"])}
        self.origin, self.destination = (
            np.array([number[code] for code in flights[name].cat.categories], np.int16)[
                flights[name].cat.codes.to_numpy()[begin:end]
            ]
            for name in ("origin", "destination")
        )

    def __len__(self) -> int:
        return -(-len(self.minute) // self.block_rows)

    def __repr__(self) -> str:
        return f"{len(self.minute):,} flights"

    def read_rows(self, partition: int, faults: sources.Faults) -> Iterator[sources.RawBlock]:
        chosen = slice(partition * self.block_rows, (partition + 1) * self.block_rows)
        minute = self.minute[chosen].astype(np.int64)
        hour, first = minute % DAY // 60, self.airports * HOURS
        cell = self.origin[chosen] * np.int64(HOURS) + hour
        day = first + HOURS + minute // DAY % DAYS
        destination = first + HOURS + DAYS + self.destination[chosen].astype(np.int64)
        columns = np.column_stack([cell, first + hour, day, destination])
        n, width = columns.shape
        ends = np.arange(0, width * n + 1, width)
        X = sp.csr_array((np.ones(width * n), columns.reshape(-1), ends), shape=(n, self.n_features))
        block = sources.RawBlock(X, self.late[chosen].astype(float), None, f"flights, partition {partition}")
        yield sources.check_block(block, self.n_features, faults)


def ring(n: int) -> np.ndarray:
    return np.column_stack([np.arange(n), (np.arange(n) + 1) % n])


def near(airports: Any) -> np.ndarray:
    """Each airport with its nearest ones, by the distance along the sphere."""
    latitude, longitude = (np.radians(airports[name].to_numpy()) for name in ("latitude", "longitude"))
    points = np.column_stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )
    others = cKDTree(points).query(points, NEIGHBOURS + 1)[1][:, 1:]
    pairs = np.column_stack([np.repeat(np.arange(len(points)), NEIGHBOURS), others.reshape(-1)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def product_graph(airports: Any) -> tuple[np.ndarray, np.ndarray]:
    """The edges and their weights: hours of an airport, airports at the same hour, weekdays, and destinations."""
    count, places = len(airports), near(airports)
    cells = np.arange(count * HOURS).reshape(count, HOURS)
    along_hours = cells[:, ring(HOURS)].reshape(-1, 2)
    along_places = np.stack([cells[places[:, 0]], cells[places[:, 1]]], axis=-1).reshape(-1, 2)
    first_day = count * HOURS + HOURS
    others = np.concatenate([along_places, first_day + ring(DAYS), first_day + DAYS + places])
    weights = np.repeat([1.0, NEIGHBOUR_WEIGHT], [len(along_hours), len(others)])
    return np.concatenate([along_hours, others]), weights


NO_EDGES = np.empty((0, 2), np.int64)


def fitted(rows: Flights, graph: Any, alpha: float, l2: float) -> GraphGuidedClassifier:
    """A stream: the stochastic method, three epochs over many rows and more over few.

    Theorem 1 wants the beta that divides the largest theta, which is alpha, by the size of the differences.
    """
    epochs = int(np.clip(7_500_000 // len(rows.late), 3, 20))
    settings: dict[str, Any] = {"solver": "ada-diag", "max_iter": epochs, "random_state": 0, "beta": alpha or "auto"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the graph without edges
        model = GraphGuidedClassifier(graph, loss="logistic", alpha=alpha, l2=l2, validation_fraction=0.1, **settings)
        return model.fit(rows)


def chosen(rows: Flights, graph: Any) -> dict[str, GraphGuidedClassifier]:
    """The fused and the unfused model, each with the strength whose loss on the rows held out is smallest."""
    unit = np.sqrt(2_500_000 / len(rows.late))
    tried = {
        FUSED: [fitted(rows, graph, alpha * unit, L2S[0]) for alpha in ALPHAS],
        UNFUSED: [fitted(rows, NO_EDGES, 0.0, l2 * unit) for l2 in L2S],
    }
    return {name: min(models, key=lambda model: model.validation_loss_) for name, models in tried.items()}


def judged(model: GraphGuidedClassifier, rows: Flights) -> dict[str, float]:
    chance = model.predict_proba(rows)[:, 1]
    return {"log-loss": float(log_loss(rows.late, chance)), "AUC": float(roc_auc_score(rows.late, chance))}


def study(case: Any) -> casebook.Outcome:
    flights, airports = case.tables["flights"], case.tables["airports"]
    graph = product_graph(airports)
    june = Flights(flights, airports, JUNE, 2**31 - 1)
    periods = {"January to May": 0, "May": MAY, "the last week of May": LAST_WEEK}
    table, models = [], {}
    for period, first in periods.items():
        train = Flights(flights, airports, first, JUNE)
        casebook.progress(f"{period}: {train!r}")
        for name, model in chosen(train, graph).items():
            found = judged(model, june)
            models[period, name] = model, found
            table.append({"model": name, "trained on": period, "rows": len(train.late), **found})
    late = float(np.mean(Flights(flights, airports, 0, JUNE).late > 0))
    constant = float(log_loss(june.late, np.full(len(june.late), late)))
    one_hot = "hour, weekday, origin, destination (scikit-learn)"
    table.append({"model": one_hot, "trained on": "January to May", "rows": 2_497_772, **BASELINE})
    table.append(
        {"model": "the mean", "trained on": "January to May", "rows": 2_497_772, "log-loss": constant, "AUC": 0.5}
    )
    fused, found = models["January to May", FUSED]
    block = next(june.read_rows(0, sources.Faults("stop")))
    facts = {
        "test_rows": len(june.late),
        "cells": len(airports) * HOURS,
        "columns": june.n_features,
        "edges": len(graph[0]),
        "groups": len(np.unique(fused.clusters_)),
        "log_loss": found["log-loss"],
        "unfused_log_loss": models["January to May", UNFUSED][1]["log-loss"],
        "baseline_log_loss": BASELINE["log-loss"],
        "week_log_loss": models["the last week of May", FUSED][1]["log-loss"],
        "week_unfused_log_loss": models["the last week of May", UNFUSED][1]["log-loss"],
        "validation_loss": fused.validation_loss_,
        "block_rows": june.block_rows,
        "block_megabytes": 12 * 4 * block.X.shape[0] / 1e6,
    }
    return casebook.Outcome(facts=facts, tables={"main": table})


if __name__ == "__main__":
    casebook.main("flights", study)
