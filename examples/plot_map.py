"""
A disease map from small counts
===============================

A rare disease occurs in 900 districts of 20 to 200 people each, so the raw rates are mostly noise. Except at a few
borders, however, neighbouring districts have similar rates: with the grid of districts as graph, the model finds the
regions.

The map is generated: the rate is 4 %, except for a city with 12 % and a coast with 1 %.
"""

import matplotlib.pyplot as plt
import numpy as np

from adasadmm import GraphGuidedRegressor

side = 30
rng = np.random.default_rng(0)
north, east = np.mgrid[:side, :side]
city = (north - 19) ** 2 + (east - 10) ** 2 < 36
coast = east + north // 3 > 30
rate = np.select([city, coast], [0.12, 0.01], 0.04)
people = rng.integers(20, 200, size=rate.shape)
cases = rng.poisson(people * rate)

# %%
# Each district has a coefficient, the logarithm of its rate. Larger districts are more informative, so districts are
# weighted by population. With the Poisson loss and the rate as target, this weighting gives the likelihood of the
# counts.

model = GraphGuidedRegressor(("grid", side, side), loss="poisson", alpha=4e-5, l2=1e-7, tol=1e-3)
model.fit(np.eye(side * side), (cases / people).reshape(-1), sample_weight=people.reshape(-1))
fitted = np.exp(model.coef_ + model.intercept_).reshape(side, side)
print(model.summary())

# %%
# All three maps have the same scale; raw rates above 15 % are shown as 15 %.

figure, axes = plt.subplots(1, 3, figsize=(10, 4), sharey=True)
for ax, title, values in zip(axes, ("truth", "raw rates", "graph-guided"), (rate, cases / people, fitted), strict=True):
    drawn = ax.imshow(100 * values, cmap="viridis", vmin=0, vmax=15, origin="lower")
    ax.set(title=title, xticks=[], yticks=[])
    error = 100 * np.sqrt(np.mean((values - rate) ** 2))
    ax.set_xlabel(f"error {error:.1f} points" if title != "truth" else "")
figure.colorbar(drawn, ax=axes, label="cases for 100 people", shrink=0.8)
plt.show()

# %%
# In the raw rates, the city appears as scattered dots, and the coast is hardly distinguishable from noise. The fitted
# map shows both with sharp borders, because the penalty is the total difference of the log rates across borders, which
# favours few clear borders over many small steps. The strength was chosen by eye.
