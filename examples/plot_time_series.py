"""
Time series: jumps, trends and outliers
=======================================

A time series is a problem with one coefficient for each time point, ``X = I``. The structure determines the shape of
the fit: if few neighbours differ, it is piecewise constant (``"chain"``, the fused lasso); if few slopes change, it is
piecewise linear (``"trend"``, trend filtering). The loss determines the influence of outliers: they distort the fit
with the squared loss, but not with the Huber loss.

The series are generated. Every twentieth time point has a gross error.
"""

import matplotlib.pyplot as plt
import numpy as np

from adasadmm import StructuredRegressor

rng = np.random.default_rng(1)
n = 300
time = np.arange(n)
jumps = np.select([time < 70, time < 140, time < 200], [0.0, 2.0, -1.0], 1.0)
bends = np.interp(time, [0, 90, 180, 240, n], [0.0, 2.5, -1.0, 1.0, 1.0])
noise = 0.3 * rng.normal(size=n) + np.where(time % 20 == 7, 5.0 * rng.choice([-1, 1], n), 0.0)

# %%
# ``l2=0``, because the coefficients should not be shrunk to zero, and no intercept, because each time point already has
# its own level. The strengths were chosen by eye.

figure, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True, sharey=True)
for row, (structure, truth, alpha) in zip(axes, [("chain", jumps, 0.008), ("trend", bends, 0.08)], strict=True):
    for ax, loss in zip(row, ("squared", "huber"), strict=True):
        model = StructuredRegressor(structure, loss=loss, alpha=alpha, l2=0.0, fit_intercept=False, tol=1e-5)
        model.fit(np.eye(n), truth + noise)
        ax.scatter(time, truth + noise, s=6, color="0.6", label="seen")
        ax.plot(time, truth, color="black", linewidth=1, label="truth")
        ax.plot(time, model.coef_, color="C1", linewidth=2.5, label="fitted")
        error = np.sqrt(np.mean((model.coef_ - truth) ** 2))
        ax.set_title(f'A="{structure}", {loss} loss: error {error:.2f}')
        ax.set(ylim=(-6.5, 6.5))
axes[0, 0].legend(loc="lower right", ncols=3, markerscale=2)
axes[1, 0].set_xlabel("time")
axes[1, 1].set_xlabel("time")
plt.show()

# %%
# Top: levels that jump. Bottom: slopes that change. On the left, the gross errors distort the fit; on the right they
# do not, although only ``loss="huber"`` was changed. "Error" is the root mean square distance between the fit and
# the truth.
#
# :class:`adasadmm.TrendFilter` fits such series without a matrix X: levels in linear time by dynamic programming,
# slopes by an interior-point method for banded matrices, both with any loss.
