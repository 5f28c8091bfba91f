"""Models saved by adasadmm 0.2.0, with classes that have other names or modules now: run with 0.2.0 and no other."""

import pathlib

import numpy as np
import pandas as pd

import adasadmm
from adasadmm import (
    DualGradient,
    SoftThreshold,
    StructuredRegressor,
    TermsRegressor,
    TotalVariationDenoiser,
    TrendFilter,
    save_model,
    terms,
)

HERE = pathlib.Path(__file__).parent


def policies():
    """A table with a column for each kind of term, and its targets."""
    k = np.arange(120)
    table = pd.DataFrame({"age": 20 + k % 50, "brand": np.array(list("abcb"))[k % 4], "town": k % 6})
    table["east"], table["north"], table["size"] = table["town"] % 3 + 0.0, table["town"] // 3 + 0.0, np.sin(k)
    table["weight"], table["height"] = np.cos(k), np.where(k % 10 == 3, np.nan, np.sqrt(k))
    return table, 1.0 * (table["age"] > 40) + (table["brand"] == "c") * (table["town"] < 3) + table["size"]


if __name__ == "__main__":
    assert adasadmm.__version__ == "0.2.0"
    image = np.kron([[0.0, 1.0], [2.0, -1.0]], np.ones((2, 3)))
    save_model(TotalVariationDenoiser(alpha=0.02, l1_ratio=0.3).fit(image), HERE / "image.skops")
    solver = SoftThreshold(DualGradient())
    model = StructuredRegressor("chain", alpha=0.05, l2=0.0, l1_ratio=0.2, fit_intercept=False, solver=solver)
    save_model(model.fit(np.eye(6), [0.0, 0.0, 3.0, 3.0, -1.0, -1.0]), HERE / "series.skops")
    kinds = [
        terms.ordered("age", bins=6, monotone="increasing"),
        terms.nominal("brand"),
        terms.spatial("town", coordinates=("east", "north"), unknown="nearest", neighbours=2),
        terms.interaction("age", "brand"),
        terms.linear(["size", "height"], missing="indicator"),
        terms.group(["weight"]),
    ]
    save_model(TermsRegressor(kinds, alpha=0.01, tol=1e-6).fit(*policies()), HERE / "terms.skops")
    trend = TrendFilter(order=1, alpha=0.01).fit(np.arange(12.0), np.abs(np.arange(12.0) - 5.0))
    save_model(trend, HERE / "trend.skops")
