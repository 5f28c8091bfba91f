"""The support matrix: which estimator has which parameters, and which solver takes which loss, penalty and rows; and
which solver "auto" chooses.

The tables are computed when the site is built. `solve` calls `adasadmm.solvers.check_fits` before any work, and so do
these tables: they cannot differ. The choices are the rules of `adasadmm.auto` themselves.
"""

import inspect
import re

import numpy as np
import scipy.sparse as sp

import adasadmm
from adasadmm import Problem, graphs, losses, penalties, solvers
from adasadmm.auto import LAST_RESORT, RULES
from adasadmm.registry import AUTOMATIC

OWN = {"OADMM": (1.0,)}  # arguments without a default
SOLVERS = [cls(*OWN.get(cls.__name__, ())) for cls in solvers.BUILT_IN]
PENALTIES = {
    "L1": penalties.L1(0.1),
    "ElasticNet": penalties.ElasticNet(0.1),
    "GroupL2": penalties.GroupL2(0.1, ([0, 1], [2])),
    "L2Squared": penalties.L2Squared(0.1),
    "NonNegative": penalties.NonNegative(),
    "Box": penalties.Box(-1.0, 1.0),
    "L2Ball": penalties.L2Ball(1.0),
    "Simplex": penalties.Simplex(1.0),
}
ROWS = np.arange(24.0).reshape(6, 4) % 5 - 2
DESIGNS = {"dense": ROWS, "sparse": sp.csr_array(ROWS), "diagonal": sp.eye_array(4, format="csr")}
YES, NO = "yes", ""
ESTIMATORS = ("GraphGuided", "Structured", "Terms", "NetworkLasso", "TrendFilter", "TotalVariationDenoiser")
PARAMETERS = "l1_ratio positive bounds constraints joint missing weights refit validation_fraction class_weight".split()


def fits(solver, loss, penalty, design):
    """Whether `solve` accepts the solver for a small problem of this kind: a chain over four coefficients."""
    X = DESIGNS[design]
    y = np.where(np.arange(X.shape[0]) % 2, 1.0, -1.0) if losses.takes_labels(loss) else np.ones(X.shape[0])
    problem = Problem(X, y, loss=loss, penalty=penalty, A=graphs.difference(4), gamma=0.1 * (design != "diagonal"))
    return solvers.fits(solver, problem)


def ever(solver, loss, penalty):
    return any(fits(solver, loss, penalty, design) for design in DESIGNS)


def by_estimator():
    """A line for each family of estimators, a column for each parameter."""
    lines = []
    for family in ESTIMATORS:
        names = [name for name in (family, f"{family}Regressor", f"{family}Classifier") if hasattr(adasadmm, name)]
        known = {key for name in names for key in inspect.signature(getattr(adasadmm, name)).parameters}
        streams = all(hasattr(cls.__new__(cls), "partial_fit") for cls in (getattr(adasadmm, name) for name in names))
        facts = [*(name in known for name in PARAMETERS), streams, hasattr(adasadmm, f"{names[0]}CV")]
        lines.append([", ".join(f"`{name}`" for name in names), *(YES if fact else NO for fact in facts)])
    return _table(["estimator", *(f"`{name}`" for name in PARAMETERS), "`partial_fit`", "class with `CV`"], lines)


def by_loss():
    """A line for each solver, a column for each loss."""
    kinds = [cls() for cls in losses.BUILT_IN]
    lines = [
        [f"`{type(solver).__name__}`", *(YES if ever(solver, loss, penalties.L1(0.1)) else NO for loss in kinds)]
        for solver in SOLVERS
    ]
    return _table(["solver", *(type(loss).__name__ for loss in kinds)], lines)


def by_penalty():
    """A line for each solver, a column for each penalty, with the squared loss or else the hinge loss."""
    both = losses.Squared(), losses.Hinge()
    lines = [
        [
            f"`{type(solver).__name__}`",
            *(YES if any(ever(solver, loss, penalty) for loss in both) else NO for penalty in PENALTIES.values()),
        ]
        for solver in SOLVERS
    ]
    return _table(["solver", *PENALTIES], lines)


def by_rows():
    """A line for each solver: the rows that it takes, and what it proves."""
    lines = []
    for solver in SOLVERS:
        designs = {
            design: any(fits(solver, loss, penalties.L1(0.1), design) for loss in (losses.Squared(), losses.Logistic()))
            for design in DESIGNS
        }
        facts = [designs["dense"], designs["sparse"], solver.takes_streams, solver.takes_any_B, solver.knows_gap]
        lines.append([f"`{type(solver).__name__}`", *(YES if fact else NO for fact in facts)])
    return _table(["solver", "dense X", "sparse X", "rows from files", "any B", "certified gap"], lines)


def by_rule():
    """A line for each rule of "auto": the problems to which it applies, the solver, and what it says."""
    letters = {"n": "n", "samples": "n", "d": "d", "features": "d", "width": "k"}
    lines = []
    for rule in (*RULES, LAST_RESORT):
        reason = re.sub(r"{shape[.](\w+)[^}]*}", lambda fact: letters.get(fact[1], "..."), rule.reason)
        lines.append([rule.case, f"`{type(rule.solver(AUTOMATIC)).__name__}`", reason])
    return _table(["problem", "solver", "`solver_reason_`"], lines)


def _table(heads, lines):
    every = [heads, ["---"] * len(heads), *lines]
    return "\n" + "\n".join("| " + " | ".join(line) + " |" for line in every) + "\n"


TABLES = {"rules": by_rule, "estimators": by_estimator, "losses": by_loss, "penalties": by_penalty, "rows": by_rows}
