"""No method and no certificate needs memory for a d x d matrix where features are many."""

import contextlib
import pathlib
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import (
    ALM,
    ASVRGADMM,
    IPM,
    L1,
    OADMM,
    RDASADMM,
    SADMM,
    SDCA,
    SPDHG,
    SVRGADMM,
    AdaSADMM,
    GraphGuidedClassifier,
    GraphGuidedRegressor,
    Hinge,
    Logistic,
    Problem,
    Squared,
    TotalVariation,
    graphs,
    solve,
)

resource = pytest.importorskip("resource", reason="the limit of memory is that of Unix")
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory in use is read from /proc"),
    pytest.mark.compiled,
]

D, N = 20_000, 30
ROOM = 2**30  # bytes; a d x d matrix takes three times as many
RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=(N, D))
SPARSE = sp.random_array((N, D), density=0.005, format="csr", rng=0)
LABELS, TARGETS = np.where(np.arange(N) % 2, 1.0, -1.0), RNG.normal(size=N)
CHAIN = graphs.chain(D)
GRAPH = np.unique(np.concatenate([CHAIN, np.sort(RNG.integers([D // 2, D], size=(D // 10, 2)), axis=1)]), axis=0)
GRAPH = GRAPH[GRAPH[:, 0] != GRAPH[:, 1]]


@contextlib.contextmanager
def little_room():
    """Let the process allocate no more than ROOM beyond what it has; whoever asks for more gets a MemoryError."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_the_limit_holds():
    with little_room(), pytest.raises(MemoryError):
        np.zeros((D, D))


def run_in_little_room(solver, X):
    problem = Problem(X, LABELS, loss=Logistic(), penalty=L1(0.01), A=graphs.incidence(CHAIN, d=D), gamma=0.01)
    with little_room():
        result = solve(problem, solver, epochs=2, tol=0.0)
        assert np.isfinite(result.run.certify().primal)


@pytest.mark.parametrize("X", [WIDE, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("solver", [IPM(), ALM(), SDCA()], ids=lambda solver: type(solver).__name__)
def test_a_solver_and_its_certificate(solver, X):
    """All but `ADMM`, which says how much its d x d matrix needs if the machine has less."""
    run_in_little_room(solver, X)


STOCHASTIC = [AdaSADMM(), SADMM(), RDASADMM(), OADMM(eta=0.1), SPDHG(), SVRGADMM(), ASVRGADMM()]


@pytest.mark.slow
@pytest.mark.parametrize("solver", STOCHASTIC, ids=lambda solver: type(solver).__name__)
def test_a_stochastic_solver(solver):
    run_in_little_room(solver, SPARSE)


DIAGONAL = [(TotalVariation(), CHAIN), (TotalVariation(), GRAPH), (IPM(), CHAIN), (IPM(), GRAPH)]


@pytest.mark.parametrize("solver, edges", DIAGONAL, ids=["chain", "graph", "IPM-chain", "IPM-graph"])
def test_a_diagonal_X(solver, edges):
    problem = Problem(
        sp.eye_array(D), RNG.normal(size=D), loss=Squared(), penalty=L1(1e-5), A=graphs.incidence(edges, d=D)
    )
    with little_room():
        result = solve(problem, solver, epochs=2, tol=0.0)
        assert np.isfinite(result.run.certify().primal)


@pytest.mark.parametrize("l2", [0.0, 0.01], ids=["no ridge", "ridge"])
@pytest.mark.parametrize("edges", [CHAIN, GRAPH], ids=["chain", "graph"])
@pytest.mark.parametrize("X", [WIDE, pytest.param(SPARSE, marks=pytest.mark.slow)], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", [Squared(), Hinge()], ids=lambda loss: type(loss).__name__)
def test_a_fit(loss, X, edges, l2):
    """The choice of the solver, the fit, its certificate and the exact structure."""
    with little_room():
        if isinstance(loss, Hinge):
            model = GraphGuidedClassifier(edges, loss=loss, alpha=0.01, l2=l2, tol=1e-3).fit(X, LABELS)
        else:
            model = GraphGuidedRegressor(edges, loss=loss, alpha=0.01, l2=l2, tol=1e-3).fit(X, TARGETS)
    assert model.dual_gap_ <= 1e-3
