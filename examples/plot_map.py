"""
A map: counts that are too small to show
========================================

Cases of a rare disease in 900 districts of 20 to 200 people each. The raw rates are mostly noise. The rates of
neighbouring districts are alike, though, but for a border or two: the grid of districts as graph finds the regions.

The map is generated: the rate is 4 % but for a city with 12 % and a coast with 1 %.
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
# Each district has a coefficient, the logarithm of its rate. A district of many people tells more: that is its
# weight. With the Poisson loss and the rate as target, weighted by people, the likelihood is that of the counts.

model = GraphGuidedRegressor(("grid", side, side), loss="poisson", alpha=4e-5, l2=1e-7, tol=1e-3)
model.fit(np.eye(side * side), (cases / people).reshape(-1), sample_weight=people.reshape(-1))
fitted = np.exp(model.coef_ + model.intercept_).reshape(side, side)
print(model.summary())

# %%
# The same scale for all three maps; a raw rate above 15 % is shown as 15 %.

figure, axes = plt.subplots(1, 3, figsize=(10, 4), sharey=True)
for ax, title, values in zip(axes, ("truth", "raw rates", "graph-guided"), (rate, cases / people, fitted), strict=True):
    drawn = ax.imshow(100 * values, cmap="viridis", vmin=0, vmax=15, origin="lower")
    ax.set(title=title, xticks=[], yticks=[])
    error = 100 * np.sqrt(np.mean((values - rate) ** 2))
    ax.set_xlabel(f"error {error:.1f} points" if title != "truth" else "")
figure.colorbar(drawn, ax=axes, label="cases for 100 people", shrink=0.8)
plt.show()

# %%
# In the raw rates the city is a rash and the coast can hardly be told from chance. The fitted map shows both, with
# edges, because the penalty counts how much the rates differ along borders and so prefers few clear borders to many
# small steps. The strength was chosen by eye.
