"""Targets and orders of rows at random."""

import numpy as np

from adasadmm import losses
from adasadmm.losses import Gamma, NegativeBinomial, Poisson


def random_targets(loss, rng, z):
    """Targets that a loss takes, distributed as it assumes where it has a logarithmic link: around z, or exp(z)."""
    if losses.takes_labels(loss):
        return np.where(z + rng.normal(size=len(z)) > 0.0, 1.0, -1.0)
    if not losses.has_log_link(loss):
        return z + rng.normal(size=len(z))
    mean = np.exp(np.clip(z, -3.0, 3.0))
    counts = rng.poisson(mean).astype(float)
    if isinstance(loss, (Poisson, NegativeBinomial)):
        return counts
    amounts = rng.gamma(2.0, 0.5 * mean) + 1e-3
    return amounts if isinstance(loss, Gamma) else np.where(counts > 0.0, amounts, 0.0)


def drawn(problem, seed):
    """An epoch of rows drawn with replacement, as the theorems assume."""
    return np.random.default_rng(seed).integers(problem.n, size=problem.n)
