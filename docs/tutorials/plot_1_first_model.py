"""
Your first graph-guided model
=============================

In ten minutes: install the package, fit a model, interpret it, choose its strength, and save it.

.. code-block:: bash

    pip install ".[report,models]"        # in a clone of the repository

You need Python 3.11 or newer, but no compiler. The first fit in a new environment may take some seconds longer, because
its loops are compiled; the compiled code is cached on disk.
"""

# %%
# Data
# ----
#
# The data set, which comes with scikit-learn, has named measurements of 569 tumours. You would read your own data with
# ``pandas.read_csv``. Penalised models need columns of the same scale, so the pipeline starts with a scaler;
# ``set_output`` keeps the column names.

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
# The model minimises ``mean loss + l2/2 |w|^2 + alpha sum over edges |w_i - w_j|``: the coefficients at the ends of an
# edge are drawn together. By default, as here, the edges are learnt from the columns by sparse inverse covariance: two
# columns are joined if they are correlated given all other columns.

from adasadmm import GraphGuidedClassifier

model = make_pipeline(scaler, GraphGuidedClassifier(loss="logistic", alpha=0.01))
model.fit(X_train, y_train)
print("test accuracy", round(model.score(X_test, y_test), 3))

# %%
# Interpret the model
# -------------------

fitted = model[-1]
print(fitted.summary())

# %%
# The last line is a proven bound on the distance of the objective from its minimum. If the default, ``solver="auto"``,
# does not reach ``tol`` (1e-6), it warns.
#
# The groups of equal coefficients consist of features that are connected by edges and have equal coefficients.
# ``clusters_`` contains the number of the group of each feature.

table = pd.DataFrame({"coefficient": fitted.coef_[0], "group": fitted.clusters_}, index=fitted.feature_names_in_)
table[table.groupby("group").transform("size") > 1].sort_values(["group"])

# %%
# Plot the coefficients
# ---------------------
#
# Each dot is a feature, and each line an edge of the learnt graph. The model treats connected dots of the same colour
# as one feature.

import matplotlib.pyplot as plt

from adasadmm import GraphWeightsDisplay

figure, ax = plt.subplots(figsize=(9, 6), layout="constrained")
GraphWeightsDisplay.from_estimator(fitted, ax=ax)
ax.set_title("coefficients on the learnt graph; red indicates a benign tumour")
plt.show()

# %%
# Choose the strength
# -------------------
#
# ``alpha`` is the only parameter that you have to choose, and cross-validation can choose it for you, along a path from
# the strength that fuses all coefficients down to a thousandth of it. ``rule="1se"`` selects the simplest model within
# one standard error of the best.

from adasadmm import GraphGuidedClassifierCV

search = make_pipeline(scaler, GraphGuidedClassifierCV(loss="logistic", alphas=8, cv=3, rule="1se"))
search.fit(X_train, y_train)
print("chosen: alpha =", f"{search[-1].alpha_:.2g}", " test accuracy", round(search.score(X_test, y_test), 3))

# %%
# Save the model
# --------------
#
# The file does not use pickle, and loading it runs no code (:doc:`/persistence`).

import tempfile
from pathlib import Path

from adasadmm import load_model, save_model

path = Path(tempfile.mkdtemp()) / "tumours.skops"
save_model(search, path)
print(load_model(path).predict(X_test)[:10])

# %%
# Next steps
# ----------
#
# - You know the graph: :ref:`sphx_glr_generated_tutorials_plot_2_own_graph.py`.
# - Your rows do not fit in memory: :ref:`sphx_glr_generated_tutorials_plot_3_files.py`.
# - The estimators in detail: :doc:`/estimators`.
# - From a terminal: ``adasadmm fit train.csv --target label --model model.skops``; see ``adasadmm --help``.
