"""BLAS threads are limited inside, given back outside; passes over rows give the same bits on any number of cores."""

import multiprocessing
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from adasadmm import ADMM, L1, Hinge, Problem, _threads, graphs, matrices, solve
from adasadmm._threads import one_blas_thread


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
def many_pieces(monkeypatch):
    monkeypatch.setattr(matrices, "_WORTH_THREADS", 0)
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


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_makes_threads_of_its_own(many_pieces):
    many_pieces.setattr(_threads, "_cores", lambda: 2)
    here = fitted()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply_async(fitted).get(timeout=60), here)
