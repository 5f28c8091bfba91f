"""
A trend with a kink, at uneven times
====================================

A sensor reports at irregular times and was silent for a while. Its signal rises, turns, and falls at another rate.
:class:`~adasadmm.TrendFilter` of order 1 fits lines that join at kinks: it finds where the slope changes, fills the
silence and continues the last line.

The series is generated.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from adasadmm import TrendFilter

rng = np.random.default_rng(2)
t = np.sort(rng.uniform(0.0, 100.0, 300))
truth = np.interp(t, [0.0, 45.0, 100.0], [1.0, 8.0, 2.0])
y = truth + 0.7 * rng.normal(size=t.size)
y[(t > 55.0) & (t < 68.0)] = np.nan  # no reports

# %%
# The strength is chosen by cross-validation over shuffled folds, which tests interpolation. ``fit`` takes missing
# targets as ``NaN``.

seen = ~np.isnan(y)
alphas = {"alpha": np.logspace(-1, 1.5, 11)}
search = GridSearchCV(TrendFilter(order=1), alphas, cv=KFold(5, shuffle=True, random_state=0))
search.fit(t[seen].reshape(-1, 1), y[seen])
model = TrendFilter(order=1, alpha=search.best_params_["alpha"]).fit(t, y)
print(model.summary())

# %%
# Beside the lines, steps (order 0): the same class, but a shape that does not suit this signal.

steps = TrendFilter(order=0, alpha=0.02).fit(t, y)
times = np.linspace(0.0, 110.0, 1000)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, title, fitted in zip(axes, ("order 1: lines", "order 0: steps"), (model, steps), strict=True):
    ax.scatter(t, y, s=6, color="0.6", label="reports")
    ax.plot([0.0, 45.0, 100.0], [1.0, 8.0, 2.0], color="black", linewidth=1, label="truth")
    ax.plot(times, fitted.predict(times), color="C1", linewidth=2.5, label="fitted, and continued to 110")
    ax.vlines(fitted.change_points_, *ax.get_ylim(), color="C0", linewidth=0.8, linestyle="dotted", label="changes")
    error = np.sqrt(np.mean((fitted.predict(t) - truth) ** 2))
    ax.set(title=f"{title}, {fitted.n_pieces_} pieces, error {error:.2f}", xlabel="time")
axes[0].legend(loc="lower center")
plt.show()

# %%
# The kink at 45 is found within a few time units, and the silence between 55 and 68 is bridged by a line. The penalty
# is the sum of the changes of the slope. It prefers one sharp kink to many small ones, but shrinks the kink a little,
# so that strong penalties round it off by two or three neighbouring ones. "Error" is the root mean square distance
# between the fit and the truth, at the times of the reports.
