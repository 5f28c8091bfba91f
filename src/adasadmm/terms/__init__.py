"""Terms of a model for tables: factors whose levels may fuse, and numbers.

A term says which columns it uses, and how its coefficients are related. `TermsRegressor` and `TermsClassifier` take
a list of terms. A factor has a base level, whose coefficient is 0, and an edge for each two levels that may be fused.

Examples
--------
>>> from adasadmm import terms
>>> rating = [terms.ordered("age", bins=10), terms.nominal("brand"), terms.linear(["mileage", "price"])]
>>> [type(term).__name__ for term in rating]
['ordered', 'nominal', 'linear']
"""

from .factor_terms import interaction, nominal, ordered, spatial
from .number_terms import group, linear

__all__ = ["group", "interaction", "linear", "nominal", "ordered", "spatial"]
