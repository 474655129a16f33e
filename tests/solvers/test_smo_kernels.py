"""The compiled loops of SMO against their sources."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin import kernels
from widemargin._testing import check_kernel_matches_py_func
from widemargin.solvers import smo


@pytest.mark.interpreted
def test_larger_and_smaller():
    for a, b in ((1.0, 2.0), (2.0, 1.0), (-np.inf, 0.0), (0.0, np.inf)):
        assert smo.larger(a, b) == max(a, b)
        assert smo.smaller(a, b) == min(a, b)


@pytest.fixture
def recorded_steps(monkeypatch):
    """Arguments of each call of `smo_steps`, copied before it changes them."""
    calls = []
    compiled = smo.smo_steps

    def record(*args):
        calls.append([a.copy() if isinstance(a, np.ndarray) else a for a in args])
        return compiled(*args)

    monkeypatch.setattr(smo, "smo_steps", record)
    return compiled, calls


@pytest.mark.parametrize(
    ("dtype", "storage"),
    [
        (np.float64, "whole"),
        (np.float32, "whole"),
        (np.float32, "uint16"),
        (np.float64, "lazy"),
        (np.float32, "lazy"),
    ],
)
@pytest.mark.parametrize("name", ["hinge", "squared hinge"])
def test_steps_match_their_source(
    name, dtype, storage, make_problem, recorded_steps, monkeypatch, global_random_seed
):
    problem = make_problem(name, global_random_seed, n=12)
    K, lazy = problem.K.astype(dtype), None
    if storage == "uint16":
        K = np.rint(problem.K * 65535).astype(np.uint16)
    elif storage == "lazy":  # K from a square root, as rows of a linear kernel
        values, vectors = np.linalg.eigh(problem.K)
        rows = (vectors * np.sqrt(np.maximum(values, 0))).astype(dtype)
        lazy = np.ascontiguousarray(rows), kernels.LINEAR, 0.0, 1.0
        K[:] = np.nan
    inner = smo.Inner(
        K, np.diagonal(problem.K).copy(), problem.shift, *problem.arrays[1:], lazy
    )
    compiled, calls = recorded_steps
    for budget in (1, 3, 5):
        inner.run(problem.target, np.zeros(12), 1e-3, budget)
    source = getattr(compiled, "py_func", compiled)
    limit = {"rtol": 200 * np.finfo(dtype).eps, "atol": 200 * np.finfo(dtype).eps}
    assert len(calls) == 3
    for args in calls:
        plain = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        result = compiled(*args)
        with monkeypatch.context() as patch:
            # The searches look for a value computed before, bit by bit: compiled ones
            # (which fuse products and sums) do not find what plain Python computed.
            for kernel in ("_find", "_find_gain"):
                inside = getattr(smo, kernel)
                patch.setattr(smo, kernel, getattr(inside, "py_func", inside))
            expected = source(*plain)
        assert_allclose(result, expected, **limit)
        for a, b in zip(args, plain, strict=True):
            if isinstance(a, np.ndarray):
                assert_allclose(a, b, **limit)


def test_searches_match_their_source(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    values = rng.normal(size=700)
    penalty = np.where(rng.random(700) < 0.5, 0.0, -np.inf)
    for start in (0, 512):
        best = (values + penalty)[start : start + 512].max()
        check_kernel_matches_py_func(smo._find, values, penalty, start, best)
        place = smo._find(values, penalty, start, best)
        assert (values + penalty)[place] == best
        row, diag = rng.normal(size=(2, 700))
        vi, kii, tau = 3.0, 1.0, 1e-12
        curve = np.maximum(kii + diag - 2 * row, tau)
        gain = np.maximum(vi - (values - penalty), 0.0) ** 2 / curve
        best = gain[start : start + 512].max()
        given = row, values, -penalty, diag, start, vi, kii, 2.0, tau, best
        check_kernel_matches_py_func(smo._find_gain, *given)
        assert gain[smo._find_gain(*given)] == best
