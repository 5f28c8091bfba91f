"""Models saved by adasadmm 0.2.0 with solvers that have another name now: run with 0.2.0, and with no later version."""

import pathlib

import numpy as np

import adasadmm
from adasadmm import DualGradient, SoftThreshold, StructuredRegressor, TotalVariationDenoiser, save_model

HERE = pathlib.Path(__file__).parent

if __name__ == "__main__":
    assert adasadmm.__version__ == "0.2.0"
    image = np.kron([[0.0, 1.0], [2.0, -1.0]], np.ones((2, 3)))
    save_model(TotalVariationDenoiser(alpha=0.02, l1_ratio=0.3).fit(image), HERE / "image.skops")
    solver = SoftThreshold(DualGradient())
    model = StructuredRegressor("chain", alpha=0.05, l2=0.0, l1_ratio=0.2, fit_intercept=False, solver=solver)
    save_model(model.fit(np.eye(6), [0.0, 0.0, 3.0, 3.0, -1.0, -1.0]), HERE / "series.skops")
