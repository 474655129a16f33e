"""Conformance suites: a new kernel, loss or problem joins a list and inherits them."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.losses import Loss
from widemargin.operators import RowBlockProblem
from widemargin.rows import read_only


def check_kernel_matches_py_func(
    kernel: Any, *args: Any, rtol: float = 1e-12, atol: float = 1e-12
) -> None:
    """Run a kernel compiled and as plain Python, compare results and changed arrays.

    Parameters
    ----------
    kernel : compiled function
        What ``@kernel`` returned.
    *args : Any
        Its arguments, with tiny data; they are copied.
    rtol, atol : float
        Of the comparison; sums may be ordered differently.
    """
    compiled, plain = _deep_copies(args)
    expected = getattr(kernel, "py_func", kernel)(*plain)
    result = kernel(*compiled)
    if expected is not None:
        assert_allclose(np.asarray(result), np.asarray(expected), rtol=rtol, atol=atol)
    for number, (a, b) in enumerate(zip(compiled, plain, strict=True)):
        if isinstance(a, np.ndarray):
            assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=f"argument {number}")


def _deep_copies(args: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    copies: tuple[list[Any], list[Any]] = [], []
    for made in copies:
        for arg in args:
            new = copy.deepcopy(arg)
            if isinstance(arg, np.ndarray):
                new.flags.writeable = arg.flags.writeable
            made.append(new)
    return copies


def check_loss(
    loss: Loss, *, targets: Sequence[int] = (-1, 0, 1), seed: int = 0, n: int = 200
) -> None:
    """Derivatives, convexity, conjugate, weights, and both kernels of a loss.

    Parameters
    ----------
    loss : Loss
        The loss, which must be convex.
    targets : sequence of int
        The targets that it knows.
    seed : int
        Seed of the test points.
    n : int
        How many.
    """
    rng = np.random.default_rng(seed)
    # one row, so that every output is one pair of prediction and target
    target = rng.choice(np.asarray(targets, np.int8), (1, n))
    z = rng.normal(scale=2.0, size=(1, n))
    kinks = [-1.0, 0.0, 1.0]
    z[0, : len(kinks)] = kinks
    C = rng.uniform(0.1, 3.0, n)
    weight = rng.uniform(0.5, 2.0, (1, loss.n_weights))
    data = target, weight, C
    value, slope, curvature = loss.evaluate(z, *data)

    assert value.shape == (n,)
    assert slope.shape == curvature.shape == z.shape
    assert np.all(curvature >= 0.0)
    assert_array_equal(loss.value(z, *data), value)
    absent = target[0] == 0
    for array in (value, slope[0], curvature[0]):
        assert_array_equal(array[absent], 0.0)
    assert np.all(np.isnan(loss.value(np.full_like(z, np.nan), *data)[~absent]))

    # convex: slopes lie between the difference quotients of both sides, at kinks too
    h = 1e-6
    below, above = (loss.evaluate(z + side, *data) for side in (-h, h))
    noise = 1e-9 * (1.0 + np.abs(value)) + 1e-15 * np.abs(value) / h
    assert np.all((value - below[0]) / h <= slope[0] + noise)
    assert np.all(slope[0] <= (above[0] - value) / h + noise)
    if loss.smooth:
        quotients = np.stack([slope - below[1], above[1] - slope]) / h
        size = 1e-4 * (1.0 + np.abs(quotients).max(axis=0))
        assert np.all(quotients.min(axis=0) <= curvature + size)
        assert np.all(curvature <= quotients.max(axis=0) + size)

    # Fenchel and Young: equality at the slope, a bound everywhere else
    dual = loss.dual_value(-slope, *data)
    size = 1.0 + np.abs(value) + np.abs(z * slope)[0]
    assert_allclose(dual / size, (value - (z * slope)[0]) / size, rtol=0, atol=1e-12)
    for other in rng.normal(scale=3.0, size=(5, *z.shape)):
        bound = dual + (other * slope)[0]
        assert np.all(bound <= loss.value(other, *data) + 1e-12 * size)
    if np.any(absent):
        assert np.all(loss.dual_value(np.ones_like(z), *data)[absent] == -np.inf)

    # a row of weight 3 is three rows, one of weight 0 none
    many = np.repeat(z, 3, 0), np.repeat(target, 3, 0), np.repeat(weight, 3, 0)
    heavy = weight * np.where(np.arange(loss.n_weights) == 0, 3.0, 1.0)
    assert_allclose(loss.value(*many, C), loss.value(z, target, heavy, C), rtol=1e-13)
    assert_allclose(3 * slope, loss.evaluate(z, target, heavy, C)[1], rtol=1e-13)
    none = weight * (np.arange(loss.n_weights) > 0)
    for array in loss.evaluate(z, target, none, C):
        assert_array_equal(array, 0.0)

    few = read_only(target[:, :40], np.int8), read_only(weight), read_only(C[:40])
    inputs = read_only(z[:, :40]), *few, loss.params
    empty, work = np.empty((0, 40)), np.empty((1, 40))
    kernel, dual_kernel = type(loss).value_kernel, type(loss).dual_kernel
    check_kernel_matches_py_func(kernel, *inputs, work, work, np.zeros(40))
    check_kernel_matches_py_func(kernel, *inputs, empty, empty, np.zeros(40))
    beta = read_only(-slope[:, :40])
    check_kernel_matches_py_func(dual_kernel, beta, *inputs[1:], np.zeros(40))


def check_row_block_problem(
    make: Callable[[int, int], RowBlockProblem],
    *,
    smooth: bool = True,
    seed: int = 0,
) -> None:
    """The contract that Newton-type solvers rely on.

    Parameters
    ----------
    make : callable
        ``make(n_blocks, n_threads)`` builds the same convex problem.
    smooth : bool
        Whether the objective has a continuous gradient.
    seed : int
        Seed of the test points.
    """
    rng = np.random.default_rng(seed)
    problem = make(1, 1)
    n_outputs = problem.shape[1]
    W, S, V = rng.normal(size=(3, *problem.shape)) / np.sqrt(problem.shape[0])
    value, gradient = problem.linearize(W)
    product = problem.hess_vec(V)
    H = problem.hess_matrix()

    assert_allclose(problem.value(W), value, rtol=1e-12)
    for t in (1.0, 1e-3, -0.5):  # convex: above its tangent
        above = problem.value(W + t * S) - value - t * np.sum(gradient * S, axis=0)
        assert np.all(above >= -1e-10 * (1.0 + np.abs(value)))
    if smooth:
        h = 1e-6
        ends = np.array([problem.value(W + t * S) for t in (h, -h)])
        noise = 1e-5 * (1.0 + np.abs(gradient).max() + np.abs(H).max())
        expected = np.sum(gradient * S, axis=0)
        assert_allclose((ends[0] - ends[1]) / (2 * h), expected, rtol=0, atol=noise)
        _, moved = make(1, 1).linearize(W + h * V)
        assert_allclose((moved - gradient) / h, product, rtol=0, atol=noise)
    assert_allclose(
        np.einsum("kij,jk->ik", H, V), product, rtol=1e-10, atol=1e-10 * np.abs(H).max()
    )
    assert_allclose(np.einsum("kii->ik", H), problem.hess_diag(), rtol=1e-10)
    assert_allclose(H, H.transpose(0, 2, 1), rtol=1e-12)

    # trials change nothing
    steps = rng.uniform(-1.0, 1.0, n_outputs)
    for direction in (S, V, S):
        for length in (np.full(n_outputs, 0.5), steps):
            along = problem.value_along(direction, length)
            assert_allclose(along, problem.value(W + length * direction), rtol=1e-11)
    assert_array_equal(problem.hess_vec(V), product)
    assert_array_equal(problem.point, W)

    _check_outputs(problem, W, S, V)
    problem.linearize(W)
    if np.any(problem.penalty > 0.0):
        bound = problem.lower_bound()
        for scale in (0.0, 0.1, 1.0):
            assert np.all(bound <= problem.value(scale * W) * (1.0 + 1e-12))
    dual, pulled = problem.dual_point()
    assert np.all(np.isfinite(dual))
    free = problem.penalty[:, 0] == 0.0
    if np.any(free) and not np.all(free):
        limit = 1e-12 * (1.0 + np.abs(problem.dual_point()[1]).sum())
        assert np.all(np.abs(pulled[free]) <= limit)

    for n_blocks in (2, 7):
        results = []
        for n_threads in (1, 3):
            other = make(n_blocks, n_threads)
            found = [*other.linearize(W), other.hess_vec(V), other.hess_matrix()]
            results.append([*found, other.value_along(S, steps), *other.dual_point()])
        problem.linearize(W)
        wanted = value, gradient, product, H, problem.value_along(S, steps)
        for one, many, reference in zip(*results, (*wanted, dual, pulled), strict=True):
            assert_array_equal(one, many)  # threads do not change a bit
            size = 1.0 + np.abs(reference).max()
            assert_allclose(one, reference, rtol=0, atol=1e-12 * size)


def _check_outputs(
    problem: RowBlockProblem, W: np.ndarray, S: np.ndarray, V: np.ndarray
) -> None:
    """Asking for some outputs gives their columns and leaves the others alone."""
    problem.linearize(W)
    some = np.arange(problem.shape[1])[::2]
    part = W[:, some], S[:, some], V[:, some]
    pairs = [
        (problem.value(W)[some], problem.value(part[0], some)),
        (problem.hess_vec(V)[:, some], problem.hess_vec(part[2], some)),
        (problem.hess_diag()[:, some], problem.hess_diag(some)),
        (problem.hess_matrix()[some], problem.hess_matrix(some)),
        (problem.value_along(S, 0.3)[some], problem.value_along(part[1], 0.3, some)),
        (problem.lower_bound()[some], problem.lower_bound(some)),
    ]
    for whole, asked in pairs:
        assert_allclose(asked, whole, rtol=1e-10, atol=1e-10)
    moved = W.copy()
    moved[:, some] += S[:, some]
    value, gradient = problem.linearize(moved[:, some], some)
    product = problem.hess_vec(V)
    all_values, all_gradients = problem.linearize(moved)
    assert_allclose(value, all_values[some], rtol=1e-10)
    assert_allclose(gradient, all_gradients[:, some], rtol=1e-9, atol=1e-10)
    assert_allclose(product, problem.hess_vec(V), rtol=1e-10, atol=1e-10)
