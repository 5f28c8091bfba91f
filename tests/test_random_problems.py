"""Random problems of every kind: a solver that says it converged is as good as CVXPY, and no certificate lies."""

import pytest
from random_problems import by_cvxpy, judged, random_case

from adasadmm import ALM, Problem
from adasadmm.auto import choices
from adasadmm.registry import Tuning

pytestmark = [pytest.mark.kernels, pytest.mark.compiled]  # too slow without the compiler


def automatic(case):
    """The solver that estimators choose for a problem."""
    return next(choices(Problem(**case.settings), Tuning())).solver


def check(numbers, largest, solvers_for):
    """Collect all faults, so that one does not hide the others."""
    faults = []
    for number in numbers:
        case = random_case(number, largest)
        reference = by_cvxpy(case)
        for solver in solvers_for(case):
            verdict = judged(case, solver, reference)
            faults += [
                f"{case.name}, {type(solver).__name__}: {fault}"
                for fault in (verdict.wrong, verdict.lies, *verdict.said)
                if fault and "the fit is exact up to rounding errors" not in fault
            ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("numbers", [range(first, first + 5) for first in range(0, 25, 5)], ids=str)
def test_small_problems(numbers):
    check(numbers, 30, lambda case: {ALM(), automatic(case)})


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [range(first, first + 20) for first in range(0, 200, 20)], ids=str)
def test_problems_up_to_two_hundred_rows_and_features(numbers):
    check(numbers, 200, lambda case: [automatic(case)])


def test_a_problem_is_a_function_of_its_number():
    one, other = random_case(7), random_case(7)
    assert one.name == other.name and (one.settings["X"] == other.settings["X"]).all()
    assert random_case(8).name != one.name
