"""BLAS threads are limited inside, given back outside; passes over rows give the same bits on any number of cores."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from threadpoolctl import threadpool_info

from adasadmm import ADMM, L1, GraphGuidedClassifier, Hinge, Problem, graphs, solve
from adasadmm._core import threads as _threads
from adasadmm._core.threads import one_blas_thread
from adasadmm.rows import products
from adasadmm.rows.matrices import WithIntercept, as_rows


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_threads_that_overlap_give_back_what_was_before():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert entered.wait(10)
    assert set(blas_threads()) <= {1}  # the other is still inside
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.fixture
def many_pieces(monkeypatch, limits):
    limits(work_of_a_thread=0)
    yield monkeypatch
    _threads._pool.cache_clear()


def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(301, 6))
    A = graphs.incidence(graphs.chain(6))
    problem = Problem(X, np.sign(X[:, 0] + 0.3), loss=Hinge(), penalty=L1(1e-2), A=A, gamma=1e-2)
    return solve(problem, ADMM(), epochs=40, tol=0.0).w


def test_the_number_of_cores_does_not_show_in_the_result(many_pieces):
    found = []
    for cores in (1, 2, 3):
        many_pieces.setattr(_threads, "_cores", lambda cores=cores: cores)
        _threads._pool.cache_clear()
        found.append(fitted())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(_threads, "_cores", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        _threads.side_by_side(lambda k: 1 / k, [1, 0, 2])


def test_the_caller_does_not_wait_for_threads_that_have_not_begun(monkeypatch):
    release = threading.Event()
    with ThreadPoolExecutor(1) as busy:
        monkeypatch.setattr(_threads, "_cores", lambda: 2)
        monkeypatch.setattr(_threads, "_pool", lambda: busy)
        busy.submit(release.wait, 10)
        try:
            assert _threads.side_by_side(lambda k: k * k, range(5)) == [0, 1, 4, 9, 16]
            assert not release.is_set()
        finally:
            release.set()


def test_threads_are_for_work_that_is_worth_them():
    small, large = (WithIntercept(as_rows(np.broadcast_to(0.0, (n, 22)))) for n in (50_000, 200_000))
    assert len(products.pieces(small)) == 1
    assert len(products.pieces(large)) == products.PIECES
    assert products.pieces(large)[0].start == 0 and products.pieces(large)[-1].stop == 200_000


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_makes_threads_of_its_own(many_pieces):
    many_pieces.setattr(_threads, "_cores", lambda: 2)
    here = fitted()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply_async(fitted).get(timeout=60), here)


# --- fits side by side -----------------------------------------------------------------------------------------------

DATA = np.random.default_rng(1).normal(size=(300, 6))
LABELS = np.argmax(DATA[:, :3], axis=1)
MODELS = [
    GraphGuidedClassifier("chain", random_state=0),
    GraphGuidedClassifier("chain", solver="ada-diag", random_state=0, max_iter=5),
]


def coefficients(model, X, y):
    return clone(model).fit(X, y).coef_


def test_fits_in_several_threads_at_once_do_not_disturb_each_other():
    wanted = [coefficients(model, DATA, LABELS) for model in MODELS]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: coefficients(MODELS[k % 2], DATA, LABELS), range(12)))
    for k, coef in enumerate(found):
        np.testing.assert_array_equal(coef, wanted[k % 2])


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_joblib_gives_the_same_bits_with_any_back_end(backend):
    wanted = [coefficients(model, DATA, LABELS) for model in MODELS]
    found = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(coefficients)(model, DATA, LABELS) for model in MODELS
    )
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
@pytest.mark.compiled
def test_classes_are_fitted_side_by_side_under_any_back_end(backend):
    if backend == "loky":  # workers of earlier tests, which loky reuses, may just have reached the end of their time
        get_reusable_executor().shutdown(wait=True)
    wanted = coefficients(MODELS[1], DATA, LABELS)
    with joblib.parallel_config(backend, n_jobs=2):
        np.testing.assert_array_equal(coefficients(MODELS[1].set_params(n_jobs=2), DATA, LABELS), wanted)


@pytest.mark.parametrize("model", MODELS, ids=["batch", "stochastic"])
def test_read_only_memory_maps_are_fitted_and_not_written(model, tmp_path):
    joblib.dump({"X": DATA, "y": LABELS}, tmp_path / "data")
    mapped = joblib.load(tmp_path / "data", mmap_mode="r")
    assert not mapped["X"].flags.writeable
    np.testing.assert_array_equal(coefficients(model, mapped["X"], mapped["y"]), coefficients(model, DATA, LABELS))
    sparse = sp.csr_array(DATA)
    for part in (sparse.data, sparse.indices, sparse.indptr):
        part.flags.writeable = False
    wanted = coefficients(model, sp.csr_array(DATA), LABELS)
    np.testing.assert_array_equal(coefficients(model, sparse, LABELS), wanted)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_child_fits_the_same_bits(method):
    wanted = coefficients(MODELS[1], DATA, LABELS)
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.apply_async(coefficients, (MODELS[1], DATA, LABELS)).get(timeout=120)
    np.testing.assert_array_equal(found, wanted)
