"""Random tables with terms of every kind: as good as CVXPY, inside their constraints, and no false proof."""

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

from random_tables import faults, random_table

pytestmark = pytest.mark.compiled  # too slow without the compiler


def check(numbers, largest):
    found = [fault for number in numbers for fault in faults(random_table(number, largest))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("numbers", [range(0, 5), range(5, 10)], ids=str)
def test_small_tables(numbers):
    check(numbers, 12)


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [range(first, first + 20) for first in range(0, 100, 20)], ids=str)
def test_tables_with_up_to_sixty_levels(numbers):
    check(numbers, 60)
