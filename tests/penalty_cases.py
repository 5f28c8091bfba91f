"""Penalties and sets with points, drawn by hypothesis, and their formulas written here anew in NumPy."""

import functools
import math

import numpy as np
import pytest
from hypothesis import settings, strategies as st

from adasadmm import penalties
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
