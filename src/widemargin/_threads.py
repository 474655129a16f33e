"""Threads inside one fit: how many, and BLAS kept out of their way.

Work is cut into parts that do not depend on the number of threads, so results have
the same bits with one thread and with many. The user's BLAS limit (threadpoolctl,
OMP_NUM_THREADS, ...) is the limit here too.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import scipy.linalg.blas  # noqa: F401  compiled kernels call it, the limit must see it
from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_pools: list[Any] = []
_limited: list[int] = []  # the user's limits, while someone keeps BLAS to one thread
_depth = 0


def _blas_pools() -> list[Any]:
    if not _pools:
        _pools.extend(ThreadpoolController().select(user_api="blas").lib_controllers)
    return _pools


def n_blas_threads() -> int:
    """The user's BLAS limit, which is also our limit of threads inside one fit."""
    with _lock:
        if _depth:
            return max(_limited, default=1)
        return max((pool.get_num_threads() for pool in _blas_pools()), default=1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to the calling thread; safe for fits that run side by side.

    threadpoolctl's own context takes 100 us and, left in another order than it was
    entered, restores the wrong number: the limit is counted here instead.
    """
    global _depth
    with _lock:
        pools = _blas_pools()
        if _depth == 0:
            _limited[:] = [pool.get_num_threads() for pool in pools]
            for pool in pools:
                pool.set_num_threads(1)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for pool, limit in zip(pools, _limited, strict=True):
                    pool.set_num_threads(limit)


def run_each(
    work: Callable[[Any], Any],
    items: Sequence[Any],
    n_threads: int,
    halt: threading.Event | None = None,
) -> list[Any]:
    """``[work(item) for item in items]`` on a pool of threads.

    An exception, Ctrl-C above all, drops the items that have not begun and sets
    `halt`, for those under way to see.
    """
    n_threads = min(n_threads, len(items))
    if n_threads <= 1:
        return [work(item) for item in items]
    pool = ThreadPoolExecutor(n_threads)
    try:
        return [future.result() for future in [pool.submit(work, x) for x in items]]
    except BaseException:
        if halt is not None:
            halt.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_threads(
    work: Callable[[slice], None], n: int, grain: int, n_threads: int, most: int
) -> None:
    """Run `work` on slices of ``range(n)``, of at most about `most` each.

    Slices begin at multiples of `grain`, so results have the same bits for any number
    of threads; between them Python can hear Ctrl-C.
    """
    if n == 0:
        return
    grains = -(-n // grain)
    n_parts = max(min(n_threads, grains), -(-n // max(most, grain)), 1)
    per = -(-grains // n_parts) * grain
    parts = [slice(start, min(n, start + per)) for start in range(0, n, per)]
    run_each(work, parts, n_threads)
