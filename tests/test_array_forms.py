"""The forms of penalties and of the multinomial loss for whole arrays do what those for compiled code do."""

import numpy as np
import pytest

from adasadmm import (
    L1,
    Box,
    ElasticNet,
    GroupL2,
    L2Ball,
    L2Squared,
    NonNegative,
    Simplex,
    Stack,
    Zero,
    losses,
    penalties,
)
from adasadmm.penalties.stack import linked

RNG = np.random.default_rng(0)
WEIGHTS = RNG.random(8)
GROUPS = [[0, 3], [1, 2, 7]]
PENALTIES = [
    *(Zero(), L1(0.7), L1(0.7, WEIGHTS), L2Squared(0.3), ElasticNet(0.5, 0.4), NonNegative()),
    *(Box(-0.2, 0.5), Box(-WEIGHTS, WEIGHTS), L2Ball(0.8), Simplex(1.5), GroupL2(0.6, GROUPS)),
    *(GroupL2(0.6, GROUPS, WEIGHTS[:2]), linked(Stack([(L1(0.3), [5, 1, 0]), (GroupL2(0.4, [[0, 1]]), [2, 6])]), 8)),
]


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: type(penalty).__name__)
def test_value_and_prox_of_a_penalty(penalty):
    for size in (0.1, 1.0, 10.0):
        x, expected = size * RNG.normal(size=8), np.empty(8)
        assert penalties.total_value(penalty, x) == pytest.approx(penalties.value(penalty, x), rel=1e-13)
        penalties.prox(penalty, x, 0.9, expected)
        penalties.whole_prox(penalty, x, 0.9, x)  # in place
        np.testing.assert_allclose(x, expected, rtol=1e-12, atol=1e-14)


def test_prox_and_domain_of_the_multinomial_loss():
    loss, y = losses.Multinomial(4), np.eye(4)[RNG.integers(0, 4, 50)]
    for size in (0.1, 1.0, 30.0):
        z = size * RNG.normal(size=(50, 4))
        for tau in (1e-3, 1.0, 1e3):
            expected = z.copy()
            for row in range(50):
                losses.prox(loss, z[row], tau, y[row], expected[row])
            np.testing.assert_allclose(losses.each(losses.prox, loss, z, tau, y, z), expected, rtol=1e-7, atol=1e-9)
        for row in range(50):
            losses.domain(loss, z[row], y[row], expected[row])
        np.testing.assert_allclose(losses.each(losses.domain, loss, z, y), expected, rtol=1e-12, atol=1e-12)
