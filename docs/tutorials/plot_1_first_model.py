"""
Your first graph-guided model
=============================

In ten minutes: install, fit a model, read what it says, choose the strength, keep it.

.. code-block:: bash

    pip install "adasadmm[report,models]"

Python 3.11 or newer, nothing to compile. The first fit in a new environment takes some seconds longer, because its
loops are compiled then; what was compiled is kept on disk.
"""

# %%
# Data
# ----
#
# Measurements of 569 tumours, with names; they come with scikit-learn. Your own would come from
# ``pandas.read_csv``. Models with a penalty want columns of one scale, so there is a scaler in front;
# ``set_output`` keeps the names of the columns behind it.

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
scaler = StandardScaler().set_output(transform="pandas")
X_train.iloc[:3, :4]

# %%
# Fit
# ---
#
# The model minimises ``mean loss + l2/2 |w|^2 + alpha sum over edges |w_i - w_j|``: coefficients that an edge joins
# are drawn together. Which edges? Here they are learnt from the columns themselves, by sparse inverse covariance,
# which is the default: two columns are joined where one says something of the other that no third one says.

from adasadmm import GraphGuidedClassifier

model = make_pipeline(scaler, GraphGuidedClassifier(loss="logistic", alpha=0.01))
model.fit(X_train, y_train)
print("test accuracy", round(model.score(X_test, y_test), 3))

# %%
# What was fitted
# ---------------

fitted = model[-1]
print(fitted.summary())

# %%
# The last line is a proof: the objective is at most so far above the best that any coefficients can reach. If
# ``solver="auto"``, the default, cannot get below ``tol`` (0.001), it warns.
#
# "Groups of equal coefficients": features that edges join and whose coefficients came out equal. ``clusters_`` has
# a number for each feature.

table = pd.DataFrame({"coefficient": fitted.coef_[0], "group": fitted.clusters_}, index=fitted.feature_names_in_)
table[table.groupby("group").transform("size") > 1].sort_values(["group"])

# %%
# A picture
# ---------
#
# Each dot is a feature, a line an edge of the learnt graph. Dots of one colour that a line joins are what the model
# takes for one thing.

import matplotlib.pyplot as plt

from adasadmm import GraphWeightsDisplay

figure, ax = plt.subplots(figsize=(9, 6))
GraphWeightsDisplay.from_estimator(fitted, ax=ax)
ax.set_title("coefficients on the learnt graph; red speaks for a benign tumour")
plt.show()

# %%
# Choose the strength
# -------------------
#
# ``alpha`` is the one number that is up to you, and cross-validation can choose it: along a path from the strength
# at which everything is equal, down to a thousandth of it. ``rule="1se"`` takes the simplest model that is within a
# standard error of the best.

from adasadmm import GraphGuidedClassifierCV

search = make_pipeline(scaler, GraphGuidedClassifierCV(loss="logistic", alphas=8, cv=3, rule="1se"))
search.fit(X_train, y_train)
print("chosen: alpha =", f"{search[-1].alpha_:.2g}", " test accuracy", round(search.score(X_test, y_test), 3))

# %%
# Keep it
# -------
#
# A file without pickle, from which loading runs no code (:doc:`/persistence`).

import tempfile
from pathlib import Path

from adasadmm import load_model, save_model

path = Path(tempfile.mkdtemp()) / "tumours.skops"
save_model(search, path)
print(load_model(path).predict(X_test)[:10])

# %%
# Where to go on
# --------------
#
# - You know the graph: :ref:`sphx_glr_generated_tutorials_plot_2_own_graph.py`.
# - The rows do not fit in memory: :ref:`sphx_glr_generated_tutorials_plot_3_files.py`.
# - All that the estimators can do: :doc:`/estimators`.
# - From a terminal: ``adasadmm fit train.csv --target label --model model.skops``; ``adasadmm --help`` tells more.
