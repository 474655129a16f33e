"""Kernel tiles: accuracy of 2^x, formulas, and every compiled body against its source.

The tests marked `interpreted` hold without the compiler too, where an index that is out
of range is an error.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from widemargin import kernels
from widemargin._testing import check_kernel_matches_py_func
from widemargin.kernels import EXPONENTIAL, LAPLACIAN, LINEAR, POLY, RBF, SIGMOID

CODES = {
    "linear": LINEAR,
    "poly": POLY,
    "rbf": RBF,
    "sigmoid": SIGMOID,
    "laplacian": LAPLACIAN,
    "exponential": EXPONENTIAL,
}
DTYPES = [np.float32, np.float64]
COEF0, DEGREE = 0.5, 3.0


def _exp2(values):
    """2^x of an array, through the kernel that tiles use."""
    tile = values.copy()[None, :]
    kernels.transform(tile, RBF, values.dtype.type(0.0), 1.0)
    return tile[0]


@pytest.mark.interpreted
@pytest.mark.parametrize("dtype", DTYPES)
def test_exp2_over_its_whole_range(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    low = -126.0 if dtype == np.float32 else -1022.0
    halves = np.arange(0.0, low, -0.5)  # both sides of each switch of the exponent
    x = np.concatenate(
        (rng.uniform(low, 0.0, 3000), halves, np.nextafter(halves, low), [low])
    ).astype(dtype)
    values = _exp2(np.maximum(x, dtype(low)))
    assert values.dtype == dtype
    expected = np.exp2(x.astype(np.longdouble))
    # one unit in the last place, 2^-23 or 2^-52, and one for rounding on the way
    limit = 2 * np.finfo(dtype).eps
    assert np.max(np.abs(values / expected - 1)) <= limit
    assert_array_equal(_exp2(np.array([0.0, -1.0, -10.0], dtype)), [1, 0.5, 2.0**-10])


@pytest.mark.interpreted
@pytest.mark.parametrize("dtype", DTYPES)
def test_exp2_outside_its_range(dtype):
    tiny = np.finfo(dtype).tiny  # 2^-126 or 2^-1022
    far = np.array([-1100.0, -1e6, -1e30, -np.inf], dtype)
    values = _exp2(far)
    assert np.all((values >= 0) & (values <= tiny))
    # rounding of a distance may leave a positive exponent, of any size for huge rows
    above = np.array([1e-7, 1e-3, 0.4, 1.0, 100.0, 1e6, 1e30, np.inf], dtype)
    assert_array_equal(_exp2(above), 1.0)


@pytest.mark.interpreted
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("degree", [0.0, 1.0, 2.0, 3.0, 8.0, 16.0, 17.0, 2.5])
def test_poly_transform(dtype, degree, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    tile = rng.uniform(-1.0, 2.0, (5, 7)).astype(dtype)
    if degree != int(degree):
        tile = np.abs(tile)
    expected = (tile.astype(float) + COEF0) ** degree
    kernels.transform(tile, POLY, dtype(COEF0), degree)
    # each of `degree` factors may round once
    assert_allclose(tile, expected, rtol=(degree + 2) * np.finfo(dtype).eps, atol=0)


@pytest.mark.interpreted
@pytest.mark.parametrize("dtype", DTYPES)
def test_transform_formulas(dtype):
    eps = np.finfo(dtype).eps
    x = np.linspace(-3.0, 3.0, 31).astype(dtype)
    distance = np.linspace(0.0, 30.0, 31).astype(dtype)
    cases = {
        LINEAR: (x, x),
        SIGMOID: (x, np.tanh(x.astype(float) + COEF0)),
        RBF: (-distance, 2.0 ** -distance.astype(float)),
        LAPLACIAN: (distance, 2.0 ** -distance.astype(float)),
        EXPONENTIAL: (-distance, 2.0 ** -np.sqrt(distance.astype(float))),
    }
    for code, (given, expected) in cases.items():
        tile = given.copy()[None, :]
        kernels.transform(tile, code, dtype(COEF0), DEGREE)
        # the root rounds the exponent (up to 5.5) before the power
        assert_allclose(tile[0], expected, rtol=8 * eps, atol=2 * eps)


def test_a_negative_squared_distance_counts_as_zero():
    tile = np.array([[1e-9, -0.0]])
    kernels.transform(tile, EXPONENTIAL, 0.0, 1.0)
    assert_array_equal(tile, 1.0)


# --- every kernel against its source -----------------------------------------------


def _dense(rng, code, n, d=3, dtype=np.float64):
    """Prepared rows as `gram.prepare` lays them out, and their values by definition."""
    Z = rng.normal(size=(n, d)).astype(dtype)
    if code in (RBF, EXPONENTIAL):
        half = -0.5 * (Z.astype(float) ** 2).sum(axis=1)
        return np.column_stack((Z, half, np.ones(n))).astype(dtype)
    return Z


def _reference(code, left, right):
    """Kernel values of prepared rows by definition, in float64, one by one."""
    d = left.shape[1] - 2 * (code in (RBF, EXPONENTIAL))
    values = np.empty((len(left), len(right)))
    for i, a in enumerate(left[:, :d].astype(float)):
        for j, b in enumerate(right[:, :d].astype(float)):
            half_square = 0.5 * ((a - b) ** 2).sum()
            values[i, j] = {
                LINEAR: a @ b,
                POLY: (a @ b + COEF0) ** DEGREE,
                SIGMOID: math.tanh(a @ b + COEF0),
                RBF: 2.0**-half_square,
                EXPONENTIAL: 2.0 ** -math.sqrt(half_square),
                LAPLACIAN: 2.0 ** -np.abs(a - b).sum(),
            }[code]
    return values


def _csr(rng, code, n, d=4, dtype=np.float64):
    """CSR rows, every third one empty: (data, ind, ptr, norms) and the dense ones."""
    dense = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    dense[::3] = 0.0
    dense = dense.astype(dtype)
    matrix = sparse.csr_array(dense)
    norms = np.zeros(n)
    if code in (RBF, EXPONENTIAL):
        norms = 0.5 * (dense.astype(float) ** 2).sum(axis=1)
    elif code == LAPLACIAN:
        norms = np.abs(dense.astype(float)).sum(axis=1)
    arrays = (
        matrix.data,
        matrix.indices.astype(np.int32).view(np.uint32),
        matrix.indptr.astype(np.int64).view(np.uint64),
        norms.astype(dtype),
    )
    width = d + 2 * (code in (RBF, EXPONENTIAL))
    return arrays, np.pad(dense, ((0, 0), (0, width - d)))


def _tolerance(dtype):
    # products of a few numbers of size 1, the cube of poly, the root of exponential
    return {"rtol": 60 * np.finfo(dtype).eps, "atol": 60 * np.finfo(dtype).eps}


@pytest.mark.interpreted
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("d", [1, 3, 9])
def test_dense_tiles(name, dtype, d, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    code = CODES[name]
    left, right = (_dense(rng, code, n, d, dtype) for n in (7, 5))
    expected = _reference(code, left, right)
    args = code, dtype(0.0 if code == EXPONENTIAL else COEF0), DEGREE
    out = np.full((7, 5), np.nan, dtype)
    kernels.dense_block(left, right, *args, out)
    assert_allclose(out, expected, **_tolerance(dtype))
    weights = rng.normal(size=5).astype(dtype)
    total = np.ones(7)
    kernels.dense_product(left, right, weights, *args, total)
    assert_allclose(total - 1, expected @ weights.astype(float), **_tolerance(dtype))
    square = np.full((7, 7), np.nan, dtype)
    one, none = dtype(1), dtype(0)
    kernels.dense_square(left, *args, one, none, 0, 7, square)
    # a root magnifies the rounding of a distance that should be 0
    off = ~np.eye(7, dtype=bool)
    assert_allclose(square[off], _reference(code, left, left)[off], **_tolerance(dtype))
    transposed = np.full((left.shape[1], 5), np.nan, dtype)
    kernels.pack_transposed(right, code, transposed)
    for i in range(7):
        row = np.full(5, np.nan, dtype)
        kernels.dense_row(left[i], transposed, *args, row)
        assert_allclose(row, expected[i], **_tolerance(dtype))


@pytest.mark.interpreted
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CODES)
def test_sparse_tiles(name, dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    code = CODES[name]
    left, left_rows = _csr(rng, code, 7, dtype=dtype)
    right, right_rows = _csr(rng, code, 5, dtype=dtype)
    expected = _reference(code, left_rows, right_rows)
    args = code, dtype(0.0 if code == EXPONENTIAL else COEF0), DEGREE
    work = np.zeros((4, 2), dtype)  # narrower than the rows: three column tiles
    out = np.full((7, 5), np.nan, dtype)
    kernels.sparse_block(*left, *right, *args, dtype(1), dtype(0), work, out)
    assert_allclose(out, expected, **_tolerance(dtype))
    assert_array_equal(work, 0.0)
    weights = rng.normal(size=5).astype(dtype)
    total = np.ones(7)
    kernels.sparse_product(*left, *right, weights, *args, work, total)
    assert_allclose(total - 1, expected @ weights.astype(float), **_tolerance(dtype))
    assert_array_equal(work, 0.0)


def _calls(rng, dtype, code):
    """Arguments of every kernel of the module, tiny."""
    args = code, dtype(0.0 if code == EXPONENTIAL else COEF0), DEGREE
    left, right = _dense(rng, code, 4, dtype=dtype), _dense(rng, code, 3, dtype=dtype)
    first, _ = _csr(rng, code, 4, dtype=dtype)
    second, _ = _csr(rng, code, 3, dtype=dtype)
    tile = -rng.uniform(0.1, 2.0, (4, 3)).astype(dtype)
    if code == LAPLACIAN:
        tile = -tile
    weights = rng.normal(size=3).astype(dtype)
    work = np.zeros((4, 2), dtype)
    filled = rng.normal(size=(4, 3)).astype(dtype)
    one, none = dtype(1), dtype(0)
    d = left.shape[1]
    matrix = rng.normal(size=(6, 6))
    index = np.array([4, 0], np.uint64)
    return {
        "transform": [(tile, *args)],
        "_weigh_row": [(tile[0], weights, *args)],
        "_pack_right": [(left, 1, 4, code, np.empty((3, d), dtype))],
        "_fill_l1": [(left, right, tile)],
        "_fill_dense": [(left, right, code, tile)],
        "dense_product": [(left, right, weights, *args, np.zeros(4))],
        "dense_block": [(left, right, *args, np.zeros((4, 3), dtype))],
        "_store_mirrored": [
            (tile, 0, 4, one, none, np.zeros((9, 9), dtype)),
            (tile[:3], 0, 0, one, none, np.zeros((9, 9), dtype)),
            (np.abs(tile) / 2, 0, 4, dtype(65535), dtype(0.5), np.zeros((9, 9), "u2")),
        ],
        "dense_square": [(left, *args, one, none, 0, 4, np.zeros((4, 4), dtype))],
        "pack_transposed": [(left, code, np.empty((d, 4), dtype))],
        "dense_row": [
            (
                left[0],
                rng.normal(size=(d, 4)).astype(dtype) / 9,
                *args,
                np.ones(4, dtype),
            )
        ],
        "_fill_sparse": [
            (*first, 1, 4, filled, np.abs(weights), code, np.empty((3, 3), dtype))
        ],
        "_scatter": [(*second, 1, 3, work, np.zeros(2, dtype), c) for c in (0, 1)],
        "sparse_product": [(*first, *second, weights, *args, work, np.zeros(4))],
        "sparse_block": [
            (*first, *second, *args, one, none, work, np.zeros((4, 3), dtype))
        ],
        "stored_product": [
            (matrix, index, index[::-1].copy(), np.ones(2), np.zeros(2))
        ],
        "prefix_product": [(matrix, index, np.array([2.0, -1.0]), np.zeros(6))],
    }


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kernel_matches_its_source(name, dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    calls = _calls(rng, dtype, CODES[name])
    compiled = {k for k, v in vars(kernels).items() if hasattr(v, "py_func")}
    missing = {
        k for k in compiled if getattr(kernels, k).__module__ == kernels.__name__
    }
    assert missing <= set(calls), "a new kernel joins this list"
    # order of sums and fused products: a few units in the last place of numbers ~ 1
    limit = _tolerance(dtype)
    for kernel_name, arguments in calls.items():
        for given in arguments:
            check_kernel_matches_py_func(getattr(kernels, kernel_name), *given, **limit)


@pytest.mark.interpreted
def test_products_with_a_stored_matrix(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    matrix = rng.normal(size=(40, 40))
    matrix += matrix.T
    rows, cols = rng.permutation(40)[:9], rng.permutation(40)[:6]
    weights = rng.normal(size=6)
    out = np.ones(9)
    kernels.stored_product(
        matrix, rows.view(np.uint64), cols.view(np.uint64), weights, out
    )
    assert_allclose(out, 1 + matrix[np.ix_(rows, cols)] @ weights, rtol=1e-12)
    for width in (40, 17):  # all of them, or a prefix
        out = np.ones(width)
        kernels.prefix_product(matrix, cols.view(np.uint64), weights, out)
        assert_allclose(out, 1 + matrix[:width, cols] @ weights, rtol=1e-12)


def test_empty_sides():
    rows = np.ones((3, 2))
    nothing = np.empty((0, 2))
    out = np.zeros(3)
    kernels.dense_product(rows, nothing, np.empty(0), LINEAR, 0.0, 1.0, out)
    assert_array_equal(out, 0.0)
    kernels.dense_product(nothing, rows, np.ones(3), LINEAR, 0.0, 1.0, np.empty(0))
    kernels.dense_block(rows, nothing, LINEAR, 0.0, 1.0, np.empty((3, 0)))
