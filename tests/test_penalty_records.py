"""Penalties as records: compiled, copied, compared and checked."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from penalty_cases import (
    examples,
    for_each_penalty,
    numbers,
    penalties_and_points,
    prox,
    taus,
    vectors,
)

from adasadmm import penalties
from adasadmm._core.jit import compiled
from adasadmm.penalties import (
    L1,
    Box,
    ChainTV,
    ElasticNet,
    GroupL2,
    L2Ball,
    L2Squared,
    NonNegative,
    Simplex,
    Stack,
    Zero,
)

pytestmark = [pytest.mark.kernels, pytest.mark.filterwarnings("error::RuntimeWarning")]


# --- compiled code ---------------------------------------------------------------------------------------------------


@compiled
def compiled_value_and_prox(penalty, x, tau, out):
    penalties.prox(penalty, x, tau, out)
    return penalties.value(penalty, x)


COMPILED = {
    "L1": L1(0.3),
    "weighted L1": L1(0.3, np.array([0.0, 1.0, 2.0, 3.0])),
    "ElasticNet": ElasticNet(0.4, 0.7),
    "L2Squared": L2Squared(0.6),
    "GroupL2": GroupL2(0.5, [[3, 0], [1]]),
    "weighted GroupL2": GroupL2(0.5, [[3, 0], [1]], np.array([2.0, 0.5])),
    "ChainTV": ChainTV(0.7),
    "weighted ChainTV": ChainTV(0.7, np.array([0.0, 2.0, 1.0])),
    "Zero": Zero(),
    "NonNegative": NonNegative(),
    "Box": Box(-1.0, math.inf),
    "Box of vectors": Box(np.array([-1.0, 0.0, -math.inf, 2.0]), np.full(4, 3.0)),
    "L2Ball": L2Ball(1.5),
    "Simplex": Simplex(2.0),
    "Stack": penalties.linked(Stack(((L1(1.0), [1]), (GroupL2(1.0, [[0, 1]]), slice(2, 4)))), 4),
}


@pytest.mark.parametrize("name", COMPILED)
@examples
@given(x=vectors(4), tau=taus)
def test_compiled_and_interpreted_code_agree(name, x, tau):
    penalty, v = COMPILED[name], np.empty(4)
    value = compiled_value_and_prox(penalty, x, tau, v)
    assert value == pytest.approx(penalties.value(penalty, x), rel=1e-13)
    np.testing.assert_allclose(v, prox(penalty, x, tau), rtol=1e-13, atol=1e-13)


# --- records ---------------------------------------------------------------------------------------------------------


def through_pickle(penalty):
    return pickle.loads(pickle.dumps(penalty))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, through_pickle])
@for_each_penalty
@settings(deadline=None, max_examples=5)
@given(data=st.data())
def test_a_copy_is_the_same_penalty(name, duplicate, data):
    penalty, x = data.draw(penalties_and_points(name, 1))
    twin = duplicate(penalty)
    assert type(twin) is type(penalty)
    np.testing.assert_equal(tuple(twin), tuple(penalty))
    np.testing.assert_array_equal(prox(twin, x, 0.7), prox(penalty, x, 0.7))


def test_replacing_nu_keeps_the_groups():
    penalty = GroupL2(1.0, [[0, 2], [1]], np.array([1.0, 2.0]))._replace(nu=3.0)
    assert type(penalty) is GroupL2
    assert penalty.nu == 3.0
    assert [group.tolist() for group in penalty.groups] == [[0, 2], [1]]


# --- check -----------------------------------------------------------------------------------------------------------


@for_each_penalty
@examples
@given(data=st.data())
def test_check_accepts_what_is_possible(name, data):
    penalty, x = data.draw(penalties_and_points(name, 1))
    penalties.check(penalty, len(x))


@pytest.mark.parametrize(
    ("penalty", "message"),
    [
        (L1(-1.0), r"nu of L1 must be >= 0 and finite, got -1\.0"),
        (L1(math.nan), r"nu of L1 .* got nan"),
        (L1(1.0, np.ones(3)), r"weights of L1 must be 4 finite numbers >= 0, got array\(\[1"),
        (L1(1.0, [1.0, -2.0, 1.0, 1.0]), r"weights of L1 .* -2"),
        (ChainTV(-1.0), r"nu of ChainTV must be >= 0 and finite, got -1\.0"),
        (ChainTV(1.0, np.ones(4)), r"weights of ChainTV must be 3 finite numbers >= 0, got array"),
        (ElasticNet(math.inf), r"nu of ElasticNet .* got inf"),
        (ElasticNet(1.0, 1.5), r"l1_ratio of ElasticNet must lie between 0 and 1, got 1\.5"),
        (L2Squared(-0.5), r"nu of L2Squared .* got -0\.5"),
        (GroupL2(-2.0, [[0]]), r"nu of GroupL2 .* got -2\.0"),
        (GroupL2(1.0, [[0, 1], [2]], np.ones(3)), r"weights of GroupL2 must be 2 finite numbers"),
        (GroupL2(1.0, [[0, 1], [1, 2]]), r"groups of GroupL2 must be disjoint, 1 is taken more than once"),
        (GroupL2(1.0, [[0, 4]]), r"groups of GroupL2 must lie between 0 and 3, got 0 to 4"),
        (GroupL2(1.0, [[-1]]), r"groups of GroupL2 must lie between 0 and 3, got -1 to -1"),
        (Box(2.0, 1.0), r"lower of Box must not exceed upper, got 2\.0 and 1\.0"),
        (Box(0.0, np.array([1.0, 1.0, 1.0, -1.0])), r"lower of Box must not exceed upper"),
        (Box(np.zeros(3), 1.0), r"lower of Box must be a number or 4 numbers, got array"),
        (Box(0.0, math.nan), r"upper of Box must be a number or 4 numbers, got nan"),
        (Box(math.inf, math.inf), r"lower of Box must be below inf.*, got inf and inf"),
        (Box(-math.inf, -math.inf), r"upper above -inf, got -inf and -inf"),
        (L2Ball(-1.0), r"radius of L2Ball must be >= 0, got -1\.0"),
        (Simplex(-1.0), r"total of Simplex must be >= 0, got -1\.0"),
        (Stack(((L1(1.0), [0, 1]), (Zero(), slice(1, 3)))), r"rows of Stack must be disjoint, 1 is taken more than"),
        (Stack(((L1(1.0), [0, 4]),)), r"rows of Stack must lie between 0 and 3, got 0 to 4"),
        (Stack(((L1(1.0), [0]), (L2Ball(-3.0), [1, 2]))), r"radius of L2Ball must be >= 0, got -3\.0"),
        (Stack(((L1(1.0, np.ones(3)), slice(0, 2)),)), r"weights of L1 must be 2 finite numbers"),
    ],
)
def test_check_names_the_argument_and_its_value(penalty, message):
    with pytest.raises(ValueError, match=message):
        penalties.check(penalty, 4)


@pytest.mark.parametrize(
    "penalty",
    [
        L1(0.7),
        L1(0.7, np.array([0.5, 2.0])),
        L2Squared(0.4),
        ElasticNet(0.6, 0.3),
        Zero(),
        NonNegative(),
        Box(-0.5, 1.0),
    ],
    ids=repr,
)
@examples
@given(x=numbers, beta=taus, k=st.integers(0, 1))
def test_theta_follows_without_v(penalty, x, beta, k):
    """Moreau: for x = theta - beta (A w - b), theta_{t+1} is x + beta v with v the prox at -x / beta."""
    v = np.empty(2)
    penalties.prox(penalty, np.full(2, -x / beta), 1.0 / beta, v)
    assert penalties.prox_at(penalty, k, -x / beta, 1.0 / beta) == v[k]
    assert penalties.dual_prox_at(penalty, k, x, beta) == pytest.approx(
        x + beta * v[k], rel=1e-12, abs=1e-12 * (1 + abs(x))
    )
