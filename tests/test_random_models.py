"""Random models with sparse parts and constraints: as good as CVXPY, inside their constraints, and no false proof."""

import pytest
from random_models import faults, random_model

pytestmark = pytest.mark.compiled  # too slow without the compiler


def check(numbers, largest):
    found = [fault for number in numbers for fault in faults(random_model(number, largest))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("numbers", [range(0, 4), range(4, 8), range(8, 12)], ids=str)
def test_small_models(numbers):
    check(numbers, 30)


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [range(first, first + 20) for first in range(0, 120, 20)], ids=str)
def test_models_up_to_four_hundred_rows_and_features(numbers):
    check(numbers, 400)
