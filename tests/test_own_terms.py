"""A kind of term of one's own: a class that says what it reads and makes its block. No other code knows of it."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import StructuredRegressor, TermsDisplay, TermsRegressor, TermsRegressorCV, terms
from adasadmm.terms.number_terms import Numbers
from adasadmm.terms.table import Values
from adasadmm.terms.term import Block, Encoded, Labels, Slot, Term

pd = pytest.importorskip("pandas", reason="pandas is not installed")

pytestmark = pytest.mark.compiled  # fits are slow without the compiler


@dataclass(frozen=True, eq=False, repr=False)
class polygon(Term):
    """A continuous piecewise linear effect of a number, with few changes of its slope."""

    column: str
    _: KW_ONLY
    knots: int = 5
    strength: float = 1.0
    name: str | None = None

    @property
    def reads(self):
        return (self.column,)

    def first_pass(self):
        return Values(self.column, self.label)

    def block(self, first, second, others):
        knots = np.linspace(*first.span(), self.knots)
        return Polygon(kind=self.kind, name=self.title, strength=self.strength, column=self.column, knots=knots)


@dataclass(frozen=True, eq=False, kw_only=True)
class Polygon(Block):
    """The values at the knots but the first; a row has the weights of the two knots beside it."""

    column: str
    knots: np.ndarray

    @property
    def names(self):
        return [f"{self.name} at {knot:.3g}" for knot in self.knots[1:]]

    @property
    def reads(self):
        return (self.column,)

    def encode(self, table, units):
        values = np.clip(table.numbers(self.column, self.name), self.knots[0], self.knots[-1])
        left = np.clip(np.searchsorted(self.knots, values, side="right") - 1, 0, len(self.knots) - 2).astype(np.int32)
        share = (values - self.knots[left]) / np.diff(self.knots)[left]
        return Encoded([Slot(left - 1, 1.0 - share), Slot(left, share)])  # the first knot has no column, -1

    @property
    def A(self):
        return sp.csr_array(np.diff(np.eye(len(self.knots)), n=2, axis=0)[:, 1:])

    def labels(self):
        return Labels(self.names, np.zeros(self.width), np.zeros(self.width))

    def is_consistent(self):
        return len(self.knots) > 2


@dataclass(frozen=True, eq=False, repr=False)
class slopes(Term):
    """The product of a term of numbers and a factor: how the coefficient of a number differs between levels."""

    number: str
    factor: str
    _: KW_ONLY
    strength: float = 1.0
    name: str | None = None

    @property
    def factors(self):
        return self.number, self.factor

    @property
    def default_title(self):
        return f"{self.number} by {self.factor}"

    def block(self, first, second, others):
        number, factor = (others[name] for name in self.factors)
        return Slopes(kind=self.kind, name=self.title, strength=self.strength, number=number, factor=factor)


@dataclass(frozen=True, eq=False, kw_only=True)
class Slopes(Block):
    """A column for each column of the factor: the number in the rows of the level."""

    number: Numbers
    factor: Block

    @property
    def names(self):
        return [f"{self.number.name}:{name}" for name in self.factor.names]

    @property
    def reads(self):
        return *self.number.reads, *self.factor.reads

    def encode(self, table, units):
        values, level = self.number.encode(table).slots[0].values, self.factor.encode(table, None).slots[0].columns
        return Encoded([Slot(level.copy(), values)])

    @property
    def A(self):
        return self.factor.A

    def labels(self):
        return Labels(self.names, np.zeros(self.width), np.zeros(self.width))

    def is_consistent(self):
        return self.number.is_consistent() and self.factor.is_consistent()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(-2.0, 2.0, 600), "size": rng.normal(size=600)})
    return table.assign(shop=rng.choice(list("abcd"), 600))


def test_a_piecewise_linear_effect_is_that_of_its_own_design(table):
    y = np.abs(table["x"]) + 0.1 * np.random.default_rng(1).normal(size=600)
    model = TermsRegressor([polygon("x", knots=9)], alpha=0.05, tol=1e-9).fit(table, y)
    knots = np.linspace(table["x"].min(), table["x"].max(), 9)
    X = np.column_stack([np.interp(table["x"], knots, row) for row in np.eye(9)[1:]])
    A = np.diff(np.eye(9), n=2, axis=0)[:, 1:]
    same = StructuredRegressor(A=A, alpha=0.05, l2=0.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict(table), same.predict(X), atol=1e-5)
    bends = np.abs(np.diff(np.append(0.0, model.coef_), 2)) > 1e-6
    assert bends[3] and bends.sum() <= 3  # the kink at 0 is the fourth of seven inner knots


def test_a_number_by_a_factor(table):
    y = table["size"] * np.where(table["shop"] == "c", 2.0, 1.0) + 0.1 * np.random.default_rng(1).normal(size=600)
    listed = [slopes("size", "shop"), terms.linear("size", penalty="none"), terms.nominal("shop")]
    model = TermsRegressor(listed, alpha=0.002, tol=1e-9).fit(table, y)
    found = model.coef_table().set_index("level")["coefficient"]
    assert [found[f"size:shop={shop}"] for shop in "bd"] == pytest.approx([0.0, 0.0], abs=0.02)
    assert found["size"] + found["size:shop=c"] == pytest.approx(2.0, abs=0.1) and found["size"] < 1.1


def test_what_other_terms_have_it_has(table):
    """A table of coefficients, a summary, parameters, a search, and a panel in the picture."""
    y = table["x"] + 0.1 * table["size"]
    model = TermsRegressor([polygon("x"), terms.nominal("shop")], alpha=0.05).fit(table, y)
    assert model.get_feature_names_out()[0] == "x at -1" and len(model.get_feature_names_out()) == 4 + 3
    assert "x (polygon): 4 columns, 4 non-zero" in model.summary()
    assert model.coef_table()["term"].tolist() == ["x"] * 4 + ["shop"] * 4
    assert model.set_params(x__knots=7).fit(table, y).coef_.shape == (9,)
    assert list(model.levels_) == ["shop"] and repr(model.terms[0]) == "polygon('x', knots=7)"
    search = TermsRegressorCV([polygon("x"), terms.nominal("shop")], alphas=3, cv=2).fit(table, y)
    assert search.score(table, y) > 0.9
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    assert [ax.get_title() for ax in TermsDisplay.from_estimator(model).axes_] == ["x", "shop"]
