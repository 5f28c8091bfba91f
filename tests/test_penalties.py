"""Facts of convex analysis that each penalty and set must obey."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from penalty_cases import (
    BOUNDED,
    CASES,
    examples,
    for_each_penalty,
    for_each_set,
    formula,
    member,
    penalties_and_points,
    prox,
    strengths,
    taus,
    vectors,
)

from adasadmm import penalties
from adasadmm.penalties import (
    L1,
    Box,
    GroupL2,
    L2Ball,
    L2Squared,
    NonNegative,
    Simplex,
    Stack,
    Zero,
)

pytestmark = [pytest.mark.kernels, pytest.mark.filterwarnings("error::RuntimeWarning")]


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
