"""What is compiled when: the promises that make a plug-in in Python as fast and as safe as a built-in part."""

import textwrap
from typing import NamedTuple

import numba
import numpy as np
import pytest
from scripts import FIT, run

from adasadmm import ADMM, L1, AdaSADMM, Hinge, Problem, Squared, losses, metrics, penalties, solve
from adasadmm._core.jit import compiled, generic
from adasadmm.algorithm import algorithm1
from adasadmm.solvers.admm.batch import constraint_steps

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="without the compiler there is nothing to promise"),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = np.sign(X[:, 0] + 0.1)
A = np.eye(4)[:-1] - np.eye(4)[1:]


def problem(loss=None, penalty=None, X=X, y=Y):
    loss = Hinge() if loss is None else loss
    return Problem(X, y, loss=loss, penalty=L1(0.1) if penalty is None else penalty, A=A, gamma=0.1)


def test_a_second_call_compiles_nothing():
    solve(problem(), AdaSADMM(eta=1.0))
    solve(problem(), ADMM())
    before = len(algorithm1.signatures), len(constraint_steps.signatures)
    read_only = X.copy()
    read_only.flags.writeable = False
    for data in (X, np.asfortranarray(X), X.astype(np.float32), read_only, X[::1], np.repeat(X, 2, axis=1)[:, ::2]):
        solve(problem(penalty=L1(1), X=data, y=Y.astype(int)), AdaSADMM(eta=2, a=3))
        solve(problem(penalty=L1(np.float32(1)), X=data), ADMM())
    assert (len(algorithm1.signatures), len(constraint_steps.signatures)) == before


NOTHING_COMPILED = """
import sys
import numpy as np
from adasadmm import GraphGuidedClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 50))
z = X[:, :20].sum(axis=1) + rng.normal(size=500)
y = np.digitize(z, [-1.0, 1.0]) if {loss!r} == "multinomial" else z > 0.0
model = GraphGuidedClassifier("chain", loss={loss!r}, alpha=0.01).fit(X, y)
print(model.status_.name, "numba" in sys.modules)
"""


@pytest.mark.parametrize("loss", ["hinge", "multinomial"])
def test_a_fit_of_dense_rows_does_not_import_numba(loss, tmp_path):
    assert run(NOTHING_COMPILED.format(loss=loss), tmp_path) == ["converged", "False"]


SIDE_BY_SIDE = """
import pickle, threading
import numpy as np
from adasadmm import Poisson, losses
from adasadmm._core import jit

@jit.inlined
def twice(x): return x + x

@jit.compiled
def inner(loss, z): return twice(losses.value(loss, z, 2.0))

@jit.compiled
def outer(loss, z): return inner(loss, z) + 1.0

found, barrier = [], threading.Barrier(4)
def call():
    barrier.wait()
    found.append(outer(Poisson(), 0.0))
threads = [threading.Thread(target=call) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(set(found) == {3.0}, len(outer.signatures), pickle.loads(pickle.dumps(outer)) is outer)
"""


def test_several_threads_may_make_the_first_call(tmp_path):
    assert run(SIDE_BY_SIDE, tmp_path) == ["True", "1", "True"]


PLUG_IN = """
from typing import NamedTuple
from adasadmm import losses

class Mine(NamedTuple):
    scale: float = 1.0

@losses.value.register
def mine_value(loss: Mine, z, y): return loss.scale * {slope} * abs(z - y)

@losses.slope.register
def mine_slope(loss: Mine, z, y): return loss.scale * {slope} * (1.0 if z > y else -1.0)
"""


ALL_MODULES = """
import importlib, pkgutil, adasadmm
for module in pkgutil.walk_packages(adasadmm.__path__, "adasadmm."):
    if not module.name.endswith("__main__"): importlib.import_module(module.name)
"""


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_has_the_same_bits(tmp_path):
    first = run(FIT.format(more="", loss="Hinge()"), tmp_path, PYTHONHASHSEED="1")
    again = run(FIT.format(more="", loss="Hinge()"), tmp_path, PYTHONHASHSEED="2")
    after_more_imports = run(FIT.format(more=ALL_MODULES, loss="Hinge()"), tmp_path)
    assert int(first[1]) > 0
    assert int(again[1]) == int(after_more_imports[1]) == 0
    assert first[0] == again[0] == after_more_imports[0]


@pytest.mark.slow  # compiles in four processes
def test_editing_a_plug_in_changes_the_result_at_once(tmp_path):
    code = FIT.format(more=f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom mine import Mine", loss="Mine()")
    (tmp_path / "mine.py").write_text(PLUG_IN.format(slope="1.0"))
    first = run(code, tmp_path)
    unchanged = run(code, tmp_path)
    (tmp_path / "mine.py").write_text(PLUG_IN.format(slope="0.0"))
    edited = run(code, tmp_path)
    assert int(unchanged[1]) == 0
    assert unchanged[0] == first[0] != edited[0]
    assert set(edited[0]) == {"0"}  # a slope of 0 leaves w at 0


@pytest.mark.slow
def test_a_global_from_another_file_is_part_of_a_plug_in(tmp_path):
    code = FIT.format(more=f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom mine import Mine", loss="Mine()")
    source = "import other\nfrom other import SLOPE\n" + PLUG_IN.format(slope="SLOPE * other.f()")
    (tmp_path / "mine.py").write_text(source)
    other = "import numba\nSLOPE = {}\n@numba.njit\ndef f(): return {}\n"
    results = []
    for numbers in ((1.0, 1.0), (1.0, 1.0), (1.0, 2.0), (3.0, 2.0)):
        (tmp_path / "other.py").write_text(other.format(*numbers))
        results.append(run(code, tmp_path, PYTHONDONTWRITEBYTECODE="1"))
    assert int(results[1][1]) == 0
    assert results[0][0] == results[1][0]
    assert len({bits for bits, _ in results}) == 3


@pytest.mark.slow  # compiles with nothing kept
def test_importing_works_where_no_cache_folder_is_writable(tmp_path):
    # No folder that numba could use: its own choice, the user's cache and the one beside the source are all files.
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    code = """
    import numba.core.caching as caching
    class Nowhere:
        @classmethod
        def from_function(cls, *args): return None
    caching.FunctionCache._impl_class._locator_classes[:] = [Nowhere]
    """ + textwrap.indent(FIT.format(more="", loss="Hinge()"), "    ")
    words = run(code, tmp_path, HOME=str(blocked), XDG_CACHE_HOME=str(blocked))
    assert len(words) == 2


class Absolute(NamedTuple):
    scale: float = 1.0


@losses.value.register
def absolute_value(loss: Absolute, z, y):
    return loss.scale * abs(z - y)


@losses.slope.register
def absolute_slope(loss: Absolute, z, y):
    return loss.scale * (1.0 if z > y else -1.0)


def test_registering_again_recompiles():
    first = solve(problem(Absolute()), AdaSADMM(eta=1.0)).w
    old = [(function, function.dispatch(Absolute)) for function in (losses.value, losses.slope)]
    try:

        @losses.value.register(Absolute)
        @losses.slope.register(Absolute)
        def nothing(loss, z, y):
            return 0.0

        assert not solve(problem(Absolute()), AdaSADMM(eta=1.0)).w.any()
    finally:
        for function, implementation in old:
            function.register(Absolute, implementation)
    np.testing.assert_array_equal(solve(problem(Absolute()), AdaSADMM(eta=1.0)).w, first)


class Part(NamedTuple):
    scale: float


@generic
def applied(part, x):
    """The part applied to a number."""


@applied.register(object)
def object_applied(part, x):
    return x


@compiled
def apply_part(part, x):
    return applied(part, x)


def test_an_implementation_in_place_of_that_for_all_classes_recompiles():
    assert apply_part(Part(3.0), 2.0) == 2.0

    @applied.register
    def part_applied(part: Part, x):
        return part.scale * x

    assert apply_part(Part(3.0), 2.0) == 6.0


def test_registering_for_a_class_that_nothing_was_compiled_for_recompiles_nothing():
    class New(NamedTuple):
        pass

    apply_part(Part(3.0), 2.0)
    before = apply_part.signatures

    @applied.register
    def new_applied(part: New, x):
        return 0.0

    assert before and apply_part.signatures == before


def test_a_local_class_under_postponed_annotations_registers(tmp_path):
    local = """
def local():
    from typing import NamedTuple
    class Mine(NamedTuple):
        place: int = 1  # an index: must stay whole
        table: np.ndarray = np.ones(2)
    @losses.value.register
    def mine_value(loss: Mine, z, y): return loss.table[loss.place] * abs(z - y)
    @losses.slope.register
    def mine_slope(loss: Mine, z, y): return loss.table[loss.place] * (1.0 if z > y else -1.0)
    return Mine
Mine = local()
"""
    code = "from __future__ import annotations\n" + FIT.format(more=local, loss="Mine()")
    assert len(run(code, tmp_path)) == 2


def test_a_metric_of_ones_own_is_compiled_and_equals_the_built_in():
    def own(state, g):
        for j in range(len(g)):
            state.squares[j] += g[j] * g[j]

    metrics.observe.register(OwnState, own)
    result = solve(problem(), AdaSADMM(metric=Own(), eta=1.0))
    np.testing.assert_allclose(result.w, solve(problem(), AdaSADMM(eta=1.0)).w, rtol=1e-9)


class Own(NamedTuple):
    pass


class OwnState(NamedTuple):
    squares: np.ndarray


@metrics.start.register
def own_start(metric: Own, d):
    return OwnState(np.zeros(d))


@metrics.apply.register
def own_apply(state: OwnState, x, out):
    for j in range(len(x)):
        out[j] = np.sqrt(state.squares[j]) * x[j]


class Ridge(NamedTuple):
    nu: float


@penalties.value.register
def ridge_value(penalty: Ridge, v):
    return 0.5 * penalty.nu * np.dot(v, v)


@penalties.prox.register
def ridge_prox(penalty: Ridge, x, tau, out):
    for k in range(len(x)):
        out[k] = x[k] / (1.0 + tau * penalty.nu)


def test_a_penalty_of_ones_own_equals_the_built_in():
    from adasadmm import L2Squared

    mine = solve(problem(Squared(), Ridge(0.3)), AdaSADMM(eta=1.0))
    built_in = solve(problem(Squared(), L2Squared(0.3)), AdaSADMM(eta=1.0))
    np.testing.assert_allclose(mine.w, built_in.w, rtol=1e-12)
    assert "Ridge has no penalties.conjugate" in mine.certificate.reason
