"""Estimators, command line, public names and docs accept and list what the registry holds."""

import argparse
import pathlib

import pytest
from sklearn.utils._param_validation import StrOptions

import adasadmm
from adasadmm import (
    ALM,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    StructuredClassifier,
    StructuredRegressor,
    cli,
    losses,
    registry,
    solvers,
)

CLASSIFIERS = (GraphGuidedClassifier, StructuredClassifier)
REGRESSORS = (GraphGuidedRegressor, StructuredRegressor)
DOCS = pathlib.Path(__file__).parents[1] / "docs"


def options(estimator, parameter):
    (found,) = (rule for rule in estimator._parameter_constraints[parameter] if isinstance(rule, StrOptions))
    return found.options


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS])
def test_estimators_take_the_names_of_the_registry(estimator):
    assert options(estimator, "solver") == {"auto", *registry.SOLVERS}
    assert options(estimator, "average") == set(registry.AVERAGES)
    known = registry.CLASSIFICATION_LOSSES if estimator in CLASSIFIERS else registry.REGRESSION_LOSSES
    assert options(estimator, "loss") == set(known)


def test_the_command_line_takes_the_names_of_the_registry():
    (commands,) = (a for a in cli._parser()._actions if isinstance(a, argparse._SubParsersAction))
    fit = {action.dest: action for action in commands.choices["fit"]._actions}
    assert set(fit["loss"].choices) == set(registry.LOSSES)
    assert set(fit["solver"].choices) == {"auto", *registry.SOLVERS}


def test_losses_and_solvers_are_public():
    names = {type(loss).__name__ for loss in registry.LOSSES.values()} | {cls.__name__ for cls in solvers.BUILT_IN}
    assert names <= set(adasadmm.__all__)
    assert {type(loss) for loss in registry.LOSSES.values()} == set(losses.BUILT_IN)


def test_defaults_of_the_solvers_are_those_that_the_registry_builds():
    made = {name: make(registry.Tuning()) for name, make in registry.SOLVERS.items()}
    assert made["alm"] == ALM() and all(isinstance(solver, solvers.Solver) for solver in made.values())


def test_the_docs_name_every_loss_and_solver():
    if not DOCS.exists():
        pytest.skip("installed without the repository")
    text = "".join((DOCS / page).read_text() for page in ("estimators.md", "choosing.md", "command_line.md"))
    text += GraphGuidedClassifier.__doc__ + GraphGuidedRegressor.__doc__
    missing = [name for name in (*registry.LOSSES, *registry.SOLVERS) if f'"{name}"' not in text]
    assert not missing, missing
