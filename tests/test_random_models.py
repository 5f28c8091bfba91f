"""Random models with sparse parts, constraints and offsets: as good as CVXPY, feasible, and no false proof."""

import pytest
from random_models import COUNT, faults, random_model

pytestmark = pytest.mark.compiled  # too slow without the compiler

SOME = range(0, COUNT, 10)  # every loss, constraint and l1_ratio occurs
OTHERS = sorted({*range(COUNT)} - {*SOME})


def check(numbers):
    found = [fault for number in numbers for fault in faults(random_model(number))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("numbers", [SOME[first::3] for first in range(3)], ids=str)
def test_some_models_up_to_four_hundred_rows_and_features(numbers):
    check(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(OTHERS), 30))
def test_models_up_to_four_hundred_rows_and_features(first):
    check(OTHERS[first : first + 30])
