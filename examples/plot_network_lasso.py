"""
A model for each place: the network lasso
=========================================

How a price depends on the size of a flat differs from one part of a town to another, and nobody knows where these parts
end. The network lasso fits a linear model at each place and draws the models of neighbours towards each other. The
Euclidean norm of their differences makes most of them exactly 0, so that the parts of the town come out as clusters of
places with one model each.
"""

# %%
# A town of 250 places, with three parts that have different slopes and intercepts. Each place has only three sales: far
# too few for a model of its own.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from adasadmm import NetworkLassoRegressor

rng = np.random.default_rng(3)
places = rng.uniform(-1, 1, size=(250, 2))
part = np.where(np.hypot(places[:, 0] + 0.2, places[:, 1]) < 0.5, 0, np.where(places[:, 0] + places[:, 1] > 0.3, 1, 2))
slopes, levels = np.array([3.0, 1.0, 1.8])[part], np.array([2.0, 0.0, 1.0])[part]


def sales(count):
    place = np.repeat(np.arange(len(places)), count)
    size = rng.normal(size=(len(place), 1))
    return place, size, slopes[place] * size[:, 0] + levels[place] + 0.7 * rng.normal(size=len(place))


place, size, price = sales(3)
new_place, new_size, new_price = sales(20)

# %%
# ``graph="knn"`` connects each place with its nearest ones. The strength is chosen by a third of the sales: one at each
# place.

left_out = np.arange(len(place)) % 3 == 0
errors = {}
for alpha in (0.003, 0.006, 0.012, 0.025, 0.05):
    model = NetworkLassoRegressor("knn", alpha / 10, coordinates=places, l2=1e-5)
    model.fit(size[~left_out], price[~left_out], groups=place[~left_out])
    predicted = model.predict(size[left_out], groups=place[left_out])
    errors[alpha / 10] = np.mean((predicted - price[left_out]) ** 2)
alpha = min(errors, key=errors.get)
model = NetworkLassoRegressor("knn", alpha, coordinates=places, l2=1e-5).fit(size, price, groups=place)
print(model.summary())

# %%
# One model for all places misses the parts; one for each place follows the noise.

one = LinearRegression().fit(size, price)
alone = NetworkLassoRegressor("knn", 0.0, coordinates=places, l2=1e-5).fit(size, price, groups=place)
for name, predicted in (
    ("one model", one.predict(new_size)),
    ("a model for each place alone", alone.predict(new_size, groups=new_place)),
    ("network lasso", model.predict(new_size, groups=new_place)),
):
    print(f"{name}: mean squared error {np.mean((predicted - new_price) ** 2):.2f}, of which noise 0.49")

# %%
# The slopes at all places. Grey lines are edges along which the models are equal.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharex=True, sharey=True, layout="constrained")
fused = model.clusters_[model.graph_[:, 0]] == model.clusters_[model.graph_[:, 1]]
for ax, title, values in zip(
    axes, ("true", "each place alone", "network lasso"), (slopes, alone.coef_[:, 0], model.coef_[:, 0]), strict=True
):
    if title == "network lasso":
        for i, j in model.graph_[fused]:
            ax.plot(*places[[i, j]].T, color="0.8", linewidth=0.8, zorder=0)
    drawn = ax.scatter(*places.T, c=values, vmin=0.0, vmax=4.0, cmap="viridis", s=22)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
fig.colorbar(drawn, ax=axes, label="slope")
plt.show()

# %%
# A new place gets the geometric median of the models of its neighbours: what the penalty would give to a node there.

print(model.predict([[1.0], [1.0]], coordinates=[[-0.2, 0.0], [0.8, 0.8]]).round(2), "where the truth is", [5.0, 1.0])
