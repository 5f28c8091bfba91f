"""Plug-ins with wrong or missing functions: a clear error, or an infinite gap with a reason; never a false proof."""

import math
from collections import namedtuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from adasadmm import (
    ADMM,
    ALM,
    L1,
    AdaSADMM,
    Box,
    ElasticNet,
    EpsilonInsensitive,
    GroupL2,
    Hinge,
    Huber,
    L2Ball,
    L2Squared,
    Logistic,
    NonNegative,
    Poisson,
    Problem,
    Quantile,
    Simplex,
    Squared,
    SquaredHinge,
    Stack,
    Status,
    Zero,
    losses,
    penalties,
    solve,
)
from adasadmm.plug_ins import try_loss, try_penalty

RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 3))
Y = X @ [1.0, 1.0, -1.0] + 0.1 * RNG.normal(size=30)
A = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
GENERAL_B = np.array([[-1.0, 0.5], [0.0, -2.0]])
INFINITE = math.inf


def problem(loss=None, penalty=None, **more):
    loss, penalty = loss or Squared(), penalty or L1(0.1)
    return Problem(X, Y, **{"loss": loss, "penalty": penalty, "A": A, "gamma": 0.1, **more})


def plug_in(module, functions, fields="nu"):
    """An instance of a new class with these functions."""
    cls = namedtuple("Mine", fields)
    for name, function in functions.items():
        getattr(module, name).register(cls, function)
    return cls(*[0.1] * len(cls._fields))


# --- losses: |z - y| with one function changed -----------------------------------------------------------------------

ABSOLUTE = {
    "value": lambda loss, z, y: abs(z - y),
    "slope": lambda loss, z, y: 1.0 if z > y else -1.0 if z < y else 0.0,
    "prox": lambda loss, z, tau, y: y + max(z - y - tau, 0.0) - max(y - z - tau, 0.0),
    "conjugate": lambda loss, s, y: s * y,
    "domain": lambda loss, y: (-1.0, 1.0),
}
WRONG_LOSSES = {
    "a value of nan": ("value", lambda loss, z, y: math.nan, "value of Mine is wrong: .* nan"),
    "a slope downhill": ("slope", lambda loss, z, y: -1.0 if z > y else 1.0, "slope of Mine is wrong: at z="),
    "a slope that is too steep": ("slope", lambda loss, z, y: 2.0 if z > y else -2.0, "slope of Mine is wrong"),
    "a slope of nan": ("slope", lambda loss, z, y: math.nan, "slope of Mine is wrong: .* nan"),
    "a prox that stays": ("prox", lambda loss, z, tau, y: z, "prox of Mine is wrong: .* and .* at u="),
    "a prox that goes too far": ("prox", lambda loss, z, tau, y: y, "prox of Mine is wrong"),
    "a prox of nan": ("prox", lambda loss, z, tau, y: math.nan, "prox of Mine is wrong: .* nan"),
    "a conjugate that is too small": ("conjugate", lambda loss, s, y: s * y - 0.01, "conjugate of Mine is wrong"),
    "a conjugate of another loss": ("conjugate", lambda loss, s, y: -s * y, "conjugate of Mine is wrong"),
    "a conjugate that is too large at 0": (
        "conjugate",
        lambda loss, s, y: s * y if s else 1e9,
        "conjugate of Mine is wrong: at s=0",
    ),
    "a domain that is too large": ("domain", lambda loss, y: (-1.001, 1.001), "domain, from -1.001 .* is too large"),
    "a domain without end": ("domain", lambda loss, y: (-INFINITE, INFINITE), "is too large"),
    "an empty domain": ("domain", lambda loss, y: (1.0, -1.0), "domain of Mine is wrong"),
    "a domain that is a number": ("domain", lambda loss, y: 1.0, "not an interval"),
}


@pytest.mark.parametrize("what", WRONG_LOSSES)
def test_a_wrong_function_of_a_loss_is_named(what):
    name, function, message = WRONG_LOSSES[what]
    with pytest.raises(ValueError, match=message):
        problem(plug_in(losses, {**ABSOLUTE, name: function}))


def test_a_function_with_other_arguments_is_named():
    mine = plug_in(losses, {**ABSOLUTE, "slope": lambda loss, z: 0.0})
    with pytest.raises(TypeError, match=r"losses\.slope of Mine failed"):
        problem(mine)
    mine = plug_in(penalties, {**SUM, "conjugate": lambda penalty: 0.0})
    with pytest.raises(TypeError, match=r"penalties\.conjugate of Mine failed"):
        problem(penalty=mine)


@pytest.mark.parametrize("name", ["value", "slope"])
def test_a_loss_that_lacks_a_function_is_an_error(name):
    with pytest.raises(TypeError, match=rf"Mine has no losses\.{name}; register one"):
        problem(plug_in(losses, {k: f for k, f in ABSOLUTE.items() if k != name}))


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["conjugate", "domain"])
def test_a_loss_that_lacks_a_dual_function_gets_no_certificate(name):
    mine = plug_in(losses, {k: f for k, f in ABSOLUTE.items() if k != name})
    result = solve(problem(mine), ALM(), epochs=5)
    assert_nothing_is_proved(result, f"Mine has no losses.{name}")


@pytest.mark.compiled
@pytest.mark.parametrize("outside", [math.inf, 0.0])  # what the conjugate is where it need not be defined
def test_a_loss_that_is_unbounded_below_gets_no_certificate(outside):
    functions = {
        "value": lambda loss, z, y: abs(z - y) - 2.0 * z,
        "slope": lambda loss, z, y: -1.0 if z > y else -3.0 if z < y else -2.0,
        "prox": lambda loss, z, tau, y: y + max(z + tau - y, 0.0) - max(y - z - 3.0 * tau, 0.0),
        "conjugate": lambda loss, s, y: (s + 2.0) * y if -3.0 <= s <= -1.0 else outside,
        "domain": lambda loss, y: (-3.0, -1.0),
    }
    tilted = plug_in(losses, functions)
    for more in ({}, {"gamma": [0.0, 0.1, 0.1], "w_set": Box(-5.0, 5.0)}):
        for solver in (ADMM(), AdaSADMM(), ALM()):
            with pytest.warns(ConvergenceWarning, match="no run with this loss can end at tol"):
                result = solve(problem(tilted, **more), solver, epochs=5, tol=1e-3)
            assert_nothing_is_proved(result, "Mine is unbounded below")
    identity = {"X": np.eye(3), "y": [1.0, 2.0, 3.0], "gamma": 0.1}
    signal = Problem(loss=tilted, penalty=L1(0.1), A=A, **identity)
    with pytest.warns(ConvergenceWarning, match="no run with this loss can end at tol"):
        result = solve(signal, ADMM(), epochs=5, tol=1e-3)
    assert_nothing_is_proved(result, "Mine is unbounded below")


# --- penalties: nu |v|_1 with one function changed -------------------------------------------------------------------


def soft(penalty, x, tau, out):
    for k in range(len(x)):
        out[k] = max(x[k] - tau * penalty.nu, 0.0) - max(-x[k] - tau * penalty.nu, 0.0)


def too_soft(penalty, x, tau, out):
    for k in range(len(x)):
        out[k] = max(x[k] - 2.0 * tau * penalty.nu, 0.0) - max(-x[k] - 2.0 * tau * penalty.nu, 0.0)


def doubling(penalty, x, tau, out):
    for k in range(len(x)):
        out[k] = 2.0 * x[k]


def nothing(penalty, x, tau, out):
    pass


def overwriting(penalty, x, tau, out):
    out[:] = 0.0
    for k in range(len(x)):
        out[k] += max(x[k] - tau * penalty.nu, 0.0) - max(-x[k] - tau * penalty.nu, 0.0)


def soft_at(penalty, k, x, tau):
    return max(x - tau * penalty.nu, 0.0) - max(-x - tau * penalty.nu, 0.0)


SUM = {
    "value": lambda penalty, v: penalty.nu * np.sum(np.abs(v)),
    "prox": soft,
    "conjugate": lambda penalty, s: 0.0,
    "domain": lambda penalty, s: np.clip(s, -penalty.nu, penalty.nu),
}
WRONG_PENALTIES = {
    "a value of nan": ("value", lambda penalty, v: math.nan, "value of Mine is wrong"),
    "a prox with another threshold": ("prox", too_soft, "prox of Mine is wrong: .* only"),
    "a prox that goes uphill": ("prox", doubling, "prox of Mine is wrong"),
    "a prox that writes nothing": ("prox", nothing, "prox of Mine is wrong: .* nan"),
    "a prox that needs another array": ("prox", overwriting, "if out is x itself"),
    "another prox for coordinates": ("prox_at", lambda penalty, k, x, tau: x, "prox_at of Mine is wrong"),
    "a conjugate that is too small": ("conjugate", lambda penalty, s: -0.01, "conjugate of Mine is wrong"),
    "a domain that is too large": ("domain", lambda penalty, s: np.clip(s, -0.101, 0.101), "domain is too large"),
    "a domain without end": ("domain", lambda penalty, s: s, "domain is too large"),
    "a domain of numbers": ("domain", lambda penalty, s: 0.0, "domain of Mine is wrong: .* not a vector"),
    "a domain that is no projection": ("domain", lambda penalty, s: 0.001 * s, "domain of Mine is wrong: it moves"),
}


@pytest.mark.parametrize("what", WRONG_PENALTIES)
def test_a_wrong_function_of_a_penalty_is_named(what):
    name, function, message = WRONG_PENALTIES[what]
    with pytest.raises(ValueError, match=message):
        problem(penalty=plug_in(penalties, {**SUM, name: function}))


def test_a_part_of_a_stack_is_tried_too():
    mine = plug_in(penalties, {**SUM, "prox": too_soft})
    with pytest.raises(ValueError, match="prox of Mine is wrong"):
        problem(penalty=Stack(((L1(0.1), [0]), (mine, [1]))))


@pytest.mark.parametrize(("lacking", "named"), [("value", "value"), ("prox", "prox")])
def test_a_penalty_that_lacks_a_function_is_an_error(lacking, named):
    with pytest.raises(TypeError, match=rf"Mine has no penalties\.{named}; register one"):
        problem(penalty=plug_in(penalties, {k: f for k, f in SUM.items() if k != lacking}))


def assert_nothing_is_proved(result, reason):
    assert result.status is not Status.converged
    assert result.certificate.relative_gap == math.inf and reason in result.certificate.reason


@pytest.mark.compiled
@pytest.mark.parametrize(
    "more",
    [
        {},
        pytest.param({"gamma": 0.0}, marks=pytest.mark.slow),
        pytest.param({"B": GENERAL_B}, marks=pytest.mark.slow),
        {"gamma": 0.0, "B": GENERAL_B},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["conjugate", "domain"])
def test_a_penalty_that_lacks_a_dual_function_gets_no_certificate(name, more):
    mine = plug_in(penalties, {k: f for k, f in SUM.items() if k != name})
    for solver in (ADMM(), AdaSADMM()) if "B" in more else (ALM(), AdaSADMM()):
        with pytest.warns(ConvergenceWarning, match="register that function"):
            result = solve(problem(penalty=mine, **more), solver, epochs=5, tol=1e-3)
        assert_nothing_is_proved(result, f"Mine has no penalties.{name}")


@pytest.mark.compiled
def test_prox_at_alone_is_enough():
    functions = {k: f for k, f in SUM.items() if k != "prox"}
    mine = plug_in(penalties, {**functions, "prox_at": soft_at})
    for solver in (ALM(), ADMM(), AdaSADMM()):
        one, two = (solve(problem(penalty=each), solver) for each in (mine, L1(0.1)))
        np.testing.assert_allclose(one.w, two.w, rtol=1e-9)
        assert one.certificate.relative_gap == pytest.approx(two.certificate.relative_gap, rel=1e-3, abs=1e-9)


def test_a_penalty_is_no_set_for_w():
    with pytest.raises(ValueError, match="w_set must be a set"):
        problem(w_set=plug_in(penalties, SUM))


# --- what a trial at a few points cannot see -------------------------------------------------------------------------


@pytest.mark.compiled
def test_a_dual_value_above_the_primal_value_proves_nothing():
    """The class is tried once: a second instance has a wrong conjugate."""
    functions = {
        **SUM,
        "value": lambda penalty, v: penalty.nu * np.sum(np.abs(v)),
        "conjugate": lambda penalty, s: -penalty.excess,
    }
    first = plug_in(penalties, functions, "nu excess")._replace(excess=0.0)
    assert solve(problem(penalty=first), ALM()).status is Status.converged
    for solver in (ALM(), AdaSADMM()):
        with pytest.warns(ConvergenceWarning, match="the dual value exceeds the primal value"):
            result = solve(problem(penalty=first._replace(excess=100.0)), solver, epochs=5, tol=1e-3)
        assert_nothing_is_proved(result, "the dual value exceeds the primal value")


# --- right functions pass --------------------------------------------------------------------------------------------

LABELS = (-1.0, 1.0)
NUMBERS = (-1e4, -2.0, 0.0, 0.9, 3e5)


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (Hinge(), LABELS),
        (SquaredHinge(), LABELS),
        (Logistic(), LABELS),
        (Squared(), NUMBERS),
        (Huber(0.01), NUMBERS),
        (EpsilonInsensitive(), NUMBERS),
        (Quantile(0.9), NUMBERS),
        (Poisson(), (0.0, 1.0, 40.0)),
    ],
    ids=str,
)
def test_the_built_in_losses_pass(loss, targets):
    for y in targets:
        try_loss(loss, y)


@pytest.mark.parametrize("p", [1, 2, 7, 100])
@pytest.mark.parametrize(
    "penalty",
    [
        Zero(),
        L1(0.0),
        L1(1e-6),
        L1(1e4),
        L2Squared(0.3),
        L2Squared(0.0),
        ElasticNet(2.0, 0.3),
        ElasticNet(2.0, 1.0),
        GroupL2(0.7, [[0]]),
        NonNegative(),
        Box(-0.5, 2.0),
        Box(-np.inf, 0.1),
        L2Ball(0.3),
        Simplex(),
        Simplex(50.0),
    ],
    ids=str,
)
def test_the_built_in_penalties_pass(penalty, p):
    try_penalty(penalty, p, "penalty")


def test_a_loss_that_is_not_convex_passes():
    mine = plug_in(
        losses,
        {
            "value": lambda loss, z, y: 0.5 * np.log1p((z - y) ** 2),
            "slope": lambda loss, z, y: (z - y) / (1.0 + (z - y) ** 2),
        },
    )
    assert problem(mine).loss == mine
