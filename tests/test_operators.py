"""Row-block problems: the contract, reference values, and one Newton method."""

import pickle
import threading
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from widemargin import operators
from widemargin._testing import check_row_block_problem
from widemargin.blocks import Block
from widemargin.losses import PROXIMAL, Hinge, SquaredHinge
from widemargin.operators import RowBlockProblem

STORAGES = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "float32": partial(np.asarray, dtype=np.float32),
}


def _data(n_outputs, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 9)) * (rng.random((60, 9)) < 0.6)
    X = np.float64(np.float32(X))
    target = rng.choice(
        [-1, 0, 1, PROXIMAL], size=(60, n_outputs), p=[0.4, 0.1, 0.3, 0.2]
    )
    return X, target, rng.uniform(0.0, 2.0, 60), rng.uniform(0.5, 2.0, n_outputs)


@pytest.mark.parametrize("n_outputs", [1, 5])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", [SquaredHinge(), Hinge()])
@pytest.mark.parametrize("intercept", [None, 0.7])
def test_contract(storage, n_outputs, loss, intercept):
    X, target, weight, C = _data(n_outputs)
    stored = STORAGES[storage](X)

    def make(n_blocks, n_threads):
        return RowBlockProblem.from_arrays(
            stored, target, loss, C=C, weight=weight, intercept_scaling=intercept,
            penalty=0.8, n_blocks=n_blocks, n_threads=n_threads,
        )  # fmt: skip

    check_row_block_problem(make, smooth=loss.smooth)


@pytest.mark.parametrize(
    "options", [{"penalise_intercept": False}, {"penalty": 0.0}], ids=str
)
def test_contract_of_free_coefficients(options):
    X, target, weight, C = _data(3)

    def make(n_blocks, n_threads):
        return RowBlockProblem.from_arrays(
            X, target, SquaredHinge(), C=C, weight=weight, intercept_scaling=2.0,
            n_blocks=n_blocks, n_threads=n_threads, **options,
        )  # fmt: skip

    if options.get("penalty", 1.0) > 0.0:
        check_row_block_problem(make)
    else:
        W = np.ones((10, 3))
        assert_allclose(make(3, 2).linearize(W)[0], make(1, 1).value(W), rtol=1e-12)


@pytest.mark.parametrize("storage", STORAGES)
def test_against_numpy(storage):
    X, target, weight, C = _data(4)
    problem = RowBlockProblem.from_arrays(
        STORAGES[storage](X), target, SquaredHinge(0.2, 1.5), C=C, weight=weight,
        intercept_scaling=0.5, penalty=2.0, n_blocks=3,
    )  # fmt: skip
    Xs = np.hstack([X, np.full((60, 1), 0.5)])
    W, V = np.random.default_rng(1).normal(size=(2, 10, 4))
    Z = Xs @ W
    near = target == PROXIMAL
    r = np.where(near, np.abs(Z) - 0.2, 1.0 - target * Z).clip(0.0)
    cost = C * weight[:, np.newaxis] * np.where(near, 1.5, target != 0)
    slope = 2.0 * cost * r * np.where(near, np.sign(Z), -target)
    curvature = 2.0 * cost * (r > 0.0)
    close = {"rtol": 1e-10, "atol": 1e-10}
    value, gradient = problem.linearize(W)
    assert_allclose(
        value, np.sum(W * W, axis=0) + np.sum(cost * r * r, axis=0), **close
    )
    assert_allclose(gradient, 2.0 * W + Xs.T @ slope, **close)
    assert_allclose(
        problem.hess_vec(V), 2.0 * V + Xs.T @ (curvature * (Xs @ V)), **close
    )
    # strong convexity: the gap is the gradient's length, squared, over 2 p
    gap = value - problem.lower_bound()
    assert_allclose(gap, np.sum(gradient**2, axis=0) / 4.0, **close)


@pytest.mark.parametrize("penalise_intercept", [True, False])
def test_weights_are_repetitions(penalise_intercept):
    X, target, _, C = _data(2)
    counts = np.random.default_rng(5).integers(0, 4, 60)
    make = partial(
        RowBlockProblem.from_arrays, loss=SquaredHinge(), C=C, intercept_scaling=1.0,
        penalise_intercept=penalise_intercept,
    )  # fmt: skip
    weighted = make(X, target, weight=counts)
    repeated = make(np.repeat(X, counts, axis=0), np.repeat(target, counts, axis=0))
    W, V = np.random.default_rng(6).normal(size=(2, 10, 2))
    for one, other in zip(weighted.linearize(W), repeated.linearize(W), strict=True):
        assert_allclose(one, other, rtol=1e-11)
    assert_allclose(weighted.hess_vec(V), repeated.hess_vec(V), rtol=1e-11)
    assert_allclose(weighted.lower_bound(), repeated.lower_bound(), rtol=1e-11)


def _newton(problem, steps=100):
    """Plain damped Newton with the dense Hessian; returns W and the objective."""
    W = np.zeros(problem.shape)
    for _ in range(steps):
        value, gradient = problem.linearize(W)
        H = problem.hess_matrix()
        S = -np.linalg.solve(H, gradient.T[:, :, np.newaxis])[:, :, 0].T
        t, slope = np.ones(problem.shape[1]), np.sum(gradient * S, axis=0)
        for _ in range(40):
            worse = problem.value_along(S, t) > value + 1e-4 * t * slope + 1e-13 * value
            t[worse] *= 0.5
            if not np.any(worse):
                break
        W = W + t * S
        if np.abs(gradient).max() < 1e-10:
            break
    return W, problem.linearize(W)[0]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_newton_reaches_the_optimum_of_liblinear(storage, fit_intercept):
    X, y = make_classification(
        300, 12, n_informative=6, n_classes=3, n_clusters_per_class=1, random_state=3
    )
    target = np.where(y[:, np.newaxis] == np.arange(3), 1, -1)
    problem = RowBlockProblem.from_arrays(
        STORAGES[storage](X), target, SquaredHinge(), C=0.3,
        intercept_scaling=2.0 if fit_intercept else None, n_blocks=4,
    )  # fmt: skip
    W, value = _newton(problem)
    reference = LinearSVC(
        dual=True, loss="squared_hinge", C=0.3, tol=1e-10, max_iter=1_000_000,
        fit_intercept=fit_intercept, intercept_scaling=2.0,
    ).fit(X, y)  # fmt: skip
    theirs = reference.coef_.T
    if fit_intercept:
        theirs = np.vstack([theirs, reference.intercept_ / 2.0])
    assert_allclose(W, theirs, atol=1e-7)
    assert_allclose(value, problem.value(theirs), rtol=1e-12)
    gap = value - problem.lower_bound()
    assert np.all(np.abs(gap) <= 1e-12 * value)


def test_free_intercept_is_certified():
    X, y = make_classification(200, 5, flip_y=0.1, weights=[0.8], random_state=1)
    target = np.where(y == 1, 1, -1)[:, np.newaxis]
    problem = RowBlockProblem.from_arrays(
        X, target, SquaredHinge(), intercept_scaling=1.0, penalise_intercept=False
    )
    _, value = _newton(problem)
    assert_allclose(problem.lower_bound(), value, rtol=1e-10)


def test_memory_stays_in_the_block():
    X, target, weight, C = _data(2)
    block = Block(X, target, weight[:, np.newaxis], SquaredHinge(), C, 1.0)
    W = np.ones((10, 2))
    calls = [("value", W), ("linearize", W), ("hess_vec", W), ("hess_diag",)]
    calls += [("hess_matrix",), ("set_direction", W), ("value_along", 0.5)]
    calls += [("dual", np.ones((2, 2)))]
    for name, *args in calls:
        for result in getattr(block, name)(*args):
            assert 60 not in result.shape
    moved = pickle.loads(pickle.dumps(block))  # as an actor receives it
    assert_array_equal(moved.hess_vec(W)[0], block.hess_vec(W)[0])


def test_blocks_are_planned_by_work_not_by_threads():
    rng = np.random.default_rng(0)
    X = sparse.random_array((40_000, 500), density=0.1, format="csr", rng=rng)
    target = np.ones((40_000, 1))
    make = partial(RowBlockProblem.from_arrays, X, target, SquaredHinge())
    counts = {len(make(n_threads=n).blocks) for n in (1, 2, 5)}
    assert counts == {3}  # 2 million entries and 40,000 rows at 2^19 entries a block
    entries = [block.rows.ptr[-1] for block in make().blocks]
    assert max(entries) < 1.1 * min(entries)
    wide = sparse.random_array((20_000, 10**6), density=1e-4, format="csr", rng=rng)
    problem = RowBlockProblem.from_arrays(wide, target[:20_000], SquaredHinge())
    assert len(problem.blocks) == 1  # sums of 8 MB beside 24 MB of data do not pay


def test_threads_follow_the_limit_of_blas():
    X, target, *_ = _data(1)
    make = partial(RowBlockProblem.from_arrays, X, target, SquaredHinge(), n_blocks=4)
    with threadpool_limits(1, user_api="blas"):
        assert make().n_threads == 1
    names = set()

    class Spy(Block):
        def value(self, W, outputs=None):
            names.add(threading.current_thread().name)
            return super().value(W, outputs)

    problem = make(n_threads=2)
    for block in problem.blocks:
        block.__class__ = Spy
    problem.value(np.zeros((9, 1)))
    assert threading.main_thread().name not in names


def test_an_error_in_a_block_comes_through():
    X, target, *_ = _data(1)
    problem = RowBlockProblem.from_arrays(
        X, target, SquaredHinge(), n_blocks=4, n_threads=2
    )
    with pytest.raises(ValueError, match="3 rows"):
        problem.value(np.zeros((3, 1)))
    assert np.all(np.isnan(problem.point))
    assert np.all(problem.value(np.zeros((9, 1))) > 0.0)


def test_nan_shows():
    X, target, *_ = _data(1)
    problem = RowBlockProblem.from_arrays(X, target, SquaredHinge(), penalty=0.0)
    assert np.isnan(problem.value(np.full((9, 1), np.nan)))


def test_work_limit_is_shared_by_outputs(monkeypatch):
    monkeypatch.setattr(operators, "_BLOCK_WORK", 100)
    X, target, *_ = _data(5)
    problem = RowBlockProblem.from_arrays(X, target, SquaredHinge())
    # 60 x 9 / 4 x 5 outputs / 100 = 6 blocks by work; by memory 8 n / (32 x 5) = 3
    assert len(problem.blocks) == 3
