"""Facts of convex analysis that each loss must obey, against formulas written here anew in NumPy."""

import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from adasadmm import losses
from adasadmm._core.jit import compiled, is_registered
from adasadmm.losses import (
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    NegativeBinomial,
    Poisson,
    Quantile,
    Squared,
    SquaredHinge,
    Tweedie,
)

pytestmark = [pytest.mark.kernels, pytest.mark.filterwarnings("error::RuntimeWarning")]


def tweedie(p, z, y):
    """Its ends are the losses of Poisson and of gamma, without a constant."""
    with np.errstate(over="ignore"):
        rise = z if p == 2.0 else np.exp((2.0 - p) * z) / (2.0 - p)
        fall = -z if p == 1.0 else np.exp((1.0 - p) * z) / (p - 1.0)
    return rise + y * np.where(y > 0.0, fall, 0.0)


FORMULAS = {
    Hinge: lambda loss, z, y: np.maximum(0.0, 1.0 - y * z),
    SquaredHinge: lambda loss, z, y: np.maximum(0.0, 1.0 - y * z) ** 2,
    Logistic: lambda loss, z, y: np.logaddexp(0.0, -y * z),
    Squared: lambda loss, z, y: (z - y) ** 2 / 2,
    Huber: lambda loss, z, y: np.where(
        np.abs(z - y) <= loss.delta, (z - y) ** 2 / 2, loss.delta * (np.abs(z - y) - loss.delta / 2)
    ),
    EpsilonInsensitive: lambda loss, z, y: np.maximum(0.0, np.abs(z - y) - loss.epsilon),
    Quantile: lambda loss, z, y: np.maximum(loss.q * (y - z), (loss.q - 1.0) * (y - z)),
    Poisson: lambda loss, z, y: np.exp(z) - y * z,
    Gamma: lambda loss, z, y: z + y * np.exp(-z),
    Tweedie: lambda loss, z, y: tweedie(loss.power, z, y),
    NegativeBinomial: lambda loss, z, y: (y + 1.0 / loss.alpha) * np.logaddexp(0.0, z + np.log(loss.alpha)) - y * z,
}
PARAMETERS = {
    Huber: st.builds(Huber, st.floats(0.1, 5.0)),
    EpsilonInsensitive: st.builds(EpsilonInsensitive, st.integers(0, 32).map(lambda k: k / 16)),
    Quantile: st.builds(Quantile, st.floats(0.05, 0.95)),
    Tweedie: st.builds(Tweedie, st.sampled_from([1.0, 1.01, 1.2, 1.5, 1.8, 1.99])),
    NegativeBinomial: st.builds(NegativeBinomial, st.floats(-4.0, 2.0).map(lambda exponent: 10.0**exponent)),
}
LABELS = st.sampled_from([-1.0, 1.0])
COUNTS = st.integers(0, 20).map(float)
AMOUNTS = st.integers(1, 160).map(lambda k: k / 8)
TARGETS = {
    **dict.fromkeys((Hinge, SquaredHinge, Logistic), LABELS),
    **dict.fromkeys((Poisson, NegativeBinomial), COUNTS),
    Gamma: AMOUNTS,
    Tweedie: st.just(0.0) | AMOUNTS,
}
LOG_LINK = (Poisson, Gamma, Tweedie, NegativeBinomial)
# The points where the slope jumps.
KINKS = {
    Hinge: lambda loss, y: [y],
    EpsilonInsensitive: lambda loss, y: [y - loss.epsilon, y + loss.epsilon],
    Quantile: lambda loss, y: [y],
}

predictions = st.floats(-20.0, 20.0, allow_subnormal=False)
taus = st.floats(-12.0, 12.0).map(lambda exponent: 10.0**exponent)
for_each_loss = pytest.mark.parametrize("kind", FORMULAS, ids=lambda kind: kind.__name__)
examples = settings(deadline=None, max_examples=25)


@st.composite
def losses_and_targets(draw, kind):
    loss = draw(PARAMETERS.get(kind, st.just(kind())))
    return loss, draw(TARGETS.get(kind, st.integers(-80, 80).map(lambda k: k / 8)))  # dyadic: kinks are hit exactly


def formula(loss, z, y):
    return FORMULAS[type(loss)](loss, z, y)


def point_of_domain(loss, y, fraction):
    """The point this far between the ends of the domain, infinite ends replaced by -5 and 5."""
    low, high = losses.domain(loss, y)
    low, high = max(low, min(-5.0, high - 1.0)), min(high, max(5.0, low + 1.0))
    return low + fraction * (high - low)


# --- value and slope -------------------------------------------------------------------------------------------------


@for_each_loss
@examples
@given(data=st.data(), z=predictions)
def test_value_is_the_formula(kind, data, z):
    loss, y = data.draw(losses_and_targets(kind))
    assert losses.value(loss, z, y) == pytest.approx(float(formula(loss, z, y)), rel=1e-12, abs=1e-12)


@for_each_loss
@examples
@given(data=st.data(), z=predictions, other=predictions)
def test_slope_is_a_subgradient(kind, data, z, other):
    loss, y = data.draw(losses_and_targets(kind))
    tangent = losses.value(loss, z, y) + losses.slope(loss, z, y) * (other - z)
    assert losses.value(loss, other, y) >= tangent - 1e-12 * (1.0 + abs(tangent) + math.exp(z))


@for_each_loss
@examples
@given(data=st.data(), z=st.floats(-8.0, 8.0))
def test_slope_is_the_finite_difference_away_from_kinks(kind, data, z):
    loss, y = data.draw(losses_and_targets(kind))
    assume(all(abs(z - kink) > 1e-3 for kink in KINKS.get(kind, lambda loss, y: [])(loss, y)))
    h = 1e-5
    difference = (formula(loss, z + h, y) - formula(loss, z - h, y)) / (2.0 * h)
    assert losses.slope(loss, z, y) == pytest.approx(difference, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), Squared(), Huber(0.7)], ids=str)
def test_curvature_is_the_steepest_chord_of_the_slope(loss):
    z = np.linspace(-4.0, 4.0, 8001)
    for y in (-1.0, 1.0):
        slopes = np.array([losses.slope(loss, point, y) for point in z])
        assert np.max(np.diff(slopes) / np.diff(z)) == pytest.approx(losses.curvature(loss), rel=1e-6)


def test_only_losses_with_a_bounded_second_derivative_have_a_curvature():
    for kind in (Hinge, EpsilonInsensitive, Quantile, Poisson, Gamma, Tweedie):
        assert not is_registered(losses.curvature, kind())


@pytest.mark.parametrize("kind", KINKS, ids=lambda kind: kind.__name__)
@examples
@given(data=st.data())
def test_slope_at_a_kink_is_the_subgradient_of_least_magnitude(kind, data):
    loss, y = data.draw(losses_and_targets(kind))
    for kink in KINKS[kind](loss, y):
        left, right = (losses.slope(loss, kink + step, y) for step in (-1e-3, 1e-3))
        assert left < right
        assert losses.slope(loss, kink, y) == min(max(0.0, left), right) == 0.0


# --- prox ------------------------------------------------------------------------------------------------------------


@for_each_loss
@examples
@given(data=st.data(), z=predictions, tau=taus, other=predictions)
def test_no_point_is_better_than_the_prox(kind, data, z, tau, other):
    loss, y = data.draw(losses_and_targets(kind))

    def objective(u):
        return float(formula(loss, u, y)) + (u - z) ** 2 / (2.0 * tau)

    u = losses.prox(loss, z, tau, y)
    rounding = 1e-12 * (1.0 + abs(objective(u)) + abs(y * u))
    steps = [sign * 10.0**-k for k in range(8) for sign in (-1, 1)]
    for rival in (other, z, y, *(u + step for step in steps), *(u + step * (other - u) for step in steps)):
        assert objective(u) <= objective(rival) + rounding


@for_each_loss
@examples
@given(data=st.data(), z=predictions, tau=taus, other=predictions)
def test_prox_leaves_a_subgradient(kind, data, z, tau, other):
    loss, y = data.draw(losses_and_targets(kind))
    u = losses.prox(loss, z, tau, y)
    s = (z - u) / tau
    at_u, at_other = formula(loss, u, y), formula(loss, other, y)
    rounding_of_s = 1e-14 * (1.0 + abs(z) + abs(u)) * (1.0 + 1.0 / tau + abs(s))
    rounding = rounding_of_s * abs(other - u) + 1e-13 * (1.0 + abs(at_u) + abs(at_other) + abs(y * u))
    assert at_other >= at_u + s * (other - u) - rounding


@for_each_loss
@examples
@given(data=st.data(), z=predictions, other=predictions, tau=taus)
def test_prox_is_increasing_and_non_expansive(kind, data, z, other, tau):
    loss, y = data.draw(losses_and_targets(kind))
    low, high = min(z, other), max(z, other)
    moved = losses.prox(loss, high, tau, y) - losses.prox(loss, low, tau, y)
    assert -1e-12 <= moved <= high - low + 1e-12


@for_each_loss
@examples
@given(data=st.data(), z=st.floats(-1e3, 1e3))
def test_prox_with_tau_zero_is_the_identity(kind, data, z):
    loss, y = data.draw(losses_and_targets(kind))
    assert losses.prox(loss, z, 0.0, y) == z


# --- conjugate and domain --------------------------------------------------------------------------------------------


@for_each_loss
@examples
@given(data=st.data(), z=predictions, fraction=st.floats(0.0, 1.0))
def test_fenchel_young_inequality(kind, data, z, fraction):
    loss, y = data.draw(losses_and_targets(kind))
    s = point_of_domain(loss, y, fraction)
    rounding = 1e-12 * (1.0 + abs(y * z) + math.exp(z))
    assert losses.value(loss, z, y) + losses.conjugate(loss, s, y) >= s * z - rounding


@for_each_loss
@examples
@given(data=st.data(), z=predictions)
def test_fenchel_young_is_an_equality_at_the_slope(kind, data, z):
    loss, y = data.draw(losses_and_targets(kind))
    s = losses.slope(loss, z, y)
    both, scale = losses.value(loss, z, y) + losses.conjugate(loss, s, y), 1.0 + abs(y * z) + abs(s * z)
    assert both == pytest.approx(s * z, abs=1e-12 * scale)


@for_each_loss
@examples
@given(data=st.data(), fraction=st.floats(0.02, 0.98))
def test_conjugate_is_the_supremum_over_a_grid(kind, data, fraction):
    loss, y = data.draw(losses_and_targets(kind))
    s = point_of_domain(loss, y, fraction)
    z = np.linspace(-20.0, 20.0, 20_001)
    assume(losses.slope(loss, z[0], y) <= s <= losses.slope(loss, z[-1], y))  # the supremum is on the grid
    assert losses.conjugate(loss, s, y) == pytest.approx(np.max(s * z - formula(loss, z, y)), abs=2e-3)


@for_each_loss
@examples
@given(data=st.data())
def test_domain_ends_at_the_slopes_at_infinity(kind, data):
    loss, y = data.draw(losses_and_targets(kind))
    for end, z in zip(losses.domain(loss, y), (-1e6, 1e6), strict=True):
        steepest = losses.slope(loss, z, y)
        assert steepest == pytest.approx(end) if math.isfinite(end) else steepest * math.copysign(1.0, end) > 1e5


@for_each_loss
@examples
@given(data=st.data(), beyond=st.floats(0.1, 10.0))
def test_conjugate_is_infinite_outside_the_domain(kind, data, beyond):
    loss, y = data.draw(losses_and_targets(kind))
    low, high = losses.domain(loss, y)
    for s, z in ((low - beyond, -1e9), (high + beyond, 1e9)):
        if math.isfinite(s):
            assert s * z - losses.value(loss, z, y) > 1e7


# --- extreme arguments -----------------------------------------------------------------------------------------------

ENORMOUS = [sign * 10.0**k for sign in (-1, 1) for k in (-300, -12, 0, 2, 3, 9, 12, 17, 100, 300)] + [0.0, 709.5]
EXTREME_TARGETS = {**dict.fromkeys(LOG_LINK, (1.0, 0.0, 1e-300, 1e4)), Gamma: (1.0, 1e-300, 1e4)}


@pytest.mark.parametrize("number", [float, np.float64])  # NumPy's numbers warn where Python's raise
@for_each_loss
def test_value_and_slope_are_safe_at_extreme_predictions(kind, number):
    loss = kind()
    for z in ENORMOUS:
        for y in EXTREME_TARGETS.get(kind, (1.0, -1.0)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exact = float(formula(loss, np.float64(z), y))
            if math.isfinite(exact):
                assert losses.value(loss, number(z), y) == pytest.approx(exact, rel=1e-14 * max(1.0, y))
            elif number is float:
                assert losses.value(loss, z, y) == math.inf
            assert not math.isnan(losses.slope(loss, number(z), y))


@pytest.mark.parametrize("number", [float, np.float64])
@for_each_loss
def test_prox_is_safe_at_extreme_predictions_and_taus(kind, number):
    loss = kind()
    for z in ENORMOUS:
        for tau in (10.0**k for k in range(-12, 13)):
            for y in EXTREME_TARGETS.get(kind, (1.0, -1.0)):
                u = losses.prox(loss, number(z), number(tau), y)
                low, high = losses.domain(loss, y)
                rounding = 1e-14 * (1.0 + abs(z) + tau * max(1.0, y))
                assert math.isfinite(u)
                assert z - tau * high - rounding <= u <= z - tau * low + rounding


@pytest.mark.parametrize("tau", [1e-12, 1.0, 1e12])
def test_prox_of_poisson_solves_its_equation_where_exp_overflows(tau):
    u = losses.prox(Poisson(), 1e300, tau, 3.0)
    assert u == pytest.approx(math.log(1e300) - math.log(tau), rel=1e-14)  # u itself is lost beside 1e300


# --- sums ------------------------------------------------------------------------------------------------------------


@st.composite
def samples(draw, kind):
    """A loss with several predictions, targets and weights, of which some may be zero."""
    loss, _ = draw(losses_and_targets(kind))
    n = draw(st.integers(1, 6))
    columns = (
        predictions,
        TARGETS.get(kind, predictions),
        st.just(0.0) | st.floats(0.1, 3.0),
        st.floats(0.0, 1.0),
    )
    return loss, *(np.array(draw(st.lists(column, min_size=n, max_size=n))) for column in columns)


@for_each_loss
@examples
@given(data=st.data())
def test_mean_value_is_the_weighted_mean(kind, data):
    loss, z, y, c, _ = data.draw(samples(kind))
    assert losses.mean_value(loss, z, y, c) == pytest.approx(np.mean(c * formula(loss, z, y)), rel=1e-12, abs=1e-12)


@for_each_loss
@examples
@given(data=st.data())
def test_mean_conjugate_is_the_weighted_mean(kind, data):
    loss, _, y, c, fractions = data.draw(samples(kind))
    s = np.array([point_of_domain(loss, *pair) for pair in zip(y, fractions, strict=True)])
    expected = np.mean([weight * losses.conjugate(loss, *pair) for weight, *pair in zip(c, s, y, strict=True)])
    assert losses.mean_conjugate(loss, s, y, c) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@for_each_loss
@examples
@given(data=st.data())
def test_clip_to_domain_is_np_clip(kind, data):
    loss, s, y, *_ = data.draw(samples(kind))
    low, high = np.array([losses.domain(loss, target) for target in y]).T
    clipped, low_out, high_out = s.copy(), np.empty(len(s)), np.empty(len(s))
    losses.clip_to_domain(loss, clipped, y, low_out, high_out)
    np.testing.assert_array_equal(clipped, np.clip(s, low, high))
    np.testing.assert_array_equal(low_out, low)
    np.testing.assert_array_equal(high_out, high)


def test_a_row_of_weight_zero_is_absent_even_where_its_loss_is_infinite():
    z, y, c = np.array([1e4, 0.0]), np.zeros(2), np.array([0.0, 2.0])
    assert losses.mean_value(Poisson(), z, y, c) == 1.0


# --- forms for arrays ------------------------------------------------------------------------------------------------


def grids(kind):
    """All combinations of predictions, targets and steps, of any size."""
    z = np.unique([*ENORMOUS, *np.linspace(-8.0, 8.0, 65)])
    y = EXTREME_TARGETS.get(kind, (1.0, -1.0)) if kind in TARGETS else (-1e6, -1.0, 0.25, 3.0)
    return [grid.ravel() for grid in np.meshgrid(z, y, 10.0 ** np.arange(-12.0, 13.0, 4.0))]


@pytest.mark.parametrize("loss", [*(kind() for kind in FORMULAS), *map(Tweedie, (1.0, 1.01, 1.99, 2.0))], ids=str)
def test_a_form_for_arrays_is_that_for_each_number(loss):
    z, y, tau = grids(Gamma if loss == Tweedie(2.0) else type(loss))
    low, high = losses.each(losses.domain, loss, y)
    s = np.clip(z, low, high)
    arguments = {
        losses.value: (z, y),
        losses.slope: (z, y),
        losses.second: (z, y),
        losses.prox: (z, tau, y),
        losses.conjugate: (s, y),
    }
    for function, arrays in arguments.items():
        if not is_registered(function, loss):
            continue
        with np.errstate(all="ignore"):
            expected = np.array([function(loss, *map(float, point)) for point in zip(*arrays, strict=True)])
            found = np.broadcast_to(losses.each(function, loss, *arrays), expected.shape)
            room = 1e-14 * (1.0 + np.abs(z) + np.abs(y)) if function is losses.prox else 1e-13 * (1.0 + np.abs(y))
            is_close = (found == expected) | (np.abs(found - expected) <= room + 1e-12 * np.abs(expected))
            is_close |= np.isnan(found) & np.isnan(expected)
        assert is_close.all(), (function.__name__, [array[~is_close][:3] for array in (*arrays, found, expected)])
    ends = np.array([losses.domain(loss, float(target)) for target in y]).T
    np.testing.assert_array_equal(np.broadcast_to(low, y.shape), ends[0])
    np.testing.assert_array_equal(np.broadcast_to(high, y.shape), ends[1])


def test_an_offset_is_added_to_all_predictions():
    z, y, offset = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.0, 3.0]), np.array([0.1, 0.2, -0.3])
    loss, both = losses.with_offset(Poisson()), losses.targets_with_offset(losses.with_offset(Poisson()), y, offset)
    for function in (losses.value, losses.slope, losses.second):
        expected = losses.each(function, Poisson(), z + offset, y)
        np.testing.assert_array_equal(losses.each(function, loss, z, both), expected)
    expected = losses.each(losses.prox, Poisson(), z + offset, 0.7, y) - offset
    np.testing.assert_array_equal(losses.each(losses.prox, loss, z, 0.7, both), expected)
    expected = losses.each(losses.conjugate, Poisson(), z, y) - z * offset
    np.testing.assert_array_equal(losses.each(losses.conjugate, loss, z, both), expected)


class Cubic(NamedTuple):
    """A loss of a user who has registered functions of numbers only."""


@losses.value.register
def value_of_cubic(loss: Cubic, z, y):
    return abs(z - y) ** 3


@losses.slope.register
def slope_of_cubic(loss: Cubic, z, y):
    return 3.0 * abs(z - y) * (z - y)


def test_a_loss_without_forms_for_arrays_is_evaluated_row_by_row():
    z, y = np.array([0.5, -1.0, 2.0, 9.0])[::2], np.array([1.0, 0.0])
    np.testing.assert_allclose(losses.each(losses.value, Cubic(), z, y), np.abs(z - y) ** 3, rtol=1e-15)
    np.testing.assert_allclose(losses.each(losses.slope, Cubic(), z, y), 3.0 * np.abs(z - y) * (z - y), rtol=1e-15)


class Steeper(Hinge):
    """A loss that inherits all functions of another one but its value."""

    __slots__ = ()


@losses.value.register
def value_of_steeper(loss: Steeper, z, y):
    return 2.0 * max(0.0, 1.0 - y * z)


def test_a_loss_that_overrides_a_function_does_not_keep_the_form_for_arrays_of_the_old_one():
    z, y = np.array([-1.0, 0.0, 3.0]), np.ones(3)
    assert losses.mean_value(Steeper(), z, y, y) == 2.0
    np.testing.assert_array_equal(losses.each(losses.slope, Steeper(), z, y), [-1.0, -1.0, 0.0])


# --- compiled code ---------------------------------------------------------------------------------------------------


@compiled
def all_of(loss, z, tau, y):
    return losses.value(loss, z, y), losses.slope(loss, z, y), losses.prox(loss, z, tau, y)


@for_each_loss
@examples
@given(data=st.data(), z=predictions, tau=taus)
def test_compiled_and_interpreted_code_agree(kind, data, z, tau):
    loss, y = data.draw(losses_and_targets(kind))
    interpreted = losses.value(loss, z, y), losses.slope(loss, z, y), losses.prox(loss, z, tau, y)
    assert all_of(loss, z, tau, y) == pytest.approx(interpreted, rel=1e-12, abs=1e-12)


# --- check -----------------------------------------------------------------------------------------------------------


@for_each_loss
@examples
@given(data=st.data())
def test_check_accepts_what_the_loss_is_made_for(kind, data):
    loss, y = data.draw(losses_and_targets(kind))
    losses.check(loss, np.array([y, y]))


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (Hinge(), [1.0, 0.0], r"y must hold labels -1 and \+1 for Hinge, got 0"),
        (SquaredHinge(), [1.0, 2.0], r"y must hold labels -1 and \+1 for SquaredHinge, got 2"),
        (Logistic(), [math.nan, 1.0], r"y must hold labels -1 and \+1 for Logistic, got nan"),
        (Poisson(), [3.0, -2.0], r"y must hold counts >= 0 for Poisson, got -2"),
        (Gamma(), [3.0, 0.0], r"y must hold amounts > 0 for Gamma, got 0; Tweedie"),
        (Tweedie(), [3.0, -1.5], r"y must hold amounts >= 0 for Tweedie, got -1\.5"),
        (Tweedie(2.0), [3.0, 0.0], r"y must hold amounts > 0 for Tweedie\(power=2\), got 0"),
        (Tweedie(2.5), [3.0], r"power of Tweedie must lie between 1 and 2, got 2\.5"),
        (Tweedie(math.nan), [3.0], r"power of Tweedie must lie between 1 and 2, got nan"),
        (NegativeBinomial(), [3.0, -1.0], r"y must hold counts >= 0 for NegativeBinomial, got -1"),
        (NegativeBinomial(0.0), [3.0], r"alpha of NegativeBinomial must be > 0 and finite, got 0\.0"),
        (Huber(0.0), [0.0], r"delta of Huber must be > 0, got 0\.0"),
        (Huber(math.nan), [0.0], r"delta of Huber must be > 0, got nan"),
        (EpsilonInsensitive(-0.5), [0.0], r"epsilon of EpsilonInsensitive must be >= 0.*, got -0\.5"),
        (EpsilonInsensitive(math.inf), [0.0], r"epsilon of EpsilonInsensitive must be >= 0.*, got inf"),
        (Quantile(0.0), [0.0], r"q of Quantile must lie between 0 and 1, got 0\.0"),
        (Quantile(1.5), [0.0], r"q of Quantile must lie between 0 and 1, got 1\.5"),
    ],
)
def test_check_names_the_argument_and_its_value(loss, y, message):
    with pytest.raises(ValueError, match=message):
        losses.check(loss, np.array(y))


@for_each_loss
def test_a_loss_counts_as_smooth_if_its_slope_has_no_jumps(kind):
    z = np.linspace(-3.0, 3.0, 60_001)
    with np.errstate(over="ignore"):
        slopes = np.array([losses.slope(kind(), each, 1.0) for each in z])
    assert losses.is_smooth(kind()) == (np.abs(np.diff(slopes)).max() < 0.01)


@pytest.mark.parametrize("n", [1, 2**14, 2**14 + 1, 50_000])
def test_sums_over_blocks_of_rows(n):
    """Rows of weight 0 are absent, even where their loss is infinite."""
    random = np.random.default_rng(0)
    z, y, weight = random.normal(size=n), random.normal(size=n), random.uniform(size=n)
    z[0], weight[0] = np.inf, 0.0
    expected = float(weight[1:] @ (0.5 * (z[1:] - y[1:]) ** 2))
    assert losses.weighted_sum(losses.value, Squared(), weight, z, y) == pytest.approx(expected, rel=1e-12)
    equal = losses.weighted_sum(losses.value, Squared(), 2.0, z[1:], y[1:])
    assert equal == pytest.approx(float(np.sum((z[1:] - y[1:]) ** 2)), rel=1e-12)
