"""House prices in Sacramento: a linear model for each house, neighbours alike, against one model for all of them.

The task is that of Hallac, Leskovec and Boyd (Network Lasso, KDD 2015), whose split was random and is not known; here
it is done for ten splits into 785 and 200 houses. Each training house is a node with its own coefficients of bedrooms,
bathrooms and area and its own intercept, connected with its nearest neighbours. The strengths of all methods are chosen
on three inner splits of the training houses. Data: those of the case study "sacramento".
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import page
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from adasadmm import NetworkLassoRegressor

SPLITS, INNER, INNER_TEST = 10, 3, 157
FEATURES = ["beds_norm", "baths_norm", "sq__ft_norm"]
MILES = 69.0  # of a degree of latitude
STRENGTHS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # alpha times the number of rows
RIDGE = 0.5  # l2 times the number of rows, as in the paper


class Houses(NamedTuple):
    """Features, prices in units of their standard deviation, and places in miles."""

    X: np.ndarray
    y: np.ndarray
    place: np.ndarray

    def taken(self, rows: np.ndarray) -> Houses:
        return Houses(*(part[rows] for part in self))


Method = Callable[[Houses, Houses], np.ndarray]


def read() -> tuple[Houses, list[np.ndarray]]:
    """All houses, and the test rows of each split."""
    sales = page.case("sacramento").tables["sales"]
    latitude, longitude = (sales[name].astype(float).to_numpy() for name in ("latitude", "longitude"))
    place = MILES * np.column_stack([longitude * np.cos(np.radians(latitude.mean())), latitude])
    X = sales[FEATURES].astype(float).to_numpy()
    marks = np.array([list(mark) for mark in sales["test_in_splits"]]) == "1"
    return Houses(X, sales["price_norm"].astype(float).to_numpy(), place), [marks[:, k] for k in range(SPLITS)]


def network(strength: float, ridge: float) -> Method:
    def predict(train: Houses, test: Houses) -> np.ndarray:
        n = len(train.y)
        model = NetworkLassoRegressor("knn", strength / n, coordinates=train.place, l2=ridge / n)
        return model.fit(train.X, train.y, groups=np.arange(n)).predict(test.X, coordinates=test.place)

    return predict


def ordinary(train: Houses, test: Houses) -> np.ndarray:
    return LinearRegression().fit(train.X, train.y).predict(test.X)


def neighbours(count: int) -> Method:
    return lambda train, test: KNeighborsRegressor(count).fit(train.place, train.y).predict(test.place)


def boosting(rate: float, leaves: int) -> Method:
    def predict(train: Houses, test: Houses) -> np.ndarray:
        model = HistGradientBoostingRegressor(learning_rate=rate, max_leaf_nodes=leaves, random_state=0)
        both = [np.column_stack([part.X, part.place]) for part in (train, test)]
        return model.fit(both[0], train.y).predict(both[1])

    return predict


METHODS: dict[str, list[Method]] = {
    "OLS, one model for all": [ordinary],
    "mean of the 5 nearest neighbours": [neighbours(5)],
    "gradient boosting with coordinates": [boosting(*pair) for pair in itertools.product((0.03, 0.1), (5, 15))],
    "network lasso": [network(strength, RIDGE) for strength in STRENGTHS],
}


def error(method: Method, train: Houses, test: Houses) -> float:
    return float(np.mean((method(train, test) - test.y) ** 2))


def inner_splits(train: Houses) -> Iterator[tuple[Houses, Houses]]:
    for seed in range(INNER):
        order = np.random.default_rng(seed).permutation(len(train.y))
        yield train.taken(order[INNER_TEST:]), train.taken(order[:INNER_TEST])


def chosen(methods: list[Method], train: Houses) -> Method:
    """The method with the least error on the inner splits."""
    if len(methods) == 1:
        return methods[0]
    return min(methods, key=lambda method: np.mean([error(method, *pair) for pair in inner_splits(train)]))


def text() -> str:
    houses, splits = read()
    rows: list[list[Any]] = []
    for name, methods in METHODS.items():
        errors, begun = [], time.perf_counter()
        for k, test in enumerate(splits):
            train = houses.taken(~test)
            errors.append(error(chosen(methods, train), train, houses.taken(test)))
            print(f"{name}, split {k}: {errors[-1]:.3f}", file=sys.stderr, flush=True)
        seconds = time.perf_counter() - begun
        each = " ".join(f"{value:.2f}" for value in errors)
        rows.append([name, f"{np.mean(errors):.3f}", f"{np.std(errors):.3f}", each, f"{seconds:.0f}"])
    return page.table(["method", "mean squared error", "sd", "of each split", "seconds, with the choice"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    page.show(__file__, "benchmarks.md", text)
