"""Kernel values from `gram.prepare` against scikit-learn's and SciPy's formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from widemargin.gram import (
    FLOAT32_ERROR,
    Distances,
    Kernel,
    centre_of,
    float32_error,
    prepare,
)

GAMMA, COEF0 = 0.3, 0.7
KERNELS = {
    "linear": lambda X, Z: X @ Z.T,
    "poly": lambda X, Z: pairwise.polynomial_kernel(X, Z, 3, GAMMA, COEF0),
    "rbf": lambda X, Z: pairwise.rbf_kernel(X, Z, GAMMA),
    "sigmoid": lambda X, Z: pairwise.sigmoid_kernel(X, Z, GAMMA, COEF0),
    "laplacian": lambda X, Z: np.exp(-GAMMA * cdist(X, Z, "cityblock")),
    "exponential": lambda X, Z: np.exp(-GAMMA * cdist(X, Z)),
}
STORAGES = {
    "dense": np.asarray,
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csr int64": lambda X: _with_int64(sparse.csr_array(X)),
}


def _with_int64(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _kernel(name):
    return Kernel(name, GAMMA, 3.0, COEF0)


def _data(seed, n, d, share=0.5):
    """Rows with zeros, the first, the last and every ninth of them empty."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
    X[::9] = 0.0
    X[-1] = 0.0
    return X


def _tolerance(name, dtype):
    # Products of numbers of size 1, cubed at most. "exponential" takes the root of a
    # squared distance, and one that is all rounding (some eps) counts as 0.
    eps = np.finfo(dtype).eps
    absolute = 8 * eps**0.5 if name == "exponential" else 20 * eps
    return {"rtol": 100 * eps, "atol": absolute}


def _pair(name, storage, dtype, X, Z):
    X, Z = STORAGES[storage](X), STORAGES[storage](Z)
    centre = centre_of(X, _kernel(name))
    return (prepare(part, _kernel(name), dtype, centre) for part in (X, Z))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", KERNELS)
# one row, one feature, and sizes around the tiles of 256 rows and 512 columns
@pytest.mark.parametrize(
    ("n", "m", "d"), [(5, 3, 1), (1, 1, 4), (257, 513, 7), (256, 512, 2)]
)
def test_block_and_product(name, storage, dtype, n, m, d, global_random_seed):
    X = _data(global_random_seed, n, d)
    Z = _data(global_random_seed + 1, m, d)
    left, right = _pair(name, storage, dtype, X, Z)
    assert len(left) == n and left.dtype == dtype
    expected = KERNELS[name](X, Z)
    block = left.block(right)
    assert block.dtype == dtype
    assert_allclose(block, expected, **_tolerance(name, dtype))
    given = np.full((n, m), np.nan, dtype)
    assert left.block(right, given) is given
    assert_array_equal(given, block)

    weights = np.random.default_rng(global_random_seed).normal(size=m)
    product = left.product(right, weights)
    assert product.dtype == np.float64
    limit = _tolerance(name, dtype)
    size = np.abs(weights).sum() * max(1.0, np.abs(expected).max())
    error = np.abs(product - expected @ weights)
    assert error.max() <= size * (limit["rtol"] + limit["atol"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "csr_array"])
@pytest.mark.parametrize("name", KERNELS)
def test_square_diagonal_and_take(name, storage, dtype, global_random_seed):
    X = _data(global_random_seed, 300, 6)
    rows, _ = _pair(name, storage, dtype, X, X)
    expected = KERNELS[name](X, X)
    limit = _tolerance(name, dtype)
    square = rows.square(np.full((300, 300), np.nan, dtype))
    assert_allclose(square, expected, **limit)
    assert_allclose(square, square.T, **limit)
    assert_allclose(rows.diagonal(), np.diagonal(expected), **limit)
    if name in ("rbf", "laplacian", "exponential"):
        assert_array_equal(np.diagonal(square), 1.0)  # exactly, or SMO sees noise
        assert_array_equal(rows.diagonal(), 1.0)
    for index in (np.array([299, 0, 9, 5, 5]), slice(10, 21), np.empty(0, np.intp)):
        part = rows.take(index)
        some = expected[index]
        assert len(part) == len(some)
        assert_allclose(part.block(rows), some, **limit)
        assert_allclose(rows.block(part), some.T, **limit)
        assert_allclose(part.diagonal(), np.diagonal(expected)[index], **limit)
        sums = {"rtol": limit["rtol"], "atol": 300 * limit["atol"]}
        assert_allclose(part.product(rows, np.ones(300)), some.sum(axis=1), **sums)
    assert_array_equal(rows.product(rows.take(slice(0, 0)), np.empty(0)), np.zeros(300))


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "exponential"])
@pytest.mark.parametrize("n", [3, 300])
def test_square_in_16_bits(name, storage, n, global_random_seed):
    X = _data(global_random_seed, n, 6)
    rows, _ = _pair(name, storage, np.float32, X, X)
    square = rows.square(np.empty((n, n), np.uint16))
    # rounded to the nearest of 65536 numbers, beside float32's own error
    step, limit = 1 / 65535, _tolerance(name, np.float32)
    limit = {"rtol": limit["rtol"], "atol": 0.5 * step + limit["atol"]}
    assert_allclose(square * step, KERNELS[name](X, X), **limit)
    assert_array_equal(np.diagonal(square), 65535)


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
def test_one_gamma_for_each_feature(storage, global_random_seed):
    X = _data(global_random_seed, 40, 5)
    gamma = np.array([0.0, 0.1, 3.0, 0.5, 1e-3])
    kernel = Kernel("rbf", gamma)
    rows = prepare(STORAGES[storage](X), kernel, np.float64, 0.0)
    expected = np.exp(-cdist(X * np.sqrt(gamma), X * np.sqrt(gamma), "sqeuclidean"))
    assert_allclose(rows.block(rows), expected, rtol=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 2, 2.5, 8, 20])
@pytest.mark.parametrize("storage", ["dense", "csr_array"])
def test_degrees(degree, storage, global_random_seed):
    X = np.abs(_data(global_random_seed, 20, 4))  # a broken degree wants a base >= 0
    kernel = Kernel("poly", 0.2, degree, 0.3)
    rows = prepare(STORAGES[storage](X), kernel)
    expected = (0.2 * (X @ X.T) + 0.3) ** degree
    assert_allclose(rows.block(rows), expected, rtol=1e-13 * (1 + degree))
    assert_allclose(rows.diagonal(), np.diagonal(expected), rtol=1e-13 * (1 + degree))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    K = rng.normal(size=(30, 30)).astype(dtype)
    K += K.T
    before = K.copy()
    rows = prepare(K, Kernel("precomputed"))
    assert rows.dtype == dtype
    assert_array_equal(rows.square(np.empty((30, 30), dtype)), K)
    assert_array_equal(rows.diagonal(), np.diagonal(K))
    index = rng.permutation(30)[:11]
    part = rows.take(index)
    assert_array_equal(part.block(part), K[np.ix_(index, index)])
    weights = rng.normal(size=11)
    expected = K[:, index].astype(float) @ weights
    assert_allclose(rows.product(part, weights), expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(K, before)
    assert K.flags.writeable  # the caller's array stays as it was
    test = prepare(rng.normal(size=(4, 30)), Kernel("precomputed"))
    assert len(test) == 4


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
def test_function(storage, global_random_seed):
    X = STORAGES[storage](_data(global_random_seed, 150, 3))

    def function(left, right):
        return (left @ right.T + 0) * 2  # sparse rows give a sparse block

    rows = prepare(X, Kernel(function))
    dense = X.toarray() if sparse.issparse(X) else X
    expected = 2 * dense @ dense.T
    assert_allclose(rows.block(rows), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(rows.diagonal(), np.diagonal(expected), rtol=1e-12)
    part = rows.take(np.array([7, 3]))
    assert_allclose(part.block(rows), expected[[7, 3]], rtol=1e-12, atol=1e-12)
    weights = np.arange(150.0)
    assert_allclose(rows.product(rows, weights), expected @ weights, rtol=1e-11)


def test_a_function_of_the_wrong_shape_is_refused():
    rows = prepare(np.ones((3, 2)), Kernel(lambda left, right: np.ones(3)))
    message = (
        r"the kernel function must return an array of shape \(3, 3\) for blocks of 3 "
        r"and 3 rows, got \(3,\)"
    )
    with pytest.raises(ValueError, match=message):
        rows.block(rows)


def test_distances_shared_between_gammas(global_random_seed):
    X = _data(global_random_seed, 300, 5) + 50.0
    distances = Distances(X)
    for gamma in (1e-3, 0.2, 5.0, 0.0):
        rows = distances.rows(gamma)
        expected = pairwise.rbf_kernel(X, X, gamma=gamma)
        limit = {"rtol": 1e-5, "atol": 2e-6}  # stored in float32
        square = rows.square(np.empty((300, 300), np.float32))
        assert_allclose(square, expected, **limit)
        assert_array_equal(np.diagonal(square), 1.0)
        assert_array_equal(rows.diagonal(), 1.0)
        part = rows.take(np.arange(20, 40))
        assert_allclose(part.block(rows), expected[20:40], **limit)
        weights = np.linspace(-1, 1, 300)
        assert_allclose(
            part.product(rows, weights), expected[20:40] @ weights, rtol=0, atol=1e-3
        )
        small = part.block(rows, np.empty((20, 300), np.uint16))
        assert_allclose(small / 65535, expected[20:40], rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "exponential"])
def test_far_from_the_origin(name, dtype, global_random_seed):
    X = _data(global_random_seed, 60, 4)
    rows, _ = _pair(name, "dense", dtype, X + 20_000.0, X)
    # adding 20,000 costs X itself 2e4 * 1e-16 = 4e-12, the kernel no more than that
    limit = _tolerance(name, dtype)
    limit["atol"] = max(limit["atol"], 1e-11)
    assert_allclose(rows.block(rows), KERNELS[name](X, X), **limit)


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "exponential"])
@pytest.mark.parametrize("size", [1e3, 1e8, 1e10, 1e100, 1e150])
def test_huge_distances(name, storage, size, global_random_seed):
    X = size * np.random.default_rng(global_random_seed).normal(size=(20, 3))
    rows, _ = _pair(name, storage, np.float64, X, X)
    square = rows.square(np.empty((20, 20)))
    assert_allclose(square, np.eye(20), rtol=0, atol=1e-12)
    # the distance of a row to itself is all rounding here: between 0 and 1 it stays
    product = rows.product(rows, np.ones(20))
    assert np.all((product >= 0) & (product <= 1 + 1e-12))


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("radius", [1.0, 5.0, 30.0, 900.0, 1e200])
def test_float32_errors_are_foreseen(name, storage, radius, global_random_seed):
    # Pairs of neighbours, far from the mean: the distance is a small difference of
    # large numbers.
    rng = np.random.default_rng(global_random_seed)
    far = rng.normal(size=(100, 5))
    far *= radius / np.linalg.norm(far, axis=1)[:, None]
    X = np.concatenate((far, far + 0.2 * rng.normal(size=(100, 5))))
    kernel, stored = Kernel(name, GAMMA), STORAGES[storage](X)
    centre = centre_of(stored, kernel)
    foreseen = float32_error(stored, kernel, centre)
    assert (foreseen <= FLOAT32_ERROR) == (
        radius <= 5.0 or (radius, name) == (30.0, "laplacian")
    )
    if radius < 1e4:
        rows = prepare(stored, kernel, np.float32, centre)
        error = np.abs(rows.block(rows) - KERNELS[name](X, X))
        error = np.concatenate((np.diagonal(error, 100), np.diagonal(error)))
        assert np.sqrt(np.mean(error**2)) <= 3 * foreseen
        assert error.max() <= 10 * foreseen


def test_only_kernels_between_0_and_1_without_a_root_go_to_float32():
    X = np.ones((3, 2))
    for name in ("linear", "poly", "sigmoid", "exponential"):
        assert float32_error(X, _kernel(name), 0.0) == np.inf


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
def test_read_only_data(storage, global_random_seed):
    X = _data(global_random_seed, 30, 4)
    expected = KERNELS["rbf"](X, X)
    X = STORAGES[storage](X)
    arrays = [X] if storage == "dense" else [X.data, X.indices, X.indptr]
    for array in arrays:
        array.flags.writeable = False
    for dtype in (np.float32, np.float64):
        rows = prepare(X, _kernel("rbf"), dtype, 0.0)
        assert_allclose(rows.block(rows), expected, **_tolerance("rbf", dtype))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("storage", ["dense", "csr_array", "precomputed", "function"])
def test_threads_do_not_change_a_bit(name, storage, global_random_seed):
    X = _data(global_random_seed, 2100, 3)
    if storage == "precomputed":
        rows = prepare(KERNELS[name](X, X), Kernel("precomputed"))
    elif storage == "function":
        rows = prepare(X, Kernel(KERNELS[name]))
    else:
        rows, _ = _pair(name, storage, np.float64, X, X)
    weights = np.random.default_rng(global_random_seed).normal(size=2100)
    one = rows.product(rows, weights, n_threads=1)
    square = rows.square(np.empty((2100, 2100)), n_threads=1)
    for n_threads in (2, 3):
        assert_array_equal(rows.product(rows, weights, n_threads=n_threads), one)
        again = rows.square(np.full((2100, 2100), np.nan), n_threads=n_threads)
        assert_array_equal(again, square)
