"""
A tariff from a table
=====================

You have a table of policies with ordered bands, nominal levels, places and numbers, and want a tariff: which levels
differ, and by how much. This tutorial starts from a CSV file and ends with a table of relativities and a map.
"""

# %%
# A table of policies
# -------------------
#
# The table is generated here and written to a file. The claim frequency is twice as high below 26, falls with the bonus
# class, is higher for two of eight brands, and in the east of the country.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 20_000
towns = pd.DataFrame({"east": rng.random(60), "north": rng.random(60)})
town = rng.integers(60, size=n)
policies = pd.DataFrame(
    {
        "age": rng.integers(18, 85, n),
        "bonus": rng.integers(0, 12, n),
        "brand": rng.choice(["Alva", "Bora", "Cira", "Dena", "Elba", "Faro", "Gala", "Hera"], n),
        "town": town,
        "east": towns["east"].to_numpy()[town],
        "north": towns["north"].to_numpy()[town],
        "mileage": rng.gamma(2.0, 6000.0, n).round(),
        "years": rng.uniform(0.2, 1.0, n).round(2),
    }
)
rate = 0.3 * np.where(policies["age"] < 26, 2.0, 1.0) * np.where(policies["bonus"] < 4, 1.6, 1.0)
rate *= np.where(policies["brand"].isin(["Cira", "Gala"]), 1.5, 1.0) * np.where(policies["east"] > 0.6, 1.4, 1.0)
policies["claims"] = rng.poisson(rate * policies["years"])
path = Path(tempfile.mkdtemp()) / "policies.csv"
policies.to_csv(path, index=False)

# %%
# Describe the columns
# --------------------
#
# A term says how the levels of a column are related. Neighbouring levels of an ordered factor may be fused, any two
# levels of a nominal one, and places that are near each other. Numbers are selected by the lasso.

from adasadmm import TermsRegressorCV, terms

table = pd.read_csv(path)
rating = [
    terms.ordered("age", bins=20),
    terms.ordered("bonus", monotone="decreasing"),
    terms.nominal("brand"),
    terms.spatial("town", coordinates=("east", "north"), neighbours=5),
    terms.linear("mileage"),
]

# %%
# Fit
# ---
#
# Counts have a Poisson loss, and the logarithm of the exposure is an offset. One number, ``alpha``, is the strength of
# all penalties. It is chosen by the Bayesian information criterion here; ``selection="cv"`` takes folds.

model = TermsRegressorCV(rating, loss="poisson", alphas=12, eps=0.01, selection="bic", refit="clusters")
model.fit(table, table["claims"], offset=np.log(table["years"]))
print(model.summary())

# %%
# The tariff
# ----------
#
# ``coef_table`` has a line for each level. Levels with the same group have the same relativity: with
# ``refit="clusters"``, that of an unpenalised model of the groups.

tariff = model.coef_table()
print(tariff[tariff["term"].isin(["bonus", "brand"])].round(3).to_string(index=False))

# %%
# ``predict`` raises an error for an unknown level, unless the term says what to do: ``unknown="base"``,
# ``"ignore"`` or ``"nearest"``.
#
# The picture
# -----------
#
# A panel for each term: steps, bars, and a map of the towns.

from adasadmm import TermsDisplay

display = TermsDisplay.from_estimator(model)

# %%
# The same from the command line, with the terms in a TOML file::
#
#     adasadmm fit policies.csv --target claims --exposure years --loss poisson --alpha 0.002 \
#         --terms terms.toml --table tariff.csv --model tariff.skops
