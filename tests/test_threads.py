"""BLAS threads are limited inside, and given back outside, however many threads of Python are at work."""

import threading

from threadpoolctl import threadpool_info

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
