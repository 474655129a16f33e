"""Threads: BLAS kept to one, parts that do not depend on their number, Ctrl-C."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from widemargin._threads import in_threads, n_blas_threads, one_blas_thread, run_each


@pytest.fixture(autouse=True)
def two_blas_threads():
    with threadpool_limits(2, "blas"):
        yield


def _blas_threads():
    """What each BLAS loaded says of itself."""
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]


def test_the_user_sets_the_limit():
    assert n_blas_threads() == 2
    with threadpool_limits(1, "blas"):
        assert n_blas_threads() == 1
    assert n_blas_threads() == 2


def test_one_thread_inside_the_limit_remembered():
    with one_blas_thread():
        inside = _blas_threads()
        assert n_blas_threads() == 2  # for whoever asks how many to start
        with one_blas_thread():
            assert n_blas_threads() == 2
    assert n_blas_threads() == 2
    assert inside and set(inside) == {1}
    assert set(_blas_threads()) == {2}


def test_blas_is_given_back_after_an_error():
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert n_blas_threads() == 2


def test_fits_side_by_side_give_blas_back_once():
    barrier = threading.Barrier(4, timeout=20)

    def work(k):
        with one_blas_thread():
            barrier.wait()
            time.sleep(0.01 * k)  # left in another order than entered
            return n_blas_threads()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [2] * 4
    assert n_blas_threads() == 2


@pytest.mark.parametrize("n", [0, 1, 99, 100, 101, 1000])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 50])
@pytest.mark.parametrize("most", [1, 250, 10**9])
def test_parts_cover_the_range_at_multiples_of_the_grain(n, n_threads, most):
    seen = np.zeros(n, int)
    starts = []

    def work(part):
        starts.append(part.start)
        seen[part] += 1

    in_threads(work, n, 100, n_threads, most)
    assert np.all(seen == 1)
    assert all(start % 100 == 0 for start in starts)


def test_order_of_results_and_real_threads():
    barrier = threading.Barrier(3, timeout=20)

    def work(k):
        barrier.wait()  # passes only if three run at once
        return k * k

    assert run_each(work, range(3), 3) == [0, 1, 4]
    main = threading.get_ident()
    assert run_each(lambda k: threading.get_ident(), range(5), 1) == [main] * 5
    assert run_each(work, [], 3) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_drops_what_has_not_begun(error):
    begun = []
    halt = threading.Event()

    def work(k):
        begun.append(k)
        if k == 0:
            raise error
        if not halt.wait(20):
            raise TimeoutError
        return k

    with pytest.raises(error):
        run_each(work, range(100), 2, halt)
    assert halt.is_set()
    assert len(begun) <= 4
