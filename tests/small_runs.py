"""A small problem whose runs tests save and resume."""

import numpy as np

from adasadmm import L1, Hinge, Problem, graphs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6))
Y = np.where(X[:, 0] + X[:, 1] + 0.5 * RNG.normal(size=400) > 0, 1.0, -1.0)
CHAIN = graphs.incidence(graphs.chain(6))
PARTS = {"loss": Hinge(), "penalty": L1(1e-2), "A": CHAIN, "gamma": 1e-2}
PROBLEM = Problem(X, Y, **PARTS)
