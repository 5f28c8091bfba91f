"""Facts of convex analysis that each penalty and set must obey, against formulas written here anew in NumPy."""

import copy
import functools
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

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

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

FORMULAS = {
    L1: lambda p, v: p.nu * np.sum((1.0 if p.weights is None else p.weights) * np.abs(v)),
    ElasticNet: lambda p, v: p.nu * (p.l1_ratio * np.sum(np.abs(v)) + (1.0 - p.l1_ratio) / 2 * v @ v),
    L2Squared: lambda p, v: p.nu / 2 * v @ v,
    ChainTV: lambda p, v: p.nu * np.sum((1.0 if p.weights is None else p.weights) * np.abs(np.diff(v))),
    GroupL2: lambda p, v: p.nu * np.sum((1.0 if p.weights is None else p.weights) * group_norms(p, v)),
    Stack: lambda p, v: sum(formula(part, v[rows]) for part, rows in p.parts),
}
# A point of the set made from any point, without using the projection.
MEMBERS = {
    NonNegative: lambda p, x: np.abs(x),
    Box: lambda p, x: np.clip(x, p.lower, p.upper),
    L2Ball: lambda p, x: p.radius * x / (1.0 + np.linalg.norm(x)),
    Simplex: lambda p, x: p.total * np.exp(x) / np.sum(np.exp(x)),
}

strengths = st.just(0.0) | st.floats(0.01, 3.0)
numbers = st.sampled_from([-2.0, 0.0, 1.0]) | st.floats(-10.0, 10.0, allow_subnormal=False)  # ties are likely
taus = st.floats(-3.0, 3.0).map(lambda exponent: 10.0**exponent)
examples = settings(deadline=None, max_examples=20)


@functools.cache
def vectors(m, elements=numbers):
    return st.lists(elements, min_size=m, max_size=m).map(np.array)


def groups_of(m):
    """Disjoint groups; a coordinate with label 0 is in none of them, and a group may be empty."""
    labels = vectors(m, st.integers(0, 3))
    return labels.map(lambda labels: [np.flatnonzero(labels == g) for g in (1, 2, 3)])


def boxes(m):
    pairs = st.tuples(vectors(m), vectors(m)).map(lambda pair: np.sort(pair, axis=0))
    return pairs.map(lambda pair: Box(*pair))


def half_open_boxes(m):
    def build(box, is_open):
        low, high = box.lower.copy(), box.upper.copy()
        low[is_open == 1], high[is_open == 2] = -math.inf, math.inf
        return Box(low, high)

    return st.builds(build, boxes(m), vectors(m, st.integers(0, 2)))


def stacks(m):
    """Two penalties or sets on shuffled rows, of which the last is free."""

    def build(order, cut, first, second):
        rows = np.array(order)
        return Stack(((first, rows[:cut]), (second, rows[cut:-1])))

    inner = st.sampled_from([L1(0.5), ElasticNet(0.7, 0.3), L2Squared(2.0), Zero(), NonNegative(), Box(-1.0, math.inf)])
    grouped = st.sampled_from([L2Ball(1.5), Simplex(2.0), GroupL2(0.8, [[0]])])
    return st.builds(build, st.permutations(range(m)), st.integers(1, max(m - 2, 1)), grouped, inner)


CASES = {
    "L1": lambda m: strengths.map(L1),
    "weighted L1": lambda m: st.builds(L1, strengths, vectors(m, strengths)),
    "ElasticNet": lambda m: st.builds(ElasticNet, strengths, st.floats(0.0, 0.9) | st.just(1.0)),
    "L2Squared": lambda m: strengths.map(L2Squared),
    "GroupL2": lambda m: st.tuples(strengths, groups_of(m)).map(lambda fields: GroupL2(*fields)),
    "weighted GroupL2": lambda m: st.tuples(strengths, groups_of(m), vectors(3, strengths)).map(lambda f: GroupL2(*f)),
    "ChainTV": lambda m: strengths.map(ChainTV),
    "weighted ChainTV": lambda m: st.builds(ChainTV, strengths, vectors(m - 1, strengths)),
    "Zero": lambda m: st.just(Zero()),
    "NonNegative": lambda m: st.just(NonNegative()),
    "Box": lambda m: st.sampled_from([Box(-1.0, 2.0), Box(0.0, math.inf), Box(-math.inf, 1.0), Box(1.0, 1.0)]),
    "Box of vectors": boxes,
    "half-open Box": half_open_boxes,
    "L2Ball": lambda m: strengths.map(L2Ball),
    "Simplex": lambda m: strengths.map(Simplex),
    "Stack": stacks,
}
BOUNDED = ["Box of vectors", "L2Ball", "Simplex"]  # their conjugates are finite everywhere
SETS = ["NonNegative", "Box", "Box of vectors", "half-open Box", "L2Ball", "Simplex"]
for_each_penalty = pytest.mark.parametrize("name", CASES)
for_each_set = pytest.mark.parametrize("name", SETS)


@st.composite
def penalties_and_points(draw, name, points):
    """A penalty with some points of the size that it takes."""
    m = draw(st.integers(3 if name == "Stack" else 1, 6))
    return draw(CASES[name](m)), *(draw(vectors(m)) for _ in range(points))


def group_norms(penalty, v):
    return np.array([np.linalg.norm(v[group]) for group in penalty.groups])


def formula(penalty, v):
    return FORMULAS.get(type(penalty), lambda p, v: 0.0)(penalty, v)


def member(penalty, x):
    """A point where the penalty is finite."""
    if not isinstance(penalty, Stack):
        return MEMBERS.get(type(penalty), lambda p, x: x)(penalty, x)
    v = x.copy()
    for part, rows in penalty.parts:
        v[rows] = member(part, x[rows])
    return v


def prox(penalty, x, tau):
    v = np.full(len(x), np.nan)
    penalties.prox(penalty, x, tau, v)
    return v


# --- value and prox --------------------------------------------------------------------------------------------------


@for_each_penalty
@examples
@given(data=st.data())
def test_value_is_the_formula(name, data):
    penalty, v = data.draw(penalties_and_points(name, 1))
    assert penalties.value(penalty, v) == pytest.approx(formula(penalty, v), rel=1e-12, abs=1e-12)


@for_each_penalty
@examples
@given(data=st.data(), tau=taus)
def test_no_point_is_better_than_the_prox(name, data, tau):
    penalty, x, other = data.draw(penalties_and_points(name, 2))
    v, rival = prox(penalty, x, tau), member(penalty, other)

    def objective(v):
        return formula(penalty, v) + np.sum((v - x) ** 2) / (2.0 * tau)

    for part in (1.0, 0.1, 1e-2, 1e-4, 1e-6):  # by convexity the segment to a rival holds points of the set only
        assert objective(v) <= objective(v + part * (rival - v)) + 1e-12 * (1.0 + objective(v))


@for_each_penalty
@examples
@given(data=st.data(), tau=taus)
def test_prox_is_non_expansive(name, data, tau):
    penalty, x, other = data.draw(penalties_and_points(name, 2))
    distance = np.linalg.norm(prox(penalty, x, tau) - prox(penalty, other, tau))
    assert distance <= np.linalg.norm(x - other) + 1e-12


@for_each_penalty
@examples
@given(data=st.data(), tau=taus)
def test_prox_may_write_over_its_argument(name, data, tau):
    penalty, x = data.draw(penalties_and_points(name, 1))
    expected, before = prox(penalty, x, tau), x.copy()
    np.testing.assert_array_equal(x, before)
    penalties.prox(penalty, x, tau, x)
    np.testing.assert_array_equal(x, expected)


# --- conjugate and domain --------------------------------------------------------------------------------------------


@for_each_penalty
@examples
@given(data=st.data(), tau=taus)
def test_moreau_decomposition(name, data, tau):
    """x = v + tau s, with v the prox and s a subgradient at v: s lies in the domain, and Fenchel-Young is tight."""
    penalty, x = data.draw(penalties_and_points(name, 1))
    v = prox(penalty, x, tau)
    s = (x - v) / tau
    inside = penalties.domain(penalty, s)
    np.testing.assert_allclose(inside, s, rtol=0.0, atol=1e-13 * (1.0 + 1.0 / tau))
    both = penalties.value(penalty, v) + penalties.conjugate(penalty, inside)
    assert both == pytest.approx(s @ v, abs=1e-13 * (1.0 + x @ x) * (1.0 + 1.0 / tau))


@for_each_penalty
@examples
@given(data=st.data())
def test_conjugate_is_above_every_affine_minorant(name, data):
    penalty, s, *points = data.draw(penalties_and_points(name, 4))
    s = penalties.domain(penalty, s)
    for v in (member(penalty, point) for point in points):
        assert penalties.conjugate(penalty, s) >= s @ v - formula(penalty, v) - 1e-11


@for_each_penalty
@examples
@given(data=st.data())
def test_domain_is_a_projection(name, data):
    penalty, s, other = data.draw(penalties_and_points(name, 2))
    nearest, rival = penalties.domain(penalty, s), penalties.domain(penalty, other)
    np.testing.assert_allclose(penalties.domain(penalty, nearest), nearest, atol=1e-14)
    assert (s - nearest) @ (rival - nearest) <= 1e-12


@pytest.mark.parametrize("name", [name for name in CASES if name not in BOUNDED])
@examples
@given(data=st.data())
def test_conjugate_is_infinite_outside_the_domain(name, data):
    penalty, s = data.draw(penalties_and_points(name, 1))
    outward = s - penalties.domain(penalty, s)  # a direction without end of the penalty, by the theory of normal cones
    assume(np.linalg.norm(outward) > 1e-3)
    v = member(penalty, np.zeros(len(s))) + 1e9 * outward
    assert penalties.violation(penalty, v) == 0.0
    assert s @ v - formula(penalty, v) >= 0.5e9 * outward @ outward


# --- sets ------------------------------------------------------------------------------------------------------------


@for_each_set
@examples
@given(data=st.data(), tau=taus)
def test_projection_lies_inside_whatever_tau_is_and_is_idempotent(name, data, tau):
    penalty, x = data.draw(penalties_and_points(name, 1))
    v = prox(penalty, x, tau)
    assert penalties.violation(penalty, v) <= 1e-14
    np.testing.assert_allclose(prox(penalty, v, tau), v, atol=1e-14)
    np.testing.assert_array_equal(prox(penalty, x, 1.0), v)


@for_each_set
@examples
@given(data=st.data())
def test_violation_is_the_distance_to_the_set(name, data):
    penalty, x, other = data.draw(penalties_and_points(name, 2))
    inside = member(penalty, other)
    assert penalties.violation(penalty, inside) <= 1e-13
    assert 0.0 <= penalties.violation(penalty, x) <= np.linalg.norm(x - inside) + 1e-13
    assert penalties.violation(penalty, x) == np.max(np.abs(x - prox(penalty, x, 1.0)))


@pytest.mark.parametrize(
    ("penalty", "outside", "distance"),
    [
        (NonNegative(), [1.0, -0.5], 0.5),
        (Box(-1.0, [1.0, math.inf]), [3.0, 5.0], 2.0),
        (L2Ball(5.0), [6.0, 8.0], 4.0),
        (Simplex(1.0), [1.0, 1.0], 0.5),
        (Stack(((NonNegative(), [1]), (Box(0.0, 1.0), [0]))), [1.5, -2.0], 2.0),
        (L1(1.0), [9.0, 9.0], 0.0),
        (Zero(), [9.0, 9.0], 0.0),
        (NonNegative(), [], 0.0),
    ],
)
def test_violation_by_hand(penalty, outside, distance):
    assert penalties.violation(penalty, np.array(outside)) == pytest.approx(distance)


@examples
@given(total=st.floats(0.1, 10.0), x=st.integers(1, 6).flatmap(vectors), shift=st.sampled_from([0.0, 1e17, -1e300]))
def test_projection_on_the_simplex_sums_to_its_total_however_large_the_point(total, x, shift):
    v = prox(Simplex(total), x + shift, 1.0)
    assert v.min() >= 0.0
    assert v.sum() == pytest.approx(total, rel=1e-12)


def test_simplex_of_total_zero_is_the_origin():
    np.testing.assert_array_equal(prox(Simplex(0.0), np.array([3.0, -1.0]), 1.0), [0.0, 0.0])


# --- groups and stacks -----------------------------------------------------------------------------------------------


@examples
@given(x=vectors(5), nu=strengths, tau=taus)
def test_coordinates_in_no_group_are_free(x, nu, tau):
    v = prox(GroupL2(nu, [[0, 3], []]), x, tau)
    np.testing.assert_array_equal(v[[1, 2, 4]], x[[1, 2, 4]])


def test_groups_are_given_back_as_they_came():
    groups = [[4, 0], [], [2]]
    assert [group.tolist() for group in GroupL2(1.0, groups).groups] == groups
    assert GroupL2(1.0, []).groups == []


@examples
@given(x=vectors(7), tau=taus, nu=strengths)
def test_stack_is_each_part_by_hand(x, tau, nu):
    parts = (
        (L1(nu, np.array([1.0, 2.0])), np.array([5, 0])),
        (GroupL2(0.5, [[0, 1]]), slice(1, 3)),
        (Simplex(1.0), [6, 3]),
    )
    stack, expected = Stack(parts), x.copy()
    for part, rows in parts:
        expected[rows] = prox(part, x[rows], tau)
    np.testing.assert_array_equal(prox(stack, x, tau), expected)
    assert prox(stack, x, tau)[4] == x[4]  # taken by none
    by_hand = sum(penalties.value(part, x[rows]) for part, rows in parts)
    assert penalties.value(stack, x) == pytest.approx(by_hand, rel=1e-14)


@examples
@given(x=vectors(4), tau=taus)
def test_stack_in_a_stack(x, tau):
    inner = Stack(((L1(1.0), [0]), (NonNegative(), [1])))
    nested, flat = Stack(((inner, [2, 0]),)), Stack(((L1(1.0), [2]), (NonNegative(), [0])))
    np.testing.assert_array_equal(prox(nested, x, tau), prox(flat, x, tau))
    assert penalties.value(nested, x) == penalties.value(flat, x)
    np.testing.assert_array_equal(penalties.domain(nested, x), penalties.domain(flat, x))


def test_empty_stack_is_no_penalty():
    x = np.array([1.0, -2.0])
    np.testing.assert_array_equal(prox(Stack(()), x, 1.0), x)
    assert penalties.value(Stack(()), x) == penalties.conjugate(Stack(()), np.zeros(2)) == 0.0


@examples
@given(x=vectors(4), tau=taus, scale=st.floats(0.1, 10.0))
def test_scale_of_a_part_multiplies_its_tau(x, tau, scale):
    stack = Stack(((L1(1.0), [0, 2]), (L2Squared(1.0), [3])))
    v = prox(penalties.linked(stack, 4, [scale, 1.0]), x, tau)
    np.testing.assert_array_equal(v[[0, 2]], prox(L1(1.0), x[[0, 2]], tau * scale))
    np.testing.assert_array_equal(v[[1, 3]], [x[1], prox(L2Squared(1.0), x[3:], tau)[0]])


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
