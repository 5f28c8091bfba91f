"""Generalised linear models with offsets and weights: the coefficients of glum and statsmodels."""

import numpy as np
import pytest
from random_rows import random_targets

from adasadmm import Gamma, NegativeBinomial, Poisson, StructuredRegressor, Tweedie

pytestmark = [pytest.mark.slow, pytest.mark.compiled]  # the packages come with the extra "bench"


@pytest.fixture(scope="module")
def rows():
    """Features, offsets and weights."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(300, 6)), rng.normal(size=300), rng.integers(1, 4, size=300).astype(float)


def targets(loss, X, offset):
    return random_targets(loss, np.random.default_rng(4), 0.5 * X[:, 0] - 0.3 * X[:, 1] + offset)


def ours(loss, l2, X, y, weight, offset):
    model = StructuredRegressor("chain", loss=loss, alpha=0.0, l2=l2, tol=1e-12)
    return model.fit(X, y, sample_weight=weight, offset=offset)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize(
    ("loss", "family"), [(Poisson(), "poisson"), (Gamma(), "gamma"), (Tweedie(1.5), "tweedie (1.5)")], ids=str
)
def test_with_a_ridge_the_coefficients_are_those_of_glum(rows, loss, family, shifted, weighted):
    glum = pytest.importorskip("glum")
    X, offset, weight = rows
    y = targets(loss, X, offset)
    given = (weight if weighted else None), (offset if shifted else None)
    reference = glum.GeneralizedLinearRegressor(
        family=family, link="log", alpha=0.05, l1_ratio=0.0, gradient_tol=1e-11, max_iter=1000
    ).fit(X, y, sample_weight=given[0], offset=given[1])
    model = ours(loss, 0.05, X, y, *given)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=0.0, atol=1e-6)
    assert model.intercept_ == pytest.approx(reference.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X, given[1]), reference.predict(X, offset=given[1]), rtol=1e-5)


@pytest.mark.parametrize("loss", [Poisson(), Gamma(), Tweedie(1.5), NegativeBinomial(0.7)], ids=str)
def test_without_a_penalty_the_coefficients_are_those_of_statsmodels(rows, loss):
    families = pytest.importorskip("statsmodels.genmod.families")
    linear_model = pytest.importorskip("statsmodels.genmod.generalized_linear_model")
    X, offset, weight = rows
    y = targets(loss, X, offset)
    family = {
        Poisson: families.Poisson,
        Gamma: lambda: families.Gamma(families.links.Log()),
        Tweedie: lambda: families.Tweedie(families.links.Log(), var_power=1.5),
        NegativeBinomial: lambda: families.NegativeBinomial(alpha=0.7),
    }[type(loss)]()
    design = np.column_stack([X, np.ones(len(y))])
    reference = linear_model.GLM(y, design, family, offset=offset, freq_weights=weight).fit(tol=1e-14, maxiter=1000)
    model = ours(loss, 0.0, X, y, weight, offset)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), reference.params, rtol=0.0, atol=1e-6)
